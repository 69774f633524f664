//! Vision towers of language models.

use std::sync::OnceLock;

use roci_gguf::Gguf;
use roci_hal::null::NullDriver;
use roci_hal::{Device, Registry};
use roci_vision::Tower;

/// A device that computes nothing: loading and preprocessing are under test.
fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let uri = "null".parse().expect("it is a URI");
        Registry::new().with(NullDriver::new(1)).open(&uri, None).expect("it needs no hardware")
    })
}

/// Loads a tower and encodes a small image.
pub fn target(data: &[u8]) {
    let Ok(file) = Gguf::from_bytes(data) else { return };
    let Ok(mut tower) = Tower::load(&file, device().clone()) else { return };
    let image = roci_image::Image { width: 9, height: 7, pixels: vec![[1, 2, 3]; 63] };
    let _ = tower.encode_pixels(&image);
}
