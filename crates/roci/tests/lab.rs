//! `roci lab` from outside: every verb hands over to the lab, and exit codes, streams and JSON are those of roci.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn roci(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.arg("lab").args(arguments).env_clear().env("PATH", "/usr/bin:/bin").env("XDG_DATA_HOME", folder);
    command.current_dir(folder).stdin(Stdio::null()).output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn good(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = roci(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

const EXPERIMENT: &str = "
name = 'from-outside'
command = ['/bin/sh', '-c', 'echo speed 5; exit $CODE']
[[metric]]
name = 'speed'
pattern = 'speed (\\d+)'
[[strategy]]
name = 'passes'
env = { CODE = 0 }
[[strategy]]
name = 'fails'
env = { CODE = 3 }
";

#[test]
fn every_verb_of_the_lab_answers() {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    std::fs::write(folder.join("a.toml"), EXPERIMENT).expect("the folder is ours");
    assert!(good(folder, &["check", "a.toml"], 0).contains("2 strategies, 2 runs"));
    assert!(good(folder, &["run", "a.toml"], 1).contains("1 CRASH, 1 PASS"));
    assert!(good(folder, &["list"], 0).contains("from-outside"));
    assert!(good(folder, &["show"], 0).contains("exit code 3"));
    assert!(good(folder, &["show", "--run", "1"], 0).contains("speed 5"));
    assert!(good(folder, &["report"], 0).contains("passes"));
    assert!(good(folder, &["resume"], 1).contains("1 CRASH, 1 PASS"));
    assert!(good(folder, &["new"], 0).contains("[[strategy]]"));
    assert!(good(folder, &["new", "--list"], 0).contains("gfx1151-rocm"));
    assert!(folder.join("roci/lab.db").exists(), "the user's own file");
}

#[test]
fn json_has_schema_and_version() {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    std::fs::write(folder.join("a.toml"), EXPERIMENT).expect("the folder is ours");
    for (arguments, code, schema) in [
        (&["run", "a.toml", "--json"][..], 1, "roci.lab.run"),
        (&["list", "--json"], 0, "roci.lab.list"),
        (&["show", "--json"], 0, "roci.lab.show"),
        (&["show", "--run", "1", "--json"], 0, "roci.lab.show.run"),
        (&["check", "a.toml", "--json"], 0, "roci.lab.check"),
        (&["new", "--list", "--json"], 0, "roci.lab.ready"),
        (&["show", "nonsense", "--json"], 2, "roci.error"),
    ] {
        let printed = good(folder, arguments, code);
        let value: Value =
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"));
        assert_eq!((&value["schema"], &value["version"]), (&schema.into(), &1.into()), "{arguments:?}");
    }
}

#[test]
fn what_is_wrong_is_one_line_and_its_remedy() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("a.toml"), EXPERIMENT.replace("pattern", "patern")).expect("the folder is ours");
    let output = roci(folder.path(), &["run", "a.toml"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    let said = text(&output.stderr);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines, ["error: a.toml, line 6: `patern` is no known key", "hint: did you mean `pattern`?"]);
}
