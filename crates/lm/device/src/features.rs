//! Properties of a device that select its kernels.

use roci_hal::{CodeFormat, DeviceInfo, DeviceKind};
use roci_kernels::params::WeightFormat;

use crate::kernel_id::KernelId;
use crate::options::Options;

/// Properties of a device that select its kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    /// Runs native kernels instead of translations of the WGSL kernels.
    pub(crate) native_kernels: bool,
    /// Has matrix units (cooperative matrices), used for batches.
    pub(crate) coopmat: bool,
    /// Has subgroups of at least 32 that are not emulated.
    pub(crate) subgroups: bool,
    /// Quantizes the activations of small batches to 8 bits, and multiplies by packed dot products.
    /// With matrix units these are batches of up to eight tokens.
    pub(crate) packed_dot: bool,
    /// Takes prebuilt kernels, whose register counts are known.
    pub(crate) prebuilt: bool,
    /// Compute units of the smallest physical device.
    pub(crate) compute_units: u32,
}

impl Features {
    pub(crate) fn of(info: &DeviceInfo, options: &Options) -> Self {
        let native_kernels = roci_kernels::runs_native_kernels(info);
        let coopmat_kernel = KernelId::matmul_coopmat(WeightFormat::F16).spec();
        let sizes = &info.capabilities().subgroup_sizes;
        // On a software device packed dot products save no time.
        let has_fast_dot = info.capabilities().integer_dot && !is_software(info);
        let packed_dot = (has_fast_dot || options.force_packed_dot) && !native_kernels && !options.exact;
        Self {
            native_kernels,
            coopmat: !native_kernels && coopmat_kernel.is_ok_and(|kernel| kernel.runs_on(info)),
            subgroups: !native_kernels && !sizes.is_empty() && sizes.iter().all(|size| *size >= 32),
            packed_dot,
            prebuilt: info.formats.contains(&CodeFormat::AmdGcn),
            compute_units: info.physical.iter().map(|physical| physical.compute_units).min().unwrap_or(1),
        }
    }
}

/// Whether any physical device is emulated or a software rasterizer, which runs on the host's CPU.
pub(crate) fn is_software(info: &DeviceInfo) -> bool {
    info.physical.iter().any(|physical| matches!(physical.kind, DeviceKind::Emulated | DeviceKind::Software))
}
