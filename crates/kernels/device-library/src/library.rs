//! Selects the code object for a device.

use std::sync::OnceLock;

use roci_base::env::DEVICE_TARGETS;
use roci_codeobj::{CodeObject, Setting, TargetError, TargetId};

use crate::{Archive, Error, Object};

/// The compressed archive of this build.
static EMBEDDED: &[u8] = include_bytes!("../library.zst");

/// Code objects with all kernels, one per target.
#[derive(Clone, Debug)]
pub struct DeviceLibrary {
    archive: Archive,
    /// Targets that a selection removed, for messages.
    left_out: Vec<TargetId>,
}

/// The code for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryCode<'library> {
    /// The target of the code: the device's own processor, or a generic target that covers it.
    pub target: TargetId,
    /// The code object, an ELF file.
    pub bytes: &'library [u8],
}

impl DeviceLibrary {
    /// The library of this build, decompressed on the first call and cached. `ROCI_DEVICE_TARGETS`,
    /// read on that call, limits it to some of its targets.
    pub fn embedded() -> Result<&'static Self, Error> {
        static LIBRARY: OnceLock<Result<DeviceLibrary, Error>> = OnceLock::new();
        let open = || {
            let library = Self::open(EMBEDDED)?;
            match DEVICE_TARGETS.get() {
                Some(list) => library.select(&list),
                None => Ok(library),
            }
        };
        LIBRARY.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// The library of this build, ignoring the environment.
    pub fn embedded_whole() -> Result<Self, Error> {
        Self::open(EMBEDDED)
    }

    /// Opens a compressed archive.
    pub fn open(bytes: &[u8]) -> Result<Self, Error> {
        Archive::decompress(bytes).map(Self::new)
    }

    /// Creates a library from an archive.
    pub fn new(archive: Archive) -> Self {
        Self { archive, left_out: Vec::new() }
    }

    /// Keeps only the listed targets (`gfx1010,gfx11-generic`). Fails if the library lacks one of
    /// them.
    pub fn select(&self, list: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::Selection { value: list.to_owned(), reason, embedded: self.targets().collect() };
        let expected = parse_targets(list).map_err(|error| wrong(error.to_string()))?;
        if let Some(missing) = expected.iter().find(|&&target| self.targets().all(|other| other != target)) {
            return Err(wrong(format!("{missing} is not embedded in this build")));
        }
        let mut archive = self.archive.clone();
        archive.objects.retain(|object| expected.contains(&object.target));
        let left_out = self.targets().filter(|target| !expected.contains(target)).chain(self.left_out.clone());
        Ok(Self { archive, left_out: left_out.collect() })
    }

    /// Targets in the library.
    pub fn targets(&self) -> impl Iterator<Item = TargetId> {
        self.archive.objects.iter().map(|object| object.target)
    }

    /// The code objects and their build inputs.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Finds the code for a device. Code for the device's own processor is preferred to a generic
    /// target that covers it. If several match, the one that specifies the most target features
    /// wins.
    pub fn find(&self, device: &TargetId) -> Result<LibraryCode<'_>, Error> {
        let mut candidates: Vec<&Object> =
            self.archive.objects.iter().filter(|object| object.target.runs_on(device).is_ok()).collect();
        candidates.sort_by_key(|object| preference(&object.target));
        for object in candidates {
            let damaged = |error| Error::Damaged(format!("the code object for {}: {error}", object.target));
            let code = CodeObject::parse(&object.bytes).map_err(damaged)?;
            // The code object decides: only it records the version of its generic target.
            if code.runs_on(device).is_ok() {
                return Ok(LibraryCode { target: object.target, bytes: &object.bytes });
            }
        }
        Err(Error::Target { device: *device, considered: self.targets().collect(), left_out: self.left_out.clone() })
    }
}

/// Sort key for targets that run on the same device, best first.
fn preference(target: &TargetId) -> (bool, usize) {
    let open = [target.sramecc, target.xnack].into_iter().filter(|&setting| setting == Setting::Any).count();
    (target.processor.is_generic(), open)
}

/// Parses `ROCI_DEVICE_TARGETS`: target ids separated by commas. Duplicates count once.
pub fn parse_targets(list: &str) -> Result<Vec<TargetId>, TargetError> {
    let mut targets = Vec::new();
    for item in list.split(',').map(str::trim) {
        let target = item.parse()?;
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}
