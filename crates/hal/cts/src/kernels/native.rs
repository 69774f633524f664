//! The suite's kernels as native code. All of the suite's `unsafe` is here.

#![expect(unsafe_code, reason = "native kernels work on raw memory")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};
use roci_hal::{Access, Buffer, Error};

use super::{GRID_IDS, WORKGROUP_SIZE};
use crate::check::words_of;

/// The native implementation of an entry point.
pub(super) fn find(name: &str) -> Option<Box<dyn NativeKernel>> {
    Some(match name {
        "add_constant" | "offset" => Box::new(MapKernel { bindings: IN_OUT, apply: u32::wrapping_add }),
        "scale" => Box::new(MapKernel { bindings: IN_OUT, apply: u32::wrapping_mul }),
        "accumulate" => {
            Box::new(MapKernel { bindings: READ_WRITE, apply: |word, value| word.wrapping_mul(3).wrapping_add(value) })
        }
        "grid_ids" => Box::new(GridIds),
        "spin" => Box::new(Spin),
        "out_of_bounds" => Box::new(StoreKernel),
        "empty" => Box::new(Empty),
        _ => return None,
    })
}

/// One binding, which the kernel may write.
const READ_WRITE: &[Access] = &[Access::ReadWrite];
/// One input binding, one output binding.
const IN_OUT: &[Access] = &[Access::Read, Access::ReadWrite];

/// The word that a spinning kernel polls. The host can set it even after device loss.
pub(crate) struct Flag {
    /// Owns the memory of the word.
    pub(crate) buffer: Buffer,
    word: *mut u32,
}

// SAFETY: the pointer is only used for atomic access to memory that `buffer` keeps alive.
unsafe impl Send for Flag {}
// SAFETY: the same argument as for `Send`.
unsafe impl Sync for Flag {}

impl Flag {
    /// The flag in the first word of a host-visible buffer.
    pub(crate) fn new(buffer: Buffer) -> Result<Self, Error> {
        let word = buffer.map()?.as_mut_ptr().cast();
        Ok(Self { buffer, word })
    }

    /// Lets the kernel end.
    pub(crate) fn raise(&self) {
        // SAFETY: `BufferBackend::host_pointer` is valid for as long as the buffer lives and
        // aligned for words; kernels and this function access the word atomically.
        let word = unsafe { AtomicU32::from_ptr(self.word) };
        word.store(1, Ordering::Release);
    }
}

/// Number of words in a binding.
fn words(binding: &NativeBinding) -> usize {
    binding.length / size_of::<u32>()
}

/// # Safety
/// `index` is below `words(binding)`, and no other thread writes that word concurrently.
unsafe fn load(binding: &NativeBinding, index: usize) -> u32 {
    // SAFETY: the caller keeps the index inside the binding.
    let pointer = unsafe { binding.pointer.cast::<u32>().add(index) };
    // SAFETY: as above; bindings are aligned to at least four bytes, and the caller rules out
    // races.
    unsafe { pointer.read() }
}

/// # Safety
/// `index` is below `words(binding)`, the binding is writable, and no other thread accesses that
/// word concurrently.
unsafe fn store(binding: &NativeBinding, index: usize, value: u32) {
    // SAFETY: the caller keeps the index inside the binding.
    let pointer = unsafe { binding.pointer.cast::<u32>().add(index) };
    // SAFETY: as above; bindings are aligned to at least four bytes, and the caller rules out
    // races.
    unsafe { pointer.write(value) }
}

/// The two words of the constants block that most kernels take.
fn constants(launch: &NativeLaunch<'_>) -> Result<[u32; 2], String> {
    let words = words_of(launch.constants);
    words.try_into().map_err(|words: Vec<u32>| format!("expected 2 words of constants, got {}", words.len()))
}

/// `last[i] = apply(first[i], value)` for the words that the grid covers. With one binding, input
/// and output are the same.
struct MapKernel {
    bindings: &'static [Access],
    apply: fn(u32, u32) -> u32,
}

impl MapKernel {
    /// Number of words to process: as on a GPU, at most the number of invocations.
    fn count(launch: &NativeLaunch<'_>) -> Result<(usize, u32), String> {
        let [count, value] = constants(launch)?;
        let [x, y, z] = launch.grid.map(u64::from);
        let covered = if y == 0 || z == 0 { 0 } else { x * u64::from(WORKGROUP_SIZE) };
        Ok((u64::from(count).min(covered) as usize, value))
    }
}

// SAFETY: `prepare` rejects a count beyond any binding. Part p of n works on words [count*p/n,
// count*(p+1)/n), which are disjoint, and writes only the last binding, which is writable in both
// `READ_WRITE` and `IN_OUT`.
unsafe impl NativeKernel for MapKernel {
    fn accesses(&self) -> &[Access] {
        self.bindings
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let (count, _) = Self::count(launch)?;
        match launch.bindings.iter().find(|binding| words(binding) < count) {
            Some(binding) => Err(format!("{count} words requested, but a binding holds {}", words(binding))),
            None => Ok(launch.workers.clamp(1, count.max(1))),
        }
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok((count, value)) = Self::count(launch) else { return };
        let (Some(source), Some(target)) = (launch.bindings.first(), launch.bindings.last()) else { return };
        for index in count * part / parts..count * (part + 1) / parts {
            // SAFETY: `prepare` has checked the count, and this word belongs to this part alone.
            let word = unsafe { load(source, index) };
            // SAFETY: as above.
            unsafe { store(target, index, (self.apply)(word, value)) };
        }
    }
}

struct GridIds;

fn pack([x, y, z]: [u32; 3]) -> u32 {
    x | (y << 10) | (z << 20)
}

// SAFETY: `prepare` rejects a grid whose words do not fit the binding. Each part is one workgroup,
// which writes only its own range of the only binding, declared writable.
unsafe impl NativeKernel for GridIds {
    fn accesses(&self) -> &[Access] {
        READ_WRITE
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let groups: usize = launch.grid.iter().map(|count| *count as usize).product();
        let needed = groups * GRID_IDS.iter().product::<u32>() as usize * 2;
        match launch.bindings {
            [ids] if words(ids) >= needed => Ok(groups),
            _ => Err(format!("{needed} words of ids do not fit the binding")),
        }
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _parts: usize) {
        let [columns, rows, _] = launch.grid;
        let part_index = part as u32;
        let group = [part_index % columns, part_index / columns % rows, part_index / columns / rows];
        let [width, height, depth] = GRID_IDS;
        for local_index in 0..width * height * depth {
            let local = [local_index % width, local_index / width % height, local_index / width / height];
            let index = (part * (width * height * depth) as usize + local_index as usize) * 2;
            // SAFETY: `prepare` has checked that all groups fit, and this range belongs to this
            // group alone.
            unsafe { store(&launch.bindings[0], index, pack(group)) };
            // SAFETY: as above.
            unsafe { store(&launch.bindings[0], index + 1, pack(local)) };
        }
    }
}

struct Spin;

// SAFETY: `prepare` rejects a binding without a word; the only part reads that word, atomically.
unsafe impl NativeKernel for Spin {
    /// Declared writable because WGSL has no atomic load from read-only memory.
    fn accesses(&self) -> &[Access] {
        READ_WRITE
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        match launch.bindings {
            [flag] if words(flag) >= 1 => Ok(1),
            _ => Err("the flag is not a word".into()),
        }
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {
        // SAFETY: the pointer is valid during the launch by `run`'s contract and aligned to four
        // bytes. Concurrent writes come only from the host, through `raise` or, if the kernel has
        // another copy of the word, by a copy of the whole word.
        let flag = unsafe { AtomicU32::from_ptr(launch.bindings[0].pointer.cast()) };
        while flag.load(Ordering::Acquire) == 0 {
            // It must not end by itself; sleeping keeps the CPU idle.
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

struct StoreKernel;

// SAFETY: `prepare` rejects an index outside the only binding, which is declared writable; there is
// one part.
unsafe impl NativeKernel for StoreKernel {
    fn accesses(&self) -> &[Access] {
        READ_WRITE
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let [index, _] = constants(launch)?;
        match launch.bindings {
            [target] if words(target) > index as usize => Ok(1),
            [target] => Err(format!("word {index} is outside the {} words of its binding", words(target))),
            _ => Err("needs one binding".into()),
        }
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {
        let Ok([index, value]) = constants(launch) else { return };
        // SAFETY: `prepare` has checked the index, and there is one part.
        unsafe { store(&launch.bindings[0], index as usize, value) };
    }
}

struct Empty;

// SAFETY: accesses no memory.
unsafe impl NativeKernel for Empty {
    fn accesses(&self) -> &[Access] {
        &[]
    }

    fn prepare(&self, _launch: &NativeLaunch<'_>) -> Result<usize, String> {
        Ok(1)
    }

    unsafe fn run(&self, _launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {}
}
