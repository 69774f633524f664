//! `reduce_*_i32` and `reduce_*_u32`: reductions of one axis of integers, which wrap.

use std::marker::PhantomData;

use super::check::Extent;
use super::element_type::count;
use super::gather::lines;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("reduce_sum_i32", |_| Arc::new(PerElementKernel::<ReduceWords<Sum>>::new())),
    ("reduce_max_i32", |_| Arc::new(PerElementKernel::<ReduceWords<Max>>::new())),
    ("reduce_min_i32", |_| Arc::new(PerElementKernel::<ReduceWords<Min>>::new())),
    ("reduce_prod_i32", |_| Arc::new(PerElementKernel::<ReduceWords<Prod>>::new())),
    ("reduce_max_u32", |_| Arc::new(PerElementKernel::<ReduceWords<MaxUnsigned>>::new())),
    ("reduce_min_u32", |_| Arc::new(PerElementKernel::<ReduceWords<MinUnsigned>>::new())),
];

/// How two integers are combined.
pub(super) trait IntReduction: Send + Sync + 'static {
    /// The result for an empty axis.
    const EMPTY: u32;
    /// Combines one more value.
    fn fold(old: u32, value: u32) -> u32;
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident: $empty:expr, $fold:expr;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl IntReduction for $name {
            const EMPTY: u32 = $empty;

            #[inline(always)]
            fn fold(old: u32, value: u32) -> u32 {
                let fold: fn(u32, u32) -> u32 = $fold;
                fold(old, value)
            }
        }
    )*};
}

folds! {
    /// The sum.
    Sum: 0, u32::wrapping_add;
    /// The product.
    Prod: 1, u32::wrapping_mul;
    /// The largest signed value.
    Max: i32::MIN as u32, |old, value| (old as i32).max(value as i32) as u32;
    /// The smallest signed value.
    Min: i32::MAX as u32, |old, value| (old as i32).min(value as i32) as u32;
    /// The largest unsigned value.
    MaxUnsigned: 0, |old, value| old.max(value);
    /// The smallest unsigned value.
    MinUnsigned: u32::MAX, |old, value| old.min(value);
}

/// `y[o, i] = fold over r of x[o, r, i]`.
pub(super) struct ReduceWords<F>(PhantomData<fn() -> F>);

/// Independent accumulators along a contiguous axis.
const LANES: usize = 16;

impl<F: IntReduction> PerElement for ReduceWords<F> {
    type Params = roci_families::Reduce;
    const INPUTS: &'static [&'static str] = &["x"];

    fn footprint(p: &roci_families::Reduce) -> Result<Footprint, String> {
        let output = Layout::dense(count(&[p.outer, p.inner])?);
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner])];
        Ok(Footprint { inputs, output, cost: 4 + 4 * u64::from(p.axis) })
    }

    fn compute(p: &roci_families::Reduce, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let x = inputs[0];
        let (axis, inner) = (p.axis as usize, p.inner as usize);
        if inner == 1 {
            for (line, word) in (first..).zip(output) {
                let mut lanes = [F::EMPTY; LANES];
                for chunk in x[line * axis..][..axis].chunks(LANES) {
                    lanes.iter_mut().zip(chunk).for_each(|(lane, &x)| *lane = F::fold(*lane, x));
                }
                *word = lanes.into_iter().fold(F::EMPTY, F::fold);
            }
            return;
        }
        lines(first, inner, output, |line, column, piece| {
            piece.fill(F::EMPTY);
            for r in 0..axis {
                let row = &x[(line * axis + r) * inner + column..];
                piece.iter_mut().zip(row).for_each(|(word, &x)| *word = F::fold(*word, x));
            }
        });
    }
}
