//! What is known of a machine: names with values, and for each where it was read.

use std::collections::{BTreeMap, BTreeSet};

/// One value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub value: String,
    /// Where it was read: a file, a variable, a line of a log.
    pub place: String,
}

/// Facts by name. A fact may have several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table(BTreeMap<String, Vec<Fact>>);

impl Table {
    /// Adds a value; one that is already there is kept as it is.
    pub fn add(&mut self, name: impl Into<String>, value: impl ToString, place: impl Into<String>) {
        let (values, value) = (self.0.entry(name.into()).or_default(), value.to_string());
        if values.iter().all(|fact| fact.value != value) {
            values.push(Fact { value, place: place.into() });
        }
    }

    /// Takes a fact away, with all its values.
    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// The values of a fact.
    pub fn get(&self, name: &str) -> &[Fact] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The first value of a fact.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.get(name).first().map(|fact| fact.value.as_str())
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Fact])> {
        self.0.iter().map(|(name, facts)| (name.as_str(), facts.as_slice()))
    }
}

/// Everything known of a machine and its GPUs.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Of the machine.
    pub machine: Table,
    /// Of each GPU; the names begin with `gpu.`.
    pub gpus: Vec<Table>,
    /// The sections (first words of names) in which everything was looked for: what is not there is absent. Elsewhere it is
    /// unknown.
    complete: BTreeSet<String>,
    all_complete: bool,
    /// Names that were not looked for all the same.
    unknown: BTreeSet<String>,
}

impl Facts {
    /// Facts of a machine that was looked at from top to bottom: what is not there is absent.
    pub fn complete() -> Self {
        Self { all_complete: true, ..Self::default() }
    }

    /// Says that a section was looked through.
    pub fn is_complete(&mut self, section: &str) {
        self.complete.insert(section.to_owned());
    }

    /// Says that a fact was not looked for, nor any below it.
    pub(crate) fn is_unknown(&mut self, name: &str) {
        self.unknown.insert(name.to_owned());
    }

    /// Whether a fact that is not there is known to be absent.
    pub(crate) fn knows(&self, name: &str) -> bool {
        let below = name.match_indices('.').map(|(at, _)| &name[..at]);
        if below.chain([name]).any(|name| self.unknown.contains(name)) {
            return false;
        }
        self.all_complete || self.complete.contains(name.split('.').next().unwrap_or(name))
    }

    /// The values of a fact, of a GPU where the name says so.
    pub(crate) fn get(&self, gpu: Option<usize>, name: &str) -> &[Fact] {
        match gpu.and_then(|gpu| self.gpus.get(gpu)) {
            Some(table) if name.starts_with("gpu.") => table.get(name),
            _ => self.machine.get(name),
        }
    }
}
