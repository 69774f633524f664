//! Whether an archive is what the sources give.

use roci_codeobj::TargetId;
use roci_device_library::{Archive, Object};

use crate::Recipe;

/// What in an archive was made from other sources or options than those of the recipes, by what the archive says of
/// itself: one line each. No compiler is needed to know that.
pub fn stale(archive: &Archive, recipes: &[Recipe]) -> Vec<String> {
    let mut lines = Vec::new();
    let wanted: Vec<TargetId> = recipes.iter().map(|recipe| recipe.target).collect();
    for object in archive.objects.iter().filter(|object| !wanted.contains(&object.target)) {
        lines.push(format!("{}: it is in the library, but not asked for", object.target));
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
        lines.push(format!("{target}: the options of compiler or linker have changed"));
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

/// How what was built differs from what an archive has for the same target; `None` if it does not.
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
        true => format!("{target}: what is recorded of its sources and options differs"),
        false => format!("{target}: {} bytes there, {} built, different from byte {at} on", old.len(), new.len()),
    })
}
