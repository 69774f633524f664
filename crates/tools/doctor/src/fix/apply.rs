//! Applies plans and takes them back.

use super::error::FixError;
use super::plan::{FileEdit, Plan, System};
use super::record::{Copies, Record};
use super::tree::FileState;

/// Runs a command of root. The error is a message.
pub type Runner<'r> = &'r mut dyn FnMut(&[String]) -> Result<(), String>;

/// What was applied or taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// Number of the record.
    pub number: u32,
    /// Rule.
    pub id: String,
    /// Title of the rule.
    pub title: String,
    /// Files that were changed.
    pub files: Vec<String>,
    /// Commands, as in a shell. In a copy of a machine they were not run.
    pub commands: Vec<String>,
}

impl System {
    /// Applies a plan: saves copies, changes the files, and runs the commands if this is the
    /// machine itself.
    ///
    /// # Errors
    /// If a file cannot be changed, or was changed since the plan was made: then all files are as
    /// before. If a command fails, the files stay changed, and the record can be undone.
    pub fn apply(&self, id: &str, title: &str, plan: &Plan, run: Runner<'_>) -> Result<Done, FixError> {
        for edit in &plan.edits {
            if self.tree.read(&edit.path)? != edit.before {
                return Err(FixError::Changed { path: edit.path.clone() });
            }
        }
        let mut record = Record::create(self, id, title, plan)?;
        for (index, edit) in plan.edits.iter().enumerate() {
            if let Err(error) = self.change(edit, &mut record) {
                // As it was before. A second error would hide the first one.
                for edit in plan.edits[..index].iter().rev() {
                    let _ = self.tree.replace(&edit.path, Some(&edit.after), edit.before.as_ref());
                }
                let _ = record.remove(&self.tree);
                return Err(error);
            }
        }
        record.save(&self.tree)?;
        let commands: Vec<_> = plan.commands.iter().map(|command| command.run.clone()).collect();
        self.run(&commands, run)?;
        Ok(done(&record, &commands))
    }

    fn change(&self, edit: &FileEdit, record: &mut Record) -> Result<(), FixError> {
        let (folder, _) = edit.path.rsplit_once('/').unwrap_or_default();
        record.folders.extend(self.tree.create_folder(folder, 0o755)?);
        self.tree.replace(&edit.path, edit.before.as_ref(), Some(&edit.after))
    }

    /// Takes back the last fix, or the last one of a rule, or the one with this number.
    ///
    /// # Errors
    /// If a file was changed since, unless `force` is set; if there is no such record.
    pub fn undo(&self, id: Option<&str>, force: bool, run: Runner<'_>) -> Result<Done, FixError> {
        let all = Record::all(&self.tree)?;
        let is_meant = |record: &&Record| {
            id.is_none_or(|id| record.id.eq_ignore_ascii_case(id) || id.parse() == Ok(record.number))
        };
        let missing = || FixError::NotApplied { id: id.unwrap_or("any rule").to_owned() };
        let record = all.iter().rfind(is_meant).ok_or_else(missing)?;
        let copies = record.copies(&self.tree)?;
        let by_commands = record.copies_by_commands(&self.tree)?;
        let mut restore = Vec::new();
        for copy in &copies {
            let now = self.tree.read(&copy.path)?;
            let state = now.as_ref().map(|state| state.bytes.as_slice());
            let before = copy.before.as_ref().map(|state| state.bytes.as_slice());
            // A command may have changed the file again, as was expected.
            let mut expected = by_commands.iter().filter(|other| other.path == copy.path).map(|other| &other.after);
            let is_expected = state.is_some_and(|state| expected.any(|after| same_lines(state, after)));
            if state == Some(copy.after.as_slice()) || is_expected || force && state != before {
                restore.push((copy, now));
            } else if state != before {
                return Err(self.changed(copy, record, &all));
            }
        }
        let (again, inverse): (Vec<_>, Vec<_>) =
            record.commands.iter().map(|one| one.command()).partition(|command| command.regenerates());
        let mut commands: Vec<_> = inverse.iter().rev().flat_map(|command| command.undo.clone()).collect();
        self.run(&commands, run)?;
        if self.is_here() && !inverse.is_empty() {
            self.restore_lines(&by_commands)?;
        }
        for (copy, now) in restore.iter().rev() {
            self.restore(copy, now.as_ref(), !inverse.is_empty())?;
        }
        let again: Vec<_> = again.into_iter().map(|command| command.run).collect();
        self.run(&again, run)?;
        commands.extend(again);
        let done = done(record, &commands);
        record.remove(&self.tree)?;
        Ok(done)
    }

    /// Restores a file. A command may have changed it a moment ago.
    fn restore(&self, copy: &Copies, now: Option<&FileState>, by_command: bool) -> Result<(), FixError> {
        let current = if by_command { self.tree.read(&copy.path)? } else { now.cloned() };
        self.tree.replace(&copy.path, current.as_ref(), copy.before.as_ref())
    }

    /// Restores files of which commands have restored the lines, but not every byte. Other changes
    /// of such a file stay.
    fn restore_lines(&self, copies: &[Copies]) -> Result<(), FixError> {
        for copy in copies {
            let now = self.tree.read(&copy.path)?;
            let (Some(now), Some(before)) = (&now, &copy.before) else { continue };
            if now.bytes != before.bytes && same_lines(&now.bytes, &before.bytes) {
                self.tree.replace(&copy.path, Some(now), Some(before))?;
            }
        }
        Ok(())
    }

    /// The error for a file that is neither as before nor as after the fix.
    fn changed(&self, copy: &Copies, record: &Record, all: &[Record]) -> FixError {
        let later = all.iter().filter(|other| other.number > record.number);
        let by = later.into_iter().rfind(|other| other.files.iter().any(|file| file.path == copy.path));
        match by {
            Some(other) => FixError::ChangedByFix { path: copy.path.clone(), id: other.id.clone() },
            None => FixError::Changed { path: copy.path.clone() },
        }
    }

    /// Fixes that were applied and can be undone, oldest first.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub fn applied(&self) -> Result<Vec<Done>, FixError> {
        let all = Record::all(&self.tree)?;
        Ok(all.iter().map(|record| done(record, &[])).collect())
    }

    /// Runs commands, but never for a copy of another machine.
    fn run(&self, commands: &[Vec<String>], run: Runner<'_>) -> Result<(), FixError> {
        for command in commands.iter().filter(|_| self.is_here()) {
            run(command).map_err(|reason| FixError::Command { command: shell(command), reason })?;
        }
        Ok(())
    }
}

/// Whether files have the same lines, whatever the end of the last one is.
fn same_lines(one: &[u8], other: &[u8]) -> bool {
    one.trim_ascii_end() == other.trim_ascii_end()
}

fn done(record: &Record, commands: &[Vec<String>]) -> Done {
    Done {
        number: record.number,
        id: record.id.clone(),
        title: record.title.clone(),
        files: record.files.iter().map(|file| file.path.clone()).collect(),
        commands: commands.iter().map(|command| shell(command)).collect(),
    }
}

/// A command as it is written in a shell.
pub(crate) fn shell(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,:+%@".contains(c);
    let quoted = |word: &String| match word.is_empty() || !word.chars().all(is_plain) {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word.clone(),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
