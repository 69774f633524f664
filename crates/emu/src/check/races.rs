//! `races`: two waves use the same bytes of LDS without a barrier between, and one of them writes.
//!
//! A barrier orders what has ended. A write that its wave has not waited for when it comes to the barrier may end behind it, and
//! counts as if it were made there.

use std::collections::HashMap;

use super::touch::{Piece, Space, Touched};
use crate::engine::Machine;
use crate::engine::atomics::AtomicOp;
use crate::program::Step;
use crate::program::step::{Access, Lds};

/// How a byte is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    Atomic,
}

/// What was done to a byte since the last barrier: by wave, for each use, and by which step last.
#[derive(Clone, Copy, Default)]
struct Byte {
    /// The barrier before: what is older does not count.
    epoch: u32,
    /// What was written before that barrier and not waited for counts too.
    late: bool,
    waves: [u32; 3],
    steps: [u32; 3],
}

/// The LDS of a group.
pub(super) struct Group {
    bytes: Vec<Byte>,
    epoch: u32,
    /// By wave: writes that the barrier to which it has come does not wait for.
    late: Vec<(u32, u32, Piece)>,
    /// By step, as far as it was asked for: whether it is an atomic load.
    atomic_loads: HashMap<u32, bool>,
}

impl Group {
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: vec![Byte::default(); size], epoch: 0, late: Vec::new(), atomic_loads: HashMap::new() }
    }

    /// All waves have come to a barrier.
    pub(super) fn barrier(&mut self) {
        self.epoch += 1;
        for (wave, index, piece) in std::mem::take(&mut self.late) {
            for address in piece.address..piece.address + u64::from(piece.bytes) {
                let Some(byte) = self.bytes.get_mut(address as usize) else { break };
                if byte.epoch != self.epoch {
                    *byte = Byte { epoch: self.epoch, late: true, ..Byte::default() };
                }
                byte.waves[Use::Write as usize] |= 1 << (wave & 31);
                byte.steps[Use::Write as usize] = index;
            }
        }
    }

    /// A wave comes to a barrier while these writes may not have ended.
    pub(super) fn arrive<'a>(&mut self, wave: u32, writes: impl Iterator<Item = (u32, &'a [Piece])>) {
        for (index, pieces) in writes {
            self.late.extend(pieces.iter().map(|piece| (wave, index, *piece)));
        }
    }

    pub(super) fn before(&mut self, machine: &Machine<'_>, index: u32, touched: &Touched) -> Result<(), String> {
        // A group has 32 waves at most: 1024 work-items in waves of 32 lanes.
        let own = 1u32 << (machine.wave.number & 31);
        let (how, conflicts, does): (_, &[Use], _) = match (touched.atomic(), touched.writes()) {
            (true, _) => (Use::Atomic, &[Use::Write, Use::Read], "changes"),
            (false, true) => (Use::Write, &[Use::Write, Use::Atomic, Use::Read], "writes"),
            (false, false) if *self.atomic_loads.entry(index).or_insert_with(|| is_atomic_load(machine, index)) => {
                (Use::Atomic, &[Use::Write, Use::Read], "reads")
            }
            (false, false) => (Use::Read, &[Use::Write, Use::Atomic], "reads"),
        };
        for piece in touched.pieces.iter().filter(|piece| piece.space == Space::Lds) {
            for address in piece.address..piece.address + u64::from(piece.bytes) {
                // What lies beyond reads zero and forgets.
                let Some(byte) = self.bytes.get_mut(address as usize) else { break };
                if byte.epoch != self.epoch {
                    *byte = Byte { epoch: self.epoch, ..Byte::default() };
                }
                if let Some(other) = conflicts.iter().find(|other| byte.waves[**other as usize] & !own != 0) {
                    let wave = (byte.waves[*other as usize] & !own).trailing_zeros();
                    let at = byte.steps[*other as usize];
                    let did = match other {
                        Use::Read => "read",
                        Use::Write => "wrote",
                        Use::Atomic => "changed",
                    };
                    let between = if byte.late && *other == Use::Write {
                        "and did not wait for before the barrier (put `s_waitcnt lgkmcnt(0)` before it)"
                    } else {
                        "without a barrier between (put one there)"
                    };
                    return Err(format!(
                        "LDS race: lane {} {does} byte {address:#x} that wave {wave} {did} at {:#x} ({}) {between}",
                        piece.lane,
                        machine.program.pc(at),
                        machine.program.text(at),
                    ));
                }
                byte.waves[how as usize] |= own;
                byte.steps[how as usize] = index;
            }
        }
        Ok(())
    }
}

/// Whether a load is the first step of an operation that the chip lacks: compilers write such as a load and a loop that compares
/// and swaps, at the same place. An atomic load has no instruction of its own.
fn is_atomic_load(machine: &Machine<'_>, index: u32) -> bool {
    let Some(Step::Lds(load)) = machine.program.step_at(index) else { return false };
    let steps = (0..machine.program.len() as u32).filter_map(|index| machine.program.step_at(index));
    matches!(load.kind, Lds::One(Access::Load(_)))
        && steps.into_iter().any(|step| match step {
            Step::Lds(swap) => {
                let compares = matches!(
                    swap.kind,
                    Lds::One(Access::Atomic { op: AtomicOp::CompareSwap | AtomicOp::CompareSwapFloat, .. })
                );
                compares && swap.addr == load.addr && swap.offsets[0] == load.offsets[0]
            }
            _ => false,
        })
}
