//! Functions for features that are not emulated: images, samplers, a finalizer, and memory shared
//! with other devices.

use roci_hsa::abi::*;

use super::arguments::put;
use super::with_runtime;

/// Functions that fail with the status that AMD's runtime returns on hardware without the feature.
macro_rules! unsupported {
    ($($status:ident { $(fn $name:ident($($type:ty),*);)* })*) => {$($(
        pub(crate) unsafe extern "C" fn $name($(_: $type),*) -> Status {
            with_runtime(|_| Err(Status::$status))
        }
    )*)*};
}
unsupported! {
    ERROR_IMAGE_FORMAT_UNSUPPORTED {
    fn hsa_ext_image_data_get_info(Agent, *const ImageDescriptor, AccessPermission, *mut ImageDataInfo);
    fn hsa_ext_image_create(Agent, *const ImageDescriptor, *const c_void, AccessPermission, *mut ExtImage);
    fn hsa_ext_image_create_with_layout(
        Agent, *const ImageDescriptor, *const c_void, AccessPermission, u32, usize, usize, *mut ExtImage
    );
    fn hsa_amd_image_create(
        Agent, *const ImageDescriptor, *const AmdImageDescriptor, *const c_void, AccessPermission, *mut ExtImage
    );
    fn hsa_ext_image_data_get_info_with_layout(
        Agent, *const ImageDescriptor, AccessPermission, ImageDataLayout, usize, usize, *mut ImageDataInfo
    );
    }
    ERROR_INVALID_ARGUMENT {
    fn hsa_ext_image_clear(Agent, ExtImage, *const c_void, *const ImageRegion);
    fn hsa_ext_image_copy(Agent, ExtImage, *const Dim3, ExtImage, *const Dim3, *const Dim3);
    fn hsa_ext_image_destroy(Agent, ExtImage);
    fn hsa_ext_image_export(Agent, ExtImage, *mut c_void, usize, usize, *const ImageRegion);
    fn hsa_ext_image_import(Agent, *const c_void, usize, usize, ExtImage, *const ImageRegion);
    fn hsa_ext_sampler_destroy(Agent, ExtSampler);
    fn hsa_amd_interop_map_buffer(
        u32, *mut Agent, c_int, u32, *mut usize, *mut *mut c_void, *mut usize, *mut *const c_void
    );
    fn hsa_amd_interop_unmap_buffer(*mut c_void);
    fn hsa_amd_portable_close_dmabuf(c_int);
    }
    ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED {
    fn hsa_ext_sampler_create(Agent, *const SamplerDescriptor, *mut ExtSampler);
    }
    // As AMD's runtime without a finalizer, which is no longer available.
    ERROR_NOT_INITIALIZED {
    fn hsa_ext_program_add_module(ExtProgram, ExtModule);
    fn hsa_ext_program_create(MachineModel, Profile, FloatRoundingMode, *const c_char, *mut ExtProgram);
    fn hsa_ext_program_destroy(ExtProgram);
    fn hsa_ext_program_finalize(
        ExtProgram, Isa, i32, ControlDirectives, *const c_char, CodeObjectType, *mut CodeObject
    );
    fn hsa_ext_program_get_info(ExtProgram, ExtProgramInfo, *mut c_void);
    fn hsa_ext_program_iterate_modules(ExtProgram, Option<ModuleCallback>, *mut c_void);
    }
    // Streaming performance counters need the kernel driver.
    ERROR {
    fn hsa_amd_spm_acquire(Agent);
    fn hsa_amd_spm_release(Agent);
    fn hsa_amd_spm_set_dest_buffer(Agent, usize, *mut u32, *mut u32, *mut c_void, *mut bool);
    }
    ERROR_OUT_OF_RESOURCES {
    fn hsa_amd_portable_export_dmabuf(*const c_void, usize, *mut c_int, *mut u64);
    }
}

/// Reports that no image format is supported, which is not an error.
pub(crate) unsafe extern "C" fn hsa_ext_image_get_capability(
    agent: Agent,
    _geometry: ImageGeometry,
    image_format: *const ImageFormat,
    capability_mask: *mut u32,
) -> Status {
    with_runtime(|runtime| {
        if !runtime.has_agent(agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        if image_format.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(capability_mask, 0_u32) }
    })
}

pub(crate) unsafe extern "C" fn hsa_ext_image_get_capability_with_layout(
    agent: Agent,
    geometry: ImageGeometry,
    image_format: *const ImageFormat,
    _image_data_layout: ImageDataLayout,
    capability_mask: *mut u32,
) -> Status {
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_ext_image_get_capability(agent, geometry, image_format, capability_mask) }
}

/// Fails: the emulator does not retain scratch memory, so there is no limit to set.
pub(crate) unsafe extern "C" fn hsa_amd_agent_set_async_scratch_limit(agent: Agent, _threshold: usize) -> Status {
    with_runtime(|runtime| {
        runtime.gpu(agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        Err(Status::ERROR_INVALID_ARGUMENT)
    })
}
