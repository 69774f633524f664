//! Device properties as OpenCL reports them.

use cl3::device;

use crate::cl::DeviceId;

/// Query constants missing from the bindings: NVIDIA's PCI domain.
const PCI_DOMAIN_NV: u32 = 0x400a;
/// Intel's list of sub-group sizes.
const SUB_GROUP_SIZES_INTEL: u32 = 0x4108;
/// AMD's board name; the device name is that of the chip.
const BOARD_NAME_AMD: u32 = 0x4038;

/// Extensions that kernels with native sub-groups may need. If one is missing, sub-groups are
/// lowered.
const SUBGROUP_EXTENSIONS: [&str; 5] = [
    "cl_khr_subgroups",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
];

/// Query results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceProperties {
    pub(crate) platform: String,
    pub(crate) name: String,
    pub(crate) board: Option<String>,
    pub(crate) vendor: String,
    pub(crate) driver: String,
    /// For example `OpenCL 3.0 …`.
    pub(crate) version: String,
    pub(crate) device_type: u64,
    pub(crate) usable: bool,
    pub(crate) compute_units: u32,
    pub(crate) memory: u64,
    pub(crate) max_allocation: u64,
    pub(crate) unified: bool,
    /// Fine-grained SVM: host and device may access the same memory concurrently.
    pub(crate) fine_grained: bool,
    pub(crate) out_of_order: bool,
    /// Whether queues support profiling.
    pub(crate) profiles: bool,
    pub(crate) local_memory: u64,
    pub(crate) max_group: u64,
    /// Minimum buffer alignment in bytes.
    pub(crate) alignment: u64,
    /// Maximum total size of a kernel's arguments in bytes.
    pub(crate) max_arguments: u64,
    pub(crate) extensions: Vec<String>,
    pub(crate) subgroup_sizes: Vec<u32>,
    pub(crate) pci_khr: Option<[u32; 4]>,
    pub(crate) pci_amd: Option<[u8; 3]>,
    pub(crate) pci_nv: Option<[u32; 3]>,
    /// Major compute capability of an NVIDIA GPU.
    pub(crate) generation_nv: Option<u32>,
    pub(crate) uuid: Option<[u8; 16]>,
}

impl DeviceProperties {
    /// Queries a device of a platform.
    pub(crate) fn ask(platform: &str, id: DeviceId) -> Self {
        let device = Device(id);
        let fine = device.number(device::CL_DEVICE_SVM_CAPABILITIES) & device::CL_DEVICE_SVM_FINE_GRAIN_BUFFER;
        let order = cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        let bytes = |what| device.bytes(what).unwrap_or_default();
        let extensions: Vec<_> =
            device.text(device::CL_DEVICE_EXTENSIONS).split_whitespace().map(str::to_owned).collect();
        let mut properties = Self {
            platform: platform.to_owned(),
            name: device.text(device::CL_DEVICE_NAME),
            board: Some(device.text(BOARD_NAME_AMD)).filter(|name| !name.is_empty()),
            vendor: device.text(device::CL_DEVICE_VENDOR),
            driver: device.text(device::CL_DRIVER_VERSION),
            version: device.text(device::CL_DEVICE_VERSION),
            device_type: device.number(device::CL_DEVICE_TYPE),
            usable: [
                device::CL_DEVICE_AVAILABLE,
                device::CL_DEVICE_COMPILER_AVAILABLE,
                device::CL_DEVICE_ENDIAN_LITTLE,
            ]
            .iter()
            .all(|what| device.number(*what) != 0),
            compute_units: device.number(device::CL_DEVICE_MAX_COMPUTE_UNITS) as u32,
            memory: device.number(device::CL_DEVICE_GLOBAL_MEM_SIZE),
            max_allocation: device.number(device::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
            unified: device.number(device::CL_DEVICE_HOST_UNIFIED_MEMORY) != 0,
            fine_grained: fine != 0,
            out_of_order: device.number(device::CL_DEVICE_QUEUE_ON_HOST_PROPERTIES) & order != 0,
            profiles: device.number(device::CL_DEVICE_PROFILING_TIMER_RESOLUTION) > 0,
            local_memory: device.number(device::CL_DEVICE_LOCAL_MEM_SIZE),
            max_group: device.number(device::CL_DEVICE_MAX_WORK_GROUP_SIZE),
            alignment: device.number(device::CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8,
            max_arguments: device.number(device::CL_DEVICE_MAX_PARAMETER_SIZE),
            extensions,
            subgroup_sizes: Vec::new(),
            pci_khr: words(&bytes(device::CL_DEVICE_PCI_BUS_INFO_KHR)).try_into().ok(),
            pci_amd: topology(&bytes(device::CL_DEVICE_TOPOLOGY_AMD)),
            pci_nv: None,
            generation_nv: None,
            uuid: None,
        };
        if properties.has("cl_khr_device_uuid") {
            properties.uuid = bytes(device::CL_DEVICE_UUID_KHR).first_chunk().copied();
        }
        if properties.has("cl_nv_device_attribute_query") {
            let word = |what| words(&bytes(what)).first().copied();
            properties.generation_nv = word(device::CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
            properties.pci_nv = word(device::CL_DEVICE_PCI_BUS_ID_NV)
                .zip(word(device::CL_DEVICE_PCI_SLOT_ID_NV))
                .map(|(bus, slot)| [word(PCI_DOMAIN_NV).unwrap_or(0), bus, slot]);
        }
        if SUBGROUP_EXTENSIONS.iter().all(|extension| properties.has(extension)) {
            properties.subgroup_sizes = subgroup_sizes(&device, &properties);
        }
        properties
    }

    /// Whether it lists exactly this extension.
    pub(crate) fn has(&self, extension: &str) -> bool {
        self.extensions.iter().any(|known| known == extension)
    }

    /// Major and minor OpenCL version.
    pub(crate) fn opencl(&self) -> Option<(u32, u32)> {
        let number = self.version.strip_prefix("OpenCL ")?.split_whitespace().next()?;
        let (major, minor) = number.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// The sizes that a vendor extension reports. Empty if none does: a kernel cannot be written for an
/// unknown size.
fn subgroup_sizes(device: &Device, properties: &DeviceProperties) -> Vec<u32> {
    let bytes = |what| device.bytes(what).unwrap_or_default();
    if properties.has("cl_intel_required_subgroup_size") {
        let sizes = bytes(SUB_GROUP_SIZES_INTEL);
        return sizes
            .chunks_exact(8)
            .map(|size| u64::from_ne_bytes(size.try_into().unwrap_or_default()) as u32)
            .collect();
    }
    if properties.has("cl_amd_device_attribute_query") {
        return words(&bytes(device::CL_DEVICE_WAVEFRONT_WIDTH_AMD));
    }
    if properties.has("cl_nv_device_attribute_query") {
        return words(&bytes(device::CL_DEVICE_WARP_SIZE_NV));
    }
    Vec::new()
}

struct Device(DeviceId);

impl Device {
    fn bytes(&self, what: u32) -> Option<Vec<u8>> {
        device::get_device_data(self.0.0, what).ok()
    }

    /// A 4- or 8-byte integer; 0 if the device does not know the query.
    fn number(&self, what: u32) -> u64 {
        let bytes = self.bytes(what).unwrap_or_default();
        let wide = bytes.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        wide.or_else(|| words(&bytes).first().map(|word| (*word).into())).unwrap_or(0)
    }

    fn text(&self, what: u32) -> String {
        text(&self.bytes(what).unwrap_or_default())
    }
}

/// Decodes a NUL-terminated string.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap_or_default())).collect()
}

/// Bus, device and function of AMD's topology structure: a type (1 for PCIe) and 20 bytes, the last
/// three of which hold the address.
fn topology(bytes: &[u8]) -> Option<[u8; 3]> {
    let kind = u32::from_ne_bytes(*bytes.first_chunk()?);
    let last = bytes.get(21..24)?;
    (kind == 1).then(|| [last[0], last[1], last[2]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_or_are_none() {
        let version = |text: &str| DeviceProperties { version: text.into(), ..DeviceProperties::default() }.opencl();
        assert_eq!(version("OpenCL 3.0 PoCL HSTR: pthread"), Some((3, 0)));
        assert_eq!(version("OpenCL 1.1 Mesa 22.3.6"), Some((1, 1)));
        assert_eq!(version("OpenGL 4.6"), None);
        assert_eq!(version("OpenCL x"), None);
    }

    #[test]
    fn amds_topology_is_read_only_for_pcie() {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&1u32.to_ne_bytes());
        bytes[21..].copy_from_slice(&[3, 0, 1]);
        assert_eq!(topology(&bytes), Some([3, 0, 1]));
        bytes[0] = 2;
        assert_eq!(topology(&bytes), None);
        assert_eq!(topology(&bytes[..20]), None);
    }
}
