//! `races`: two waves use the same bytes of LDS without a barrier between, and one of them writes.

use super::touch::{Space, Touched};
use crate::engine::Machine;

/// What was done to a byte since the last barrier.
#[derive(Clone, Copy, Default)]
struct Byte {
    /// The barrier before: what is older does not count.
    epoch: u32,
    /// One more than the wave that wrote it.
    writer: u8,
    /// The write was part of an atomic operation.
    atomic: bool,
    /// By wave: it was read, and not by an atomic operation alone.
    readers: u64,
    /// By wave: an atomic operation read it.
    atomic_readers: u64,
    /// The step that wrote it.
    written_at: u32,
    /// The step that read it last.
    read_at: u32,
}

/// The LDS of a group.
pub(super) struct Group {
    bytes: Vec<Byte>,
    epoch: u32,
}

impl Group {
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: vec![Byte::default(); size], epoch: 0 }
    }

    pub(super) fn barrier(&mut self) {
        self.epoch += 1;
    }

    pub(super) fn before(&mut self, machine: &Machine<'_>, index: u32, touched: &Touched) -> Result<(), String> {
        let wave = machine.wave.number;
        let (writes, atomic) = (touched.writes(), touched.atomic());
        let own = 1u64 << (wave & 63);
        for piece in touched.pieces.iter().filter(|piece| piece.space == Space::Lds) {
            for address in piece.address..piece.address + u64::from(piece.bytes) {
                // What lies beyond reads zero and forgets.
                let Some(byte) = self.bytes.get_mut(address as usize) else { break };
                if byte.epoch != self.epoch {
                    *byte = Byte { epoch: self.epoch, ..Byte::default() };
                }
                let written = byte.writer != 0 && u32::from(byte.writer) != wave + 1 && !(atomic && byte.atomic);
                let other_readers = (byte.readers | if atomic { 0 } else { byte.atomic_readers }) & !own;
                let (other, at, did) = if written {
                    (u32::from(byte.writer) - 1, byte.written_at, "wrote")
                } else if writes && other_readers != 0 {
                    (other_readers.trailing_zeros(), byte.read_at, "read")
                } else {
                    if writes {
                        (byte.writer, byte.atomic, byte.written_at) = (wave as u8 + 1, atomic, index);
                    }
                    if !writes {
                        byte.readers |= own;
                        byte.read_at = index;
                    } else if atomic {
                        byte.atomic_readers |= own;
                        byte.read_at = index;
                    }
                    continue;
                };
                let does = if writes { "writes" } else { "reads" };
                return Err(format!(
                    "LDS race: lane {} {does} byte {address:#x} that wave {other} {did} at {:#x} ({}) without a barrier \
                     between",
                    piece.lane,
                    machine.program.pc(at),
                    machine.program.text(at),
                ));
            }
        }
        Ok(())
    }
}
