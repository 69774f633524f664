//! Multi-head latent attention on a device.
//!
//! Heads attend to cached latents: a single KV head whose value is the end of its key. So the KV
//! cache has one row per token, and the kernels of attention and of experts compute everything: the
//! projections of each head from and to the latent are experts, and each token has all of them.

use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Writer};
use roci_lm::architecture::blocks::{Attention, Latent, Linear};

use crate::Error;
use crate::experts::ExpertShard;
use crate::half_floats::HalfFloats;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::native_experts::NativeExperts;
use crate::norms::DeviceNorm;
use crate::pack::GROUP;
use crate::vectors::row_of;
use crate::weights::{Progress, WeightLoader};

/// What multi-head latent attention has beside a block of attention, whose `qkv` are the projections
/// to the key.
#[derive(Clone)]
pub(crate) struct DeviceLatent {
    /// Projection of the input to queries, or to the vector that they are computed from.
    pub(crate) first: DeviceLinear,
    /// Norm of that vector, and its projection to queries.
    pub(crate) low_rank: Option<(DeviceNorm, DeviceLinear)>,
    /// Norm of the latent.
    pub(crate) norm: DeviceNorm,
    /// Per head, the projection of a query to the latent. Its results follow the rotated part.
    pub(crate) keys: HeadMatrices,
    /// Per head, the projection of the latent to the output.
    pub(crate) values: HeadMatrices,
    /// Length of a projected query head.
    pub(crate) query_length: usize,
    /// Length of its rotated part, which is at its end and at the start of a key.
    pub(crate) rotated_length: usize,
    /// Length of the output of a head.
    pub(crate) output_length: usize,
}

/// A matrix per head.
#[derive(Clone)]
pub(crate) enum HeadMatrices {
    /// For the WGSL kernels.
    Planar(Vec<ExpertShard>),
    /// For CPU-only kernels.
    Native(Vec<NativeExperts>),
}

impl HeadMatrices {
    /// Writes the results from this column on.
    fn at(mut self, column: usize) -> Self {
        match &mut self {
            Self::Planar(shards) => shards.iter_mut().for_each(|shard| shard.first_output += column),
            Self::Native(products) => products.iter_mut().for_each(|product| product.offset += column),
        }
        self
    }
}

/// What no device computes of a block with a latent.
pub(crate) fn unsupported(block: &Attention, latent: &Latent) -> Option<&'static str> {
    let plain = latent.query_length - block.rotated_length();
    let low_rank = latent.low_rank.as_ref().map_or(0, |query| query.projection.matrix.outputs());
    let lengths = [plain, block.value_length, latent.output_length, low_rank];
    let whole = lengths.iter().all(|length| length.is_multiple_of(GROUP));
    (!whole).then_some("latents or parts of heads whose lengths are not multiples of 32")
}

impl LayerBuilder<'_> {
    pub(crate) fn latent(&self, block: &Attention, latent: &Latent) -> Result<DeviceLatent, Error> {
        let rank = block.value_length;
        let (first, low_rank) = match &latent.low_rank {
            None => (&block.query, None),
            Some(query) => {
                let length = query.projection.matrix.outputs();
                let norm = self.norm(&query.norm, length)?;
                (&query.projection, Some((norm, self.linear(&block.query, 0)?)))
            }
        };
        let keys = match latent.transposed_keys {
            false => self.loader.head_matrices(&latent.keys)?,
            true => self.transposed_heads(&latent.keys)?,
        };
        Ok(DeviceLatent {
            first: self.linear(first, 0)?,
            low_rank,
            norm: self.norm(&latent.norm, rank)?,
            keys: keys.at(block.rotated_length()),
            values: self.loader.head_matrices(&latent.values)?,
            query_length: latent.query_length,
            rotated_length: block.rotated_length(),
            output_length: latent.output_length,
        })
    }

    /// The transposes of matrices that follow each other in a tensor, in [`transposed_kind`].
    fn transposed_heads(&self, linears: &[Linear]) -> Result<HeadMatrices, Error> {
        let Some(first) = linears.first() else { return Err(Error::file("attention has no heads")) };
        let (rows, columns) = (first.matrix.outputs(), first.matrix.columns);
        let tensor = self.loader.file.expect_tensor(&first.matrix.tensor)?;
        let kind = transposed_kind(tensor.info().kind());
        let scale = self.loader.scales(&[&first.matrix])?.first().copied().unwrap_or(1.0);
        let floats = tensor.to_f32()?;
        let mut bytes = Vec::new();
        let mut head = vec![0.0; rows * columns];
        for linear in linears {
            for row in 0..rows {
                let values = row_of(&floats, &linear.matrix, row)?;
                values.iter().enumerate().for_each(|(column, value)| head[column * rows + row] = scale * value);
            }
            kind.quantize(&head, &mut bytes)?;
        }
        let shape = [rows, columns, linears.len()].map(|size| size as u64);
        let info = TensorInfo::new(TRANSPOSED, &shape, kind)?;
        let mut writer = Writer::start(Vec::new(), &Metadata::new(), std::slice::from_ref(&info))?;
        writer.write(TRANSPOSED, &bytes)?;
        let file = Gguf::from_bytes(writer.finish()?)?;
        let mut transposed = linears.to_vec();
        for (head, linear) in transposed.iter_mut().enumerate() {
            let matrix = &mut linear.matrix;
            (matrix.tensor, matrix.columns, matrix.blocks) = (TRANSPOSED.to_owned(), rows, None);
            matrix.rows = head * columns..(head + 1) * columns;
        }
        // The bytes of the file are counted below.
        let progress = Progress::new(0, &|_, _| ());
        // F32 from BF16 becomes 16-bit floats as BF16 does.
        let half_floats = match self.loader.half_floats {
            HalfFloats::Bf16 if tensor.info().kind() == Type::BF16 => HalfFloats::All,
            other => other,
        };
        let loader = WeightLoader::new(&file, self.loader.device, self.loader.native_kernels, &progress)
            .with_half_floats(half_floats);
        let heads = loader.head_matrices(&transposed)?;
        loader.finish()?;
        let row_bytes = tensor.info().byte_len() / (floats.len() / columns.max(1)).max(1) as u64;
        self.loader.progress.add(row_bytes * (rows * linears.len()) as u64);
        Ok(heads)
    }
}

/// Name of the tensor of transposed matrices.
const TRANSPOSED: &str = "transposed.weight";

/// The type of transposed matrices. Blocks of quantized types are along the other dimension.
pub(crate) fn transposed_kind(kind: Type) -> Type {
    if matches!(kind, Type::F32 | Type::BF16) { Type::F32 } else { Type::F16 }
}

impl WeightLoader<'_> {
    /// The matrices of all heads, which have the same size and type.
    fn head_matrices(&self, linears: &[Linear]) -> Result<HeadMatrices, Error> {
        if self.native_kernels {
            return Ok(HeadMatrices::Native(self.native_products(&[linears.iter().collect()])?));
        }
        Ok(HeadMatrices::Planar(self.expert_shards(linears.iter().map(|linear| vec![linear]).collect())?))
    }
}
