//! Lists the GPU code in a file from its tables alone. The time does not depend on the file size,
//! except for files of unknown format, which are scanned.

use std::fs;

use crate::code_object::{HeaderFields, runs_on};
use crate::device_image::is_amdgpu_elf;
use crate::search::{ImageBytes, LocatedImage, Search};
use crate::source::{DiskFile, Source};
use crate::{Error, FileError, FileKind, ImageKind, ImageLocation, Mismatch, Problem, TargetId};

/// Size of an ELF header in bytes.
const HEADER: usize = 64;

/// A summary of the device images in a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileSummary {
    /// The file's format.
    pub kind: FileKind,
    /// In file order.
    pub images: Vec<ImageSummary>,
    /// Damaged parts of the file.
    pub problems: Vec<Problem>,
}

/// Summary of a device image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSummary {
    /// Where the file contains it.
    pub location: ImageLocation,
    /// Its kind, detected from the first bytes; `None` for compressed images, whose bytes were not
    /// read.
    pub kind: Option<ImageKind>,
    /// ID of its bundle entry; empty if it is not in a bundle.
    pub entry_id: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Target from its ELF header, or else from its bundle entry.
    target: Option<TargetId>,
    /// Version of a generic target.
    generic_version: u8,
    /// Why it cannot be loaded.
    fault: Option<Error>,
}

/// Whether code runs on a device, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compatibility {
    /// Compiled for exactly this chip.
    Exact,
    /// Compiled for a generic target that covers the chip.
    Generic,
    /// SPIR-V, which is compiled for the chip when it is loaded.
    Portable,
    /// Compiled for a chip that shares a generic target with this one. It does not run here.
    Sibling,
    /// Compiled for the chip, but with another feature setting or too old a generic version.
    Mismatch(Mismatch),
    /// It cannot be loaded on any device.
    Unusable(String),
    /// Compiled for something else.
    Other,
}

impl Compatibility {
    /// Whether the code runs.
    pub fn runs(&self) -> bool {
        matches!(self, Self::Exact | Self::Generic | Self::Portable)
    }

    /// Machine-readable name, for JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Generic => "generic",
            Self::Portable => "portable",
            Self::Sibling => "sibling",
            Self::Mismatch(_) => "mismatch",
            Self::Unusable(_) => "unusable",
            Self::Other => "other",
        }
    }

    /// Compares target IDs alone.
    pub fn of(target: TargetId, device: &TargetId) -> Self {
        Self::versioned(target, 1, device)
    }

    fn versioned(target: TargetId, generic_version: u8, device: &TargetId) -> Self {
        let (code, chip) = (target.processor, device.processor);
        match runs_on(target, generic_version, device) {
            Ok(()) if code == chip => Self::Exact,
            Ok(()) => Self::Generic,
            Err(Mismatch::Processor { .. }) if code.generic().is_some() && code.generic() == chip.generic() => {
                Self::Sibling
            }
            Err(Mismatch::Processor { .. }) => Self::Other,
            Err(mismatch) => Self::Mismatch(mismatch),
        }
    }
}

impl ImageSummary {
    fn new(source: &impl Source, image: LocatedImage) -> Result<Self, FileError> {
        let (head, bytes) = match image.bytes {
            ImageBytes::InFile(range) => {
                let head = source.head(range.clone(), HEADER)?;
                (head[..head.len().min(HEADER)].to_vec(), range.end - range.start)
            }
            ImageBytes::Decompressed(bytes, range) => {
                let end = range.end.min(range.start.saturating_add(HEADER));
                (bytes.get(range.start..end).unwrap_or_default().to_vec(), range.len() as u64)
            }
        };
        let stated = image.entry.as_ref().and_then(|entry| entry.target());
        let (target, generic_version, fault) = match HeaderFields::parse(&head) {
            Ok(header) => (Some(header.target), header.generic_version, None),
            Err(error) if is_amdgpu_elf(&head) => (stated, 1, Some(error)),
            Err(_) => (stated, 1, None),
        };
        Ok(Self {
            location: image.location,
            kind: (!head.is_empty()).then(|| ImageKind::of(&head)),
            entry_id: image.entry.map(|entry| entry.id).unwrap_or_default(),
            bytes,
            target,
            generic_version,
            fault,
        })
    }

    /// Target ID, or else the ID of the bundle entry, or else `unknown`.
    pub fn target(&self) -> String {
        match self.target {
            Some(target) => target.to_string(),
            None if self.is_spirv() => "SPIR-V".into(),
            None if self.entry_id.is_empty() => "unknown".into(),
            None => self.entry_id.clone(),
        }
    }

    /// Whether the image runs on `device`.
    pub fn compatibility(&self, device: &TargetId) -> Compatibility {
        match (&self.fault, self.kind, self.target) {
            (Some(fault), ..) => Compatibility::Unusable(fault.to_string()),
            _ if self.is_spirv() => Compatibility::Portable,
            (None, Some(ImageKind::Bitcode), Some(target)) if Compatibility::of(target, device).runs() => {
                Compatibility::Unusable("this is LLVM bitcode, not compiled to machine code".into())
            }
            (None, _, Some(target)) => Compatibility::versioned(target, self.generic_version, device),
            (None, _, None) => Compatibility::Other,
        }
    }

    fn is_spirv(&self) -> bool {
        self.kind == Some(ImageKind::Spirv) || self.entry_id.contains("amdgcnspirv")
    }
}

impl FileSummary {
    /// Summarizes a file. Only headers and tables are read; a file of unknown format is scanned as
    /// a whole. A host file without GPU code gives empty `images`, not an error.
    pub fn of_file(file: &fs::File) -> Result<Self, FileError> {
        Self::of(&DiskFile::new(file)?)
    }

    /// Like [`of_file`](Self::of_file), for a file in memory.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::of(&bytes)
    }

    fn of(source: &impl Source) -> Result<Self, FileError> {
        let mut search = Search::for_tables(source);
        let kind = search.run()?;
        let images =
            search.images.into_iter().map(|image| ImageSummary::new(source, image)).collect::<Result<_, _>>()?;
        Ok(Self { kind, images, problems: search.problems })
    }
}
