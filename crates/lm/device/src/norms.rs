//! Norms on a device: of the residual stream, and of queries and keys.

use roci_hal::BufferRange;
use roci_kernels::params::LmRopeKvStore;
use roci_lm::architecture::blocks::{Attention, HeadNorms, Norm, NormKind, NormSpan};

use crate::Error;
use crate::layer::LayerBuilder;

/// Weights of a norm.
#[derive(Clone)]
pub(crate) struct DeviceNorm {
    pub(crate) kind: NormKind,
    /// Weights, followed by biases if there are any.
    pub(crate) weight: BufferRange,
    pub(crate) biased: bool,
    pub(crate) epsilon: f32,
    /// Factor of the sum of residual stream and result.
    pub(crate) factor: f32,
}

impl DeviceNorm {
    /// Whether this is an RMS norm without biases, which other kernels can apply.
    pub(crate) fn is_plain_rms(&self) -> bool {
        self.kind == NormKind::Rms && !self.biased
    }
}

/// Norms of each query and key head, which the RoPE kernel applies.
pub(crate) struct DeviceHeadNorms {
    /// Flags of [`LmRopeKvStore`].
    pub(crate) flags: u32,
    pub(crate) epsilon: f32,
    /// The weights for query heads, then those for key heads, then attention sinks.
    pub(crate) weights: Option<BufferRange>,
}

impl LayerBuilder<'_> {
    /// The norm of rows of this length.
    pub(crate) fn norm(&self, norm: &Norm, length: usize) -> Result<DeviceNorm, Error> {
        let mut floats = match &norm.weight {
            Some(weight) => self.loader.host_floats(weight)?,
            None => vec![1.0; length],
        };
        if let Some(bias) = &norm.bias {
            floats.extend(self.loader.host_floats(bias)?);
        }
        Ok(DeviceNorm {
            kind: norm.kind,
            weight: self.loader.padded_floats(floats)?,
            biased: norm.bias.is_some(),
            epsilon: norm.epsilon,
            factor: 1.0,
        })
    }

    pub(crate) fn optional_norm(&self, norm: Option<&Norm>, length: usize) -> Result<Option<DeviceNorm>, Error> {
        norm.map(|norm| self.norm(norm, length)).transpose()
    }

    /// The norms of queries and of keys, if a norm spans all heads of a token.
    pub(crate) fn row_norms(&self, block: &Attention) -> Result<Option<[DeviceNorm; 2]>, Error> {
        let Some(norms) = block.head_norms.as_ref().filter(|norms| norms.span == NormSpan::Row) else {
            return Ok(None);
        };
        let norm = |norm: &Norm, heads: usize| self.norm(norm, heads * block.key_length);
        Ok(Some([norm(&norms.query, block.heads)?, norm(&norms.key, block.kv_heads)?]))
    }

    /// The norms of each query and key head, and attention sinks.
    pub(crate) fn head_norms(&self, block: &Attention, sinks: Option<&[f32]>) -> Result<DeviceHeadNorms, Error> {
        let mut found = DeviceHeadNorms { flags: 0, epsilon: 0.0, weights: None };
        let mut floats = Vec::new();
        if let Some(norms) = block.head_norms.as_ref().filter(|norms| norms.span != NormSpan::Row) {
            for norm in [&norms.query, &norms.key] {
                match &norm.weight {
                    Some(weight) => floats.extend(self.loader.host_floats(weight)?),
                    None => floats.resize(floats.len() + block.key_length, 1.0),
                }
            }
            found.epsilon = norms.query.epsilon;
            found.flags = flags(norms);
            if norms.after_rope {
                // The kernel divides by the root mean square before RoPE, which scales it.
                let magnitude = block.rope.magnitude;
                found.epsilon /= magnitude * magnitude;
                floats.iter_mut().for_each(|weight| *weight /= magnitude);
            }
        }
        if let Some(sinks) = sinks {
            found.flags |= LmRopeKvStore::SINKS;
            floats.extend(sinks);
        }
        found.weights = if floats.is_empty() { None } else { Some(self.loader.padded_floats(floats)?) };
        Ok(found)
    }
}

fn flags(norms: &HeadNorms) -> u32 {
    let flags = [
        (norms.after_rope, LmRopeKvStore::AFTER_ROPE),
        (norms.span == NormSpan::EachHead, LmRopeKvStore::EACH_HEAD),
        (norms.query.kind == NormKind::Layer, LmRopeKvStore::CENTERED),
    ];
    LmRopeKvStore::NORMS | flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).sum::<u32>()
}
