//! Images, samplers and finalizer programs. Their descriptors are opaque: this project passes them
//! on or fails, and never reads them.

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

/// Size and alignment of an image. In C: `hsa_ext_image_data_info_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageDataInfo {
    /// Size in bytes.
    pub size: usize,
    /// Alignment in bytes.
    pub alignment: usize,
}

/// Dimensions and array layers of an image. In C: `hsa_ext_image_geometry_t`.
pub type ImageGeometry = u32;
/// Memory layout of an image. In C: `hsa_ext_image_data_layout_t`.
pub type ImageDataLayout = u32;
/// HSAIL module. In C: `hsa_ext_module_t`.
pub type ExtModule = *mut c_void;

/// Hints of a finalizer about dispatches. In C: `hsa_ext_control_directives_t`.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlDirectives {
    /// Opaque.
    pub bytes: [u64; 18],
}
