//! Limits of a step on one device. They decide the sizes of its scratch memory.

use roci_hal::DeviceInfo;
use roci_kernels::params::LmDecodeAttention;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Attention, Layer};

use crate::adapters;
use crate::bindings::max_binding;
use crate::features::{Features, is_software};
use crate::options::{CacheType, Options};
use crate::scratch::ScratchSizes;

/// Default maximum number of tokens per call, on hardware and on software devices.
const HARDWARE_BATCH_TOKENS: usize = 512;
const SOFTWARE_BATCH_TOKENS: usize = 64;
/// Default maximum number of tokens per call for non-causal models, unless the context is shorter.
const NON_CAUSAL_BATCH_TOKENS: usize = 4096;
/// Maximum number of logit rows per step.
const MAX_LOGIT_ROWS: usize = 32;
/// Maximum number of rotated pairs of a head.
const MAX_ROPE_PAIRS: usize = 256;
/// Alignment of the attention inputs in words; no driver requires more.
pub(crate) const MAX_ALIGNMENT: usize = 256;
/// Maximum number of splits of attention with a single token.
const MAX_SPLITS: usize = 64;
/// Workgroups per compute unit that hide the latency of attention with a single token.
const WORKGROUPS_PER_UNIT: usize = 4;
/// The same with kernels that use subgroups: as many as run at a time, since a second round of
/// workgroups would leave most of the device idle.
const SUBGROUP_WORKGROUPS_PER_UNIT: usize = 3;
/// Splits per sequence are rounded down to a multiple of this.
const SPLITS_STEP: usize = 4;
/// Maximum number of splits of attention with many tokens. They have enough workgroups, and this
/// limits the memory for the results of splits.
const MAX_BATCH_SPLITS: usize = 16;

/// Maximum number of tokens per call.
pub(crate) fn max_batch_tokens(model: &Model, options: &Options, info: &DeviceInfo) -> usize {
    let default = if !model.is_causal() {
        NON_CAUSAL_BATCH_TOKENS.min(model.context as usize)
    } else if is_software(info) {
        SOFTWARE_BATCH_TOKENS
    } else {
        HARDWARE_BATCH_TOKENS
    };
    // The queries of all heads are one buffer, and as long as latents.
    let latents = model.layers.iter().filter_map(Layer::attention).filter(|block| block.latent.is_some());
    let queries = latents.map(|block| 4 * (block.heads * block.key_length) as u64).max();
    let limit = queries.map_or(usize::MAX, |bytes| (max_binding(info) / bytes.max(1)) as usize);
    options.max_batch_tokens.unwrap_or(default).min(limit).max(1)
}

/// Maximum number of output rows per step. Logit rows are long; models without logits have a row
/// per token.
pub(crate) fn max_output_rows(model: &Model, tokens: usize) -> usize {
    if model.is_causal() { MAX_LOGIT_ROWS.min(tokens) } else { tokens }
}

/// Maximum number of 32-bit words of inputs per call.
fn input_words(model: &Model, options: &Options, tokens: usize) -> usize {
    let pages = (model.context as usize).div_ceil(options.page_size);
    let slots = if model.is_recurrent() { 4 } else { 0 };
    // Rotary positions of images, and the sections of pairs.
    let images = 3 * tokens + MAX_ROPE_PAIRS;
    // Inputs are padded to a power of two.
    // Non-causal chunks and images need a second copy of the attention inputs, at an aligned
    // offset.
    let attention = 5 * tokens + MAX_ALIGNMENT;
    let adapters = match options.adapters.len() {
        0 => 0,
        count => count * (tokens + max_output_rows(model, tokens)) + 2 * MAX_ALIGNMENT,
    };
    (5 * tokens
        + max_output_rows(model, tokens)
        + images
        + attention
        + adapters
        + options.max_chunks.min(tokens) * (pages + slots))
        .next_power_of_two()
}

/// Maximum number of splits of attention with this number of tokens.
pub(crate) fn batch_splits(max_splits: usize, tokens: usize) -> usize {
    (max_splits / tokens.max(1).next_power_of_two()).max(max_splits.min(MAX_BATCH_SPLITS))
}

/// Maximum number of splits of attention with a single token: enough workgroups to occupy the
/// device.
pub(crate) fn max_splits(model: &Model, options: &Options, info: &DeviceInfo) -> usize {
    let units = info.physical.iter().map(|physical| physical.compute_units as usize).min().unwrap_or(1).max(1);
    let config = &model.config;
    let groups = config.heads.iter().zip(&config.kv_heads).filter(|(_, kv_heads)| **kv_heads > 0);
    let groups =
        groups.map(|(heads, kv_heads)| kv_heads * (heads / kv_heads).div_ceil(LmDecodeAttention::HEADS as usize));
    let groups = groups.min().unwrap_or(1).max(1);
    if decodes_by_subgroups(model, options, info) {
        let splits = SUBGROUP_WORKGROUPS_PER_UNIT * units / groups;
        let whole_steps = if splits < SPLITS_STEP { splits } else { splits / SPLITS_STEP * SPLITS_STEP };
        return whole_steps.clamp(1, MAX_SPLITS);
    }
    let splits = (WORKGROUPS_PER_UNIT * units).div_ceil(groups);
    ((splits + 1).next_power_of_two() / 2).clamp(1, MAX_SPLITS)
}

/// Whether attention of one token per sequence uses a kernel with subgroups, in some layer.
pub(crate) fn decodes_by_subgroups(model: &Model, options: &Options, info: &DeviceInfo) -> bool {
    let fits = |block: &Attention| {
        let heads = LmDecodeAttention {
            key_length: block.key_length as u32,
            page: options.page_size as u32,
            ..LmDecodeAttention::default()
        };
        block.latent.is_none() && block.heads > block.kv_heads && heads.subgroup_kernel().is_some()
    };
    options.cache == CacheType::F16
        && Features::of(info, options).subgroups
        && model.layers.iter().filter_map(Layer::attention).any(fits)
}

/// Sizes of the scratch memory of a device.
pub(crate) fn scratch_sizes(model: &Model, options: &Options, info: &DeviceInfo) -> ScratchSizes {
    let tokens = max_batch_tokens(model, options, info);
    let words = input_words(model, options, tokens);
    let features = Features::of(info, options);
    let sizes = ScratchSizes::new(
        model,
        tokens,
        max_output_rows(model, tokens),
        words,
        max_splits(model, options, info),
        features,
    );
    sizes.with_adapters(adapters::width(model, &options.adapters)).with_parts(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tokens_have_fewer_splits() {
        assert_eq!([1, 2, 3, 4, 16].map(|tokens| batch_splits(64, tokens)), [64, 32, 16, 16, 16]);
        assert_eq!([1, 16].map(|tokens| batch_splits(8, tokens)), [8, 8]);
    }
}
