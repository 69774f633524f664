//! Constants.

use roci_hsa::abi::{self, CopyDirection, SignalKind, TABLES, VendorFormat};

/// Constants that are newer than Debian's headers (5.2.3), with the values of the headers of 2025
/// (the last two are newer still). If the installed headers have them, they are compared too.
const NEWER: &[(&str, u64)] = &[
    ("HSA_STATUS_ERROR_OUT_OF_REGISTERS", 0x2d),
    ("HSA_ACCESS_PERMISSION_NONE", 0),
    ("HSA_AMD_AGENT_INFO_MEMORY_AVAIL", 0xa015),
    ("HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY", 0xa016),
    ("HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID", 0xa107),
    ("HSA_AMD_AGENT_INFO_UCODE_VERSION", 0xa108),
    ("HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION", 0xa109),
    ("HSA_AMD_AGENT_INFO_NUM_SDMA_ENG", 0xa10a),
    ("HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG", 0xa10b),
    ("HSA_AMD_AGENT_INFO_IOMMU_SUPPORT", 0xa110),
    ("HSA_AMD_AGENT_INFO_NUM_XCC", 0xa111),
    ("HSA_AMD_AGENT_INFO_DRIVER_UID", 0xa112),
    ("HSA_AMD_AGENT_INFO_NEAREST_CPU", 0xa113),
    ("HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES", 0xa114),
    ("HSA_AMD_AGENT_INFO_AQL_EXTENSIONS", 0xa115),
    ("HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX", 0xa116),
    ("HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT", 0xa117),
    ("HSA_AMD_AGENT_INFO_CLOCK_COUNTERS", 0xa118),
    ("HSA_DEVICE_TYPE_AIE", 0x3),
    ("HSA_AMD_GPU_HW_EXCEPTION_EVENT", 0x1),
    ("HSA_AMD_GPU_MEMORY_ERROR_EVENT", 0x2),
    ("HSA_EXTENSION_AMD_PC_SAMPLING", 0x203),
    ("HSA_AMD_HW_EXCEPTION_CAUSE_GPU_HANG", 0x1),
    ("HSA_AMD_HW_EXCEPTION_CAUSE_ECC", 0x2),
    ("HSA_AMD_HW_EXCEPTION_RESET_TYPE_OTHER", 0x1),
    ("HSA_IOMMU_SUPPORT_NONE", 0),
    ("HSA_IOMMU_SUPPORT_V2", 0x1),
    ("HSA_AMD_MEMORY_POOL_STANDARD_FLAG", 0),
    ("HSA_AMD_MEMORY_POOL_PCIE_FLAG", 0x1),
    ("HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG", 0x2),
    ("HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG", 0x4),
    ("HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED", 0x8),
    ("HSA_AMD_MEMORY_POOL_INFO_LOCATION", 0x11),
    ("HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE", 0x12),
    ("HSA_AMD_MEMORY_POOL_LOCATION_CPU", 0),
    ("HSA_AMD_MEMORY_POOL_LOCATION_GPU", 0x1),
    ("HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU", 0x1),
    ("MEMORY_TYPE_NONE", 0),
    ("MEMORY_TYPE_PINNED", 0x1),
    ("HSA_EXT_POINTER_TYPE_RESERVED_ADDR", 0x5),
    ("HSA_AMD_QUEUE_INFO_AGENT", 0),
    ("HSA_AMD_QUEUE_INFO_DOORBELL_ID", 0x1),
    ("HSA_REGION_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED", 0x8),
    ("HSA_AMD_SVM_ATTRIB_GPU_EXEC", 0x7),
    ("HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED", 0x203),
    ("HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED", 0x204),
    ("HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED", 0x205),
    ("HSA_AMD_SYSTEM_INFO_XNACK_ENABLED", 0x206),
    ("HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR", 0x207),
    ("HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR", 0x208),
    ("HSA_STATUS_ERROR_RESOURCE_BUSY", 0x2e),
    ("HSA_STATUS_ERROR_NOT_SUPPORTED", 0x2f),
    ("HSA_AMD_MEMORY_POOL_UNCACHED_FLAG", 0x8),
    ("HSA_EXT_POINTER_TYPE_HSA_VMEM", 0x6),
];

/// Names with the prefix of a covered type that are not constants of it.
const NOT_CONSTANTS: &[&str] = &["HSA_EXTENSION_STD_LAST", "HSA_AGENT_INFO_LAST"];

/// Prefixes that are too general to claim all names that start with them.
const VAGUE: &[&str] = &["HSA_AMD_MEMORY_POOL_", "HSA_AMD_GPU_", "HSA_AMD_SIGNAL_", "MEMORY_TYPE_"];

#[test]
fn constants_have_the_values_of_the_headers() {
    let Some(headers) = crate::headers() else { return };
    let all: Vec<_> = TABLES.iter().flat_map(|table| table.constants).collect();
    let newer = |constant: &abi::Constant| NEWER.contains(&(constant.name, constant.value));
    let absent: Vec<_> = all.iter().filter(|c| !headers.has(c.name) && !newer(c)).map(|c| c.name).collect();
    assert_eq!(absent, Vec::<&str>::new(), "neither in the headers nor listed as newer with this value");

    let there: Vec<_> = all.iter().filter(|constant| headers.has(constant.name)).collect();
    let values =
        headers.evaluate(&there.iter().map(|constant| format!("(unsigned){}", constant.name)).collect::<Vec<_>>());
    let wrong: Vec<_> =
        there.iter().filter(|c| values[&format!("(unsigned){}", c.name)] != c.value).map(|c| c.name).collect();
    assert_eq!(wrong, Vec::<&str>::new(), "values differ");
    assert!(there.len() > 300, "only {} constants were compared", there.len());
}

#[test]
fn covered_types_have_all_constants_of_the_headers() {
    let Some(headers) = crate::headers() else { return };
    let prefixes: Vec<_> = TABLES.iter().flat_map(|table| table.prefixes).filter(|p| !VAGUE.contains(p)).collect();
    let ours = |name: &str| TABLES.iter().flat_map(|table| table.constants).any(|constant| constant.name == name);
    let unknown: Vec<_> = headers
        .identifiers()
        .filter(|name| prefixes.iter().any(|prefix| name.starts_with(**prefix)))
        .filter(|name| !ours(name) && !NOT_CONSTANTS.contains(name))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new(), "in the headers, but not ours");
}

#[test]
fn constants_without_a_prefix_have_the_values_of_the_headers() {
    let Some(headers) = crate::headers() else { return };
    let ours: &[(&str, u64)] = &[
        ("hsaHostToHost", CopyDirection::HOST_TO_HOST.0.into()),
        ("hsaHostToDevice", CopyDirection::HOST_TO_DEVICE.0.into()),
        ("hsaDeviceToHost", CopyDirection::DEVICE_TO_HOST.0.into()),
        ("hsaDeviceToDevice", CopyDirection::DEVICE_TO_DEVICE.0.into()),
        ("(long long)AMD_SIGNAL_KIND_INVALID", SignalKind::INVALID.0 as u64),
        ("(long long)AMD_SIGNAL_KIND_USER", SignalKind::USER.0 as u64),
        ("(long long)AMD_SIGNAL_KIND_DOORBELL", SignalKind::DOORBELL.0 as u64),
        ("(long long)AMD_SIGNAL_KIND_LEGACY_DOORBELL", SignalKind::LEGACY_DOORBELL.0 as u64),
        ("HSA_AMD_PACKET_TYPE_BARRIER_VALUE", VendorFormat::BARRIER_VALUE.0.into()),
        ("HSA_PACKET_HEADER_BARRIER", abi::PacketHeader::BARRIER_SHIFT.into()),
        ("HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE", abi::PacketHeader::ACQUIRE_SHIFT.into()),
        ("HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE", abi::PacketHeader::RELEASE_SHIFT.into()),
        ("AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER", abi::QueueProperties::ENABLE_TRAP_HANDLER.0.into()),
        ("AMD_QUEUE_PROPERTIES_IS_PTR64", abi::QueueProperties::IS_PTR64.0.into()),
        (
            "AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS",
            abi::QueueProperties::ENABLE_TRAP_HANDLER_DEBUG_SGPRS.0.into(),
        ),
        ("AMD_QUEUE_PROPERTIES_ENABLE_PROFILING", abi::QueueProperties::ENABLE_PROFILING.0.into()),
        ("AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE", abi::QueueProperties::USE_SCRATCH_ONCE.0.into()),
    ];
    let values = headers.evaluate(&ours.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
    for (name, value) in ours {
        assert_eq!(values[*name], *value, "{name}");
    }
}
