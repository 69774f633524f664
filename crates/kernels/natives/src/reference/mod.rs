//! Kernels of language models: twins of `lm_*`.
//!
//! Positions of tokens and page tables of sequences are data, so what a launch touches is only
//! known while it runs: outputs are atomic words that any thread may write, every index is checked
//! against its binding, and accesses out of range are skipped.

mod attention;
mod compact;
mod decode_attention;
mod delta_rule;
mod embed;
mod linear;
mod rope_kv_store;
mod rows;
mod short_conv;
mod ssm_scan;
mod streams;
mod wkv;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::Pod;
use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

pub(super) use linear::decode as dequantize_group;

use super::check::{self, AccessRange, Extent};
use super::{memory, partition};
use crate::KernelFactory;
use roci_simd::Level;

/// The kernels of each file.
pub(super) static KERNELS: &[&[(&str, KernelFactory)]] = &[
    linear::KERNELS,
    compact::MATVEC_KERNELS,
    compact::MATVEC_I8_KERNELS,
    compact::MATVEC4_KERNELS,
    compact::MATVEC8_I8_KERNELS,
    compact::MATMUL_KERNELS,
    compact::MATMUL_COOPMAT_KERNELS,
    compact::MATMUL_COOPMAT16_KERNELS,
    compact::MATMUL_COOPMAT32_KERNELS,
    embed::KERNELS,
    rows::KERNELS,
    attention::KERNELS,
    decode_attention::KERNELS,
    rope_kv_store::KERNELS,
    short_conv::KERNELS,
    delta_rule::KERNELS,
    ssm_scan::KERNELS,
    wkv::KERNELS,
    streams::KERNELS,
];

/// The words of an output, which threads share; each word is written atomically.
#[derive(Clone, Copy)]
pub(super) struct AtomicWords<'a>(&'a [AtomicU32]);

impl AtomicWords<'_> {
    /// The value at an index; zero out of range.
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
    /// The binding is live, and it is only accessed through [`AtomicWords`] meanwhile.
    unsafe fn of(binding: NativeBinding) -> Self {
        // SAFETY: the caller guarantees the same; a word is aligned as `prepare` checked, and any
        // bits are a valid word.
        Self(unsafe { std::slice::from_raw_parts(binding.pointer.cast(), binding.length / 4) })
    }
}

/// The amount of work of a launch.
pub(super) struct WorkSize {
    /// Number of units of work. Each is computed independently.
    pub(super) units: u64,
    /// The cost of a unit, in bytes of memory traffic, so that small launches stay on one thread.
    pub(super) cost: u64,
}

/// A kernel with data-dependent accesses.
pub(super) trait Reference: Send + Sync + 'static {
    /// The constants block.
    type Params: Pod;
    /// Number of inputs, the first bindings.
    const INPUTS: usize;
    /// Number of outputs, the bindings after the inputs.
    const OUTPUTS: usize;

    /// The amount of work, or why the constants are invalid.
    fn work_size(p: &Self::Params) -> Result<WorkSize, String>;

    /// Computes some units.
    fn compute(level: Level, p: &Self::Params, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>);
}

/// The native kernel of a [`Reference`].
pub(super) struct ReferenceKernel<W> {
    level: Level,
    kernel: PhantomData<fn() -> W>,
}

impl<W: Reference> ReferenceKernel<W> {
    pub(super) fn new(level: Level) -> Self {
        const { assert!(W::INPUTS <= MAX_BINDINGS && W::OUTPUTS <= MAX_BINDINGS) };
        Self { level, kernel: PhantomData }
    }
}

/// Maximum number of inputs, and of outputs.
const MAX_BINDINGS: usize = 6;

// SAFETY: `prepare` checks that bindings are aligned and that no output overlaps anything else.
// Inputs are only read during the launch; outputs are only accessed atomically.
unsafe impl<W: Reference> NativeKernel for ReferenceKernel<W> {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        const ACCESSES: &[roci_hal::Access; 2 * MAX_BINDINGS] =
            &[Read, Read, Read, Read, Read, Read, ReadWrite, ReadWrite, ReadWrite, ReadWrite, ReadWrite, ReadWrite];
        &ACCESSES[MAX_BINDINGS - W::INPUTS..MAX_BINDINGS + W::OUTPUTS]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        prepare(W::work_size(&check::constants(launch)?)?, W::INPUTS, W::OUTPUTS, launch)
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<W::Params>(launch) else { return };
        let Ok(work_size) = W::work_size(&p) else { return };
        // SAFETY: `prepare` accepted the launch, whose bindings the caller guarantees.
        let (inputs, outputs) = unsafe { arrays(launch, W::INPUTS) };
        W::compute(self.level, &p, &inputs, &outputs, partition::range(work_size.units as usize, 1, part, parts));
    }
}

/// Checks the bindings of a kernel and counts its parts.
fn prepare(work_size: WorkSize, inputs: usize, outputs: usize, launch: &NativeLaunch<'_>) -> Result<usize, String> {
    let expected = inputs + outputs;
    if launch.bindings.len() != expected {
        return Err(format!("expects {expected} bindings, got {}", launch.bindings.len()));
    }
    let whole = |binding: &NativeBinding| {
        AccessRange::write::<u32>("a binding", *binding, Extent::count((binding.length / 4) as u128))
    };
    let all = launch.bindings.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
    for (at, output) in all.iter().enumerate().skip(inputs) {
        for other in &all[..at] {
            output.disjoint_from(other)?;
        }
    }
    let units = usize::try_from(work_size.units).map_err(|_| "has more work-items than can be counted")?;
    Ok(partition::count(work_size.units.saturating_mul(work_size.cost), units, launch.workers))
}

/// Inputs and outputs of a launch.
///
/// # Safety
/// [`prepare`] accepted the launch, and only parts of it touch the outputs; nothing writes the
/// inputs.
unsafe fn arrays<'a>(launch: &NativeLaunch<'a>, inputs: usize) -> (Vec<&'a [u32]>, Vec<AtomicWords<'a>>) {
    let (inputs, outputs) = launch.bindings.split_at(inputs);
    // SAFETY: `prepare` checked the alignment; nothing writes inputs during the launch.
    let inputs = inputs.iter().map(|input| unsafe { memory::input(*input, 0..input.length / 4) }).collect();
    // SAFETY: outputs are disjoint from all other bindings, and every part accesses them
    // atomically.
    let outputs = outputs.iter().map(|output| unsafe { AtomicWords::of(*output) }).collect();
    (inputs, outputs)
}

/// A range of an input as floats; empty if it is out of range.
fn floats(words: &[u32], start: usize, length: usize) -> &[f32] {
    bytemuck::cast_slice(words.get(start..start + length).unwrap_or(&[]))
}

fn word(words: &[u32], at: usize) -> usize {
    words.get(at).map_or(0, |word| *word as usize)
}
