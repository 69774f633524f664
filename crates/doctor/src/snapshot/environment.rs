//! Variables of another machine: what its files set for everybody who logs in. What a user's own shell adds is not
//! among them, so that a variable that is not there may be set all the same.

use std::collections::BTreeMap;

use crate::root::Root;

/// In `missing`: the variables of the program that is judged were not to be seen.
pub(super) const NAME: &str = "environment";

/// Folders of files with variables, and how those end.
const FOLDERS: &[(&str, &str)] =
    &[("/usr/lib/environment.d", ".conf"), ("/etc/environment.d", ".conf"), ("/etc/profile.d", ".sh")];

/// Reads the files, those that count more last.
pub(super) fn of_files(root: &Root) -> BTreeMap<String, String> {
    let mut paths = vec!["/etc/environment".to_owned()];
    for (folder, ending) in FOLDERS {
        let files = root.list(folder).into_iter().filter(|name| name.ends_with(ending));
        paths.extend(files.map(|name| format!("{folder}/{name}")));
    }
    let texts = paths.iter().filter_map(|path| root.text(path));
    texts.flat_map(|text| text.lines().filter_map(set).collect::<Vec<_>>()).collect()
}

/// `NAME=value`, with `export` in front or not. What has to be worked out by a shell is left out.
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
    fn lines_that_set_a_variable_are_known_from_others() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(set("export HSA_ENABLE_SDMA=0 # copies"), pair("HSA_ENABLE_SDMA", "0"));
        assert_eq!(set("  RUSTICL_ENABLE=\"radeonsi\""), pair("RUSTICL_ENABLE", "radeonsi"));
        assert_eq!(set("#HSA_ENABLE_SDMA=0"), None);
        assert_eq!(set("if [ \"$A\" = x ]; then"), None);
        assert_eq!(set("LD_LIBRARY_PATH=/opt:$LD_LIBRARY_PATH"), None);
    }
}
