//! Compares the rows of synthetic towers on the CPU with llama.cpp's.

use std::error::Error;
use std::path::{Path, PathBuf};

use roci_base::Hint as _;
use roci_hal::Device;
use roci_image::Image;
use roci_tolerance::{NormTolerance, distance};
use roci_vision::synthetic::{Case, image, towers};
use roci_vision::{EncodedImage, Tower};

fn open(uri: &str) -> Result<Device, Box<dyn Error>> {
    let registry = roci_drivers::registry();
    Ok(registry.open(&registry.parse(uri)?, None)?)
}

fn encoded(case: &Case, uri: &str) -> Result<EncodedImage, Box<dyn Error>> {
    let (width, height) = case.size;
    let image = Image { width, height, pixels: image(width, height) };
    Ok(Tower::load(&case.open()?, open(uri)?)?.encode_pixels(&image)?)
}

fn data(case: &Case, kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/llama.cpp/{}.{kind}", case.name))
}

fn recorded(case: &Case) -> Result<Vec<f32>, Box<dyn Error>> {
    let bytes = std::fs::read(data(case, "f32"))?;
    Ok(bytes.chunks_exact(4).map(|value| f32::from_le_bytes([value[0], value[1], value[2], value[3]])).collect())
}

#[test]
fn rows_are_those_of_llama_cpp() -> Result<(), Box<dyn Error>> {
    let mut failed = Vec::new();
    for case in towers() {
        let (rows, expected) = (encoded(&case, "cpu")?.rows, recorded(&case)?);
        assert_eq!(rows.len(), expected.len(), "{}", case.name);
        let distance = distance(&rows, &expected);
        // llama.cpp computes GELU and SiLU with f16 tables.
        failed.extend((!NormTolerance::HalfTable.allows(distance)).then_some(case.name));
    }
    assert!(failed.is_empty(), "{failed:?}");
    Ok(())
}

#[test]
fn texts_around_and_between_rows_are_those_of_llama_cpp() -> Result<(), Box<dyn Error>> {
    for case in towers() {
        let mut lines: Vec<(usize, String)> = Vec::new();
        for (at, text) in encoded(&case, "cpu")?.texts {
            match lines.last_mut().filter(|(last, _)| *last == at) {
                Some((_, line)) => line.push_str(&text),
                None => lines.push((at, text)),
            }
        }
        let lines = lines.iter().map(|(at, text)| format!("{at} {}\n", text.replace('\n', "\\n")));
        assert_eq!(lines.collect::<String>(), std::fs::read_to_string(data(&case, "texts"))?, "{}", case.name);
    }
    Ok(())
}

#[test]
fn other_devices_compute_the_same_rows() -> Result<(), Box<dyn Error>> {
    for (driver, uri) in [("vulkan", "vulkan:0"), ("emu", "emu://gfx1010")] {
        let Some(device) = roci_testkit::require(driver, open(uri)) else { continue };
        let more: &[&str] =
            if driver == "vulkan" { &["internvl", "gemma4v-resized", "qwen3vl-deepstack"] } else { &[] };
        let names = [&["gemma3", "qwen2.5vl", "pixtral-merged"], more].concat();
        for case in towers().into_iter().filter(|case| names.contains(&case.name)) {
            let (width, height) = case.size;
            let image = Image { width, height, pixels: image(width, height) };
            let rows = Tower::load(&case.open()?, device.clone())?.encode_pixels(&image)?.rows;
            let distance = distance(&rows, &encoded(&case, "cpu")?.rows);
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
        (tower("smolvlm")?.with("clip.vision.preproc_image_size", number(0)), "preproc_image_size"),
        (tower("smolvlm")?.with("clip.vision.image_size", number(18)), "clip.vision.image_size"),
        (tower("smolvlm")?.without("mm.model.fc.weight"), "mm.model.fc.weight"),
        (tower("internvl")?.with("clip.vision.preproc_min_tiles", number(0)), "preproc_min_tiles"),
        (tower("internvl")?.with("clip.vision.preproc_max_tiles", number(1 << 30)), "preproc_max_tiles"),
        (tower("internvl")?.without("v.class_embd"), "v.class_embd"),
        (tower("gemma4v")?.without("v.position_embd.weight"), "v.position_embd.weight"),
        (tower("gemma4uv")?.without("v.patch_norm.3.bias"), "v.patch_norm.3.bias"),
        (tower("qwen3vl-deepstack")?.without("v.deepstack.2.fc1.weight"), "v.deepstack.2.fc1.weight"),
    ] {
        let error = Tower::load(&case.open()?, open("cpu")?).err().ok_or(part)?;
        let text = error.to_string();
        assert!(text.contains(part) && !text.contains('\n') && error.hint().is_some(), "{part}: {text}");
    }
    Ok(())
}

#[test]
fn an_image_that_is_longer_than_the_positions_is_an_error() -> Result<(), Box<dyn Error>> {
    let case = towers().into_iter().find(|case| case.name == "gemma4v").ok_or("no such tower")?;
    let mut tower = Tower::load(&case.open()?, open("cpu")?)?;
    let strip = Image { width: 12 * 100, height: 12, pixels: image(12 * 100, 12) };
    let text = tower.encode_pixels(&strip).err().ok_or("a strip is encoded")?.to_string();
    assert!(text.contains("at most 200 patches"), "{text}");
    Ok(())
}

#[test]
fn the_limit_of_rows_limits_the_tiles() -> Result<(), Box<dyn Error>> {
    for (name, limit, count) in [("smolvlm", 20, 12), ("smolvlm", 0, 8), ("internvl", 12, 12), ("internvl", 4, 8)] {
        let case = towers().into_iter().find(|case| case.name == name).ok_or("no such tower")?;
        let mut tower = Tower::load(&case.open()?, open("cpu")?)?;
        tower.limit_rows(limit);
        let image = Image { width: 80, height: 40, pixels: image(80, 40) };
        assert_eq!(tower.encode_pixels(&image)?.count(), count, "{name} {limit}");
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
