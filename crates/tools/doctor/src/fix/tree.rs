//! Files of a machine, or of a copy of one. No symbolic link is followed below the root, so that
//! nothing outside of it is read or changed.

use std::ffi::CString;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, XattrFlags};
use rustix::io::Errno;

use super::error::FixError;

/// Maximum size of a file that can be changed, in bytes; configuration files are smaller.
const LARGEST: u64 = 1 << 20;

/// A file with its owner and permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
    /// Extended attributes, such as SELinux's label.
    pub(crate) attributes: Vec<(CString, Vec<u8>)>,
}

impl FileState {
    /// A new file of root that everyone may read.
    pub(crate) fn new(bytes: Vec<u8>, owner: (u32, u32)) -> Self {
        Self { bytes, mode: 0o644, owner: owner.0, group: owner.1, attributes: Vec::new() }
    }

    /// The same file with other contents.
    pub(crate) fn with(&self, bytes: Vec<u8>) -> Self {
        Self { bytes, ..self.clone() }
    }
}

/// A file tree.
#[derive(Debug)]
pub(crate) struct Tree {
    base: PathBuf,
}

impl Tree {
    pub(crate) fn at(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into() }
    }

    /// Whether it is the tree of this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.base == Path::new("/")
    }

    /// Owner of new files: root on this machine, and the caller in a copy.
    pub(crate) fn owner(&self) -> (u32, u32) {
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    }

    /// Opens a folder, one component at a time.
    fn folder(&self, path: &str) -> Result<OwnedFd, FixError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::fs::openat(CWD, &self.base, flags, Mode::empty());
        let mut folder = open.map_err(|error| self.failed(path, error))?;
        for part in parts(path)? {
            let next = rustix::fs::openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty());
            folder = next.map_err(|error| match error {
                // The kernel reports a link as `ELOOP`, or as something other than a folder.
                Errno::LOOP | Errno::NOTDIR if is_link(&folder, part) => FixError::Link { path: path.to_owned() },
                _ => self.failed(path, error),
            })?;
        }
        Ok(folder)
    }

    /// The folder of a file, and the file's name.
    fn parent<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), FixError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.folder(folder)?, parts(name)?.next().ok_or_else(|| FixError::outside(path))?))
    }

    /// Reads a file; `None` if there is none.
    pub(crate) fn read(&self, path: &str) -> Result<Option<FileState>, FixError> {
        let (folder, name) = match self.parent(path) {
            Err(error) if error.is_missing() => return Ok(None),
            other => other?,
        };
        let stat = match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(|error| self.failed(path, error))?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => return Err(FixError::Link { path: path.to_owned() }),
            _ => return Err(FixError::unexpected(path, "it is not a regular file")),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder, name, flags, Mode::empty());
        let file = std::fs::File::from(opened.map_err(|error| self.failed(path, error))?);
        let stat: Stat = rustix::fs::fstat(&file).map_err(|error| self.failed(path, error))?;
        let mut bytes = Vec::new();
        let read = (&file).take(LARGEST + 1).read_to_end(&mut bytes);
        read.map_err(|source| FixError::Io { path: path.to_owned(), source })?;
        if bytes.len() as u64 > LARGEST {
            return Err(FixError::unexpected(path, "it is larger than 1 MiB"));
        }
        let attributes = attributes(&file);
        Ok(Some(FileState { bytes, mode: stat.st_mode & 0o7777, owner: stat.st_uid, group: stat.st_gid, attributes }))
    }

    /// Text of a file; `None` if there is none.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, FixError> {
        let Some(state) = self.read(path)? else { return Ok(None) };
        let text = String::from_utf8(state.bytes);
        text.map(Some).map_err(|_| FixError::unexpected(path, "it is not UTF-8 text"))
    }

    /// Whether something has this path; a link counts.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.parent(path)
            .is_ok_and(|(folder, name)| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }

    /// Sorted names in a folder; none if there is no folder.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, FixError> {
        let folder = match self.folder(path) {
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(folder).map_err(|error| self.failed(path, error))? {
            let entry = entry.map_err(|error| self.failed(path, error))?;
            // A name that is not text is none of the files that are changed.
            names
                .extend(entry.file_name().to_str().ok().filter(|name| !matches!(*name, "." | "..")).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Creates a folder and those above it. Returns the ones that were missing, outermost first.
    pub(crate) fn create_folder(&self, path: &str, mode: u32) -> Result<Vec<String>, FixError> {
        let mut created = Vec::new();
        let mut above = String::new();
        for part in parts(path)? {
            let folder = self.folder(&above)?;
            let whole = format!("{above}/{part}");
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(mode)) {
                Ok(()) => created.push(whole.clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(self.failed(&whole, error)),
            }
            above = whole;
        }
        Ok(created)
    }

    /// Removes a folder if it is there and empty.
    pub(crate) fn remove_folder(&self, path: &str) -> Result<(), FixError> {
        let (folder, name) = match self.parent(path) {
            Err(error) if error.is_missing() => return Ok(()),
            other => other?,
        };
        match rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(path, error)),
        }
    }

    /// Replaces a file as a whole or, with `None`, removes it. At no time a part of it is there.
    /// It is an error if the file is not in the state `before`.
    pub(crate) fn replace(
        &self,
        path: &str,
        before: Option<&FileState>,
        after: Option<&FileState>,
    ) -> Result<(), FixError> {
        let (folder, name) = self.parent(path)?;
        let failed = |error| self.failed(path, error);
        let same = |now: &Option<FileState>| now.as_ref().map(|state| &state.bytes) == before.map(|state| &state.bytes);
        let Some(after) = after else {
            if !same(&self.read(path)?) {
                return Err(FixError::Changed { path: path.to_owned() });
            }
            rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(failed)?;
            return rustix::fs::fsync(&folder).map_err(failed);
        };
        let temporary = format!(".{name}.roci-{}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&folder, &*temporary, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
        let written = self.fill(path, opened, after).and_then(|()| {
            // As late as possible: another program may have changed the file meanwhile.
            if !same(&self.read(path)?) {
                return Err(FixError::Changed { path: path.to_owned() });
            }
            rustix::fs::renameat(&folder, &*temporary, &folder, name).map_err(failed)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&folder, &*temporary, AtFlags::empty());
        }
        written?;
        rustix::fs::fsync(&folder).map_err(failed)
    }

    /// Writes contents, owner, permissions and attributes to a new file.
    fn fill(&self, path: &str, opened: OwnedFd, state: &FileState) -> Result<(), FixError> {
        let failed = |error| self.failed(path, error);
        let mut file = std::fs::File::from(opened);
        file.write_all(&state.bytes).map_err(|source| FixError::Io { path: path.to_owned(), source })?;
        let now = rustix::fs::fstat(&file).map_err(failed)?;
        if (now.st_uid, now.st_gid) != (state.owner, state.group) {
            let (owner, group) = (rustix::fs::Uid::from_raw(state.owner), rustix::fs::Gid::from_raw(state.group));
            rustix::fs::fchown(&file, Some(owner), Some(group)).map_err(failed)?;
        }
        // After the owner: a change of the owner clears some bits. FAT has no permissions.
        let mode = rustix::fs::fchmod(&file, Mode::from_raw_mode(state.mode));
        let now = rustix::fs::fstat(&file).map_err(failed)?;
        if now.st_mode & 0o7777 != state.mode {
            mode.map_err(failed)?;
        }
        for (name, value) in &state.attributes {
            match rustix::fs::fsetxattr(&file, name, value, XattrFlags::empty()) {
                Ok(()) | Err(Errno::NOTSUP) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        rustix::fs::fsync(&file).map_err(failed)
    }

    fn failed(&self, path: &str, error: Errno) -> FixError {
        FixError::Io { path: path.to_owned(), source: error.into() }
    }
}

/// The components of a path.
fn parts(path: &str) -> Result<impl Iterator<Item = &str>, FixError> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    if parts.clone().any(|part| part == ".." || part == "." || part.contains('\0')) {
        return Err(FixError::outside(path));
    }
    Ok(parts)
}

fn is_link(folder: &OwnedFd, name: &str) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Extended attributes that can be read; file systems without them have none.
fn attributes(file: &std::fs::File) -> Vec<(CString, Vec<u8>)> {
    // The kernel's limits for the list and for one value.
    let mut names = vec![0_u8; 64 << 10];
    let Ok(length) = rustix::fs::flistxattr(file.as_fd(), names.as_mut_slice()) else { return Vec::new() };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let attribute = |name: &[u8]| {
        let name = CString::new(name).ok()?;
        let mut value = vec![0_u8; 64 << 10];
        let length = rustix::fs::fgetxattr(file.as_fd(), &name, value.as_mut_slice()).ok()?;
        value.truncate(length);
        Some((name, value))
    };
    names.filter_map(attribute).collect()
}

impl FixError {
    fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn tree() -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("root/etc")).expect("a folder");
        fs::write(folder.path().join("outside"), "secret").expect("a file");
        let tree = Tree::at(folder.path().join("root"));
        (folder, tree)
    }

    #[test]
    fn links_are_not_followed() {
        let (folder, tree) = tree();
        let root = folder.path().join("root");
        symlink("../../outside", root.join("etc/file")).expect("a link");
        symlink(folder.path(), root.join("var")).expect("a link");
        let link = |path: &str, error: FixError| assert!(matches!(error, FixError::Link { path: at } if at == path));
        link("/etc/file", tree.read("/etc/file").expect_err("a link"));
        link("/var", tree.read("/var/outside").expect_err("a link"));
        link("/var", tree.create_folder("/var/x", 0o700).expect_err("a link"));
        let state = FileState::new(b"x".to_vec(), tree.owner());
        assert!(matches!(tree.replace("/var/outside", None, Some(&state)), Err(FixError::Link { .. })));
        assert!(matches!(tree.replace("/etc/file", None, Some(&state)), Err(FixError::Link { .. })));
        for path in ["/etc/../../outside", "../outside"] {
            assert!(tree.read(path).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("outside")).expect("it is text"), "secret");
    }

    #[test]
    fn pipes_and_large_files_are_refused() {
        let (folder, tree) = tree();
        let pipe = folder.path().join("root/etc/pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        assert!(tree.read("/etc/pipe").expect_err("a pipe").to_string().contains("not a regular file"));
        fs::write(folder.path().join("root/etc/large"), vec![b'x'; 2 << 20]).expect("a file");
        assert!(tree.read("/etc/large").expect_err("it is large").to_string().contains("larger than 1 MiB"));
        assert_eq!(tree.read("/etc/none").expect("there is none"), None);
        assert_eq!(tree.read("/none/none").expect("there is none"), None);
    }

    #[test]
    fn a_file_keeps_its_permissions_and_is_replaced_only_as_it_was() {
        let (folder, tree) = tree();
        let path = folder.path().join("root/etc/x.conf");
        fs::write(&path, "one\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its owner may");
        let before = tree.read("/etc/x.conf").expect("it is readable").expect("it exists");
        tree.replace("/etc/x.conf", Some(&before), Some(&before.with(b"two\n".to_vec()))).expect("it is unchanged");
        assert_eq!(fs::read_to_string(&path).expect("it is text"), "two\n");
        assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o7777, 0o600);
        let again = tree.replace("/etc/x.conf", Some(&before), Some(&before));
        assert!(matches!(again, Err(FixError::Changed { .. })), "{again:?}");
        assert!(matches!(tree.replace("/etc/x.conf", None, None), Err(FixError::Changed { .. })));
        assert_eq!(fs::read_dir(path.parent().expect("a folder")).expect("a folder").count(), 1, "no temporary file");
    }
}
