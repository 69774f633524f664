//! Runs the native twin of a kernel, as the reference.

use roci_hal::native::{NativeBinding, NativeLaunch};

use super::cases::Case;

/// The buffers of `case` as the native kernel leaves them.
pub(crate) fn run(kernel: &str, case: &Case) -> Result<Vec<Vec<u32>>, String> {
    let native = roci_kernels::native::find(kernel).ok_or_else(|| format!("`{kernel}` has no native twin"))?;
    let mut buffers = case.buffers.clone();
    let bindings: Vec<NativeBinding> = buffers
        .iter_mut()
        .map(|buffer| NativeBinding { pointer: buffer.as_mut_ptr().cast(), length: size_of_val(&buffer[..]) })
        .collect();
    let launch = NativeLaunch { grid: case.grid, bindings: &bindings, constants: &case.constants, workers: 2 };
    let parts = native.prepare(&launch)?;
    for part in 0..parts {
        // SAFETY: the bindings are distinct vectors that live until the end of this function and that nothing else
        // touches, `prepare` accepted the launch, and the loop runs each part once.
        unsafe { native.run(&launch, part, parts) };
    }
    Ok(buffers)
}
