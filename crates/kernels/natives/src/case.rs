//! Runs the test cases of kernel families.

use roci_families::cases::Case;
use roci_hal::native::{NativeBinding, NativeLaunch};

use crate::{Level, find_for};

/// Runs a case with the native kernel at one level and returns its buffers; an error if there is no
/// such kernel or it rejects the case.
pub fn run_case(kernel: &str, level: Level, case: &Case) -> Result<Vec<Vec<u32>>, String> {
    let native = find_for(kernel, level).ok_or_else(|| format!("`{kernel}` has no native twin"))?;
    let mut buffers = case.buffers.clone();
    let bindings: Vec<NativeBinding> = buffers
        .iter_mut()
        .map(|buffer| NativeBinding { pointer: buffer.as_mut_ptr().cast(), length: size_of_val(&buffer[..]) })
        .collect();
    let launch = NativeLaunch { grid: case.grid, bindings: &bindings, constants: &case.constants, workers: 2 };
    let parts = native.prepare(&launch)?;
    for part in 0..parts {
        // SAFETY: the bindings are distinct vectors that live until the end of this function and
        // that nothing else accesses, `prepare` accepted the launch, and the loop runs each part
        // once.
        unsafe { native.run(&launch, part, parts) };
    }
    Ok(buffers)
}
