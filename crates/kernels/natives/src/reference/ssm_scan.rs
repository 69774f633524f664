//! `lm_ssm_scan`: the selective scan of state spaces, token by token.

use std::ops::Range;

use super::ReferenceKernel;
use super::delta_rule::{dot, softplus};
use super::short_conv::Sequence;
use super::{AtomicWords, Reference, WorkSize, floats};
use crate::KernelFactory;
use crate::fast_math;
use roci_families::LmSsmScan;
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_ssm_scan", |level| Arc::new(ReferenceKernel::<SsmScan>::new(level))),
    ("lm_ssm_scan_rows", |level| Arc::new(ReferenceKernel::<SsmScanRows>::new(level))),
];

/// Mamba 2.
pub(crate) struct SsmScan;
/// Mamba 1.
pub(crate) struct SsmScanRows;

impl Reference for SsmScan {
    type Params = LmSsmScan;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmSsmScan) -> Result<WorkSize, String> {
        let values = p.heads * p.length;
        if ![p.state, p.x_stride, values].iter().all(|count| count.is_multiple_of(4)) || p.state > LmSsmScan::LONGEST {
            return Err(format!("{values} values and vectors of {} in rows of {}", p.state, p.x_stride));
        }
        if p.groups == 0 || !p.heads.is_multiple_of(p.groups) {
            return Err(format!("{} heads in {} groups", p.heads, p.groups));
        }
        let units = u64::from(p.sequences) * u64::from(p.heads);
        Ok(WorkSize { units, cost: 16 * u64::from(p.length) * u64::from(p.state) })
    }

    fn compute(level: Level, p: &LmSsmScan, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [heads, groups, length, columns] = [p.heads, p.groups, p.length, p.state].map(|count| count as usize);
        let (states, y) = (outputs[0], outputs[1]);
        let size = length * columns;
        let mut matrix = vec![0.0; size];
        let mut line = vec![0.0; length];
        let parameter = |at: usize| floats(inputs[3], at, 1).first().copied().unwrap_or(0.0);
        for unit in units {
            let sequence = Sequence::at(inputs[0], p.first as usize + 4 * (unit / heads));
            let head = unit % heads;
            let state = |slot: usize| (slot * heads + head) * size..;
            match sequence.read {
                Some(slot) => matrix.iter_mut().zip(state(slot)).for_each(|(value, at)| *value = states.get(at)),
                None => matrix.fill(0.0),
            }
            let input = heads * length + head / (heads / groups) * columns;
            for token in sequence.tokens {
                let x = |column: usize, length: usize| floats(inputs[1], token * p.x_stride as usize + column, length);
                let at = token * p.steps_stride as usize + p.steps_offset as usize + head;
                let score = floats(inputs[2], at, 1).first().copied().unwrap_or(0.0);
                let step = softplus(score + parameter(head));
                level.run(Token {
                    matrix: &mut matrix,
                    values: x(head * length, length),
                    input: x(input, columns),
                    output: x(input + groups * columns, columns),
                    step,
                    decay: (parameter(heads + head) * step).exp(),
                    skip: parameter(2 * heads + head),
                    y: &mut line,
                });
                let to = token * p.y_stride as usize + head * length;
                line.iter().zip(to..).for_each(|(value, at)| y.set(at, *value));
            }
            matrix.iter().zip(state(sequence.write)).for_each(|(value, at)| states.set(at, *value));
        }
    }
}

/// The update of a head's state by a token, and its output.
struct Token<'a> {
    /// A row per value.
    matrix: &'a mut [f32],
    values: &'a [f32],
    input: &'a [f32],
    output: &'a [f32],
    step: f32,
    decay: f32,
    skip: f32,
    y: &'a mut [f32],
}

impl Task for Token<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let rows = self.matrix.chunks_mut(self.input.len().max(1));
        for ((row, value), y) in rows.zip(self.values).zip(self.y) {
            let change = self.step * value;
            for (weight, input) in row.iter_mut().zip(self.input) {
                *weight = self.decay * *weight + change * input;
            }
            *y = dot(row, self.output) + self.skip * value;
        }
    }
}

/// Rows of a state that a thread computes.
const ROWS: usize = 64;

impl Reference for SsmScanRows {
    type Params = LmSsmScan;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 2;

    fn work_size(p: &LmSsmScan) -> Result<WorkSize, String> {
        if ![p.state, p.x_stride, p.length].iter().all(|count| count.is_multiple_of(4)) || p.state > LmSsmScan::LONGEST
        {
            return Err(format!("{} rows of {} in rows of {}", p.length, p.state, p.x_stride));
        }
        if (p.heads, p.groups) != (1, 1) {
            return Err(format!("{} heads in {} groups", p.heads, p.groups));
        }
        let units = u64::from(p.sequences) * u64::from(p.length).div_ceil(ROWS as u64);
        Ok(WorkSize { units, cost: 64 * ROWS as u64 * u64::from(p.state) })
    }

    fn compute(level: Level, p: &LmSsmScan, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [length, columns] = [p.length, p.state].map(|count| count as usize);
        let (states, y) = (outputs[0], outputs[1]);
        let blocks = length.div_ceil(ROWS).max(1);
        for unit in units {
            let sequence = Sequence::at(inputs[0], p.first as usize + 4 * (unit / blocks));
            let rows = unit % blocks * ROWS..length.min((unit % blocks + 1) * ROWS);
            let count = rows.len();
            let state = |slot: usize| (slot * length + rows.start) * columns..;
            let mut matrix = vec![0.0; count * columns];
            if let Some(slot) = sequence.read {
                matrix.iter_mut().zip(state(slot)).for_each(|(value, at)| *value = states.get(at));
            }
            let mut line = vec![0.0; count];
            for token in sequence.tokens {
                let steps =
                    |column: usize, length: usize| floats(inputs[2], token * p.steps_stride as usize + column, length);
                let vectors = p.vectors_offset as usize;
                level.run(RowsToken {
                    matrix: &mut matrix,
                    values: floats(inputs[1], token * p.x_stride as usize + rows.start, count),
                    scores: steps(p.steps_offset as usize + rows.start, count),
                    biases: floats(inputs[3], rows.start, count),
                    rates: floats(inputs[3], length + rows.start * columns, count * columns),
                    skips: floats(inputs[3], length * (columns + 1) + rows.start, count),
                    input: steps(vectors, columns),
                    output: steps(vectors + columns, columns),
                    y: &mut line,
                });
                let to = token * p.y_stride as usize + rows.start;
                line.iter().zip(to..).for_each(|(value, at)| y.set(at, *value));
            }
            matrix.iter().zip(state(sequence.write)).for_each(|(value, at)| states.set(at, *value));
        }
    }
}

/// The update of some rows of a state by a token, and their outputs.
struct RowsToken<'a> {
    matrix: &'a mut [f32],
    values: &'a [f32],
    scores: &'a [f32],
    biases: &'a [f32],
    rates: &'a [f32],
    skips: &'a [f32],
    input: &'a [f32],
    output: &'a [f32],
    y: &'a mut [f32],
}

impl Task for RowsToken<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let columns = self.input.len().max(1);
        let rows = self.matrix.chunks_mut(columns).zip(self.rates.chunks(columns)).zip(self.y);
        let scores = self.scores.iter().zip(self.biases).map(|(score, bias)| softplus(score + bias));
        for ((((row, rates), y), (value, skip)), step) in rows.zip(self.values.iter().zip(self.skips)).zip(scores) {
            let change = step * value;
            for ((weight, rate), input) in row.iter_mut().zip(rates).zip(self.input) {
                *weight = fast_math::exp(rate * step) * *weight + change * input;
            }
            *y = dot(row, self.output) + skip * value;
        }
    }
}
