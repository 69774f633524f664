//! Writes results to files: all of each, or nothing.

use std::path::Path;

use super::arguments::Bound;
use super::error::EmuError;

/// Writes the outputs.
pub(super) fn save(bound: &Bound) -> Result<(), EmuError> {
    for output in &bound.outputs {
        write(&output.path, &bound.array(output).write())
            .map_err(|source| EmuError::Write { path: output.path.clone(), source })?;
    }
    Ok(())
}

/// Writes a file beside the one that is meant, then puts it in its place.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
