//! Device images: images of GPU code embedded in files.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::code_object::MACHINE;
use crate::{BundleEntry, CodeObject, Compression, Error};

/// Location of a device image in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageLocation {
    /// Archive member.
    pub member: Option<String>,
    /// Section of a host ELF file.
    pub section: Option<String>,
    /// Byte offset from the start of the file or archive member to the image, or to its bundle if
    /// that is compressed.
    pub offset: u64,
    /// Index of the bundle in the file, from 0.
    pub bundle: Option<usize>,
    /// Index of the entry in the bundle, from 0.
    pub entry: Option<usize>,
    /// Compression method of the bundle.
    pub compression: Option<Compression>,
}

impl fmt::Display for ImageLocation {
    /// Without spaces: `.hip_fatbin:bundle1.2:zlib:0x1000`. Names are escaped, because they may
    /// contain anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.member.iter().chain(&self.section).map(|name| name.escape_debug().to_string()));
        match (self.bundle, self.entry) {
            (Some(bundle), Some(entry)) => parts.push(format!("bundle{bundle}.{entry}")),
            (Some(bundle), None) => parts.push(format!("bundle{bundle}")),
            _ => {}
        }
        parts.extend(self.compression.map(|compression| compression.name().to_owned()));
        parts.push(format!("0x{:x}", self.offset));
        f.pad(&parts.join(":"))
    }
}

/// Kind of a device image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// An ELF file for an AMD GPU.
    CodeObject,
    /// LLVM bitcode, which is not compiled to machine code yet.
    Bitcode,
    /// SPIR-V, which is compiled when it is loaded.
    Spirv,
    /// Unrecognized.
    Unknown,
}

impl ImageKind {
    /// Detects the kind from the first bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if is_amdgpu_elf(bytes) {
            return Self::CodeObject;
        }
        match bytes.first_chunk() {
            Some(b"BC\xc0\xde") => Self::Bitcode,
            Some(b"\x03\x02\x23\x07") => Self::Spirv,
            _ => Self::Unknown,
        }
    }

    /// Human-readable name.
    pub fn describe(self) -> &'static str {
        match self {
            Self::CodeObject => "code object",
            Self::Bitcode => "LLVM bitcode",
            Self::Spirv => "SPIR-V",
            Self::Unknown => "unknown code",
        }
    }
}

pub(crate) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

pub(crate) fn is_amdgpu_elf(bytes: &[u8]) -> bool {
    is_elf(bytes) && bytes.get(18..20) == Some(&MACHINE.to_le_bytes())
}

/// Bytes of the file, or of a decompressed bundle.
#[derive(Clone, Debug)]
pub(crate) enum Payload<'data> {
    Borrowed(&'data [u8]),
    Shared(Arc<Vec<u8>>, Range<usize>),
}

impl Payload<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            // The range was checked on construction; fall back to an empty slice rather than panic.
            Self::Shared(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// A device image found in a file.
#[derive(Clone, Debug)]
pub struct DeviceImage<'data> {
    /// Where the file contains it.
    pub location: ImageLocation,
    /// Its bundle entry, if it is in a bundle.
    pub entry: Option<BundleEntry>,
    /// Its kind, detected from the first bytes.
    pub kind: ImageKind,
    pub(crate) payload: Payload<'data>,
}

impl DeviceImage<'_> {
    /// The image, decompressed.
    pub fn bytes(&self) -> &[u8] {
        self.payload.bytes()
    }

    /// Parses the image as a code object.
    pub fn code_object(&self) -> Result<CodeObject<'_>, Error> {
        CodeObject::parse(self.bytes())
    }

    /// Target ID from the bundle entry, or else from the image itself; empty if neither has one.
    pub fn target(&self) -> String {
        let stated = self.entry.as_ref().map(|entry| match entry.target() {
            Some(target) => target.to_string(),
            None => entry.id.clone(),
        });
        stated.or_else(|| Some(self.code_object().ok()?.target().to_string())).unwrap_or_default()
    }
}
