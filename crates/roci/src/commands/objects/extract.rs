//! `--extract`: each piece of GPU code as a file of its own.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use roci_codeobj::{Content, Found};

use super::error::ObjectsError;

/// Writes the `index`th piece of `source` into `folder`; gives the file's name. What exists is not touched.
pub(super) fn extract(found: &Found, index: usize, source: &Path, folder: &Path) -> Result<PathBuf, ObjectsError> {
    let path = folder.join(file_name(found, index, source));
    let fail = |source| ObjectsError::Write { path: path.clone(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(fail)?;
    file.write_all(found.bytes()).map_err(fail)?;
    Ok(path)
}

/// `libexample.so-3-gfx1010_xnack-.co`: where it is from, its number there, what it is for, what it is.
fn file_name(found: &Found, index: usize, source: &Path) -> String {
    let source = source.file_name().unwrap_or_default().to_string_lossy();
    let extension = match found.content {
        Content::CodeObject => "co",
        Content::Bitcode => "bc",
        Content::Spirv => "spv",
        Content::Unknown => "bin",
    };
    format!("{source}-{index}-{}.{extension}", plain(&found.target()))
}

/// The name comes from the file, so that it may hold anything: only harmless characters stay, and not too many.
fn plain(text: &str) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "+-_".contains(c) { c } else { '_' };
    let name: String = text.chars().take(80).map(harmless).collect();
    if name.is_empty() { "unknown".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_files_cannot_leave_the_folder() {
        assert_eq!(plain("gfx90a:sramecc+:xnack-"), "gfx90a_sramecc+_xnack-");
        assert_eq!(plain("../../etc/passwd\0\n"), "______etc_passwd__");
        assert_eq!((plain(""), plain(&"a".repeat(500)).len()), ("unknown".into(), 80));
    }
}
