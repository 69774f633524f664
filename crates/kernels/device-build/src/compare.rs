//! Checks whether an archive is up to date with the sources.

use roci_codeobj::TargetId;
use roci_device_library::{Archive, Object};

use crate::Recipe;

/// The entries of an archive whose recorded sources or options differ from the recipes: one line
/// each. Needs no compiler.
pub fn stale(archive: &Archive, recipes: &[Recipe]) -> Vec<String> {
    let mut lines = Vec::new();
    let expected: Vec<TargetId> = recipes.iter().map(|recipe| recipe.target).collect();
    for object in archive.objects.iter().filter(|object| !expected.contains(&object.target)) {
        lines.push(format!("{}: it is in the library, but was not requested", object.target));
    }
    for recipe in recipes {
        match archive.objects.iter().find(|object| object.target == recipe.target) {
            Some(object) => stale_object(object, recipe, &mut lines),
            None => lines.push(format!("{}: it is not in the library", recipe.target)),
        }
    }
    lines
}

fn stale_object(object: &Object, recipe: &Recipe, lines: &mut Vec<String>) {
    let target = object.target;
    if object.options != recipe.options() {
        lines.push(format!("{target}: the compiler or linker options have changed"));
    }
    let now = recipe.fingerprints();
    for (name, source) in &now {
        match object.kernels.iter().find(|(other, _)| other == name) {
            Some((_, recorded)) if recorded == source => {}
            Some(_) => lines.push(format!("{target}: the source of `{name}` has changed")),
            None => lines.push(format!("{target}: `{name}` is missing")),
        }
    }
    for (name, _) in &object.kernels {
        if now.iter().all(|(other, _)| other != name) {
            lines.push(format!("{target}: `{name}` is no longer in the table"));
        }
    }
}

/// How a newly built object differs from the archive's object for the same target; `None` if they
/// are equal.
pub fn difference(archive: &Archive, built: &Object) -> Option<String> {
    let target = built.target;
    let Some(object) = archive.objects.iter().find(|object| object.target == target) else {
        return Some(format!("{target}: it is not in the library"));
    };
    if object == built {
        return None;
    }
    let (old, new) = (&object.bytes, &built.bytes);
    let at = old.iter().zip(new).position(|(old, new)| old != new).unwrap_or(old.len().min(new.len()));
    Some(match old == new {
        true => format!("{target}: the recorded fingerprints of sources and options differ"),
        false => format!(
            "{target}: {} bytes in the library, {} built; the first difference is at byte {at}",
            old.len(),
            new.len()
        ),
    })
}
