//! Kernels of language models: twins of `lm_*`.
//!
//! Where a token stands and which pages its text has is data, so that what a launch touches is known only while it runs: outputs are cells
//! that any thread may write, every index is held against its binding, and what lies outside is passed over.

mod attend;
mod attention;
mod embed;
mod heads;
mod linear;
mod rows;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::Pod;
use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::simd::Level;
use super::{memory, parts};

pub(super) use attend::Attend;
pub(super) use attention::{Attention, Join};
pub(super) use embed::Embed;
pub(super) use heads::Heads;
pub(super) use linear::{BYTES, HALVES, Linear, TILES, VECTOR};
pub(super) use rows::{Gate, Half, Mix, Norm, Route, SumNorm};

/// The words of an output. Threads share it, and a word is written whole.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a>(&'a [AtomicU32]);

impl Cells<'_> {
    /// The number at a place; zero behind the end.
    #[inline(always)]
    pub(super) fn get(&self, at: usize) -> f32 {
        self.0.get(at).map_or(0.0, |cell| f32::from_bits(cell.load(Ordering::Relaxed)))
    }

    /// A copy of all words.
    fn words(&self) -> Vec<u32> {
        self.0.iter().map(|cell| cell.load(Ordering::Relaxed)).collect()
    }

    #[inline(always)]
    pub(super) fn set(&self, at: usize, value: f32) {
        self.set_word(at, value.to_bits());
    }

    #[inline(always)]
    pub(super) fn set_word(&self, at: usize, word: u32) {
        if let Some(cell) = self.0.get(at) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    /// The words of a binding.
    ///
    /// # Safety
    /// The binding is live, and only such cells touch it meanwhile.
    unsafe fn of(binding: NativeBinding) -> Self {
        // SAFETY: the caller's promise; a word is aligned as `prepare` checked, and any bits are a word.
        Self(unsafe { std::slice::from_raw_parts(binding.pointer.cast(), binding.length / 4) })
    }
}

/// How much there is to do.
pub(super) struct Plan {
    /// Pieces, each of which is computed by itself.
    pub(super) units: u64,
    /// Bytes that one is worth, so that small launches stay on one thread.
    pub(super) cost: u64,
}

/// A kernel of this kind.
pub(super) trait Work: Send + Sync + 'static {
    /// Its constants block.
    type Params: Pod;
    /// Inputs, which come first among the bindings.
    const INPUTS: usize;
    /// Outputs, which follow.
    const OUTPUTS: usize;

    /// What there is to do, or what is wrong with the constants.
    fn plan(p: &Self::Params) -> Result<Plan, String>;

    /// Computes some units.
    fn compute(level: Level, p: &Self::Params, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>);
}

/// The native kernel of some [`Work`].
pub(super) struct WorkKernel<W> {
    level: Level,
    kernel: PhantomData<fn() -> W>,
}

impl<W: Work> WorkKernel<W> {
    pub(super) fn new(level: Level) -> Self {
        const { assert!(W::INPUTS <= MOST && W::OUTPUTS <= MOST) };
        Self { level, kernel: PhantomData }
    }
}

/// Most inputs, and most outputs.
const MOST: usize = 6;

// SAFETY: `prepare` holds that bindings are aligned and that no output overlaps anything else. Inputs are read alone while it runs, outputs are
// touched through cells alone.
unsafe impl<W: Work> NativeKernel for WorkKernel<W> {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        const ALL: &[roci_hal::Access; 2 * MOST] =
            &[Read, Read, Read, Read, Read, Read, ReadWrite, ReadWrite, ReadWrite, ReadWrite, ReadWrite, ReadWrite];
        &ALL[MOST - W::INPUTS..MOST + W::OUTPUTS]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let plan = W::plan(&check::constants(launch)?)?;
        let wanted = W::INPUTS + W::OUTPUTS;
        if launch.bindings.len() != wanted {
            return Err(format!("takes {wanted} bindings, given are {}", launch.bindings.len()));
        }
        let whole = |binding: &NativeBinding| {
            Access::write::<u32>("a binding", *binding, Extent::words((binding.length / 4) as u128))
        };
        let all = launch.bindings.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        for (at, output) in all.iter().enumerate().skip(W::INPUTS) {
            for other in &all[..at] {
                output.apart_from(other)?;
            }
        }
        let units = usize::try_from(plan.units).map_err(|_| "has more to do than can be counted")?;
        Ok(parts::count(plan.units.saturating_mul(plan.cost), units, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<W::Params>(launch) else { return };
        let Ok(plan) = W::plan(&p) else { return };
        let (inputs, outputs) = launch.bindings.split_at(W::INPUTS);
        // SAFETY: `prepare` held alignment; nothing writes inputs meanwhile.
        let inputs: Vec<&[u32]> =
            inputs.iter().map(|input| unsafe { memory::input(*input, 0..input.length / 4) }).collect();
        // SAFETY: outputs lie apart from all others, and every part makes the same cells.
        let outputs: Vec<Cells<'_>> = outputs.iter().map(|output| unsafe { Cells::of(*output) }).collect();
        W::compute(self.level, &p, &inputs, &outputs, parts::share(plan.units as usize, 1, part, parts));
    }
}

/// A part of an input as numbers; zeros where it ends.
fn floats(words: &[u32], start: usize, length: usize) -> &[f32] {
    bytemuck::cast_slice(words.get(start..start + length).unwrap_or(&[]))
}

fn word(words: &[u32], at: usize) -> usize {
    words.get(at).map_or(0, |word| *word as usize)
}
