//! Kernels each of whose output elements follows from the inputs alone: what they share, so that they are written without
//! `unsafe`.
//!
//! Everything is 32-bit words; a kernel says in [`Each::plan`] how far it reads and where it writes, which is held against
//! the bindings, and then fills pieces of the output in any order.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::{memory, parts};

/// Most inputs that such a kernel has.
const MOST_INPUTS: usize = 4;

/// Where the output lies: rows of `run` words, `pitch` words apart, from `offset` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) offset: u32,
    pub(super) rows: u32,
    pub(super) run: u32,
    pub(super) pitch: u32,
}

impl Layout {
    /// So many words in a row.
    pub(super) fn dense(count: u32) -> Self {
        Self { offset: 0, rows: 1, run: count, pitch: count }
    }
}

/// How far a launch reaches.
pub(super) struct Plan {
    /// Words of each input, from its start, that may be read.
    pub(super) inputs: Vec<Extent>,
    /// Where it writes.
    pub(super) output: Layout,
    /// Bytes that computing one word is worth, so that small launches stay on one thread.
    pub(super) cost: u64,
}

/// A kernel of this kind.
pub(super) trait Each: Send + Sync + 'static {
    /// Its constants block.
    type Params: Pod;
    /// The names of its inputs, in the order of its bindings; the output is the binding behind them.
    const INPUTS: &'static [&'static str];

    /// How far a launch reaches, or what is wrong with it.
    fn plan(p: &Self::Params) -> Result<Plan, String>;

    /// Computes the output elements from `first` on (counted without the gaps between rows). Inputs have the lengths of the
    /// plan.
    fn compute(p: &Self::Params, inputs: &[&[u32]], first: usize, output: &mut [u32]);
}

/// The native kernel of an [`Each`].
pub(super) struct EachKernel<E>(PhantomData<fn() -> E>);

impl<E: Each> EachKernel<E> {
    pub(super) fn new() -> Self {
        const { assert!(E::INPUTS.len() <= MOST_INPUTS) };
        Self(PhantomData)
    }
}

/// Elements of the output as a range over all rows, cut into pieces that lie in one row.
fn pieces(layout: Layout, range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let (run, pitch, offset) = (layout.run as usize, layout.pitch as usize, layout.offset as usize);
    let mut at = range.start;
    std::iter::from_fn(move || {
        if at >= range.end || run == 0 {
            return None;
        }
        let (row, column) = (at / run, at % run);
        let length = (run - column).min(range.end - at);
        let start = offset + row * pitch + column;
        let piece = (at, start..start + length);
        at += length;
        Some(piece)
    })
}

// SAFETY: `prepare` holds what the plan says against the bindings, rejects outputs that overlap an input, and rows that overlap
// each other; parts are disjoint ranges of the output's elements, and the kernel is given slices alone.
unsafe impl<E: Each> NativeKernel for EachKernel<E> {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        const MOST: &[roci_hal::Access] = &[Read, Read, Read, Read, ReadWrite];
        &MOST[MOST_INPUTS - E::INPUTS.len()..]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: E::Params = check::constants(launch)?;
        let plan = E::plan(&p)?;
        let layout = plan.output;
        if launch.bindings.len() != E::INPUTS.len() + 1 || plan.inputs.len() != E::INPUTS.len() {
            return Err(format!("takes {} bindings, given are {}", E::INPUTS.len() + 1, launch.bindings.len()));
        }
        if layout.rows > 1 && layout.pitch < layout.run {
            return Err(format!("rows of {} words lie {} words apart", layout.run, layout.pitch));
        }
        let extent = Extent::of(&[(layout.rows, layout.pitch), (layout.run, 1)]).after(layout.offset);
        let output = Access::write::<u32>("output", launch.bindings[E::INPUTS.len()], extent)?;
        for ((&name, &binding), &extent) in E::INPUTS.iter().zip(launch.bindings).zip(&plan.inputs) {
            output.apart_from(&Access::read::<u32>(name, binding, extent)?)?;
        }
        let count = u64::from(layout.rows) * u64::from(layout.run);
        Ok(parts::count(count.saturating_mul(plan.cost), usize::try_from(count).unwrap_or(usize::MAX), launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<E::Params>(launch) else { return };
        let Ok(plan) = E::plan(&p) else { return };
        let (inputs, output) = launch.bindings.split_at(E::INPUTS.len());
        let mut slices: [&[u32]; MOST_INPUTS] = [&[]; MOST_INPUTS];
        for ((slice, &binding), extent) in slices.iter_mut().zip(inputs).zip(&plan.inputs) {
            // SAFETY: `prepare` held the extent against the binding, which nothing writes meanwhile.
            *slice = unsafe { memory::input(binding, 0..extent.elements() as usize) };
        }
        let count = plan.output.rows as usize * plan.output.run as usize;
        for (first, words) in pieces(plan.output, parts::share(count, parts::STEP, part, parts)) {
            // SAFETY: within the extent that `prepare` checked, in a range that is this part's alone.
            let target = unsafe { memory::output(output[0], words) };
            E::compute(&p, &slices[..E::INPUTS.len()], first, target);
        }
    }
}
