//! Kernels that compute whole lines, and may write several outputs: what they share, so that they are written without
//! `unsafe`.
//!
//! Everything is 32-bit words. A kernel says in [`Lines::plan`] how far it reads and how much each line writes, which
//! is held against the bindings, and then computes lines in any order.

use std::marker::PhantomData;

use bytemuck::Pod;
use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::simd::Level;
use super::{memory, parts};

/// Most inputs that such a kernel has.
const MOST_INPUTS: usize = 2;
/// Most outputs.
const MOST_OUTPUTS: usize = 2;

/// How far a launch reaches.
pub(super) struct Plan {
    /// Lines, each of which is computed by itself.
    pub(super) lines: u32,
    /// Words of each input, from its start, that may be read.
    pub(super) inputs: Vec<Extent>,
    /// Words that a line has in each output; lines follow one another without gaps.
    pub(super) outputs: Vec<u64>,
    /// Bytes that computing one line is worth, so that small launches stay on one thread.
    pub(super) cost: u64,
}

/// A kernel of this kind. Its bindings are the inputs and then the outputs.
pub(super) trait Lines: Send + Sync + 'static {
    /// Its constants block.
    type Params: Pod;
    /// The names of its inputs.
    const INPUTS: &'static [&'static str];
    /// The names of its outputs.
    const OUTPUTS: &'static [&'static str];
    /// Whether it works on one output that starts as a copy of its one input; that may be the very same range then.
    const IN_PLACE: bool = false;

    /// How far a launch reaches, or what is wrong with it.
    fn plan(p: &Self::Params) -> Result<Plan, String>;

    /// Computes a line. Inputs have the lengths of the plan, and are none for a kernel that works in place.
    fn compute(level: Level, p: &Self::Params, inputs: &[&[u32]], line: usize, outputs: [&mut [u32]; MOST_OUTPUTS]);
}

/// The native kernel of some [`Lines`].
pub(super) struct LinesKernel<L> {
    level: Level,
    kernel: PhantomData<fn() -> L>,
}

impl<L: Lines> LinesKernel<L> {
    pub(super) fn new(level: Level) -> Self {
        const { assert!(L::INPUTS.len() <= MOST_INPUTS && L::OUTPUTS.len() <= MOST_OUTPUTS) };
        const { assert!(!L::IN_PLACE || L::INPUTS.len() == 1 && L::OUTPUTS.len() == 1) };
        Self { level, kernel: PhantomData }
    }
}

// SAFETY: `prepare` holds what the plan says against the bindings, and rejects outputs that overlap an input or each
// other; an output may be an input only if no slice of the input is made. Parts are disjoint ranges of lines, whose
// outputs are disjoint, and the kernel is given slices alone.
unsafe impl<L: Lines> NativeKernel for LinesKernel<L> {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        const MOST: &[roci_hal::Access] = &[Read, Read, ReadWrite, ReadWrite];
        &MOST[MOST_INPUTS - L::INPUTS.len()..MOST_INPUTS + L::OUTPUTS.len()]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: L::Params = check::constants(launch)?;
        let plan = L::plan(&p)?;
        let wanted = L::INPUTS.len() + L::OUTPUTS.len();
        if launch.bindings.len() != wanted {
            return Err(format!("takes {wanted} bindings, given are {}", launch.bindings.len()));
        }
        if plan.inputs.len() != L::INPUTS.len() || plan.outputs.len() != L::OUTPUTS.len() {
            return Err("the plan has other bindings than the kernel".to_owned());
        }
        let (inputs, outputs) = launch.bindings.split_at(L::INPUTS.len());
        let mut others = Vec::new();
        for ((&name, &binding), &extent) in L::INPUTS.iter().zip(inputs).zip(&plan.inputs) {
            others.push(Access::read::<u32>(name, binding, extent)?);
        }
        for ((&name, &binding), &words) in L::OUTPUTS.iter().zip(outputs).zip(&plan.outputs) {
            let extent = Extent::words(u128::from(plan.lines) * u128::from(words));
            let output = Access::write::<u32>(name, binding, extent)?;
            for other in &others {
                if L::IN_PLACE { output.apart_or_same(other)? } else { output.apart_from(other)? }
            }
            others.push(output);
        }
        let cost = plan.cost.saturating_mul(plan.lines.into());
        Ok(parts::count(cost, plan.lines as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<L::Params>(launch) else { return };
        let Ok(plan) = L::plan(&p) else { return };
        let (inputs, outputs) = launch.bindings.split_at(L::INPUTS.len());
        let mut slices: [&[u32]; MOST_INPUTS] = [&[]; MOST_INPUTS];
        if !L::IN_PLACE {
            for ((slice, &binding), extent) in slices.iter_mut().zip(inputs).zip(&plan.inputs) {
                // SAFETY: `prepare` held the extent against the binding, which nothing writes meanwhile.
                *slice = unsafe { memory::input(binding, 0..extent.elements() as usize) };
            }
        }
        let given = if L::IN_PLACE { 0 } else { L::INPUTS.len() };
        for line in parts::share(plan.lines as usize, 1, part, parts) {
            let mut targets: [&mut [u32]; MOST_OUTPUTS] = [&mut [], &mut []];
            for ((target, &binding), &words) in targets.iter_mut().zip(outputs).zip(&plan.outputs) {
                let words = words as usize;
                // SAFETY: a line of this part, within the extent that `prepare` checked; outputs lie apart.
                *target = unsafe { memory::output(binding, line * words..(line + 1) * words) };
            }
            if L::IN_PLACE && inputs[0].pointer != outputs[0].pointer {
                let words = targets[0].len();
                // SAFETY: within the extent of the input, which is that of the output; they are not the same, so they
                // lie apart.
                targets[0].copy_from_slice(unsafe { memory::input(inputs[0], line * words..(line + 1) * words) });
            }
            L::compute(self.level, &p, &slices[..given], line, targets);
        }
    }
}
