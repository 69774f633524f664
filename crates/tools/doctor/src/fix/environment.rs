//! Variables for all logins, and the files that set variables.

use crate::snapshot::COMPUTE_UNITS;

use super::error::FixError;
use super::parameters;
use super::plan::Draft;

const FILE: &str = "/etc/environment";
const UNITS: &str = "/etc/systemd/system";

/// Sets `NAME=value` for all logins.
pub(super) fn set(draft: &mut Draft<'_>, assignment: &str) -> Result<(), FixError> {
    // `Change::check` ensures this.
    let Some((name, value)) = assignment.split_once('=') else { return Ok(()) };
    if draft.system.is_nixos() {
        draft.options.push(format!("environment.sessionVariables.{name} = \"{value}\";"));
        return Ok(());
    }
    let text = draft.text(FILE)?.unwrap_or_default();
    let mut is_set = false;
    let mut new = String::new();
    for line in text.split_inclusive('\n') {
        if sets(line, name) {
            // The last line counts; one is enough.
            if !is_set {
                new.push_str(&format!("{assignment}\n"));
            }
            is_set = true;
        } else {
            new.push_str(line);
        }
    }
    if !is_set {
        let end = if new.is_empty() || new.ends_with('\n') { "" } else { "\n" };
        new.push_str(&format!("{end}{assignment}\n"));
    }
    draft.set(FILE, new);
    draft.note("Services do not read this file: `systemctl edit NAME` sets a variable for one.");
    Ok(())
}

/// Removes a variable from the files that set it for all logins and for compute services.
pub(super) fn remove(draft: &mut Draft<'_>, name: &str) -> Result<(), FixError> {
    if draft.system.is_nixos() {
        draft.options.push(format!("environment.variables, environment.sessionVariables: remove {name}"));
        return Ok(());
    }
    let mut found = false;
    for path in login_files(draft)? {
        found |= lines_without(draft, &path, name)?;
    }
    let mut units = Vec::new();
    for (unit, path) in unit_files(draft)? {
        if unit_without(draft, &path, name)? {
            found = true;
            units.push(unit);
        }
    }
    if !units.is_empty() {
        units.dedup();
        draft.then(&["systemctl", "daemon-reload"]);
        units.iter().for_each(|unit| draft.then(&["systemctl", "restart", &format!("{unit}.service")]));
    }
    // A variable can also be set for one user, or not at all.
    if !found && draft.system.fact(&format!("env.{name}")).is_some() {
        draft.note(format!(
            "No file of all users sets {name}: look into ~/.profile, ~/.bashrc, ~/.zshrc and ~/.config/environment.d."
        ));
    }
    Ok(())
}

fn login_files(draft: &Draft<'_>) -> Result<Vec<String>, FixError> {
    let mut files = vec![FILE.to_owned()];
    for (folder, ending) in [("/etc/environment.d", ".conf"), ("/etc/profile.d", ".sh")] {
        let names = draft.system.tree.list(folder)?.into_iter().filter(|name| name.ends_with(ending));
        files.extend(names.map(|name| format!("{folder}/{name}")));
    }
    Ok(files)
}

/// Units of compute services and their drop-ins, with the names of the units.
fn unit_files(draft: &Draft<'_>) -> Result<Vec<(String, String)>, FixError> {
    let mut files = Vec::new();
    for unit in COMPUTE_UNITS {
        let path = format!("{UNITS}/{unit}.service");
        let folder = format!("{path}.d");
        let names = draft.system.tree.list(&folder)?.into_iter().filter(|name| name.ends_with(".conf"));
        let parts = names.map(|name| format!("{folder}/{name}"));
        files.extend([path].into_iter().chain(parts).map(|path| ((*unit).to_owned(), path)));
    }
    Ok(files)
}

/// Whether a line assigns the variable.
fn sets(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
}

/// Removes the lines of a file that set the variable and nothing else.
fn lines_without(draft: &mut Draft<'_>, path: &str, name: &str) -> Result<bool, FixError> {
    let Some(text) = draft.text(path)? else { return Ok(false) };
    let mut new = String::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if !sets(line, name) {
            new.push_str(line);
            continue;
        }
        // `A=1 B=2` and `A=1 program` do more than to set the variable.
        let value = line.split_once('=').map_or("", |(_, value)| value).trim();
        let alone = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].find(quote).is_some_and(|end| is_end(&value[end + 2..], name)),
            _ => is_end(value.trim_start_matches(|c: char| !c.is_whitespace() && c != ';'), name),
        };
        if !alone || line.trim_end().ends_with('\\') {
            let reason = format!("line {} does more than to set {name}", number + 1);
            return Err(FixError::unexpected(path, reason));
        }
    }
    Ok(new != text && draft.set(path, new))
}

/// Whether nothing follows but a comment or the export of the variable.
fn is_end(rest: &str, name: &str) -> bool {
    let rest = rest.trim().trim_start_matches(';').trim_start();
    rest.is_empty() || rest.starts_with('#') || rest.strip_prefix("export ").is_some_and(|rest| rest.trim() == name)
}

/// Removes the variable from `Environment=` lines.
fn unit_without(draft: &mut Draft<'_>, path: &str, name: &str) -> Result<bool, FixError> {
    let Some(text) = draft.text(path)? else { return Ok(false) };
    let mut new = String::new();
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches('\n');
        let value = body.trim_start().strip_prefix("Environment=").filter(|value| has(value, name));
        let Some(value) = value else {
            new.push_str(line);
            continue;
        };
        if body.ends_with('\\') {
            return Err(FixError::unexpected(path, format!("the line that sets {name} is continued on another line")));
        }
        let rest = without(value, name);
        if !rest.is_empty() {
            new.push_str(&format!("{}{rest}{}", &body[..body.len() - value.len()], &line[body.len()..]));
        }
    }
    Ok(new != text && draft.set(path, new))
}

fn has(words: &str, name: &str) -> bool {
    parameters::has(&words.replace('\'', "\""), name)
}

/// The assignments without one of them. Quotes can be around a whole assignment.
fn without(words: &str, name: &str) -> String {
    let plain = words.replace('\'', "\"");
    // Same lengths: one kind of quote was replaced by the other.
    let kept = parameters::without(&plain, name);
    if plain == words { kept } else { kept.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_in_units_are_removed_one_by_one() {
        assert_eq!(without("\"HSA_X=1\" \"OLLAMA_HOST=0.0.0.0\"", "HSA_X"), "\"OLLAMA_HOST=0.0.0.0\"");
        assert_eq!(without("HSA_X=1", "HSA_X"), "");
        assert!(has("'HSA_X=a b' B=2", "HSA_X") && !has("\"HSA_XY=1\"", "HSA_X"));
    }

    #[test]
    fn only_assignments_of_the_variable_count() {
        assert!(sets("export HSA_X=1\n", "HSA_X") && sets("  HSA_X=", "HSA_X"));
        assert!(!sets("# HSA_X=1", "HSA_X") && !sets("HSA_XY=1", "HSA_X") && !sets("echo HSA_X=1", "HSA_X"));
        assert!(is_end(" # note", "A") && is_end("", "A") && !is_end(" program", "A"));
        assert!(is_end("; export A", "A") && !is_end("; export B", "A"));
    }
}
