//! Writes output files atomically.

use std::path::Path;

use super::arguments::BoundArguments;
use super::error::Error;

/// Writes the outputs.
pub(crate) fn write_all(bound: &BoundArguments) -> Result<(), Error> {
    for output in &bound.outputs {
        write(&output.path, &bound.array(output).write())
            .map_err(|source| Error::Write { path: output.path.clone(), source })?;
    }
    Ok(())
}

/// Writes a temporary file in the same folder, then renames it.
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
