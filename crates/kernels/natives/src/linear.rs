//! `linear_*`: matrix products with an epilogue of bias, addition and activation.
//!
//! These are references for the GPU kernels; the CPU's own kernel is `matmul_packed`.

use half::f16;

use super::check::Extent;
use super::math;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("linear_f32", |_| Arc::new(PerElementKernel::<Linear<false>>::new())),
    ("linear_f16", |_| Arc::new(PerElementKernel::<Linear<true>>::new())),
    ("linear_large_f32", |_| Arc::new(PerElementKernel::<Linear<false>>::new())),
    ("linear_large_f16", |_| Arc::new(PerElementKernel::<Linear<true>>::new())),
    ("linear_matvec_f32", |_| Arc::new(PerElementKernel::<LinearMatvec<false>>::new())),
    ("linear_matvec_f16", |_| Arc::new(PerElementKernel::<LinearMatvec<true>>::new())),
];

/// An array of f32, or of f16 with `HALF`.
struct Floats<'a, const HALF: bool>(&'a [u32]);

impl<const HALF: bool> Floats<'_, HALF> {
    /// Number of 32-bit words.
    fn words(extent: Extent) -> Extent {
        if HALF { Extent::count(extent.elements().div_ceil(2)) } else { extent }
    }

    fn at(&self, index: usize) -> f32 {
        match HALF {
            true => bytemuck::cast_slice::<u32, f16>(self.0)[index].to_f32(),
            false => f32::from_bits(self.0[index]),
        }
    }
}

/// The epilogue of a sum.
fn finish(p: &roci_families::Linear, bias: &[u32], column: usize, y: &mut u32, sum: f32) {
    let mut v = sum;
    if p.flags & roci_families::Linear::BIAS != 0 {
        v += f32::from_bits(bias[column]);
    }
    if p.flags & roci_families::Linear::ADD != 0 {
        v += f32::from_bits(*y);
    }
    if p.flags & roci_families::Linear::GELU != 0 {
        v = math::gelu(v);
    } else if p.flags & roci_families::Linear::SILU != 0 {
        v = math::silu(v);
    } else if p.flags & roci_families::Linear::CLAMP != 0 && !v.is_nan() {
        v = v.max(p.low).min(p.high);
    }
    *y = v.to_bits();
}

/// The extent of a bias.
fn bias(p: &roci_families::Linear, columns: u32) -> Extent {
    Extent::of(&[(if p.flags & roci_families::Linear::BIAS != 0 { columns } else { 0 }, 1)])
}

fn cost(p: &roci_families::Linear) -> u64 {
    8 * u64::from(p.k) + 16
}

/// `y[b] = f(a[b] * b[b] + bias + y[b])`; `b` is f16 with `HALF`.
pub(super) struct Linear<const HALF: bool>;

impl<const HALF: bool> PerElement for Linear<HALF> {
    type Params = roci_families::Linear;
    const INPUTS: &'static [&'static str] = &["a", "b", "bias"];

    fn footprint(p: &roci_families::Linear) -> Result<Footprint, String> {
        if p.batches > 1 && u64::from(p.batch_c) != u64::from(p.m) * u64::from(p.ldc) {
            return Err(format!("the batch stride of `y` is {}, expected m * ldc", p.batch_c));
        }
        let rows = p.m.checked_mul(p.batches).ok_or("too many rows")?;
        let empty = rows == 0 || p.n == 0;
        let reach = |batch: u32, rows: u32, pitch: u32, columns: u32| {
            let batches = if empty { 0 } else { p.batches };
            Extent::of(&[(batches, batch), (rows, pitch), (columns, 1)])
        };
        let b = Floats::<HALF>::words(reach(p.batch_b, p.k, p.ldb, p.n));
        let inputs = vec![reach(p.batch_a, p.m, p.lda, p.k), b, bias(p, p.n)];
        Ok(Footprint { inputs, output: Layout { offset: 0, rows, run: p.n, pitch: p.ldc }, cost: cost(p) })
    }

    fn compute(p: &roci_families::Linear, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
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

/// `y = f(a * x + bias + y)`; `a` is f16 with `HALF`.
pub(super) struct LinearMatvec<const HALF: bool>;

impl<const HALF: bool> PerElement for LinearMatvec<HALF> {
    type Params = roci_families::Linear;
    const INPUTS: &'static [&'static str] = &["a", "x", "bias"];

    fn footprint(p: &roci_families::Linear) -> Result<Footprint, String> {
        let a = Floats::<HALF>::words(Extent::of(&[(p.m, p.lda), (p.k, 1)]));
        let inputs = vec![a, Extent::of(&[(p.k, 1)]), bias(p, p.m)];
        Ok(Footprint { inputs, output: Layout::dense(p.m), cost: cost(p) })
    }

    fn compute(p: &roci_families::Linear, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let (a, x) = (Floats::<HALF>(inputs[0]), Floats::<false>(inputs[1]));
        for (at, y) in output.iter_mut().enumerate() {
            let row = first + at;
            let sum = (0..p.k as usize).map(|k| a.at(row * p.lda as usize + k) * x.at(k)).sum();
            finish(p, inputs[2], row, y, sum);
        }
    }
}
