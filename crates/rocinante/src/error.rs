//! What can go wrong between WGSL text and a result.

use roci_hal::Hint;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device URI, the device, or work on it failed.
    #[error(transparent)]
    Device(#[from] roci_hal::Error),
    /// The WGSL text does not compile, or breaks a rule that some driver needs.
    #[error(transparent)]
    Wgsl(#[from] roci_kernels::Error),
    /// The device runs precompiled code only.
    #[error("`{device}` cannot run WGSL: its driver takes {formats} only")]
    NoWgsl {
        /// Device URI.
        device: String,
        /// Code formats of the device.
        formats: String,
    },
    /// clang could not compile the kernel for an AMD GPU.
    #[error("clang cannot compile WGSL for {target}: {reason}")]
    Clang {
        /// Chip name, such as `gfx1010`.
        target: String,
        /// What clang reported, or why it could not be started.
        reason: String,
    },
}

impl Hint for Error {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Device(error) => error.hint(),
            Self::Wgsl(_) => None,
            Self::NoWgsl { .. } => Some("open a Vulkan or OpenCL device; `roci devices` lists them".into()),
            Self::Clang { .. } => Some(
                "install clang and lld 16 or newer with the AMDGPU target (Debian: `clang-22 lld-22`), or open the GPU \
                 through Vulkan"
                    .into(),
            ),
        }
    }
}
