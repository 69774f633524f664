//! A part of a library: a file with code in it, a Tensile folder, a folder of MIOpen's databases.

use std::collections::BTreeMap;
use std::path::Path;

use roci_codeobj::{Fit, Piece, Processor, TargetId};

use super::names::{self, Kind};

/// What there is for one target.
#[derive(Clone, Debug)]
pub(super) struct ForTarget {
    pub(super) fit: Fit,
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

/// A part of a library.
#[derive(Clone, Debug)]
pub(super) struct Part {
    kind: Kind,
    pub(super) files: u64,
    pub(super) targets: BTreeMap<String, ForTarget>,
    /// Bundles, and those of them that have code which runs.
    bundles: u64,
    running_bundles: u64,
    /// Indices of Tensile kernels: for this chip or all, and for others.
    indices: u64,
    other_indices: u64,
    /// MIOpen's measurements, and those of them for this chip.
    tunings: u64,
    own_tunings: u64,
    /// Files that are named for this chip and hold code for another one.
    misnamed: Vec<String>,
}

impl Part {
    pub(super) fn new(kind: Kind) -> Self {
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
    pub(super) fn add(&mut self, path: &Path, pieces: &[Piece], device: &TargetId) {
        self.files += 1;
        let mut bundles = BTreeMap::new();
        for piece in pieces {
            let fit = piece.fit(device);
            // LLVM's newer container holds one piece, and no host's entry before it: it is for one target by design.
            if piece.place.entry.is_some_and(|entry| entry > 0) {
                let bundle = bundles.entry((&piece.place.member, piece.place.bundle)).or_insert(false);
                *bundle |= fit.runs();
            }
            self.count(piece.target(), fit, piece.bytes);
        }
        self.bundles += bundles.len() as u64;
        self.running_bundles += bundles.values().filter(|runs| **runs).count() as u64;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if self.kind != Kind::Code && names::processor(&file.to_lowercase()) == Some(device.processor) {
            let exact = pieces.iter().any(|piece| piece.fit(device).runs());
            self.misnamed.extend((!exact).then(|| file.into_owned()));
        }
    }

    /// Adds a file of which the name says all.
    pub(super) fn name_only(&mut self, kind: Kind, chip: Option<Processor>, bytes: u64, device: &TargetId) {
        self.files += 1;
        let fit = chip.map(|chip| Fit::of(TargetId::new(chip), device));
        let is_own = fit.as_ref().is_none_or(Fit::runs);
        match kind {
            Kind::Index(_) if is_own => self.indices += 1,
            Kind::Index(_) => self.other_indices += 1,
            Kind::Database(_) => {
                let name = chip.map_or("unknown", Processor::name);
                self.count(name.into(), fit.unwrap_or(Fit::Other), bytes);
            }
            _ => {
                self.tunings += 1;
                self.own_tunings += u64::from(is_own);
            }
        }
    }

    fn count(&mut self, target: String, fit: Fit, bytes: u64) {
        let entry = self.targets.entry(target).or_insert(ForTarget { fit: fit.clone(), objects: 0, bytes: 0 });
        // One of several may be damaged or of an old version.
        if fit.runs() {
            entry.fit = fit;
        }
        entry.objects += 1;
        entry.bytes += bytes;
    }

    /// What it is.
    pub(super) fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Code => "file",
            Kind::Tensile | Kind::Index(_) => "Tensile folder",
            Kind::Database(_) | Kind::Tuning(_) => "MIOpen databases",
        }
    }

    /// Whether it is there to hold kernels.
    pub(super) fn has_kernels(&self) -> bool {
        !self.targets.is_empty() || self.other_indices + self.indices > 0
    }

    /// Whether it has kernels that run on the chip and are found there.
    pub(super) fn runs(&self) -> bool {
        self.targets.values().any(|one| one.fit.runs()) && !self.lacks_index()
    }

    /// A Tensile library looks for an index with the name of the chip, and fails without it.
    fn lacks_index(&self) -> bool {
        self.indices == 0 && self.other_indices > 0
    }

    /// The best fit of what is in it.
    pub(super) fn fit(&self) -> &'static str {
        let order = ["exact", "generic", "portable", "mismatch", "unusable", "sibling", "other"];
        let has = |name: &&&str| self.targets.values().any(|one| one.fit.name() == **name);
        order.iter().find(has).copied().unwrap_or("none")
    }

    /// What else there is to know, a sentence each.
    pub(super) fn notes(&self, device: &TargetId) -> Vec<String> {
        let chip = device.processor;
        let mut notes = Vec::new();
        if self.targets.values().any(|one| one.fit.runs()) && self.lacks_index() {
            notes.push(format!("there is no index (.dat) for {chip}: the kernels are not found"));
        }
        if self.running_bundles > 0 && self.running_bundles < self.bundles && self.kind == Kind::Code {
            notes.push(format!("only {} of {} bundles have code for {chip}", self.running_bundles, self.bundles));
        }
        if !self.misnamed.is_empty() {
            let first = &self.misnamed[0];
            let more =
                if self.misnamed.len() > 1 { format!(" and {} more", self.misnamed.len() - 1) } else { "".into() };
            notes.push(format!("`{first}`{more} named for {chip}, but the code is for another chip"));
        }
        if !self.runs() {
            let siblings = self.targets.iter().filter(|(_, one)| one.fit == Fit::Sibling);
            let siblings: Vec<_> = siblings.map(|(name, _)| name.as_str()).collect();
            if !siblings.is_empty() {
                notes.push(format!("{} is for sibling chips, it does not run on {chip}", siblings.join(", ")));
            }
            for one in self.targets.values() {
                match &one.fit {
                    Fit::Mismatch(reason) => notes.push(reason.to_string()),
                    Fit::Unusable(reason) => notes.push(reason.clone()),
                    _ => {}
                }
            }
            notes.dedup();
            notes.truncate(5);
        }
        if self.tunings > 0 && self.own_tunings == 0 {
            notes.push(format!("no measurements for {chip}: MIOpen searches when it runs"));
        }
        if matches!(self.kind, Kind::Database(_) | Kind::Tuning(_)) && !self.runs() {
            notes.push("MIOpen compiles what it lacks when it runs, where it has a compiler".into());
        }
        notes
    }
}
