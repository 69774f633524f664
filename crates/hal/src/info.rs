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
    /// 16-bit floats can be loaded and stored.
    pub fp16_storage: bool,
    /// 16-bit floats can be computed with.
    pub fp16_arithmetic: bool,
    /// Packed 8-bit dot products.
    pub integer_dot: bool,
    /// Matrix units.
    pub matrix: bool,
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
    /// Chip name (`gfx1010`), for AMD devices.
    pub target: Option<String>,
    /// Stable id, with its `GPU-` prefix.
    pub uuid: Option<String>,
    /// Position on the bus.
    pub pci: Option<PciAddress>,
    /// Bytes of memory it can use.
    pub memory: u64,
    /// Compute units or cores.
    pub compute_units: u32,
    /// What it can compute with.
    pub capabilities: Capabilities,
}

impl PhysicalInfo {
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
}
