//! Machines as file trees, for the tests of all crates that diagnose machines.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Creates a machine's files: `== /path` with contents, `== /path -> target` for a link, `== env`
/// for variables.
pub(crate) fn lay_out(name: &str, folder: &Path) -> Vec<(String, String)> {
    // The crate that includes this file is in `crates/tools`, or beside it.
    let read =
        |folder: &str| fs::read_to_string(format!("{}/{folder}/tests/machines/{name}.txt", env!("CARGO_MANIFEST_DIR")));
    let text = read("../doctor").or_else(|_| read("../tools/doctor")).expect("a machine");
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
