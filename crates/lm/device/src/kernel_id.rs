//! Selection of kernels by operation, weight format and cache type.

use roci_kernels::KernelSpec;
use roci_kernels::params::{LmAttention, LmDecodeAttention, LmEmbed, WeightFormat};

use crate::Error;
use crate::options::CacheType;

/// A kernel of the table of [`roci_kernels`]. The constructors of this module are the only source
/// of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KernelId(&'static str);

/// The variant of a kernel for a weight format.
macro_rules! per_format {
    ($prefix:literal, $format:expr) => {
        KernelId(match $format {
            WeightFormat::F32 => concat!($prefix, "_f32"),
            WeightFormat::F16 => concat!($prefix, "_f16"),
            WeightFormat::Bf16 => concat!($prefix, "_bf16"),
            WeightFormat::Q4 => concat!($prefix, "_q4"),
            WeightFormat::Q4Affine => concat!($prefix, "_q4_affine"),
            WeightFormat::Nvfp4 => concat!($prefix, "_nvfp4"),
            WeightFormat::Q4Nl => concat!($prefix, "_q4_nl"),
            WeightFormat::Q4E2m1 => concat!($prefix, "_q4_e2m1"),
            WeightFormat::Q8 => concat!($prefix, "_q8"),
            WeightFormat::Iq4Xs => concat!($prefix, "_iq4_xs"),
            WeightFormat::Q4Superblock => concat!($prefix, "_q4_superblock"),
            WeightFormat::Q50 => concat!($prefix, "_q5_0"),
            WeightFormat::Q51 => concat!($prefix, "_q5_1"),
            WeightFormat::Q5K => concat!($prefix, "_q5_k"),
            WeightFormat::Q6K => concat!($prefix, "_q6_k"),
            WeightFormat::Q2K => concat!($prefix, "_q2_k"),
            WeightFormat::Q3K => concat!($prefix, "_q3_k"),
            WeightFormat::Tq20 => concat!($prefix, "_tq2_0"),
            WeightFormat::Q20 => concat!($prefix, "_q2_0"),
            WeightFormat::Q10 => concat!($prefix, "_q1_0"),
            WeightFormat::Iq1S => concat!($prefix, "_iq1_s"),
            WeightFormat::Iq1M => concat!($prefix, "_iq1_m"),
            WeightFormat::Iq2Xxs => concat!($prefix, "_iq2_xxs"),
            WeightFormat::Iq2Xs => concat!($prefix, "_iq2_xs"),
            WeightFormat::Iq2S => concat!($prefix, "_iq2_s"),
            WeightFormat::Iq3Xxs => concat!($prefix, "_iq3_xxs"),
            WeightFormat::Iq3S => concat!($prefix, "_iq3_s"),
        })
    };
}

/// The variant of a kernel for a cache type.
macro_rules! per_cache {
    ($prefix:literal, $cache:expr) => {
        KernelId(match $cache {
            CacheType::F16 => concat!($prefix, "_f16"),
            CacheType::Q8 => concat!($prefix, "_q8"),
        })
    };
}

impl KernelId {
    /// RMS norm of rows, optionally gathered, optionally added to the output.
    pub(crate) const RMS_NORM: Self = Self("lm_rms_norm");
    /// Layer norm of rows, optionally gathered.
    pub(crate) const LAYER_NORM: Self = Self("lm_layer_norm");
    /// Adds partial sums to the residual stream, normalizes it, and writes 16-bit floats.
    pub(crate) const ADD_RMS_NORM: Self = Self("lm_add_rms_norm");
    /// Converts rows to 16-bit floats.
    pub(crate) const CAST_F16: Self = Self("lm_cast_f16");
    /// Weighted sum of several rows per token: outputs of experts, or partial sums with weights of
    /// one.
    pub(crate) const MOE_COMBINE: Self = Self("lm_moe_combine");
    /// Predicts or corrects several residual streams.
    pub(crate) const MIX_STREAMS: Self = Self("lm_mix_streams");
    /// Rows scaled to the L2 norm of others.
    pub(crate) const L2_NORM: Self = Self("lm_l2_norm");
    /// Activation of the gate times the up projection.
    pub(crate) const GLU: Self = Self("lm_glu");
    /// Multiplies rows by the sigmoid of their gates.
    pub(crate) const SIGMOID_GATE: Self = Self("lm_sigmoid_gate");
    /// Causal convolution over the most recent tokens, with separate weights for each channel.
    pub(crate) const SHORT_CONVOLUTION: Self = Self("lm_short_conv");
    /// Recurrence of gated delta nets.
    pub(crate) const DELTA_RULE: Self = Self("lm_delta_rule");
    /// Recurrence of state spaces.
    pub(crate) const SSM_SCAN: Self = Self("lm_ssm_scan");
    /// Recurrence of selective scans.
    pub(crate) const SSM_SCAN_ROWS: Self = Self("lm_ssm_scan_rows");
    /// Recurrence of RWKV.
    pub(crate) const WKV: Self = Self("lm_wkv");
    /// RMS norm or layer norm of heads with a gate.
    pub(crate) const GATED_RMS_NORM: Self = Self("lm_gated_rms_norm");
    /// Chooses the experts of each token and their weights.
    pub(crate) const MOE_TOP_K: Self = Self("lm_moe_top_k");
    /// Groups pairs of a token and one of its experts by expert.
    pub(crate) const MOE_GROUP: Self = Self("lm_moe_group");
    /// Copies words between strided layouts.
    pub(crate) const STRIDED_COPY: Self = Self("strided_copy");
    /// Combines the results of attention over splits of the KV cache.
    pub(crate) const COMBINE_SPLITS: Self = Self("lm_combine_splits");
    /// Quantizes activations to 8 bits for [`Self::matvec8_packed_dot`].
    pub(crate) const QUANTIZE_I8: Self = Self("lm_quantize_i8");
    /// CPU only: quantizes activations to 8 bits.
    pub(crate) const QUANTIZE: Self = Self("lm_quantize");
    /// CPU only: product with packed or memory-mapped weights.
    pub(crate) const MATMUL_PACKED: Self = Self("lm_matmul_packed");
    /// CPU only: the same product with expert matrices.
    pub(crate) const EXPERTS_PACKED: Self = Self("lm_experts_packed");

    /// CPU only: requests pages of the mapped file.
    pub(crate) const READ_AHEAD: Self = Self("lm_read_ahead");

    /// Lookup of embedding rows. `None` for formats without such a kernel.
    pub(crate) fn embed(format: WeightFormat) -> Option<Self> {
        LmEmbed::kernel(format).map(Self)
    }

    /// Matrix-vector product for a single token.
    pub(crate) const fn matvec(format: WeightFormat) -> Self {
        per_format!("lm_matvec", format)
    }

    /// Matrix-vector product by packed dot products, for formats with integer codes
    /// ([`WeightFormat::is_whole`]).
    pub(crate) const fn matvec_packed_dot(format: WeightFormat) -> Self {
        per_format!("lm_matvec_i8", format)
    }

    /// Product that reads the weights once per four tokens.
    pub(crate) const fn matvec4(format: WeightFormat) -> Self {
        per_format!("lm_matvec4", format)
    }

    /// Product that reads the weights once per eight tokens, by packed dot products, for formats
    /// that have one ([`WeightFormat::has_matvec8_i8`]).
    pub(crate) const fn matvec8_packed_dot(format: WeightFormat) -> Self {
        per_format!("lm_matvec8_i8", format)
    }

    /// Tiled matrix product.
    pub(crate) const fn matmul(format: WeightFormat) -> Self {
        per_format!("lm_matmul", format)
    }

    /// Matrix product on matrix units, for formats that have one ([`WeightFormat::has_coopmat`]).
    pub(crate) const fn matmul_coopmat(format: WeightFormat) -> Self {
        per_format!("lm_matmul_coopmat", format)
    }

    /// Matrix product of up to 16 tokens on matrix units, for formats that have one
    /// ([`WeightFormat::has_coopmat`]).
    pub(crate) const fn matmul_coopmat16(format: WeightFormat) -> Self {
        per_format!("lm_matmul_coopmat16", format)
    }

    /// Matrix product of up to 32 tokens on matrix units, for formats that have one
    /// ([`WeightFormat::has_coopmat`]).
    pub(crate) const fn matmul_coopmat32(format: WeightFormat) -> Self {
        per_format!("lm_matmul_coopmat32", format)
    }

    /// Rotary embedding of queries and keys, and the store of keys and values to the KV cache.
    pub(crate) const fn rope_kv_store(cache: CacheType) -> Self {
        per_cache!("lm_rope_kv_store", cache)
    }

    /// Attention of blocks of tokens over the KV cache.
    pub(crate) const fn attention(cache: CacheType) -> Self {
        per_cache!("lm_attention", cache)
    }

    /// [`rope_kv_store`](Self::rope_kv_store) and [`attention`](Self::attention) in one, for one
    /// token per sequence.
    pub(crate) const fn decode_attention(cache: CacheType) -> Self {
        per_cache!("lm_decode_attention", cache)
    }

    /// [`decode_attention`](Self::decode_attention) for up to four query heads at once.
    pub(crate) const fn decode_attention4(cache: CacheType) -> Self {
        per_cache!("lm_decode_attention4", cache)
    }

    /// [`decode_attention4`](Self::decode_attention4) with subgroups of at least 32, over an f16
    /// cache. `None` for head sizes without such a kernel.
    pub(crate) fn decode_attention_subgroups(attention: &LmDecodeAttention) -> Option<Self> {
        attention.subgroup_kernel().map(Self)
    }

    /// Attention on matrix units over an f16 cache. `None` for head sizes without such a kernel.
    pub(crate) fn flash_attention(attention: &LmAttention) -> Option<Self> {
        attention.coopmat_kernel().map(Self)
    }

    /// Whether the kernel multiplies a matrix with one token by packed dot products.
    pub(crate) fn is_packed_dot_product(self) -> bool {
        self.0.starts_with("lm_matvec_i8_")
    }

    pub(crate) fn name(self) -> &'static str {
        self.0
    }

    /// The entry in the table of kernels.
    pub(crate) fn spec(self) -> Result<&'static KernelSpec, Error> {
        Ok(roci_kernels::find(self.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_selectable_kernel_exists() {
        let mut kernels = vec![
            KernelId::RMS_NORM,
            KernelId::LAYER_NORM,
            KernelId::ADD_RMS_NORM,
            KernelId::CAST_F16,
            KernelId::QUANTIZE_I8,
            KernelId::MOE_COMBINE,
            KernelId::MIX_STREAMS,
            KernelId::L2_NORM,
            KernelId::GLU,
            KernelId::SIGMOID_GATE,
            KernelId::SHORT_CONVOLUTION,
            KernelId::DELTA_RULE,
            KernelId::SSM_SCAN,
            KernelId::SSM_SCAN_ROWS,
            KernelId::WKV,
            KernelId::GATED_RMS_NORM,
            KernelId::MOE_TOP_K,
            KernelId::MOE_GROUP,
            KernelId::COMBINE_SPLITS,
            KernelId::STRIDED_COPY,
        ];
        for format in WeightFormat::ALL {
            kernels.extend([KernelId::matvec(format), KernelId::matvec4(format), KernelId::matmul(format)]);
            kernels.extend(KernelId::embed(format));
            kernels.extend(format.is_whole().then(|| KernelId::matvec_packed_dot(format)));
            kernels.extend(format.has_matvec8_i8().then(|| KernelId::matvec8_packed_dot(format)));
            kernels.extend(format.has_coopmat().then(|| KernelId::matmul_coopmat(format)));
            kernels.extend(format.has_coopmat().then(|| KernelId::matmul_coopmat16(format)));
            kernels.extend(format.has_coopmat().then(|| KernelId::matmul_coopmat32(format)));
            assert!(KernelId::matvec(format).name().ends_with(format.name()), "{}", format.name());
        }
        for cache in [CacheType::F16, CacheType::Q8] {
            kernels.extend([
                KernelId::rope_kv_store(cache),
                KernelId::attention(cache),
                KernelId::decode_attention(cache),
                KernelId::decode_attention4(cache),
            ]);
        }
        for size in [64, 128] {
            let attention = LmAttention { key_length: size, value_length: size, ..LmAttention::default() };
            kernels.extend(KernelId::flash_attention(&attention));
            let decode = LmDecodeAttention { key_length: size, ..LmDecodeAttention::default() };
            kernels.extend(KernelId::decode_attention_subgroups(&decode));
        }
        for kernel in kernels {
            assert!(kernel.spec().is_ok(), "the table has no {}", kernel.name());
        }
        for kernel in [KernelId::QUANTIZE, KernelId::MATMUL_PACKED, KernelId::EXPERTS_PACKED, KernelId::READ_AHEAD] {
            assert!(roci_kernels::native_only_executable(kernel.name()).is_some(), "the CPU has no {}", kernel.name());
        }
    }
}
