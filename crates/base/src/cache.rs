//! An on-disk cache for reproducible files such as compiled kernels.
//!
//! Each file contains its full key and a checksum of its content. A file that does not match is
//! deleted and created again, because drivers may crash on damaged code. Writing is best effort: a
//! full disk costs time, not correctness.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::env;

/// Magic number of every file, including the format version.
const MAGIC: &[u8; 8] = b"rocic\x001\n";

/// A cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The user's cache folder for one kind of file, `$XDG_CACHE_HOME/roci/KIND`; `None` if the
    /// user has no cache folder.
    pub fn of_user(kind: &str) -> Option<Self> {
        let base = match env::XDG_CACHE_HOME.get_raw() {
            Some(base) => PathBuf::from(base),
            None => Path::new(&env::HOME.get_raw()?).join(".cache"),
        };
        // The XDG specification says to ignore relative paths.
        base.is_absolute().then(|| Self::at(base.join("roci").join(kind)))
    }

    /// A cache in any folder, created at the first store.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Path of the file for a key, whether it exists or not.
    pub fn path(&self, key: &[u8]) -> PathBuf {
        self.folder.join(format!("{:016x}", sum(key)))
    }

    /// The content stored for a key. Deletes a file that is damaged or belongs to another key with
    /// the same hash.
    pub fn load(&self, key: &[u8]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let file = fs::read(&path).ok()?;
        let content = content(&file, key).map(<[u8]>::to_vec);
        if content.is_none() {
            self.discard(key);
        }
        content
    }

    /// Stores content for a key. The file is replaced atomically, so concurrent writers cannot mix
    /// their contents.
    pub fn store(&self, key: &[u8], content: &[u8]) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = self.path(key);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let draft = self.folder.join(format!(".{}-{number}", std::process::id()));
        let mut file = Vec::with_capacity(MAGIC.len() + 16 + key.len() + content.len());
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&(key.len() as u64).to_le_bytes());
        file.extend_from_slice(&sum(content).to_le_bytes());
        file.extend_from_slice(key);
        file.extend_from_slice(content);
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| fs::write(&draft, file))
            .and_then(|()| fs::rename(&draft, &path));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
    }

    /// Deletes the file for a key, for callers that find its content unusable.
    pub fn discard(&self, key: &[u8]) {
        let _ = fs::remove_file(self.path(key));
    }
}

/// The content of a file; `None` if the file is damaged or belongs to another key.
fn content<'a>(file: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let rest = file.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (expected, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (stored, content) = rest.split_at_checked(length)?;
    (stored == key && sum(content) == u64::from_le_bytes(*expected)).then_some(content)
}

fn sum(bytes: &[u8]) -> u64 {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().join("kernels"));
        (folder, cache)
    }

    #[test]
    fn load_returns_what_was_stored() {
        let (_folder, cache) = cache();
        assert_eq!(cache.load(b"key"), None);
        cache.store(b"key", b"code");
        cache.store(b"other", b"");
        assert_eq!(cache.load(b"key").as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.load(b"other").as_deref(), Some(&b""[..]));
        cache.discard(b"key");
        assert_eq!(cache.load(b"key"), None);
    }

    #[test]
    fn a_damaged_file_is_discarded() {
        let (_folder, cache) = cache();
        cache.store(b"key", b"some code");
        let whole = fs::read(cache.path(b"key")).expect("the file");
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|length| whole[..length].to_vec()).collect();
        for index in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 0x10;
            damaged.push(bytes);
        }
        for bytes in damaged {
            fs::write(cache.path(b"key"), &bytes).expect("a damaged file");
            assert_eq!(cache.load(b"key"), None, "{bytes:?}");
            assert!(!cache.path(b"key").exists());
        }
    }

    #[test]
    fn an_unwritable_folder_is_ignored() {
        let (folder, _) = cache();
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        let cache = Cache::at(file.join("below"));
        cache.store(b"key", b"code");
        assert_eq!(cache.load(b"key"), None);
    }
}
