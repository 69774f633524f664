//! `races`: two waves use the same bytes of LDS without a barrier between, and one of them writes.

use std::collections::HashMap;

use super::touch::{Space, Touched};
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
    waves: [u32; 3],
    steps: [u32; 3],
}

/// The LDS of a group.
pub(super) struct Group {
    bytes: Vec<Byte>,
    epoch: u32,
    /// By step, as far as it was asked for: whether it is an atomic load.
    atomic_loads: HashMap<u32, bool>,
}

impl Group {
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: vec![Byte::default(); size], epoch: 0, atomic_loads: HashMap::new() }
    }

    pub(super) fn barrier(&mut self) {
        self.epoch += 1;
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
                    return Err(format!(
                        "LDS race: lane {} {does} byte {address:#x} that wave {wave} {did} at {:#x} ({}) without a \
                         barrier between (put one there)",
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
