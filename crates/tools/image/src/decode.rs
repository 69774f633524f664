//! Pixels of PNG and JPEG files.

use std::io::Cursor;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Maximum decoded size in bytes: a small file can claim any size. 8-bit colors have room for 178
/// million pixels.
const MAX_BYTES: usize = 1 << 29;
/// Maximum number of scans of a JPEG file; usual files have about ten. A scan of a few bytes can
/// take as long as one of the whole image.
const MAX_SCANS: usize = 256;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xff\xd8\xff";

/// An image of three bytes per pixel: red, green, blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// The pixels, row by row.
    pub pixels: Vec<[u8; 3]>,
}

/// Whether these bytes are a PNG or JPEG file.
pub fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(PNG) || bytes.starts_with(JPEG)
}

/// The name of an image format that is not supported, by its first bytes; `None` for other files.
pub fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 5] =
        [(b"BM", "a BMP"), (b"GIF8", "a GIF"), (b"RIFF", "a WebP"), (b"II*\0", "a TIFF"), (b"MM\0*", "a TIFF")];
    let is_webp = bytes.get(8..12) == Some(b"WEBP");
    let found = known.iter().find(|(start, _)| bytes.starts_with(start))?;
    (found.0 != b"RIFF" || is_webp).then_some(found.1)
}

/// Decodes a PNG or JPEG file. The error says why that fails.
pub fn decode(bytes: &[u8]) -> Result<Image, String> {
    if bytes.starts_with(PNG) {
        png(bytes).map_err(|error| format!("this PNG cannot be read: {error}"))
    } else {
        jpeg(bytes).map_err(|error| format!("this JPEG cannot be read: {error}"))
    }
}

fn too_large(width: usize, height: usize) -> String {
    format!("{width} x {height} pixels exceed the limit of 512 MiB")
}

fn png(bytes: &[u8]) -> Result<Image, String> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: MAX_BYTES });
    // Expands palettes to colors and fewer than 8 bits to 8; 16 bits are rounded below.
    decoder.set_transformations(png::Transformations::EXPAND);
    let text = |error: png::DecodingError| match error {
        png::DecodingError::LimitsExceeded => "its size exceeds the limit of 512 MiB".to_owned(),
        error => error.to_string(),
    };
    let mut reader = decoder.read_info().map_err(text)?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let size = reader.output_buffer_size().filter(|size| *size <= MAX_BYTES).ok_or_else(|| too_large(width, height))?;
    let mut data = vec![0; size];
    let frame = reader.next_frame(&mut data).map_err(text)?;
    data.truncate(frame.buffer_size());
    if frame.bit_depth == png::BitDepth::Sixteen {
        let eight = |pair: &[u8]| ((u32::from(pair[0]) * 256 + u32::from(pair[1]) + 128) / 257) as u8;
        data = data.chunks_exact(2).map(eight).collect();
    }
    // Alpha is dropped.
    let pixels = match frame.color_type {
        png::ColorType::Grayscale => gray(data.iter()),
        png::ColorType::GrayscaleAlpha => gray(data.iter().step_by(2)),
        png::ColorType::Rgb => colors(&data, 3),
        png::ColorType::Rgba => colors(&data, 4),
        png::ColorType::Indexed => return Err("the palette is missing".to_owned()),
    };
    Ok(Image { width, height, pixels })
}

fn jpeg(bytes: &[u8]) -> Result<Image, String> {
    // The decoder would fill the missing part of a truncated file with gray.
    let scans = scans(bytes).ok_or("the file is truncated")?;
    if scans > MAX_SCANS {
        return Err(format!("it has {scans} scans; at most {MAX_SCANS} are supported"));
    }
    let options = DecoderOptions::default().set_strict_mode(false);
    let options = options.set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("the size is missing")?;
    if width.checked_mul(height).and_then(|count| count.checked_mul(3)).is_none_or(|size| size > MAX_BYTES) {
        return Err(too_large(width, height));
    }
    let is_gray = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let colors_out = if is_gray { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(decoder.options().jpeg_set_out_colorspace(colors_out));
    let data = decoder.decode().map_err(|error| error.to_string())?;
    let pixels = if is_gray { gray(data.iter()) } else { colors(&data, 3) };
    if pixels.len() != width * height {
        return Err("this color space is not supported".to_owned());
    }
    Ok(Image { width, height, pixels })
}

/// The number of scans before the end marker of a JPEG file; `None` if either is missing. Files may
/// have other data after it, such as the video of a motion photo.
fn scans(bytes: &[u8]) -> Option<usize> {
    // The first marker is the start of the image.
    let (mut at, mut scans) = (2, 0);
    loop {
        at += match (*bytes.get(at)?, *bytes.get(at + 1)?) {
            (0xff, 0xd9) => return (scans > 0).then_some(scans),
            // A fill byte, or data of a scan.
            (0xff, 0xff) | (..=0xfe, _) => 1,
            // A byte 0xff of a scan, and markers without a length.
            (0xff, 0x00 | 0x01 | 0xd0..=0xd8) => 2,
            (0xff, marker) => {
                scans += usize::from(marker == 0xda);
                let length = u16::from_be_bytes([*bytes.get(at + 2)?, *bytes.get(at + 3)?]);
                2 + usize::from(length).max(2)
            }
        };
    }
}

fn gray<'a>(levels: impl Iterator<Item = &'a u8>) -> Vec<[u8; 3]> {
    levels.map(|&level| [level; 3]).collect()
}

/// The first three bytes of each pixel of `size` bytes.
fn colors(data: &[u8], size: usize) -> Vec<[u8; 3]> {
    data.chunks_exact(size).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A PNG file of these samples.
    pub(crate) fn encode(width: u32, height: u32, kind: png::ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(kind);
        encoder.set_depth(depth);
        if kind == png::ColorType::Indexed {
            encoder.set_palette(vec![1, 2, 3, 250, 251, 252]);
        }
        let mut writer = encoder.write_header().expect("memory can be written");
        writer.write_image_data(data).expect("memory can be written");
        writer.finish().expect("memory can be written");
        bytes
    }

    /// Two pixels.
    type Pair = [[u8; 3]; 2];

    #[test]
    fn all_png_formats_become_rgb8() {
        use png::{BitDepth, ColorType};
        let cases: [(ColorType, BitDepth, &[u8], Pair); 8] = [
            (ColorType::Grayscale, BitDepth::Eight, &[7, 200], [[7; 3], [200; 3]]),
            (ColorType::Grayscale, BitDepth::One, &[0x40], [[0; 3], [255; 3]]),
            (ColorType::Grayscale, BitDepth::Sixteen, &[0x80, 0x80, 0xff, 0x7e], [[128; 3], [254; 3]]),
            (ColorType::GrayscaleAlpha, BitDepth::Eight, &[7, 0, 200, 9], [[7; 3], [200; 3]]),
            (ColorType::Rgb, BitDepth::Eight, &[1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6]]),
            (ColorType::Rgb, BitDepth::Sixteen, &[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], [[1, 2, 3], [4, 5, 6]]),
            (ColorType::Rgba, BitDepth::Eight, &[1, 2, 3, 0, 4, 5, 6, 255], [[1, 2, 3], [4, 5, 6]]),
            (ColorType::Indexed, BitDepth::Eight, &[1, 0], [[250, 251, 252], [1, 2, 3]]),
        ];
        for (kind, depth, data, pixels) in cases {
            let bytes = encode(2, 1, kind, depth, data);
            let image = decode(&bytes);
            assert_eq!(image, Ok(Image { width: 2, height: 1, pixels: pixels.to_vec() }), "{kind:?} {depth:?}");
            for length in PNG.len()..bytes.len() - 12 {
                assert!(decode(&bytes[..length]).is_err(), "{kind:?}: {length} of {} bytes", bytes.len());
            }
        }
    }

    /// Files written by Pillow, 16 x 16 pixels: the left half red or black, the right half blue or
    /// white.
    #[test]
    fn all_jpeg_formats_become_rgb8() {
        let files: [(&str, &[u8], Pair); 4] = [
            ("baseline", include_bytes!("../tests/images/baseline.jpg"), [[254, 0, 0], [0, 0, 254]]),
            ("progressive", include_bytes!("../tests/images/progressive.jpg"), [[254, 0, 0], [0, 0, 254]]),
            ("gray", include_bytes!("../tests/images/gray.jpg"), [[0; 3], [255; 3]]),
            ("cmyk", include_bytes!("../tests/images/cmyk.jpg"), [[254, 0, 0], [0, 0, 254]]),
        ];
        for (name, bytes, [left, right]) in files {
            let image = decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((image.width, image.height), (16, 16), "{name}");
            for (at, expected) in [(0, left), (15, right), (255, right)] {
                let near = image.pixels[at].iter().zip(expected).all(|(one, other)| one.abs_diff(other) <= 4);
                assert!(near, "{name}: pixel {at} is {:?}, expected {expected:?}", image.pixels[at]);
            }
            for length in (JPEG.len()..bytes.len() - 1).step_by(7) {
                assert!(decode(&bytes[..length]).is_err(), "{name}: {length} of {} bytes", bytes.len());
            }
        }
    }

    /// Files of a few bytes whose headers claim a size beyond the limit.
    #[test]
    fn sizes_beyond_the_limit_are_refused_before_the_pixels() {
        let mut png = encode(1, 1, png::ColorType::Rgb, png::BitDepth::Sixteen, &[0; 6]);
        let mut resized = |width: u32, height: u32| {
            png[16..20].copy_from_slice(&width.to_be_bytes());
            png[20..24].copy_from_slice(&height.to_be_bytes());
            let checksum = crc(&png[12..29]);
            png[29..33].copy_from_slice(&checksum.to_be_bytes());
            decode(&png)
        };
        for (width, height) in [(60_000, 60_000), (i32::MAX as u32, i32::MAX as u32), (i32::MAX as u32, 1)] {
            let error = resized(width, height).expect_err("it is too large");
            assert!(error.contains("the limit of 512 MiB") && !error.contains('\n'), "{width} x {height}: {error}");
        }
        assert!(resized(0, 1).is_err() && resized(u32::MAX, 1).is_err());
        // Within the limit, but without the pixels.
        assert!(resized(5_000, 5_000).is_err());
        assert!(resized(1, 1).is_ok());

        let baseline = include_bytes!("../tests/images/baseline.jpg");
        let frame = baseline.windows(2).position(|pair| pair == [0xff, 0xc0]).expect("it has a frame");
        let mut large = baseline.to_vec();
        large[frame + 5..frame + 9].fill(0xff);
        let error = decode(&large).expect_err("it is too large");
        assert!(error.contains("65535 x 65535 pixels exceed the limit"), "{error}");
    }

    #[test]
    fn jpeg_files_of_many_scans_are_refused() {
        let progressive = include_bytes!("../tests/images/progressive.jpg");
        let end = progressive.len() - 2;
        let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0, 0];
        let many = [&progressive[..end], &scan.repeat(MAX_SCANS), &progressive[end..]].concat();
        assert!(decode(&many).expect_err("too many scans").contains("scans; at most 256"));
    }

    #[test]
    fn data_after_a_jpeg_image_is_ignored() {
        let baseline = include_bytes!("../tests/images/baseline.jpg");
        let moving = [&baseline[..], &[0xff, 0xda].repeat(2 * MAX_SCANS)].concat();
        assert_eq!(decode(&moving), decode(baseline));
    }

    /// The checksum of a PNG chunk.
    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
        })
    }
}
