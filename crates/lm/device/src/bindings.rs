//! Checks that a model fits the binding limit of a device, before anything is uploaded.
//!
//! A matrix is split into shards of as many rows as fit one binding, and the stacked matrices of a
//! layer's experts into shards of as many rows of each expert. KV pages and scratch buffers need a
//! single binding.

use std::ops::Range;

use roci_gguf::Gguf;
use roci_hal::DeviceInfo;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{FeedForwardKind, Layer, LowRankBranch, Matrix, PerLayerInput, SharedExpert};

use crate::experts::rows_per_expert;
use crate::pack::{GROUP, format_of};
use crate::per_layer::buffer_bytes;
use crate::recurrent::state_bytes;
use crate::scratch::ScratchSizes;
use crate::streams;
use crate::{Error, Options};

/// Bytes that kernels can index in one binding, regardless of the device.
const MAX_INDEXED: u64 = 1 << 31;

const WEIGHTS_HINT: &str = "run it on another device (`--device cpu`), put fewer layers on this one (`--device vulkan --device cpu`), or use \
     a file with fewer bits per weight";
const TOKENS_HINT: &str = "use a smaller context (`--context`) or a smaller KV cache (`--cache-type q8_0`), or run it on another device (`--device cpu`)";

const STATES_HINT: &str = "use fewer sequences at once (`--parallel`), or run it on another device (`--device cpu`)";

/// Bytes of the largest binding of a kernel.
pub(crate) fn max_binding(info: &DeviceInfo) -> u64 {
    info.max_binding.min(info.max_allocation).min(MAX_INDEXED)
}

/// Rows of a matrix that fit one binding: a multiple of a step, or 0 if not even one step fits. At
/// multiples of the step the bias of a shard can be bound; the step is even because 16-bit scales
/// are read in pairs.
pub(crate) fn rows_per_shard(info: &DeviceInfo, row_bytes: usize) -> usize {
    let step = (info.binding_alignment / 4).max(2);
    (max_binding(info) / row_bytes.max(1) as u64 / step * step) as usize
}

/// Checks the bindings that one device needs for a range of layers.
pub(crate) fn check(
    file: &Gguf,
    model: &Model,
    layers: &Range<usize>,
    info: &DeviceInfo,
    options: &Options,
    sizes: &ScratchSizes,
) -> Result<(), Error> {
    let check = BindingCheck { file, info, native_kernels: roci_kernels::runs_native_kernels(info) };
    let cache_tokens =
        options.cache_tokens.unwrap_or(model.context as usize).next_multiple_of(options.page_size) as u64;
    for (index, layer) in layers.clone().zip(&model.layers[layers.clone()]) {
        check.layer(layer, index < options.cpu_expert_layers)?;
        let states = state_bytes(layer.state()).into_iter().max().unwrap_or(0) * options.state_slots as u64;
        let what = || format!("the recurrent states of layer {index} in {} slots", options.state_slots);
        check.whole(what, states, STATES_HINT)?;
        let Some(block) = layer.attention() else { continue };
        // Values with a latent are a part of the keys.
        let values = if block.latent.is_some() { 0 } else { block.value_length };
        for (what, length) in [("keys", block.key_length), ("values", values)] {
            let bytes = options.cache.bytes(length) * block.kv_heads as u64 * cache_tokens;
            check.whole(|| format!("the {what} of layer {index} for {cache_tokens} tokens"), bytes, TOKENS_HINT)?;
        }
        let pairs = block.rope.frequencies.len() as u64;
        let what = || format!("the rotary embeddings of {} positions", model.context);
        check.whole(what, 8 * pairs * u64::from(model.context), TOKENS_HINT)?;
    }
    if layers.end == model.layers.len() && model.is_causal() {
        check.rows(&model.output.matrix)?;
    }
    for name in model.tensors() {
        let vector = file.tensor(name).filter(|tensor| tensor.info().shape().len() == 1);
        let bytes = vector.map_or(0, |tensor| 4 * tensor.info().values());
        check.whole(|| format!("`{name}`"), bytes, WEIGHTS_HINT)?;
    }
    let what = || format!("the scratch memory of {} tokens", sizes.tokens);
    if let Some(block) = &model.per_layer {
        check.rows(&block.projection.matrix)?;
    }
    if let Some(block) = &model.streams {
        block.starts.iter().chain(&block.ends).try_for_each(|linear| check.rows(&linear.matrix))?;
    }
    let streams = streams::buffer_bytes(model, sizes.tokens);
    let inputs = buffer_bytes(model, sizes.tokens).into_iter().chain(streams);
    sizes.arrays().into_iter().chain(inputs).try_for_each(|bytes| check.whole(what, bytes, TOKENS_HINT))
}

struct BindingCheck<'a> {
    file: &'a Gguf,
    info: &'a DeviceInfo,
    /// Whether the device runs native kernels, which take matrices of any size.
    native_kernels: bool,
}

impl BindingCheck<'_> {
    fn whole(&self, what: impl FnOnce() -> String, bytes: u64, hint: &'static str) -> Result<(), Error> {
        let limit = self.info.max_binding.min(self.info.max_allocation);
        self.within(what, bytes, limit, hint)
    }

    fn within(&self, what: impl FnOnce() -> String, bytes: u64, limit: u64, hint: &'static str) -> Result<(), Error> {
        if bytes <= limit {
            return Ok(());
        }
        Err(Error::Binding { what: what(), bytes, device: self.info.uri.to_string(), limit, hint })
    }

    /// `experts_on_cpu`: whether the CPU computes the experts of the layer.
    fn layer(&self, layer: &Layer, experts_on_cpu: bool) -> Result<(), Error> {
        layer.mixer_linears().try_for_each(|linear| self.rows(&linear.matrix))?;
        let mut per_layer = layer.per_layer.iter().flat_map(PerLayerInput::linears);
        per_layer.try_for_each(|linear| self.rows(&linear.matrix))?;
        let mut low_rank = layer.low_rank.iter().flat_map(LowRankBranch::linears);
        low_rank.try_for_each(|linear| self.rows(&linear.matrix))?;
        let Some(block) = &layer.feed_forward else { return Ok(()) };
        block.output_gate.iter().try_for_each(|gate| self.rows(&gate.projection.matrix))?;
        let mut shared = block.shared.iter().flat_map(SharedExpert::linears);
        shared.try_for_each(|linear| self.rows(&linear.matrix))?;
        match &block.kind {
            FeedForwardKind::Dense(network) => network.linears().try_for_each(|linear| self.rows(&linear.matrix)),
            FeedForwardKind::Experts { .. } if self.native_kernels || experts_on_cpu => Ok(()),
            FeedForwardKind::Experts { experts, .. } => experts.first().map_or(Ok(()), |first| {
                // Gate and up projections are one matrix.
                self.experts(&first.gate.matrix, experts.len(), first.gate_up().count())?;
                self.experts(&first.down.matrix, experts.len(), 1)
            }),
        }
    }

    /// A matrix that is split into shards: one step of rows must fit.
    fn rows(&self, matrix: &Matrix) -> Result<(), Error> {
        let row = self.row_bytes(matrix);
        if self.native_kernels || rows_per_shard(self.info, row) > 0 {
            return Ok(());
        }
        let what = || format!("some rows of `{}`", matrix.tensor);
        let step = (self.info.binding_alignment / 4).max(2);
        self.within(what, row as u64 * step, max_binding(self.info), WEIGHTS_HINT)
    }

    /// Stacked expert matrices; each group of `interleaved` matrices shares a binding. Two rows of
    /// every expert must fit.
    fn experts(&self, matrix: &Matrix, experts: usize, interleaved: usize) -> Result<(), Error> {
        let row = self.row_bytes(matrix);
        if rows_per_expert(self.info, row, experts, interleaved) > 0 {
            return Ok(());
        }
        let bytes = (2 * experts * interleaved * row) as u64;
        self.within(|| format!("some rows of `{}`", matrix.tensor), bytes, max_binding(self.info), WEIGHTS_HINT)
    }

    /// Bytes of the codes of a row, which are not in the binding of its scales; 0 for a type that
    /// loading rejects.
    fn row_bytes(&self, matrix: &Matrix) -> usize {
        let kind = self.file.tensor(&matrix.tensor).map(|tensor| tensor.info().kind());
        kind.and_then(format_of).map_or(0, |format| matrix.columns.div_ceil(GROUP) * format.code_bytes())
    }
}
