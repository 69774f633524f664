//! The suite's kernels as host code: all of the suite's `unsafe` is here.

#![expect(unsafe_code, reason = "native kernels work on raw memory")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};
use roci_hal::{Access, Buffer, Error};

use super::{GRID_IDS, LINE};
use crate::check::words_of;

/// The native twin of an entry point.
pub(super) fn find(name: &str) -> Option<Box<dyn NativeKernel>> {
    Some(match name {
        "add_constant" | "offset" => Box::new(Map { bindings: APART, apply: u32::wrapping_add }),
        "scale" => Box::new(Map { bindings: APART, apply: u32::wrapping_mul }),
        "accumulate" => Box::new(Map { bindings: ONE, apply: |word, value| word.wrapping_mul(3).wrapping_add(value) }),
        "grid_ids" => Box::new(GridIds),
        "spin" => Box::new(Spin),
        "out_of_bounds" => Box::new(Poke),
        "empty" => Box::new(Empty),
        _ => return None,
    })
}

/// A kernel's only binding, which it may write.
const ONE: &[Access] = &[Access::ReadWrite];
/// One binding to read, one to write.
const APART: &[Access] = &[Access::Read, Access::ReadWrite];

/// The word that a spinning kernel looks at. The host can raise it whatever has become of the device.
pub(crate) struct Flag {
    /// Keeps the word alive.
    pub(crate) buffer: Buffer,
    word: *mut u32,
}

// SAFETY: the pointer is only used for atomic access to memory that `buffer` keeps alive.
unsafe impl Send for Flag {}
// SAFETY: as above.
unsafe impl Sync for Flag {}

impl Flag {
    /// A host-visible buffer's first word.
    pub(crate) fn new(buffer: Buffer) -> Result<Self, Error> {
        let word = buffer.map()?.as_mut_ptr().cast();
        Ok(Self { buffer, word })
    }

    /// Lets the kernel end.
    pub(crate) fn raise(&self) {
        // SAFETY: `BufferBackend::host_pointer` is valid for as long as the buffer lives and aligned for words; kernels and
        // this function access the word atomically.
        let word = unsafe { AtomicU32::from_ptr(self.word) };
        word.store(1, Ordering::Release);
    }
}

/// Words that a binding holds.
fn words(binding: &NativeBinding) -> usize {
    binding.length / size_of::<u32>()
}

/// # Safety
/// `index` is below `words(binding)`, and nobody writes that word meanwhile.
unsafe fn load(binding: &NativeBinding, index: usize) -> u32 {
    // SAFETY: the caller keeps the index inside the binding.
    let place = unsafe { binding.pointer.cast::<u32>().add(index) };
    // SAFETY: as above; bindings are aligned to four bytes at least, and the caller answers for races.
    unsafe { place.read() }
}

/// # Safety
/// `index` is below `words(binding)`, the binding is writable, and nobody touches that word meanwhile.
unsafe fn store(binding: &NativeBinding, index: usize, value: u32) {
    // SAFETY: the caller keeps the index inside the binding.
    let place = unsafe { binding.pointer.cast::<u32>().add(index) };
    // SAFETY: as above; bindings are aligned to four bytes at least, and the caller answers for races.
    unsafe { place.write(value) }
}

/// The two words of the constants block that most kernels take.
fn constants(launch: &NativeLaunch<'_>) -> Result<[u32; 2], String> {
    let words = words_of(launch.constants);
    words.try_into().map_err(|words: Vec<u32>| format!("{} words of constants, not 2", words.len()))
}

/// `last[i] = apply(first[i], value)` for the words that the grid covers; with one binding it is its own input.
struct Map {
    bindings: &'static [Access],
    apply: fn(u32, u32) -> u32,
}

impl Map {
    /// How many words this launch works on: as on a GPU, no more than it has invocations.
    fn count(launch: &NativeLaunch<'_>) -> Result<(usize, u32), String> {
        let [count, value] = constants(launch)?;
        let [x, y, z] = launch.grid.map(u64::from);
        let covered = if y == 0 || z == 0 { 0 } else { x * u64::from(LINE) };
        Ok((u64::from(count).min(covered) as usize, value))
    }
}

// SAFETY: `prepare` refuses a count beyond any binding; part p of n works on words [count*p/n, count*(p+1)/n), which are
// disjoint, and writes the last binding alone, which is writable in both `ONE` and `APART`.
unsafe impl NativeKernel for Map {
    fn accesses(&self) -> &[Access] {
        self.bindings
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let (count, _) = Self::count(launch)?;
        match launch.bindings.iter().find(|binding| words(binding) < count) {
            Some(binding) => Err(format!("{count} words asked for, a binding holds {}", words(binding))),
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

// SAFETY: `prepare` refuses a grid whose words the binding cannot hold; each part is one workgroup, which writes its own
// stretch of the only binding, declared writable.
unsafe impl NativeKernel for GridIds {
    fn accesses(&self) -> &[Access] {
        ONE
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
            let place = (part * (width * height * depth) as usize + local_index as usize) * 2;
            // SAFETY: `prepare` has checked that all groups fit, and this stretch belongs to this group alone.
            unsafe { store(&launch.bindings[0], place, pack(group)) };
            // SAFETY: as above.
            unsafe { store(&launch.bindings[0], place + 1, pack(local)) };
        }
    }
}

struct Spin;

// SAFETY: `prepare` refuses a binding without a word; the only part reads that word, atomically.
unsafe impl NativeKernel for Spin {
    /// Writable, since WGSL has no atomic load from memory that is only read.
    fn accesses(&self) -> &[Access] {
        ONE
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        match launch.bindings {
            [flag] if words(flag) >= 1 => Ok(1),
            _ => Err("the flag is not a word".into()),
        }
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {
        // SAFETY: live for the launch by `run`'s contract, aligned to four bytes; whoever writes it meanwhile does so from
        // the host's side through `raise` or, where the kernel has another copy of it, by a copy of the whole word.
        let flag = unsafe { AtomicU32::from_ptr(launch.bindings[0].pointer.cast()) };
        while flag.load(Ordering::Acquire) == 0 {
            // It shall never end by itself, but it need not heat the room.
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

struct Poke;

// SAFETY: `prepare` refuses an index outside the only binding, which is declared writable; there is one part.
unsafe impl NativeKernel for Poke {
    fn accesses(&self) -> &[Access] {
        ONE
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let [index, _] = constants(launch)?;
        match launch.bindings {
            [target] if words(target) > index as usize => Ok(1),
            [target] => Err(format!("word {index} is outside the {} words of its binding", words(target))),
            _ => Err("wants one binding".into()),
        }
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {
        let Ok([index, value]) = constants(launch) else { return };
        // SAFETY: `prepare` has checked the index, and there is one part.
        unsafe { store(&launch.bindings[0], index as usize, value) };
    }
}

struct Empty;

// SAFETY: touches nothing.
unsafe impl NativeKernel for Empty {
    fn accesses(&self) -> &[Access] {
        &[]
    }

    fn prepare(&self, _launch: &NativeLaunch<'_>) -> Result<usize, String> {
        Ok(1)
    }

    unsafe fn run(&self, _launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {}
}
