//! The files to look at: those that are named, and all in the folders that are named.

use std::collections::HashSet;
use std::fs::{self, File, FileType, Metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::super::error::ObjectsError;

/// Large files that hold no code: weights of models, by how their names end.
const WEIGHTS: [&str; 2] = ["gguf", "safetensors"];

/// A file that was found.
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) bytes: u64,
    /// Somebody asked for it by its name.
    pub(super) named: bool,
}

/// Goes through files and folders, in the order of their names. Links are followed; what was seen is not seen again under
/// another name, so that links in a circle end.
pub(super) struct Walk {
    /// What is still to do, the next at the end, and whether it was named.
    left: Vec<(PathBuf, bool)>,
    /// Device and number of what was seen.
    seen: HashSet<(u64, u64)>,
}

impl Walk {
    pub(super) fn new(paths: &[PathBuf]) -> Self {
        Self { left: paths.iter().rev().map(|path| (path.clone(), true)).collect(), seen: HashSet::new() }
    }

    /// The next file, or what cannot be looked at.
    pub(super) fn next(&mut self) -> Option<Result<FoundFile, ObjectsError>> {
        while let Some((path, named)) = self.left.pop() {
            let fail = |source| Some(Err(ObjectsError::Read { path: path.clone(), source }));
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                // A link to nothing, or something that was removed meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound && !named => continue,
                Err(error) => return fail(error),
            };
            if !self.seen.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            if metadata.is_dir() {
                if let Err(error) = self.folder(&path) {
                    return fail(error);
                }
            } else if metadata.is_file() {
                if named || is_worth_a_look(&path, &metadata) {
                    let opened = File::open(&path);
                    return opened.map_or_else(fail, |file| {
                        Some(Ok(FoundFile { path: path.clone(), file, bytes: metadata.len(), named }))
                    });
                }
            } else if named {
                // Opening it might wait for ever.
                return fail(Error::new(ErrorKind::InvalidInput, format!("it is {}", describe(metadata.file_type()))));
            }
        }
        None
    }

    fn folder(&mut self, path: &Path) -> Result<(), Error> {
        let mut inside = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Error>>()?;
        inside.sort_by(|a, b| b.cmp(a));
        self.left.extend(inside.into_iter().map(|path| (path, false)));
        Ok(())
    }
}

fn is_worth_a_look(path: &Path, metadata: &Metadata) -> bool {
    let extension = path.extension().unwrap_or_default();
    metadata.len() > 0 && !WEIGHTS.iter().any(|weights| extension.eq_ignore_ascii_case(weights))
}

fn describe(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a pipe, no file or folder",
        kind if kind.is_socket() => "a socket, no file or folder",
        _ => "a device, no file or folder",
    }
}
