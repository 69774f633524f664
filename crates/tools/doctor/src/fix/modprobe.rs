//! Options and blocked modules in modprobe.d.

use super::error::FixError;
use super::plan::Draft;
use super::{boot, parameters};

const FOLDER: &str = "/etc/modprobe.d";
/// The file for new options.
const OWN: &str = "/etc/modprobe.d/roci-doctor.conf";
/// Folders of packages, whose files are not changed.
const PACKAGED: &[&str] = &["/usr/lib/modprobe.d", "/lib/modprobe.d"];

/// Sets `module.option=value` at the next load of the module.
pub(super) fn set(draft: &mut Draft<'_>, option: &str) -> Result<(), FixError> {
    // `Change::check` ensures both.
    let Some((module, option_value)) = option.split_once('.') else { return Ok(()) };
    let Some((name, _)) = option_value.split_once('=') else { return Ok(()) };
    if draft.system.is_nixos() {
        draft.options.push(format!("boot.extraModprobeConfig = \"options {module} {option_value}\";"));
        return Ok(());
    }
    // The initramfs of an image does not have the files of /etc. The kernel passes parameters with
    // the name of a module on to it.
    if draft.system.fact("boot.loader") == Some("rpm-ostree") {
        return boot::set(draft, option);
    }
    if parameters::has(&draft.system.command_line, &format!("{module}.{name}")) {
        // The command line wins.
        boot::set(draft, option)?;
    }
    let mut is_set = false;
    for path in files(draft, FOLDER)? {
        let new = edited(draft, &path, |line| {
            let rest = options(line, module)?;
            parameters::has(rest, name).then(|| replaced(line, rest, &parameters::with(rest, option_value)))
        })?;
        is_set |= new.found;
    }
    if !is_set {
        let text = draft.text(OWN)?.unwrap_or_default();
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        draft.set(OWN, format!("{text}{end}options {module} {option_value}\n"));
        initramfs(draft);
    }
    Ok(())
}

/// Removes an option. It is no error if it is not set.
pub(super) fn remove(draft: &mut Draft<'_>, option: &str) -> Result<(), FixError> {
    let Some((module, name)) = option.split_once('.') else { return Ok(()) };
    if draft.system.is_nixos() {
        let values = draft.system.facts.machine.get(&format!("configured.{option}"));
        if !values.is_empty() && !parameters::has(&draft.system.command_line, option) {
            draft.options.push(format!("boot.extraModprobeConfig: remove the option {name} of {module}"));
        }
        return Ok(());
    }
    for path in files(draft, FOLDER)? {
        edited(draft, &path, |line| {
            let rest = options(line, module)?;
            if !parameters::has(rest, name) {
                return None;
            }
            let new = parameters::without(rest, name);
            Some(if new.trim().is_empty() { String::new() } else { replaced(line, rest, &new) })
        })?;
    }
    packaged(draft, |line| options(line, module).is_some_and(|rest| parameters::has(rest, name)))
}

/// Removes lines that keep a module from loading, and the same on the kernel command line.
pub(super) fn unblock(draft: &mut Draft<'_>, module: &str) -> Result<(), FixError> {
    if draft.system.is_nixos() {
        draft.options.push(format!("boot.blacklistedKernelModules: remove \"{module}\""));
        return Ok(());
    }
    let is_block = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        matches!(words.as_slice(), ["blacklist", name] if *name == module)
            || matches!(words.as_slice(), ["install", name, "/bin/false" | "/bin/true" | "/usr/bin/false" | "/usr/bin/true"] if *name == module)
    };
    for path in files(draft, FOLDER)? {
        edited(draft, &path, |line| is_block(line).then(String::new))?;
    }
    packaged(draft, is_block)
}

/// Configuration files in a folder.
fn files(draft: &Draft<'_>, folder: &str) -> Result<Vec<String>, FixError> {
    let names = draft.system.tree.list(folder)?.into_iter().filter(|name| name.ends_with(".conf"));
    Ok(names.map(|name| format!("{folder}/{name}")).collect())
}

struct Edited {
    /// Whether a line matched, even if it stays as it is.
    found: bool,
}

/// Replaces lines of a file, without their line ends. An empty line means that it is removed.
fn edited(draft: &mut Draft<'_>, path: &str, mut edit: impl FnMut(&str) -> Option<String>) -> Result<Edited, FixError> {
    let Some(text) = draft.text(path)? else { return Ok(Edited { found: false }) };
    let mut found = false;
    let mut new = String::new();
    let mut continues = false;
    for line in text.split_inclusive('\n') {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let body = line.strip_suffix('\n').unwrap_or(line);
        match edit(body) {
            Some(_) if continues || body.ends_with('\\') => {
                return Err(FixError::unexpected(path, "the line with the option is continued on another line"));
            }
            Some(changed) => {
                found = true;
                if !changed.is_empty() {
                    new.push_str(&changed);
                    new.push_str(end);
                }
            }
            None => new.push_str(line),
        }
        continues = body.ends_with('\\');
    }
    if new != text {
        draft.set(path, new);
        initramfs(draft);
    }
    Ok(Edited { found })
}

/// Notes a line in a file of a package.
fn packaged(draft: &mut Draft<'_>, matches: impl Fn(&str) -> bool) -> Result<(), FixError> {
    for folder in PACKAGED {
        // On most systems /lib is a link to /usr/lib.
        let Ok(files) = files(draft, folder) else { continue };
        for path in files {
            let Ok(Some(text)) = draft.system.tree.text(&path) else { continue };
            if text.lines().any(&matches) {
                let name = path.rsplit('/').next().unwrap_or_default();
                draft.note(format!(
                    "`{path}` belongs to a package and is not changed. A file /etc/modprobe.d/{name} replaces it."
                ));
            }
        }
    }
    Ok(())
}

/// What follows `options MODULE` in a line.
fn options<'l>(line: &'l str, module: &str) -> Option<&'l str> {
    let rest = line.trim_start().strip_prefix("options")?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let found = rest.split([' ', '\t']).next()?;
    (found.replace('-', "_") == module.replace('-', "_")).then(|| &rest[found.len()..])
}

/// The line with another rest.
fn replaced(line: &str, rest: &str, new: &str) -> String {
    format!("{}{new}", &line[..line.len() - rest.len()])
}

/// The command that copies the files into the initramfs.
fn initramfs(draft: &mut Draft<'_>) {
    match draft.system.fact("boot.initramfs") {
        Some("update-initramfs") => draft.then(&["update-initramfs", "-u", "-k", "all"]),
        Some("mkinitcpio") => draft.then(&["mkinitcpio", "-P"]),
        Some("dracut") => draft.then(&["dracut", "-f", "--regenerate-all"]),
        Some("booster") => draft.then(&["/usr/lib/booster/regenerate_images"]),
        _ => draft.note("Rebuild the initramfs with the tool of this system, since it has a copy of modprobe.d."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_one_module_are_found() {
        assert_eq!(options("options amdgpu a=1 b=2", "amdgpu"), Some(" a=1 b=2"));
        assert_eq!(options("  options\tvfio-pci ids=1", "vfio_pci"), Some(" ids=1"));
        assert_eq!(options("options amdgpu2 a=1", "amdgpu"), None);
        assert_eq!(options("# options amdgpu a=1", "amdgpu"), None);
        let line = "options amdgpu a=1 b=2";
        assert_eq!(replaced(line, " a=1 b=2", " b=2"), "options amdgpu b=2");
    }
}
