//! AMD code objects, offload bundles, and the programs, libraries and archives that contain them.

use roci_codeobj::{CodeObject, File, FileSummary, Metadata, TargetId};

/// Bytes that a compressed bundle may decompress to.
const LIMIT: u64 = 1 << 20;

/// Finds the code objects in a file and reads their kernels, metadata and images.
pub fn target(data: &[u8]) {
    let _ = Metadata::parse(data);
    if let Ok(object) = CodeObject::parse(data) {
        read(&object);
    }
    if let (Ok(summary), Ok(device)) = (FileSummary::of_bytes(data), "gfx1013".parse()) {
        for image in summary.images {
            let _ = image.compatibility(&device);
        }
    }
    let Ok(file) = File::open_with_limit(data, LIMIT) else { return };
    for image in &file.images {
        let _ = image.target();
        if let Ok(object) = image.code_object() {
            read(&object);
        }
    }
}

fn read(object: &CodeObject<'_>) {
    let device = TargetId::new(object.target().processor);
    let _ = object.runs_on(&device);
    for kernel in object.kernels() {
        assert!(object.data_at(kernel.entry, 1).is_some(), "the entry point is outside the code object");
        let _ = (kernel.descriptor.user_sgprs().count(), kernel.kernarg_size());
    }
    if let Ok(image) = object.load_image(0x1000) {
        assert_eq!(image.len() as u64, object.image_size());
    }
}
