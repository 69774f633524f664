//! PNG and JPEG images.

/// Decodes an image.
pub fn target(data: &[u8]) {
    // The decoders allocate what a header claims, up to a limit.
    if roci_image::is_image(data) {
        let _ = roci_image::decode(data);
    }
}
