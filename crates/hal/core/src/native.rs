//! Native kernels: host code that the CPU driver runs, and the reference for GPU kernels.
//!
//! A native kernel has the same name, bindings and constants block as its GPU kernel, but a
//! different decomposition: a GPU needs many small workgroups, a CPU a few large contiguous parts.
//! A driver calls [`NativeKernel::prepare`] for the number of parts of a launch and then runs each
//! part once, on any thread.

#![expect(unsafe_code, reason = "declares the trait of kernels that work on raw memory")]

use std::sync::Arc;

use crate::executable::Access;

/// Memory bound to one binding of a launch.
///
/// A raw pointer and length, because several threads write disjoint parts of the same buffer, which
/// slices cannot express. Kernels create slices from it in their own `unsafe` code.
#[derive(Clone, Copy, Debug)]
pub struct NativeBinding {
    /// First byte. Aligned to at least 64 bytes if the bound range starts at the start of an
    /// allocation, else to 4 bytes.
    pub pointer: *mut u8,
    /// Length in bytes. The memory may be written if [`NativeKernel::accesses`] declares the
    /// binding as written.
    pub length: usize,
}

// SAFETY: a `NativeBinding` is an address and a length, not a reference. Each access is an `unsafe`
// block that must prove the absence of races and out-of-bounds accesses (see `NativeKernel::run`).
unsafe impl Send for NativeBinding {}
// SAFETY: as above; sharing the address grants no access by itself.
unsafe impl Sync for NativeBinding {}

/// Arguments of one dispatch of a native kernel.
#[derive(Clone, Copy, Debug)]
pub struct NativeLaunch<'a> {
    /// Workgroup counts as recorded for the GPU kernel. A native kernel may ignore them and use
    /// sizes from the constants.
    pub grid: [u32; 3],
    /// Bindings in the order of the entry point's declaration.
    pub bindings: &'a [NativeBinding],
    /// The constants block, of the length that the entry point declares.
    pub constants: &'a [u8],
    /// Number of threads that share the parts, a hint for `prepare`.
    pub workers: usize,
}

/// A kernel implemented as host code.
///
/// # Safety
/// For every launch that `prepare` accepts, `run` must stay inside the bindings and write only to
/// bindings that `accesses` declares as written. Two parts of a launch must not access the same
/// byte unless both only read it. Drivers rely on this to run parts concurrently on raw memory.
pub unsafe trait NativeKernel: Send + Sync {
    /// Access of each binding, in order. Constant. Must equal the entry point's declaration, which
    /// drivers use to find conflicts between commands; loading fails otherwise.
    fn accesses(&self) -> &[Access];

    /// Validates the launch (sizes in the constants against the bindings) and returns its number of
    /// parts.
    ///
    /// Zero parts are valid: nothing runs. An `Err` explains why the launch would access memory
    /// outside its bindings; the driver reports it as a fault of this kernel and runs nothing.
    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String>;

    /// Runs part `part` of the `parts` that `prepare` returned for this launch.
    ///
    /// # Safety
    /// The bindings point to live memory of the stated lengths. While the launch runs, no other
    /// code writes memory that the kernel reads or accesses memory that it writes. `prepare`
    /// accepted this launch, and each part runs once.
    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize);
}

/// A native kernel and the name of its entry point.
#[derive(Clone)]
pub struct NativeEntry {
    /// Entry point name, equal to that of the GPU kernel.
    pub name: String,
    /// The implementation.
    pub kernel: Arc<dyn NativeKernel>,
}

impl std::fmt::Debug for NativeEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeEntry").field("name", &self.name).finish_non_exhaustive()
    }
}
