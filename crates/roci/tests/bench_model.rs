//! `roci bench MODEL.gguf` as a process: tests, output formats, parsing by the lab, errors.
//!
//! The model is synthetic and so small that its speed means nothing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use roci_lab::import::llama_bench;
use roci_lm::synthetic::talking;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

fn models() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let bytes = talking().bytes().expect("it can be made");
    std::fs::write(folder.path().join("half.gguf"), &bytes[..bytes.len() / 2]).expect("there is room");
    std::fs::write(folder.path().join("small.gguf"), bytes).expect("there is room");
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs with few tokens on the CPU, unless the arguments set others.
fn bench(folder: &Path, arguments: &[&str]) -> Output {
    let fixed = ["bench", "small.gguf", "-r", "2"];
    command(folder, &[&fixed, arguments].concat()).output().expect("the binary was built for this test")
}

const FEW: [&str; 6] = ["--device", "cpu", "-p", "5", "-n", "3"];

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn succeed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

#[test]
fn the_table_has_a_row_for_each_test() {
    let folder = models();
    let table = succeed(&bench(folder.path(), &[&FEW[..], &["--n-depth", "0,8"]].concat()));
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("MODEL") && lines[0].ends_with("OF LIMIT"), "{table}");
    for (line, test) in lines[1..].iter().zip(["pp5 ", "tg3 ", "pp5 @ d8 ", "tg3 @ d8 "]) {
        assert!(line.contains(&format!(" {test}")) && line.contains(" ± ") && line.contains("cpu"), "{table}");
        // Operations per second for prefill; bytes per second and a limit for decode.
        let unit = if test.starts_with("pp") { "FLOP/s" } else { " GB/s" };
        assert_eq!((line.contains(unit), line.ends_with('%')), (true, test.starts_with("tg")), "{table}");
    }
    assert_eq!(lines.len(), 5, "one device is not compared with itself");
}

#[test]
fn parallel_sequences_are_measured_in_sum() {
    let folder = models();
    let json = succeed(&bench(folder.path(), &[&FEW[..], &["--parallel", "1,4", "--json"]].concat()));
    let read = llama_bench::read(&json);
    let names: Vec<_> = read.tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["pp5", "tg3", "tg3 x4"]);
    let entries: Value = serde_json::from_str(&json).expect("it is JSON");
    let four = &entries[2];
    assert_eq!((&four["n_gen"], &four["roci"]["n_parallel"]), (&3.into(), &4.into()));
    // Three tokens for each of four sequences.
    let number = |key: &str| four[key][0].as_f64().expect("a number");
    assert!((number("samples_ts") * number("samples_ns") / 1e9 - 12.0).abs() < 1e-6);
    let own = |key: &str| four["roci"][key].as_f64().expect("a number");
    assert!((own("limit_ts") / (4.0 * own("bandwidth") / own("bytes_per_token")) - 1.0).abs() < 1e-9);
    let markdown = succeed(&bench(folder.path(), &[&FEW[..], &["--parallel", "4", "-o", "md"]].concat()));
    assert!(markdown.contains(" tg3 x4 |"), "{markdown}");
}

#[test]
fn parallel_sequences_that_cannot_be_measured_are_refused() {
    let folder = models();
    let many = bench(folder.path(), &[&FEW[..], &["--parallel", "3", "--ubatch-size", "2"]].concat());
    assert_ne!(many.status.code(), Some(0));
    assert!(stderr(&many).contains("tg3 x3 has 3 sequences"), "{}", stderr(&many));
    let sql = bench(folder.path(), &[&FEW[..], &["--parallel", "3", "-o", "sql"]].concat());
    assert_ne!(sql.status.code(), Some(0));
    assert!(stderr(&sql).contains("`-o sql` has no column"), "{}", stderr(&sql));
}

#[test]
fn the_lab_parses_the_output() {
    let folder = models();
    let json = succeed(&bench(folder.path(), &[&FEW[..], &["--json"]].concat()));
    assert_eq!(
        succeed(&bench(folder.path(), &[&FEW[..], &["-o", "json"]].concat())).lines().count(),
        json.lines().count(),
        "both are the same form"
    );
    let jsonl = succeed(&bench(folder.path(), &[&FEW[..], &["-o", "jsonl"]].concat()));
    assert_eq!(jsonl.lines().count(), 2);
    for text in [&json, &jsonl] {
        let read = llama_bench::read(text);
        assert_eq!(read.notes, [""; 0]);
        let names: Vec<_> = read.tests.iter().map(|test| (test.name.as_str(), test.samples.len())).collect();
        assert_eq!(names, [("pp5", 2), ("tg3", 2)]);
        assert!(read.tests.iter().all(|test| test.seconds.len() == 2 && test.time.is_some()));
        // One strategy: only the test differs.
        assert_eq!(read.tests[0].settings, read.tests[1].settings);
        assert_eq!(read.tests[0].settings["model_filename"], "small.gguf");
    }
    let entries: Value = serde_json::from_str(&json).expect("it is JSON");
    let (prompt, written) = (&entries[0], &entries[1]);
    assert_eq!((&prompt["n_prompt"], &prompt["n_gen"], &written["n_gen"]), (&5.into(), &0.into(), &3.into()));
    let own = |entry: &Value, key: &str| entry["roci"][key].as_f64();
    let limit = own(written, "bandwidth").expect("a number") / own(written, "bytes_per_token").expect("a number");
    assert!((own(written, "limit_ts").expect("a number") / limit - 1.0).abs() < 1e-9);
    let operations = prompt["avg_ts"].as_f64().expect("a number") * own(prompt, "operations_per_token").expect("one");
    assert!((own(prompt, "operations_per_second").expect("a number") / operations - 1.0).abs() < 1e-9);
    assert_eq!((own(prompt, "limit_ts"), own(written, "operations_per_second")), (None, None));

    std::fs::write(folder.path().join("results.json"), &json).expect("there is room");
    let output = command(folder.path(), &["lab", "--db", "lab.db", "import", "results.json"]).output();
    succeed(&output.expect("the binary was built for this test"));
    let output = command(folder.path(), &["lab", "--db", "lab.db", "report", "--json"]).output();
    let report: Value = serde_json::from_str(&succeed(&output.expect("it was built"))).expect("it is JSON");
    let text = report.to_string();
    assert!(text.contains(r#"["roci","bench","small.gguf","-o","md","#), "{text}");
}

#[test]
fn output_formats_are_those_of_llama_bench() {
    let folder = models();
    let form = |form: &str| succeed(&bench(folder.path(), &[&FEW[..], &["-o", form]].concat()));
    let markdown = form("md");
    let read = llama_bench::read(&markdown);
    let names: Vec<_> = read.tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["pp5", "tg3"], "{markdown}");
    assert!(markdown.starts_with("| model ") && markdown.contains("\nbuild: roci "), "{markdown}");
    assert!(markdown.contains("% of the limit of "), "{markdown}");
    let csv = form("csv");
    let lines: Vec<_> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines[0].starts_with("build_commit,") && lines[1].starts_with("\"roci "), "{csv}");
    let database = rusqlite::Connection::open_in_memory().expect("a database");
    database.execute_batch(&form("sql")).expect("it is SQL");
    let tests: (i64, i64, i64) = database
        .query_row("SELECT count(*), sum(n_prompt), sum(n_gen) FROM llama_bench WHERE avg_ts > 0", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .expect("rows");
    assert_eq!(tests, (2, 5, 3));
}

#[test]
fn devices_are_measured_one_by_one_and_compared() {
    let folder = models();
    let two = [
        "--device",
        "cpu",
        "--device",
        "cpu?threads=1",
        "-p",
        "5",
        "-n",
        "3",
        "--cache-type",
        "f16",
        "--ubatch-size",
        "2",
    ];
    let table = succeed(&bench(folder.path(), &two));
    let last = table.lines().last().expect("some");
    assert!(
        last.starts_with("Here cpu") && last.contains(" processes prompts ") && last.contains(" generates "),
        "{table}"
    );
    assert!(last.contains("(pp5), and ") && last.ends_with("(tg3)."), "{table}");
    let output = bench(folder.path(), &[&two[..], &["--json"]].concat());
    let entries: Value = serde_json::from_str(&succeed(&output)).expect("nothing but JSON");
    let of = |key: &str| -> Vec<_> {
        entries.as_array().expect("a list").iter().map(|entry| entry[key].to_string()).collect()
    };
    assert_eq!((of("n_batch"), of("type_k")), (vec!["2".to_owned(); 4], vec!["\"f16\"".to_owned(); 4]));
    assert_eq!(of("n_threads")[2..], ["1", "1"]);
    assert!(stderr(&output).starts_with("Here cpu"), "the message is readable: {}", stderr(&output));
}

#[test]
fn the_null_device_has_no_speed() {
    let folder = models();
    let alone = bench(folder.path(), &["--device", "null", "-p", "5", "--json"]);
    assert_eq!(alone.status.code(), Some(1), "{}", stderr(&alone));
    assert!(stderr(&alone).contains("error: null") && stderr(&alone).contains("logits that are all the same"));
    let failure: Value = serde_json::from_slice(&alone.stdout).expect("it is JSON");
    assert_eq!(failure["schema"], "roci.error");
    // The results of other devices are printed.
    let beside = bench(folder.path(), &[&["--device", "null"], &FEW[..]].concat());
    assert_eq!(beside.status.code(), Some(1), "{}", stderr(&beside));
    assert_eq!(String::from_utf8_lossy(&beside.stdout).lines().count(), 3);
}

#[test]
fn invalid_benchmarks_are_errors_of_one_line() {
    let folder = models();
    let refused = |arguments: &[&str], code: i32, cause: &str, remedy: &str| {
        let output = command(folder.path(), &[&["bench"], arguments].concat()).output().expect("it was built");
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(message.starts_with("error: ") && message.contains(cause) && message.contains(remedy), "{message}");
        assert!(output.stdout.is_empty());
    };
    refused(&["nowhere.gguf"], 2, "nowhere.gguf", "hint: ");
    refused(&["half.gguf"], 2, "half.gguf", "incomplete");
    refused(&["small.gguf", "-p", "0", "-n", "0"], 2, "nothing to measure", "`-p` or `-n`");
    refused(&["small.gguf", "--device", "cpu:7"], 3, "there is no device 7", "hint: ");
    refused(&["small.gguf", "-p", "many"], 2, "many", "");
    refused(&["small.gguf", "--cache-type", "q3"], 2, "the types are f16 and q8_0", "");
    refused(&["small.gguf", "--quick"], 2, "--quick", "cannot be used");
    refused(&["-p", "5"], 2, "required", "MODEL");
    refused(&["-o", "md"], 2, "required", "MODEL");
}

#[test]
fn ctrl_c_prints_the_results_so_far() {
    let folder = models();
    // The second test does not end before the signal.
    let arguments = ["bench", "small.gguf", "--device", "cpu", "-p", "4", "-n", "60000", "-r", "9", "-o", "jsonl"];
    let mut child = command(folder.path(), &arguments).spawn().expect("the binary was built for this test");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let first = lines.next().expect("a test ends").expect("it is UTF-8");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("it has a number");
    kill_process(pid, Signal::INT).expect("it is ours");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("interrupted"), "{}", stderr(&output));
    assert_eq!(lines.count(), 0, "a test without a complete run has no result");
    assert_eq!(llama_bench::read(&first).tests[0].name, "pp4");
}
