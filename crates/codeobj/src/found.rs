//! What was found in a file, and where.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::code_object::MACHINE;
use crate::{BundleEntry, CodeObject, Compression, Error};

/// Where something is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The member of an archive.
    pub member: Option<String>,
    /// The section of a host ELF file.
    pub section: Option<String>,
    /// Bytes from the start of the file (or of the archive's member) to the code object or, if that is compressed, to
    /// its bundle.
    pub offset: u64,
    /// The number of the bundle in the file, from 0.
    pub bundle: Option<usize>,
    /// The number of the entry in the bundle, from 0.
    pub entry: Option<usize>,
    /// How the bundle was compressed.
    pub compression: Option<Compression>,
}

impl fmt::Display for Place {
    /// Without spaces: `.hip_fatbin:bundle1.2:zlib:0x1000`. Names are escaped: they may hold anything.
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

/// What kind of code something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An ELF file for AMD GPUs.
    CodeObject,
    /// LLVM bitcode: not compiled to the end.
    Bitcode,
    /// SPIR-V: compiled where it is used.
    Spirv,
    /// Something else.
    Unknown,
}

impl Content {
    /// What the first bytes say.
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

    /// A name for people.
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

/// Bytes of the file itself, or of what was decompressed from it.
#[derive(Clone, Debug)]
pub(crate) enum Payload<'data> {
    Borrowed(&'data [u8]),
    Shared(Arc<Vec<u8>>, Range<usize>),
}

impl Payload<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            // The range was checked when it was made; an empty slice is better than a panic all the same.
            Self::Shared(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
        }
    }
}

/// A piece of GPU code that was found in a file.
#[derive(Clone, Debug)]
pub struct Found<'data> {
    /// Where it is.
    pub place: Place,
    /// What its bundle says of it, if it was in one.
    pub entry: Option<BundleEntry>,
    /// What it is by its first bytes.
    pub content: Content,
    pub(crate) payload: Payload<'data>,
}

impl Found<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.payload.bytes()
    }

    /// Reads it as a code object.
    pub fn code_object(&self) -> Result<CodeObject<'_>, Error> {
        CodeObject::parse(self.bytes())
    }

    /// What it is for: what its bundle says, or else what it says itself. Empty if neither says.
    pub fn target(&self) -> String {
        let stated = self.entry.as_ref().map(|entry| match entry.target() {
            Some(target) => target.to_string(),
            None => entry.id.clone(),
        });
        stated.or_else(|| Some(self.code_object().ok()?.target().to_string())).unwrap_or_default()
    }
}
