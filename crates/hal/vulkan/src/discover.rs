//! Enumerates physical devices and queries their properties.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::ffi::CStr;

use ash::vk;
use roci_base::PciAddress;
use roci_base::sysfs::{self, Sysfs};
use roci_hal::{Capabilities, DeviceKind, Error, PhysicalInfo};

use crate::error::{failed, name};
use crate::features::Features;
use crate::instance::{Instance, lists};
use crate::queue_family;
use crate::radeon;

/// Hint if drivers find no device.
const NO_DEVICE: &str =
    "check that /dev/dri has a renderD* for the card and that you can open it (groups `render` and `video`)";

/// A physical device that can compute.
pub(crate) struct PhysicalDevice {
    pub(crate) raw: vk::PhysicalDevice,
    pub(crate) info: PhysicalInfo,
    pub(crate) properties: DeviceProperties,
}

/// Properties that only the driver needs.
pub(crate) struct DeviceProperties {
    /// Highest version of Vulkan that both device and instance support.
    pub(crate) version: u32,
    pub(crate) vendor: u32,
    pub(crate) limits: vk::PhysicalDeviceLimits,
    /// Maximum size of an allocation and of a buffer in bytes.
    pub(crate) max_allocation: u64,
    pub(crate) extensions: Vec<vk::ExtensionProperties>,
    pub(crate) features: Features,
    pub(crate) memory: vk::PhysicalDeviceMemoryProperties,
    pub(crate) families: Vec<vk::QueueFamilyProperties>,
    /// Subgroup sizes that pipelines may require; empty if unsupported.
    pub(crate) subgroup_choice: Vec<u32>,
    /// Maximum subgroups per workgroup if a size is required.
    pub(crate) max_subgroups: u32,
    /// Key of the pipeline cache file.
    pub(crate) identity: Vec<u8>,
    /// Driver, if reported. If two drivers expose one card, the preferred one comes first.
    driver: vk::DriverId,
}

/// Compute-capable devices: GPUs first; of two drivers for one card, the preferred one first.
pub(crate) fn cards(instance: &Instance) -> Result<Vec<PhysicalDevice>, Error> {
    // SAFETY: the instance is alive.
    let found = unsafe { instance.raw.enumerate_physical_devices() }.map_err(|result| match result {
        // The loader's result if all drivers failed, because the card is absent or this user may
        // not open it.
        vk::Result::ERROR_INITIALIZATION_FAILED => Error::Unavailable {
            what: "a Vulkan device".into(),
            reason: format!("no driver found one: {}", name(result)),
            hint: NO_DEVICE.into(),
        },
        _ => failed("the list of Vulkan devices")(result),
    })?;
    let sysfs = Sysfs::system().cards();
    let (mut cards, mut left_out) = (Vec::new(), Vec::new());
    for raw in found {
        match card(instance, raw, &sysfs) {
            Ok(card) => cards.extend(card),
            Err(error) => left_out.push(error),
        }
    }
    if cards.is_empty()
        && let Some(error) = left_out.pop()
    {
        return Err(error);
    }
    let rank = |card: &PhysicalDevice| {
        let kind = card.info.kind.auto_rank().unwrap_or(u32::MAX);
        // AMDVLK is discontinued and can allocate less memory than RADV.
        (kind, u32::from(card.properties.driver == vk::DriverId::AMD_OPEN_SOURCE))
    };
    cards.sort_by_key(rank);
    // The other devices still work; the reason is shown with the first one.
    if let Some(first) = cards.first_mut() {
        first.info.quirks.extend(left_out.iter().map(|error| format!("another device was skipped: {error}")));
    }
    Ok(cards)
}

/// Describes a device. Returns `None` if it is too old or cannot compute.
fn card(instance: &Instance, raw: vk::PhysicalDevice, sysfs: &[sysfs::Card]) -> Result<Option<PhysicalDevice>, Error> {
    // SAFETY: a device of this instance.
    let plain = unsafe { instance.raw.get_physical_device_properties(raw) };
    // SAFETY: as above.
    let families = unsafe { instance.raw.get_physical_device_queue_family_properties(raw) };
    let version = plain.api_version.min(instance.version);
    if version < vk::API_VERSION_1_1 || !families.iter().any(queue_family::computes) {
        return Ok(None);
    }
    let title = plain.device_name_as_c_str().map(CStr::to_string_lossy).unwrap_or_default().into_owned();
    // SAFETY: as above.
    let extensions = unsafe { instance.raw.enumerate_device_extension_properties(raw) };
    let extensions = extensions.map_err(failed(&format!("the extension list of `{title}`")))?;
    let has = |name: &CStr, core: u32| version >= core || lists(&extensions, name);
    let mut features = Features::query(&instance.raw, raw, version, &extensions);

    let mut identity = vk::PhysicalDeviceIDProperties::default();
    let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
    let mut maintenance_3 = vk::PhysicalDeviceMaintenance3Properties::default();
    let mut driver = vk::PhysicalDeviceDriverProperties::default();
    let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
    let mut maintenance_4 = vk::PhysicalDeviceMaintenance4Properties::default();
    let mut dot = vk::PhysicalDeviceShaderIntegerDotProductProperties::default();
    let mut pci = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
    let mut amd = vk::PhysicalDeviceShaderCorePropertiesAMD::default();
    let mut nvidia = vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV::default();
    let mut query = vk::PhysicalDeviceProperties2::default()
        .push_next(&mut identity)
        .push_next(&mut subgroup)
        .push_next(&mut maintenance_3);
    if has(ash::khr::driver_properties::NAME, vk::API_VERSION_1_2) {
        query = query.push_next(&mut driver);
    }
    if features.subgroup_size() {
        query = query.push_next(&mut sizes);
    }
    if has(ash::khr::maintenance4::NAME, vk::API_VERSION_1_3) {
        query = query.push_next(&mut maintenance_4);
    }
    if features.integer_dot() {
        query = query.push_next(&mut dot);
    }
    let has_pci = has(ash::ext::pci_bus_info::NAME, u32::MAX);
    if has_pci {
        query = query.push_next(&mut pci);
    }
    if has(ash::amd::shader_core_properties::NAME, u32::MAX) {
        query = query.push_next(&mut amd);
    }
    if has(ash::nv::shader_sm_builtins::NAME, u32::MAX) {
        query = query.push_next(&mut nvidia);
    }
    // SAFETY: all chained structures are known to the device.
    unsafe { instance.raw.get_physical_device_properties2(raw, &mut query) };
    if subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE) {
        features.subgroups = subgroup.supported_operations;
    }
    // SAFETY: as above.
    let memory = unsafe { instance.raw.get_physical_device_memory_properties(raw) };

    let kind = match plain.device_type {
        vk::PhysicalDeviceType::DISCRETE_GPU | vk::PhysicalDeviceType::VIRTUAL_GPU => DeviceKind::DiscreteGpu,
        vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::IntegratedGpu,
        _ => DeviceKind::Software,
    };
    let pci = has_pci.then_some(PciAddress {
        domain: pci.pci_domain,
        bus: pci.pci_bus as u8,
        device: pci.pci_device as u8,
        function: pci.pci_function as u8,
    });
    let card = sysfs.iter().find(|card| Some(card.pci) == pci);
    let target = match plain.vendor_id {
        sysfs::AMD => card.and_then(|card| card.target.clone()).or_else(|| radeon::target(&title, plain.device_id)),
        _ => None,
    };
    let driver_name = driver.driver_name_as_c_str().map(CStr::to_string_lossy).unwrap_or_default();
    let driver_info = driver.driver_info_as_c_str().map(CStr::to_string_lossy).unwrap_or_default();
    let runtime = format!(
        "{driver_name} {driver_info}, Vulkan {}.{}.{}",
        vk::api_version_major(plain.api_version),
        vk::api_version_minor(plain.api_version),
        vk::api_version_patch(plain.api_version),
    );
    let amd_units = amd.shader_engine_count * amd.shader_arrays_per_engine_count * amd.compute_units_per_shader_array;
    let compute_units = match kind {
        DeviceKind::Software => std::thread::available_parallelism().map_or(0, |count| count.get() as u32),
        _ => amd_units.max(nvidia.shader_sm_count),
    };
    let limits = plain.limits;
    let usable = vk::SubgroupFeatureFlags::BASIC | vk::SubgroupFeatureFlags::ARITHMETIC;
    let subgroup_choice = match features.subgroup_size() {
        true if sizes.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE) => {
            powers_of_two(sizes.min_subgroup_size, sizes.max_subgroup_size)
        }
        _ => Vec::new(),
    };
    let subgroup_sizes = match features.subgroups.contains(usable) {
        true if subgroup_choice.is_empty() => vec![subgroup.subgroup_size],
        true => subgroup_choice.clone(),
        false => Vec::new(),
    };
    let mut key = plain.pipeline_cache_uuid.to_vec();
    key.extend(identity.device_uuid);
    key.extend(identity.driver_uuid);
    key.extend([plain.vendor_id, plain.device_id, plain.driver_version].iter().flat_map(|word| word.to_le_bytes()));
    key.extend(runtime.as_bytes());

    let largest_buffer = if maintenance_4.max_buffer_size > 0 { maintenance_4.max_buffer_size } else { u64::MAX };
    let properties = DeviceProperties {
        version,
        vendor: plain.vendor_id,
        limits,
        max_allocation: maintenance_3.max_memory_allocation_size.min(largest_buffer),
        features,
        memory,
        subgroup_choice,
        max_subgroups: sizes.max_compute_workgroup_subgroups,
        identity: key,
        driver: driver.driver_id,
        extensions,
        families,
    };
    let info = PhysicalInfo {
        vendor: vendor(plain.vendor_id),
        runtime: Some(runtime.trim().to_owned()),
        uuid: uuid(identity.device_uuid),
        pci,
        memory: total_memory(&properties.memory, kind),
        true_memory: card.and_then(|card| card.memory(kind == DeviceKind::IntegratedGpu)),
        compute_units,
        capabilities: Capabilities {
            subgroup_sizes,
            subgroup_width: None,
            fp16_storage: properties.features.fp16_storage(),
            fp16_arithmetic: properties.features.fp16_arithmetic(),
            // Where it is not accelerated, as on RDNA 1, plain arithmetic is faster.
            integer_dot: dot.integer_dot_product4x8_bit_packed_signed_accelerated == vk::TRUE,
            matrix: properties.features.matrix() && has_f16_matrices(instance, raw),
            copies_constants: false,
            workgroup_memory: limits.max_compute_shared_memory_size,
            max_workgroup_invocations: limits.max_compute_work_group_invocations,
            max_grid: limits.max_compute_work_group_count,
        },
        quirks: queue_family::quirk(target.as_deref()).into_iter().collect(),
        target,
        ..PhysicalInfo::new(title, kind)
    };
    Ok(Some(PhysicalDevice { raw, info, properties }))
}

/// Whether the device has cooperative matrices of 16x16 with f16 inputs and f32 accumulators, as
/// kernels need.
fn has_f16_matrices(instance: &Instance, raw: vk::PhysicalDevice) -> bool {
    let functions = ash::khr::cooperative_matrix::Instance::new(&instance.entry, &instance.raw);
    // SAFETY: a device of this instance that has the extension.
    let shapes = unsafe { functions.get_physical_device_cooperative_matrix_properties(raw) };
    shapes.unwrap_or_default().iter().any(|shape| {
        let halves = [shape.a_type, shape.b_type].iter().all(|kind| *kind == vk::ComponentTypeKHR::FLOAT16);
        let floats = [shape.c_type, shape.result_type].iter().all(|kind| *kind == vk::ComponentTypeKHR::FLOAT32);
        let size = [shape.m_size, shape.n_size, shape.k_size] == [16; 3];
        halves && floats && size && shape.scope == vk::ScopeKHR::SUBGROUP
    })
}

/// Bytes that kernels can use: a card's device-local memory, or all memory of an integrated GPU.
fn total_memory(memory: &vk::PhysicalDeviceMemoryProperties, kind: DeviceKind) -> u64 {
    let allocator = memory.memory_heaps_as_slice().iter();
    let counts = |heap: &&vk::MemoryHeap| {
        kind != DeviceKind::DiscreteGpu || heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)
    };
    allocator.filter(counts).map(|heap| heap.size).sum()
}

/// The device UUID. Drivers that do not know it report zeros, which identify nothing.
fn uuid(bytes: [u8; vk::UUID_SIZE]) -> Option<String> {
    (bytes != [0; vk::UUID_SIZE]).then(|| format!("GPU-{}", bytes.map(|byte| format!("{byte:02x}")).concat()))
}

fn powers_of_two(min: u32, max: u32) -> Vec<u32> {
    (0..32).map(|bit| 1u32 << bit).filter(|size| (min..=max).contains(size)).collect()
}

fn vendor(number: u32) -> Option<String> {
    let name = match number {
        sysfs::AMD => "AMD",
        0x10de => "NVIDIA",
        0x8086 => "Intel",
        0x13b5 => "Arm",
        0x5143 => "Qualcomm",
        0x10005 => "Mesa",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroup_sizes_are_powers_of_two() {
        assert_eq!(powers_of_two(32, 64), [32, 64]);
        assert_eq!(powers_of_two(8, 8), [8]);
        assert_eq!(powers_of_two(4, 128), [4, 8, 16, 32, 64, 128]);
        assert!(powers_of_two(0, 0).is_empty());
    }

    #[test]
    fn a_zero_uuid_is_ignored() {
        assert_eq!(uuid([0; 16]), None);
        assert_eq!(uuid([10; 16]).as_deref(), Some("GPU-0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"));
    }
}
