//! `fill` and `copy`: 32-bit words without meaning.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::simd::Level;
use super::{memory, parts};
use crate::params;

/// `target[offset + i] = value`.
pub(super) struct Fill(pub(super) Level);

// SAFETY: `prepare` holds the range against the binding; parts write disjoint pieces of it.
unsafe impl NativeKernel for Fill {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(1)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Fill = check::constants(launch)?;
        let [target] = check::bindings(launch)?;
        Access::write::<u32>("target", target, Extent::of(&[(p.count, 1)]).after(p.offset))?;
        Ok(parts::count(4 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::Fill>(launch) else { return };
        let share = parts::share(p.count as usize, parts::STEP, part, parts);
        let offset = p.offset as usize;
        // SAFETY: a piece of the checked range that is this part's alone; the caller vouches for the binding.
        let target = unsafe { memory::output(launch.bindings[0], offset + share.start..offset + share.end) };
        memory::fill(self.0, p.value, target);
    }
}

/// `target[target_offset + i] = source[source_offset + i]`; the ranges lie apart.
pub(super) struct Copy(pub(super) Level);

// SAFETY: `prepare` holds both ranges against their bindings and rejects overlaps; parts write disjoint pieces.
unsafe impl NativeKernel for Copy {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Copy = check::constants(launch)?;
        let [source, target] = check::bindings(launch)?;
        let extent = Extent::of(&[(p.count, 1)]);
        let source = Access::read::<u32>("source", source, extent.after(p.source_offset))?.skip::<u32>(p.source_offset);
        let target =
            Access::write::<u32>("target", target, extent.after(p.target_offset))?.skip::<u32>(p.target_offset);
        target.apart_from(&source)?;
        Ok(parts::count(8 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::Copy>(launch) else { return };
        let share = parts::share(p.count as usize, parts::STEP, part, parts);
        let (from, to) = (p.source_offset as usize, p.target_offset as usize);
        // SAFETY: a piece of the checked range, which the target does not overlap; the caller vouches for the binding.
        let source = unsafe { memory::input(launch.bindings[0], from + share.start..from + share.end) };
        // SAFETY: a piece of the checked range that is this part's alone.
        let target = unsafe { memory::output(launch.bindings[1], to + share.start..to + share.end) };
        memory::copy(self.0, source, target);
    }
}
