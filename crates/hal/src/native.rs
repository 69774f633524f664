//! Kernels that are host code: what the CPU driver runs, and what a GPU kernel is checked against.
//!
//! A native kernel has the name, the bindings and the constants block of its GPU twin, but not its decomposition: a
//! GPU wants many small workgroups, a CPU wants a few large contiguous parts. So a driver asks [`NativeKernel::prepare`]
//! how many parts a launch falls into and then runs each part once, on whichever thread is free.

#![expect(unsafe_code, reason = "declares the trait of kernels that work on raw memory")]

use std::sync::Arc;

use crate::executable::Access;

/// The bytes behind one binding of a launch.
///
/// A plain pointer and length: parts of one launch write disjoint pieces of the same buffer from several threads, which
/// no slice type can express. Turning it into slices is the kernel's job, and its `unsafe`.
#[derive(Clone, Copy, Debug)]
pub struct NativeBinding {
    /// First byte; aligned to at least 64 bytes when the bound range starts at an allocation's start, to 4 bytes otherwise.
    pub pointer: *mut u8,
    /// Bytes that may be read (and written, if [`NativeKernel::accesses`] says so) from `pointer` on.
    pub length: usize,
}

// SAFETY: a `NativeBinding` is an address and a length, not a reference; every access through it is an `unsafe` block
// whose author answers for races and bounds (see `NativeKernel::run`).
unsafe impl Send for NativeBinding {}
// SAFETY: as above; sharing the address grants no access by itself.
unsafe impl Sync for NativeBinding {}

/// One dispatch as a native kernel sees it.
#[derive(Clone, Copy, Debug)]
pub struct NativeLaunch<'a> {
    /// Workgroup counts as recorded for the GPU twin; a kernel may ignore them and take its extent from the constants.
    pub grid: [u32; 3],
    /// Bindings in the order of the entry point's declaration.
    pub bindings: &'a [NativeBinding],
    /// The constants block, exactly as long as the entry point declares.
    pub constants: &'a [u8],
    /// How many threads will share the parts; a hint for `prepare`.
    pub workers: usize,
}

/// A kernel implemented as host code.
///
/// # Safety
/// `run` must stay inside the bindings' lengths for every launch that `prepare` accepted, must write only to bindings
/// that `accesses` calls writable, and two different parts of one launch must not touch the same byte unless
/// both only read it. Drivers rely on this: they hand out raw memory and run parts concurrently.
pub unsafe trait NativeKernel: Send + Sync {
    /// How it uses its bindings, in order; always the same. Code is loaded only under an entry point that declares the
    /// same, since drivers find conflicts between commands by what entry points declare.
    fn accesses(&self) -> &[Access];

    /// Checks the launch (sizes in the constants against the bindings) and says into how many parts it falls.
    ///
    /// Zero parts is legal: nothing runs. An `Err` is the reason why the launch would leave its bindings; the driver
    /// reports it as a fault of this kernel and runs nothing.
    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String>;

    /// Runs part `part` of the `parts` that `prepare` returned for this very launch.
    ///
    /// # Safety
    /// The bindings point to live memory of the stated lengths, nothing else writes what this kernel reads or touches
    /// what it writes while the launch runs, `prepare` accepted this launch, and each part is run once.
    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize);
}

/// A native kernel by the name of its entry point.
#[derive(Clone)]
pub struct NativeEntry {
    /// Entry point name, the same as the GPU twin's.
    pub name: String,
    /// The code.
    pub kernel: Arc<dyn NativeKernel>,
}

impl std::fmt::Debug for NativeEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeEntry").field("name", &self.name).finish_non_exhaustive()
    }
}
