//! Computes the bytes of memory that a micro-op accesses, per lane.

use crate::engine::buffer::components;
use crate::engine::control::aperture;
use crate::engine::lds::moved;
use crate::engine::{Machine, lanes_of};
use crate::program::MicroOp;
use crate::program::micro_op::{AccessKind, BufferOp, LdsOp, LdsOpKind, MemoryOp, NO_ROW};
use crate::row::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemorySpace {
    /// Global memory, by address.
    Global,
    /// LDS, by offset.
    Lds,
    /// Private memory, by host address.
    Private,
}

/// Up to four contiguous bytes and their position in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteSpan {
    pub(super) lane: u8,
    pub(super) space: MemorySpace,
    pub(super) address: u64,
    pub(super) bytes: u8,
    /// VGPR that is loaded or stored, or none. For an atomic operation, the one that receives the
    /// old value.
    pub(super) row: u16,
    /// First bit in the register.
    pub(super) shift: u8,
}

/// The memory access of a micro-op.
#[derive(Clone, Debug)]
pub(super) struct MemoryAccess {
    pub(super) access: AccessKind,
    /// All byte ranges, in lane order.
    pub(super) spans: Vec<ByteSpan>,
    /// Data of an atomic operation: first register of each operand.
    pub(super) data: [u16; 2],
}

impl MemoryAccess {
    pub(super) fn writes(&self) -> bool {
        !matches!(self.access, AccessKind::Load(_) | AccessKind::LoadSmall { .. })
    }

    /// Whether it is an atomic operation.
    pub(super) fn atomic(&self) -> bool {
        matches!(self.access, AccessKind::Atomic { .. })
    }
}

/// The bytes that a micro-op accesses; `None` if it does not access memory through VGPRs.
pub(super) fn accessed(machine: &Machine<'_>, index: u32) -> Option<MemoryAccess> {
    match machine.program.uop_at(index)? {
        MicroOp::Global(uop) => Some(flat(machine, uop, false)),
        MicroOp::Flat(uop) => Some(flat(machine, uop, true)),
        MicroOp::Scratch(uop) => {
            let mut list = AccessBuilder::new(uop.access, uop.data, uop.dst);
            for half in 0..machine.wave.halves {
                let offsets = machine.scratch_offsets(uop, half);
                for lane in lanes_of(machine.wave.exec(half)) {
                    list.private(machine, half, lane, offsets[lane]);
                }
            }
            Some(list.accessed)
        }
        MicroOp::Buffer(uop) => Some(buffer(machine, uop)),
        MicroOp::Lds(uop) => lds(machine, uop),
        MicroOp::Fill(uop) => {
            let mut list = AccessBuilder::new(AccessKind::Store(1), NO_ROW, NO_ROW);
            for half in 0..machine.wave.halves {
                for lane in lanes_of(machine.wave.exec(half)) {
                    list.words(half, lane, MemorySpace::Lds, machine.fill_address(uop, half, lane), 4);
                }
            }
            Some(list.accessed)
        }
        _ => None,
    }
}

fn flat(machine: &Machine<'_>, uop: &MemoryOp, any: bool) -> MemoryAccess {
    let mut list = AccessBuilder::new(uop.access, uop.data, uop.dst);
    for half in 0..machine.wave.halves {
        let addresses = machine.global_addresses(uop, half);
        for lane in lanes_of(machine.wave.exec(half)) {
            let address = addresses[lane];
            match (address >> 32) as u32 {
                aperture::SHARED if any => list.words(half, lane, MemorySpace::Lds, address & 0xffff_ffff, 4),
                aperture::PRIVATE if any => list.private(machine, half, lane, address as u32),
                _ => list.words(half, lane, MemorySpace::Global, address, 4),
            }
        }
    }
    list.accessed
}

fn buffer(machine: &Machine<'_>, uop: &BufferOp) -> MemoryAccess {
    let descriptor = machine.descriptor(uop.resource);
    let mut list = AccessBuilder::new(uop.access, uop.data, uop.data);
    let distance = if descriptor.swizzled { descriptor.word_distance() } else { 4 };
    // Private memory is at the address chosen by the launch.
    let private = machine.wave.scratch;
    let end = private + u64::from(machine.wave.scratch_per_lane) * (machine.wave.halves * LANES) as u64;
    for half in 0..machine.wave.halves {
        let resolved = machine.buffer_addresses(uop, &descriptor, half);
        let checked = components(uop.access).0;
        for lane in lanes_of(machine.wave.exec(half)) {
            let address = resolved.addresses[lane];
            let space = if (private..end).contains(&address) { MemorySpace::Private } else { MemorySpace::Global };
            for word in 0..list.shape().0 {
                // A 64-bit atomic operation is a single component.
                if resolved.inside[usize::from(word).min(checked - 1)] >> lane & 1 == 0 {
                    continue;
                }
                if resolved.is_split(&descriptor, lane, uop.access) {
                    list.bytes(half, lane, space, word, |byte| resolved.byte(&descriptor, lane, byte));
                } else {
                    list.word(half, lane, space, address, (word, distance));
                }
            }
        }
    }
    list.accessed
}

fn lds(machine: &Machine<'_>, uop: &LdsOp) -> Option<MemoryAccess> {
    let dwords = |wide: bool| 1 + u16::from(wide);
    // Registers of each of up to two accesses.
    let (access, second) = match uop.kind {
        LdsOpKind::One(access) => (access, None),
        LdsOpKind::Load2 { wide } => (AccessKind::Load(dwords(wide) as u8), Some(uop.dst + dwords(wide))),
        LdsOpKind::Store2 { wide } => (AccessKind::Store(dwords(wide) as u8), Some(uop.data[1])),
        LdsOpKind::Exchange2 { wide } => {
            let op = crate::engine::atomics::AtomicOp::Swap;
            (AccessKind::Atomic { op, wide, returns: true }, Some(uop.dst + dwords(wide)))
        }
        LdsOpKind::LoadThread => (AccessKind::Load(1), None),
        LdsOpKind::StoreThread => (AccessKind::Store(1), None),
        LdsOpKind::Count { .. } => {
            let op = crate::engine::atomics::AtomicOp::Add;
            (AccessKind::Atomic { op, wide: false, returns: true }, None)
        }
        LdsOpKind::Swizzle(_) | LdsOpKind::Permute | LdsOpKind::BackPermute => return None,
    };
    let mut list = AccessBuilder::new(access, uop.data[0], uop.dst);
    list.accessed.data = uop.data;
    for half in 0..machine.wave.halves {
        for lane in lanes_of(machine.wave.exec(half)) {
            let address = |offset: u32| match uop.kind {
                LdsOpKind::LoadThread | LdsOpKind::StoreThread => machine.thread_address(uop, half, lane),
                LdsOpKind::Count { .. } => {
                    u64::from(machine.wave.scalars[usize::from(crate::wave::scalar::M0)] >> 16) + u64::from(offset)
                }
                _ => moved(machine.wave.row(half, usize::from(uop.addr)).get(lane), offset),
            };
            list.words(half, lane, MemorySpace::Lds, address(uop.offsets[0]), 4);
            if let Some(row) = second {
                let first = std::mem::replace(&mut list.row, row);
                list.words(half, lane, MemorySpace::Lds, address(uop.offsets[1]), 4);
                list.row = first;
            }
        }
    }
    Some(list.accessed)
}

/// Collects the byte ranges of an access.
struct AccessBuilder {
    accessed: MemoryAccess,
    row: u16,
}

impl AccessBuilder {
    fn new(access: AccessKind, data: u16, dst: u16) -> Self {
        let row = if matches!(access, AccessKind::Store(_) | AccessKind::StoreSmall { .. }) { data } else { dst };
        let wide = u16::from(matches!(access, AccessKind::Atomic { wide: true, .. }));
        Self { accessed: MemoryAccess { access, spans: Vec::new(), data: [data, data.wrapping_add(1 + wide)] }, row }
    }

    /// Number of words, bytes per word, and first bit in a register.
    fn shape(&self) -> (u16, u8, u8) {
        match self.accessed.access {
            AccessKind::Load(words) | AccessKind::Store(words) => (u16::from(words), 4, 0),
            AccessKind::LoadSmall { bytes, .. } => (1, bytes, 0),
            AccessKind::StoreSmall { bytes, high } => (1, bytes, if high { 16 } else { 0 }),
            AccessKind::Atomic { wide, .. } => (1 + u16::from(wide), 4, 0),
        }
    }

    /// Adds all words, `distance` bytes apart.
    fn words(&mut self, half: usize, lane: usize, space: MemorySpace, address: u64, distance: u64) {
        for word in 0..self.shape().0 {
            self.word(half, lane, space, address, (word, distance));
        }
    }

    /// Adds one of the words, `distance` bytes apart.
    fn word(&mut self, half: usize, lane: usize, space: MemorySpace, address: u64, (word, distance): (u16, u64)) {
        let (_, bytes, shift) = self.shape();
        self.accessed.spans.push(ByteSpan {
            lane: (half * LANES + lane) as u8,
            space,
            address: address.wrapping_add(u64::from(word) * distance),
            bytes,
            row: if self.row == NO_ROW { NO_ROW } else { self.row + word },
            shift,
        });
    }

    /// Adds each byte of a word separately.
    fn bytes(&mut self, half: usize, lane: usize, space: MemorySpace, word: u16, address: impl Fn(u64) -> u64) {
        let (_, bytes, shift) = self.shape();
        for byte in 0..bytes {
            self.accessed.spans.push(ByteSpan {
                lane: (half * LANES + lane) as u8,
                space,
                address: address(4 * u64::from(word) + u64::from(byte)),
                bytes: 1,
                row: if self.row == NO_ROW { NO_ROW } else { self.row + word },
                shift: shift + 8 * byte,
            });
        }
    }

    /// Adds the bytes of private memory separately, because the bytes of a misaligned word are not
    /// contiguous. Out-of-bounds bytes fault on access.
    fn private(&mut self, machine: &Machine<'_>, half: usize, lane: usize, offset: u32) {
        let (words, bytes, shift) = self.shape();
        for word in 0..words {
            for byte in 0..bytes {
                let at = u64::from(offset) + 4 * u64::from(word) + u64::from(byte);
                let Ok(address) = machine.private(half, lane, at, 1) else { return };
                self.accessed.spans.push(ByteSpan {
                    lane: (half * LANES + lane) as u8,
                    space: MemorySpace::Private,
                    address,
                    bytes: 1,
                    row: if self.row == NO_ROW { NO_ROW } else { self.row + word },
                    shift: shift + 8 * byte,
                });
            }
        }
    }
}
