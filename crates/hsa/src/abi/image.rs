//! Images and samplers, opaque: this project hands their descriptors on or refuses them, and never reads them.

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
