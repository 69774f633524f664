//! Writes code objects to separate files.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use roci_codeobj::{DeviceImage, ImageKind};

use super::error::ObjectError;

/// Writes the code object with index `index` of `source` to `folder` and returns the file name.
/// Existing files are not overwritten.
pub fn extract(image: &DeviceImage, index: usize, source: &Path, folder: &Path) -> Result<PathBuf, ObjectError> {
    let path = folder.join(file_name(image, index, source));
    let fail = |source| ObjectError::Write { path: path.clone(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(fail)?;
    file.write_all(image.bytes()).map_err(fail)?;
    Ok(path)
}

/// `libexample.so-3-gfx1010_xnack-.co`: source file, index, target, extension of the format.
fn file_name(image: &DeviceImage, index: usize, source: &Path) -> String {
    let source = source.file_name().unwrap_or_default().to_string_lossy();
    let extension = match image.kind {
        ImageKind::CodeObject => "co",
        ImageKind::Bitcode => "bc",
        ImageKind::Spirv => "spv",
        ImageKind::Unknown => "bin",
    };
    format!("{source}-{index}-{}.{extension}", sanitized(&image.target()))
}

/// Sanitizes a name from a file: keeps safe characters only, up to a maximum length.
fn sanitized(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "+-_".contains(c) { c } else { '_' };
    let name: String = text.chars().take(80).map(safe).collect();
    if name.is_empty() { "unknown".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_files_cannot_leave_the_folder() {
        assert_eq!(sanitized("gfx90a:sramecc+:xnack-"), "gfx90a_sramecc+_xnack-");
        assert_eq!(sanitized("../../etc/passwd\0\n"), "______etc_passwd__");
        assert_eq!((sanitized(""), sanitized(&"a".repeat(500)).len()), ("unknown".into(), 80));
    }
}
