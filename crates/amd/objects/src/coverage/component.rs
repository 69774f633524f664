//! A component of a library: a file with code, a Tensile folder, or a folder of MIOpen databases.

use std::collections::BTreeMap;
use std::path::Path;

use roci_codeobj::{Compatibility, ImageSummary, Processor, TargetId};

use super::names::{self, FileKind};

#[derive(Clone, Debug)]
pub(crate) struct TargetCode {
    pub(crate) compatibility: Compatibility,
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

/// A component of a library.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    kind: FileKind,
    pub(crate) files: u64,
    pub(crate) targets: BTreeMap<String, TargetCode>,
    /// Bundles, and how many of them have code that runs.
    bundles: u64,
    running_bundles: u64,
    /// Tensile kernel indices: for this chip or all chips, and for other chips.
    indices: u64,
    other_indices: u64,
    /// MIOpen tuning files, and how many of them are for this chip.
    tunings: u64,
    own_tunings: u64,
    /// Files that are named after this chip but contain code for another one.
    misnamed: Vec<String>,
}

impl Component {
    pub(crate) fn new(kind: FileKind) -> Self {
        Self {
            kind,
            files: 0,
            targets: BTreeMap::new(),
            bundles: 0,
            running_bundles: 0,
            indices: 0,
            other_indices: 0,
            tunings: 0,
            own_tunings: 0,
            misnamed: Vec::new(),
        }
    }

    /// Adds a file with code.
    pub(crate) fn add(&mut self, path: &Path, images: &[ImageSummary], device: &TargetId) {
        self.files += 1;
        let mut bundles = BTreeMap::new();
        for image in images {
            let fit = image.compatibility(device);
            // LLVM's newer container holds one image without a preceding host entry: it is for one
            // target by design.
            if image.location.entry.is_some_and(|entry| entry > 0) {
                let bundle = bundles.entry((&image.location.member, image.location.bundle)).or_insert(false);
                *bundle |= fit.runs();
            }
            self.count(image.target(), fit, image.bytes);
        }
        self.bundles += bundles.len() as u64;
        self.running_bundles += bundles.values().filter(|runs| **runs).count() as u64;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if self.kind != FileKind::Code && names::processor(&file.to_lowercase()) == Some(device.processor) {
            let exact = images.iter().any(|image| image.compatibility(device).runs());
            self.misnamed.extend((!exact).then(|| file.into_owned()));
        }
    }

    /// Adds a file that is described by its name alone.
    pub(crate) fn name_only(&mut self, kind: FileKind, chip: Option<Processor>, bytes: u64, device: &TargetId) {
        self.files += 1;
        let fit = chip.map(|chip| Compatibility::of(TargetId::new(chip), device));
        let is_own = fit.as_ref().is_none_or(Compatibility::runs);
        match kind {
            FileKind::Index(_) if is_own => self.indices += 1,
            FileKind::Index(_) => self.other_indices += 1,
            FileKind::Database(_) => {
                let name = chip.map_or("unknown", Processor::name);
                self.count(name.into(), fit.unwrap_or(Compatibility::Other), bytes);
            }
            _ => {
                self.tunings += 1;
                self.own_tunings += u64::from(is_own);
            }
        }
    }

    fn count(&mut self, target: String, compatibility: Compatibility, bytes: u64) {
        let entry = self.targets.entry(target).or_insert(TargetCode {
            compatibility: compatibility.clone(),
            objects: 0,
            bytes: 0,
        });
        // One of several images may be damaged or of an old version.
        if compatibility.runs() {
            entry.compatibility = compatibility;
        }
        entry.objects += 1;
        entry.bytes += bytes;
    }

    /// The kind of component, as text.
    pub(crate) fn describe(&self) -> &'static str {
        match self.kind {
            FileKind::Code => "file",
            FileKind::Tensile | FileKind::Index(_) => "Tensile folder",
            FileKind::Database(_) | FileKind::Tuning(_) => "MIOpen databases",
        }
    }

    /// Whether the component is supposed to contain kernels.
    pub(crate) fn has_kernels(&self) -> bool {
        !self.targets.is_empty() || self.other_indices + self.indices > 0
    }

    /// Whether it has kernels that run on the chip and that the library finds.
    pub(crate) fn runs(&self) -> bool {
        self.targets.values().any(|one| one.compatibility.runs()) && !self.lacks_index()
    }

    /// Whether the index for the chip is missing. A Tensile library looks for an index with the
    /// chip's name and fails without it.
    fn lacks_index(&self) -> bool {
        self.indices == 0 && self.other_indices > 0
    }

    /// The best fit of its targets.
    pub(crate) fn compatibility(&self) -> &'static str {
        let order = ["exact", "generic", "portable", "mismatch", "unusable", "sibling", "other"];
        let has = |name: &&&str| self.targets.values().any(|one| one.compatibility.name() == **name);
        order.iter().find(has).copied().unwrap_or("none")
    }

    /// Further notes, one sentence each.
    pub(crate) fn notes(&self, device: &TargetId) -> Vec<String> {
        let chip = device.processor;
        let mut notes = Vec::new();
        if self.targets.values().any(|one| one.compatibility.runs()) && self.lacks_index() {
            notes.push(format!("no index (.dat) for {chip}: the library does not find the kernels"));
        }
        if self.running_bundles > 0 && self.running_bundles < self.bundles && self.kind == FileKind::Code {
            notes.push(format!("only {} of {} bundles have code for {chip}", self.running_bundles, self.bundles));
        }
        if !self.misnamed.is_empty() {
            let first = &self.misnamed[0];
            let more =
                if self.misnamed.len() > 1 { format!(" and {} more", self.misnamed.len() - 1) } else { "".into() };
            notes.push(format!("`{first}`{more} named for {chip}, but the code is for another chip"));
        }
        if !self.runs() {
            let siblings = self.targets.iter().filter(|(_, one)| one.compatibility == Compatibility::Sibling);
            let siblings: Vec<_> = siblings.map(|(name, _)| name.as_str()).collect();
            if !siblings.is_empty() {
                notes.push(format!("{} is for sibling chips; it does not run on {chip}", siblings.join(", ")));
            }
            for one in self.targets.values() {
                match &one.compatibility {
                    Compatibility::Mismatch(reason) => notes.push(reason.to_string()),
                    Compatibility::Unusable(reason) => notes.push(reason.clone()),
                    _ => {}
                }
            }
            notes.dedup();
            notes.truncate(5);
        }
        if self.tunings > 0 && self.own_tunings == 0 {
            notes.push(format!("no tuning data for {chip}: MIOpen measures kernels at run time"));
        }
        if matches!(self.kind, FileKind::Database(_) | FileKind::Tuning(_)) && !self.runs() {
            notes.push("MIOpen compiles missing kernels at run time, if a compiler is installed".into());
        }
        notes
    }
}
