//! Products with experts in tiles: pairs of a token and one of its experts are grouped by expert,
//! so that a batch reads each expert's matrix once per tile instead of once per pair.

use roci_hal::BufferRange;
use roci_kernels::params::{LmLinear, LmMoeGroup, Params as _, WeightFormat};

use super::linear::{ExpertPairs, LinearInput, PACKED_DOT_TOKENS};
use super::{SMALL_BATCH, StepRecorder};
use crate::Error;
use crate::experts::ExpertShard;
use crate::features::Features;
use crate::kernel_id::KernelId;
use crate::scratch::RowBuffer;
use crate::weights::Storage;

/// Products with a tile of pairs, all of which have the same expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpertTile {
    /// [`KernelId::matmul_coopmat16`].
    Coopmat16,
    /// [`KernelId::matmul_coopmat32`].
    Coopmat32,
    /// [`KernelId::matvec8_packed_dot`].
    PackedDot,
    /// [`KernelId::matmul`].
    Floats,
}

impl ExpertTile {
    /// All tiles.
    const ALL: [Self; 4] = [Self::Coopmat16, Self::Coopmat32, Self::PackedDot, Self::Floats];

    /// The tile for this number of pairs, with matrices of these formats; `None` if each pair
    /// should read its expert's matrix itself.
    ///
    /// With as many pairs as experts, each expert that is chosen has 1.6 pairs on average.
    fn of(features: &Features, formats: &[WeightFormat], pairs: usize, experts: usize) -> Option<Self> {
        let each = pairs / experts.max(1);
        if features.coopmat && formats.iter().all(|format| format.has_coopmat()) {
            let narrow = each <= LmLinear::COOPMAT16_TILE[0] as usize;
            return (each > 0).then_some(if narrow { Self::Coopmat16 } else { Self::Coopmat32 });
        }
        if features.packed_dot && each <= PACKED_DOT_TOKENS && formats.iter().all(|format| format.has_matvec8_i8()) {
            return (each > 0).then_some(Self::PackedDot);
        }
        (each >= SMALL_BATCH).then_some(Self::Floats)
    }

    /// Pairs of a tile.
    fn pairs(self) -> u32 {
        match self {
            Self::Coopmat16 => LmLinear::COOPMAT16_TILE[0],
            Self::Coopmat32 => LmLinear::COOPMAT32_TOKENS,
            Self::PackedDot => LmLinear::VECTOR8_TOKENS,
            Self::Floats => LmLinear::TILE,
        }
    }

    /// Whether products read 16-bit floats, and can write them.
    pub(super) fn takes_f16(self) -> bool {
        matches!(self, Self::Coopmat16 | Self::Coopmat32)
    }

    /// Words of the tiles of this number of pairs, whichever tile it is.
    pub(crate) fn max_words(pairs: usize, experts: usize) -> usize {
        let words =
            |tile: Self| LmMoeGroup { pairs: pairs as u32, experts: experts as u32, tile: tile.pairs() }.words();
        Self::ALL.into_iter().map(words).max().unwrap_or(0)
    }
}

impl StepRecorder<'_> {
    /// The tile for products with the matrices of experts, or of heads; `None` if each pair should
    /// read its matrix itself.
    pub(super) fn tile_of(&self, projections: [&[ExpertShard]; 2], pairs: usize, experts: usize) -> Option<ExpertTile> {
        if self.shape.tokens == 1 {
            return None;
        }
        let storages = projections.into_iter().flatten().flat_map(|shard| &shard.matrix.shards);
        let formats: Option<Vec<WeightFormat>> = storages
            .map(|shard| match shard.storage {
                Storage::Planar { format, .. } => Some(format),
                Storage::Packed { .. } | Storage::InPlace { .. } => None,
            })
            .collect();
        formats.and_then(|formats| ExpertTile::of(&self.features, &formats, pairs, experts))
    }

    /// Groups pairs by their experts, `ids`. Records a barrier, since the next product reads the groups.
    pub(super) fn group_pairs(
        &mut self,
        tile: ExpertTile,
        (pairs, experts): (usize, usize),
        ids: &BufferRange,
        tiles: &BufferRange,
    ) -> Result<(), Error> {
        let constants = LmMoeGroup { pairs: pairs as u32, experts: experts as u32, tile: tile.pairs() };
        self.dispatch(KernelId::MOE_GROUP, constants.grid(), &[ids, tiles], &constants)?;
        self.barrier();
        Ok(())
    }

    /// Whether the gated product of experts can write 16-bit floats for their down projection: each
    /// matrix has whole words of them, and no padding follows.
    pub(super) fn can_output_expert_f16(&self, gate_up: &[ExpertShard], width: usize, pairs: ExpertPairs) -> bool {
        let whole = |shard: &ExpertShard| (shard.matrix.rows / pairs.experts.max(1)).is_multiple_of(4);
        pairs.tile.is_some_and(|(tile, _)| tile.takes_f16())
            && width.is_multiple_of(crate::pack::GROUP)
            && gate_up.iter().all(whole)
    }

    /// A product with the matrices of experts, `[codes, scales, bias]`, in tiles.
    pub(super) fn tiled_expert_product(
        &mut self,
        (tile, tiles): (ExpertTile, &BufferRange),
        (format, [codes, scales, bias]): (WeightFormat, [&BufferRange; 3]),
        input: &LinearInput<'_>,
        y: &RowBuffer,
        constants: &LmLinear,
    ) -> Result<(), Error> {
        let x_rows = constants.tokens.div_ceil(constants.sharing.max(1));
        let x = match tile {
            ExpertTile::Floats => &input.rows.range,
            ExpertTile::PackedDot => self.quantize_i8(input, &LmLinear { tokens: x_rows, ..*constants })?,
            ExpertTile::Coopmat16 | ExpertTile::Coopmat32 if input.f16 => &input.rows.range,
            ExpertTile::Coopmat16 | ExpertTile::Coopmat32 => self.cast_f16(input.rows, x_rows as usize)?,
        };
        let (kernel, grid) = match tile {
            ExpertTile::Floats => (KernelId::matmul(format), constants.tile_grid()),
            ExpertTile::PackedDot => (KernelId::matvec8_packed_dot(format), constants.vector8_grid()),
            ExpertTile::Coopmat16 => {
                (KernelId::matmul_coopmat16(format), constants.small_coopmat_grid(LmLinear::COOPMAT16_TILE))
            }
            ExpertTile::Coopmat32 => {
                (KernelId::matmul_coopmat32(format), constants.small_coopmat_grid(LmLinear::coopmat32_tile(format)))
            }
        };
        self.dispatch(kernel, grid, &[codes, scales, x, bias, tiles, &y.range], constants)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(coopmat: bool, packed_dot: bool) -> Features {
        Features { native_kernels: false, coopmat, subgroups: true, packed_dot, prebuilt: false, compute_units: 1 }
    }

    #[test]
    fn tiles_follow_the_pairs_of_an_expert() {
        use WeightFormat as W;
        let tile = |coopmat, packed_dot, formats: &[W], pairs| {
            ExpertTile::of(&features(coopmat, packed_dot), formats, pairs, 32)
        };
        // A few pairs have other experts each.
        assert_eq!(tile(true, true, &[W::Q4, W::Q6K], 31), None);
        assert_eq!(tile(true, true, &[W::Q4, W::Q6K], 32), Some(ExpertTile::Coopmat16));
        assert_eq!(tile(true, true, &[W::Q4, W::Q6K], 2048), Some(ExpertTile::Coopmat32));
        // BF16 that is not stored as F16 has too great a range for matrix units.
        assert_eq!(tile(true, true, &[W::Q4, W::Bf16], 128), None);
        assert_eq!(tile(true, true, &[W::Q4, W::Bf16], 512), Some(ExpertTile::Floats));
        assert_eq!(tile(false, true, &[W::Q4, W::Q8], 31), None);
        assert_eq!(tile(false, true, &[W::Q4, W::Q8], 32), Some(ExpertTile::PackedDot));
        assert_eq!(tile(false, true, &[W::Q4, W::Q8], 2048), Some(ExpertTile::Floats));
        assert_eq!(tile(false, false, &[W::Q4, W::Q8], 480), None);
        assert_eq!(tile(false, false, &[W::Q4, W::Q8], 512), Some(ExpertTile::Floats));
    }
}
