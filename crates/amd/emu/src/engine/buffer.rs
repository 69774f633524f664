//! Memory access through a buffer descriptor (MUBUF). On gfx10 that includes private memory.

use crate::engine::global::{extend, merge_half};
use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::micro_op::{AccessKind, BufferOp, NO_ROW, RegisterHalf};
use crate::row::LANES;

/// A descriptor whose base is less than this far after the wave's scratch memory refers to private
/// memory.
const PRIVATE_REACH: u64 = 1 << 30;

/// Maximum number of separately bounds-checked words of an access.
const WORDS: usize = 4;

/// The fields of a buffer descriptor (V#).
pub(crate) struct BufferDescriptor {
    base: u64,
    stride: u64,
    records: u64,
    /// Swizzle enable: the words of a lane are not contiguous.
    pub(crate) swizzled: bool,
    add_lane: bool,
    index_stride: u64,
    element: u64,
    bounds: BoundsCheck,
}

/// Bounds-checking mode (OOB_SELECT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundsCheck {
    /// Structured: checks the index against NUM_RECORDS and the offset against the stride.
    Elements,
    /// Checks the index only.
    Numbers,
    /// Out of bounds only if NUM_RECORDS is zero.
    All,
    /// Raw: checks the byte offset.
    Bytes,
}

/// Buffer addresses of the lanes of a half.
pub(crate) struct BufferAddresses {
    pub(crate) addresses: [u64; LANES],
    /// By word of the access: lanes that are in bounds.
    pub(crate) inside: [u32; WORDS],
    /// Index and offset of each lane.
    elements: [(u64, u64); LANES],
    /// Address of element zero.
    start: u64,
}

impl BufferAddresses {
    /// Whether the bytes of a lane's access are not contiguous.
    pub(crate) fn is_split(&self, descriptor: &BufferDescriptor, lane: usize, access: AccessKind) -> bool {
        descriptor.splits(self.elements[lane].1, components(access).1)
    }

    /// Address of a byte of a lane's access. In a swizzled buffer the bytes of a word may not be
    /// contiguous.
    pub(crate) fn byte(&self, descriptor: &BufferDescriptor, lane: usize, byte: u64) -> u64 {
        let (index, offset) = self.elements[lane];
        self.start.wrapping_add(descriptor.element_offset(index, u64::from((offset as u32).wrapping_add(byte as u32))))
    }
}

impl Machine<'_> {
    pub(crate) fn descriptor(&self, resource: u8) -> BufferDescriptor {
        let word = |index: usize| self.wave.scalars[usize::from(resource) + index];
        let gfx10 = self.launch.chip.family() == roci_isa::Family::Gfx10;
        let swizzle = if gfx10 { word(1) >> 31 & 1 } else { word(1) >> 30 & 3 };
        let add_lane = word(3) >> 23 & 1 == 1;
        // With ADD_TID_ENABLE the upper bits of the stride have a different meaning, but then the
        // stride does not scale an index.
        let stride = word(1) >> 16 & 0x3fff;
        let swizzled = swizzle != 0;
        BufferDescriptor {
            base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
            stride: u64::from(stride),
            records: u64::from(word(2)),
            swizzled,
            add_lane,
            index_stride: 8 << (word(3) >> 21 & 3),
            // The element size is fixed at four bytes on gfx10; gfx11 encodes it in the swizzle
            // field.
            element: if gfx10 { 4 } else { 2 << swizzle },
            bounds: match word(3) >> 28 & 3 {
                // With a stride of zero every element would be out of bounds; treat it as a raw
                // buffer.
                0 if stride == 0 => BoundsCheck::Bytes,
                0 => BoundsCheck::Elements,
                1 => BoundsCheck::Numbers,
                2 => BoundsCheck::All,
                _ if swizzled && stride != 0 => BoundsCheck::Elements,
                _ => BoundsCheck::Bytes,
            },
        }
    }

    pub(super) fn buffer(&mut self, uop: &BufferOp) -> Result<(), Fault> {
        let descriptor = self.descriptor(uop.resource);
        for half in 0..self.wave.halves {
            let exec = self.wave.exec(half);
            if exec == 0 {
                continue;
            }
            self.check_private(uop, &descriptor, half, exec)?;
            let resolved = self.buffer_addresses(uop, &descriptor, half);
            self.buffer_access(uop, &descriptor, half, exec, &resolved)?;
        }
        Ok(())
    }

    /// Computes the buffer addresses of the lanes of a half.
    pub(crate) fn buffer_addresses(
        &self,
        uop: &BufferOp,
        descriptor: &BufferDescriptor,
        half: usize,
    ) -> BufferAddresses {
        let soffset = u64::from(self.scalar_value(uop.soffset, false) as u32);
        let start = descriptor.base.wrapping_add(soffset);
        let mut resolved =
            BufferAddresses { addresses: [0; LANES], inside: [0; WORDS], elements: [(0, 0); LANES], start };
        for lane in 0..LANES {
            let (mut index, mut moved) = (0, 0);
            if uop.vaddr != NO_ROW {
                let word = |row: usize| self.wave.row(half, usize::from(uop.vaddr) + row).get(lane);
                match (uop.idxen, uop.offen) {
                    (true, true) => (index, moved) = (u64::from(word(0)), word(1)),
                    (true, false) => index = u64::from(word(0)),
                    (false, _) => moved = word(0),
                }
            }
            if descriptor.add_lane {
                index += (half * LANES + lane) as u64;
            }
            // Addresses wrap, but the checked offset does not. The scalar offset is not part of it.
            let offset = u64::from(moved.wrapping_add(u32::from(uop.offset)));
            resolved.elements[lane] = (index, offset);
            resolved.addresses[lane] = start.wrapping_add(descriptor.element_offset(index, offset));
            let compared = u64::from(moved) + u64::from(uop.offset);
            let (words, size) = components(uop.access);
            for word in 0..words {
                let inside = descriptor.holds(index, compared + 4 * word as u64, size);
                resolved.inside[word] |= u32::from(inside) << lane;
            }
        }
        resolved
    }

    /// Checks accesses to private memory, which gfx10 reaches through a descriptor, against the
    /// lane's allocation.
    fn check_private(
        &self,
        uop: &BufferOp,
        descriptor: &BufferDescriptor,
        half: usize,
        exec: u32,
    ) -> Result<(), Fault> {
        let allocated = self.wave.scratch_per_lane;
        let soffset = u64::from(self.scalar_value(uop.soffset, false) as u32);
        let start = (descriptor.base + soffset).wrapping_sub(self.wave.scratch);
        if allocated == 0 || !(descriptor.swizzled && descriptor.add_lane) || start >= PRIVATE_REACH {
            return Ok(());
        }
        let first = start / (self.wave.halves * LANES) as u64;
        for lane in lanes_of(exec) {
            let row = usize::from(uop.vaddr) + usize::from(uop.idxen);
            let moved = if uop.offen { self.wave.row(half, row).get(lane) } else { 0 };
            let offset = first + u64::from(moved.wrapping_add(u32::from(uop.offset)));
            if offset + uop.access.size() > u64::from(allocated) {
                return Err(Fault::Scratch { offset, lane: (half * LANES + lane) as u32, allocated });
            }
        }
        Ok(())
    }

    /// Accesses all words at once, or word by word if they are not contiguous or partly out of
    /// bounds.
    fn buffer_access(
        &mut self,
        uop: &BufferOp,
        descriptor: &BufferDescriptor,
        half: usize,
        exec: u32,
        resolved: &BufferAddresses,
    ) -> Result<(), Fault> {
        let (words, _) = components(uop.access);
        let inside = exec & resolved.inside[0];
        if lanes_of(inside).any(|lane| resolved.is_split(descriptor, lane, uop.access)) {
            return self.buffer_bytes(uop, descriptor, half, exec, resolved);
        }
        let whole = resolved.inside[..words].iter().all(|word| exec & word == inside);
        if words == 1 || !descriptor.swizzled && whole {
            return self.buffer_component(uop.access, half, [exec, inside], &resolved.addresses, uop.data);
        }
        let access = if matches!(uop.access, AccessKind::Load(_)) { AccessKind::Load(1) } else { AccessKind::Store(1) };
        let distance = if descriptor.swizzled { descriptor.word_distance() } else { 4 };
        for word in 0..words {
            let addresses = resolved.addresses.map(|address| address.wrapping_add(word as u64 * distance));
            let masks = [exec, exec & resolved.inside[word]];
            self.buffer_component(access, half, masks, &addresses, uop.data + word as u16)?;
        }
        Ok(())
    }

    /// Accesses byte by byte: misaligned words of a swizzled buffer.
    #[cold]
    fn buffer_bytes(
        &mut self,
        uop: &BufferOp,
        descriptor: &BufferDescriptor,
        half: usize,
        exec: u32,
        resolved: &BufferAddresses,
    ) -> Result<(), Fault> {
        let (words, size) = components(uop.access);
        let write = matches!(uop.access, AccessKind::Store(_) | AccessKind::StoreSmall { .. });
        if matches!(uop.access, AccessKind::Atomic { .. }) {
            let inside = exec & resolved.inside[0];
            return self.buffer_component(uop.access, half, [exec, inside], &resolved.addresses, uop.data);
        }
        for lane in lanes_of(exec) {
            for word in 0..words {
                let row = self.wave.row(half, usize::from(uop.data) + word);
                let stored = match uop.access {
                    AccessKind::StoreSmall { high: true, .. } => row.get(lane) >> 16,
                    _ => row.get(lane),
                };
                let mut value = 0;
                for byte in 0..if resolved.inside[word] >> lane & 1 == 1 { size } else { 0 } {
                    let address = resolved.byte(descriptor, lane, 4 * word as u64 + byte);
                    if !self.worker.window.allows(address, 1, write) {
                        return Err(Fault::Memory { address, size: 1, write, lane: lane as u32 });
                    }
                    let pointer_to_byte = pointer::<u8>(address);
                    if write {
                        // SAFETY: the byte is writable.
                        unsafe { pointer_to_byte.write((stored >> (8 * byte)) as u8) };
                    } else {
                        // SAFETY: the byte is readable.
                        value |= u32::from(unsafe { pointer_to_byte.read() }) << (8 * byte);
                    }
                }
                match uop.access {
                    AccessKind::Load(_) => row.set(lane, value),
                    AccessKind::LoadSmall { bytes, signed, half: part } => {
                        row.set(lane, merge_half(row.get(lane), extend(value, bytes, signed), part));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// In-bounds lanes access memory. For other active lanes, loads return zero and stores are
    /// dropped.
    fn buffer_component(
        &mut self,
        access: AccessKind,
        half: usize,
        [exec, inside]: [u32; 2],
        addresses: &[u64; LANES],
        data: u16,
    ) -> Result<(), Fault> {
        let outside = exec & !inside;
        if outside != 0 {
            let (rows, part) = match access {
                AccessKind::Load(dwords) => (usize::from(dwords), RegisterHalf::Both),
                AccessKind::LoadSmall { half: part, .. } => (1, part),
                AccessKind::Atomic { wide, returns: true, .. } => (1 + usize::from(wide), RegisterHalf::Both),
                AccessKind::Store(_) | AccessKind::StoreSmall { .. } | AccessKind::Atomic { .. } => {
                    (0, RegisterHalf::Both)
                }
            };
            for row in 0..rows {
                let row = self.wave.row(half, usize::from(data) + row);
                row.assign_masked(outside, &row.array().map(|old| merge_half(old, 0, part)));
            }
        }
        if inside == 0 { Ok(()) } else { self.global_access(access, half, inside, addresses, data, data) }
    }
}

/// Number of separately bounds-checked components of an access, and bytes of each.
pub(crate) fn components(access: AccessKind) -> (usize, u64) {
    match access {
        AccessKind::Load(dwords) | AccessKind::Store(dwords) => (usize::from(dwords), 4),
        other => (1, other.size()),
    }
}

impl BufferDescriptor {
    /// Distance between the words of a lane in a swizzled buffer, in bytes.
    pub(crate) fn word_distance(&self) -> u64 {
        self.element * self.index_stride
    }

    /// Whether an access at an offset is not contiguous.
    pub(crate) fn splits(&self, offset: u64, size: u64) -> bool {
        self.swizzled && offset % self.element + size > self.element
    }

    /// Offset of an element from the base.
    fn element_offset(&self, index: u64, offset: u64) -> u64 {
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

    /// Whether an access is in bounds.
    fn holds(&self, index: u64, offset: u64, size: u64) -> bool {
        match self.bounds {
            BoundsCheck::Elements => index < self.records && offset + size <= self.stride,
            BoundsCheck::Numbers => index < self.records,
            BoundsCheck::All => self.records != 0,
            BoundsCheck::Bytes => index * self.stride + offset + size <= self.records,
        }
    }
}
