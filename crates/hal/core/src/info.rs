//! Device descriptions: identity, memory, limits and capabilities.

use crate::executable::CodeFormat;
use crate::memory::MemoryType;
use crate::uri::{DeviceSelector, DeviceUri, PciAddress};

/// What computes. `auto` takes only real devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A GPU with dedicated memory.
    DiscreteGpu,
    /// A GPU that shares the host's memory.
    IntegratedGpu,
    /// The host processor, running native kernels.
    Cpu,
    /// An emulated GPU.
    Emulated,
    /// A GPU API implemented on the CPU (lavapipe, PoCL).
    Software,
    /// A device without computation, for tests.
    Null,
}

impl DeviceKind {
    /// Name for tables and messages.
    pub fn describe(self) -> &'static str {
        match self {
            Self::DiscreteGpu => "GPU",
            Self::IntegratedGpu => "integrated GPU",
            Self::Cpu => "CPU",
            Self::Emulated => "emulated GPU",
            Self::Software => "software rasterizer",
            Self::Null => "null device",
        }
    }

    /// Whether it is a real GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::DiscreteGpu | Self::IntegratedGpu)
    }

    /// Rank for `auto` among the devices of one driver, lowest first. `None`: never chosen.
    pub fn auto_rank(self) -> Option<u32> {
        match self {
            Self::DiscreteGpu => Some(0),
            Self::IntegratedGpu => Some(1),
            Self::Cpu => Some(2),
            Self::Emulated | Self::Software | Self::Null => None,
        }
    }
}

/// Capabilities that select and lower kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Supported subgroup sizes; empty without subgroups.
    pub subgroup_sizes: Vec<u32>,
    /// Subgroup size requested by the URI. Kernels use native subgroups if this is the device's
    /// only size, and lowered ones otherwise.
    pub subgroup_width: Option<u32>,
    /// f16 loads and stores.
    pub fp16_storage: bool,
    /// f16 arithmetic.
    pub fp16_arithmetic: bool,
    /// Packed 8-bit dot products.
    pub integer_dot: bool,
    /// Cooperative matrices.
    pub matrix: bool,
    /// Kernels must copy their constants block before indexing it: the driver assumes that the
    /// index is uniform.
    pub copies_constants: bool,
    /// Workgroup memory in bytes.
    pub workgroup_memory: u32,
    /// Maximum number of invocations of a workgroup.
    pub max_workgroup_invocations: u32,
    /// Maximum number of workgroups per dimension of a grid.
    pub max_grid: [u32; 3],
}

/// One physical device.
// Not `#[non_exhaustive]`: the drivers, in crates of their own, build it, and a new field must not
// compile before each of them has set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalInfo {
    /// Marketing name.
    pub name: String,
    /// What computes: a GPU, a CPU, or software.
    pub kind: DeviceKind,
    /// Vendor, if the driver reports one.
    pub vendor: Option<String>,
    /// Underlying runtime with its version (`rusticl 22.3.6, OpenCL 3.0`), for reports.
    pub runtime: Option<String>,
    /// Chip name (`gfx1010`), for AMD devices.
    pub target: Option<String>,
    /// Stable ID with a `GPU-` prefix. 16-byte UUIDs are written as 32 lower-case hexadecimal
    /// digits, so that a card has the same ID in all drivers.
    pub uuid: Option<String>,
    /// PCI address, for devices on a bus whose driver reports it.
    pub pci: Option<PciAddress>,
    /// Memory size in bytes, as the driver reports it.
    pub memory: u64,
    /// Memory size in bytes according to the operating system, if known. May differ from the
    /// driver's.
    pub true_memory: Option<u64>,
    /// Number of compute units or cores.
    pub compute_units: u32,
    /// Capabilities for kernels.
    pub capabilities: Capabilities,
    /// Device-specific workarounds of the driver and their reasons, one line each, for display.
    pub quirks: Vec<String>,
}

impl PhysicalInfo {
    /// A description with a name and kind only.
    pub fn new(name: impl Into<String>, kind: DeviceKind) -> Self {
        Self {
            name: name.into(),
            kind,
            vendor: None,
            runtime: None,
            target: None,
            uuid: None,
            pci: None,
            memory: 0,
            true_memory: None,
            compute_units: 0,
            capabilities: Capabilities::default(),
            quirks: Vec::new(),
        }
    }

    /// Memory size in bytes to plan with: the operating system's value if known, else the driver's.
    pub fn usable_memory(&self) -> u64 {
        self.true_memory.unwrap_or(self.memory)
    }

    /// Whether both describe the same card, possibly through different drivers: same PCI address or
    /// same ID. Only real GPUs are compared.
    pub fn same_card(&self, other: &Self) -> bool {
        let real = |info: &Self| matches!(info.kind, DeviceKind::DiscreteGpu | DeviceKind::IntegratedGpu);
        let uuid = |info: &Self| info.uuid.as_ref().map(|uuid| uuid.to_ascii_lowercase());
        let same_pci = self.pci.is_some() && self.pci == other.pci;
        let same_id = self.uuid.is_some() && uuid(self) == uuid(other);
        real(self) && real(other) && (same_pci || same_id)
    }

    /// The most stable selector for URIs: ID, PCI address, or ordinal.
    pub fn selector(&self, ordinal: u32) -> DeviceSelector {
        match (&self.uuid, self.pci) {
            (Some(uuid), _) => DeviceSelector::Uuid(uuid.clone()),
            (None, Some(pci)) => DeviceSelector::Pci(pci),
            (None, None) => DeviceSelector::Ordinal(ordinal),
        }
    }

    /// Whether both can be part of one logical device, which requires that they run the same code.
    pub fn compatible(&self, other: &Self) -> bool {
        self.kind == other.kind && self.name == other.name && self.target == other.target
    }
}

/// One queue of a logical device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueInfo {
    /// Index into [`DeviceInfo::physical`] of the device that executes it.
    pub physical: usize,
}

/// A logical device: one or more physical devices that share memory and run the same code.
// Not `#[non_exhaustive]`, as `PhysicalInfo`: a driver that forgets a new limit would exceed it.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Canonical URI. It opens the same device again.
    pub uri: DeviceUri,
    /// The physical devices, at least one.
    pub physical: Vec<PhysicalInfo>,
    /// The queues, at least one.
    pub queues: Vec<QueueInfo>,
    /// Supported memory types.
    pub memory_types: Vec<MemoryType>,
    /// Maximum allocation size in bytes.
    pub max_allocation: u64,
    /// Required alignment of the offset of a binding, in bytes.
    pub binding_alignment: u64,
    /// Maximum size of a binding in bytes; `u64::MAX` if only the allocation size limits it.
    pub max_binding: u64,
    /// Maximum number of bindings of a dispatch.
    pub max_bindings: usize,
    /// Maximum size of a constants block in bytes.
    pub max_constants: usize,
    /// Supported code formats, best first.
    pub formats: Vec<CodeFormat>,
}

impl DeviceInfo {
    /// Capabilities of the physical devices, which are all compatible.
    pub fn capabilities(&self) -> &Capabilities {
        &self.physical[0].capabilities
    }

    /// The first device-local memory type, or host memory if there is none.
    pub fn fastest_memory(&self) -> MemoryType {
        self.memory_types.iter().copied().find(|memory| memory.device_local()).unwrap_or(MemoryType::Host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_card_has_the_same_pci_address_or_id() {
        let card = |pci: Option<&str>, uuid: Option<&str>| PhysicalInfo {
            pci: pci.and_then(|text| text.parse().ok()),
            uuid: uuid.map(str::to_owned),
            ..PhysicalInfo::new("card", DeviceKind::DiscreteGpu)
        };
        let whole = card(Some("03:00.0"), Some("GPU-AB"));
        assert!(whole.same_card(&card(Some("0000:03:00.0"), Some("GPU-cd"))));
        assert!(whole.same_card(&card(None, Some("GPU-ab"))));
        assert!(!whole.same_card(&card(Some("04:00.0"), None)));
        assert!(!card(None, None).same_card(&card(None, None)));
        let emulated = PhysicalInfo { kind: DeviceKind::Emulated, ..whole.clone() };
        assert!(!whole.same_card(&emulated));
    }
}
