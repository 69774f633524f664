//! Enumerates this machine's CPU.

use std::num::NonZero;
use std::sync::Arc;

use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::uri::{UriError, UriErrorKind};
use roci_hal::{Capabilities, DeviceKind, Error, PhysicalInfo};

use crate::device::CpuDevice;

/// URI scheme.
pub const SCHEME: &str = "cpu";

/// Maximum number of worker threads of one device.
const MAX_THREADS: usize = 1024;
/// Memory size assumed when `/proc/meminfo` cannot be read.
const FALLBACK_MEMORY: u64 = 4 << 30;

/// Exposes the host's processor as devices; the scheme is `cpu`.
#[derive(Debug)]
pub struct CpuDriver {
    devices: usize,
}

impl CpuDriver {
    /// Exposes the whole processor as one device.
    pub fn new() -> Self {
        Self::split(1)
    }

    /// Exposes the processor as several devices, for tests of logical devices. Each has its own
    /// queues and workers; a logical device pools them.
    pub fn split(devices: u8) -> Self {
        Self { devices: devices.max(1).into() }
    }
}

impl Default for CpuDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver for CpuDriver {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn summary(&self) -> &'static str {
        "this machine's CPU, with native kernels"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { key: "threads", help: "worker threads (default: one for each core)" }]
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        let device = PhysicalInfo {
            memory: memory_size(),
            compute_units: u32::try_from(self.cores()).unwrap_or(u32::MAX),
            capabilities: Capabilities {
                subgroup_sizes: Vec::new(),
                subgroup_width: None,
                fp16_storage: true,
                fp16_arithmetic: false,
                integer_dot: false,
                matrix: false,
                copies_constants: false,
                workgroup_memory: 64 << 10,
                max_workgroup_invocations: 1024,
                max_grid: [u32::MAX; 3],
            },
            ..PhysicalInfo::new(processor_name(), DeviceKind::Cpu)
        };
        Ok(vec![device; self.devices])
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let threads = match request.uri.parameter("threads") {
            None => self.cores() * request.physical.len(),
            Some(text) => text.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads)).ok_or_else(|| {
                let reason = UriErrorKind::BadValue {
                    key: "threads".into(),
                    value: text.into(),
                    expected: format!("a number from 1 to {MAX_THREADS}"),
                };
                UriError::new(request.uri.to_string(), reason)
            })?,
        };
        Ok(Arc::new(CpuDevice::open(request, threads)?))
    }
}

impl CpuDriver {
    /// Cores per device.
    fn cores(&self) -> usize {
        std::thread::available_parallelism().map_or(1, NonZero::get).div_ceil(self.devices)
    }
}

fn processor_name() -> String {
    let field = |name: &str| first_field("/proc/cpuinfo", name);
    field("model name").filter(|name| !name.is_empty()).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn memory_size() -> u64 {
    let kilobytes =
        first_field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    kilobytes.map_or(FALLBACK_MEMORY, |kilobytes| kilobytes.saturating_mul(1024))
}

/// Value of the first `name: value` line of a file in `/proc`.
fn first_field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let value_of =
        |line: &str| line.split_once(':').filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().into());
    text.lines().find_map(value_of)
}
