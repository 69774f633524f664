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

use roci_graph::ValueId;
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

/// Lets the CPU's own kernels do what they do better.
pub(crate) fn suit(
    segment: &mut Segment,
    device: &Device,
    packed: &mut Packed,
    held: &mut Memory,
) -> Result<(), Error> {
    let mut packer = Packer { device, packed, held };
    product::pack(segment, &mut packer)?;
    blocked::block(segment, &mut packer)
}

/// Packs constants on a device.
struct Packer<'a> {
    device: &'a Device,
    packed: &'a mut Packed,
    held: &'a mut Memory,
}

impl Packer<'_> {
    /// A constant and perhaps another as `pack` orders them; both are known to the segment.
    fn pack(
        &mut self,
        segment: &mut Segment,
        form: Form,
        (weights, bias): (Slot, Option<Slot>),
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
        if let Some(range) = self.packed.0.get(&key) {
            return Ok(Some(segment.given(range.clone())));
        }
        let read = |range: BufferRange| -> Result<Vec<f32>, Error> {
            let bytes = self.device.read(range)?;
            let mut numbers = vec![0.0; bytes.len() / 4];
            bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(&bytes);
            Ok(numbers)
        };
        let bias = bias.map(|(_, range)| read(range)).transpose()?;
        let made = pack(&read(range)?, bias.as_deref());
        let size = made.len().max(1) as u64 * 4;
        let memory = self.device.info().fastest_memory();
        let buffer = self.device.allocate(BufferDesc { size, memory, label: Some("packed weights".into()) })?;
        self.device.write(&buffer, bytemuck::cast_slice(&made))?;
        self.held.constants += size;
        self.packed.0.insert(key, buffer.whole());
        Ok(Some(segment.given(buffer.whole())))
    }
}
