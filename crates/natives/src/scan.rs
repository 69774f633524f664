//! `scan_sum` and `scan_prod`: sums and products up to each element. Those of f32 are kept in f64.

use std::marker::PhantomData;

use super::check::Extent;
use super::lines::{Lines, Plan};
use super::numbers::numbers;
use super::simd::Level;
use crate::params::{self, Numbers};

/// What is done with two numbers.
pub(super) trait Fold: Send + Sync + 'static {
    const EMPTY: u32;
    fn integers(a: u32, b: u32) -> u32;
    fn floats(a: f64, b: f64) -> f64;
}

/// Sums.
pub(super) struct Sum;

/// Products.
pub(super) struct Prod;

impl Fold for Sum {
    const EMPTY: u32 = 0;

    fn integers(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    fn floats(a: f64, b: f64) -> f64 {
        a + b
    }
}

impl Fold for Prod {
    const EMPTY: u32 = 1;

    fn integers(a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }

    fn floats(a: f64, b: f64) -> f64 {
        a * b
    }
}

/// `y[o, r, i] = fold of x[o, s, i] over s <= r`; a line is all of one `o`.
pub(super) struct Scan<F>(PhantomData<fn() -> F>);

impl<F: Fold> Lines for Scan<F> {
    type Params = params::Scan;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["y"];
    const IN_PLACE: bool = true;

    fn plan(p: &params::Scan) -> Result<Plan, String> {
        numbers(p.numbers)?;
        let line = u64::from(p.axis) * u64::from(p.inner);
        let all = Extent::product(&[p.outer, p.axis, p.inner]);
        Ok(Plan { lines: p.outer, inputs: vec![all], outputs: vec![line], cost: line.saturating_mul(8) })
    }

    fn compute(_: Level, p: &params::Scan, _: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        match Numbers::of(p.numbers) {
            Some(Numbers::F32) => {
                let y: &mut [f32] = bytemuck::cast_slice_mut(y);
                walk(p, y, F::EMPTY.into(), |fold, value| F::floats(fold, value.into()), |fold| fold as f32);
            }
            Some(_) => walk(p, y, F::EMPTY, F::integers, |fold| fold),
            None => {}
        }
    }
}

/// Columns that are walked side by side.
const LANES: usize = 64;

/// Folds the columns of `y` from row to row, in place.
fn walk<T: Copy, S: Copy>(p: &params::Scan, y: &mut [T], empty: S, fold: impl Fn(S, T) -> S, stored: impl Fn(S) -> T) {
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
