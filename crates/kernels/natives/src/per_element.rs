//! The common part of kernels whose output elements depend on the inputs alone, so that they are
//! written without `unsafe`.
//!
//! All data is 32-bit words. [`PerElement::footprint`] returns the ranges that a kernel reads and
//! writes. They are checked against the bindings before the kernel computes runs of the output, in
//! any order.

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::{memory, partition};

/// Maximum number of inputs.
const MAX_INPUTS: usize = 4;

/// The output: rows of `run` words, `pitch` words apart, from `offset` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) offset: u32,
    pub(super) rows: u32,
    pub(super) run: u32,
    pub(super) pitch: u32,
}

impl Layout {
    /// One row of `count` words.
    pub(super) fn dense(count: u32) -> Self {
        Self { offset: 0, rows: 1, run: count, pitch: count }
    }
}

/// What a launch reads and writes.
pub(super) struct Footprint {
    /// Words of each input, from its start, that may be read.
    pub(super) inputs: Vec<Extent>,
    /// The words that are written.
    pub(super) output: Layout,
    /// The cost of a word, in bytes of memory traffic, so that small launches stay on one thread.
    pub(super) cost: u64,
}

/// A kernel whose output elements depend on the inputs alone.
pub(super) trait PerElement: Send + Sync + 'static {
    /// The constants block.
    type Params: Pod;
    /// The names of its inputs, in the order of its bindings; the output is the last binding.
    const INPUTS: &'static [&'static str];

    /// What a launch reads and writes, or why it is invalid.
    fn footprint(p: &Self::Params) -> Result<Footprint, String>;

    /// Computes the output elements from `first` on, counted without the gaps between rows. Inputs
    /// have the lengths of the footprint.
    fn compute(p: &Self::Params, inputs: &[&[u32]], first: usize, output: &mut [u32]);
}

/// The native kernel of a [`PerElement`].
pub(super) struct PerElementKernel<E>(PhantomData<fn() -> E>);

impl<E: PerElement> PerElementKernel<E> {
    pub(super) fn new() -> Self {
        const { assert!(E::INPUTS.len() <= MAX_INPUTS) };
        Self(PhantomData)
    }
}

/// Splits a range of output elements, counted over all rows, into runs within rows.
fn runs(layout: Layout, range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
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

// SAFETY: `prepare` checks what the footprint reads and writes against the bindings, rejects
// outputs that overlap an input, and rows that overlap each other; parts are disjoint ranges of the
// output's elements, and the kernel only gets slices.
unsafe impl<E: PerElement> NativeKernel for PerElementKernel<E> {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        const ACCESSES: &[roci_hal::Access] = &[Read, Read, Read, Read, ReadWrite];
        &ACCESSES[MAX_INPUTS - E::INPUTS.len()..]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        prepare(&E::footprint(&check::constants(launch)?)?, E::INPUTS, launch)
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<E::Params>(launch) else { return };
        let Ok(footprint) = E::footprint(&p) else { return };
        let compute = |inputs: &[&[u32]], first: usize, output: &mut [u32]| E::compute(&p, inputs, first, output);
        // SAFETY: `prepare` accepted the launch and the footprint; the caller guarantees the
        // bindings.
        unsafe { run(&footprint, launch, part, parts, &compute) };
    }
}

/// Checks the bindings of a kernel and counts its parts.
fn prepare(footprint: &Footprint, names: &[&'static str], launch: &NativeLaunch<'_>) -> Result<usize, String> {
    let layout = footprint.output;
    if launch.bindings.len() != names.len() + 1 || footprint.inputs.len() != names.len() {
        return Err(format!("expects {} bindings, got {}", names.len() + 1, launch.bindings.len()));
    }
    if layout.rows > 1 && layout.pitch < layout.run {
        return Err(format!("rows of {} words overlap with a pitch of {}", layout.run, layout.pitch));
    }
    let extent = Extent::of(&[(layout.rows, layout.pitch), (layout.run, 1)]).offset_by(layout.offset);
    let output = AccessRange::write::<u32>("output", launch.bindings[names.len()], extent)?;
    for ((&name, &binding), &extent) in names.iter().zip(launch.bindings).zip(&footprint.inputs) {
        output.disjoint_from(&AccessRange::read::<u32>(name, binding, extent)?)?;
    }
    let count = u64::from(layout.rows) * u64::from(layout.run);
    Ok(partition::count(
        count.saturating_mul(footprint.cost),
        usize::try_from(count).unwrap_or(usize::MAX),
        launch.workers,
    ))
}

/// Computes consecutive output words from the inputs; the number is the index of the first word.
type Compute<'a> = dyn Fn(&[&[u32]], usize, &mut [u32]) + 'a;

/// Runs one part of a launch.
///
/// # Safety
/// [`prepare`] accepted the footprint and the launch, and the bindings are those of that launch,
/// live and only touched by its parts.
unsafe fn run(footprint: &Footprint, launch: &NativeLaunch<'_>, part: usize, parts: usize, compute: &Compute<'_>) {
    let (inputs, output) = launch.bindings.split_at(footprint.inputs.len());
    let mut slices: [&[u32]; MAX_INPUTS] = [&[]; MAX_INPUTS];
    for ((slice, &binding), extent) in slices.iter_mut().zip(inputs).zip(&footprint.inputs) {
        // SAFETY: `prepare` checked the extent against the binding, which nothing writes during the
        // launch.
        *slice = unsafe { memory::input(binding, 0..extent.elements() as usize) };
    }
    let count = footprint.output.rows as usize * footprint.output.run as usize;
    for (first, words) in runs(footprint.output, partition::range(count, partition::STEP, part, parts)) {
        // SAFETY: within the extent that `prepare` checked, in a range that only this part touches.
        let target = unsafe { memory::output(output[0], words) };
        compute(&slices[..footprint.inputs.len()], first, target);
    }
}
