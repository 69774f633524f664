//! Memory estimate, and assignment of layers to devices.

use std::ops::Range;

use roci_gguf::{Gguf, Type};
use roci_hal::DeviceInfo;
use roci_kernels::native::lm_cpu;
use roci_lm::adapter;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{
    Attention, FeedForward, FeedForwardKind, GatedFeedForward, Layer, Linear, LowRankBranch, Matrix, Mixer,
    PerLayerInput, SharedExpert,
};

use crate::adapters;
use crate::bindings;
use crate::latent;
use crate::limits::{max_batch_tokens, scratch_sizes};
use crate::per_layer;
use crate::recurrent::{self, state_bytes};
use crate::streams;
use crate::support;
use crate::weights::bytes_of;
use crate::{Error, Options};

/// Usable fraction of a device's memory. Drivers and other programs need the rest.
const USABLE: (u64, u64) = (15, 16);

/// Memory and layers of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceShare {
    /// Indices of its layers.
    pub layers: Range<usize>,
    /// Bytes of weights of its layers.
    pub weights: u64,
    /// Bytes of the experts that the CPU computes for layers of other devices.
    pub experts: u64,
    /// Bytes of weights and experts that stay in the file and so need no memory.
    pub mapped: u64,
    /// Bytes of the KV cache.
    pub cache: u64,
    /// Bytes of recurrent states.
    pub states: u64,
    /// Bytes of scratch memory.
    pub scratch: u64,
    /// Bytes of device memory; 0 if the driver does not report it.
    pub available: u64,
}

impl DeviceShare {
    /// Sum of weights, experts, KV cache, recurrent states and scratch memory in bytes.
    pub fn total(&self) -> u64 {
        self.weights + self.experts + self.cache + self.states + self.scratch
    }

    /// Total without the bytes that stay in the file.
    fn required(&self) -> u64 {
        self.total() - self.mapped
    }

    fn empty(layer: usize, available: u64) -> Self {
        Self { layers: layer..layer, weights: 0, experts: 0, mapped: 0, cache: 0, states: 0, scratch: 0, available }
    }
}

/// Memory and layers of each device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// One per device that is used, in order.
    pub shares: Vec<DeviceShare>,
    /// Whether the CPU's share exceeds its memory. Then as many weights as possible stay in the
    /// file, and the system reads them again when they are needed.
    pub exceeds_memory: bool,
    /// Bytes that a single token reads from the file if none of it is in memory; 0 if the weights do
    /// not stay in the file.
    pub read_per_token: u64,
}

struct SizeEstimator<'a> {
    file: &'a Gguf,
    native_kernels: bool,
    /// Whether as many weights as possible stay in the file.
    from_file: bool,
}

/// Bytes of weights.
#[derive(Clone, Copy, Default)]
struct Weights {
    all: u64,
    /// Bytes that stay in the file when weights exceed the memory.
    mapped: u64,
}

impl std::ops::AddAssign for Weights {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.mapped += other.mapped;
    }
}

impl std::iter::Sum for Weights {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, weights| {
            sum += weights;
            sum
        })
    }
}

impl SizeEstimator<'_> {
    /// `row_in_place` returns the bytes of a row if the kernel can use such a matrix in place.
    fn matrix(&self, matrix: &Matrix, row_in_place: fn(Type, usize) -> Option<usize>) -> Weights {
        let Some(tensor) = self.file.tensor(&matrix.tensor) else { return Weights::default() };
        let (kind, rows) = (tensor.info().kind(), matrix.outputs());
        let is_mappable = self.native_kernels && self.from_file && self.file.location(&matrix.tensor).is_some();
        let row = row_in_place(kind, matrix.columns)
            .filter(|_| is_mappable && matrix.blocks.is_none() && rows.is_multiple_of(lm_cpu::ROWS));
        if let Some(row) = row {
            let bytes = (row * rows) as u64;
            return Weights { all: bytes, mapped: bytes };
        }
        let all = bytes_of(kind, rows, matrix.columns, self.native_kernels).unwrap_or(0);
        Weights { all, mapped: 0 }
    }

    fn linears<'b>(&self, linears: impl IntoIterator<Item = &'b Linear>) -> Weights {
        self.sum(linears, lm_cpu::row_in_place)
    }

    fn sum<'b>(
        &self,
        linears: impl IntoIterator<Item = &'b Linear>,
        row_in_place: fn(Type, usize) -> Option<usize>,
    ) -> Weights {
        let one = |linear: &Linear| {
            let weights = self.matrix(&linear.matrix, row_in_place);
            Weights { all: weights.all + 4 * linear.matrix.outputs() as u64, ..weights }
        };
        linears.into_iter().map(one).sum()
    }

    /// Bytes of a layer without its experts.
    fn layer(&self, layer: &Layer) -> Weights {
        let mut weights = self.linears(layer.mixer_linears());
        weights += self.transposed(layer);
        let Some(FeedForward { kind, shared, output_gate, .. }) = &layer.feed_forward else { return weights };
        weights += self.linears(output_gate.iter().map(|gate| &gate.projection));
        weights += self.linears(shared.iter().flat_map(SharedExpert::linears));
        weights += self.linears(layer.per_layer.iter().flat_map(PerLayerInput::linears));
        weights += self.linears(layer.low_rank.iter().flat_map(LowRankBranch::linears));
        weights += self.linears(layer.streams.iter().map(|block| &block.router));
        weights += match kind {
            FeedForwardKind::Dense(network) => self.linears(network.linears()),
            FeedForwardKind::Experts { router, .. } => self.linears([router]),
        };
        weights
    }

    /// What the transposes of projections take beyond these.
    fn transposed(&self, layer: &Layer) -> Weights {
        let latent = layer.attention().and_then(|block| block.latent.as_ref());
        let Some(latent) = latent.filter(|latent| latent.transposed_keys) else { return Weights::default() };
        let more = |linear: &Linear| {
            let Some(tensor) = self.file.tensor(&linear.matrix.tensor) else { return 0 };
            let kind = latent::transposed_kind(tensor.info().kind());
            let (rows, columns) = (linear.matrix.columns, linear.matrix.outputs());
            let bytes = bytes_of(kind, rows, columns, self.native_kernels).unwrap_or(0);
            bytes.saturating_sub(self.linears([linear]).all)
        };
        Weights { all: latent.keys.iter().map(more).sum(), mapped: 0 }
    }

    /// Bytes of the experts of a layer.
    fn experts(&self, layer: &Layer) -> Weights {
        match layer.feed_forward.as_ref().map(|block| &block.kind) {
            None | Some(FeedForwardKind::Dense(_)) => Weights::default(),
            Some(FeedForwardKind::Experts { experts, .. }) => {
                self.sum(experts.iter().flat_map(GatedFeedForward::linears), lm_cpu::row_decoded_in_place)
            }
        }
    }
}

/// Whether all layers must be on the same device: some read keys and values of other layers,
/// per-layer embeddings or values of the first layer, or there are several residual streams.
fn is_indivisible(model: &Model) -> bool {
    let shares = |layer: &Layer| {
        let reads_first = |mixer: &Mixer| matches!(mixer, Mixer::TimeMix(_));
        layer.attention().is_some_and(|block| block.kv_layer.is_some()) || layer.mixers.iter().any(reads_first)
    };
    model.per_layer.is_some() || model.streams.is_some() || model.layers.iter().any(shares)
}

/// Whether a layer has experts.
pub(crate) fn has_experts(layer: &Layer) -> bool {
    layer.feed_forward.as_ref().is_some_and(FeedForward::has_experts)
}

/// The index of the CPU, which computes experts of other devices' layers.
fn cpu(devices: &[&DeviceInfo]) -> Option<usize> {
    devices.iter().position(|info| roci_kernels::runs_native_kernels(info))
}

/// Usable bytes of a device; unlimited if the device does not report its memory.
fn limit(available: u64) -> u64 {
    if available == 0 { u64::MAX } else { available / USABLE.1 * USABLE.0 }
}

/// Computes what each device would hold: the first one takes as many layers as fit, the next ones
/// the rest. A CPU device among them also holds the experts of the first
/// [`Options::cpu_expert_layers`] layers. Weights that the CPU reads from the file need not fit its
/// memory.
///
/// # Errors
/// If the model does not fit, or a tensor exceeds the largest binding of its device.
pub fn estimate(file: &Gguf, model: &Model, devices: &[&DeviceInfo], options: &Options) -> Result<Estimate, Error> {
    support::check(model)?;
    adapters::check(options)?;
    model.layers.iter().flat_map(|layer| &layer.mixers).try_for_each(recurrent::check)?;
    match assign(file, model, devices, options, false) {
        Err(error @ Error::Memory { .. }) if cpu(devices).is_some() => {
            assign(file, model, devices, options, true).map_err(|_| error)
        }
        assigned => assigned,
    }
}

/// [`estimate`] with weights in memory, or with as many as possible in the file.
fn assign(
    file: &Gguf,
    model: &Model,
    devices: &[&DeviceInfo],
    options: &Options,
    from_file: bool,
) -> Result<Estimate, Error> {
    let mut shares: Vec<DeviceShare> = Vec::new();
    let mut next = 0;
    let mut on_cpu = Weights::default();
    let mut read_per_token = 0;
    let count = model.layers.len();
    if options.cpu_expert_layers > 0 && cpu(devices).is_none() {
        return Err(Error::Memory {
            message: "the CPU is to compute experts, but it is not among the devices".to_owned(),
            hint: "add it (`--device vulkan --device cpu`)".to_owned(),
        });
    }
    let cache_tokens =
        options.cache_tokens.unwrap_or(model.context as usize).next_multiple_of(options.page_size) as u64;
    let devices = if is_indivisible(model) { &devices[..devices.len().min(1)] } else { devices };
    for (index, info) in devices.iter().enumerate() {
        per_layer::check(model, info)?;
        let sizer = SizeEstimator { file, native_kernels: roci_kernels::runs_native_kernels(info), from_file };
        let available = available(info);
        let limit = limit(available);
        let pairs = model.layers.iter().filter_map(Layer::attention).map(|block| block.rope.frequencies.len()).max();
        let rotations = 8 * u64::from(model.context) * pairs.unwrap_or(0) as u64;
        let inputs: u64 = per_layer::buffer_bytes(model, max_batch_tokens(model, options, info)).iter().sum();
        let streams: u64 = streams::buffer_bytes(model, max_batch_tokens(model, options, info)).iter().sum();
        let scratch = scratch_sizes(model, options, info).bytes() + rotations + inputs + streams;
        let mut share = DeviceShare { scratch, ..DeviceShare::empty(next, available) };
        let mut output = if model.is_causal() { sizer.linears([&model.output]) } else { Weights::default() };
        let outputs: Vec<&Linear> =
            model.per_layer.iter().map(|block| &block.projection).chain([&model.output]).collect();
        output.all += outputs.iter().map(|linear| adapters::bytes(&[*linear], &options.adapters)).sum::<u64>();
        output += sizer.linears(model.per_layer.as_ref().map(|block| &block.projection));
        output += sizer.linears(model.streams.iter().flat_map(|streams| streams.starts.iter().chain(&streams.ends)));
        let last_device = index + 1 == devices.len();
        while next < count {
            let layer = &model.layers[next];
            let is_split = next < options.cpu_expert_layers && !sizer.native_kernels;
            let mut weights = sizer.layer(layer);
            let linears: Vec<&Linear> = adapter::linears(layer).collect();
            weights.all += adapters::bytes(&linears, &options.adapters);
            if next == 0 {
                weights += sizer.linears(model.prediction_input.iter().map(|input| &input.projection));
            }
            let on_host = SizeEstimator { native_kernels: true, ..sizer };
            let experts = if is_split { on_host.experts(layer) } else { sizer.experts(layer) };
            let mut read = weights.mapped + mapped_per_token(layer, experts);
            if !is_split {
                weights += experts;
            }
            if next + 1 == count {
                weights += output;
                read += output.mapped;
            }
            let token_bytes = |block: &Attention| {
                if block.kv_layer.is_some() {
                    return 0;
                }
                let values = if block.latent.is_some() { 0 } else { options.cache.bytes(block.value_length) };
                let head = options.cache.bytes(block.key_length) + values;
                block.kv_heads as u64 * head
            };
            let cache = cache_tokens * layer.attention().map_or(0, token_bytes);
            let slot_bytes: u64 = state_bytes(layer.state()).iter().sum();
            let states = options.state_slots as u64 * slot_bytes;
            if share.required() + weights.all - weights.mapped + cache + states > limit && !last_device {
                break;
            }
            share.weights += weights.all;
            share.mapped += weights.mapped;
            share.cache += cache;
            share.states += states;
            read_per_token += read;
            if is_split {
                on_cpu += experts;
            }
            next += 1;
        }
        share.layers.end = next;
        if share.required() > limit && last_device {
            return Err(too_large(info, &share, options, cache_tokens));
        }
        if !share.layers.is_empty() {
            shares.push(share);
        } else {
            shares.push(DeviceShare { scratch: 0, ..share });
        }
        if next == count {
            break;
        }
    }
    if let Some(cpu) = cpu(devices).filter(|_| on_cpu.all > 0) {
        let info = devices[cpu];
        let available = available(info);
        shares.resize(shares.len().max(cpu + 1), DeviceShare::empty(count, available));
        let share = &mut shares[cpu];
        if share.layers.is_empty() {
            share.scratch = scratch_sizes(model, options, info).bytes();
        }
        share.experts = on_cpu.all;
        share.mapped += on_cpu.mapped;
        if share.required() > limit(available) {
            return Err(too_large(info, share, options, cache_tokens));
        }
    }
    for (info, share) in devices.iter().zip(&shares).filter(|(_, share)| !share.layers.is_empty()) {
        bindings::check(file, model, &share.layers, info, options, &scratch_sizes(model, options, info))?;
    }
    Ok(Estimate { shares, exceeds_memory: from_file, read_per_token })
}

/// The bytes in the file of the experts that a token chooses.
fn mapped_per_token(layer: &Layer, experts: Weights) -> u64 {
    match layer.feed_forward.as_ref().map(|block| &block.kind) {
        Some(FeedForwardKind::Experts { experts: all, routing, .. }) => {
            experts.mapped / (all.len() as u64).max(1) * routing.experts_per_token as u64
        }
        _ => experts.mapped,
    }
}

/// Usable bytes of a device's memory; 0 if the driver does not report it.
fn available(info: &DeviceInfo) -> u64 {
    info.physical.iter().map(|one| one.usable_memory()).min().unwrap_or(0)
}

/// The error for a model that does not fit its last device, or whose experts do not fit the CPU.
fn too_large(info: &DeviceInfo, share: &DeviceShare, options: &Options, cache_tokens: u64) -> Error {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let states = match share.states {
        0 => String::new(),
        bytes => format!(", recurrent states of {} slots {}", options.state_slots, mib(bytes)),
    };
    let experts = match share.experts {
        0 => String::new(),
        bytes => format!(", experts of other devices' layers {}", mib(bytes)),
    };
    Error::Memory {
        message: format!(
            "the model needs {} MiB on {} (weights {}{experts}, KV cache for {cache_tokens} tokens {}{states}, scratch {}), which has {} MiB",
            mib(share.total()),
            info.uri,
            mib(share.weights),
            mib(share.cache),
            mib(share.scratch),
            mib(share.available),
        ),
        hint: "use a smaller context (`--context`), a smaller KV cache (`--cache-type q8_0`), a file with fewer bits per weight, or more devices (`--device vulkan --device cpu`)".to_owned(),
    }
}
