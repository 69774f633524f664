//! Kernels that only the CPU has, in the place of those that all devices have: products with weights that are packed once
//! (`product`), and convolutions between pictures whose channels lie in blocks (`blocked`).
//!
//! This looks at the steps of a segment when they are joined already. Weights that no kernel reads as they were any more
//! are given back.

mod blocked;
mod product;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use roci_graph::{Graph, ValueId};
use roci_hal::{BufferDesc, BufferRange, Device};

use crate::segment::{Segment, Slot};
use crate::{Error, Memory};

/// Constants in an order that suits kernels: of a weight, perhaps a bias, and how they lie.
#[derive(Default)]
pub(crate) struct Packed(HashMap<(ValueId, Option<ValueId>, Form), BufferRange>);

/// In which order weights lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// By panels of columns, for `matmul_packed`.
    Columns,
    /// By blocks of output channels, for inputs in such blocks, for `conv_blocked`.
    Blocked { block: usize, depthwise: bool },
}

/// Where packed constants go.
pub(crate) enum Target<'a> {
    Device(&'a Device),
    /// It is only told what would be there.
    Nowhere(&'a BufferRange),
}

/// Lets the CPU's own kernels do what they do better, and gives back the constants that none reads as they were.
pub(crate) fn suit(segment: &mut Segment, mut packer: Packer<'_>) -> Result<(), Error> {
    packer.readers = segment.readers();
    product::pack(segment, &mut packer)?;
    blocked::block(segment, &mut packer)?;
    for id in segment.unread() {
        packer.release(segment, id);
    }
    Ok(())
}

/// Packs constants.
pub(crate) struct Packer<'a> {
    target: Target<'a>,
    graph: &'a Graph,
    constants: &'a mut HashMap<ValueId, BufferRange>,
    packed: &'a mut Packed,
    held: &'a mut Memory,
    /// By constant: how many steps read it as it is.
    readers: HashMap<ValueId, usize>,
}

impl<'a> Packer<'a> {
    /// For the constants of a graph, which lie there.
    pub(crate) fn new(
        target: Target<'a>,
        graph: &'a Graph,
        constants: &'a mut HashMap<ValueId, BufferRange>,
        packed: &'a mut Packed,
        held: &'a mut Memory,
    ) -> Self {
        Self { target, graph, constants, packed, held, readers: HashMap::new() }
    }

    /// A constant and perhaps another as `pack` orders them, which makes so many elements; both are known to the segment.
    fn pack(
        &mut self,
        segment: &mut Segment,
        form: Form,
        (weights, bias): (Slot, Option<Slot>),
        elements: usize,
        pack: impl FnOnce(&[f32], Option<&[f32]>) -> Vec<f32>,
    ) -> Result<Option<Slot>, Error> {
        let known = |slot: Slot| segment.known(slot).map(|(id, range)| (id, range.clone()));
        let Some((id, range)) = known(weights) else { return Ok(None) };
        let bias = match bias {
            None => None,
            Some(slot) => match known(slot) {
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
                    Target::Nowhere(range) => (*range).clone(),
                    Target::Device(device) => {
                        let bias = bias.map(|(_, range)| read(device, range)).transpose()?;
                        let made = pack(&read(device, range)?, bias.as_deref());
                        debug_assert_eq!(made.len(), elements, "{form:?}");
                        let memory = device.info().fastest_memory();
                        let buffer =
                            device.allocate(BufferDesc { size, memory, label: Some("packed weights".into()) })?;
                        device.write(&buffer, bytemuck::cast_slice(&made))?;
                        buffer.whole()
                    }
                };
                self.held.constants = self.held.constants.saturating_add(size);
                self.packed.0.insert(key, there.clone());
                there
            }
        };
        // Given back at once, so that not all constants are there twice for a while.
        if let Some(left) = self.readers.get_mut(&id) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.release(segment, id);
            }
        }
        Ok(Some(segment.given(there)))
    }

    /// Gives back a constant that nobody reads as it was.
    fn release(&mut self, segment: &mut Segment, id: ValueId) {
        segment.release(id);
        if self.constants.remove(&id).is_some() {
            let words = self.graph.constants.get(&id).map_or(0, |tensor| tensor.len().max(1));
            self.held.constants = self.held.constants.saturating_sub(words as u64 * 4);
        }
    }
}

/// The elements of a constant.
fn read(device: &Device, range: BufferRange) -> Result<Vec<f32>, Error> {
    let bytes = device.read(range)?;
    let mut numbers = vec![0.0; bytes.len() / 4];
    bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(&bytes);
    Ok(numbers)
}
