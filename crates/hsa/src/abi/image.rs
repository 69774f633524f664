//! Images and samplers, and programs for a finalizer, opaque: this project hands their descriptors on or refuses them, and never reads them.

use super::c_void;

/// Declares types that exist only behind pointers.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {
            _bytes: [u8; 0],
        }
    )*};
}

opaque! {
    /// `hsa_ext_image_descriptor_t`
    ImageDescriptor;
    /// `hsa_amd_image_descriptor_t`
    AmdImageDescriptor;
    /// `hsa_ext_image_format_t`
    ImageFormat;
    /// `hsa_ext_image_region_t`
    ImageRegion;
    /// `hsa_ext_sampler_descriptor_t`
    SamplerDescriptor;
}

/// How much memory an image takes. In C: `hsa_ext_image_data_info_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageDataInfo {
    /// Bytes.
    pub size: usize,
    /// Alignment.
    pub alignment: usize,
}

/// How many dimensions an image has, and what they mean. In C: `hsa_ext_image_geometry_t`.
pub type ImageGeometry = u32;
/// How the elements of an image lie in memory. In C: `hsa_ext_image_data_layout_t`.
pub type ImageDataLayout = u32;
/// Code of the virtual machine. In C: `hsa_ext_module_t`.
pub type ExtModule = *mut c_void;

/// What a finalizer is told of the dispatches to come. In C: `hsa_ext_control_directives_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlDirectives {
    /// Opaque.
    pub bytes: [u64; 18],
}
