//! Environment variables of another machine: those that its files set for all logins. A user's
//! shell can set more, so a missing variable is unknown.

use std::collections::BTreeMap;

use crate::root::Root;

/// Entry in `missing` if the environment of the program was not available.
pub(super) const NAME: &str = "environment";

/// Folders with environment files, and their extensions.
const FOLDERS: &[(&str, &str)] =
    &[("/usr/lib/environment.d", ".conf"), ("/etc/environment.d", ".conf"), ("/etc/profile.d", ".sh")];

/// Reads the files, those with precedence last.
pub(super) fn of_files(root: &Root) -> BTreeMap<String, String> {
    let mut paths = vec!["/etc/environment".to_owned()];
    for (folder, ending) in FOLDERS {
        let files = root.list(folder).into_iter().filter(|name| name.ends_with(ending));
        paths.extend(files.map(|name| format!("{folder}/{name}")));
    }
    let texts = paths.iter().filter_map(|path| root.text(path));
    texts.flat_map(|text| text.lines().filter_map(set).collect::<Vec<_>>()).collect()
}

/// Parses `NAME=value`, with or without `export`. Values that a shell would expand are ignored.
fn set(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).trim_start().split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
        _ => value.split([' ', '\t', ';', '#']).next().unwrap_or_default(),
    };
    (is_name && !value.contains(['$', '`'])).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_distinguished_from_other_lines() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(set("export HSA_ENABLE_SDMA=0 # copies"), pair("HSA_ENABLE_SDMA", "0"));
        assert_eq!(set("  RUSTICL_ENABLE=\"radeonsi\""), pair("RUSTICL_ENABLE", "radeonsi"));
        assert_eq!(set("#HSA_ENABLE_SDMA=0"), None);
        assert_eq!(set("if [ \"$A\" = x ]; then"), None);
        assert_eq!(set("LD_LIBRARY_PATH=/opt:$LD_LIBRARY_PATH"), None);
    }
}
