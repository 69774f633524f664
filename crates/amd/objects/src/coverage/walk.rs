//! Finds files: the given ones, and all files in the given folders.

use std::collections::HashSet;
use std::fs::{self, File, FileType, Metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::ObjectError;

/// Extensions of large files without code, such as model weights.
const WEIGHT_EXTENSIONS: [&str; 2] = ["gguf", "safetensors"];

/// A file that was found.
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) bytes: u64,
    /// Whether it was given, and not found in a folder.
    pub(crate) named: bool,
}

/// Iterates over files and folders in the order of names. Links are followed; a file is visited
/// once, so that cyclic links end.
pub(crate) struct FileWalk {
    /// Pending paths, the next at the end, and whether each was given.
    pending: Vec<(PathBuf, bool)>,
    /// Device and inode of visited files.
    visited: HashSet<(u64, u64)>,
}

impl FileWalk {
    pub(crate) fn new(paths: &[PathBuf]) -> Self {
        Self { pending: paths.iter().rev().map(|path| (path.clone(), true)).collect(), visited: HashSet::new() }
    }

    /// The next file, or an unreadable path.
    pub(crate) fn next_file(&mut self) -> Option<Result<FoundFile, ObjectError>> {
        while let Some((path, named)) = self.pending.pop() {
            let fail = |source| Some(Err(ObjectError::Read { path: path.clone(), source }));
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                // A dangling link, or a file that was removed.
                Err(error) if error.kind() == ErrorKind::NotFound && !named => continue,
                Err(error) => return fail(error),
            };
            if !self.visited.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            if metadata.is_dir() {
                if let Err(error) = self.folder(&path) {
                    return fail(error);
                }
            } else if metadata.is_file() {
                if named || may_contain_code(&path, &metadata) {
                    let opened = File::open(&path);
                    return opened.map_or_else(fail, |file| {
                        Some(Ok(FoundFile { path: path.clone(), file, bytes: metadata.len(), named }))
                    });
                }
            } else if named {
                // Opening a pipe may block forever.
                return fail(Error::new(ErrorKind::InvalidInput, format!("it is {}", describe(metadata.file_type()))));
            }
        }
        None
    }

    fn folder(&mut self, path: &Path) -> Result<(), Error> {
        let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Error>>()?;
        entries.sort_by(|a, b| b.cmp(a));
        self.pending.extend(entries.into_iter().map(|path| (path, false)));
        Ok(())
    }
}

fn may_contain_code(path: &Path, metadata: &Metadata) -> bool {
    let extension = path.extension().unwrap_or_default();
    metadata.len() > 0 && !WEIGHT_EXTENSIONS.iter().any(|weights| extension.eq_ignore_ascii_case(weights))
}

fn describe(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a pipe, not a file or folder",
        kind if kind.is_socket() => "a socket, not a file or folder",
        _ => "a device, not a file or folder",
    }
}
