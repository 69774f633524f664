//! What an emulated GPU does not have: images, samplers, and memory or signals shared with other processes and devices.

use roci_hsa::abi::*;

use super::with;

/// Functions that refuse, each with the status that a real runtime gives where the hardware lacks the thing.
macro_rules! refuse {
    ($($status:ident { $(fn $name:ident($($type:ty),*);)* })*) => {$($(
        pub(crate) unsafe extern "C" fn $name($(_: $type),*) -> Status {
            with(|_| Err(Status::$status))
        }
    )*)*};
}
refuse! {
    ERROR_IMAGE_FORMAT_UNSUPPORTED {
    fn hsa_ext_image_data_get_info(Agent, *const ImageDescriptor, AccessPermission, *mut ImageDataInfo);
    fn hsa_ext_image_create(Agent, *const ImageDescriptor, *const c_void, AccessPermission, *mut ExtImage);
    fn hsa_ext_image_create_with_layout(
        Agent, *const ImageDescriptor, *const c_void, AccessPermission, u32, usize, usize, *mut ExtImage
    );
    fn hsa_amd_image_create(
        Agent, *const ImageDescriptor, *const AmdImageDescriptor, *const c_void, AccessPermission, *mut ExtImage
    );
    }
    ERROR_INVALID_ARGUMENT {
    fn hsa_ext_image_destroy(Agent, ExtImage);
    fn hsa_ext_image_export(Agent, ExtImage, *mut c_void, usize, usize, *const ImageRegion);
    fn hsa_ext_image_import(Agent, *const c_void, usize, usize, ExtImage, *const ImageRegion);
    fn hsa_ext_sampler_destroy(Agent, ExtSampler);
    fn hsa_amd_interop_map_buffer(
        u32, *mut Agent, c_int, u32, *mut usize, *mut *mut c_void, *mut usize, *mut *const c_void
    );
    fn hsa_amd_interop_unmap_buffer(*mut c_void);
    fn hsa_amd_ipc_memory_attach(*const IpcMemory, usize, u32, *const Agent, *mut *mut c_void);
    fn hsa_amd_ipc_memory_detach(*mut c_void);
    fn hsa_amd_ipc_signal_attach(*const IpcSignal, *mut Signal);
    fn hsa_amd_portable_close_dmabuf(c_int);
    }
    ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED {
    fn hsa_ext_sampler_create(Agent, *const SamplerDescriptor, *mut ExtSampler);
    }
    ERROR_OUT_OF_RESOURCES {
    fn hsa_amd_ipc_memory_create(*mut c_void, usize, *mut IpcMemory);
    fn hsa_amd_ipc_signal_create(Signal, *mut IpcSignal);
    fn hsa_amd_portable_export_dmabuf(*const c_void, usize, *mut c_int, *mut u64);
    }
}
