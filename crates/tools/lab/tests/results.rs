//! `report`, `diff` and `import` from the command line.

#[expect(dead_code, reason = "each test uses a part of it")]
mod common;

use std::path::Path;

use roci_lab::cli::CommandOutcome;
use serde_json::Value;

/// Output and result of a command; an error is its two lines.
fn run(db: &Path, arguments: &[&str]) -> Result<(CommandOutcome, String), String> {
    common::words(db, arguments).map(|(ended, out, _)| (ended, out))
}

/// A llama-bench file with two backends.
fn bench(path: &Path, vulkan: [f64; 5]) {
    let entry = |backend: &str, samples: [f64; 5]| {
        format!(
            r#"{{"backends": "{backend}", "n_gpu_layers": 99, "n_prompt": 512, "n_gen": 0, "samples_ts": {samples:?}}}"#
        )
    };
    let text = [entry("Vulkan", vulkan), entry("ROCm", [300.0, 301.0, 299.0, 300.5, 299.5])].join("\n");
    std::fs::write(path, text).expect("written");
}

#[test]
fn results_are_imported_reported_and_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (db, other) = (at("lab.db"), at("other.db"));
    let [one, two] = ["one.jsonl", "two.jsonl"].map(at);
    bench(&one, [700.0, 701.0, 699.0, 702.0, 698.0]);
    bench(&two, [600.0, 601.0, 599.0, 602.0, 598.0]);
    let [one, two] = [one, two].map(|path| path.to_str().expect("a plain path").to_owned());

    let (_, output) = run(&db, &["import", &one]).expect("imported");
    assert_eq!(output, "experiment 1 (one): 10 runs of 2 strategies; `roci lab report 1` shows them\n");
    let (_, output) = run(&other, &["import", &two, "--name", "later", "--json"]).expect("imported");
    let output: Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(
        (&output["schema"], &output["runs"], &output["name"]),
        (&"roci.lab.import".into(), &10.into(), &"later".into())
    );

    let (ended, output) = run(&db, &["report", "one", "--json"]).expect("a report");
    let output: Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!((ended, &output["recommendation"]["strategy"]), (CommandOutcome::Fine, &"Vulkan".into()));
    assert_eq!(output["changes"][0]["verdict"], "worse");
    let (_, output) = run(&db, &["report"]).expect("a report");
    assert!(
        output.starts_with("# llama-bench: one\n") && output.contains("\n## Recommended configuration\n"),
        "{output}"
    );
    let (_, script) = run(&db, &["report", "--recommended", "script"]).expect("a script");
    assert!(script.ends_with("exec llama-bench -m MODEL.gguf -ngl 99 \"$@\"\n"), "{script}");
    let page = at("page.html");
    let (_, output) = run(&db, &["report", "--html", page.to_str().expect("a plain path")]).expect("a page");
    assert!(output.ends_with("page.html is written\n"));
    assert!(std::fs::read_to_string(&page).expect("it exists").contains("<h2>pp512 by strategy</h2>"));

    let later = format!("{}#later", other.display());
    let (ended, output) = run(&db, &["diff", "one", &later]).expect("compared");
    assert_eq!(ended, CommandOutcome::Problems);
    assert!(output.contains("| `Vulkan` | pp512 (t/s) | 700 | 600 | -14 % | **worse** |"), "{output}");
    assert!(output.contains("| `ROCm` | pp512 (t/s) | 300 | 300 | +0.0 % | within noise |"), "{output}");
    let (ended, output) = run(&db, &["diff", &later, "1", "--json"]).expect("compared");
    let output: Value = serde_json::from_str(&output).expect("JSON");
    assert_eq!(
        (ended, &output["schema"], &output["unchanged"]),
        (CommandOutcome::Fine, &"roci.lab.diff".into(), &2.into())
    );
}

#[test]
fn experiments_without_common_strategies_are_not_equal() {
    let folder = tempfile::tempdir().expect("a folder");
    let (db, one, two) =
        (folder.path().join("lab.db"), folder.path().join("one.jsonl"), folder.path().join("two.jsonl"));
    bench(&one, [700.0; 5]);
    let other = std::fs::read_to_string(&one).expect("it exists").replace("Vulkan", "CUDA").replace("ROCm", "CPU");
    std::fs::write(&two, other).expect("written");
    for path in [&one, &two] {
        run(&db, &["import", path.to_str().expect("a plain path")]).expect("imported");
    }
    let error = run(&db, &["diff", "one", "two"]).expect_err("nothing to compare");
    assert!(
        error.starts_with("the experiments have no strategy in common")
            && error.contains("Vulkan, ROCm; and CUDA, CPU"),
        "{error}"
    );
    let (ended, output) = run(&db, &["diff", "one", "one"]).expect("compared");
    assert!(ended == CommandOutcome::Fine && output.contains("2 strategies have the same outcome"), "{output}");
}

#[test]
fn single_runs_have_no_noise_and_small_changes_show() {
    let folder = tempfile::tempdir().expect("a folder");
    let (db, one, two) =
        (folder.path().join("lab.db"), folder.path().join("one.jsonl"), folder.path().join("two.jsonl"));
    let entry =
        |samples: &str| format!(r#"{{"backends": "CPU", "n_prompt": 512, "n_gen": 0, "samples_ts": {samples}}}"#);
    let compared = |before: &str, after: &str| {
        std::fs::write(&one, entry(before)).expect("written");
        std::fs::write(&two, entry(after)).expect("written");
        for path in [&one, &two] {
            run(&db, &["import", path.to_str().expect("a plain path")]).expect("imported");
        }
        run(&db, &["diff", "one", "two"]).expect("compared").1
    };
    let output = compared("[100]", "[100]");
    assert!(output.contains("| 100 | 100 | +0.0 % | single runs, noise unknown |"), "{output}");
    let output = compared("[100, 101]", "[100, 101]");
    assert!(output.contains("too few runs, noise unknown |"), "{output}");
    let output =
        compared("[0.00100, 0.00100, 0.00100, 0.00100, 0.00100]", "[0.00102, 0.00102, 0.00102, 0.00102, 0.00102]");
    assert!(output.contains("| 0.00100 | 0.00102 | +2.0 % | **better** |"), "{output}");
}

#[test]
fn missing_names_are_errors_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("lab.db");
    let missing = folder.path().join("none.db");
    for verb in [vec!["list"], vec!["report"], vec!["show"], vec!["diff", "1", "2"]] {
        let error = run(&missing, &verb).expect_err("nothing is there");
        assert!(error.contains("there is no results database") && error.contains("--db"), "{error}");
    }
    let there = folder.path().join("there.toml");
    std::fs::write(&there, "mine").expect("written");
    let error = run(&db, &["new", there.to_str().expect("a plain path")]).expect_err("the file exists");
    assert!(error.contains("roci does not overwrite files"), "{error}");
    assert_eq!(std::fs::read_to_string(&there).expect("it exists"), "mine");
    let error = run(&db, &["new", folder.path().to_str().expect("a plain path")]).expect_err("a folder");
    assert!(error.ends_with("this is a folder: name a file in it"), "{error}");
    let error = run(folder.path(), &["list"]).expect_err("a folder");
    assert!(error.contains("it is a folder\nchoose a file in it"), "{error}");
    let error = run(&db, &["check", "/dev/null"]).expect_err("no file");
    assert!(error.starts_with("`/dev/null` is not a regular file"), "{error}");
    drop(roci_lab::store::Store::open(&db).expect("a new file"));
    for (arguments, expected) in [
        (vec!["report", "x"], "there is no experiment `x`\nthere is none yet"),
        (vec!["diff", "1", "2"], "there is no experiment `1`"),
        (vec!["import", "/nowhere/a.json"], "cannot read `/nowhere/a.json`"),
        (vec!["import"], "required"),
    ] {
        let error = run(&db, &arguments).expect_err("nothing is there");
        assert!(error.contains(expected), "{error}");
    }
    let which = format!("{}#1", missing.display());
    assert!(run(&db, &["diff", &which, &which]).expect_err("no such file").starts_with("cannot read"));
    assert!(!missing.exists());
}
