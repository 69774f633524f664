//! `waits`: a register is used before `s_waitcnt` covers the load that fills it.
//!
//! Vector memory and LDS loads complete in order, so a count of n covers all but the newest n.
//! Scalar loads complete in any order; only a count of zero covers them. Stores have a counter of
//! their own, which covers no register. FLAT instructions increment both counters; the memory that
//! they access determines which one covers them. Outstanding LDS writes are also passed to `races`,
//! because a barrier does not wait for them either.

use std::collections::VecDeque;

use roci_isa::{Access, Family, Fields, Op, Operand, Register, RegisterPart, Segment};

use super::memory_access::{ByteSpan, MemoryAccess, MemorySpace};
use crate::engine::Machine;
use crate::observe::{ObservedInstruction, register_name};
use crate::program::MicroOp;
use crate::program::micro_op::{AccessKind, RegisterHalf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitCounter {
    /// `vmcnt`: loads from global and private memory, and atomics that return a value.
    Vector,
    /// `lgkmcnt`: LDS, scalar memory, messages.
    Other,
}

/// Whether operations of a kind complete in issue order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompletionOrder {
    InOrder,
    Any,
}

/// An outstanding memory operation.
struct OutstandingOp {
    /// Index of the micro-op.
    index: u32,
    order: CompletionOrder,
    /// Registers that it fills; empty if it only increments the counter.
    fills: Vec<Access>,
    /// FLAT: may complete out of order.
    flat: bool,
    /// Bytes that it writes to LDS.
    lds: Vec<ByteSpan>,
}

/// Outstanding memory operations of one wave.
#[derive(Default)]
pub(super) struct OutstandingOps {
    vector: VecDeque<OutstandingOp>,
    other: VecDeque<OutstandingOp>,
}

impl OutstandingOps {
    /// Processes an instruction before it runs. If `registers`, checks that the registers it uses
    /// have been waited for.
    pub(super) fn before(
        &mut self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &ObservedInstruction,
        accessed: Option<&MemoryAccess>,
        registers: bool,
    ) -> Result<(), String> {
        if let Some((vector, other)) = waits_for(machine, decoded) {
            finish(&mut self.vector, vector);
            finish(&mut self.other, other);
            return Ok(());
        }
        let began = began(machine, index, decoded, accessed);
        // A load of half a register merges with the old value, but only when it completes.
        let merges = accessed.is_some_and(|accessed| {
            matches!(accessed.access, AccessKind::LoadSmall { half: RegisterHalf::Low | RegisterHalf::High, .. })
        });
        for access in decoded.accesses.iter().filter(|_| registers) {
            self.use_register(machine, access, &began, access.write || merges)?;
        }
        for (counter, outstanding) in began {
            match counter {
                WaitCounter::Vector => self.vector.push_back(outstanding),
                WaitCounter::Other => self.other.push_back(outstanding),
            }
        }
        Ok(())
    }

    /// Outstanding LDS writes: micro-op and bytes.
    pub(super) fn late_writes(&self) -> impl Iterator<Item = (u32, &[ByteSpan])> {
        self.other
            .iter()
            .filter(|outstanding| !outstanding.lds.is_empty())
            .map(|outstanding| (outstanding.index, &*outstanding.lds))
    }

    fn use_register(
        &self,
        machine: &Machine<'_>,
        access: &Access,
        began: &[(WaitCounter, OutstandingOp)],
        loaded: bool,
    ) -> Result<(), String> {
        for (counter, queue) in [(WaitCounter::Vector, &self.vector), (WaitCounter::Other, &self.other)] {
            for (index, outstanding) in queue.iter().enumerate() {
                let Some(fill) = outstanding.fills.iter().find(|fill| overlap(fill, access)) else { continue };
                // Loads of one kind complete in order: the newer one determines the register,
                // including the old half that it preserves on completion.
                let succeeded = began.iter().any(|(other, next)| {
                    let fills = next.fills.iter().any(|fill| fill.register == access.register);
                    *other == counter && next.order == CompletionOrder::InOrder && !next.flat && fills
                });
                if loaded && outstanding.order == CompletionOrder::InOrder && !outstanding.flat && succeeded {
                    continue;
                }
                let behind = queue.len() - 1 - index;
                return Err(describe(machine, counter, outstanding, fill, access, behind, queue));
            }
        }
        Ok(())
    }
}

fn describe(
    machine: &Machine<'_>,
    counter: WaitCounter,
    outstanding: &OutstandingOp,
    fill: &Access,
    access: &Access,
    behind: usize,
    queue: &VecDeque<OutstandingOp>,
) -> String {
    let verb = if access.write { "overwritten" } else { "read" };
    let in_order = queue.iter().all(|outstanding| outstanding.order == CompletionOrder::InOrder);
    let count = if in_order { behind } else { 0 };
    let name = if counter == WaitCounter::Vector { "vmcnt" } else { "lgkmcnt" };
    format!(
        "{} is {verb} before the load at {:#x} ({}) has completed (add `s_waitcnt {name}({count})` between them)",
        register_name(overlapping(fill, access)),
        machine.program.pc(outstanding.index),
        machine.program.text(outstanding.index),
    )
}

/// First register and number of registers, if both are of the same kind.
fn spans(a: &Access, b: &Access) -> Option<[(u16, u16); 2]> {
    let span = |access: &Access, number: u8| (u16::from(number), u16::from(number) + u16::from(access.words));
    match (a.register, b.register) {
        (Register::Vector(first), Register::Vector(second)) | (Register::Scalar(first), Register::Scalar(second)) => {
            Some([span(a, first), span(b, second)])
        }
        _ => None,
    }
}

fn overlap(a: &Access, b: &Access) -> bool {
    let halves_differ =
        matches!((a.part, b.part), (RegisterPart::Low, RegisterPart::High) | (RegisterPart::High, RegisterPart::Low));
    spans(a, b).is_some_and(|[(from, to), (start, end)]| from < end && start < to && !halves_differ)
}

/// First register that both access.
fn overlapping(a: &Access, b: &Access) -> Register {
    let Some([(from, _), (start, _)]) = spans(a, b) else { return a.register };
    let number = from.max(start) as u8;
    if let Register::Vector(_) = a.register { Register::Vector(number) } else { Register::Scalar(number) }
}

/// Removes the operations covered by a count of `count`.
fn finish(queue: &mut VecDeque<OutstandingOp>, count: u32) {
    let count = count as usize;
    if count == 0 {
        queue.clear();
        return;
    }
    // In the worst case the unordered operations completed first.
    let unordered = queue.iter().filter(|outstanding| outstanding.order == CompletionOrder::Any).count();
    let mut ended = queue.len().saturating_sub(count).saturating_sub(unordered);
    queue.retain(|outstanding| {
        let retired_in_order = outstanding.order == CompletionOrder::InOrder && ended > 0;
        ended -= usize::from(retired_in_order);
        !retired_in_order
    });
}

/// The counters that an instruction waits for: `vmcnt` and `lgkmcnt`.
fn waits_for(machine: &Machine<'_>, decoded: &ObservedInstruction) -> Option<(u32, u32)> {
    const NO_WAIT: u32 = u32::MAX;
    let Fields::Scalar { dst, src, simm, .. } = decoded.instruction.fields else { return None };
    let simm = u32::from(simm);
    // The register operand is encoded as a destination or a source; `null` adds nothing.
    let register = [dst, src[0]].into_iter().find_map(|operand| match operand {
        Operand::Scalar(124) => None,
        Operand::Scalar(number) => Some(machine.wave.scalars[usize::from(number)]),
        _ => None,
    });
    let count = simm.wrapping_add(register.unwrap_or(0)) & 63;
    Some(match decoded.instruction.op {
        Op::SWaitcnt => match machine.launch.chip.family() {
            Family::Gfx10 => (simm & 15 | simm >> 14 << 4, simm >> 8 & 63),
            Family::Gfx11 => (simm >> 10, simm >> 4 & 63),
        },
        Op::SWaitcntVmcnt => (count, NO_WAIT),
        Op::SWaitcntLgkmcnt => (NO_WAIT, count),
        Op::SWaitcntVscnt | Op::SWaitcntExpcnt => (NO_WAIT, NO_WAIT),
        Op::SWaitIdle => (0, 0),
        _ => return None,
    })
}

/// The memory operations that an instruction issues.
fn began(
    machine: &Machine<'_>,
    index: u32,
    decoded: &ObservedInstruction,
    accessed: Option<&MemoryAccess>,
) -> Vec<(WaitCounter, OutstandingOp)> {
    let written = || decoded.accesses.iter().filter(|access| access.write).copied().collect::<Vec<_>>();
    let outstanding = |order, fills, flat| OutstandingOp { index, order, fills, flat, lds: Vec::new() };
    // Only writes matter to the race check.
    let lds = || {
        let writing =
            accessed.filter(|accessed| accessed.writes()).map(|accessed| &*accessed.spans).unwrap_or_default();
        writing.iter().filter(|span| span.space == MemorySpace::Lds).copied().collect::<Vec<_>>()
    };
    // Without active lanes nothing is written.
    let loaded = || if machine.wave.exec64() == 0 { Vec::new() } else { written() };
    match decoded.instruction.fields {
        // Cache invalidations load nothing.
        Fields::ScalarMemory { .. } if written().is_empty() => Vec::new(),
        Fields::ScalarMemory { .. } => vec![(WaitCounter::Other, outstanding(CompletionOrder::Any, written(), false))],
        Fields::Lds { .. } => {
            vec![(
                WaitCounter::Other,
                OutstandingOp { lds: lds(), ..outstanding(CompletionOrder::InOrder, loaded(), false) },
            )]
        }
        Fields::Scalar { .. } => match decoded.instruction.op {
            Op::SSendmsg | Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64 => {
                vec![(WaitCounter::Other, outstanding(CompletionOrder::Any, written(), false))]
            }
            _ => Vec::new(),
        },
        Fields::Flat { segment, .. } => {
            let Some(accessed) = accessed else { return Vec::new() };
            let stores = stores(accessed) && !matches!(machine.program.uop_at(index), Some(MicroOp::Fill(_)));
            let flat = segment == Segment::Flat;
            let uses = |lds: bool| {
                !flat
                    || accessed.spans.is_empty()
                    || accessed.spans.iter().any(|span| (span.space == MemorySpace::Lds) == lds)
            };
            let mut began = Vec::new();
            if !stores {
                let fills = if uses(false) { loaded() } else { Vec::new() };
                began.push((WaitCounter::Vector, outstanding(CompletionOrder::InOrder, fills, flat)));
            }
            if flat {
                let fills = if uses(true) && !stores { loaded() } else { Vec::new() };
                began.push((
                    WaitCounter::Other,
                    OutstandingOp { lds: lds(), ..outstanding(CompletionOrder::InOrder, fills, true) },
                ));
            }
            began
        }
        Fields::Buffer { .. } => match machine.program.uop_at(index) {
            Some(MicroOp::Buffer(_)) if !accessed.is_some_and(stores) => {
                vec![(WaitCounter::Vector, outstanding(CompletionOrder::InOrder, loaded(), false))]
            }
            Some(MicroOp::Fill(_)) => {
                vec![(WaitCounter::Vector, outstanding(CompletionOrder::InOrder, Vec::new(), false))]
            }
            // Stores and cache invalidations.
            _ => Vec::new(),
        },
        Fields::Vector(_) | Fields::Dual { .. } => Vec::new(),
    }
}

/// Whether `vscnt` counts it.
fn stores(accessed: &MemoryAccess) -> bool {
    matches!(
        accessed.access,
        AccessKind::Store(_) | AccessKind::StoreSmall { .. } | AccessKind::Atomic { returns: false, .. }
    )
}
