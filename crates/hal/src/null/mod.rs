//! The null driver: real memory, fills and copies; kernels that do nothing.
//!
//! It shows what a driver must implement, and it carries the tests of everything that the HAL itself does (validation,
//! ordering, staging, pools, URIs, logical devices) on a machine with no device at all. It executes a batch at once, on
//! the thread that hands it over. `auto` never chooses it.

mod device;

use std::sync::Arc;

use crate::driver::{DeviceBackend, Driver, OpenRequest};
use crate::error::Error;
use crate::executable::CodeFormat;
use crate::info::{Capabilities, DeviceKind, PhysicalInfo};

use device::NullDevice;

/// The scheme of its URIs.
pub const SCHEME: &str = "null";

/// A driver with as many null devices as wanted.
pub struct NullDriver {
    devices: Vec<PhysicalInfo>,
    max_binding: u64,
    formats: Vec<CodeFormat>,
}

impl NullDriver {
    /// `count` devices that can form one logical device.
    pub fn new(count: u8) -> Self {
        Self::of((0..count).map(|_| "gfx0000"))
    }

    /// A device for each chip name; devices of one chip can form one logical device.
    pub fn of<'a>(targets: impl IntoIterator<Item = &'a str>) -> Self {
        let devices = targets.into_iter().enumerate().map(|(index, target)| describe(index, target)).collect();
        let formats = vec![CodeFormat::Native, CodeFormat::Spirv, CodeFormat::OpenClC, CodeFormat::AmdGcn];
        Self { devices, max_binding: u64::MAX, formats }
    }

    /// The same with a limit of the bytes of one binding.
    #[must_use]
    pub fn with_max_binding(self, max_binding: u64) -> Self {
        Self { max_binding, ..self }
    }

    /// The same with devices that load code of these formats alone, best first.
    #[must_use]
    pub fn with_formats(self, formats: Vec<CodeFormat>) -> Self {
        Self { formats, ..self }
    }
}

fn describe(index: usize, target: &str) -> PhysicalInfo {
    PhysicalInfo {
        target: Some(target.into()),
        uuid: Some(format!("GPU-{index:016x}")),
        memory: 1 << 30,
        compute_units: 1,
        capabilities: Capabilities {
            workgroup_memory: 32 << 10,
            max_workgroup_invocations: 1024,
            max_grid: [65_535; 3],
            ..Capabilities::default()
        },
        ..PhysicalInfo::new(format!("Null {target}"), DeviceKind::Null)
    }
}

impl Driver for NullDriver {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn summary(&self) -> &'static str {
        "memory without computation, for tests"
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        Ok(self.devices.clone())
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        Ok(Arc::new(NullDevice::new(request, self.max_binding, self.formats.clone())))
    }
}
