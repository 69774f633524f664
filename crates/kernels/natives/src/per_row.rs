//! The common part of kernels that compute whole rows, and may have several outputs, so that they
//! are written without `unsafe`.
//!
//! All data is 32-bit words. [`PerRow::footprint`] returns the range that a kernel reads and the
//! size of each output row. They are checked against the bindings before the kernel computes rows,
//! in any order.

use std::marker::PhantomData;

use bytemuck::Pod;
use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::{memory, partition};
use roci_simd::Level;

/// Maximum number of inputs.
const MAX_INPUTS: usize = 2;
/// Maximum number of outputs.
const MAX_OUTPUTS: usize = 2;

/// What a launch reads and writes.
pub(super) struct RowFootprint {
    /// Number of rows. Each is computed independently.
    pub(super) lines: u32,
    /// Words of each input, from its start, that may be read.
    pub(super) inputs: Vec<Extent>,
    /// Words of a row in each output; rows are contiguous.
    pub(super) outputs: Vec<u64>,
    /// The cost of a row, in bytes of memory traffic, so that small launches stay on one thread.
    pub(super) cost: u64,
}

/// A kernel that computes rows. Its bindings are the inputs, then the outputs.
pub(super) trait PerRow: Send + Sync + 'static {
    /// The constants block.
    type Params: Pod;
    /// The names of its inputs.
    const INPUTS: &'static [&'static str];
    /// The names of its outputs.
    const OUTPUTS: &'static [&'static str];
    /// Whether its only output starts as a copy of its only input, which may be the same range.
    const IN_PLACE: bool = false;

    /// What a launch reads and writes, or why it is invalid.
    fn footprint(p: &Self::Params) -> Result<RowFootprint, String>;

    /// Computes a row. Inputs have the lengths of the footprint; a kernel that works in place gets
    /// none.
    fn compute(level: Level, p: &Self::Params, inputs: &[&[u32]], line: usize, outputs: [&mut [u32]; MAX_OUTPUTS]);
}

/// The native kernel of a [`PerRow`].
pub(super) struct PerRowKernel<L> {
    level: Level,
    kernel: PhantomData<fn() -> L>,
}

impl<L: PerRow> PerRowKernel<L> {
    pub(super) fn new(level: Level) -> Self {
        const { assert!(L::INPUTS.len() <= MAX_INPUTS && L::OUTPUTS.len() <= MAX_OUTPUTS) };
        const { assert!(!L::IN_PLACE || L::INPUTS.len() == 1 && L::OUTPUTS.len() == 1) };
        Self { level, kernel: PhantomData }
    }
}

// SAFETY: `prepare` checks what the footprint reads and writes against the bindings, and rejects
// outputs that overlap an input or each other; an output may be an input only if no slice of the
// input exists. Parts are disjoint ranges of rows, whose outputs are disjoint, and the kernel only
// gets slices.
unsafe impl<L: PerRow> NativeKernel for PerRowKernel<L> {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        const ACCESSES: &[roci_hal::Access] = &[Read, Read, ReadWrite, ReadWrite];
        &ACCESSES[MAX_INPUTS - L::INPUTS.len()..MAX_INPUTS + L::OUTPUTS.len()]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: L::Params = check::constants(launch)?;
        let footprint = L::footprint(&p)?;
        let expected = L::INPUTS.len() + L::OUTPUTS.len();
        if launch.bindings.len() != expected {
            return Err(format!("expects {expected} bindings, got {}", launch.bindings.len()));
        }
        if footprint.inputs.len() != L::INPUTS.len() || footprint.outputs.len() != L::OUTPUTS.len() {
            return Err("the footprint does not match the kernel's bindings".to_owned());
        }
        let (inputs, outputs) = launch.bindings.split_at(L::INPUTS.len());
        let mut others = Vec::new();
        for ((&name, &binding), &extent) in L::INPUTS.iter().zip(inputs).zip(&footprint.inputs) {
            others.push(AccessRange::read::<u32>(name, binding, extent)?);
        }
        for ((&name, &binding), &words) in L::OUTPUTS.iter().zip(outputs).zip(&footprint.outputs) {
            let extent = Extent::count(u128::from(footprint.lines) * u128::from(words));
            let output = AccessRange::write::<u32>(name, binding, extent)?;
            for other in &others {
                if L::IN_PLACE { output.disjoint_or_same(other)? } else { output.disjoint_from(other)? }
            }
            others.push(output);
        }
        let cost = footprint.cost.saturating_mul(footprint.lines.into());
        Ok(partition::count(cost, footprint.lines as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<L::Params>(launch) else { return };
        let Ok(footprint) = L::footprint(&p) else { return };
        let (inputs, outputs) = launch.bindings.split_at(L::INPUTS.len());
        let mut slices: [&[u32]; MAX_INPUTS] = [&[]; MAX_INPUTS];
        if !L::IN_PLACE {
            for ((slice, &binding), extent) in slices.iter_mut().zip(inputs).zip(&footprint.inputs) {
                // SAFETY: `prepare` checked the extent against the bindings, which nothing writes
                // during the launch.
                *slice = unsafe { memory::input(binding, 0..extent.elements() as usize) };
            }
        }
        let given = if L::IN_PLACE { 0 } else { L::INPUTS.len() };
        for line in partition::range(footprint.lines as usize, 1, part, parts) {
            let mut targets: [&mut [u32]; MAX_OUTPUTS] = [&mut [], &mut []];
            for ((target, &binding), &words) in targets.iter_mut().zip(outputs).zip(&footprint.outputs) {
                let words = words as usize;
                // SAFETY: a row of this part, within the extent that `prepare` checked; outputs are
                // disjoint.
                *target = unsafe { memory::output(binding, line * words..(line + 1) * words) };
            }
            if L::IN_PLACE && inputs[0].pointer != outputs[0].pointer {
                let words = targets[0].len();
                // SAFETY: within the extent of the input, which is that of the output; they are not
                // the same, so they are disjoint.
                targets[0].copy_from_slice(unsafe { memory::input(inputs[0], line * words..(line + 1) * words) });
            }
            L::compute(self.level, &p, &slices[..given], line, targets);
        }
    }
}
