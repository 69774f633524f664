//! The library: which of its code objects is the one for a device.

use std::sync::OnceLock;

use roci_codeobj::{CodeObject, Setting, TargetError, TargetId};
use roci_hal::env::DEVICE_TARGETS;

use crate::{Archive, Error, Object};

/// What this build carries.
static EMBEDDED: &[u8] = include_bytes!("../library.zst");

/// Code objects with all kernels, one a target.
#[derive(Clone, Debug)]
pub struct DeviceLibrary {
    archive: Archive,
    /// What was there before a selection, for messages.
    left_out: Vec<TargetId>,
}

/// The code for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'library> {
    /// What the code is for: the device's own processor, or a generic target that covers it.
    pub target: TargetId,
    /// The code object, an ELF file.
    pub bytes: &'library [u8],
}

impl DeviceLibrary {
    /// The library that is part of this build, decompressed on the first call and kept. `ROCI_DEVICE_TARGETS`, as it is
    /// then, limits it to some of its targets.
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

    /// The library that is part of this build, whatever the environment says.
    pub fn embedded_whole() -> Result<Self, Error> {
        Self::open(EMBEDDED)
    }

    /// A library from a compressed archive.
    pub fn open(bytes: &[u8]) -> Result<Self, Error> {
        Archive::decompress(bytes).map(Self::new)
    }

    /// A library from an archive.
    pub fn new(archive: Archive) -> Self {
        Self { archive, left_out: Vec::new() }
    }

    /// The same library with the listed targets alone (`gfx1010,gfx11-generic`), each of which it must have.
    pub fn select(&self, list: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::Selection { value: list.to_owned(), reason, embedded: self.targets().collect() };
        let wanted = parse_targets(list).map_err(|error| wrong(error.to_string()))?;
        if let Some(missing) = wanted.iter().find(|&&target| self.targets().all(|other| other != target)) {
            return Err(wrong(format!("{missing} is not embedded in this build")));
        }
        let mut archive = self.archive.clone();
        archive.objects.retain(|object| wanted.contains(&object.target));
        let left_out = self.targets().filter(|target| !wanted.contains(target)).chain(self.left_out.clone());
        Ok(Self { archive, left_out: left_out.collect() })
    }

    /// What there is code for.
    pub fn targets(&self) -> impl Iterator<Item = TargetId> {
        self.archive.objects.iter().map(|object| object.target)
    }

    /// The code objects, and what they were made from.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The code for a device: that for its very processor if there is one, else that for a generic target which covers it;
    /// of several, the one that says most about the device's features.
    pub fn find(&self, device: &TargetId) -> Result<Found<'_>, Error> {
        let mut candidates: Vec<&Object> =
            self.archive.objects.iter().filter(|object| object.target.runs_on(device).is_ok()).collect();
        candidates.sort_by_key(|object| preference(&object.target));
        for object in candidates {
            let damaged = |error| Error::Damaged(format!("the code object for {}: {error}", object.target));
            let code = CodeObject::parse(&object.bytes).map_err(damaged)?;
            // The file itself has the last word: it alone knows the version of its generic target.
            if code.runs_on(device).is_ok() {
                return Ok(Found { target: object.target, bytes: &object.bytes });
            }
        }
        Err(Error::Target { device: *device, considered: self.targets().collect(), left_out: self.left_out.clone() })
    }
}

/// Orders targets that all run on a device, the best one first.
fn preference(target: &TargetId) -> (bool, usize) {
    let open = [target.sramecc, target.xnack].into_iter().filter(|&setting| setting == Setting::Any).count();
    (target.processor.is_generic(), open)
}

/// Reads the value of `ROCI_DEVICE_TARGETS`: target ids, separated by commas. One that stands there twice counts once.
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
