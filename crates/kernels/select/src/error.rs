//! Errors of kernel selection and compilation.

/// A kernel is unknown, or cannot be compiled for a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel's source does not compile.
    #[error(transparent)]
    Wgsl(#[from] roci_wgsl::Error),
    /// The table has no kernel of this name.
    #[error("no kernel is called `{name}`; the nearest name is `{nearest}`")]
    UnknownKernel {
        /// The requested name.
        name: String,
        /// The kernel with the longest common prefix.
        nearest: &'static str,
    },
    /// The device accepts none of the code formats that the kernel is available in.
    #[error("kernel `{kernel}` cannot be compiled for {device}, which loads {formats:?}")]
    NoFormat {
        /// Name of the kernel.
        kernel: &'static str,
        /// Name of the device.
        device: String,
        /// The formats that the device accepts.
        formats: Vec<roci_hal::CodeFormat>,
    },
    /// The kernel requires matrix units with subgroups of 32, which the device lacks.
    #[error("kernel `{kernel}` needs matrix units with subgroups of 32, which {device} lacks")]
    NoMatrixUnits {
        /// Name of the kernel.
        kernel: &'static str,
        /// Name of the device.
        device: String,
    },
    /// The kernel requires subgroups of a minimum size, which the device lacks.
    #[error("kernel `{kernel}` needs subgroups of at least {size}, which {device} lacks")]
    NoSubgroups {
        /// Name of the kernel.
        kernel: &'static str,
        /// The minimum size.
        size: u32,
        /// Name of the device.
        device: String,
    },
    /// The prebuilt library has no code object for the chip.
    #[error(transparent)]
    DeviceLibrary(#[from] roci_device_library::Error),
    /// The chip is not a known AMD target.
    #[error("`{chip}` is not an AMD target: {reason}")]
    Chip {
        /// The invalid name.
        chip: String,
        /// Why the name is invalid.
        reason: String,
    },
}
