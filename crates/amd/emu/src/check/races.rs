//! `races`: two waves access the same LDS bytes with no barrier between them, and one writes.
//!
//! A barrier orders only completed operations. A write that its wave has not waited for may
//! complete after the barrier and counts as if it were made there.

use std::collections::HashMap;

use super::memory_access::{ByteSpan, MemoryAccess, MemorySpace};
use crate::engine::Machine;
use crate::engine::atomics::AtomicOp;
use crate::program::MicroOp;
use crate::program::micro_op::{AccessKind, LdsOpKind};

/// Kind of access to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessType {
    Read,
    Write,
    Atomic,
}

/// Accesses to a byte since the last barrier: by access kind, the waves and the last micro-op.
#[derive(Clone, Copy, Default)]
struct ByteHistory {
    /// Epoch of the last barrier; older accesses don't count.
    epoch: u32,
    /// Includes writes from before that barrier that were not waited for.
    late: bool,
    waves: [u32; 3],
    uops: [u32; 3],
}

/// The LDS of a workgroup.
pub(super) struct LdsHistory {
    bytes: Vec<ByteHistory>,
    epoch: u32,
    /// By wave: writes not covered by a wait when the wave arrived at the barrier.
    late: Vec<(u32, u32, ByteSpan)>,
    /// Cache by micro-op: whether it is an atomic load.
    atomic_loads: HashMap<u32, bool>,
}

impl LdsHistory {
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: vec![ByteHistory::default(); size], epoch: 0, late: Vec::new(), atomic_loads: HashMap::new() }
    }

    /// All waves have passed a barrier.
    pub(super) fn barrier(&mut self) {
        self.epoch += 1;
        for (wave, index, span) in std::mem::take(&mut self.late) {
            for address in span.address..span.address + u64::from(span.bytes) {
                let Some(byte) = self.bytes.get_mut(address as usize) else { break };
                if byte.epoch != self.epoch {
                    *byte = ByteHistory { epoch: self.epoch, late: true, ..ByteHistory::default() };
                }
                byte.waves[AccessType::Write as usize] |= 1 << (wave & 31);
                byte.uops[AccessType::Write as usize] = index;
            }
        }
    }

    /// A wave arrives at a barrier with these writes outstanding.
    pub(super) fn arrive<'a>(&mut self, wave: u32, writes: impl Iterator<Item = (u32, &'a [ByteSpan])>) {
        for (index, spans) in writes {
            self.late.extend(spans.iter().map(|span| (wave, index, *span)));
        }
    }

    pub(super) fn before(&mut self, machine: &Machine<'_>, index: u32, accessed: &MemoryAccess) -> Result<(), String> {
        // A workgroup has at most 32 waves: 1024 work-items in wave32.
        let own = 1u32 << (machine.wave.number & 31);
        let (how, conflicts, does): (_, &[AccessType], _) = match (accessed.atomic(), accessed.writes()) {
            (true, _) => (AccessType::Atomic, &[AccessType::Write, AccessType::Read], "changes"),
            (false, true) => (AccessType::Write, &[AccessType::Write, AccessType::Atomic, AccessType::Read], "writes"),
            (false, false) if *self.atomic_loads.entry(index).or_insert_with(|| is_atomic_load(machine, index)) => {
                (AccessType::Atomic, &[AccessType::Write, AccessType::Read], "reads")
            }
            (false, false) => (AccessType::Read, &[AccessType::Write, AccessType::Atomic], "reads"),
        };
        for span in accessed.spans.iter().filter(|span| span.space == MemorySpace::Lds) {
            for address in span.address..span.address + u64::from(span.bytes) {
                // Reads past the end return zero, writes are dropped.
                let Some(byte) = self.bytes.get_mut(address as usize) else { break };
                if byte.epoch != self.epoch {
                    *byte = ByteHistory { epoch: self.epoch, ..ByteHistory::default() };
                }
                if let Some(other) = conflicts.iter().find(|other| byte.waves[**other as usize] & !own != 0) {
                    let wave = (byte.waves[*other as usize] & !own).trailing_zeros();
                    let at = byte.uops[*other as usize];
                    let did = match other {
                        AccessType::Read => "read",
                        AccessType::Write => "wrote",
                        AccessType::Atomic => "changed",
                    };
                    let between = if byte.late && *other == AccessType::Write {
                        "without waiting for it before the barrier (add `s_waitcnt lgkmcnt(0)` before the barrier)"
                    } else {
                        "without a barrier between them (add one)"
                    };
                    return Err(format!(
                        "LDS race: lane {} {does} byte {address:#x} that wave {wave} {did} at {:#x} ({}) {between}",
                        span.lane,
                        machine.program.pc(at),
                        machine.program.text(at),
                    ));
                }
                byte.waves[how as usize] |= own;
                byte.uops[how as usize] = index;
            }
        }
        Ok(())
    }
}

/// Whether a load is the first micro-op of an atomic operation that the chip lacks. Compilers
/// expand it to a load and a compare-and-swap loop on the same address. An atomic load has no
/// instruction of its own.
fn is_atomic_load(machine: &Machine<'_>, index: u32) -> bool {
    let Some(MicroOp::Lds(load)) = machine.program.uop_at(index) else { return false };
    let uops = (0..machine.program.len() as u32).filter_map(|index| machine.program.uop_at(index));
    matches!(load.kind, LdsOpKind::One(AccessKind::Load(_)))
        && uops.into_iter().any(|uop| match uop {
            MicroOp::Lds(swap) => {
                let compares = matches!(
                    swap.kind,
                    LdsOpKind::One(AccessKind::Atomic { op: AtomicOp::CompareSwap | AtomicOp::CompareSwapFloat, .. })
                );
                compares && swap.addr == load.addr && swap.offsets[0] == load.offsets[0]
            }
            _ => false,
        })
}
