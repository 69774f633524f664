//! What there is: the devices of an instance, and what each says of itself.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::ffi::CStr;

use ash::vk;
use roci_hal::sysfs::{self, Sysfs};
use roci_hal::uri::PciAddress;
use roci_hal::{Capabilities, DeviceKind, Error, PhysicalInfo};

use crate::families;
use crate::fault::{failed, name};
use crate::features::Features;
use crate::instance::{Instance, lists};
use crate::radeon;

/// What people do when drivers find no card.
const NO_DEVICE: &str =
    "see whether /dev/dri has a renderD* for the card, and whether you may open it (groups `render` and `video`)";

/// A device.
pub(crate) struct Card {
    pub(crate) raw: vk::PhysicalDevice,
    pub(crate) info: PhysicalInfo,
    pub(crate) facts: Facts,
}

/// What the driver itself needs to know of a device.
pub(crate) struct Facts {
    /// The version of Vulkan that both it and the instance know.
    pub(crate) version: u32,
    pub(crate) vendor: u32,
    pub(crate) limits: vk::PhysicalDeviceLimits,
    /// Bytes of one allocation, and of one buffer.
    pub(crate) max_allocation: u64,
    pub(crate) extensions: Vec<vk::ExtensionProperties>,
    pub(crate) features: Features,
    pub(crate) memory: vk::PhysicalDeviceMemoryProperties,
    pub(crate) families: Vec<vk::QueueFamilyProperties>,
    /// Sizes that kernels may ask for; none where they may not.
    pub(crate) subgroup_choice: Vec<u32>,
    /// How many sub-groups of a chosen size a workgroup may have.
    pub(crate) max_subgroups: u32,
    /// What a file of compiled kernels must agree with.
    pub(crate) identity: Vec<u8>,
    /// Which driver, where it says so: the better of two for one card comes first.
    driver: vk::DriverId,
}

/// The devices of an instance that can compute: GPUs first, and of one card the better driver.
pub(crate) fn cards(instance: &Instance) -> Result<Vec<Card>, Error> {
    // SAFETY: the instance lives.
    let found = unsafe { instance.raw.enumerate_physical_devices() }.map_err(|result| match result {
        // What the loader says when every driver failed: of a card that is absent, or that this user may not open.
        vk::Result::ERROR_INITIALIZATION_FAILED => Error::Unavailable {
            what: "a Vulkan device".into(),
            reason: format!("no driver finds one: {}", name(result)),
            hint: NO_DEVICE.into(),
        },
        _ => failed("Vulkan's list of devices")(result),
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
    let rank = |card: &Card| {
        let kind = card.info.kind.auto_rank().unwrap_or(u32::MAX);
        // AMD's own driver is given up and takes less memory than Mesa's.
        (kind, u32::from(card.facts.driver == vk::DriverId::AMD_OPEN_SOURCE))
    };
    cards.sort_by_key(rank);
    // The others work all the same; people see the reason beside the first of them.
    if let Some(first) = cards.first_mut() {
        first.info.quirks.extend(left_out.iter().map(|error| format!("another device was left out: {error}")));
    }
    Ok(cards)
}

/// A device; `None` where it is too old or cannot compute.
fn card(instance: &Instance, raw: vk::PhysicalDevice, sysfs: &[sysfs::Card]) -> Result<Option<Card>, Error> {
    // SAFETY: a device of this instance.
    let plain = unsafe { instance.raw.get_physical_device_properties(raw) };
    // SAFETY: as above.
    let families = unsafe { instance.raw.get_physical_device_queue_family_properties(raw) };
    let version = plain.api_version.min(instance.version);
    if version < vk::API_VERSION_1_1 || !families.iter().any(families::computes) {
        return Ok(None);
    }
    let title = plain.device_name_as_c_str().map(CStr::to_string_lossy).unwrap_or_default().into_owned();
    // SAFETY: as above.
    let extensions = unsafe { instance.raw.enumerate_device_extension_properties(raw) };
    let extensions = extensions.map_err(failed(&format!("`{title}`, whose list of extensions is needed,")))?;
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
    // SAFETY: structures that the device knows.
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
    let seen = sysfs.iter().find(|card| Some(card.pci) == pci);
    let target = match plain.vendor_id {
        sysfs::AMD => seen.and_then(|card| card.target.clone()).or_else(|| radeon::target(&title, plain.device_id)),
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
            powers(sizes.min_subgroup_size, sizes.max_subgroup_size)
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
    let facts = Facts {
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
        memory: total_memory(&facts.memory, kind),
        true_memory: seen.and_then(|card| card.memory(kind == DeviceKind::IntegratedGpu)),
        compute_units,
        capabilities: Capabilities {
            subgroup_sizes,
            subgroup_width: None,
            fp16_storage: facts.features.fp16_storage(),
            fp16_arithmetic: facts.features.fp16_arithmetic(),
            // Where it only works, as on RDNA 1, kernels do better with plain arithmetic.
            integer_dot: dot.integer_dot_product4x8_bit_packed_signed_accelerated == vk::TRUE,
            matrix: facts.features.matrix() && multiplies_halves(instance, raw),
            copies_constants: false,
            workgroup_memory: limits.max_compute_shared_memory_size,
            max_workgroup_invocations: limits.max_compute_work_group_invocations,
            max_grid: limits.max_compute_work_group_count,
        },
        quirks: families::quirk(target.as_deref()).into_iter().collect(),
        target,
        ..PhysicalInfo::new(title, kind)
    };
    Ok(Some(Card { raw, info, facts }))
}

/// Whether the device multiplies 16 x 16 matrices of halves into sums of floats, which is what kernels ask of matrix units.
fn multiplies_halves(instance: &Instance, raw: vk::PhysicalDevice) -> bool {
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

/// The bytes that kernels can work on: a card's own, or all that an integrated GPU reaches.
fn total_memory(memory: &vk::PhysicalDeviceMemoryProperties, kind: DeviceKind) -> u64 {
    let heaps = memory.memory_heaps_as_slice().iter();
    let counts = |heap: &&vk::MemoryHeap| {
        kind != DeviceKind::DiscreteGpu || heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL)
    };
    heaps.filter(counts).map(|heap| heap.size).sum()
}

/// How a device is told from its like; drivers that know nothing give zeros, which are no identity.
fn uuid(bytes: [u8; vk::UUID_SIZE]) -> Option<String> {
    (bytes != [0; vk::UUID_SIZE]).then(|| format!("GPU-{}", bytes.map(|byte| format!("{byte:02x}")).concat()))
}

fn powers(least: u32, most: u32) -> Vec<u32> {
    (0..32).map(|bit| 1u32 << bit).filter(|size| (least..=most).contains(size)).collect()
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
    fn sizes_of_sub_groups_are_powers_of_two() {
        assert_eq!(powers(32, 64), [32, 64]);
        assert_eq!(powers(8, 8), [8]);
        assert_eq!(powers(4, 128), [4, 8, 16, 32, 64, 128]);
        assert!(powers(0, 0).is_empty());
    }

    #[test]
    fn zeros_are_no_identity() {
        assert_eq!(uuid([0; 16]), None);
        assert_eq!(uuid([10; 16]).as_deref(), Some("GPU-0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"));
    }
}
