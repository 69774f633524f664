//! The archive format: a text header that lists contents and build inputs, then the code objects.
//!
//! ```text
//! roci-device-library 1
//! clang <first line of `clang --version`>
//! linker <first line of the linker's `--version`>
//! target <target id> <bytes> <fingerprint of the options>
//! kernel <name> <fingerprint of its source>
//! ```
//!
//! A `kernel` line belongs to the `target` line above it. An empty line ends the header. The code
//! objects follow in the order of their targets, without padding. On disk, the archive is one zstd
//! stream: code for the chips of one generation is nearly identical, so all targets together take
//! little more space than one target per generation.

use std::fmt::Write as _;
use std::io::Read;

use roci_codeobj::TargetId;
use ruzstd::decoding::StreamingDecoder;

use crate::{Error, Fingerprint};

/// First line of the archive.
const MAGIC: &str = "roci-device-library 1";
/// Limit on the decompressed size, so that a damaged archive cannot exhaust memory. Real archives
/// are smaller.
const MAX_SIZE: u64 = 256 << 20;

/// The programs that built an archive, each as the first line of its version output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toolchain {
    /// First line of `clang --version`.
    pub clang: String,
    /// First line of the linker's `--version`.
    pub linker: String,
}

/// The code for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The target that the code runs on.
    pub target: TargetId,
    /// Fingerprint of the compiler and linker options.
    pub options: Fingerprint,
    /// Name of each kernel with the fingerprint of its source.
    pub kernels: Vec<(String, Fingerprint)>,
    /// The code object, an ELF file.
    pub bytes: Vec<u8>,
}

/// Code objects and their build inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    /// The toolchain that built the objects.
    pub toolchain: Toolchain,
    /// One object per target.
    pub objects: Vec<Object>,
}

impl Archive {
    /// Reads a compressed archive.
    pub fn decompress(bytes: &[u8]) -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Damaged(format!("it does not decompress: {error}"));
        let mut plain = Vec::new();
        let decoder = StreamingDecoder::new(bytes).map_err(|error| failed(&error))?;
        decoder.take(MAX_SIZE).read_to_end(&mut plain).map_err(|error| failed(&error))?;
        Self::read(&plain)
    }

    /// Reads an uncompressed archive.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let end =
            bytes.windows(2).position(|pair| pair == b"\n\n").ok_or_else(|| damaged("it has no table of contents"))?;
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| damaged("its table of contents is not UTF-8"))?;
        let mut rest = &bytes[end + 2..];
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return Err(damaged("it does not start with the header of this version"));
        }
        let mut archive = Self::default();
        for line in lines {
            let wrong = || Error::Damaged(format!("its table of contents has the invalid line `{line}`"));
            let (word, value) = line.split_once(' ').ok_or_else(wrong)?;
            match word {
                "clang" => archive.toolchain.clang = value.to_owned(),
                "linker" => archive.toolchain.linker = value.to_owned(),
                "target" => archive.objects.push(read_target(value, &mut rest).ok_or_else(wrong)?),
                "kernel" => {
                    let (name, source) = value.split_once(' ').ok_or_else(wrong)?;
                    let object = archive.objects.last_mut().ok_or_else(wrong)?;
                    object.kernels.push((name.to_owned(), source.parse().map_err(|_| wrong())?));
                }
                _ => return Err(wrong()),
            }
        }
        if rest.is_empty() { Ok(archive) } else { Err(damaged("it has bytes after the last target")) }
    }

    /// Serializes the archive without compression.
    pub fn write(&self) -> Vec<u8> {
        let mut text = format!("{MAGIC}\nclang {}\nlinker {}\n", self.toolchain.clang, self.toolchain.linker);
        for object in &self.objects {
            let _ = writeln!(text, "target {} {} {}", object.target, object.bytes.len(), object.options);
            for (name, source) in &object.kernels {
                let _ = writeln!(text, "kernel {name} {source}");
            }
        }
        text.push('\n');
        let mut bytes = text.into_bytes();
        for object in &self.objects {
            bytes.extend_from_slice(&object.bytes);
        }
        bytes
    }
}

fn damaged(reason: &str) -> Error {
    Error::Damaged(reason.to_owned())
}

/// Parses the value of a `target` line, and takes its code object from the front of `rest`.
fn read_target(value: &str, rest: &mut &[u8]) -> Option<Object> {
    let mut words = value.split(' ');
    let target = words.next()?.parse().ok()?;
    let (bytes, after) = rest.split_at_checked(words.next()?.parse().ok()?)?;
    let options = words.next()?.parse().ok()?;
    *rest = after;
    words.next().is_none().then(|| Object { target, options, kernels: Vec::new(), bytes: bytes.to_vec() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Archive {
        let object = |target: &str, bytes: &[u8]| Object {
            target: target.parse().expect(target),
            options: Fingerprint::of(target.as_bytes()),
            kernels: vec![("add".into(), Fingerprint::of(b"a + b")), ("sub".into(), Fingerprint::of(b"a - b"))],
            bytes: bytes.to_vec(),
        };
        Archive {
            toolchain: Toolchain { clang: "clang version 22.1.8".into(), linker: "LLD 22.1.8".into() },
            objects: vec![object("gfx1010:xnack-", b"first\n\nobject"), object("gfx11-generic", b"second")],
        }
    }

    #[test]
    fn archives_round_trip() {
        assert_eq!(Archive::read(&sample().write()), Ok(sample()));
        assert_eq!(Archive::read(&Archive::default().write()), Ok(Archive::default()));
    }

    #[test]
    fn errors_name_the_damage() {
        let bytes = sample().write();
        let message = |bytes: &[u8]| Archive::read(bytes).expect_err("it is damaged").to_string();
        assert!(message(b"").contains("no table of contents"));
        assert!(message(b"roci-device-library 2\n\n").contains("this version"));
        assert!(
            message(&bytes[..bytes.len() - 1]).contains("the invalid line `target gfx11-generic 6 "),
            "one byte is missing"
        );
        assert!(message(&[bytes.as_slice(), b"x"].concat()).contains("after the last target"));
        assert!(
            Archive::decompress(b"no zstd").expect_err("not a zstd stream").to_string().contains("does not decompress")
        );
    }

    proptest! {
        #[test]
        fn damaged_archives_never_panic(at in 0_usize..300, byte: u8) {
            let mut bytes = sample().write();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Archive::read(&bytes);
            let _ = Archive::decompress(&bytes);
        }
    }
}
