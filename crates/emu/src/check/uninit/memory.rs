//! Shadows of memory: LDS and private memory have one, global memory counts as defined.

use super::super::touch::{Piece, Space, Touched};
use super::{Group, Shadow, undefined};
use crate::engine::{Machine, lanes_of};
use crate::program::Step;
use crate::program::step::{Access, FillSource, Half, LANE_ROW, Lds, NO_ROW, NO_SCALAR, ScalarSource};
use crate::row::LANES;
use crate::wave::scalar::M0;

impl Group {
    /// An access: its address must be defined, and what it brings to global memory.
    pub(super) fn memory(&mut self, machine: &Machine<'_>, step: &Step, touched: &Touched) -> Result<(), String> {
        let number = machine.wave.number as usize;
        self.waves[number].address(machine, step)?;
        match touched.access {
            Access::Load(words) => {
                // Lanes outside a buffer read zero.
                let shadow = &mut self.waves[number];
                for row in destinations(step, words) {
                    for half in 0..machine.wave.halves {
                        for lane in lanes_of(machine.wave.exec(half)) {
                            shadow.row_mut(half, row)[lane] = 0;
                        }
                    }
                }
                for piece in &touched.pieces {
                    let bits = self.load(machine, piece);
                    *self.waves[number].cell(piece) |= bits << piece.shift;
                }
            }
            Access::LoadSmall { bytes, signed, half: part } => {
                if let Step::Buffer(step) = step {
                    for half in 0..machine.wave.halves {
                        for lane in lanes_of(machine.wave.exec(half)) {
                            let cell = &mut self.waves[number].row_mut(half, usize::from(step.data))[lane];
                            *cell = crate::engine::global::place(*cell, 0, part);
                        }
                    }
                }
                self.load_small(machine, touched, bytes, signed, part);
            }
            // What comes from global memory is defined.
            Access::Store(_) if matches!(step, Step::Fill(_)) => {
                for piece in &touched.pieces {
                    self.store(machine, piece, 0);
                }
            }
            Access::Store(_) | Access::StoreSmall { .. } => {
                self.waves[number].stored(touched)?;
                for piece in &touched.pieces {
                    let bits = *self.waves[number].cell(piece) >> piece.shift;
                    self.store(machine, piece, bits);
                }
            }
            Access::Atomic { wide, returns, .. } => self.atomic(machine, touched, wide, returns)?,
        }
        Ok(())
    }

    fn load_small(&mut self, machine: &Machine<'_>, touched: &Touched, bytes: u8, signed: bool, half: Half) {
        let number = machine.wave.number as usize;
        // Private memory comes byte by byte.
        for lane_pieces in touched.pieces.chunk_by(|a, b| a.lane == b.lane) {
            let mut bits = 0;
            for piece in lane_pieces {
                bits |= self.load(machine, piece) << piece.shift;
            }
            let value = crate::engine::global::extend(bits, bytes, signed);
            let cell = self.waves[number].cell(&lane_pieces[0]);
            *cell = crate::engine::global::place(*cell, value, half);
        }
    }

    fn atomic(&mut self, machine: &Machine<'_>, touched: &Touched, wide: bool, returns: bool) -> Result<(), String> {
        let number = machine.wave.number as usize;
        let words = 1 + u16::from(wide);
        for piece in &touched.pieces {
            let lane = usize::from(piece.lane);
            let shadow = &self.waves[number];
            let data = touched.data[0];
            let unknown = if data == NO_ROW {
                0
            } else {
                (0..words).fold(0, |all, word| all | shadow.row(lane / LANES, usize::from(data + word))[lane % LANES])
            };
            if piece.space == Space::Global {
                if unknown != 0 {
                    return Err(undefined(&format!("what an atomic operation does (v{data} of lane {lane})")));
                }
                if returns {
                    *self.waves[number].cell(piece) = 0;
                }
                continue;
            }
            let old = self.load(machine, piece);
            if returns && piece.row != NO_ROW {
                let cell = self.waves[number].cell(piece);
                let field = if piece.bytes == 4 { !0 } else { 0xff << piece.shift };
                *cell = *cell & !field | old << piece.shift;
            }
            self.store(machine, piece, if old | unknown == 0 { 0 } else { !0 });
        }
        Ok(())
    }

    /// The undefined bits of bytes in memory.
    fn load(&self, machine: &Machine<'_>, piece: &Piece) -> u32 {
        let bytes = match piece.space {
            Space::Global => return 0,
            Space::Lds => self.lds.get(piece.address as usize..),
            Space::Private => self.waves[machine.wave.number as usize].private.get(private(machine, piece)..),
        };
        // What lies beyond reads zero.
        let bytes = bytes.and_then(|rest| rest.get(..usize::from(piece.bytes))).unwrap_or_default();
        bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte))
    }

    fn store(&mut self, machine: &Machine<'_>, piece: &Piece, bits: u32) {
        let bytes = match piece.space {
            Space::Global => return,
            Space::Lds => self.lds.get_mut(piece.address as usize..),
            Space::Private => self.waves[machine.wave.number as usize].private.get_mut(private(machine, piece)..),
        };
        let Some(bytes) = bytes.and_then(|rest| rest.get_mut(..usize::from(piece.bytes))) else { return };
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = (bits >> (8 * place)) as u8;
        }
    }
}

/// Where a piece lies in the wave's private memory.
fn private(machine: &Machine<'_>, piece: &Piece) -> usize {
    usize::try_from(piece.address.wrapping_sub(machine.wave.scratch)).unwrap_or(usize::MAX)
}

/// The registers that a load fills.
fn destinations(step: &Step, words: u8) -> std::ops::Range<usize> {
    let (first, count) = match step {
        Step::Global(step) | Step::Flat(step) | Step::Scratch(step) => (step.dst, words),
        Step::Buffer(step) => (step.data, words),
        Step::Lds(step) => match step.kind {
            Lds::Load2 { .. } => (step.dst, 2 * words),
            _ => (step.dst, words),
        },
        _ => (0, 0),
    };
    usize::from(first)..usize::from(first) + usize::from(count)
}

impl Shadow {
    /// The register that a piece is loaded into or stored from.
    fn cell(&mut self, piece: &Piece) -> &mut u32 {
        let lane = usize::from(piece.lane);
        &mut self.row_mut(lane / LANES, usize::from(piece.row))[lane % LANES]
    }

    /// The registers of an address must be defined in every lane that is on.
    fn address(&self, machine: &Machine<'_>, step: &Step) -> Result<(), String> {
        if let Step::Fill(fill) = step {
            if self.scalars[usize::from(M0)] != 0 {
                return Err(undefined("an address (m0)"));
            }
            return self.address(
                machine,
                &match fill.source {
                    FillSource::Global(step) => Step::Global(step),
                    FillSource::Buffer(step) => Step::Buffer(step),
                },
            );
        }
        let (first, rows, scalar, scalars) = match step {
            Step::Global(step) | Step::Flat(step) => {
                let rows = if step.saddr == NO_SCALAR { 2 } else { 1 };
                (step.addr, rows, step.saddr, 2)
            }
            Step::Scratch(step) => (step.addr, 1, step.saddr, 1),
            Step::Buffer(step) => {
                if let ScalarSource::Register(register) = step.soffset
                    && self.scalars[usize::from(register)] != 0
                {
                    return Err(undefined(&format!("an address (s{register})")));
                }
                (step.vaddr, usize::from(step.offen) + usize::from(step.idxen), step.resource, 4)
            }
            Step::Lds(step) => match step.kind {
                Lds::LoadThread | Lds::StoreThread | Lds::Count { .. } => (NO_ROW, 0, M0, 1),
                _ => (step.addr, 1, NO_SCALAR, 0),
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

    /// What goes to global memory must be defined, but for what may be padding.
    fn stored(&mut self, touched: &Touched) -> Result<(), String> {
        for lane_pieces in touched.pieces.chunk_by(|a, b| a.lane == b.lane) {
            // The register of the first word of those that no defined one has come behind yet, if one comes before.
            let (mut excused, mut before) = (None, false);
            let wrong = |row: u16| {
                let lane = lane_pieces[0].lane;
                Err(undefined(&format!("what is stored to global memory (v{row} of lane {lane})")))
            };
            for piece in lane_pieces.iter().filter(|piece| piece.space == Space::Global) {
                let used = if piece.bytes >= 4 { !0 } else { (1u32 << (8 * piece.bytes)) - 1 };
                let bits = *self.cell(piece) >> piece.shift & used;
                if bits == 0 || hole(bits, piece.bytes) {
                    match excused {
                        Some(row) if !ends_padding(piece.address) => return wrong(row),
                        _ => (excused, before) = (None, true),
                    }
                } else if before && bits == used {
                    excused = excused.or(Some(piece.row));
                } else {
                    return wrong(piece.row);
                }
            }
        }
        Ok(())
    }
}

/// Whether whole words of padding may end before an address: padding that long is there for a member of eight bytes or more.
fn ends_padding(address: u64) -> bool {
    address.is_multiple_of(8)
}

/// Whole bytes behind a defined first one that are undefined: the padding of a structure.
fn hole(bits: u32, bytes: u8) -> bool {
    let whole = bits.to_le_bytes()[..usize::from(bytes)].iter().all(|byte| *byte == 0 || *byte == 0xff);
    bytes > 1 && bits & 0xff == 0 && whole
}

#[cfg(test)]
mod tests {
    use super::hole;

    #[test]
    fn padding_is_behind_something_defined() {
        assert!(hole(0xff00_0000, 4) && hole(0xff00, 4) && hole(0xff00, 2));
        assert!(!hole(0xffff_ffff, 4), "nothing is defined");
        assert!(!hole(0xff, 4), "an undefined byte was extended");
        assert!(!hole(0x0f00, 4), "no whole byte");
    }
}
