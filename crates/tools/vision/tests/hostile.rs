//! Damaged and hostile mmproj files: each yields rows, or an error of one line.

use std::error::Error;

use roci_base::Hint as _;
use roci_gguf::{Gguf, Value};
use roci_hal::Device;
use roci_image::Image;
use roci_vision::Tower;
use roci_vision::synthetic::{Case, image, towers};

/// Mutations of each tower.
const MUTATIONS: usize = 25;
/// Bytes of a file that are mutated most: metadata and descriptions of tensors.
const HEADER: usize = 6000;

fn cpu() -> Result<Device, Box<dyn Error>> {
    let registry = roci_drivers::registry();
    Ok(registry.open(&registry.parse("cpu")?, None)?)
}

fn tower(name: &str) -> Result<Case, Box<dyn Error>> {
    Ok(towers().into_iter().find(|case| case.name == name).ok_or("no such tower")?)
}

/// The error of a file that cannot be used for a small image.
fn outcome(bytes: &[u8], device: &Device) -> Option<roci_vision::Error> {
    let file = match Gguf::from_bytes(bytes) {
        Ok(file) => file,
        Err(error) => return Some(error.into()),
    };
    let encode =
        || Tower::load(&file, device.clone())?.encode_pixels(&Image { width: 9, height: 7, pixels: image(9, 7) });
    encode().err()
}

#[test]
fn mutated_files_give_rows_or_a_one_line_error() -> Result<(), Box<dyn Error>> {
    let device = cpu()?;
    // A linear congruential generator.
    let mut state = 1u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit.max(1)
    };
    let (mut refused, mut used) = (0, 0);
    for name in [
        "gemma3",
        "qwen2.5vl",
        "qwen3vl-deepstack",
        "pixtral-merged",
        "smolvlm",
        "internvl",
        "gemma4v-resized",
        "gemma4uv",
    ] {
        let whole = tower(name)?.bytes()?;
        for _ in 0..MUTATIONS {
            let mut bytes = whole.clone();
            for _ in 0..=random(3) {
                let length = bytes.len();
                let at = if random(8) == 0 { random(length) } else { random(length.min(HEADER)) };
                match random(4) {
                    0 => bytes[at] ^= 1 << random(8),
                    1 => bytes[at] = random(256) as u8,
                    2 => bytes[at..(at + 4).min(length)].fill([0, 0xff, 0x7f, 1][random(4)]),
                    _ if random(4) == 0 => bytes.truncate(at.max(1)),
                    _ => drop(bytes.drain(at..(at + 1 + random(8)).min(length))),
                }
            }
            match outcome(&bytes, &device) {
                None => used += 1,
                Some(error) => {
                    refused += 1;
                    assert!(!error.to_string().contains('\n'), "{name}: {error}");
                    assert!(error.hint().is_none_or(|hint| !hint.contains('\n')), "{name}: {error}");
                }
            }
        }
    }
    assert!(refused > 100 && used > 20, "{refused} {used}");
    Ok(())
}

#[test]
fn oversized_images_are_refused() -> Result<(), Box<dyn Error>> {
    let device = cpu()?;
    let number = |value: u32| Value::U32(value);
    for (case, part) in [
        (tower("gemma3")?.with("clip.vision.image_size", number(1 << 14)), "clip.vision.image_size"),
        (tower("qwen2vl")?.with("clip.vision.patch_size", number(256)), "clip.vision.patch_size"),
        (tower("qwen2.5vl")?.with("clip.vision.window_size", number(65536)), "clip.vision.window_size"),
        (tower("qwen2vl")?.with("clip.vision.spatial_merge_size", number(64)), "clip.vision.patch_size"),
        (
            tower("smolvlm")?
                .with("clip.vision.image_size", number(1 << 10))
                .with("clip.vision.preproc_image_size", number(1 << 14)),
            "clip.vision.preproc_image_size",
        ),
        (
            tower("internvl")?
                .with("clip.vision.image_size", number(1 << 10))
                .with("clip.vision.preproc_max_tiles", number(256)),
            "clip.vision.preproc_max_tiles",
        ),
        (
            tower("gemma3")?.with("clip.vision.attention.layer_norm_epsilon", f32::NAN.into()),
            "clip.vision.attention.layer_norm_epsilon",
        ),
    ] {
        let error = outcome(&case.bytes()?, &device).ok_or(part)?;
        let text = error.to_string();
        assert!(text.contains(part) && !text.contains('\n') && error.hint().is_some(), "{part}: {text}");
    }
    Ok(())
}

#[test]
fn rows_that_are_not_finite_are_an_error() -> Result<(), Box<dyn Error>> {
    let mut bytes = tower("gemma3")?.bytes()?;
    // The last tensor is the projection.
    let end = bytes.len();
    bytes[end - 64..].copy_from_slice(&[f32::NAN; 16].map(f32::to_le_bytes).concat());
    let error = outcome(&bytes, &cpu()?).ok_or("rows of NaN are used")?;
    assert!(error.to_string().contains("not finite"), "{error}");
    Ok(())
}
