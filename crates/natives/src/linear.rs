//! `linear_*`: products whose sums get bias, another term and a function.
//!
//! The CPU has a faster way (`matmul_packed`); these are here to hold the GPU's against.

use half::f16;

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use super::math;
use crate::params;

/// Some floats, `HALF` as wide as others.
struct Floats<'a, const HALF: bool>(&'a [u32]);

impl<const HALF: bool> Floats<'_, HALF> {
    /// Words that so many of them take.
    fn words(extent: Extent) -> Extent {
        if HALF { Extent::words(extent.elements().div_ceil(2)) } else { extent }
    }

    fn at(&self, index: usize) -> f32 {
        match HALF {
            true => bytemuck::cast_slice::<u32, f16>(self.0)[index].to_f32(),
            false => f32::from_bits(self.0[index]),
        }
    }
}

/// What is done with a sum before it is written to `y`.
fn finish(p: &params::Linear, bias: &[u32], column: usize, y: &mut u32, sum: f32) {
    let mut v = sum;
    if p.flags & params::Linear::BIAS != 0 {
        v += f32::from_bits(bias[column]);
    }
    if p.flags & params::Linear::ADD != 0 {
        v += f32::from_bits(*y);
    }
    if p.flags & params::Linear::GELU != 0 {
        v = math::gelu(v);
    } else if p.flags & params::Linear::SILU != 0 {
        v = math::silu(v);
    } else if p.flags & params::Linear::CLAMP != 0 && !v.is_nan() {
        v = v.max(p.low).min(p.high);
    }
    *y = v.to_bits();
}

/// How far a bias reaches.
fn bias(p: &params::Linear, columns: u32) -> Extent {
    Extent::of(&[(if p.flags & params::Linear::BIAS != 0 { columns } else { 0 }, 1)])
}

fn cost(p: &params::Linear) -> u64 {
    8 * u64::from(p.k) + 16
}

/// `y[b] = f(a[b] * b[b] + bias + y[b])`, with `b` of `HALF` as wide floats.
pub(super) struct Linear<const HALF: bool>;

impl<const HALF: bool> Each for Linear<HALF> {
    type Params = params::Linear;
    const INPUTS: &'static [&'static str] = &["a", "b", "bias"];

    fn plan(p: &params::Linear) -> Result<Plan, String> {
        if p.batches > 1 && u64::from(p.batch_c) != u64::from(p.m) * u64::from(p.ldc) {
            return Err(format!("batches of the result are {} elements apart", p.batch_c));
        }
        let rows = p.m.checked_mul(p.batches).ok_or("too many rows")?;
        let empty = rows == 0 || p.n == 0;
        let reach = |batch: u32, rows: u32, pitch: u32, columns: u32| {
            let batches = if empty { 0 } else { p.batches };
            Extent::of(&[(batches, batch), (rows, pitch), (columns, 1)])
        };
        let b = Floats::<HALF>::words(reach(p.batch_b, p.k, p.ldb, p.n));
        let inputs = vec![reach(p.batch_a, p.m, p.lda, p.k), b, bias(p, p.n)];
        Ok(Plan { inputs, output: Layout { offset: 0, rows, run: p.n, pitch: p.ldc }, cost: cost(p) })
    }

    fn compute(p: &params::Linear, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let (a, b) = (Floats::<false>(inputs[0]), Floats::<HALF>(inputs[1]));
        let [m, n, lda, ldb] = [p.m, p.n, p.lda, p.ldb].map(|size| size as usize);
        for (at, y) in output.iter_mut().enumerate() {
            let (row, column) = ((first + at) / n, (first + at) % n);
            let (batch, row) = (row / m, row % m);
            let (left, right) = (batch * p.batch_a as usize + row * lda, batch * p.batch_b as usize + column);
            let sum = (0..p.k as usize).map(|k| a.at(left + k) * b.at(right + k * ldb)).sum();
            finish(p, inputs[2], column, y, sum);
        }
    }
}

/// `y = f(a * x + bias + y)`, with `a` of `HALF` as wide floats.
pub(super) struct Row<const HALF: bool>;

impl<const HALF: bool> Each for Row<HALF> {
    type Params = params::Linear;
    const INPUTS: &'static [&'static str] = &["a", "x", "bias"];

    fn plan(p: &params::Linear) -> Result<Plan, String> {
        let a = Floats::<HALF>::words(Extent::of(&[(p.m, p.lda), (p.k, 1)]));
        let inputs = vec![a, Extent::of(&[(p.k, 1)]), bias(p, p.m)];
        Ok(Plan { inputs, output: Layout::dense(p.m), cost: cost(p) })
    }

    fn compute(p: &params::Linear, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let (a, x) = (Floats::<HALF>(inputs[0]), Floats::<false>(inputs[1]));
        for (at, y) in output.iter_mut().enumerate() {
            let row = first + at;
            let sum = (0..p.k as usize).map(|k| a.at(row * p.lda as usize + k) * x.at(k)).sum();
            finish(p, inputs[2], row, y, sum);
        }
    }
}
