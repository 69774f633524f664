//! Instructions that move data between lanes.

use crate::engine::{Machine, lanes_of};
use crate::fault::Fault;
use crate::program::step::{CrossLane, CrossLaneStep, Sources};
use crate::row::{LANES, Row};
use crate::wave::scalar::M0;

impl Machine<'_> {
    /// A row of a source.
    fn source_row(&self, step: &CrossLaneStep, half: usize, source: usize) -> [u32; LANES] {
        self.source_values(&step.sources, half, source, 0)
    }

    /// The values of one row of a source in a half; for whoever looks at steps from outside too.
    pub(crate) fn source_values(&self, sources: &Sources, half: usize, source: usize, row: usize) -> [u32; LANES] {
        self.splat(sources);
        // SAFETY: lowering checked the rows of the operand's kind, and whoever asks knows the kind.
        unsafe { self.rows(sources, half)[source].row(row) }.array()
    }

    pub(super) fn cross_lane(&mut self, step: &CrossLaneStep) -> Result<(), Fault> {
        let halves = self.wave.halves;
        let select = |machine: &Self, which: usize| machine.scalar_value(step.select[which], false) as u32;
        match step.kind {
            CrossLane::ReadFirst => {
                let exec = self.wave.exec64();
                let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
                let value = self.source_row(step, lane / LANES, 0)[lane % LANES];
                self.wave.scalars[usize::from(step.dst)] = value;
            }
            CrossLane::Read => {
                let lane = select(self, 1) as usize % (LANES * halves);
                let value = self.source_row(step, lane / LANES, 0)[lane % LANES];
                self.wave.scalars[usize::from(step.dst)] = value;
            }
            CrossLane::Write => {
                let lane = select(self, 1) as usize % (LANES * halves);
                let value = select(self, 0);
                self.wave.row(lane / LANES, usize::from(step.dst)).set(lane % LANES, value);
            }
            CrossLane::Permute16 | CrossLane::PermuteX16 => {
                let selectors = u64::from(select(self, 0)) | u64::from(select(self, 1)) << 32;
                let across = step.kind == CrossLane::PermuteX16;
                for half in 0..halves {
                    self.permute16(step, half, selectors, across);
                }
            }
            CrossLane::Permute64 => {
                let (low, high) = (self.source_row(step, 0, 0), self.source_row(step, halves - 1, 0));
                for (half, values) in [high, low].iter().enumerate().take(halves) {
                    self.wave.row(half, usize::from(step.dst)).assign_masked(self.wave.exec(half), values);
                }
            }
            CrossLane::Swap | CrossLane::SwapRel => {
                let [source, dst] = self.relative(step)?;
                for half in 0..halves {
                    let exec = self.wave.exec(half);
                    let (other, dst) = (self.wave.row(half, source), self.wave.row(half, dst));
                    let (a, b) = (other.array(), dst.array());
                    if step.options & 4 == 0 {
                        other.assign_masked(exec, &b);
                        dst.assign_masked(exec, &a);
                    } else {
                        swap_halves(step.options, other, dst, exec);
                    }
                }
            }
            CrossLane::MovRelSource | CrossLane::MovRelDestination | CrossLane::MovRelBoth | CrossLane::MovRelTwo => {
                let [source, dst] = self.relative(step)?;
                for half in 0..halves {
                    let values = match step.kind {
                        CrossLane::MovRelDestination => self.source_row(step, half, 0),
                        _ => self.wave.row(half, source).array(),
                    };
                    self.wave.row(half, dst).assign_masked(self.wave.exec(half), &values);
                }
            }
        }
        Ok(())
    }

    /// The registers that are read and written, moved by `m0`.
    fn relative(&self, step: &CrossLaneStep) -> Result<[usize; 2], Fault> {
        let [source, dst] = step.kind.offsets(self.wave.scalars[usize::from(M0)]);
        let registers = [usize::from(step.sources.rows[0]) + source, usize::from(step.dst) + dst];
        let allocated = self.wave.registers;
        // What is moved to a register may be a constant, which has a row elsewhere.
        let named = if step.kind == CrossLane::MovRelDestination { &registers[1..] } else { &registers[..] };
        match named.iter().find(|&&register| register >= allocated) {
            Some(&register) => {
                let [register, allocated] = [register, allocated].map(|number| number.min(u32::MAX as usize) as u32);
                Err(Fault::RegisterBeyondAllocation { register, allocated })
            }
            None => Ok(registers),
        }
    }

    /// `v_permlane16_b32`, `v_permlanex16_b32`: each row of sixteen lanes (or the other one of its pair) permuted alike.
    fn permute16(&self, step: &CrossLaneStep, half: usize, selectors: u64, across: bool) {
        let exec = self.wave.exec(half);
        let from = self.source_row(step, half, 0);
        let (fetch_inactive, bound_control) = (step.options & 1 != 0, step.options & 2 != 0);
        let dst = self.wave.row(half, usize::from(step.dst));
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
        self.write_lanes(half, usize::from(step.dst), exec, |row: &Row| row.assign(&values));
    }
}

/// `v_swap_b16`: exchanges halves, which may be those of one register.
fn swap_halves(options: u8, source: &Row, dst: &Row, exec: u32) {
    let shift = |high: bool| if high { 16 } else { 0 };
    let (from, to) = (shift(options & 2 != 0), shift(options & 1 != 0));
    for lane in lanes_of(exec) {
        let (a, b) = (source.get(lane) >> from & 0xffff, dst.get(lane) >> to & 0xffff);
        source.set(lane, source.get(lane) & !(0xffff << from) | b << from);
        dst.set(lane, dst.get(lane) & !(0xffff << to) | a << to);
    }
}
