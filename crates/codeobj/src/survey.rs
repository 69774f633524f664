//! What GPU code there is in a file, from its tables alone: files of gigabytes take as long as small ones.

use std::fs;

use crate::code_object::{Heading, runs_on};
use crate::found::is_amdgpu_elf;
use crate::search::{Hit, Part, Search};
use crate::source::{OnDisk, Source};
use crate::{Content, Error, FileError, FileKind, Mismatch, Place, Problem, TargetId};

/// Bytes of an ELF header.
const HEADER: usize = 64;

/// What there is in a file.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What the file is.
    pub kind: FileKind,
    /// The GPU code in it, in the order of the file.
    pub pieces: Vec<Piece>,
    /// The parts of it that should hold GPU code but are damaged.
    pub problems: Vec<Problem>,
}

/// A piece of GPU code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it is.
    pub place: Place,
    /// What it is, if its first bytes could be seen: those of compressed code are not.
    pub content: Option<Content>,
    /// What its bundle calls it; empty if it is in none.
    pub entry_id: String,
    /// Bytes of it.
    pub bytes: u64,
    /// What it is for, by its own header or else by its bundle.
    target: Option<TargetId>,
    /// The version of a generic target.
    generic_version: u8,
    /// Why it cannot be loaded.
    fault: Option<Error>,
}

/// How code and a device go together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fit {
    /// It is for this very chip.
    Exact,
    /// It is for a generic target that covers the chip.
    Generic,
    /// It is SPIR-V, which is compiled for the chip where it is loaded.
    Portable,
    /// It is for a chip that shares a generic target with this one. It does not run here.
    Sibling,
    /// It is for the chip, but with a feature set otherwise, or of a version from before it.
    Mismatch(Mismatch),
    /// It cannot be loaded at all.
    Unusable(String),
    /// It is for something else.
    Other,
}

impl Fit {
    /// Whether the code runs.
    pub fn runs(&self) -> bool {
        matches!(self, Self::Exact | Self::Generic | Self::Portable)
    }

    /// A name for programs.
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

    /// Whether code for `target` runs on `device`, as far as names tell.
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

impl Piece {
    fn new(source: &impl Source, hit: Hit) -> Result<Self, FileError> {
        let (head, bytes) = match hit.part {
            Part::Stored(range) => {
                let head = source.head(range.clone(), HEADER)?;
                (head[..head.len().min(HEADER)].to_vec(), range.end - range.start)
            }
            Part::Unpacked(bytes, range) => {
                let end = range.end.min(range.start.saturating_add(HEADER));
                (bytes.get(range.start..end).unwrap_or_default().to_vec(), range.len() as u64)
            }
        };
        let stated = hit.entry.as_ref().and_then(|entry| entry.target());
        let (target, generic_version, fault) = match Heading::parse(&head) {
            Ok(heading) => (Some(heading.target), heading.generic_version, None),
            Err(error) if is_amdgpu_elf(&head) => (stated, 1, Some(error)),
            Err(_) => (stated, 1, None),
        };
        Ok(Self {
            place: hit.place,
            content: (!head.is_empty()).then(|| Content::of(&head)),
            entry_id: hit.entry.map(|entry| entry.id).unwrap_or_default(),
            bytes,
            target,
            generic_version,
            fault,
        })
    }

    /// What it is for: a target id, what its bundle calls it if that is none, or `unknown`.
    pub fn target(&self) -> String {
        match self.target {
            Some(target) => target.to_string(),
            None if self.is_spirv() => "SPIR-V".into(),
            None if self.entry_id.is_empty() => "unknown".into(),
            None => self.entry_id.clone(),
        }
    }

    /// Whether it runs on `device`.
    pub fn fit(&self, device: &TargetId) -> Fit {
        match (&self.fault, self.content, self.target) {
            (Some(fault), ..) => Fit::Unusable(fault.to_string()),
            _ if self.is_spirv() => Fit::Portable,
            (None, Some(Content::Bitcode), Some(target)) if Fit::of(target, device).runs() => {
                Fit::Unusable("this is LLVM bitcode, not compiled to the end".into())
            }
            (None, _, Some(target)) => Fit::versioned(target, self.generic_version, device),
            (None, _, None) => Fit::Other,
        }
    }

    fn is_spirv(&self) -> bool {
        self.content == Some(Content::Spirv) || self.entry_id.contains("amdgcnspirv")
    }
}

impl Survey {
    /// Looks at what there is in a file. Only headers and tables are read where they say where the code is; a file of
    /// another kind is searched for bundles as a whole. Finding none in a host file is no error; `pieces` is empty then.
    pub fn of_file(file: &fs::File) -> Result<Self, FileError> {
        Self::of(&OnDisk::new(file)?)
    }

    /// The same for a file that is in memory.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        Self::of(&bytes)
    }

    fn of(source: &impl Source) -> Result<Self, FileError> {
        let mut search = Search::for_tables(source);
        let kind = search.run()?;
        let pieces = search.hits.into_iter().map(|hit| Piece::new(source, hit)).collect::<Result<_, _>>()?;
        Ok(Self { kind, pieces, problems: search.problems })
    }
}
