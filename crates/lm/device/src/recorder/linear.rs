//! Matrix products: which kernel computes one, and what happens to its partial sums.

use roci_gguf::Type;
use roci_hal::BufferRange;
use roci_kernels::params::{
    LmAddRmsNorm, LmCastF16, LmLinear, LmMatmulPacked, LmMoeCombine, LmQuantize, LmQuantizeI8, Params, WeightFormat,
};

use super::StepRecorder;
use super::expert_tiles::ExpertTile;
use super::state::{InputForm, PartialSums, Reduction};
use crate::experts::ExpertShard;
use crate::kernel_id::KernelId;
use crate::layer::DeviceLinear;
use crate::norms::DeviceNorm;
use crate::pack::GROUP;
use crate::scratch::RowBuffer;
use crate::weights::{DeviceMatrix, FileSegments, Storage};
use crate::{Error, SMALL_BATCH};

/// Tokens that share one read of the weights in [`KernelId::matvec4`].
const MATVEC4_TOKENS: usize = 4;

/// Maximum number of tokens of [`KernelId::matvec8_packed_dot`]. With more tokens, f32 tiles are
/// faster on some GPUs.
pub(crate) const PACKED_DOT_TOKENS: usize = 32;

/// Maximum number of tokens for the small tiles of [`KernelId::matmul_coopmat32`]. A large tile
/// takes as long for one token as for 128.
const COOPMAT32_TOKENS: usize = 96;

/// Maximum number of tokens of [`KernelId::matvec8_packed_dot`] on devices with matrix units. More are
/// faster in tiles.
const PACKED_DOT_COOPMAT_TOKENS: usize = 8;

/// Tile of a product on matrix units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoopmatTile {
    /// [`KernelId::matmul_coopmat16`].
    Tokens16,
    /// [`KernelId::matmul_coopmat32`].
    Tokens32,
    /// [`KernelId::matmul_coopmat`].
    Large,
}

/// Input of a matrix product.
#[derive(Clone, Copy)]
pub(super) struct LinearInput<'a> {
    pub(super) rows: &'a RowBuffer,
    /// A norm that the product applies itself: with a single token, or by packed dot products.
    pub(super) norm: Option<&'a DeviceNorm>,
    /// Whether the rows are 16-bit floats already.
    pub(super) f16: bool,
}

impl<'a> LinearInput<'a> {
    pub(super) fn f32(rows: &'a RowBuffer) -> Self {
        Self { rows, norm: None, f16: false }
    }
}

/// Pairs of a token and one of its experts.
#[derive(Clone, Copy)]
pub(super) struct ExpertPairs<'n> {
    pub(super) pairs: usize,
    /// Total number of experts.
    pub(super) experts: usize,
    /// Pairs that read the same row of the input.
    pub(super) sharing: usize,
    /// The expert of each pair.
    pub(super) ids: &'n BufferRange,
    /// How pairs are grouped, and the tiles; `None` if each reads its expert's matrix.
    pub(super) tile: Option<(ExpertTile, &'n BufferRange)>,
}

/// Codes and scales of a planar matrix.
#[derive(Clone, Copy)]
struct Planes<'a> {
    codes: &'a BufferRange,
    scales: &'a BufferRange,
    format: WeightFormat,
}

/// What a product with a planar matrix reads and writes besides the matrix.
#[derive(Clone, Copy)]
struct Operands<'a> {
    input: &'a LinearInput<'a>,
    bias: &'a BufferRange,
    y: &'a RowBuffer,
    reduction: Reduction,
}

/// A matrix in the CPU's layout.
#[derive(Clone, Copy)]
struct PackedMatrix<'a> {
    bytes: &'a BufferRange,
    kind: Type,
    /// Where it is in the file; `None` for a copy.
    segments: Option<FileSegments>,
    rows: usize,
    scale: f32,
}

impl<'a> StepRecorder<'a> {
    /// A product with a matrix that all tokens share.
    pub(super) fn linear(
        &mut self,
        linear: &DeviceLinear,
        input: &LinearInput<'_>,
        tokens: usize,
        y: &RowBuffer,
        flags: u32,
    ) -> Result<(), Error> {
        self.linear_with(linear, input, tokens, y, flags, Reduction::Product).map(drop)
    }

    /// Like [`linear`](Self::linear). With [`Reduction::Caller`], which needs a matrix of one
    /// shard, it may return partial sums that the caller must add up.
    pub(super) fn linear_with(
        &mut self,
        linear: &DeviceLinear,
        input: &LinearInput<'_>,
        tokens: usize,
        y: &RowBuffer,
        flags: u32,
        reduction: Reduction,
    ) -> Result<Option<PartialSums>, Error> {
        debug_assert!(reduction != Reduction::Caller || linear.matrix.shards.len() == 1);
        let mut partials = None;
        for shard in &linear.matrix.shards {
            match &shard.storage {
                Storage::Planar { codes, scales, format } => {
                    let gated = flags & LmLinear::GATE != 0;
                    let offset = linear.offset + if gated { shard.first_row / 2 } else { shard.first_row };
                    let packed = flags & LmLinear::PACKED != 0;
                    let constants = LmLinear {
                        rows: shard.rows as u32,
                        columns: linear.matrix.columns as u32,
                        tokens: tokens as u32,
                        x_stride: input.rows.stride as u32,
                        y_stride: if packed { y.stride / 2 } else { y.stride } as u32,
                        y_offset: offset as u32,
                        flags: flags
                            | if linear.bias.is_some() { LmLinear::BIAS } else { 0 }
                            | if input.norm.is_some() { LmLinear::NORM } else { 0 },
                        experts: 0,
                        sharing: 1,
                        model_columns: linear.matrix.model_columns as u32,
                        epsilon: input.norm.map_or(0.0, |norm| norm.epsilon),
                    };
                    let bias = match &linear.bias {
                        Some(bias) => {
                            let skipped = 4 * shard.first_row as u64;
                            bias.range(skipped, bias.length() - skipped)?
                        }
                        None => self.scratch.unused.clone(),
                    };
                    let planes = Planes { codes, scales, format: *format };
                    partials = self.planar(planes, Operands { input, bias: &bias, y, reduction }, &constants)?;
                }
                Storage::Packed { bytes, kind, scale } => {
                    let (kind, rows, scale) = (*kind, shard.rows, *scale);
                    let matrix = PackedMatrix { bytes, kind, segments: None, rows, scale };
                    self.packed(matrix, linear, input.rows, tokens, y, flags)?;
                }
                Storage::InPlace { file, kind, segments, scale } => {
                    let (kind, segments, rows, scale) = (*kind, Some(*segments), shard.rows, *scale);
                    let matrix = PackedMatrix { bytes: file, kind, segments, rows, scale };
                    self.packed(matrix, linear, input.rows, tokens, y, flags)?;
                }
            }
        }
        self.adapters(linear, input, tokens, y)?;
        Ok(partials)
    }

    /// A product with the matrices of experts, for each pair of a token and one of its experts.
    pub(super) fn expert_linear(
        &mut self,
        shards: &[ExpertShard],
        input: &LinearInput<'_>,
        y: &RowBuffer,
        flags: u32,
        ExpertPairs { pairs, experts: count, sharing, ids, tile }: ExpertPairs<'_>,
    ) -> Result<(), Error> {
        let x = input.rows;
        let norm = input.norm.map_or(&self.scratch.unused, |norm| &norm.weight);
        // Words of `y` per column.
        let packing = if flags & LmLinear::PACKED == 0 { 1 } else { 2 };
        for ExpertShard { matrix, bias, first_output } in shards {
            let [shard] = &matrix.shards[..] else {
                return Err(Error::file("the experts of a layer exceed one binding of this device"));
            };
            let Storage::Planar { codes, scales, format } = &shard.storage else {
                return Err(Error::file("the matrices of experts are packed"));
            };
            let constants = LmLinear {
                rows: (matrix.rows / count) as u32,
                columns: matrix.columns as u32,
                tokens: pairs as u32,
                x_stride: x.stride as u32,
                y_stride: (y.stride / packing) as u32,
                y_offset: (*first_output / packing) as u32,
                flags: flags
                    | if bias.is_some() { LmLinear::BIAS } else { 0 }
                    | if input.norm.is_some() { LmLinear::NORM } else { 0 },
                experts: count as u32,
                sharing: sharing as u32,
                model_columns: matrix.model_columns as u32,
                epsilon: input.norm.map_or(0.0, |norm| norm.epsilon),
            };
            let unused = &self.scratch.unused;
            let bias = bias.as_ref().unwrap_or(unused);
            if let Some(tile) = tile {
                self.tiled_expert_product(tile, (*format, [codes, scales, bias]), input, y, &constants)?;
                continue;
            }
            let bindings = [codes, scales, &x.range, bias, ids, norm, &y.range];
            let (kernel, grid) = self.single_token_kernel(*format, &constants);
            self.dispatch(kernel, grid, &bindings, &constants)?;
        }
        Ok(())
    }

    /// A product with a planar matrix.
    fn planar(
        &mut self,
        planes: Planes<'_>,
        operands: Operands<'_>,
        constants: &LmLinear,
    ) -> Result<Option<PartialSums>, Error> {
        let Planes { codes, scales, format } = planes;
        let Operands { input, bias, y, .. } = operands;
        let tokens = constants.tokens as usize;
        let x = &input.rows.range;
        if tokens == 1 {
            let unused = &self.scratch.unused;
            let norm = input.norm.map_or(unused, |norm| &norm.weight);
            let (kernel, grid) = self.single_token_kernel(format, constants);
            self.dispatch(kernel, grid, &[codes, scales, x, bias, unused, norm, &y.range], constants)?;
        } else if let Some(tile) = self.coopmat_tile(format, constants.columns as usize, tokens) {
            return self.coopmat(tile, planes, operands, constants);
        } else if self.takes_packed_dot(format, tokens) {
            let x = self.quantize_i8(input, constants)?;
            let kernel = KernelId::matvec8_packed_dot(format);
            let constants = LmLinear { flags: constants.flags & !LmLinear::NORM, ..*constants };
            let constants = constants.with_teams(self.features.compute_units);
            let bindings = [codes, scales, x, bias, &self.scratch.unused, &y.range];
            self.dispatch(kernel, constants.vector8_grid(), &bindings, &constants)?;
        } else if tokens > SMALL_BATCH {
            let kernel = KernelId::matmul(format);
            let bindings = [codes, scales, x, bias, &self.scratch.unused, &y.range];
            self.dispatch(kernel, constants.tile_grid(), &bindings, constants)?;
        } else {
            let grid = constants.vector_grid(MATVEC4_TOKENS as u32);
            self.dispatch(KernelId::matvec4(format), grid, &[codes, scales, x, bias, &y.range], constants)?;
        }
        Ok(None)
    }

    /// The kernel for a single token, and its grid.
    fn single_token_kernel(&self, format: WeightFormat, constants: &LmLinear) -> (KernelId, [u32; 3]) {
        let kernel = if self.features.packed_dot && format.is_whole() {
            KernelId::matvec_packed_dot(format)
        } else {
            KernelId::matvec(format)
        };
        (kernel, if format.is_float() { constants.plain_grid() } else { constants.vector_grid(1) })
    }

    /// Whether a small batch is quantized to 8 bits and multiplied by packed dot products.
    fn takes_packed_dot(&self, format: WeightFormat, tokens: usize) -> bool {
        let most = if self.features.coopmat { PACKED_DOT_COOPMAT_TOKENS } else { PACKED_DOT_TOKENS };
        self.features.packed_dot && (2..=most).contains(&tokens) && format.has_matvec8_i8()
    }

    /// Whether all shards of a matrix read their input in 8 bits.
    pub(super) fn runs_on_packed_dot(&self, matrix: &DeviceMatrix, tokens: usize) -> bool {
        matrix.shards.iter().all(|shard| match &shard.storage {
            Storage::Planar { format, .. } => self.takes_packed_dot(*format, tokens),
            Storage::Packed { .. } | Storage::InPlace { .. } => false,
        })
    }

    /// The tile of a product on matrix units; `None` if it does not run there.
    fn coopmat_tile(&self, format: WeightFormat, columns: usize, tokens: usize) -> Option<CoopmatTile> {
        if !self.features.coopmat || tokens < 2 || self.takes_packed_dot(format, tokens) {
            return None;
        }
        // Small tiles are faster than large ones that spill registers.
        let is_spilled = self.features.prebuilt && !format.fits_large_tile();
        let has_large = columns.is_multiple_of(LmLinear::COOPMAT_STEP as usize) && format.has_coopmat() && !is_spilled;
        if has_large && tokens > COOPMAT32_TOKENS {
            return Some(CoopmatTile::Large);
        }
        let is_narrow = tokens <= LmLinear::COOPMAT16_TILE[0] as usize;
        format.has_coopmat().then_some(if is_narrow { CoopmatTile::Tokens16 } else { CoopmatTile::Tokens32 })
    }

    /// Whether all shards of a matrix run on matrix units.
    pub(super) fn runs_on_coopmat(&self, matrix: &DeviceMatrix, tokens: usize) -> bool {
        matrix.shards.iter().all(|shard| match &shard.storage {
            Storage::Planar { format, .. } => self.coopmat_tile(*format, matrix.columns, tokens).is_some(),
            Storage::Packed { .. } | Storage::InPlace { .. } => false,
        })
    }

    /// Whether the gated product can write 16-bit floats for the down projection.
    pub(super) fn can_output_f16(&self, gate_up: &DeviceMatrix, down: &DeviceMatrix) -> bool {
        let tokens = self.shape.tokens;
        let whole_words = gate_up.shards.len() == 1 && gate_up.rows.is_multiple_of(4);
        whole_words && self.runs_on_coopmat(gate_up, tokens) && self.runs_on_coopmat(down, tokens)
    }

    /// A product on matrix units. Where its tiles leave much of the device idle, columns are split
    /// too, and partial sums are added up.
    fn coopmat(
        &mut self,
        tile: CoopmatTile,
        planes: Planes<'_>,
        operands: Operands<'_>,
        constants: &LmLinear,
    ) -> Result<Option<PartialSums>, Error> {
        let Planes { codes, scales, format } = planes;
        let Operands { input, bias, y, reduction } = operands;
        let scratch = self.scratch;
        let (kernel, small_tile) = match tile {
            CoopmatTile::Tokens16 => (KernelId::matmul_coopmat16(format), Some(LmLinear::COOPMAT16_TILE)),
            CoopmatTile::Tokens32 => (KernelId::matmul_coopmat32(format), Some(LmLinear::coopmat32_tile(format))),
            CoopmatTile::Large => (KernelId::matmul_coopmat(format), None),
        };
        let grid = |constants: &LmLinear| match small_tile {
            Some(tile) => constants.small_coopmat_grid(tile),
            None => constants.coopmat_grid(),
        };
        let x = if input.f16 { &input.rows.range } else { self.cast_f16(input.rows, constants.tokens as usize)? };
        let stride = (constants.rows as usize).next_multiple_of(GROUP);
        let count = match constants.flags & !LmLinear::ADD {
            0 if constants.y_offset == 0 && reduction != Reduction::Unsplit => {
                let units = self.features.compute_units;
                let most = self.max_column_splits(constants.tokens as usize, stride) as u32;
                match small_tile {
                    Some(tile) => {
                        let step = LmLinear::small_coopmat_step(format, tile[0]);
                        constants.small_coopmat_column_splits(tile, step, units, most)
                    }
                    None => constants.coopmat_column_splits(units, most),
                }
            }
            _ => 1,
        };
        // Only small tiles have a binding for tiles of experts.
        let bindings = |y| {
            let mut all = vec![codes, scales, x, bias];
            all.extend(small_tile.map(|_| &scratch.unused));
            all.push(y);
            all
        };
        if count == 1 {
            self.dispatch(kernel, grid(constants), &bindings(&y.range), constants)?;
            return Ok(None);
        }
        let split = LmLinear { flags: 0, sharing: count, y_stride: stride as u32, ..*constants };
        self.dispatch(kernel, grid(&split), &bindings(&scratch.partial_sums.range), &split)?;
        let partials = PartialSums { count, stride: stride as u32 };
        let adds = constants.flags & LmLinear::ADD != 0;
        if reduction == Reduction::Caller {
            return Ok(Some(partials));
        }
        if adds && constants.rows as usize == scratch.embedding {
            // Only the residual accumulates; its next reader adds these partial sums.
            self.state.defer_to_residual(partials);
            return Ok(None);
        }
        self.barrier();
        self.add_up(partials, (constants.tokens, constants.rows), y, adds)?;
        Ok(None)
    }

    /// Maximum number of column splits: how many partial sums of `stride` floats per token fit the
    /// scratch memory. Small batches have room for more.
    fn max_column_splits(&self, tokens: usize, stride: usize) -> usize {
        let (sums, ones) = (self.scratch.partial_sums.range.length(), self.scratch.ones.length());
        (sums as usize / 4 / (tokens * stride)).min(ones as usize / 4 / tokens)
    }

    /// Adds the deferred partial sums to the residual stream.
    pub(super) fn flush_partial_sums(&mut self) -> Result<(), Error> {
        let Some(partials) = self.state.take_residual_partials() else { return Ok(()) };
        let scratch = self.scratch;
        self.add_up(partials, (self.shape.tokens as u32, scratch.embedding as u32), &scratch.residual, true)?;
        self.barrier();
        Ok(())
    }

    /// Adds up partial sums, and adds the result to `y` or overwrites it.
    fn add_up(
        &mut self,
        partials: PartialSums,
        (tokens, columns): (u32, u32),
        y: &RowBuffer,
        add: bool,
    ) -> Result<(), Error> {
        let constants = LmMoeCombine {
            tokens,
            columns,
            used: partials.count,
            x_stride: partials.stride,
            y_stride: y.stride as u32,
            add: u32::from(add),
            sharing: 1,
        };
        let bindings = [&self.scratch.partial_sums.range, &self.scratch.ones, &y.range];
        self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)
    }

    /// Adds the deferred partial sums to the residual stream and writes its norm as 16-bit floats.
    pub(super) fn add_rms_norm(&mut self, norm: &DeviceNorm) -> Result<(), Error> {
        let scratch = self.scratch;
        let partials = self.state.take_residual_partials();
        let constants = LmAddRmsNorm {
            rows: self.shape.tokens as u32,
            columns: scratch.embedding as u32,
            x_stride: scratch.residual.stride as u32,
            used: partials.map_or(0, |partials| partials.count),
            part_stride: partials.map_or(0, |partials| partials.stride),
            epsilon: norm.epsilon,
        };
        let bindings = [&scratch.partial_sums.range, &norm.weight, &scratch.residual.range, &scratch.f16];
        self.dispatch(KernelId::ADD_RMS_NORM, constants.grid(), &bindings, &constants)?;
        self.barrier();
        self.state.input_changed();
        self.state.input_converted(InputForm::F16);
        Ok(())
    }

    /// The rows as 16-bit floats, converted unless an earlier product has done so.
    pub(super) fn cast_f16(&mut self, x: &RowBuffer, tokens: usize) -> Result<&'a BufferRange, Error> {
        let f16 = &self.scratch.f16;
        if self.state.needs_conversion(InputForm::F16) {
            let constants = LmCastF16 { words: (tokens * x.stride / 2) as u32 };
            self.dispatch(KernelId::CAST_F16, constants.grid(), &[&x.range, f16], &constants)?;
            self.barrier();
            self.state.input_converted(InputForm::F16);
        }
        Ok(f16)
    }

    /// The rows as 8-bit integers, normalized if the input has a norm and converted unless an earlier
    /// product has done so.
    pub(super) fn quantize_i8(
        &mut self,
        input: &LinearInput<'_>,
        product: &LmLinear,
    ) -> Result<&'a BufferRange, Error> {
        let (quantized, x) = (&self.scratch.quantized, input.rows);
        if self.state.needs_conversion(InputForm::I8) {
            let LmLinear { tokens, columns, epsilon, .. } = *product;
            let model_columns = if input.norm.is_some() { product.model_columns } else { 0 };
            let constants = LmQuantizeI8 { tokens, columns, x_stride: x.stride as u32, model_columns, epsilon };
            let norm = input.norm.map_or(&self.scratch.unused, |norm| &norm.weight);
            self.dispatch(KernelId::QUANTIZE_I8, constants.grid(), &[&x.range, norm, quantized], &constants)?;
            self.barrier();
            self.state.input_converted(InputForm::I8);
        }
        Ok(quantized)
    }

    /// A product with weights in the CPU's layout, packed or in place in the file.
    fn packed(
        &mut self,
        matrix: PackedMatrix<'_>,
        linear: &DeviceLinear,
        x: &RowBuffer,
        tokens: usize,
        y: &RowBuffer,
        flags: u32,
    ) -> Result<(), Error> {
        let PackedMatrix { bytes, kind, segments, rows, scale } = matrix;
        let columns = linear.matrix.model_columns;
        let scratch = self.scratch;
        let float = matches!(kind, Type::F32 | Type::F16 | Type::BF16);
        if !float && self.state.needs_conversion(InputForm::I8) {
            let constants =
                LmQuantize { tokens: tokens as u32, columns: columns as u32, x_stride: x.stride as u32, x_offset: 0 };
            self.dispatch(KernelId::QUANTIZE, [1, 1, 1], &[&x.range, &scratch.quantized], &constants)?;
            self.barrier();
            self.state.input_converted(InputForm::I8);
        }
        let in_place = if segments.is_some() { LmMatmulPacked::IN_PLACE } else { 0 };
        let FileSegments { starts, ends } = segments.unwrap_or_default();
        let constants = LmMatmulPacked {
            rows: rows as u32,
            columns: columns as u32,
            tokens: tokens as u32,
            format: kind.id(),
            x_stride: x.stride as u32,
            x_offset: 0,
            y_stride: y.stride as u32,
            y_offset: linear.offset as u32,
            flags: if flags & LmLinear::ADD != 0 { LmMatmulPacked::ADD } else { 0 }
                | if linear.bias.is_some() { LmMatmulPacked::BIAS } else { 0 }
                | if scale == 1.0 { 0 } else { LmMatmulPacked::SCALED }
                | in_place,
            starts,
            ends,
            scale,
        };
        let source = if float { &x.range } else { &scratch.quantized };
        let bias = linear.bias.as_ref().unwrap_or(&scratch.unused);
        self.dispatch(KernelId::MATMUL_PACKED, [1, 1, 1], &[bytes, source, bias, &y.range], &constants)
    }
}
