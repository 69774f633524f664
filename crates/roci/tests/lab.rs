//! `roci lab` as a process: verbs, exit codes, streams and JSON.

#[path = "../../tools/doctor/tests/common/mod.rs"]
mod machines;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn roci(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    // Programs in the folder precede those of PATH.
    let path = format!("{}:/usr/bin:/bin", folder.display());
    command.arg("lab").args(arguments).env_clear().env("PATH", path).env("XDG_DATA_HOME", folder);
    command.current_dir(folder).stdin(Stdio::null()).output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn lab(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = roci(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

const EXPERIMENT: &str = "
name = 'from-outside'
command = ['/bin/sh', '-c', 'echo speed 5; exit $CODE']
uses = []
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
fn every_verb_of_the_lab_works() {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    std::fs::write(folder.join("a.toml"), EXPERIMENT).expect("the folder is ours");
    assert!(lab(folder, &["check", "a.toml"], 0).contains("2 strategies, 2 runs"));
    assert!(lab(folder, &["run", "a.toml"], 1).contains("1 CRASH, 1 PASS"));
    assert!(lab(folder, &["list"], 0).contains("from-outside"));
    assert!(lab(folder, &["show"], 0).contains("exit code 3"));
    assert!(lab(folder, &["show", "--run", "1"], 0).contains("speed 5"));
    assert!(lab(folder, &["report"], 0).contains("passes"));
    assert!(lab(folder, &["resume"], 1).contains("1 CRASH, 1 PASS"));
    assert!(lab(folder, &["new"], 0).contains("[[strategy]]"));
    assert!(lab(folder, &["new", "--list"], 0).contains("gfx1151-rocm"));
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
        let printed = lab(folder, arguments, code);
        let value: Value =
            serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"));
        assert_eq!((&value["schema"], &value["version"]), (&schema.into(), &1.into()), "{arguments:?}");
    }
}

#[test]
fn errors_are_one_line_and_a_remedy() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("a.toml"), EXPERIMENT.replace("pattern", "patern")).expect("the folder is ours");
    let output = roci(folder.path(), &["run", "a.toml"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    let stderr = text(&output.stderr);
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines, ["error: a.toml, line 7: unknown key `patern`", "hint: did you mean `pattern`?"]);
}

/// Facts of a machine from the tests of the doctor, as a file for `--facts`.
fn facts(folder: &Path, name: &str) -> String {
    let (root, file) = (folder.join(name), folder.join(format!("{name}.json")));
    machines::lay_out(name, &root);
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_roci"));
    let output = doctor.args(["doctor", "--root"]).arg(&root).arg("--capture").arg(&file).env_clear().output();
    assert!(file.exists(), "{}", text(&output.expect("the binary was built for this test").stderr));
    file.to_str().expect("its name is text").to_owned()
}

/// Writes programs of these names, which append their names to the file `started`.
fn programs(folder: &Path, names: &[&str]) {
    for name in names {
        let script = format!("#!/bin/sh\necho \"{name} $*\" >> {}/started\nexit 1\n", folder.display());
        let file = folder.join(name);
        std::fs::write(&file, script).expect("the folder is ours");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }
}

/// Programs that were started since the last call.
fn started(folder: &Path) -> String {
    let file = folder.join("started");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(file);
    text
}

/// A built-in experiment with its variables, words of commands that start ROCm, and a word of a
/// command that does not.
type BuiltIn = (&'static str, &'static [&'static str], &'static [&'static str], Option<&'static str>);

const BUILT_IN: [BuiltIn; 3] = [
    ("gfx1010-pytorch", &["--set", "python=python-rocm"], &["python-rocm"], None),
    ("gfx1151-rocm", &["--set", "model=/m.gguf"], &[":rocm-", "llamacpp_rocm"], Some(":vulkan-radv")),
    (
        "bc250-routes",
        &["--set", "model=/m.gguf"],
        &["llama-bench-rocm", "llama-bench-opencl"],
        Some("llama-bench-vulkan"),
    ),
];

#[test]
fn no_built_in_experiment_starts_rocm_on_a_stock_bc250() {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path();
    programs(folder, &["python-rocm", "podman", "llama-bench-rocm", "llama-bench-opencl", "llama-bench-vulkan"]);
    let (stock, healthy) = (facts(folder, "bc250-stock"), facts(folder, "rx7900xtx-healthy"));
    for (name, variables, rocm, other) in BUILT_IN {
        let run = |facts: &str, more: &[&str]| {
            let output = roci(folder, &[&["run", name, "--json", "--facts", facts], variables, more].concat());
            assert_eq!(output.status.code(), Some(1), "{name}: {}", text(&output.stderr));
            let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            (summary, started(folder))
        };
        let starts_rocm = |text: &str| rocm.iter().any(|word| text.contains(word));
        for more in [&[][..], &["--assume-needs"]] {
            let (summary, started_programs) = run(&stock, more);
            assert!(!starts_rocm(&started_programs), "{name} {more:?}: {started_programs}");
            assert!(other.is_none_or(|word| started_programs.contains(word)), "{name} {more:?}: {started_programs}");
            assert!(summary["counts"]["BLOCKED"].as_u64() > Some(1), "{name} {more:?}: {summary}");
            assert_eq!(summary["rules"][0], "BC-08", "{name} {more:?}: {summary}");
        }
        let (_, started_programs) = run(&stock, &["--assume-needs", "--allow", "BC-08"]);
        assert!(started_programs.contains(rocm[0]), "{name}: {started_programs}");
        assert!(
            !started_programs.contains("llama-bench-opencl"),
            "{name}: another rule forbids it: {started_programs}"
        );
        let (summary, started_programs) = run(&healthy, &["--assume-needs"]);
        assert!(rocm.iter().all(|word| started_programs.contains(word)), "{name}: {started_programs}");
        assert_eq!(summary["rules"].as_array().map(Vec::len), Some(0), "{name}: {summary}");

        let check = |facts: &str| {
            let output = lab(folder, &[&["check", name, "--json", "--facts", facts], variables].concat(), 0);
            let value: Value = serde_json::from_str(&output).expect("JSON");
            let strategies = value["strategies"].as_array().expect("a list").clone();
            strategies.iter().filter(|strategy| strategy["outcome"] == "blocked").count()
        };
        assert!(check(&stock) > 1 && check(&healthy) == 0, "{name}");
        assert_eq!(started(folder), "", "{name}: `check` starts nothing");
    }
}

#[test]
fn an_unknown_rule_cannot_be_allowed() {
    let folder = tempfile::tempdir().expect("there is room");
    let output = roci(folder.path(), &["run", "gfx1010-pytorch", "--allow", "BC-88"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
    let stderr = text(&output.stderr);
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(
        lines,
        ["error: the doctor has no rule `BC-88`", "hint: did you mean `BC-08`? rules that forbid runs: BC-08, OCL-08"]
    );
}
