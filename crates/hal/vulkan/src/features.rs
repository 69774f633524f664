//! Optional features beyond Vulkan 1.1: queried at run time, then enabled.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::ffi::CStr;
use std::ptr::null_mut;

use ash::vk;

use crate::instance::lists;

/// Feature structures for query and enablement; absent if the device does not know them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Features {
    pub(crate) core: vk::PhysicalDeviceFeatures,
    storage_16: Option<vk::PhysicalDevice16BitStorageFeatures<'static>>,
    storage_8: Option<vk::PhysicalDevice8BitStorageFeatures<'static>>,
    float16_int8: Option<vk::PhysicalDeviceShaderFloat16Int8Features<'static>>,
    memory_model: Option<vk::PhysicalDeviceVulkanMemoryModelFeatures<'static>>,
    timeline: Option<vk::PhysicalDeviceTimelineSemaphoreFeatures<'static>>,
    subgroup_types: Option<vk::PhysicalDeviceShaderSubgroupExtendedTypesFeatures<'static>>,
    subgroup_size: Option<vk::PhysicalDeviceSubgroupSizeControlFeatures<'static>>,
    integer_dot: Option<vk::PhysicalDeviceShaderIntegerDotProductFeatures<'static>>,
    pub(crate) matrix: Option<vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>>,
    /// Subgroup operations available to kernels.
    pub(crate) subgroups: vk::SubgroupFeatureFlags,
}

/// Each feature's extension, and the Vulkan version that has it in core.
const STORAGE_8: (&CStr, u32) = (ash::khr::_8bit_storage::NAME, vk::API_VERSION_1_2);
const FLOAT16_INT8: (&CStr, u32) = (ash::khr::shader_float16_int8::NAME, vk::API_VERSION_1_2);
const MEMORY_MODEL: (&CStr, u32) = (ash::khr::vulkan_memory_model::NAME, vk::API_VERSION_1_2);
const TIMELINE: (&CStr, u32) = (ash::khr::timeline_semaphore::NAME, vk::API_VERSION_1_2);
const SUBGROUP_TYPES: (&CStr, u32) = (ash::khr::shader_subgroup_extended_types::NAME, vk::API_VERSION_1_2);
const SUBGROUP_SIZE: (&CStr, u32) = (ash::ext::subgroup_size_control::NAME, vk::API_VERSION_1_3);
const INTEGER_DOT: (&CStr, u32) = (ash::khr::shader_integer_dot_product::NAME, vk::API_VERSION_1_3);
const MATRIX: (&CStr, u32) = (ash::khr::cooperative_matrix::NAME, u32::MAX);

/// All of those, and extensions without features that the driver uses if available.
const EXTENSIONS: &[&CStr] = &[
    STORAGE_8.0,
    FLOAT16_INT8.0,
    MEMORY_MODEL.0,
    TIMELINE.0,
    SUBGROUP_TYPES.0,
    SUBGROUP_SIZE.0,
    INTEGER_DOT.0,
    MATRIX.0,
    ash::ext::memory_budget::NAME,
    ash::ext::calibrated_timestamps::NAME,
];

/// Chains the structures that are present to the first one.
macro_rules! chain {
    ($features:expr, $head:expr) => {{
        let features = $features;
        let mut head = $head;
        chain!(features, head: storage_16 storage_8 float16_int8 memory_model timeline subgroup_types subgroup_size
            integer_dot matrix);
        head
    }};
    ($features:ident, $head:ident: $($member:ident)*) => {
        $(if let Some(structure) = &mut $features.$member {
            structure.p_next = null_mut();
            $head = $head.push_next(structure);
        })*
    };
}

fn present<T: Default>((name, core): (&CStr, u32), version: u32, listed: &[vk::ExtensionProperties]) -> Option<T> {
    (version >= core || lists(listed, name)).then(T::default)
}

impl Features {
    /// Queries the features of a device of this version with these extensions.
    pub(crate) fn query(
        instance: &ash::Instance,
        device: vk::PhysicalDevice,
        version: u32,
        listed: &[vk::ExtensionProperties],
    ) -> Self {
        let mut features = Self {
            storage_16: Some(vk::PhysicalDevice16BitStorageFeatures::default()),
            storage_8: present(STORAGE_8, version, listed),
            float16_int8: present(FLOAT16_INT8, version, listed),
            memory_model: present(MEMORY_MODEL, version, listed),
            timeline: present(TIMELINE, version, listed),
            subgroup_types: present(SUBGROUP_TYPES, version, listed),
            subgroup_size: present(SUBGROUP_SIZE, version, listed),
            integer_dot: present(INTEGER_DOT, version, listed),
            matrix: present(MATRIX, version, listed),
            ..Self::default()
        };
        let mut query = chain!(&mut features, vk::PhysicalDeviceFeatures2::default());
        // SAFETY: all chained structures are known to the device.
        unsafe { instance.get_physical_device_features2(device, &mut query) };
        let core = query.features;
        // Unused features stay disabled, such as robust buffer access.
        features.core = vk::PhysicalDeviceFeatures {
            shader_int16: core.shader_int16,
            shader_int64: core.shader_int64,
            ..vk::PhysicalDeviceFeatures::default()
        };
        if let Some(matrix) = &mut features.matrix {
            matrix.cooperative_matrix_robust_buffer_access = vk::FALSE;
        }
        features
    }

    /// Names of the extensions to enable.
    pub(crate) fn extensions(listed: &[vk::ExtensionProperties]) -> Vec<*const std::ffi::c_char> {
        EXTENSIONS.iter().filter(|name| lists(listed, name)).map(|name| name.as_ptr()).collect()
    }

    /// Adds all supported features to the create info.
    pub(crate) fn enable<'a>(&'a mut self, info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        chain!(self, info)
    }

    pub(crate) fn timeline(&self) -> bool {
        self.timeline.is_some_and(|features| features.timeline_semaphore == vk::TRUE)
    }

    pub(crate) fn fp16_storage(&self) -> bool {
        self.storage_16.is_some_and(|features| features.storage_buffer16_bit_access == vk::TRUE)
    }

    pub(crate) fn fp16_arithmetic(&self) -> bool {
        self.float16_int8.is_some_and(|features| features.shader_float16 == vk::TRUE)
    }

    pub(crate) fn integer_dot(&self) -> bool {
        self.integer_dot.is_some_and(|features| features.shader_integer_dot_product == vk::TRUE)
    }

    pub(crate) fn matrix(&self) -> bool {
        self.matrix.is_some_and(|features| features.cooperative_matrix == vk::TRUE)
    }

    /// Whether a pipeline may require a subgroup size.
    pub(crate) fn subgroup_size(&self) -> bool {
        self.subgroup_size.is_some_and(|features| features.subgroup_size_control == vk::TRUE)
    }

    /// Checks that kernels may use a SPIR-V capability, given by number. The error is its name.
    pub(crate) fn supports(&self, capability: u32) -> Result<(), String> {
        let subgroups = |flag| self.subgroups.contains(flag);
        let int8 = |pick: fn(&vk::PhysicalDeviceShaderFloat16Int8Features<'static>) -> vk::Bool32| {
            self.float16_int8.as_ref().is_some_and(|features| pick(features) == vk::TRUE)
        };
        let model = |pick: fn(&vk::PhysicalDeviceVulkanMemoryModelFeatures<'static>) -> vk::Bool32| {
            self.memory_model.as_ref().is_some_and(|features| pick(features) == vk::TRUE)
        };
        let storage_8 = self.storage_8.is_some_and(|features| features.storage_buffer8_bit_access == vk::TRUE);
        let (name, there) = match capability {
            // Matrix and Shader, supported by all devices.
            0 | 1 => return Ok(()),
            9 => ("Float16", self.fp16_arithmetic()),
            11 => ("Int64", self.core.shader_int64 == vk::TRUE),
            22 => ("Int16", self.core.shader_int16 == vk::TRUE),
            39 => ("Int8", int8(|features| features.shader_int8)),
            61 => ("GroupNonUniform", subgroups(vk::SubgroupFeatureFlags::BASIC)),
            62 => ("GroupNonUniformVote", subgroups(vk::SubgroupFeatureFlags::VOTE)),
            63 => ("GroupNonUniformArithmetic", subgroups(vk::SubgroupFeatureFlags::ARITHMETIC)),
            64 => ("GroupNonUniformBallot", subgroups(vk::SubgroupFeatureFlags::BALLOT)),
            65 => ("GroupNonUniformShuffle", subgroups(vk::SubgroupFeatureFlags::SHUFFLE)),
            66 => ("GroupNonUniformShuffleRelative", subgroups(vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE)),
            67 => ("GroupNonUniformClustered", subgroups(vk::SubgroupFeatureFlags::CLUSTERED)),
            68 => ("GroupNonUniformQuad", subgroups(vk::SubgroupFeatureFlags::QUAD)),
            4433 => ("StorageBuffer16BitAccess", self.fp16_storage()),
            // naga declares it as well.
            4434 => (
                "UniformAndStorageBuffer16BitAccess",
                self.storage_16.is_some_and(|features| features.uniform_and_storage_buffer16_bit_access == vk::TRUE),
            ),
            4448 => ("StorageBuffer8BitAccess", storage_8),
            5345 => ("VulkanMemoryModel", model(|features| features.vulkan_memory_model)),
            5346 => ("VulkanMemoryModelDeviceScope", model(|features| features.vulkan_memory_model_device_scope)),
            6016..=6019 => ("DotProduct", self.integer_dot()),
            6022 => ("CooperativeMatrixKHR", self.matrix()),
            _ => return Err(format!("SPIR-V capability {capability}, or this driver does not enable it")),
        };
        if there { Ok(()) } else { Err(name.to_owned()) }
    }
}
