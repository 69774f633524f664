//! Memory estimate, and assignment of layers to devices.

use std::ops::Range;

use roci_gguf::Gguf;
use roci_hal::DeviceInfo;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{
    Attention, FeedForwardKind, GatedFeedForward, Layer, Linear, Matrix, SharedExpert,
};

use crate::bindings;
use crate::delta_net::{self, state_bytes};
use crate::limits::scratch_sizes;
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
    /// Bytes of weights.
    pub weights: u64,
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
    /// Sum of weights, KV cache, recurrent states and scratch memory in bytes.
    pub fn total(&self) -> u64 {
        self.weights + self.cache + self.states + self.scratch
    }
}

/// Memory and layers of each device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// One per device that is used, in order.
    pub shares: Vec<DeviceShare>,
}

struct SizeEstimator<'a> {
    file: &'a Gguf,
    native_kernels: bool,
}

impl SizeEstimator<'_> {
    fn matrix(&self, matrix: &Matrix) -> u64 {
        let Some(tensor) = self.file.tensor(&matrix.tensor) else { return 0 };
        bytes_of(tensor.info().kind(), matrix.outputs(), matrix.columns, self.native_kernels).unwrap_or(0)
    }

    fn linears<'b>(&self, linears: impl IntoIterator<Item = &'b Linear>) -> u64 {
        linears.into_iter().map(|linear| self.matrix(&linear.matrix) + 4 * linear.matrix.outputs() as u64).sum()
    }

    fn layer(&self, layer: &Layer) -> u64 {
        self.linears(layer.mixer.linears())
            + self.linears(layer.feed_forward.shared.iter().flat_map(SharedExpert::linears))
            + match &layer.feed_forward.kind {
                FeedForwardKind::Dense(network) => self.linears(network.linears()),
                FeedForwardKind::Experts { router, experts, .. } => {
                    let planar = SizeEstimator { native_kernels: false, ..*self };
                    let experts = experts.iter().flat_map(GatedFeedForward::linears);
                    self.linears([router]) + planar.linears(experts)
                }
            }
    }
}

/// Computes what each device would hold: the first takes as many layers as fit, the next ones the
/// rest.
///
/// # Errors
/// If the model does not fit, or a tensor exceeds the largest binding of its device.
pub fn estimate(file: &Gguf, model: &Model, devices: &[&DeviceInfo], options: &Options) -> Result<Estimate, Error> {
    support::check(model)?;
    model.layers.iter().filter_map(Layer::delta_net).try_for_each(delta_net::check)?;
    let mut shares: Vec<DeviceShare> = Vec::new();
    let mut next = 0;
    let count = model.layers.len();
    let cache_tokens =
        options.cache_tokens.unwrap_or(model.context as usize).next_multiple_of(options.page_size) as u64;
    for (index, info) in devices.iter().enumerate() {
        let sizer = SizeEstimator { file, native_kernels: roci_kernels::runs_native_kernels(info) };
        let available = info.physical.iter().map(|one| one.usable_memory()).min().unwrap_or(0);
        // A device that does not report its memory is assumed to have enough.
        let limit = if available == 0 { u64::MAX } else { available / USABLE.1 * USABLE.0 };
        let rotations = 8 * u64::from(model.context) * model.config.key_length as u64 / 2;
        let scratch = scratch_sizes(model, options, info).bytes() + rotations;
        let mut share = DeviceShare { layers: next..next, weights: 0, cache: 0, states: 0, scratch, available };
        let output = sizer.linears([&model.output]);
        let last_device = index + 1 == devices.len();
        while next < count {
            let layer = &model.layers[next];
            let input = model.prediction_input.iter().map(|input| &input.projection).filter(|_| next == 0);
            let weights = sizer.layer(layer) + sizer.linears(input);
            let token_bytes = |block: &Attention| {
                let head = options.cache.bytes(block.key_length) + options.cache.bytes(block.value_length);
                block.kv_heads as u64 * head
            };
            let cache = cache_tokens * layer.attention().map_or(0, token_bytes);
            let slot_bytes: u64 = layer.delta_net().map_or([0; 2], state_bytes).iter().sum();
            let states = options.state_slots as u64 * slot_bytes;
            let head = if next + 1 == count { output } else { 0 };
            if share.total() + weights + cache + states + head > limit && !last_device {
                break;
            }
            share.weights += weights + head;
            share.cache += cache;
            share.states += states;
            next += 1;
        }
        share.layers.end = next;
        if share.total() > limit && last_device {
            let mib = |bytes: u64| bytes.div_ceil(1 << 20);
            let states = match share.states {
                0 => String::new(),
                bytes => format!(", recurrent states of {} slots {}", options.state_slots, mib(bytes)),
            };
            return Err(Error::Memory {
                message: format!(
                    "the model needs {} MiB on {} (weights {}, KV cache for {cache_tokens} tokens {}{states}, scratch {}), which has {} MiB",
                    mib(share.total()),
                    info.uri,
                    mib(share.weights),
                    mib(share.cache),
                    mib(share.scratch),
                    mib(available),
                ),
                hint: "use a smaller context (`--context`), a smaller KV cache (`--cache-type q8_0`), a file with fewer bits per weight, or more devices (`--device vulkan --device cpu`)".to_owned(),
            });
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
    for (info, share) in devices.iter().zip(&shares).filter(|(_, share)| !share.layers.is_empty()) {
        bindings::check(file, model, &share.layers, info, options, &scratch_sizes(model, options, info))?;
    }
    Ok(Estimate { shares })
}
