//! Kernels that only the CPU has: products with weights packed once (`product`), and convolutions
//! over images in blocks of channels (`blocked`).
//!
//! These replace dispatches after fusion. Weights that no kernel reads unpacked any more are freed.

mod blocked;
mod product;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use roci_graph::{Graph, ValueId};
use roci_hal::{BufferDesc, BufferRange, Device};

use crate::segment::{Segment, TensorId};
use crate::{Error, MemoryUsage};

/// Packed constants, by weight, optional bias and layout.
#[derive(Default)]
pub(crate) struct PackedWeights(HashMap<(ValueId, Option<ValueId>, WeightLayout), BufferRange>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum WeightLayout {
    /// Panels of columns, for `matmul_packed`.
    Columns,
    /// Blocks of output channels, and of input channels if the input is blocked, for
    /// `conv_blocked`.
    Blocked { block: usize, depthwise: bool },
}

/// Where packed constants are uploaded to.
pub(crate) enum UploadTarget<'a> {
    Device(&'a Device),
    /// In a dry run, nothing is uploaded.
    Placeholder(&'a BufferRange),
}

/// Replaces dispatches with CPU-only kernels where these are faster, and frees constants that no
/// dispatch reads any more.
pub(crate) fn select_native_kernels(segment: &mut Segment, mut packer: WeightPacker<'_>) -> Result<(), Error> {
    packer.readers = segment.constant_readers();
    product::pack(segment, &mut packer)?;
    blocked::block(segment, &mut packer)?;
    for id in segment.unread_constants() {
        packer.release(segment, id);
    }
    Ok(())
}

/// Packs and frees constants.
pub(crate) struct WeightPacker<'a> {
    target: UploadTarget<'a>,
    graph: &'a Graph,
    constants: &'a mut HashMap<ValueId, BufferRange>,
    packed: &'a mut PackedWeights,
    held: &'a mut MemoryUsage,
    /// The number of bindings that read each constant unpacked.
    readers: HashMap<ValueId, usize>,
}

impl<'a> WeightPacker<'a> {
    /// Creates a packer for the uploaded constants of a graph.
    pub(crate) fn new(
        target: UploadTarget<'a>,
        graph: &'a Graph,
        constants: &'a mut HashMap<ValueId, BufferRange>,
        packed: &'a mut PackedWeights,
        held: &'a mut MemoryUsage,
    ) -> Self {
        Self { target, graph, constants, packed, held, readers: HashMap::new() }
    }

    /// Packs a weight and an optional bias by `pack` into `elements` elements. Returns `None`
    /// unless both are constants of the graph.
    fn pack(
        &mut self,
        segment: &mut Segment,
        form: WeightLayout,
        (weights, bias): (TensorId, Option<TensorId>),
        elements: usize,
        pack: impl FnOnce(&[f32], Option<&[f32]>) -> Vec<f32>,
    ) -> Result<Option<TensorId>, Error> {
        let known = |tensor_id: TensorId| segment.constant(tensor_id).map(|(id, range)| (id, range.clone()));
        let Some((id, range)) = known(weights) else { return Ok(None) };
        let bias = match bias {
            None => None,
            Some(tensor_id) => match known(tensor_id) {
                None => return Ok(None),
                some => some,
            },
        };
        let key = (id, bias.as_ref().map(|(id, _)| *id), form);
        let there = match self.packed.0.get(&key) {
            Some(there) => there.clone(),
            None => {
                let size = elements.max(1) as u64 * 4;
                let there = match &self.target {
                    UploadTarget::Placeholder(range) => (*range).clone(),
                    UploadTarget::Device(device) => {
                        let bias = bias.map(|(_, range)| read(device, range)).transpose()?;
                        let result = pack(&read(device, range)?, bias.as_deref());
                        debug_assert_eq!(result.len(), elements, "{form:?}");
                        let memory = device.info().fastest_memory();
                        let buffer = device.allocate(BufferDesc::new(size, memory).label("packed weights"))?;
                        device.write(&buffer, bytemuck::cast_slice(&result))?;
                        buffer.whole()
                    }
                };
                self.held.constants = self.held.constants.saturating_add(size);
                self.packed.0.insert(key, there.clone());
                there
            }
        };
        // Free it at once, so that the constants are never all in memory twice.
        if let Some(left) = self.readers.get_mut(&id) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.release(segment, id);
            }
        }
        Ok(Some(segment.import(there)))
    }

    /// Frees a constant that no dispatch reads unpacked.
    fn release(&mut self, segment: &mut Segment, id: ValueId) {
        segment.release(id);
        if self.constants.remove(&id).is_some() {
            let words = self.graph.constants.get(&id).map_or(0, |tensor| tensor.len().max(1));
            self.held.constants = self.held.constants.saturating_sub(words as u64 * 4);
        }
    }
}

/// Reads the elements of a constant back.
fn read(device: &Device, range: BufferRange) -> Result<Vec<f32>, Error> {
    let bytes = device.read(range)?;
    let mut numbers = vec![0.0; bytes.len() / 4];
    bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(&bytes);
    Ok(numbers)
}
