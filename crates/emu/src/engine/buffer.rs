//! Memory through a buffer descriptor: on gfx10 also each lane's private memory.

use crate::engine::global::{extend, place};
use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::memory::pointer;
use crate::program::step::{Access, BufferStep, Half, NO_ROW};
use crate::row::LANES;

/// How far behind the start of a wave's private memory a descriptor of lanes is still meant to be that memory.
const PRIVATE_REACH: u64 = 1 << 30;

/// Accesses of several words that are checked word by word.
const WORDS: usize = 4;

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
    bounds: Bounds,
}

/// What lies inside a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    /// Elements by their number, and bytes of an element by their offset.
    Elements,
    /// Elements by their number.
    Numbers,
    /// Everything, unless the buffer is empty.
    All,
    /// Bytes.
    Bytes,
}

/// Where the lanes of a half access a buffer.
pub(crate) struct Places {
    pub(crate) addresses: [u64; LANES],
    /// By word of an access: which lanes are inside the buffer.
    pub(crate) inside: [u32; WORDS],
    /// Elements by number, and offsets in them.
    elements: [(u64, u64); LANES],
    /// What is added to the place of an element.
    start: u64,
}

impl Places {
    /// Whether the bytes of a lane's access are no neighbours.
    pub(crate) fn is_split(&self, descriptor: &Descriptor, lane: usize, access: Access) -> bool {
        descriptor.splits(self.elements[lane].1, components(access).1)
    }

    /// The address of a byte of a lane's access: in a swizzled buffer the bytes of a word need not be neighbours.
    pub(crate) fn byte(&self, descriptor: &Descriptor, lane: usize, byte: u64) -> u64 {
        let (index, offset) = self.elements[lane];
        self.start.wrapping_add(descriptor.place(index, u64::from((offset as u32).wrapping_add(byte as u32))))
    }
}

impl Machine<'_> {
    pub(crate) fn descriptor(&self, resource: u8) -> Descriptor {
        let word = |index: usize| self.wave.scalars[usize::from(resource) + index];
        let gfx10 = self.launch.chip.family() == roci_isa::Family::Gfx10;
        let swizzle = if gfx10 { word(1) >> 31 & 1 } else { word(1) >> 30 & 3 };
        let add_lane = word(3) >> 23 & 1 == 1;
        // With ADD_TID the upper bits of the stride are elsewhere: it is not used to scale an index then.
        let stride = word(1) >> 16 & 0x3fff;
        let swizzled = swizzle != 0;
        Descriptor {
            base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
            stride: u64::from(stride),
            records: u64::from(word(2)),
            swizzled,
            add_lane,
            index_stride: 8 << (word(3) >> 21 & 3),
            // The element size is fixed to four bytes on gfx10; gfx11 encodes it in the swizzle field.
            element: if gfx10 { 4 } else { 2 << swizzle },
            bounds: match word(3) >> 28 & 3 {
                // Elements without a size would all lie outside: such a buffer is meant to be one of bytes.
                0 if stride == 0 => Bounds::Bytes,
                0 => Bounds::Elements,
                1 => Bounds::Numbers,
                2 => Bounds::All,
                _ if swizzled && stride != 0 => Bounds::Elements,
                _ => Bounds::Bytes,
            },
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
            let places = self.buffer_places(step, &descriptor, half);
            self.buffer_access(step, &descriptor, half, exec, &places)?;
        }
        Ok(())
    }

    /// Where the lanes of a half access a buffer.
    pub(crate) fn buffer_places(&self, step: &BufferStep, descriptor: &Descriptor, half: usize) -> Places {
        let soffset = u64::from(self.scalar_value(step.soffset, false) as u32);
        let start = descriptor.base.wrapping_add(soffset);
        let mut places = Places { addresses: [0; LANES], inside: [0; WORDS], elements: [(0, 0); LANES], start };
        for lane in 0..LANES {
            let (mut index, mut moved) = (0, 0);
            if step.vaddr != NO_ROW {
                let word = |row: usize| self.wave.row(half, usize::from(step.vaddr) + row).get(lane);
                match (step.idxen, step.offen) {
                    (true, true) => (index, moved) = (u64::from(word(0)), word(1)),
                    (true, false) => index = u64::from(word(0)),
                    (false, _) => moved = word(0),
                }
            }
            if descriptor.add_lane {
                index += (half * LANES + lane) as u64;
            }
            // An address wraps; what is compared with the bounds does not. The scalar offset is not compared.
            let offset = u64::from(moved.wrapping_add(u32::from(step.offset)));
            places.elements[lane] = (index, offset);
            places.addresses[lane] = start.wrapping_add(descriptor.place(index, offset));
            let compared = u64::from(moved) + u64::from(step.offset);
            let (words, size) = components(step.access);
            for word in 0..words {
                let inside = descriptor.holds(index, compared + 4 * word as u64, size);
                places.inside[word] |= u32::from(inside) << lane;
            }
        }
        places
    }

    /// Holds accesses of private memory, which gfx10 reaches through a descriptor, to what a lane has of it.
    fn check_private(&self, step: &BufferStep, descriptor: &Descriptor, half: usize, exec: u32) -> Result<(), Fault> {
        let allocated = self.wave.scratch_per_lane;
        let soffset = u64::from(self.scalar_value(step.soffset, false) as u32);
        let start = (descriptor.base + soffset).wrapping_sub(self.wave.scratch);
        if allocated == 0 || !(descriptor.swizzled && descriptor.add_lane) || start >= PRIVATE_REACH {
            return Ok(());
        }
        let first = start / (self.wave.halves * LANES) as u64;
        for lane in lanes_of(exec) {
            let row = usize::from(step.vaddr) + usize::from(step.idxen);
            let moved = if step.offen { self.wave.row(half, row).get(lane) } else { 0 };
            let offset = first + u64::from(moved.wrapping_add(u32::from(step.offset)));
            if offset + step.access.size() > u64::from(allocated) {
                return Err(Fault::Scratch { offset, lane: (half * LANES + lane) as u32, allocated });
            }
        }
        Ok(())
    }

    /// In one go, or word by word where the words of a lane are no neighbours or not all inside.
    fn buffer_access(
        &mut self,
        step: &BufferStep,
        descriptor: &Descriptor,
        half: usize,
        exec: u32,
        places: &Places,
    ) -> Result<(), Fault> {
        let (words, _) = components(step.access);
        let inside = exec & places.inside[0];
        if lanes_of(inside).any(|lane| places.is_split(descriptor, lane, step.access)) {
            return self.buffer_bytes(step, descriptor, half, exec, places);
        }
        let whole = places.inside[..words].iter().all(|word| exec & word == inside);
        if words == 1 || !descriptor.swizzled && whole {
            return self.buffer_component(step.access, half, [exec, inside], &places.addresses, step.data);
        }
        let access = if matches!(step.access, Access::Load(_)) { Access::Load(1) } else { Access::Store(1) };
        let distance = if descriptor.swizzled { descriptor.word_distance() } else { 4 };
        for word in 0..words {
            let addresses = places.addresses.map(|address| address.wrapping_add(word as u64 * distance));
            let masks = [exec, exec & places.inside[word]];
            self.buffer_component(access, half, masks, &addresses, step.data + word as u16)?;
        }
        Ok(())
    }

    /// Byte by byte: words of a swizzled buffer that are not aligned.
    #[cold]
    fn buffer_bytes(
        &mut self,
        step: &BufferStep,
        descriptor: &Descriptor,
        half: usize,
        exec: u32,
        places: &Places,
    ) -> Result<(), Fault> {
        let (words, size) = components(step.access);
        let write = matches!(step.access, Access::Store(_) | Access::StoreSmall { .. });
        if matches!(step.access, Access::Atomic { .. }) {
            let inside = exec & places.inside[0];
            return self.buffer_component(step.access, half, [exec, inside], &places.addresses, step.data);
        }
        for lane in lanes_of(exec) {
            for word in 0..words {
                let row = self.wave.row(half, usize::from(step.data) + word);
                let stored = match step.access {
                    Access::StoreSmall { high: true, .. } => row.get(lane) >> 16,
                    _ => row.get(lane),
                };
                let mut value = 0;
                for byte in 0..if places.inside[word] >> lane & 1 == 1 { size } else { 0 } {
                    let address = places.byte(descriptor, lane, 4 * word as u64 + byte);
                    if !self.worker.window.allows(address, 1, write) {
                        return Err(Fault::Memory { address, size: 1, write, lane: lane as u32 });
                    }
                    let place = pointer::<u8>(address);
                    if write {
                        // SAFETY: the byte is writable.
                        unsafe { place.write((stored >> (8 * byte)) as u8) };
                    } else {
                        // SAFETY: the byte is readable.
                        value |= u32::from(unsafe { place.read() }) << (8 * byte);
                    }
                }
                match step.access {
                    Access::Load(_) => row.set(lane, value),
                    Access::LoadSmall { bytes, signed, half: part } => {
                        row.set(lane, place(row.get(lane), extend(value, bytes, signed), part));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The lanes inside access memory; of the others that are on, loads give zero and stores are dropped.
    fn buffer_component(
        &mut self,
        access: Access,
        half: usize,
        [exec, inside]: [u32; 2],
        addresses: &[u64; LANES],
        data: u16,
    ) -> Result<(), Fault> {
        let outside = exec & !inside;
        if outside != 0 {
            let (rows, part) = match access {
                Access::Load(dwords) => (usize::from(dwords), Half::Both),
                Access::LoadSmall { half: part, .. } => (1, part),
                Access::Atomic { wide, returns: true, .. } => (1 + usize::from(wide), Half::Both),
                Access::Store(_) | Access::StoreSmall { .. } | Access::Atomic { .. } => (0, Half::Both),
            };
            for row in 0..rows {
                let row = self.wave.row(half, usize::from(data) + row);
                row.assign_masked(outside, &row.array().map(|old| place(old, 0, part)));
            }
        }
        if inside == 0 { Ok(()) } else { self.global_access(access, half, inside, addresses, data, data) }
    }
}

/// How many parts of an access are compared with the bounds, and the bytes of each.
pub(crate) fn components(access: Access) -> (usize, u64) {
    match access {
        Access::Load(dwords) | Access::Store(dwords) => (usize::from(dwords), 4),
        other => (1, other.size()),
    }
}

impl Descriptor {
    /// How far the words of a lane are from each other in a swizzled buffer.
    pub(crate) fn word_distance(&self) -> u64 {
        self.element * self.index_stride
    }

    /// Whether bytes at an offset are no neighbours.
    pub(crate) fn splits(&self, offset: u64, size: u64) -> bool {
        self.swizzled && offset % self.element + size > self.element
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

    /// Whether bytes at an offset of an element lie inside the buffer.
    fn holds(&self, index: u64, offset: u64, size: u64) -> bool {
        match self.bounds {
            Bounds::Elements => index < self.records && offset + size <= self.stride,
            Bounds::Numbers => index < self.records,
            Bounds::All => self.records != 0,
            Bounds::Bytes => index * self.stride + offset + size <= self.records,
        }
    }
}
