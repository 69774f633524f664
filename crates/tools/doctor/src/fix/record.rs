//! Records of applied fixes, with copies of the files, in `/var/lib/roci/fixes`.

use std::ffi::CString;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::error::FixError;
use super::plan::{Command, FileEdit, Plan, System};
use super::tree::{FileState, Tree};

const FOLDER: &str = "/var/lib/roci/fixes";
const MANIFEST: &str = "manifest.json";
const SCHEMA: &str = "roci.doctor.fix.record";
const VERSION: u32 = 1;
/// Only root may look at the copies: they can contain what the files hide.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// An applied fix.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    schema: String,
    version: u32,
    /// Number, in the order of application.
    pub(crate) number: u32,
    /// Rule.
    pub(crate) id: String,
    pub(crate) title: String,
    /// Seconds since 1970.
    time: u64,
    program: String,
    pub(crate) files: Vec<RecordedFile>,
    /// Files that commands change. They have copies, but only the commands take the change back.
    by_commands: Vec<RecordedFile>,
    /// Folders that were created, outermost first.
    pub(crate) folders: Vec<String>,
    pub(crate) commands: Vec<RecordedCommand>,
}

/// A changed file. The copies are next to the manifest.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedFile {
    pub(crate) path: String,
    /// Name of the copy; `None` if the file was created.
    before: Option<String>,
    /// Name of a copy of the changed file.
    after: String,
    mode: u32,
    owner: u32,
    group: u32,
    attributes: Vec<(String, Vec<u8>)>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordedCommand {
    run: Vec<String>,
    undo: Vec<Vec<String>>,
}

impl RecordedCommand {
    pub(crate) fn command(&self) -> Command {
        Command { run: self.run.clone(), undo: self.undo.clone() }
    }
}

/// A file of a record before and after.
pub(crate) struct Copies {
    pub(crate) path: String,
    pub(crate) before: Option<FileState>,
    pub(crate) after: Vec<u8>,
}

impl Record {
    /// Name of its folder.
    fn folder(&self) -> String {
        format!("{FOLDER}/{:03}-{}", self.number, self.id)
    }

    /// Saves copies of all files of a plan, before they are changed.
    pub(crate) fn create(system: &System, id: &str, title: &str, plan: &Plan) -> Result<Self, FixError> {
        let tree = &system.tree;
        let number = Self::all(tree)?.last().map_or(0, |last| last.number) + 1;
        let mut record = Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            number,
            id: id.to_owned(),
            title: title.to_owned(),
            time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            program: concat!("roci ", env!("CARGO_PKG_VERSION")).to_owned(),
            files: Vec::new(),
            by_commands: Vec::new(),
            folders: Vec::new(),
            commands: plan
                .commands
                .iter()
                .map(|command| RecordedCommand { run: command.run.clone(), undo: command.undo.clone() })
                .collect(),
        };
        let above = FOLDER.trim_end_matches("/roci/fixes");
        record.folders = tree.create_folder(above, 0o755)?;
        record.folders.extend(tree.create_folder(FOLDER, FOLDER_MODE)?);
        let folder = record.folder();
        record.folders.extend(tree.create_folder(&folder, FOLDER_MODE)?);
        let copies =
            plan.edits.iter().map(|edit| (edit, false)).chain(plan.by_commands.iter().map(|edit| (edit, true)));
        for (index, (edit, by_command)) in copies.enumerate() {
            let file = record.copy(tree, &folder, index, edit)?;
            if by_command { record.by_commands.push(file) } else { record.files.push(file) }
        }
        record.save(tree)?;
        Ok(record)
    }

    fn copy(&self, tree: &Tree, folder: &str, index: usize, edit: &FileEdit) -> Result<RecordedFile, FixError> {
        let write = |name: &str, bytes: &[u8]| {
            let state = FileState { mode: FILE_MODE, ..FileState::new(bytes.to_vec(), tree.owner()) };
            tree.replace(&format!("{folder}/{name}"), None, Some(&state))
        };
        let before = edit.before.as_ref().map(|state| (format!("{index}.before"), state));
        if let Some((name, state)) = &before {
            write(name, &state.bytes)?;
        }
        let after = format!("{index}.after");
        write(&after, &edit.after.bytes)?;
        let state = edit.before.as_ref().unwrap_or(&edit.after);
        let text = |name: &CString| name.to_string_lossy().into_owned();
        Ok(RecordedFile {
            path: edit.path.clone(),
            before: before.map(|(name, _)| name),
            after,
            mode: state.mode,
            owner: state.owner,
            group: state.group,
            attributes: state.attributes.iter().map(|(name, value)| (text(name), value.clone())).collect(),
        })
    }

    /// Writes the manifest.
    pub(crate) fn save(&self, tree: &Tree) -> Result<(), FixError> {
        let path = format!("{}/{MANIFEST}", self.folder());
        let before = tree.read(&path)?;
        let text =
            serde_json::to_string_pretty(self).map_err(|error| FixError::unexpected(&path, error.to_string()))?;
        let state = FileState { mode: FILE_MODE, ..FileState::new((text + "\n").into_bytes(), tree.owner()) };
        tree.replace(&path, before.as_ref(), Some(&state))
    }

    /// All records, oldest first.
    pub(crate) fn all(tree: &Tree) -> Result<Vec<Self>, FixError> {
        let mut all = Vec::new();
        for name in tree.list(FOLDER)? {
            let path = format!("{FOLDER}/{name}/{MANIFEST}");
            let Some(text) = tree.text(&path)? else { continue };
            let record: Self =
                serde_json::from_str(&text).map_err(|error| FixError::unexpected(&path, error.to_string()))?;
            if (record.schema.as_str(), record.version) != (SCHEMA, VERSION)
                || record.folder() != format!("{FOLDER}/{name}")
            {
                return Err(FixError::unexpected(&path, format!("it is not a record of version {VERSION}")));
            }
            all.push(record);
        }
        all.sort_by_key(|record| record.number);
        Ok(all)
    }

    /// The files with their copies.
    pub(crate) fn copies(&self, tree: &Tree) -> Result<Vec<Copies>, FixError> {
        self.copies_of(tree, &self.files)
    }

    /// The files that commands changed, with their copies.
    pub(crate) fn copies_by_commands(&self, tree: &Tree) -> Result<Vec<Copies>, FixError> {
        self.copies_of(tree, &self.by_commands)
    }

    fn copies_of(&self, tree: &Tree, files: &[RecordedFile]) -> Result<Vec<Copies>, FixError> {
        let read = |name: &str| {
            let path = format!("{}/{name}", self.folder());
            let state = tree.read(&path)?.ok_or_else(|| FixError::unexpected(&path, "the copy is missing"))?;
            Ok(state.bytes)
        };
        let copies = |file: &RecordedFile| {
            let attribute =
                |(name, value): &(String, Vec<u8>)| Some((CString::new(name.as_str()).ok()?, value.clone()));
            let state = |bytes| FileState {
                bytes,
                mode: file.mode & 0o7777,
                owner: file.owner,
                group: file.group,
                attributes: file.attributes.iter().filter_map(attribute).collect(),
            };
            let before = file.before.as_deref().map(read).transpose()?.map(state);
            Ok(Copies { path: file.path.clone(), before, after: read(&file.after)? })
        };
        files.iter().map(copies).collect()
    }

    /// Removes the record and, if it is the last one, the folder of records.
    pub(crate) fn remove(&self, tree: &Tree) -> Result<(), FixError> {
        let folder = self.folder();
        for name in tree.list(&folder)? {
            let path = format!("{folder}/{name}");
            let state = tree.read(&path)?;
            tree.replace(&path, state.as_ref(), None)?;
        }
        tree.remove_folder(&folder)?;
        tree.remove_folder(FOLDER)?;
        tree.remove_folder(FOLDER.trim_end_matches("/fixes"))?;
        self.folders.iter().rev().try_for_each(|folder| tree.remove_folder(folder))
    }
}
