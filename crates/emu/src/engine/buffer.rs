//! Memory through a buffer descriptor: on gfx10 also each lane's private memory.

use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::program::step::{Access, BufferStep, NO_ROW};
use crate::row::LANES;

/// How far behind the start of a wave's private memory a descriptor of lanes is still meant to be that memory.
const PRIVATE_REACH: u64 = 1 << 30;

/// A descriptor's fields.
pub(crate) struct Descriptor {
    base: u64,
    stride: u64,
    records: u64,
    /// The words of a lane are not neighbours.
    pub(crate) swizzled: bool,
    add_lane: bool,
    index_stride: u64,
    element: u64,
}

impl Machine<'_> {
    pub(crate) fn descriptor(&self, resource: u8) -> Descriptor {
        let word = |index: usize| self.wave.scalars[usize::from(resource) + index];
        let gfx10 = self.launch.chip.family() == roci_isa::Family::Gfx10;
        let swizzle = if gfx10 { word(1) >> 31 & 1 } else { word(1) >> 30 & 3 };
        let add_lane = word(3) >> 23 & 1 == 1;
        // With ADD_TID the upper bits of the stride are elsewhere: it is not used to scale an index then.
        let stride = word(1) >> 16 & 0x3fff;
        Descriptor {
            base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
            stride: u64::from(stride),
            records: u64::from(word(2)),
            swizzled: swizzle != 0,
            add_lane,
            index_stride: 8 << (word(3) >> 21 & 3),
            // The element size is fixed to four bytes on gfx10; gfx11 encodes it in the swizzle field.
            element: if gfx10 { 4 } else { 2 << swizzle },
        }
    }

    pub(super) fn buffer(&mut self, step: &BufferStep) -> Result<(), Fault> {
        let descriptor = self.descriptor(step.resource);
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec == 0 {
                continue;
            }
            self.check_private(step, &descriptor, half, exec)?;
            let (addresses, inside) = self.buffer_addresses(step, &descriptor, half);
            let active = exec & inside;
            // Outside the buffer loads give zero and stores are dropped.
            if let Access::Load(dwords) = step.access {
                for dword in 0..usize::from(dwords) {
                    self.wave.row(half, usize::from(step.data) + dword).assign_masked(exec & !inside, &[0; LANES]);
                }
            }
            if active != 0 {
                self.buffer_access(step, &descriptor, half, active, &addresses)?;
            }
        }
        Ok(())
    }

    /// The addresses of the lanes of a half, and which of them lie inside the buffer.
    pub(crate) fn buffer_addresses(
        &self,
        step: &BufferStep,
        descriptor: &Descriptor,
        half: usize,
    ) -> ([u64; LANES], u32) {
        let soffset = u64::from(self.scalar_value(step.soffset, false) as u32);
        let size = step.access.size();
        let mut addresses = [0; LANES];
        let mut inside = 0;
        for lane in 0..LANES {
            let (mut index, mut offset) = (0, u64::from(step.offset));
            if step.vaddr != NO_ROW {
                let word = |row: usize| u64::from(self.wave.row(half, usize::from(step.vaddr) + row).get(lane));
                match (step.idxen, step.offen) {
                    (true, true) => (index, offset) = (word(0), offset + word(1)),
                    (true, false) => index = word(0),
                    (false, _) => offset += word(0),
                }
            }
            if descriptor.add_lane {
                index += (half * LANES + lane) as u64;
            }
            let place = descriptor.place(index, offset);
            addresses[lane] = descriptor.base.wrapping_add(place).wrapping_add(soffset);
            if descriptor.holds(index, offset, soffset, size) {
                inside |= 1 << lane;
            }
        }
        (addresses, inside)
    }

    /// Holds accesses of private memory, which gfx10 reaches through a descriptor, to what a lane has of it.
    fn check_private(&self, step: &BufferStep, descriptor: &Descriptor, half: usize, exec: u32) -> Result<(), Fault> {
        let allocated = self.wave.scratch_per_lane;
        let soffset = u64::from(self.scalar_value(step.soffset, false) as u32);
        let start = (descriptor.base + soffset).wrapping_sub(self.wave.scratch);
        if allocated == 0 || !(descriptor.swizzled && descriptor.add_lane) || start >= PRIVATE_REACH {
            return Ok(());
        }
        let first = u64::from(step.offset) + start / (self.wave.halves * LANES) as u64;
        for lane in lanes_of(exec) {
            let row = usize::from(step.vaddr) + usize::from(step.idxen);
            let offset = first + if step.offen { u64::from(self.wave.row(half, row).get(lane)) } else { 0 };
            if offset + step.access.size() > u64::from(allocated) {
                return Err(Fault::Scratch { offset, lane: (half * LANES + lane) as u32, allocated });
            }
        }
        Ok(())
    }

    /// A swizzled access of several words falls apart into words.
    fn buffer_access(
        &mut self,
        step: &BufferStep,
        descriptor: &Descriptor,
        half: usize,
        active: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let (dwords, load) = match step.access {
            Access::Load(dwords) => (dwords, true),
            Access::Store(dwords) => (dwords, false),
            _ => (1, true),
        };
        if dwords == 1 || !descriptor.swizzled {
            return self.global_access(step.access, half, active, addresses, step.data, step.data);
        }
        for dword in 0..u16::from(dwords) {
            let step_bytes = u64::from(dword) * descriptor.word_distance();
            let mut moved = [0; LANES];
            for (moved, address) in moved.iter_mut().zip(addresses) {
                *moved = address.wrapping_add(step_bytes);
            }
            let access = if load { Access::Load(1) } else { Access::Store(1) };
            self.global_access(access, half, active, &moved, step.data + dword, step.data + dword)?;
        }
        Ok(())
    }
}

impl Descriptor {
    /// How far the words of a lane are from each other in a swizzled buffer.
    pub(crate) fn word_distance(&self) -> u64 {
        self.element * self.index_stride
    }

    /// Where an element lies, from the base on.
    fn place(&self, index: u64, offset: u64) -> u64 {
        if !self.swizzled {
            let scaled = if self.add_lane { index * self.stride.max(1) } else { index * self.stride };
            return scaled + offset;
        }
        let (index_high, index_low) = (index / self.index_stride, index % self.index_stride);
        let (offset_high, offset_low) = (offset / self.element, offset % self.element);
        (index_high * self.stride + offset_high * self.element) * self.index_stride
            + index_low * self.element
            + offset_low
    }

    /// Whether an access lies inside the buffer.
    fn holds(&self, index: u64, offset: u64, soffset: u64, size: u64) -> bool {
        if self.swizzled || self.add_lane {
            return self.stride == 0 || self.swizzled || index < self.records;
        }
        if self.stride == 0 { offset + soffset + size <= self.records } else { index < self.records }
    }
}
