//! Kernel parameters, in the place from which this machine's boot loader takes them.

use super::error::FixError;
use super::parameters::{self, Assignment};
use super::plan::{Draft, own};

const GRUB: &str = "/etc/default/grub";
const LIMINE: &str = "/etc/default/limine";
/// Configuration of `sdboot-manage`, which generates the entries of systemd-boot.
const SDBOOT: &str = "/etc/sdboot-manage.conf";
const KERNEL_COMMAND_LINE: &str = "/etc/kernel/cmdline";
const REFIND: &str = "/boot/refind_linux.conf";
const ENTRIES: &[&str] = &["/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"];

/// A parameter to set, or the name of one to remove.
#[derive(Clone, Copy)]
enum Edit<'p> {
    Set(&'p str),
    Remove(&'p str),
}

impl Edit<'_> {
    fn applied(self, line: &str) -> String {
        match self {
            Self::Set(parameter) => parameters::with(line, parameter),
            Self::Remove(name) => parameters::without(line, name),
        }
    }

    /// The parameter with its value, or the name.
    fn text(&self) -> &str {
        match self {
            Self::Set(text) | Self::Remove(text) => text,
        }
    }
}

/// Sets a parameter for the next boot.
pub(super) fn set(draft: &mut Draft<'_>, parameter: &str) -> Result<(), FixError> {
    change(draft, Edit::Set(parameter))
}

/// Removes a parameter for the next boot. It is no error if it is not set.
pub(super) fn remove(draft: &mut Draft<'_>, name: &str) -> Result<(), FixError> {
    change(draft, Edit::Remove(name))
}

fn change(draft: &mut Draft<'_>, edit: Edit<'_>) -> Result<(), FixError> {
    if draft.system.is_nixos() {
        nixos(draft, edit);
        return Ok(());
    }
    match draft.system.fact("boot.loader") {
        Some(tool @ ("rpm-ostree" | "grubby" | "kernelstub")) => {
            by_tool(draft, tool, edit);
            Ok(())
        }
        Some("grub") => grub(draft, edit),
        Some("limine") => {
            let changed = assignment(draft, LIMINE, "KERNEL_CMDLINE[default]", edit, false)?;
            if changed {
                draft.then(&["limine-mkinitcpio"]);
            }
            Ok(())
        }
        Some("systemd-boot") => systemd_boot(draft, edit),
        Some("refind") => refind(draft, edit),
        _ => match edit {
            Edit::Remove(name) if !parameters::has(&draft.system.command_line, name) => Ok(()),
            _ => Err(FixError::NoPlace(format!(
                "the boot loader of this machine is not known, so the kernel parameter `{}` cannot be changed",
                edit.text()
            ))),
        },
    }
}

/// Distributions whose tool owns the command line.
fn by_tool(draft: &mut Draft<'_>, tool: &str, edit: Edit<'_>) {
    let system = draft.system;
    let old = parameters::set_by(&system.command_line, edit.text());
    let new = match edit {
        Edit::Set(parameter) if old == [parameter] => return,
        Edit::Remove(_) if old.is_empty() => return,
        Edit::Set(parameter) => vec![parameter],
        Edit::Remove(_) => Vec::new(),
    };
    let command = |less: &[&str], more: &[&str]| {
        let each = |option: &str, all: &[&str]| all.iter().map(|one| format!("{option}{one}")).collect::<Vec<_>>();
        let joined = |option: &str, all: &[&str]| match all {
            [] => Vec::new(),
            all => vec![format!("{option}{}", all.join(" "))],
        };
        let options = match tool {
            "rpm-ostree" => [own(&["kargs"]), each("--delete-if-present=", less), each("--append-if-missing=", more)],
            "grubby" => [own(&["--update-kernel=ALL"]), joined("--remove-args=", less), joined("--args=", more)],
            _ => [Vec::new(), joined("--delete-options=", less), joined("--add-options=", more)],
        };
        [own(&[tool]), options.concat()].concat()
    };
    draft.then_or(command(&old, &new), vec![command(&new, &old)]);
}

/// Edits the assignments of a variable that have the parameter. If none has it, or `last` is true,
/// sets it in the last one.
fn assignment(draft: &mut Draft<'_>, path: &str, variable: &str, edit: Edit<'_>, last: bool) -> Result<bool, FixError> {
    let text = draft.text(path)?.ok_or_else(|| FixError::unexpected(path, "there is no such file"))?;
    let all = assignments(path, &text, variable)?;
    let has = |one: &Assignment| parameters::has(one.value(&text), edit.text());
    let none = !all.iter().any(has);
    if let (true, Edit::Set(_), []) = (none, edit, all.as_slice()) {
        return Err(FixError::unexpected(path, format!("no line sets {variable}")));
    }
    let mut new = text.clone();
    // From the end, since a change moves what is behind it.
    for (index, one) in all.iter().enumerate().rev() {
        let adds = matches!(edit, Edit::Set(_)) && (none || last) && index + 1 == all.len();
        if has(one) || adds {
            new = one.replaced(&new, &edit.applied(one.value(&text)));
        }
    }
    Ok(new != text && draft.set(path, new))
}

fn assignments(path: &str, text: &str, variable: &str) -> Result<Vec<Assignment>, FixError> {
    parameters::assignments(text, variable).map_err(|reason| FixError::unexpected(path, reason))
}

fn grub(draft: &mut Draft<'_>, edit: Edit<'_>) -> Result<(), FixError> {
    // Files in this folder are read after the main one.
    let folder = "/etc/default/grub.d";
    let parts = draft.system.tree.list(folder)?.into_iter().filter(|name| name.ends_with(".cfg"));
    let paths: Vec<_> = [GRUB.to_owned()].into_iter().chain(parts.map(|name| format!("{folder}/{name}"))).collect();
    let (mut changed, mut effective, mut place) = (false, false, None);
    for variable in ["GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT"] {
        let mut in_variable = false;
        for path in &paths {
            let Some(text) = draft.text(path)? else { continue };
            let all = assignments(path, &text, variable)?;
            let mut in_file = false;
            for one in &all {
                let has = parameters::has(one.value(&text), edit.text());
                // `=` replaces earlier values, `+=` adds to them.
                in_variable = has || in_variable && one.appends();
                in_file |= has;
                place = Some((path.clone(), variable));
            }
            if in_file {
                changed |= assignment(draft, path, variable, edit, false)?;
            }
        }
        effective |= in_variable;
    }
    if let (Edit::Set(_), false) = (edit, effective) {
        let missing = || FixError::unexpected(GRUB, "no line sets GRUB_CMDLINE_LINUX_DEFAULT");
        let (path, variable) = place.ok_or_else(missing)?;
        changed |= assignment(draft, &path, variable, edit, true)?;
    }
    if changed {
        let default = if draft.system.tree.has("/boot/grub2/grub.cfg") {
            "grub2-mkconfig -o /boot/grub2/grub.cfg"
        } else {
            "grub-mkconfig -o /boot/grub/grub.cfg"
        };
        let command = draft.system.fact("boot.grub_command").unwrap_or(default).to_owned();
        draft.then(&command.split(' ').collect::<Vec<_>>());
    }
    Ok(())
}

fn systemd_boot(draft: &mut Draft<'_>, edit: Edit<'_>) -> Result<(), FixError> {
    if let Some(text) = draft.text(SDBOOT)? {
        let variable = "LINUX_OPTIONS";
        let all = assignments(SDBOOT, &text, variable)?;
        let changed = match edit {
            // By default the line is a comment.
            Edit::Set(parameter) if all.is_empty() => {
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                draft.set(SDBOOT, format!("{text}{end}{variable}=\"{parameter}\"\n"))
            }
            Edit::Remove(_) if all.is_empty() => false,
            _ => assignment(draft, SDBOOT, variable, edit, false)?,
        };
        if changed {
            draft.then(&["sdboot-manage", "gen"]);
        }
        return Ok(());
    }
    if let Some(text) = draft.text(KERNEL_COMMAND_LINE)? {
        let new = edit.applied(&text);
        if new != text && draft.set(KERNEL_COMMAND_LINE, new) {
            match draft.system.fact("boot.initramfs") {
                Some("mkinitcpio") => draft.then(&["mkinitcpio", "-P"]),
                _ => draft.then(&["kernel-install", "add-all"]),
            }
        }
        return Ok(());
    }
    let mut entries = 0;
    for folder in ENTRIES {
        for name in draft.system.tree.list(folder)?.into_iter().filter(|name| name.ends_with(".conf")) {
            let path = format!("{folder}/{name}");
            let Some(text) = draft.text(&path)? else { continue };
            if let Some(new) = entry(&text, edit) {
                entries += 1;
                if new != text {
                    draft.set(&path, new);
                }
            }
        }
    }
    match edit {
        Edit::Set(_) if entries == 0 => Err(FixError::NoPlace(
            "systemd-boot has no entries that start a kernel, nor is there /etc/kernel/cmdline".into(),
        )),
        _ => Ok(()),
    }
}

/// An entry of the boot loader with the change; `None` if it does not start a kernel.
fn entry(text: &str, edit: Edit<'_>) -> Option<String> {
    let keyed = |line: &str, key: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '\t']));
    if !text.lines().any(|line| keyed(line, "linux")) {
        return None;
    }
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let options: Vec<_> = (0..lines.len()).filter(|index| keyed(&lines[*index], "options")).collect();
    let having: Vec<_> = options
        .iter()
        .copied()
        .filter(|index| parameters::has(&lines[*index]["options".len()..], edit.text()))
        .collect();
    let change = |line: &mut String| *line = format!("options{}", edit.applied(&line["options".len()..]));
    match (having.as_slice(), edit, options.last()) {
        ([], Edit::Set(_), Some(last)) => change(&mut lines[*last]),
        ([], Edit::Set(parameter), None) => {
            if lines.last().is_some_and(|line| !line.ends_with('\n')) {
                lines.push("\n".to_owned());
            }
            lines.push(format!("options {parameter}\n"));
        }
        (having, ..) => having.iter().for_each(|index| change(&mut lines[*index])),
    }
    Some(lines.concat())
}

/// Each line has a title and the parameters, both in quotes.
fn refind(draft: &mut Draft<'_>, edit: Edit<'_>) -> Result<(), FixError> {
    let text = draft.text(REFIND)?.ok_or_else(|| FixError::unexpected(REFIND, "there is no such file"))?;
    let mut entries = 0;
    let line = |line: &str| {
        let quotes: Vec<_> = line.match_indices('"').map(|(at, _)| at).collect();
        let [_, _, first, last] = quotes.as_slice() else { return line.to_owned() };
        if line.trim_start().starts_with('#') {
            return line.to_owned();
        }
        entries += 1;
        format!("{}{}{}", &line[..=*first], edit.applied(&line[first + 1..*last]), &line[*last..])
    };
    let new = text.split_inclusive('\n').map(line).collect::<String>();
    if entries == 0 {
        return Err(FixError::unexpected(REFIND, "no line has a title and parameters in quotes"));
    }
    draft.set(REFIND, new);
    Ok(())
}

fn nixos(draft: &mut Draft<'_>, edit: Edit<'_>) {
    match edit {
        Edit::Set(parameter) => draft.options.push(format!("boot.kernelParams = [ \"{parameter}\" ];")),
        Edit::Remove(name) => {
            for word in parameters::set_by(&draft.system.command_line, name) {
                draft.options.push(format!("boot.kernelParams: remove \"{word}\""));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_edited_on_their_last_options_line() {
        let text = "title Arch\nlinux /vmlinuz\noptions root=x\noptions rw\n";
        let set = |text: &str| entry(text, Edit::Set("a.b=1"));
        assert_eq!(set(text).as_deref(), Some("title Arch\nlinux /vmlinuz\noptions root=x\noptions rw a.b=1\n"));
        assert_eq!(set("linux /v").as_deref(), Some("linux /v\noptions a.b=1\n"));
        assert_eq!(set("efi /memtest.efi\noptions x\n"), None, "not a kernel");
        let has = "linux /v\noptions a.b=0 rw\n";
        assert_eq!(set(has).as_deref(), Some("linux /v\noptions a.b=1 rw\n"));
        assert_eq!(entry(has, Edit::Remove("a.b")).as_deref(), Some("linux /v\noptions rw\n"));
    }
}
