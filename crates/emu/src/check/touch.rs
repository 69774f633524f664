//! Which bytes of which memory a step touches, lane by lane.

use crate::engine::buffer::components;
use crate::engine::control::aperture;
use crate::engine::lds::moved;
use crate::engine::{Machine, lanes_of};
use crate::program::Step;
use crate::program::step::{Access, BufferStep, Lds, LdsStep, MemoryStep, NO_ROW};
use crate::row::LANES;

/// The memory that bytes lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// Global memory, by address.
    Global,
    /// LDS, by offset.
    Lds,
    /// Private memory, by the address of its bytes.
    Private,
}

/// Up to four neighbouring bytes and their place in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) lane: u8,
    pub(super) space: Space,
    pub(super) address: u64,
    pub(super) bytes: u8,
    /// The vector register that is loaded or stored, or none; of an atomic operation the one that gets the old value.
    pub(super) row: u16,
    /// The first bit of that register.
    pub(super) shift: u8,
}

/// What a step does to memory.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) access: Access,
    /// All bytes, in the order of the lanes.
    pub(super) pieces: Vec<Piece>,
    /// The data of an atomic operation: the first register of each operand.
    pub(super) data: [u16; 2],
}

impl Touched {
    /// Whether memory is changed.
    pub(super) fn writes(&self) -> bool {
        !matches!(self.access, Access::Load(_) | Access::LoadSmall { .. })
    }

    /// Whether it is an atomic operation.
    pub(super) fn atomic(&self) -> bool {
        matches!(self.access, Access::Atomic { .. })
    }
}

/// What a step touches; `None` if it is none that touches memory through vector registers.
pub(super) fn touched(machine: &Machine<'_>, index: u32) -> Option<Touched> {
    match machine.program.step_at(index)? {
        Step::Global(step) => Some(flat(machine, step, false)),
        Step::Flat(step) => Some(flat(machine, step, true)),
        Step::Scratch(step) => {
            let mut list = List::new(step.access, step.data, step.dst);
            for half in 0..machine.wave.halves {
                let offsets = machine.scratch_offsets(step, half);
                for lane in lanes_of(machine.wave.exec(half)) {
                    list.private(machine, half, lane, offsets[lane]);
                }
            }
            Some(list.touched)
        }
        Step::Buffer(step) => Some(buffer(machine, step)),
        Step::Lds(step) => lds(machine, step),
        Step::Fill(step) => {
            let mut list = List::new(Access::Store(1), NO_ROW, NO_ROW);
            for half in 0..machine.wave.halves {
                for lane in lanes_of(machine.wave.exec(half)) {
                    list.words(half, lane, Space::Lds, machine.fill_address(step, half, lane), 4);
                }
            }
            Some(list.touched)
        }
        _ => None,
    }
}

fn flat(machine: &Machine<'_>, step: &MemoryStep, any: bool) -> Touched {
    let mut list = List::new(step.access, step.data, step.dst);
    for half in 0..machine.wave.halves {
        let addresses = machine.global_addresses(step, half);
        for lane in lanes_of(machine.wave.exec(half)) {
            let address = addresses[lane];
            match (address >> 32) as u32 {
                aperture::SHARED if any => list.words(half, lane, Space::Lds, address & 0xffff_ffff, 4),
                aperture::PRIVATE if any => list.private(machine, half, lane, address as u32),
                _ => list.words(half, lane, Space::Global, address, 4),
            }
        }
    }
    list.touched
}

fn buffer(machine: &Machine<'_>, step: &BufferStep) -> Touched {
    let descriptor = machine.descriptor(step.resource);
    let mut list = List::new(step.access, step.data, step.data);
    let distance = if descriptor.swizzled { descriptor.word_distance() } else { 4 };
    // Private memory is where the launch has put it.
    let private = machine.wave.scratch;
    let end = private + u64::from(machine.wave.scratch_per_lane) * (machine.wave.halves * LANES) as u64;
    for half in 0..machine.wave.halves {
        let places = machine.buffer_places(step, &descriptor, half);
        let checked = components(step.access).0;
        for lane in lanes_of(machine.wave.exec(half)) {
            let address = places.addresses[lane];
            let space = if (private..end).contains(&address) { Space::Private } else { Space::Global };
            for word in 0..list.shape().0 {
                // A wide atomic operation is one part.
                if places.inside[usize::from(word).min(checked - 1)] >> lane & 1 == 0 {
                    continue;
                }
                if places.is_split(&descriptor, lane, step.access) {
                    list.bytes(half, lane, space, word, |byte| places.byte(&descriptor, lane, byte));
                } else {
                    list.word(half, lane, space, address, (word, distance));
                }
            }
        }
    }
    list.touched
}

fn lds(machine: &Machine<'_>, step: &LdsStep) -> Option<Touched> {
    let dwords = |wide: bool| 1 + u16::from(wide);
    // Where each of up to two accesses has its registers.
    let (access, second) = match step.kind {
        Lds::One(access) => (access, None),
        Lds::Load2 { wide } => (Access::Load(dwords(wide) as u8), Some(step.dst + dwords(wide))),
        Lds::Store2 { wide } => (Access::Store(dwords(wide) as u8), Some(step.data[1])),
        Lds::Exchange2 { wide } => {
            let op = crate::engine::atomics::AtomicOp::Swap;
            (Access::Atomic { op, wide, returns: true }, Some(step.dst + dwords(wide)))
        }
        Lds::LoadThread => (Access::Load(1), None),
        Lds::StoreThread => (Access::Store(1), None),
        Lds::Count { .. } => {
            let op = crate::engine::atomics::AtomicOp::Add;
            (Access::Atomic { op, wide: false, returns: true }, None)
        }
        Lds::Swizzle(_) | Lds::Permute | Lds::BackPermute => return None,
    };
    let mut list = List::new(access, step.data[0], step.dst);
    list.touched.data = step.data;
    for half in 0..machine.wave.halves {
        for lane in lanes_of(machine.wave.exec(half)) {
            let address = |offset: u32| match step.kind {
                Lds::LoadThread | Lds::StoreThread => machine.thread_address(step, half, lane),
                Lds::Count { .. } => {
                    u64::from(machine.wave.scalars[usize::from(crate::wave::scalar::M0)] >> 16) + u64::from(offset)
                }
                _ => moved(machine.wave.row(half, usize::from(step.addr)).get(lane), offset),
            };
            list.words(half, lane, Space::Lds, address(step.offsets[0]), 4);
            if let Some(row) = second {
                let first = std::mem::replace(&mut list.row, row);
                list.words(half, lane, Space::Lds, address(step.offsets[1]), 4);
                list.row = first;
            }
        }
    }
    Some(list.touched)
}

/// Pieces in the making.
struct List {
    touched: Touched,
    row: u16,
}

impl List {
    fn new(access: Access, data: u16, dst: u16) -> Self {
        let row = if matches!(access, Access::Store(_) | Access::StoreSmall { .. }) { data } else { dst };
        let wide = u16::from(matches!(access, Access::Atomic { wide: true, .. }));
        Self { touched: Touched { access, pieces: Vec::new(), data: [data, data.wrapping_add(1 + wide)] }, row }
    }

    /// How many words, the bytes of each, and the first bit in a register.
    fn shape(&self) -> (u16, u8, u8) {
        match self.touched.access {
            Access::Load(words) | Access::Store(words) => (u16::from(words), 4, 0),
            Access::LoadSmall { bytes, .. } => (1, bytes, 0),
            Access::StoreSmall { bytes, high } => (1, bytes, if high { 16 } else { 0 }),
            Access::Atomic { wide, .. } => (1 + u16::from(wide), 4, 0),
        }
    }

    /// Words that lie `distance` bytes from each other.
    fn words(&mut self, half: usize, lane: usize, space: Space, address: u64, distance: u64) {
        for word in 0..self.shape().0 {
            self.word(half, lane, space, address, (word, distance));
        }
    }

    /// One of the words that lie `distance` bytes from each other.
    fn word(&mut self, half: usize, lane: usize, space: Space, address: u64, (word, distance): (u16, u64)) {
        let (_, bytes, shift) = self.shape();
        self.touched.pieces.push(Piece {
            lane: (half * LANES + lane) as u8,
            space,
            address: address.wrapping_add(u64::from(word) * distance),
            bytes,
            row: if self.row == NO_ROW { NO_ROW } else { self.row + word },
            shift,
        });
    }

    /// The bytes of a word, each on its own.
    fn bytes(&mut self, half: usize, lane: usize, space: Space, word: u16, address: impl Fn(u64) -> u64) {
        let (_, bytes, shift) = self.shape();
        for byte in 0..bytes {
            self.touched.pieces.push(Piece {
                lane: (half * LANES + lane) as u8,
                space,
                address: address(4 * u64::from(word) + u64::from(byte)),
                bytes: 1,
                row: if self.row == NO_ROW { NO_ROW } else { self.row + word },
                shift: shift + 8 * byte,
            });
        }
    }

    /// Bytes of private memory, each on its own: those of a word that is not aligned are no neighbours. What lies beyond
    /// faults when it is accessed.
    fn private(&mut self, machine: &Machine<'_>, half: usize, lane: usize, offset: u32) {
        let (words, bytes, shift) = self.shape();
        for word in 0..words {
            for byte in 0..bytes {
                let at = u64::from(offset) + 4 * u64::from(word) + u64::from(byte);
                let Ok(address) = machine.private(half, lane, at, 1) else { return };
                self.touched.pieces.push(Piece {
                    lane: (half * LANES + lane) as u8,
                    space: Space::Private,
                    address,
                    bytes: 1,
                    row: if self.row == NO_ROW { NO_ROW } else { self.row + word },
                    shift: shift + 8 * byte,
                });
            }
        }
    }
}
