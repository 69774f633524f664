//! What a device has to bind in one piece, checked before anything is uploaded.
//!
//! A matrix is cut into parts of as many rows as one binding takes. The matrices of a layer's experts, keys and values, and the arrays that steps
//! work in are bound whole.

use std::ops::Range;

use roci_gguf::Gguf;
use roci_hal::DeviceInfo;
use roci_llm::architecture::Model;
use roci_llm::architecture::blocks::{FeedForwardKind, Gated, Layer, Matrix};

use crate::pack::{GROUP, format_of};
use crate::scratch::Sizes;
use crate::{Error, Options};

/// Bytes that kernels can index in one binding, whatever the device binds.
const INDEXED: u64 = 1 << 31;

const WEIGHTS_HINT: &str = "run it on another device (`--device cpu`), put fewer layers on this one (`--device vulkan --device cpu`), or take \
     a file with fewer bits per weight";
const TOKENS_HINT: &str = "take a smaller context (`--context`) or a smaller cache (`--cache q8_0`), or run it on another device (`--device cpu`)";

/// Bytes of the largest range that a kernel takes as one binding.
pub(crate) fn reach(info: &DeviceInfo) -> u64 {
    info.max_binding.min(info.max_allocation).min(INDEXED)
}

/// Rows of a matrix that one binding takes: none if it takes no whole step of rows. A step is where the bias of a part can be bound, and
/// an even number, since scales of 16 bits are read two at a time.
pub(crate) fn rows_of_part(info: &DeviceInfo, row_bytes: usize) -> usize {
    let step = (info.binding_alignment / 4).max(2);
    (reach(info) / row_bytes.max(1) as u64 / step * step) as usize
}

/// Checks what one device would have to bind for some layers of a model.
pub(crate) fn check(
    file: &Gguf,
    model: &Model,
    layers: &Range<usize>,
    info: &DeviceInfo,
    options: &Options,
    sizes: &Sizes,
) -> Result<(), Error> {
    let check = Check { file, info, host: roci_kernels::takes_native(info) };
    let kept = options.kept.unwrap_or(model.context as usize).next_multiple_of(options.page) as u64;
    for (index, layer) in layers.clone().zip(&model.layers[layers.clone()]) {
        check.layer(layer)?;
        let block = &layer.attention;
        for (what, length) in [("keys", block.key_length), ("values", block.value_length)] {
            let bytes = options.cache.bytes(length) * block.kv_heads as u64 * kept;
            check.whole(|| format!("the {what} of layer {index} for {kept} tokens"), bytes, TOKENS_HINT)?;
        }
        let pairs = block.rope.frequencies.len() as u64;
        let what = || format!("the rotations of {} positions", model.context);
        check.whole(what, 8 * pairs * u64::from(model.context), TOKENS_HINT)?;
    }
    if layers.end == model.layers.len() {
        check.rows(&model.output.matrix)?;
    }
    for name in model.tensors() {
        let vector = file.tensor(name).filter(|tensor| tensor.info().shape().len() == 1);
        let bytes = vector.map_or(0, |tensor| 4 * tensor.info().values());
        check.whole(|| format!("`{name}`"), bytes, WEIGHTS_HINT)?;
    }
    let what = || format!("the work memory of {} tokens", sizes.tokens);
    sizes.arrays().into_iter().try_for_each(|bytes| check.whole(what, bytes, TOKENS_HINT))
}

struct Check<'a> {
    file: &'a Gguf,
    info: &'a DeviceInfo,
    /// Whether the device runs the CPU's own kernels, which take matrices whole and of any size.
    host: bool,
}

impl Check<'_> {
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

    fn layer(&self, layer: &Layer) -> Result<(), Error> {
        let block = &layer.attention;
        let attention = [&block.query, &block.key, &block.value, &block.output];
        attention.into_iter().try_for_each(|linear| self.rows(&linear.matrix))?;
        match &layer.feed_forward.kind {
            FeedForwardKind::Dense(Gated { gate, up, down }) => {
                [gate, up, down].into_iter().try_for_each(|linear| self.rows(&linear.matrix))
            }
            FeedForwardKind::Experts { experts, .. } => {
                // Gates and their partners are one matrix.
                self.experts(experts.iter().flat_map(|gated| [&gated.gate.matrix, &gated.up.matrix]))?;
                self.experts(experts.iter().map(|gated| &gated.down.matrix))
            }
        }
    }

    /// A matrix that is cut into parts: some rows of it must fit.
    fn rows(&self, matrix: &Matrix) -> Result<(), Error> {
        let row = self.row_bytes(matrix);
        if self.host || rows_of_part(self.info, row) > 0 {
            return Ok(());
        }
        let what = || format!("some rows of `{}`", matrix.tensor);
        let step = (self.info.binding_alignment / 4).max(2);
        self.within(what, row as u64 * step, reach(self.info), WEIGHTS_HINT)
    }

    /// Matrices that are bound as one.
    fn experts<'m>(&self, mut matrices: impl Iterator<Item = &'m Matrix> + Clone) -> Result<(), Error> {
        let bytes = matrices.clone().map(|matrix| matrix.outputs() as u64 * self.row_bytes(matrix) as u64).sum();
        let name = matrices.next().map_or("", |matrix| matrix.tensor.as_str());
        self.within(|| format!("`{name}` with all experts"), bytes, reach(self.info), WEIGHTS_HINT)
    }

    /// Bytes of the codes of a row, which are bound apart from its scales; 0 for a type that loading refuses.
    fn row_bytes(&self, matrix: &Matrix) -> usize {
        let kind = self.file.tensor(&matrix.tensor).map(|tensor| tensor.info().kind());
        kind.and_then(format_of).map_or(0, |format| matrix.columns.div_ceil(GROUP) * format.code_bytes())
    }
}
