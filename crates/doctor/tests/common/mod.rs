//! Machines as trees of files, for the tests of every crate that judges machines.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Lays out a machine: `== /path` and what the file holds, `== /path -> elsewhere` for a link, `== env` for variables.
pub(crate) fn lay_out(name: &str, folder: &Path) -> Vec<(String, String)> {
    // The crates lie beside each other.
    let file = format!("{}/../doctor/tests/machines/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(file).expect("a machine");
    let mut env = Vec::new();
    for part in text.split("\n== ").skip(1) {
        let (path, content) = part.split_once('\n').unwrap_or((part, ""));
        if path == "env" {
            env = content.lines().filter_map(|line| line.split_once('=')).map(|(a, b)| (a.into(), b.into())).collect();
            continue;
        }
        let (path, link) = path.split_once(" -> ").map_or((path, None), |(path, to)| (path, Some(to)));
        let path = folder.join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        match link {
            Some(to) => symlink(to, path).expect("a link"),
            None => fs::write(path, content).expect("a file"),
        }
    }
    env
}
