//! Cross-lane instructions.

use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::program::micro_op::{CrossLaneKind, CrossLaneOp, VectorSources};
use crate::row::{LANES, Row};
use crate::wave::scalar::M0;

impl Machine<'_> {
    /// A row of a source operand.
    fn source_row(&self, uop: &CrossLaneOp, half: usize, source: usize) -> [u32; LANES] {
        self.source_values(&uop.sources, half, source, 0)
    }

    /// Values of one row of a source in a half. Also used by checks.
    pub(crate) fn source_values(
        &self,
        sources: &VectorSources,
        half: usize,
        source: usize,
        row: usize,
    ) -> [u32; LANES] {
        self.splat(sources);
        // SAFETY: lowering checked the rows of the operand's kind, and the caller knows the kind.
        unsafe { self.rows(sources, half)[source].row(row) }.array()
    }

    pub(super) fn cross_lane(&mut self, uop: &CrossLaneOp) -> Result<(), Fault> {
        let halves = self.wave.halves;
        let select = |machine: &Self, which: usize| machine.scalar_value(uop.select[which], false) as u32;
        match uop.kind {
            CrossLaneKind::ReadFirst => {
                let exec = self.wave.exec64();
                let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
                let value = self.source_row(uop, lane / LANES, 0)[lane % LANES];
                self.wave.scalars[usize::from(uop.dst)] = value;
            }
            CrossLaneKind::Read => {
                let lane = select(self, 1) as usize % (LANES * halves);
                let value = self.source_row(uop, lane / LANES, 0)[lane % LANES];
                self.wave.scalars[usize::from(uop.dst)] = value;
            }
            CrossLaneKind::Write => {
                let lane = select(self, 1) as usize % (LANES * halves);
                let value = select(self, 0);
                self.wave.row(lane / LANES, usize::from(uop.dst)).set(lane % LANES, value);
            }
            CrossLaneKind::Permute16 | CrossLaneKind::PermuteX16 => {
                let selectors = u64::from(select(self, 0)) | u64::from(select(self, 1)) << 32;
                let across = uop.kind == CrossLaneKind::PermuteX16;
                for half in 0..halves {
                    self.permute16(uop, half, selectors, across);
                }
            }
            CrossLaneKind::Permute64 => {
                let (low, high) = (self.source_row(uop, 0, 0), self.source_row(uop, halves - 1, 0));
                for (half, values) in [high, low].iter().enumerate().take(halves) {
                    self.wave.row(half, usize::from(uop.dst)).assign_masked(self.wave.exec(half), values);
                }
            }
            CrossLaneKind::Swap | CrossLaneKind::SwapRel => {
                let [source, dst] = self.relative(uop)?;
                for half in 0..halves {
                    let exec = self.wave.exec(half);
                    let (other, dst) = (self.wave.row(half, source), self.wave.row(half, dst));
                    let (a, b) = (other.array(), dst.array());
                    if uop.options & 4 == 0 {
                        other.assign_masked(exec, &b);
                        dst.assign_masked(exec, &a);
                    } else {
                        swap_halves(uop.options, other, dst, exec);
                    }
                }
            }
            CrossLaneKind::MovRelSource
            | CrossLaneKind::MovRelDestination
            | CrossLaneKind::MovRelBoth
            | CrossLaneKind::MovRelTwo => {
                let [source, dst] = self.relative(uop)?;
                for half in 0..halves {
                    let values = match uop.kind {
                        CrossLaneKind::MovRelDestination => self.source_row(uop, half, 0),
                        _ => self.wave.row(half, source).array(),
                    };
                    self.wave.row(half, dst).assign_masked(self.wave.exec(half), &values);
                }
            }
        }
        Ok(())
    }

    /// Registers read and written after adding `m0`.
    fn relative(&self, uop: &CrossLaneOp) -> Result<[usize; 2], Fault> {
        let [source, dst] = uop.kind.offsets(self.wave.scalars[usize::from(M0)]);
        let registers = [usize::from(uop.sources.rows[0]) + source, usize::from(uop.dst) + dst];
        let allocated = self.wave.registers;
        // The source of a relative write may be a constant, whose row is in another space.
        let named = if uop.kind == CrossLaneKind::MovRelDestination { &registers[1..] } else { &registers[..] };
        match named.iter().find(|&&register| register >= allocated) {
            Some(&register) => {
                let [register, allocated] = [register, allocated].map(|number| number.min(u32::MAX as usize) as u32);
                Err(Fault::RegisterBeyondAllocation { register, allocated })
            }
            None => Ok(registers),
        }
    }

    /// `v_permlane16_b32`, `v_permlanex16_b32`: permutes each row of sixteen lanes, reading the
    /// same row or the other one of its pair.
    fn permute16(&self, uop: &CrossLaneOp, half: usize, selectors: u64, across: bool) {
        let exec = self.wave.exec(half);
        let from = self.source_row(uop, half, 0);
        let (fetch_inactive, bound_control) = (uop.options & 1 != 0, uop.options & 2 != 0);
        let dst = self.wave.row(half, usize::from(uop.dst));
        let old = dst.array();
        let mut values = old;
        for lane in 0..LANES {
            let row = lane & 16 ^ if across { 16 } else { 0 };
            let source = row | (selectors >> (4 * (lane & 15)) & 15) as usize;
            if fetch_inactive || exec >> source & 1 == 1 {
                values[lane] = from[source];
            } else if bound_control {
                values[lane] = 0;
            }
        }
        self.write_lanes(half, usize::from(uop.dst), exec, |row: &Row| row.assign(&values));
    }
}

/// `v_swap_b16`: swaps halves, possibly of the same register.
fn swap_halves(options: u8, source: &Row, dst: &Row, exec: u32) {
    let shift = |high: bool| if high { 16 } else { 0 };
    let (from, to) = (shift(options & 2 != 0), shift(options & 1 != 0));
    for lane in lanes_of(exec) {
        let (a, b) = (source.get(lane) >> from & 0xffff, dst.get(lane) >> to & 0xffff);
        source.set(lane, source.get(lane) & !(0xffff << from) | b << from);
        dst.set(lane, dst.get(lane) & !(0xffff << to) | a << to);
    }
}
