//! `scan_sum` and `scan_prod`: prefix sums and products, accumulated in f64 for f32.

use std::marker::PhantomData;

use super::check::Extent;
use super::element_type::element_type;
use super::per_row::{PerRow, RowFootprint};
use crate::KernelFactory;
use crate::per_row::PerRowKernel;
use roci_families::{self, Numbers};
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("scan_sum", |level| Arc::new(PerRowKernel::<Scan<Sum>>::new(level))),
    ("scan_prod", |level| Arc::new(PerRowKernel::<Scan<Prod>>::new(level))),
];

/// The operation of a scan.
pub(super) trait ScanOp: Send + Sync + 'static {
    const EMPTY: u32;
    fn integers(a: u32, b: u32) -> u32;
    fn floats(a: f64, b: f64) -> f64;
}

/// Sums.
pub(super) struct Sum;

/// Products.
pub(super) struct Prod;

impl ScanOp for Sum {
    const EMPTY: u32 = 0;

    fn integers(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    fn floats(a: f64, b: f64) -> f64 {
        a + b
    }
}

impl ScanOp for Prod {
    const EMPTY: u32 = 1;

    fn integers(a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }

    fn floats(a: f64, b: f64) -> f64 {
        a * b
    }
}

/// `y[o, r, i] = fold over s of x[o, s, i]`, for `s <= r` in an inclusive forward scan. A row of
/// work is everything with the same `o`.
pub(super) struct Scan<F>(PhantomData<fn() -> F>);

impl<F: ScanOp> PerRow for Scan<F> {
    type Params = roci_families::Scan;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["y"];
    const IN_PLACE: bool = true;

    fn footprint(p: &roci_families::Scan) -> Result<RowFootprint, String> {
        element_type(p.numbers)?;
        let line = u64::from(p.axis) * u64::from(p.inner);
        let all = Extent::product(&[p.outer, p.axis, p.inner]);
        Ok(RowFootprint { lines: p.outer, inputs: vec![all], outputs: vec![line], cost: line.saturating_mul(8) })
    }

    fn compute(_: Level, p: &roci_families::Scan, _: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        match Numbers::of(p.numbers) {
            Some(Numbers::F32) => {
                let y: &mut [f32] = bytemuck::cast_slice_mut(y);
                scan_columns(p, y, F::EMPTY.into(), |fold, value| F::floats(fold, value.into()), |fold| fold as f32);
            }
            Some(_) => scan_columns(p, y, F::EMPTY, F::integers, |fold| fold),
            None => {}
        }
    }
}

/// Columns scanned at a time.
const LANES: usize = 64;

/// Scans the columns of `y` from row to row, in place.
fn scan_columns<T: Copy, S: Copy>(
    p: &roci_families::Scan,
    y: &mut [T],
    empty: S,
    fold: impl Fn(S, T) -> S,
    stored: impl Fn(S) -> T,
) {
    let (axis, inner) = (p.axis as usize, p.inner as usize);
    for column in (0..inner).step_by(LANES) {
        let count = LANES.min(inner - column);
        let mut folds = [empty; LANES];
        for step in 0..axis {
            let row = if p.reverse == 0 { step } else { axis - 1 - step };
            let words = &mut y[row * inner + column..][..count];
            for (word, all) in words.iter_mut().zip(&mut folds) {
                let before = *all;
                *all = fold(before, *word);
                *word = stored(if p.exclusive == 0 { *all } else { before });
            }
        }
    }
}
