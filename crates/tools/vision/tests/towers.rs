//! Compares the rows of synthetic towers on the CPU with llama.cpp's.

use std::error::Error;
use std::path::Path;

use roci_base::Hint as _;
use roci_hal::Device;
use roci_image::Image;
use roci_tolerance::{NormTolerance, distance};
use roci_vision::Tower;
use roci_vision::synthetic::{Case, image, towers};

fn open(uri: &str) -> Result<Device, Box<dyn Error>> {
    let registry = roci_drivers::registry();
    Ok(registry.open(&registry.parse(uri)?, None)?)
}

fn encoded(case: &Case, uri: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    let (width, height) = case.size;
    let image = Image { width, height, pixels: image(width, height) };
    Ok(Tower::load(&case.open()?, open(uri)?)?.encode_pixels(&image)?.rows)
}

fn recorded(case: &Case) -> Result<Vec<f32>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/llama.cpp");
    let bytes = std::fs::read(folder.join(format!("{}.f32", case.name)))?;
    Ok(bytes.chunks_exact(4).map(|value| f32::from_le_bytes([value[0], value[1], value[2], value[3]])).collect())
}

#[test]
fn rows_are_those_of_llama_cpp() -> Result<(), Box<dyn Error>> {
    let mut failed = Vec::new();
    for case in towers() {
        let (rows, expected) = (encoded(&case, "cpu")?, recorded(&case)?);
        assert_eq!(rows.len(), expected.len(), "{}", case.name);
        let distance = distance(&rows, &expected);
        // llama.cpp computes GELU and SiLU with f16 tables.
        failed.extend((!NormTolerance::HalfTable.allows(distance)).then_some(case.name));
    }
    assert!(failed.is_empty(), "{failed:?}");
    Ok(())
}

#[test]
fn other_devices_compute_the_same_rows() -> Result<(), Box<dyn Error>> {
    for (driver, uri) in [("vulkan", "vulkan:0"), ("emu", "emu://gfx1010")] {
        let Some(device) = roci_testkit::require(driver, open(uri)) else { continue };
        for case in towers().into_iter().filter(|case| ["gemma3", "qwen2.5vl", "pixtral-merged"].contains(&case.name)) {
            let (width, height) = case.size;
            let image = Image { width, height, pixels: image(width, height) };
            let rows = Tower::load(&case.open()?, device.clone())?.encode_pixels(&image)?.rows;
            let distance = distance(&rows, &encoded(&case, "cpu")?);
            assert!(NormTolerance::Model.allows(distance), "{uri} {}: {distance}", case.name);
        }
    }
    Ok(())
}

#[test]
fn wrong_files_are_refused_by_name() -> Result<(), Box<dyn Error>> {
    let tower = |name: &str| towers().into_iter().find(|case| case.name == name).ok_or("no such tower");
    let number = |value: u32| roci_gguf::Value::U32(value);
    for (case, part) in [
        (tower("gemma3")?.with("clip.projector_type", "resampler".into()), "projector type `resampler`"),
        (tower("gemma3")?.with("general.architecture", "llama".into()), "architecture `llama`"),
        (tower("gemma3")?.with("clip.has_vision_encoder", false.into()), "no vision encoder"),
        (tower("gemma3")?.with("clip.vision.image_size", number(36)), "clip.vision.image_size"),
        (tower("gemma3")?.with("clip.vision.image_size", number(1 << 15)), "clip.vision.image_size"),
        (tower("gemma3")?.with("clip.vision.attention.head_count", number(3)), "head_count"),
        (tower("gemma3")?.with("clip.vision.block_count", number(0)), "block_count"),
        (tower("gemma3")?.with("clip.vision.image_std", vec![0.5f32, 0.0, 0.5].into()), "image_std"),
        (tower("gemma3")?.with("clip.vision.embedding_length", number(64)), "has the shape"),
        (tower("gemma3")?.without("v.position_embd.weight"), "v.position_embd.weight"),
        (tower("qwen2.5vl")?.with("clip.vision.window_size", number(1)), "window_size"),
        (tower("qwen2.5vl")?.without("mm.2.weight"), "mm.2.weight"),
        (tower("pixtral")?.with("clip.vision.spatial_merge_size", number(1 << 20)), "spatial_merge_size"),
        (tower("pixtral")?.with("clip.vision.patch_size", number(2048)), "patch_size"),
        (tower("pixtral")?.without("v.token_embd.img_break"), "img_break"),
    ] {
        let error = Tower::load(&case.open()?, open("cpu")?).err().ok_or(part)?;
        let text = error.to_string();
        assert!(text.contains(part) && !text.contains('\n') && error.hint().is_some(), "{part}: {text}");
    }
    Ok(())
}

#[test]
fn damaged_images_are_errors() -> Result<(), Box<dyn Error>> {
    let case = towers().remove(0);
    let mut tower = Tower::load(&case.open()?, open("cpu")?)?;
    for (bytes, part) in [
        (&b""[..], "not a PNG or JPEG"),
        (b"GIF89a", "a GIF image"),
        (b"\x89PNG\r\n\x1a\n", "this PNG cannot be read"),
        (b"\xff\xd8\xff\xe0", "this JPEG cannot be read"),
    ] {
        let text = tower.encode(bytes).err().ok_or(part)?.to_string();
        assert!(text.contains(part) && !text.contains('\n'), "{text}");
    }
    Ok(())
}
