//! Lists the rule files, so that a new file needs no registration.

use std::fmt::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=rules");
    let mut files: Vec<_> = std::fs::read_dir("rules")?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(std::fs::DirEntry::path);
    let mut text = String::from("/// The files with their texts.\nstatic BUILTIN: &[(&str, &str)] = &[\n");
    for file in files.iter().filter(|file| file.path().extension().is_some_and(|ending| ending == "toml")) {
        let path = std::fs::canonicalize(file.path())?;
        let name = file.file_name().to_string_lossy().into_owned();
        let _ = writeln!(text, "    ({:?}, include_str!({path:?})),", format!("rules/{name}"));
    }
    text.push_str("];\n");
    #[expect(clippy::disallowed_methods, reason = "a build script has cargo's variables and nothing else to ask")]
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("rules.rs"), text)
}
