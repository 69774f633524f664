//! The null driver: real memory, fills and copies, but kernels do nothing.
//!
//! It is the minimal driver, and the one that tests of the HAL use (validation, ordering, staging,
//! pools, URIs, logical devices), without any hardware. It executes a batch synchronously, on the
//! thread that submits it. `auto` never chooses it.

mod device;

use std::sync::Arc;

use crate::driver::{DeviceBackend, Driver, OpenRequest};
use crate::error::Error;
use crate::executable::CodeFormat;
use crate::info::{Capabilities, DeviceKind, PhysicalInfo};

use device::NullDevice;

/// URI scheme of the driver.
pub const SCHEME: &str = "null";

/// A driver with a given number of null devices.
#[derive(Debug)]
pub struct NullDriver {
    devices: Vec<PhysicalInfo>,
    max_binding: u64,
    formats: Vec<CodeFormat>,
}

impl NullDriver {
    /// `count` devices that can form one logical device.
    pub fn new(count: u8) -> Self {
        Self::with_targets((0..count).map(|_| "gfx0000"))
    }

    /// One device per chip name. Devices of the same chip can form one logical device.
    pub fn with_targets<'a>(targets: impl IntoIterator<Item = &'a str>) -> Self {
        let devices = targets.into_iter().enumerate().map(|(index, target)| describe(index, target)).collect();
        let formats = vec![CodeFormat::Native, CodeFormat::Spirv, CodeFormat::OpenClC, CodeFormat::AmdGcn];
        Self { devices, max_binding: u64::MAX, formats }
    }

    /// Sets the maximum size of a binding in bytes.
    #[must_use]
    pub fn with_max_binding(self, max_binding: u64) -> Self {
        Self { max_binding, ..self }
    }

    /// Sets the supported code formats, best first.
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
