//! Shadow propagation through memory. LDS and private memory have shadows; global memory counts
//! as defined.

use super::super::memory_access::{ByteSpan, MemoryAccess, MemorySpace};
use super::{WaveShadow, WorkgroupShadows, undefined};
use crate::engine::{Machine, lanes_of};
use crate::program::MicroOp;
use crate::program::micro_op::{
    AccessKind, LANE_ROW, LdsFillSource, LdsOpKind, NO_ROW, NO_SCALAR, RegisterHalf, ScalarSource,
};
use crate::row::LANES;
use crate::wave::scalar::M0;

impl WorkgroupShadows {
    /// Checks that the address and data stored to global memory are defined, and propagates the
    /// access.
    pub(super) fn memory(
        &mut self,
        machine: &Machine<'_>,
        uop: &MicroOp,
        accessed: &MemoryAccess,
    ) -> Result<(), String> {
        let number = machine.wave.number as usize;
        self.waves[number].address(machine, uop)?;
        match accessed.access {
            AccessKind::Load(words) => {
                // Lanes outside a buffer read zero.
                let shadow = &mut self.waves[number];
                for row in destinations(uop, words) {
                    for half in 0..machine.wave.halves {
                        for lane in lanes_of(machine.wave.exec(half)) {
                            shadow.row_mut(half, row)[lane] = 0;
                        }
                    }
                }
                for span in &accessed.spans {
                    let bits = self.load(machine, span);
                    *self.waves[number].cell(span) |= bits << span.shift;
                }
            }
            AccessKind::LoadSmall { bytes, signed, half: part } => {
                if let MicroOp::Buffer(uop) = uop {
                    for half in 0..machine.wave.halves {
                        for lane in lanes_of(machine.wave.exec(half)) {
                            let cell = &mut self.waves[number].row_mut(half, usize::from(uop.data))[lane];
                            *cell = crate::engine::global::merge_half(*cell, 0, part);
                        }
                    }
                }
                self.load_small(machine, accessed, bytes, signed, part);
            }
            // Data from global memory is defined.
            AccessKind::Store(_) if matches!(uop, MicroOp::Fill(_)) => {
                for span in &accessed.spans {
                    self.store(machine, span, 0);
                }
            }
            AccessKind::Store(_) | AccessKind::StoreSmall { .. } => {
                self.waves[number].stored(accessed)?;
                for span in &accessed.spans {
                    let bits = *self.waves[number].cell(span) >> span.shift;
                    self.store(machine, span, bits);
                }
            }
            AccessKind::Atomic { wide, returns, .. } => self.atomic(machine, accessed, wide, returns)?,
        }
        Ok(())
    }

    fn load_small(
        &mut self,
        machine: &Machine<'_>,
        accessed: &MemoryAccess,
        bytes: u8,
        signed: bool,
        half: RegisterHalf,
    ) {
        let number = machine.wave.number as usize;
        // Private memory is accessed byte by byte.
        for lane_spans in accessed.spans.chunk_by(|a, b| a.lane == b.lane) {
            let mut bits = 0;
            for span in lane_spans {
                bits |= self.load(machine, span) << span.shift;
            }
            let value = crate::engine::global::extend(bits, bytes, signed);
            let cell = self.waves[number].cell(&lane_spans[0]);
            *cell = crate::engine::global::merge_half(*cell, value, half);
        }
    }

    fn atomic(
        &mut self,
        machine: &Machine<'_>,
        accessed: &MemoryAccess,
        wide: bool,
        returns: bool,
    ) -> Result<(), String> {
        let number = machine.wave.number as usize;
        let words = 1 + u16::from(wide);
        for span in &accessed.spans {
            let lane = usize::from(span.lane);
            let shadow = &self.waves[number];
            let data = accessed.data[0];
            let unknown = if data == NO_ROW {
                0
            } else {
                (0..words).fold(0, |all, word| all | shadow.row(lane / LANES, usize::from(data + word))[lane % LANES])
            };
            if span.space == MemorySpace::Global {
                if unknown != 0 {
                    return Err(undefined(&format!("what an atomic operation does (v{data} of lane {lane})")));
                }
                if returns {
                    *self.waves[number].cell(span) = 0;
                }
                continue;
            }
            let old = self.load(machine, span);
            if returns && span.row != NO_ROW {
                let cell = self.waves[number].cell(span);
                let field = if span.bytes == 4 { !0 } else { 0xff << span.shift };
                *cell = *cell & !field | old << span.shift;
            }
            self.store(machine, span, if old | unknown == 0 { 0 } else { !0 });
        }
        Ok(())
    }

    /// Undefined bits of bytes in memory.
    fn load(&self, machine: &Machine<'_>, span: &ByteSpan) -> u32 {
        let bytes = match span.space {
            MemorySpace::Global => return 0,
            MemorySpace::Lds => self.lds.get(span.address as usize..),
            MemorySpace::Private => self.waves[machine.wave.number as usize].private.get(private(machine, span)..),
        };
        // Out-of-bounds bytes read as zero.
        let bytes = bytes.and_then(|rest| rest.get(..usize::from(span.bytes))).unwrap_or_default();
        bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte))
    }

    fn store(&mut self, machine: &Machine<'_>, span: &ByteSpan, bits: u32) {
        let bytes = match span.space {
            MemorySpace::Global => return,
            MemorySpace::Lds => self.lds.get_mut(span.address as usize..),
            MemorySpace::Private => self.waves[machine.wave.number as usize].private.get_mut(private(machine, span)..),
        };
        let Some(bytes) = bytes.and_then(|rest| rest.get_mut(..usize::from(span.bytes))) else { return };
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = (bits >> (8 * index)) as u8;
        }
    }
}

/// Offset in the wave's private memory.
fn private(machine: &Machine<'_>, span: &ByteSpan) -> usize {
    usize::try_from(span.address.wrapping_sub(machine.wave.scratch)).unwrap_or(usize::MAX)
}

/// Registers that a load fills.
fn destinations(uop: &MicroOp, words: u8) -> std::ops::Range<usize> {
    let (first, count) = match uop {
        MicroOp::Global(uop) | MicroOp::Flat(uop) | MicroOp::Scratch(uop) => (uop.dst, words),
        MicroOp::Buffer(uop) => (uop.data, words),
        MicroOp::Lds(uop) => match uop.kind {
            LdsOpKind::Load2 { .. } => (uop.dst, 2 * words),
            _ => (uop.dst, words),
        },
        _ => (0, 0),
    };
    usize::from(first)..usize::from(first) + usize::from(count)
}

impl WaveShadow {
    /// Shadow of the register that a byte range is loaded into or stored from.
    fn cell(&mut self, span: &ByteSpan) -> &mut u32 {
        let lane = usize::from(span.lane);
        &mut self.row_mut(lane / LANES, usize::from(span.row))[lane % LANES]
    }

    /// Checks that the address registers are defined in every active lane.
    fn address(&self, machine: &Machine<'_>, uop: &MicroOp) -> Result<(), String> {
        if let MicroOp::Fill(fill) = uop {
            if self.scalars[usize::from(M0)] != 0 {
                return Err(undefined("an address (m0)"));
            }
            return self.address(
                machine,
                &match fill.source {
                    LdsFillSource::Global(uop) => MicroOp::Global(uop),
                    LdsFillSource::Buffer(uop) => MicroOp::Buffer(uop),
                },
            );
        }
        let (first, rows, scalar, scalars) = match uop {
            MicroOp::Global(uop) | MicroOp::Flat(uop) => {
                let rows = if uop.saddr == NO_SCALAR { 2 } else { 1 };
                (uop.addr, rows, uop.saddr, 2)
            }
            MicroOp::Scratch(uop) => (uop.addr, 1, uop.saddr, 1),
            MicroOp::Buffer(uop) => {
                if let ScalarSource::Register(register) = uop.soffset
                    && self.scalars[usize::from(register)] != 0
                {
                    return Err(undefined(&format!("an address (s{register})")));
                }
                (uop.vaddr, usize::from(uop.offen) + usize::from(uop.idxen), uop.resource, 4)
            }
            MicroOp::Lds(uop) => match uop.kind {
                LdsOpKind::LoadThread | LdsOpKind::StoreThread | LdsOpKind::Count { .. } => (NO_ROW, 0, M0, 1),
                _ => (uop.addr, 1, NO_SCALAR, 0),
            },
            _ => return Ok(()),
        };
        if scalar != NO_SCALAR {
            for register in usize::from(scalar)..usize::from(scalar) + scalars {
                if self.scalars[register] != 0 {
                    return Err(undefined(&format!("an address (s{register})")));
                }
            }
        }
        if first >= LANE_ROW {
            return Ok(());
        }
        for half in 0..machine.wave.halves {
            for register in usize::from(first)..usize::from(first) + rows {
                let row = self.row(half, register);
                if let Some(lane) = lanes_of(machine.wave.exec(half)).find(|&lane| row[lane] != 0) {
                    let lane = LANES * half + lane;
                    return Err(undefined(&format!("an address (v{register} of lane {lane})")));
                }
            }
        }
        Ok(())
    }

    /// Checks that data stored to global memory is defined, except for possible padding.
    fn stored(&mut self, accessed: &MemoryAccess) -> Result<(), String> {
        for lane_spans in accessed.spans.chunk_by(|a, b| a.lane == b.lane) {
            // First undefined word after a defined one, and whether a defined word came before; a
            // later defined word clears it.
            let (mut excused, mut before) = (None, false);
            let wrong = |row: u16| {
                let lane = lane_spans[0].lane;
                Err(undefined(&format!("what is stored to global memory (v{row} of lane {lane})")))
            };
            for span in lane_spans.iter().filter(|span| span.space == MemorySpace::Global) {
                let used = if span.bytes >= 4 { !0 } else { (1u32 << (8 * span.bytes)) - 1 };
                let bits = *self.cell(span) >> span.shift & used;
                if bits == 0 || hole(bits, span.bytes) {
                    match excused {
                        Some(row) if !ends_padding(span.address) => return wrong(row),
                        _ => (excused, before) = (None, true),
                    }
                } else if before && bits == used {
                    excused = excused.or(Some(span.row));
                } else {
                    return wrong(span.row);
                }
            }
        }
        Ok(())
    }
}

/// Whether whole words of padding may end at an address: padding this long precedes a member of
/// eight bytes or more.
fn ends_padding(address: u64) -> bool {
    address.is_multiple_of(8)
}

/// Whether a defined first byte is followed by undefined whole bytes: padding of a structure.
fn hole(bits: u32, bytes: u8) -> bool {
    let whole = bits.to_le_bytes()[..usize::from(bytes)].iter().all(|byte| *byte == 0 || *byte == 0xff);
    bytes > 1 && bits & 0xff == 0 && whole
}

#[cfg(test)]
mod tests {
    use super::hole;

    #[test]
    fn padding_follows_a_defined_byte() {
        assert!(hole(0xff00_0000, 4) && hole(0xff00, 4) && hole(0xff00, 2));
        assert!(!hole(0xffff_ffff, 4), "nothing is defined");
        assert!(!hole(0xff, 4), "an undefined byte was extended");
        assert!(!hole(0x0f00, 4), "no whole byte");
    }
}
