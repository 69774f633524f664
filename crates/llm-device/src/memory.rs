//! How much memory a model takes, and which layers go where.

use std::ops::Range;

use roci_gguf::Gguf;
use roci_hal::DeviceInfo;
use roci_llm::architecture::Model;
use roci_llm::architecture::blocks::{FeedForwardKind, Layer, Linear, Matrix};

use crate::bindings;
use crate::model::sizes;
use crate::weights::bytes_of;
use crate::{Error, Options};

/// Of a device's memory, this share is planned with: drivers and others need some.
const USABLE: (u64, u64) = (15, 16);

/// What one device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its layers.
    pub layers: Range<usize>,
    /// Bytes of weights.
    pub weights: u64,
    /// Bytes of keys and values.
    pub cache: u64,
    /// Bytes that steps work in.
    pub scratch: u64,
    /// Bytes that the device has.
    pub available: u64,
}

impl Share {
    /// Bytes in all.
    pub fn total(&self) -> u64 {
        self.weights + self.cache + self.scratch
    }
}

/// Which device holds what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// One for each device that is used, in their order.
    pub shares: Vec<Share>,
}

struct Sizer<'a> {
    file: &'a Gguf,
    host: bool,
}

impl Sizer<'_> {
    fn matrix(&self, matrix: &Matrix) -> u64 {
        let Some(tensor) = self.file.tensor(&matrix.tensor) else { return 0 };
        bytes_of(tensor.info().kind(), matrix.outputs(), matrix.columns, self.host).unwrap_or(0)
    }

    fn linears<'b>(&self, linears: impl IntoIterator<Item = &'b Linear>) -> u64 {
        linears.into_iter().map(|linear| self.matrix(&linear.matrix) + 4 * linear.matrix.outputs() as u64).sum()
    }

    fn layer(&self, layer: &Layer) -> u64 {
        let block = &layer.attention;
        let attention = self.linears([&block.query, &block.key, &block.value, &block.output]);
        attention
            + match &layer.feed_forward.kind {
                FeedForwardKind::Dense(gated) => self.linears([&gated.gate, &gated.up, &gated.down]),
                FeedForwardKind::Experts { router, experts, .. } => {
                    let apart = Sizer { host: false, ..*self };
                    let experts = experts.iter().flat_map(|gated| [&gated.gate, &gated.up, &gated.down]);
                    self.linears([router]) + apart.linears(experts)
                }
            }
    }
}

/// Says what each device would hold: the first as much as fits, the next what is left.
///
/// # Errors
/// If it does not fit, with the figures, or if a device would have to bind more than it can in one piece.
pub fn estimate(file: &Gguf, model: &Model, devices: &[&DeviceInfo], options: &Options) -> Result<Estimate, Error> {
    let mut shares: Vec<Share> = Vec::new();
    let mut next = 0;
    let count = model.layers.len();
    let kept = options.kept.unwrap_or(model.context as usize).next_multiple_of(options.page) as u64;
    for (index, info) in devices.iter().enumerate() {
        let sizer = Sizer { file, host: roci_kernels::takes_native(info) };
        let available = info.physical.iter().map(|one| one.usable_memory()).min().unwrap_or(0);
        // A driver that says nothing of its memory is believed to have enough.
        let most = if available == 0 { u64::MAX } else { available / USABLE.1 * USABLE.0 };
        let rotations = 8 * u64::from(model.context) * model.config.key_length as u64 / 2;
        let scratch = sizes(model, options, info).bytes() + rotations;
        let mut share = Share { layers: next..next, weights: 0, cache: 0, scratch, available };
        let output = sizer.linears([&model.output]);
        let last_device = index + 1 == devices.len();
        while next < count {
            let layer = &model.layers[next];
            let weights = sizer.layer(layer);
            let block = &layer.attention;
            let line = options.cache.bytes(block.key_length) + options.cache.bytes(block.value_length);
            let cache = kept * block.kv_heads as u64 * line;
            let end = if next + 1 == count { output } else { 0 };
            if share.total() + weights + cache + end > most && !last_device {
                break;
            }
            share.weights += weights + end;
            share.cache += cache;
            next += 1;
        }
        share.layers.end = next;
        if share.total() > most && last_device {
            let mib = |bytes: u64| bytes.div_ceil(1 << 20);
            return Err(Error::Memory {
                message: format!(
                    "the model needs {} MiB on {} ({} of weights, {} of keys and values for {kept} tokens, {} to work in), which has {} MiB",
                    mib(share.total()),
                    info.uri,
                    mib(share.weights),
                    mib(share.cache),
                    mib(share.scratch),
                    mib(available),
                ),
                hint: "take a smaller context (`--context`), a smaller cache (`--cache q8_0`), a smaller file, or name more devices (`--device vulkan --device cpu`)".to_owned(),
            });
        }
        if !share.layers.is_empty() {
            shares.push(share);
        } else {
            shares.push(Share { scratch: 0, ..share });
        }
        if next == count {
            break;
        }
    }
    for (info, share) in devices.iter().zip(&shares).filter(|(_, share)| !share.layers.is_empty()) {
        bindings::check(file, model, &share.layers, info, options, &sizes(model, options, info))?;
    }
    Ok(Estimate { shares })
}
