//! What a fix changes: files before and after, commands, and what to set by hand.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::root::Root;

use super::change::Change;
use super::error::FixError;
use super::tree::{FileState, Tree};
use super::{boot, environment, groups, modprobe, udev};

/// A machine to change, or a copy of its files.
#[derive(Debug)]
pub struct System {
    pub(super) tree: Tree,
    pub(super) facts: Facts,
    /// The user who works on the machine.
    pub(super) user: Option<String>,
    /// The command line of the running kernel, with all values.
    pub(super) command_line: String,
}

impl System {
    /// The machine with this root. `facts` are those of its snapshot. `user` works on it; if none
    /// is given, the only person among the users is meant.
    pub fn new(root: &Root, facts: Facts, user: Option<String>) -> Self {
        let user = user.filter(|name| name != "root").or_else(|| root.only_person());
        let command_line = root.text("/proc/cmdline").unwrap_or_default();
        Self { tree: Tree::at(root.path("/")), facts, user, command_line }
    }

    /// Whether it is this machine, and not a copy of another one's files.
    pub fn is_here(&self) -> bool {
        self.tree.is_here()
    }

    pub(super) fn fact(&self, name: &str) -> Option<&str> {
        self.facts.machine.first(name)
    }

    /// Whether the configuration is made from a description, so that files must not be edited.
    pub(super) fn is_nixos(&self) -> bool {
        self.fact("boot.loader") == Some("nixos") || self.fact("os.id") == Some("nixos")
    }

    /// Plans changes. Nothing is written.
    ///
    /// # Errors
    /// If a value is not allowed, or a file is not as expected.
    pub fn plan(&self, changes: &[Change]) -> Result<Plan, FixError> {
        let mut draft = Draft::new(self);
        for change in changes {
            change.check().map_err(FixError::Invalid)?;
            match change {
                Change::KernelParameter(text) => boot::set(&mut draft, text)?,
                Change::RemoveParameter(text) => {
                    boot::remove(&mut draft, text)?;
                    modprobe::remove(&mut draft, text)?;
                }
                Change::ModuleOption(text) => modprobe::set(&mut draft, text)?,
                Change::RemoveBlacklist(text) => modprobe::unblock(&mut draft, text)?,
                Change::Groups(text) => groups::join_user(&mut draft, text)?,
                Change::ServiceGroups(text) => groups::join_service(&mut draft, text)?,
                Change::Environment(text) => environment::set(&mut draft, text)?,
                Change::RemoveEnvironment(text) => environment::remove(&mut draft, text)?,
                Change::UdevRule(text) => udev::add(&mut draft, text)?,
            }
        }
        Ok(draft.finish())
    }
}

/// A command with the one that takes it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) run: Vec<String>,
    /// The same command if it makes something of the changed files; otherwise its inverse.
    pub(crate) undo: Vec<Vec<String>>,
}

impl Command {
    /// Whether it makes something of files, so that it is run again after they are restored.
    pub(crate) fn regenerates(&self) -> bool {
        self.undo == [self.run.clone()]
    }
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEdit {
    pub(crate) path: String,
    /// `None` if there is no such file yet.
    pub(crate) before: Option<FileState>,
    pub(crate) after: FileState,
}

/// What a fix changes.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub(crate) edits: Vec<FileEdit>,
    pub(crate) commands: Vec<Command>,
    /// Files that the commands change, as they will be. They are shown and copied, but not written.
    pub(crate) by_commands: Vec<FileEdit>,
    /// Lines of a description of the system, such as NixOS's, for the user to set.
    pub(crate) options: Vec<String>,
    /// What else the user has to know.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// Whether applying it does anything.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.commands.is_empty()
    }
}

/// A plan in the making. Several changes can concern the same file.
pub(super) struct Draft<'s> {
    pub(super) system: &'s System,
    /// By path: the file as it is, and its text as it becomes.
    files: BTreeMap<String, (Option<FileState>, Option<String>)>,
    commands: Vec<Command>,
    by_commands: Vec<FileEdit>,
    pub(super) options: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl<'s> Draft<'s> {
    fn new(system: &'s System) -> Self {
        let files = BTreeMap::new();
        Self { system, files, commands: vec![], by_commands: vec![], options: vec![], notes: vec![] }
    }

    /// Text of a file with the changes so far; `None` if there is none.
    pub(super) fn text(&mut self, path: &str) -> Result<Option<String>, FixError> {
        if let Some((_, text)) = self.files.get(path) {
            return Ok(text.clone());
        }
        let tree = &self.system.tree;
        let (state, text) = (tree.read(path)?, tree.text(path)?);
        self.files.insert(path.to_owned(), (state, text.clone()));
        Ok(text)
    }

    /// Sets the text of a file that was read. Returns whether that is a change.
    pub(super) fn set(&mut self, path: &str, text: String) -> bool {
        let (before, now) = self.files.entry(path.to_owned()).or_default();
        *now = Some(text);
        before.as_ref().map(|state| state.bytes.as_slice()) != now.as_ref().map(String::as_bytes)
    }

    /// Adds a command that is run after files are changed, and again after they are restored.
    pub(super) fn then(&mut self, run: &[&str]) {
        self.then_or(own(run), vec![own(run)]);
    }

    /// Adds a command, and the one that takes it back.
    pub(super) fn then_or(&mut self, run: Vec<String>, undo: Vec<Vec<String>>) {
        let command = Command { run, undo };
        if !self.commands.contains(&command) {
            self.commands.push(command);
        }
    }

    /// Records what a command does to a file.
    pub(super) fn by_command(&mut self, path: &str, text: String) -> Result<(), FixError> {
        let before = self.system.tree.read(path)?;
        if let Some(state) = &before {
            let after = state.with(text.into_bytes());
            self.by_commands.push(FileEdit { path: path.to_owned(), before, after });
        }
        Ok(())
    }

    /// Adds a note once.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    fn finish(self) -> Plan {
        let owner = self.system.tree.owner();
        let edit = |(path, (before, text)): (String, (Option<FileState>, Option<String>))| {
            let bytes = text?.into_bytes();
            let after =
                before.as_ref().map_or_else(|| FileState::new(bytes.clone(), owner), |old| old.with(bytes.clone()));
            (before.as_ref() != Some(&after)).then_some(FileEdit { path, before, after })
        };
        Plan {
            edits: self.files.into_iter().filter_map(edit).collect(),
            commands: self.commands,
            by_commands: self.by_commands,
            options: self.options,
            notes: self.notes,
        }
    }
}

/// A command's words as a command.
pub(super) fn own(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
