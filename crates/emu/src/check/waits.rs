//! `waits`: a register is used before `s_waitcnt` covers the load that fills it.
//!
//! Loads of vector memory and LDS end in the order in which they began, so a counter of n covers all but the newest n.
//! Scalar loads end in any order: only a counter of zero covers them. Stores have a counter of their own, which covers
//! no register. What was not waited for is also told to `races`: a barrier does not wait for it either. FLAT instructions count in both counters; the memory that they turn out to use decides which one covers.

use std::collections::VecDeque;

use roci_isa::{Access, Family, Fields, Op, Operand, Part, Register, Segment};

use super::touch::{Piece, Space, Touched};
use crate::engine::Machine;
use crate::observe::{Decoded, register_name};
use crate::program::Step;
use crate::program::step::{Access as MemoryAccess, Half};

/// A counter that code can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    /// `vmcnt`: loads of global and private memory, and atomics that return a value.
    Vector,
    /// `lgkmcnt`: LDS, scalar memory, messages.
    Other,
}

/// Whether loads of a kind end in the order in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    InOrder,
    Any,
}

/// Something under way.
struct Flight {
    /// The step.
    index: u32,
    order: Order,
    /// The registers that it fills: none if it only counts.
    fills: Vec<Access>,
    /// FLAT: it may not be the last of its kind.
    flat: bool,
    /// What it writes to LDS.
    lds: Vec<Piece>,
}

/// What one wave has not waited for.
#[derive(Default)]
pub(super) struct Pending {
    vector: VecDeque<Flight>,
    other: VecDeque<Flight>,
}

impl Pending {
    /// Looks at an instruction before it runs, and whether the registers that it uses have been waited for if `registers`.
    pub(super) fn before(
        &mut self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &Decoded,
        touched: Option<&Touched>,
        registers: bool,
    ) -> Result<(), String> {
        if let Some((vector, other)) = waits_for(machine, decoded) {
            finish(&mut self.vector, vector);
            finish(&mut self.other, other);
            return Ok(());
        }
        let began = began(machine, index, decoded, touched);
        // A load of half a register reads the register, but only when it ends.
        let merges = touched.is_some_and(|touched| {
            matches!(touched.access, MemoryAccess::LoadSmall { half: Half::Low | Half::High, .. })
        });
        for access in decoded.accesses.iter().filter(|_| registers) {
            self.use_register(machine, access, &began, access.write || merges)?;
        }
        for (counter, flight) in began {
            match counter {
                Counter::Vector => self.vector.push_back(flight),
                Counter::Other => self.other.push_back(flight),
            }
        }
        Ok(())
    }

    /// What was written to LDS and may not have ended: by which step, and where.
    pub(super) fn late_writes(&self) -> impl Iterator<Item = (u32, &[Piece])> {
        self.other.iter().filter(|flight| !flight.lds.is_empty()).map(|flight| (flight.index, &*flight.lds))
    }

    fn use_register(
        &self,
        machine: &Machine<'_>,
        access: &Access,
        began: &[(Counter, Flight)],
        loaded: bool,
    ) -> Result<(), String> {
        for (counter, queue) in [(Counter::Vector, &self.vector), (Counter::Other, &self.other)] {
            for (place, flight) in queue.iter().enumerate() {
                let Some(fill) = flight.fills.iter().find(|fill| overlap(fill, access)) else { continue };
                // Loads of one kind end in order: the newer one has the last word, and what it keeps of the old value it
                // takes when it ends.
                let succeeded = began.iter().any(|(other, next)| {
                    let fills = next.fills.iter().any(|fill| fill.register == access.register);
                    *other == counter && next.order == Order::InOrder && !next.flat && fills
                });
                if loaded && flight.order == Order::InOrder && !flight.flat && succeeded {
                    continue;
                }
                let behind = queue.len() - 1 - place;
                return Err(describe(machine, counter, flight, fill, access, behind, queue));
            }
        }
        Ok(())
    }
}

fn describe(
    machine: &Machine<'_>,
    counter: Counter,
    flight: &Flight,
    fill: &Access,
    access: &Access,
    behind: usize,
    queue: &VecDeque<Flight>,
) -> String {
    let verb = if access.write { "overwritten" } else { "read" };
    let in_order = queue.iter().all(|flight| flight.order == Order::InOrder);
    let count = if in_order { behind } else { 0 };
    let name = if counter == Counter::Vector { "vmcnt" } else { "lgkmcnt" };
    format!(
        "{} is {verb} before the load at {:#x} ({}) has ended (put `s_waitcnt {name}({count})` between them)",
        register_name(overlapping(fill, access)),
        machine.program.pc(flight.index),
        machine.program.text(flight.index),
    )
}

/// First register and number of registers, of the same kind in both.
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
    let halves_differ = matches!((a.part, b.part), (Part::Low, Part::High) | (Part::High, Part::Low));
    spans(a, b).is_some_and(|[(from, to), (start, end)]| from < end && start < to && !halves_differ)
}

/// The first register that both have.
fn overlapping(a: &Access, b: &Access) -> Register {
    let Some([(from, _), (start, _)]) = spans(a, b) else { return a.register };
    let number = from.max(start) as u8;
    if let Register::Vector(_) = a.register { Register::Vector(number) } else { Register::Scalar(number) }
}

/// Takes out what a counter of `count` covers.
fn finish(queue: &mut VecDeque<Flight>, count: u32) {
    let count = count as usize;
    if count == 0 {
        queue.clear();
        return;
    }
    // At worst, those that end in any order have ended first.
    let unordered = queue.iter().filter(|flight| flight.order == Order::Any).count();
    let mut ended = queue.len().saturating_sub(count).saturating_sub(unordered);
    queue.retain(|flight| {
        let gone = flight.order == Order::InOrder && ended > 0;
        ended -= usize::from(gone);
        !gone
    });
}

/// The counters that an instruction waits for: `vmcnt` and `lgkmcnt`.
fn waits_for(machine: &Machine<'_>, decoded: &Decoded) -> Option<(u32, u32)> {
    const NO_WAIT: u32 = u32::MAX;
    let Fields::Scalar { dst, src, simm, .. } = decoded.instruction.fields else { return None };
    let simm = u32::from(simm);
    // The counter's register is named as a destination or as a source; `null` adds nothing.
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

/// What an instruction sets under way.
fn began(machine: &Machine<'_>, index: u32, decoded: &Decoded, touched: Option<&Touched>) -> Vec<(Counter, Flight)> {
    let written = || decoded.accesses.iter().filter(|access| access.write).copied().collect::<Vec<_>>();
    let flight = |order, fills, flat| Flight { index, order, fills, flat, lds: Vec::new() };
    // Only what writes is of interest to those who look at LDS.
    let lds = || {
        let writing = touched.filter(|touched| touched.writes()).map(|touched| &*touched.pieces).unwrap_or_default();
        writing.iter().filter(|piece| piece.space == Space::Lds).copied().collect::<Vec<_>>()
    };
    // No lane, no write.
    let loaded = || if machine.wave.exec64() == 0 { Vec::new() } else { written() };
    match decoded.instruction.fields {
        // What only empties caches loads nothing.
        Fields::ScalarMemory { .. } if written().is_empty() => Vec::new(),
        Fields::ScalarMemory { .. } => vec![(Counter::Other, flight(Order::Any, written(), false))],
        Fields::Lds { .. } => {
            vec![(Counter::Other, Flight { lds: lds(), ..flight(Order::InOrder, loaded(), false) })]
        }
        Fields::Scalar { .. } => match decoded.instruction.op {
            Op::SSendmsg | Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64 => {
                vec![(Counter::Other, flight(Order::Any, written(), false))]
            }
            _ => Vec::new(),
        },
        Fields::Flat { segment, .. } => {
            let Some(touched) = touched else { return Vec::new() };
            let stores = stores(touched) && !matches!(machine.program.step_at(index), Some(Step::Fill(_)));
            let flat = segment == Segment::Flat;
            let uses = |lds: bool| {
                !flat
                    || touched.pieces.is_empty()
                    || touched.pieces.iter().any(|piece| (piece.space == Space::Lds) == lds)
            };
            let mut began = Vec::new();
            if !stores {
                let fills = if uses(false) { loaded() } else { Vec::new() };
                began.push((Counter::Vector, flight(Order::InOrder, fills, flat)));
            }
            if flat {
                let fills = if uses(true) && !stores { loaded() } else { Vec::new() };
                began.push((Counter::Other, Flight { lds: lds(), ..flight(Order::InOrder, fills, true) }));
            }
            began
        }
        Fields::Buffer { .. } => match machine.program.step_at(index) {
            Some(Step::Buffer(_)) if !touched.is_some_and(stores) => {
                vec![(Counter::Vector, flight(Order::InOrder, loaded(), false))]
            }
            Some(Step::Fill(_)) => vec![(Counter::Vector, flight(Order::InOrder, Vec::new(), false))],
            // Stores, and what only empties caches.
            _ => Vec::new(),
        },
        Fields::Vector(_) | Fields::Dual { .. } => Vec::new(),
    }
}

/// Whether it is counted with the stores.
fn stores(touched: &Touched) -> bool {
    matches!(
        touched.access,
        MemoryAccess::Store(_) | MemoryAccess::StoreSmall { .. } | MemoryAccess::Atomic { returns: false, .. }
    )
}
