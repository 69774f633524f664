//! What a device says of itself: identity, memory, limits and capabilities.

use crate::executable::CodeFormat;
use crate::memory::MemoryType;
use crate::uri::{DeviceUri, Item, PciAddress};

/// What kind of thing computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// A GPU with memory of its own.
    DiscreteGpu,
    /// A GPU that shares the host's memory.
    IntegratedGpu,
    /// The host's processor, by native kernels.
    Cpu,
    /// An emulated GPU.
    Emulated,
    /// A GPU interface that a CPU renders (lavapipe, PoCL on a CPU).
    Software,
    /// A device that computes nothing.
    Null,
}

impl DeviceKind {
    /// One word or two for tables and messages.
    pub fn describe(self) -> &'static str {
        match self {
            Self::DiscreteGpu => "GPU",
            Self::IntegratedGpu => "integrated GPU",
            Self::Cpu => "CPU",
            Self::Emulated => "emulated GPU",
            Self::Software => "software rasteriser",
            Self::Null => "null device",
        }
    }

    /// Whether it is a real GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::DiscreteGpu | Self::IntegratedGpu)
    }

    /// How much `auto` wants it among the devices of one driver; `None` is never.
    pub fn auto_rank(self) -> Option<u32> {
        match self {
            Self::DiscreteGpu => Some(0),
            Self::IntegratedGpu => Some(1),
            Self::Cpu => Some(2),
            Self::Emulated | Self::Software | Self::Null => None,
        }
    }
}

/// What a device can compute with, as kernels need to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Sub-group sizes that kernels can have; empty without sub-groups.
    pub subgroup_sizes: Vec<u32>,
    /// The size that kernels are to be written for, where whoever opened the device has chosen one: with the device's
    /// own sub-groups if it has that size alone, with lowered ones otherwise.
    pub subgroup_width: Option<u32>,
    /// 16-bit floats can be loaded and stored.
    pub fp16_storage: bool,
    /// 16-bit floats can be computed with.
    pub fp16_arithmetic: bool,
    /// Packed 8-bit dot products.
    pub integer_dot: bool,
    /// Matrix units.
    pub matrix: bool,
    /// Kernels copy their constants block before they read it, because the driver takes one invocation's index into it for
    /// all.
    pub copies_constants: bool,
    /// Bytes of workgroup memory.
    pub workgroup_memory: u32,
    /// Invocations of one workgroup.
    pub max_workgroup_invocations: u32,
    /// Workgroups in each dimension of a grid.
    pub max_grid: [u32; 3],
}

/// One physical device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhysicalInfo {
    /// Name for people.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Who made it, where the driver says so.
    pub vendor: Option<String>,
    /// What the driver stands on, with its version (`rusticl 22.3.6, OpenCL 3.0`), for reports.
    pub runtime: Option<String>,
    /// Chip name (`gfx1010`), for AMD devices.
    pub target: Option<String>,
    /// Stable id, with its `GPU-` prefix. Drivers that know 16 bytes write them as 32 small hexadecimal digits, so that one
    /// card has one id in all of them.
    pub uuid: Option<String>,
    /// Position on the bus.
    pub pci: Option<PciAddress>,
    /// Bytes of memory it can use, as the driver reports it.
    pub memory: u64,
    /// Bytes of memory that the operating system shows for it, where that is known; may differ from what is reported.
    pub true_memory: Option<u64>,
    /// Compute units or cores.
    pub compute_units: u32,
    /// What it can compute with.
    pub capabilities: Capabilities,
    /// What the driver does otherwise on this device than elsewhere, and why: a line each, for people.
    pub quirks: Vec<String>,
}

impl PhysicalInfo {
    /// A device of which nothing else is known.
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

    /// Bytes of memory to plan with: what the operating system shows, or else what the driver reports.
    pub fn usable_memory(&self) -> u64 {
        self.true_memory.unwrap_or(self.memory)
    }

    /// Whether the two are one card, perhaps seen through two drivers: they share a place on the bus or an id. Emulated ones
    /// share nothing with anybody.
    pub fn same_card(&self, other: &Self) -> bool {
        let real = |info: &Self| matches!(info.kind, DeviceKind::DiscreteGpu | DeviceKind::IntegratedGpu);
        let uuid = |info: &Self| info.uuid.as_ref().map(|uuid| uuid.to_ascii_lowercase());
        let same_place = self.pci.is_some() && self.pci == other.pci;
        let same_id = self.uuid.is_some() && uuid(self) == uuid(other);
        real(self) && real(other) && (same_place || same_id)
    }

    /// The most stable way to name it in a URI.
    pub fn item(&self, ordinal: u32) -> Item {
        match (&self.uuid, self.pci) {
            (Some(uuid), _) => Item::Uuid(uuid.clone()),
            (None, Some(pci)) => Item::Pci(pci),
            (None, None) => Item::Ordinal(ordinal),
        }
    }

    /// Whether the two can serve one logical device: the same code runs on both.
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

/// A logical device: one or several physical ones that share memory and run the same code.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Canonical URI; opens the same device again.
    pub uri: DeviceUri,
    /// The physical devices, at least one.
    pub physical: Vec<PhysicalInfo>,
    /// The queues, at least one.
    pub queues: Vec<QueueInfo>,
    /// Memory types that can be allocated.
    pub memory_types: Vec<MemoryType>,
    /// Bytes of one allocation at most.
    pub max_allocation: u64,
    /// Alignment of the offset of a bound range.
    pub binding_alignment: u64,
    /// Bytes of one binding at most; some devices have larger allocations. `u64::MAX` where only the allocation limits it.
    pub max_binding: u64,
    /// Bindings of one dispatch at most.
    pub max_bindings: usize,
    /// Bytes of a constants block at most.
    pub max_constants: usize,
    /// Code that can be loaded, best first.
    pub formats: Vec<CodeFormat>,
}

impl DeviceInfo {
    /// What all its physical devices can compute with: logical devices are made of equals, so the first one's word counts.
    pub fn capabilities(&self) -> &Capabilities {
        &self.physical[0].capabilities
    }

    /// The memory type that it reaches fastest: the first that is its own, or the host's where none is.
    pub fn fastest_memory(&self) -> MemoryType {
        self.memory_types.iter().copied().find(|memory| memory.device_local()).unwrap_or(MemoryType::Host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_known_again_by_its_place_or_its_id() {
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
