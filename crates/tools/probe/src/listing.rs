//! The devices of all drivers, as `roci devices --json` prints them and as its readers parse them.

use roci_base::Hint;
use roci_hal::registry::Enumeration;
use roci_hal::{Capabilities, DeviceKind, PhysicalInfo, Registry};
use serde::{Deserialize, Serialize};

/// The devices of one driver.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListedDriver {
    /// Scheme of the driver's URIs.
    pub driver: String,
    /// Description of one line.
    pub summary: String,
    /// Why the driver is not available; null if it is.
    pub error: Option<String>,
    /// The remedy.
    pub hint: Option<String>,
    /// The devices, in the order of their ordinals.
    pub devices: Vec<ListedDevice>,
}

/// One device through one driver.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListedDevice {
    /// URI that opens it.
    pub uri: String,
    /// Name that the driver reports.
    pub name: String,
    /// Kind of device, as [`DeviceKind::describe`] has it.
    pub kind: String,
    /// Chip, such as `gfx1013`.
    pub target: Option<String>,
    /// Vendor as the driver reports it.
    pub vendor: Option<String>,
    /// The driver's runtime with its version.
    pub runtime: Option<String>,
    /// UUID that the driver reports.
    pub uuid: Option<String>,
    /// PCI address.
    pub pci: Option<String>,
    /// The memory that the driver reports.
    pub memory_bytes: u64,
    /// The memory that the operating system reports; null if unknown.
    pub true_memory_bytes: Option<u64>,
    /// Compute units, or cores of a CPU.
    pub compute_units: u32,
    /// f16 support: `yes`, `storage` or `no`.
    pub fp16: String,
    /// Whether the device has packed dot products of 8-bit integers.
    pub integer_dot: bool,
    /// Whether the device has matrix units.
    pub matrix_units: bool,
    /// Sizes that kernels can have; empty without subgroups.
    pub subgroup_sizes: Vec<u32>,
    /// Shared memory of a workgroup.
    pub workgroup_memory_bytes: u32,
    /// URIs of the same card through other drivers.
    pub same_card: Vec<String>,
    /// Known limitations of the device or its driver.
    pub quirks: Vec<String>,
}

impl ListedDevice {
    /// Whether the device is an emulated GPU.
    pub fn is_emulated(&self) -> bool {
        self.kind.contains("emulated")
    }

    /// Whether the device is a software rasterizer.
    pub fn is_software(&self) -> bool {
        self.kind.contains("software")
    }

    /// Whether the device is a GPU, real or emulated.
    pub fn is_gpu(&self) -> bool {
        self.kind.contains("GPU")
    }
}

/// Enumerates all drivers. The null driver and its devices are listed only if `all`.
pub fn list(registry: &Registry, all: bool) -> Vec<ListedDriver> {
    let found = registry.enumerate();
    let mut drivers: Vec<_> = found.iter().map(|driver| describe_driver(driver, &found, all)).collect();
    drivers.retain(|driver| all || driver.driver != roci_hal::null::SCHEME);
    drivers
}

/// Parses the output of `roci devices --json`.
pub fn parse(output: &str) -> Result<Vec<ListedDriver>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Output {
        drivers: Vec<ListedDriver>,
    }
    serde_json::from_str::<Output>(output).map(|output| output.drivers)
}

fn describe_driver(found: &Enumeration, others: &[Enumeration], all: bool) -> ListedDriver {
    let driver = found.driver.as_ref();
    let error = found.devices.as_ref().err();
    let listed = devices(found).filter(|(_, info)| all || info.kind != DeviceKind::Null);
    ListedDriver {
        driver: driver.scheme().to_owned(),
        summary: driver.summary().to_owned(),
        error: error.map(ToString::to_string),
        hint: error.and_then(Hint::hint),
        devices: listed.map(|(uri, info)| describe_device(uri, info, others)).collect(),
    }
}

/// The devices of a driver with their URIs.
fn devices(found: &Enumeration) -> impl Iterator<Item = (String, &PhysicalInfo)> {
    let devices = found.devices.as_deref().unwrap_or_default();
    devices.iter().enumerate().filter_map(|(ordinal, info)| Some((found.uri(ordinal)?.to_string(), info)))
}

fn describe_device(uri: String, info: &PhysicalInfo, drivers: &[Enumeration]) -> ListedDevice {
    let others = drivers.iter().flat_map(devices).filter(|(other, twin)| *other != uri && info.same_card(twin));
    ListedDevice {
        same_card: others.map(|(other, _)| other).collect(),
        uri,
        name: info.name.clone(),
        kind: info.kind.describe().to_owned(),
        target: info.target.clone(),
        vendor: info.vendor.clone(),
        runtime: info.runtime.clone(),
        uuid: info.uuid.clone(),
        pci: info.pci.map(|address| address.to_string()),
        memory_bytes: info.memory,
        true_memory_bytes: info.true_memory,
        compute_units: info.compute_units,
        fp16: fp16(&info.capabilities).to_owned(),
        integer_dot: info.capabilities.integer_dot,
        matrix_units: info.capabilities.matrix,
        subgroup_sizes: info.capabilities.subgroup_sizes.clone(),
        workgroup_memory_bytes: info.capabilities.workgroup_memory,
        quirks: info.quirks.clone(),
    }
}

fn fp16(capabilities: &Capabilities) -> &'static str {
    match (capabilities.fp16_arithmetic, capabilities.fp16_storage) {
        (true, _) => "yes",
        (false, true) => "storage",
        (false, false) => "no",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roci_hal::Error;
    use roci_hal::driver::{DeviceBackend, Driver, OpenRequest};

    use super::*;

    /// A driver with one device, which cannot be opened.
    struct FakeDriver(&'static str, PhysicalInfo);

    impl Driver for FakeDriver {
        fn scheme(&self) -> &'static str {
            self.0
        }

        fn summary(&self) -> &'static str {
            "a card"
        }

        fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
            Ok(vec![self.1.clone()])
        }

        fn open(&self, _: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
            Err(Error::invalid("open", "there is no card"))
        }
    }

    #[test]
    fn a_card_lists_its_uris_through_other_drivers() {
        let card = |uuid: Option<&str>| PhysicalInfo {
            pci: "03:00.0".parse().ok(),
            uuid: uuid.map(str::to_owned),
            ..PhysicalInfo::new("card", DeviceKind::DiscreteGpu)
        };
        let registry = Registry::new()
            .with(FakeDriver("amdgpu", card(Some("GPU-0123"))))
            .with(FakeDriver("vulkan", card(None)))
            .with(FakeDriver("opencl", card(None)))
            .with(FakeDriver("cpu", PhysicalInfo::new("processor", DeviceKind::Cpu)));
        let drivers = list(&registry, false);
        let device = |driver: usize| &drivers[driver].devices[0];
        let (amdgpu, vulkan, opencl) = ("amdgpu://GPU-0123", "vulkan://pci/0000:03:00.0", "opencl://pci/0000:03:00.0");
        assert_eq!(device(0).same_card, [vulkan, opencl]);
        assert_eq!(device(2).same_card, [amdgpu, vulkan]);
        assert!(device(3).same_card.is_empty());
        let text = serde_json::json!({ "schema": "roci.devices", "drivers": drivers }).to_string();
        let parsed = parse(&text).expect("it was printed by this version");
        assert_eq!(parsed[1].devices[0].uri, vulkan);
        assert!(parsed[1].devices[0].is_gpu() && !parsed[3].devices[0].is_gpu());
        assert!(parse("nonsense").is_err());
    }
}
