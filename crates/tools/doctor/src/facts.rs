//! Facts about a machine: names with values, each with its source.

use std::collections::{BTreeMap, BTreeSet};

/// A value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The value as text.
    pub value: String,
    /// Source: a file, a variable, or a line of a log.
    pub location: String,
}

/// Facts by name. A fact can have several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table(BTreeMap<String, Vec<Fact>>);

impl Table {
    /// Adds a value, unless the fact already has it.
    pub fn add(&mut self, name: impl Into<String>, value: impl ToString, location: impl Into<String>) {
        let (values, value) = (self.0.entry(name.into()).or_default(), value.to_string());
        if values.iter().all(|fact| fact.value != value) {
            values.push(Fact { value, location: location.into() });
        }
    }

    /// Removes a fact with all its values.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Values of a fact; empty if it is absent.
    pub fn get(&self, name: &str) -> &[Fact] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// First value of a fact.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.get(name).first().map(|fact| fact.value.as_str())
    }

    /// All facts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Fact])> {
        self.0.iter().map(|(name, facts)| (name.as_str(), facts.as_slice()))
    }
}

/// Facts about a machine and its GPUs.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Facts about the machine.
    pub machine: Table,
    /// Facts about each GPU; their names start with `gpu.`.
    pub gpus: Vec<Table>,
    /// Sections (first component of names) that were read completely: a missing fact is absent
    /// there. Elsewhere it is unknown.
    complete: BTreeSet<String>,
    all_complete: bool,
    /// Names that are unknown although their section is complete.
    unknown: BTreeSet<String>,
}

impl Facts {
    /// Facts of a machine that was read completely: missing facts are absent.
    pub fn complete() -> Self {
        Self { all_complete: true, ..Self::default() }
    }

    /// Marks a section as completely read.
    pub fn is_complete(&mut self, section: &str) {
        self.complete.insert(section.to_owned());
    }

    /// Marks a fact, and all facts below it, as unknown.
    pub(crate) fn is_unknown(&mut self, name: &str) {
        self.unknown.insert(name.to_owned());
    }

    /// Whether a missing fact is known to be absent.
    pub(crate) fn knows(&self, name: &str) -> bool {
        let below = name.match_indices('.').map(|(at, _)| &name[..at]);
        if below.chain([name]).any(|name| self.unknown.contains(name)) {
            return false;
        }
        self.all_complete || self.complete.contains(name.split('.').next().unwrap_or(name))
    }

    /// Values of a fact; of one GPU if the name starts with `gpu.`.
    pub(crate) fn get(&self, gpu: Option<usize>, name: &str) -> &[Fact] {
        match gpu.and_then(|gpu| self.gpus.get(gpu)) {
            Some(table) if name.starts_with("gpu.") => table.get(name),
            _ => self.machine.get(name),
        }
    }
}
