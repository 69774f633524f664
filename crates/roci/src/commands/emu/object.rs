//! Finds the code that runs on a chip, in whatever file it is.

use std::path::Path;

use roci_codeobj::{CodeObject, Content, File, TargetId};
use roci_emu::Chip;

use super::error::EmuError;

/// Calls `with` on the code of a file that runs on the chip, and on words that say where it was. Code for exactly this
/// chip wins over generic code.
pub(super) fn with_object<T>(
    path: &Path,
    chip: Chip,
    with: impl FnOnce(&CodeObject<'_>, String) -> Result<T, EmuError>,
) -> Result<T, EmuError> {
    let bytes = crate::input::read(path).map_err(|source| EmuError::Read { path: path.into(), source })?;
    let file = File::open(&bytes).map_err(|source| EmuError::File { path: path.into(), source })?;
    let none = |targets| EmuError::NoObject { path: path.into(), gpu: chip.to_string(), targets };
    let device: TargetId = chip.name().parse().map_err(|_| none(Vec::new()))?;
    let mut targets = Vec::new();
    let mut damaged = None;
    let mut fitting = Vec::new();
    for found in file.found.iter().filter(|found| found.content == Content::CodeObject) {
        match found.code_object() {
            Ok(object) if object.runs_on(&device).is_ok() => fitting.push((found, object)),
            Ok(object) => targets.push(object.target().to_string()),
            Err(source) => damaged = Some(source),
        }
    }
    fitting.sort_by_key(|(_, object)| object.target().processor.is_generic());
    let Some((found, object)) = fitting.first() else {
        targets.sort();
        targets.dedup();
        return Err(match damaged {
            Some(source) if targets.is_empty() => EmuError::Object { path: path.into(), source },
            _ => none(targets),
        });
    };
    let place = format!("{} at {}", object.target(), found.place);
    with(object, place)
}
