//! Instructions that move data between lanes.

use crate::engine::{Machine, lanes_of};
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

    pub(super) fn cross_lane(&mut self, step: &CrossLaneStep) {
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
            CrossLane::Permute64 if halves == 2 => {
                let (low, high) = (self.source_row(step, 0, 0), self.source_row(step, 1, 0));
                for (half, values) in [high, low].iter().enumerate() {
                    self.wave.row(half, usize::from(step.dst)).assign_masked(self.wave.exec(half), values);
                }
            }
            CrossLane::Permute64 => {
                let values = self.source_row(step, 0, 0);
                self.wave.row(0, usize::from(step.dst)).assign_masked(self.wave.exec(0), &values);
            }
            CrossLane::CountLow | CrossLane::CountHigh => {
                let counted = usize::from(step.kind == CrossLane::CountHigh);
                for half in 0..halves {
                    let (masks, base) = (self.source_row(step, half, 0), self.source_row(step, half, 1));
                    let mut values = [0; LANES];
                    for lane in 0..LANES {
                        // The lanes below this one, among those that the mask is about.
                        let below = if half > counted {
                            !0
                        } else if half < counted {
                            0
                        } else {
                            (1u32 << lane) - 1
                        };
                        values[lane] = base[lane].wrapping_add((masks[lane] & below).count_ones());
                    }
                    self.wave.row(half, usize::from(step.dst)).assign_masked(self.wave.exec(half), &values);
                }
            }
            CrossLane::Swap => {
                for half in 0..halves {
                    let exec = self.wave.exec(half);
                    let other = self.wave.row(half, usize::from(step.sources.rows[0]));
                    let dst = self.wave.row(half, usize::from(step.dst));
                    let (a, b) = (other.array(), dst.array());
                    if step.options & 4 == 0 {
                        other.assign_masked(exec, &b);
                        dst.assign_masked(exec, &a);
                    } else {
                        swap_halves(step.options, other, dst, exec);
                    }
                }
            }
            CrossLane::MovRelSource | CrossLane::MovRelDestination | CrossLane::MovRelBoth => self.move_relative(step),
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

    /// `v_movrels_b32` and its kin: `m0` moves the register that is read or written.
    fn move_relative(&self, step: &CrossLaneStep) {
        let m0 = self.wave.scalars[usize::from(M0)] as usize;
        for half in 0..self.wave.halves {
            let last = self.wave.registers - 1;
            let from = usize::from(step.sources.rows[0]);
            let values = match step.kind {
                CrossLane::MovRelDestination => self.source_row(step, half, 0),
                _ => self.wave.row(half, (from + m0).min(last)).array(),
            };
            let dst = match step.kind {
                CrossLane::MovRelSource => usize::from(step.dst),
                _ => (usize::from(step.dst) + m0).min(last),
            };
            self.wave.row(half, dst).assign_masked(self.wave.exec(half), &values);
        }
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
