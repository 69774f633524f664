//! Finds the code that runs on a chip in a file of any supported format.

use std::path::Path;

use roci_codeobj::{CodeObject, File, ImageKind, TargetId};
use roci_emu::Chip;

use super::error::Error;
use super::kernel::ReadFile;

/// Calls `with` with the code that runs on the chip, and with its location as text. Code for
/// exactly this chip is preferred to generic code.
pub(crate) fn with_object<T>(
    path: &Path,
    chip: Chip,
    read: &ReadFile<'_>,
    with: impl FnOnce(&CodeObject<'_>, String) -> Result<T, Error>,
) -> Result<T, Error> {
    let bytes = read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let file = File::open(&bytes).map_err(|source| Error::File { path: path.into(), source })?;
    let no_object = |targets| Error::NoObject { path: path.into(), gpu: chip.to_string(), targets };
    let device: TargetId = chip.name().parse().map_err(|_| no_object(Vec::new()))?;
    let mut targets = Vec::new();
    let mut damaged = None;
    let mut compatible = Vec::new();
    for image in file.images.iter().filter(|image| image.kind == ImageKind::CodeObject) {
        match image.code_object() {
            Ok(object) if object.runs_on(&device).is_ok() => compatible.push((image, object)),
            Ok(object) => targets.push(object.target().to_string()),
            Err(source) => damaged = Some(source),
        }
    }
    compatible.sort_by_key(|(_, object)| object.target().processor.is_generic());
    let Some((image, object)) = compatible.first() else {
        targets.sort();
        targets.dedup();
        return Err(match damaged {
            Some(source) if targets.is_empty() => Error::Object { path: path.into(), source },
            _ => no_object(targets),
        });
    };
    let location = format!("{} at {}", object.target(), image.location);
    with(object, location)
}
