//! Language models as processes: `run`, `chat`, `convert`, and errors.
//!
//! The model is synthetic: its text is random, but the same for the same seed.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use roci_gguf::Type;
use roci_lm::architecture::Model;
use roci_lm::synthetic::{AdapterRecipe, talking};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A template that is not `chatml`.
const TEMPLATE: &str = "{% for message in messages %}[{{ message.role }}: {{ message.content }}]{% endfor %}";

/// A folder with the synthetic model, and with one that has a template.
fn models() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let mut case = talking();
    std::fs::write(folder.path().join("plain.gguf"), case.bytes().expect("it can be made")).expect("there is room");
    case.metadata.push(("tokenizer.chat_template".to_owned(), TEMPLATE.into()));
    // The type of a file does not depend on its name.
    std::fs::write(folder.path().join("chat.model"), case.bytes().expect("it can be made")).expect("there is room");
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    // The CPU exists on every machine, and `auto` would print a note.
    let on_device = matches!(arguments.first(), Some(&("run" | "chat"))) && !arguments.contains(&"--device");
    command.args(on_device.then_some("--device=cpu"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn roci(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().expect("the binary was built for this test")
}

/// Like `roci`, with standard input.
fn with_input(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child =
        command(folder, arguments).stdin(Stdio::piped()).spawn().expect("the binary was built for this test");
    child.stdin.take().expect("it is a pipe").write_all(input).expect("it is read");
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn succeed(output: Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[track_caller]
fn fail(output: &Output, code: i32, cause: &str, remedy: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let lines: Vec<_> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(cause), "{stderr}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(remedy), "{stderr}");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn run_answers_the_same_for_the_same_seed() {
    let folder = models();
    let run = |seed: &str| {
        let output = roci(folder.path(), &["run", "plain.gguf", "-p", "Once", "-n", "20", "--seed", seed]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        succeed(output)
    };
    assert!(run("1").ends_with('\n') && run("1").len() > 1);
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
    let piped = with_input(folder.path(), &["run", "plain.gguf", "-p", "-", "-n", "20", "--seed", "1"], b"Once");
    assert_eq!(succeed(piped), run("1"));
}

#[test]
fn speculation_does_not_change_the_answer() {
    let folder = models();
    let report = |arguments: &[&str]| {
        // A text of two letters, in which n-grams recur.
        let fixed = ["run", "plain.gguf", "-p", "Once", "-n", "60", "--seed", "4", "--json", "--grammar", "two.gbnf"];
        json(&succeed(roci(folder.path(), &[&fixed[..], arguments].concat())))
    };
    std::fs::write(folder.path().join("two.gbnf"), "root ::= [ab]{60}").expect("there is room");
    let plain = report(&[]);
    assert_eq!((plain["drafted_tokens"].as_u64(), plain["accepted_tokens"].as_u64()), (Some(0), Some(0)));
    for arguments in [&["--speculate", "ngram"][..], &["--speculate", "ngram", "--draft-tokens", "2"]] {
        let found = report(arguments);
        assert_eq!(found["text"], plain["text"], "{arguments:?}");
        assert!(found["accepted_tokens"].as_u64() > Some(5), "{arguments:?}: {found}");
    }
    for method in ["auto", "off"] {
        assert_eq!(report(&["--speculate", method])["text"], plain["text"], "{method}");
    }
    // The model drafts for itself, but drafts ignore the grammar.
    let drafted = report(&["--draft", "plain.gguf"]);
    assert_eq!(drafted["text"], plain["text"]);
    assert!(drafted["drafted_tokens"].as_u64() > Some(20), "{drafted}");
    assert_eq!(report(&["--draft", "plain.gguf", "--speculate", "auto"])["text"], plain["text"]);
}

#[test]
fn adapters_change_the_answer_by_their_scale() {
    let folder = models();
    let base = talking().open().expect("the file is valid");
    let model = Model::new(&base, None).expect("the architecture is supported");
    let recipe = AdapterRecipe { rank: 4, alpha: 4.0, kind: Type::F32, ends: false, seed: 1 };
    let bytes = recipe.bytes(&base, &model).expect("it can be made");
    std::fs::write(folder.path().join("lora.gguf"), bytes).expect("there is room");
    let run = |arguments: &[&str]| {
        let fixed = ["run", "plain.gguf", "-p", "Once", "-n", "20", "--temperature", "0"];
        roci(folder.path(), &[&fixed[..], arguments].concat())
    };
    let plain = succeed(run(&[]));
    let adapted = succeed(run(&["--lora", "lora.gguf"]));
    assert_ne!(adapted, plain);
    assert_eq!(succeed(run(&["--lora-scaled", "lora.gguf:1"])), adapted);
    assert_eq!(succeed(run(&["--lora-scaled", "lora.gguf:0"])), plain);
    assert_eq!(succeed(run(&["--lora", "lora.gguf", "--lora-scaled", "lora.gguf:-1"])), plain);
    fail(&run(&["--lora", "plain.gguf"]), 2, "plain.gguf: `general.type` is ``, expected `adapter`", "LoRA adapter");
    fail(&run(&["--lora", "none.gguf"]), 2, "none.gguf", "");
}

#[test]
fn a_prediction_head_does_not_change_the_answer() {
    let folder = models();
    let model = roci_lm::synthetic::talking_predicting().bytes().expect("it can be made");
    std::fs::write(folder.path().join("mtp.gguf"), model).expect("there is room");
    std::fs::write(folder.path().join("two.gbnf"), "root ::= [ab]{60}").expect("there is room");
    let report = |arguments: &[&str]| {
        let fixed = ["run", "mtp.gguf", "-p", "Once", "-n", "60", "--seed", "4", "--json", "--grammar", "two.gbnf"];
        json(&succeed(roci(folder.path(), &[&fixed[..], arguments].concat())))
    };
    let plain = report(&[]);
    let found = report(&["--speculate", "mtp"]);
    assert_eq!(found["text"], plain["text"]);
    assert!(found["drafted_tokens"].as_u64() > Some(20), "{found}");
    assert_eq!(report(&["--speculate", "auto"])["text"], plain["text"]);
}

#[test]
fn unsuitable_options_of_speculation_are_refused() {
    let folder = models();
    let run = |arguments: &[&str]| roci(folder.path(), &[&["run", "plain.gguf", "-p", "x"], arguments].concat());
    assert_eq!(run(&["--speculate", "guess"]).status.code(), Some(2));
    fail(&run(&["--speculate", "draft"]), 2, "needs a draft model", "--draft MODEL");
    fail(&run(&["--speculate", "mtp"]), 2, "no supported prediction head", "--speculate ngram");
    fail(&run(&["--draft-tokens", "3"]), 2, "has no effect with `--speculate off`", "leave `--draft-tokens` out");
    let arguments = ["--speculate", "ngram", "--draft", "plain.gguf"];
    fail(&run(&arguments), 2, "has no effect with `--speculate ngram`", "leave `--draft` out");
    let mut other = talking();
    for (key, value) in &mut other.metadata {
        if key == "tokenizer.ggml.token_type"
            && let roci_gguf::Value::Array(roci_gguf::Array::I32(kinds)) = value
        {
            *kinds.last_mut().expect("it has tokens") = 5;
        }
    }
    std::fs::write(folder.path().join("other.gguf"), other.bytes().expect("it can be made")).expect("there is room");
    fail(&run(&["--draft", "other.gguf"]), 2, "vocabulary of the draft model differs", "same family");
    let hybrid = roci_lm::synthetic::talking_hybrid().bytes().expect("it can be made");
    std::fs::write(folder.path().join("hybrid.gguf"), hybrid).expect("there is room");
    fail(&run(&["--draft", "hybrid.gguf"]), 2, "recurrent layers", "attention only");
}

#[test]
fn run_uses_the_template_of_the_model() {
    let folder = models();
    let run = |arguments: &[&str]| {
        let fixed = ["-n", "5", "--seed", "1", "--json"];
        let report = json(&succeed(roci(folder.path(), &[&["run"], arguments, &fixed].concat())));
        assert_eq!(report["schema"], "roci.answer");
        (report["prompt_tokens"].as_u64(), report["text"].clone())
    };
    let raw = |prompt: &str| run(&["plain.gguf", "--raw", "-p", prompt]);
    assert_eq!(run(&["plain.gguf", "-p", "Once"]), raw("Once"));
    assert_eq!(run(&["chat.model", "-p", "Once", "--raw"]), raw("Once"));
    assert_eq!(run(&["chat.model", "-p", "Once"]), raw("[user: Once]"));
    assert_eq!(run(&["chat.model", "-p", "Once", "--system", "x"]), raw("[system: x][user: Once]"));
    let chat = run(&["plain.gguf", "-p", "Once", "--system", "x"]);
    assert!(chat.0 > raw("Once").0, "a system's text asks for a template");
}

#[test]
fn run_reports_why_an_answer_ended() {
    let folder = models();
    let report = |arguments: &[&str]| {
        let fixed = ["run", "plain.gguf", "-p", "Once", "--seed", "1", "--json"];
        json(&succeed(roci(folder.path(), &[&fixed[..], arguments].concat())))
    };
    let whole = report(&["-n", "30"]);
    assert_eq!((whole["reason"].as_str(), whole["completion_tokens"].as_u64()), (Some("length"), Some(30)));
    assert_eq!(whole["model"]["name"], "talking");
    let text: Vec<char> = whole["text"].as_str().expect("a text").chars().collect();
    let stop: String = text[5..8].iter().collect();
    let stopped = report(&["-n", "30", "--stop", &stop]);
    assert_eq!(stopped["reason"], "stop");
    assert!(whole["text"].as_str().expect("a text").starts_with(stopped["text"].as_str().expect("a text")));
    std::fs::write(folder.path().join("yes.gbnf"), "root ::= \"yes\" | \"no\"").expect("there is room");
    let constrained = report(&["--grammar", "yes.gbnf"]);
    assert_eq!(constrained["reason"], "end");
    assert!(["yes", "no"].contains(&constrained["text"].as_str().expect("a text")));
    let inline = report(&["--json-schema", r#"{"enum": ["yes", "no"]}"#]);
    assert!([r#""yes""#, r#""no""#].contains(&inline["text"].as_str().expect("a text")));
    let full = report(&["--context", "24"]);
    assert_eq!(full["model"]["context"], 24);
    assert!(full["prompt_tokens"].as_u64() < Some(24) && full["tokens"].as_u64() <= Some(24));
}

#[test]
fn chat_reads_lines_and_prints_answers_alone() {
    let folder = models();
    let chat = |arguments: &[&str], input: &str| {
        let fixed = ["chat", "chat.model", "-n", "8", "--seed", "1", "--json-schema", "any.json"];
        let output = with_input(folder.path(), &[&fixed[..], arguments].concat(), input.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        succeed(output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    // Each answer is one line.
    let schema = r#"{"enum": ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]}"#;
    std::fs::write(folder.path().join("any.json"), schema).expect("there is room");
    let first = chat(&["-q"], "hello\n");
    assert_eq!(first.len(), 1);
    let texts = ["one", "two", "three", "four"];
    let all = chat(&["-q"], &texts.join("\n"));
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|line| json(line).is_string()), "{all:?}");
    // A cleared conversation does not affect later answers.
    let again = chat(&["-q"], "hello\n\n/reset\nhello\n");
    assert_eq!(again, [first[0].clone(), first[0].clone()]);
}

#[test]
fn chat_executes_commands_and_saves() {
    let folder = models();
    let input =
        "/nonsense\n/system Be brief.\none\\\ntwo\n/seed 5\n/temperature 0\n/save talk.json\n/quit\nnever stderr\n";
    // Without a seed, any text may be generated; control characters are replaced. The grammar
    // cannot end before the token limit.
    std::fs::write(folder.path().join("letters.gbnf"), "root ::= [a-z]{200}").expect("there is room");
    let arguments = ["chat", "chat.model", "-n", "3", "--stats", "--grammar", "letters.gbnf"];
    let output = with_input(folder.path(), &arguments, input.as_bytes());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let answer = succeed(output);
    for part in
        ["unknown command /nonsense", "the seed is 5", "the temperature is 0", "wrote talk.json", "answer 3 tokens"]
    {
        assert!(stderr.contains(part), "{stderr}");
    }
    let talk = json(&std::fs::read_to_string(folder.path().join("talk.json")).expect("it was written"));
    assert_eq!(talk[0]["content"], "Be brief.");
    assert_eq!((&talk[1]["role"], &talk[1]["content"]), (&"user".into(), &"one\ntwo".into()));
    assert_eq!(talk[2]["role"], "assistant");
    assert_eq!(answer.trim_end_matches('\n'), talk[2]["content"].as_str().expect("a text").trim_end_matches('\n'));
    assert_eq!(talk.as_array().map(Vec::len), Some(3));
    assert!(!folder.path().join(".local").exists(), "no history without a terminal");
}

#[test]
fn a_model_without_a_template_names_the_default() {
    let folder = models();
    let output = with_input(folder.path(), &["chat", "plain.gguf", "-n", "2"], b"hello\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("using `chatml`"));
    succeed(output);
}

#[test]
fn invalid_models_are_errors_of_one_line() {
    let folder = models();
    let path = |name: &str| folder.path().join(name);
    let whole = std::fs::read(path("plain.gguf")).expect("it was made");
    std::fs::write(path("half.gguf"), &whole[..whole.len() / 2]).expect("there is room");
    std::fs::write(path("other.gguf"), b"nothing of the kind").expect("there is room");
    let mut unknown = talking();
    unknown.metadata.push(("general.architecture".to_owned(), "tomorrow".into()));
    std::fs::write(path("unknown.gguf"), unknown.bytes().expect("it can be made")).expect("there is room");
    let chat = |name: &str| roci(folder.path(), &["chat", name]);
    let run = |name: &str| roci(folder.path(), &["run", name, "-p", "a"]);
    fail(&chat("nowhere.gguf"), 2, "nowhere.gguf", "check the path");
    fail(&chat("half.gguf"), 2, "half.gguf", "incomplete");
    fail(&run("half.gguf"), 2, "half.gguf", "incomplete");
    fail(&chat("other.gguf"), 2, "other.gguf", ".gguf");
    fail(&run("other.gguf"), 2, "other.gguf", ".gguf");
    fail(&run("nowhere.gguf"), 2, "nowhere.gguf", "check the path");
    fail(&roci(folder.path(), &["inspect", "plain.gguf"]), 2, "this is a language model", "roci run");
    fail(&run("unknown.gguf"), 2, "tomorrow", "architectures");
    let output = roci(folder.path(), &["run", "half.gguf", "-p", "a", "--json"]);
    let failure = json(&String::from_utf8_lossy(&output.stdout));
    assert_eq!((&failure["schema"], &failure["error"]["code"]), (&"roci.error".into(), &2.into()));
}

#[test]
fn invalid_requests_are_errors_of_one_line() {
    let folder = models();
    let run = |arguments: &[&str]| roci(folder.path(), &[&["run", "plain.gguf"], arguments].concat());
    fail(&run(&[]), 2, "needs a prompt", "-p TEXT");
    fail(&run(&["-p", &"long ".repeat(99), "--context", "64"]), 2, "the context holds only 64", "--context");
    fail(&run(&["-p", "a", "--repeat", "2"]), 2, "`--repeat` does not apply to language models", "leave it out");
    fail(&run(&["-p", "a", "--temperature", "-1"]), 2, "temperature", "temperature");
    fail(&run(&["-p", "a", "--device", "nonsense"]), 3, "nonsense", "");
    fail(&run(&["-p", "a", "--grammar", "nowhere"]), 2, "cannot read `nowhere`", "check the path");
    std::fs::write(folder.path().join("bad.gbnf"), "root ::= (").expect("there is room");
    fail(&run(&["-p", "a", "--grammar", "bad.gbnf"]), 2, "bad.gbnf", "");
    std::fs::write(folder.path().join("bad.json"), "{").expect("there is room");
    fail(&run(&["-p", "a", "--json-schema", "bad.json"]), 2, "not JSON", "");
    fail(&run(&["-p", "a", "--json-schema", "{bad"]), 2, "not JSON", "");
    let output = with_input(folder.path(), &["run", "plain.gguf", "-p", "-"], b"\xff");
    fail(&output, 2, "not UTF-8", "UTF-8");
    let onnx = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/small.onnx");
    fail(
        &roci(folder.path(), &["run", onnx, "-p", "a"]),
        2,
        "`--prompt` does not apply to ONNX models",
        "leave it out",
    );
    let moe = ["run", onnx, "--n-cpu-moe", "1"];
    fail(&roci(folder.path(), &moe), 2, "`--n-cpu-moe` does not apply to ONNX models", "leave it out");
    fail(&roci(folder.path(), &["run", onnx, "--exact"]), 2, "`--exact` does not apply to ONNX models", "leave it out");
    // Input from a pipe ends at the first error.
    let long = with_input(folder.path(), &["chat", "chat.model", "--context", "64"], "long ".repeat(99).as_bytes());
    fail(&long, 2, "the context holds only 64", "--context");
}

#[test]
fn experts_can_be_computed_on_the_cpu() {
    let folder = models();
    let mut case = talking();
    case.recipe.experts = Some((4, 2));
    std::fs::write(folder.path().join("experts.gguf"), case.bytes().expect("it can be made")).expect("there is room");
    let run = |options: &[&str]| {
        let output =
            roci(folder.path(), &[&["run", "experts.gguf", "-p", "a", "-n", "4", "--seed", "1"], options].concat());
        (String::from_utf8_lossy(&output.stderr).into_owned(), succeed(output))
    };
    let (note, text) = run(&[]);
    assert_eq!(note, "");
    let (note, all) = run(&["--cpu-moe"]);
    assert!(note.starts_with("experts of all 2 layers on the CPU: ") && note.contains(" on cpu"), "{note}");
    let (note, first) = run(&["--n-cpu-moe", "1"]);
    assert!(note.starts_with("experts of the first 1 of 2 layers on the CPU: "), "{note}");
    // The CPU computes all layers in any case.
    assert_eq!([&all, &first], [&text, &text]);
    let (_, answer) = run(&["--json"]);
    let placement = &json(&answer)["model"]["placement"];
    assert_eq!((&placement[0]["device"], &placement[0]["layers"]), (&"cpu".into(), &2.into()), "{placement}");
    assert!(placement[0]["bytes"].as_u64() > placement[0]["expert_bytes"].as_u64(), "{placement}");
    let both = roci(folder.path(), &["run", "experts.gguf", "-p", "a", "--cpu-moe", "--n-cpu-moe", "1"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn roci_device_is_the_default_device() {
    let folder = models();
    let run = |device: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
        command.args(["run", "plain.gguf", "-p", "a", "--max-tokens", "1"]).args(more).current_dir(folder.path());
        command.env_clear().env("HOME", folder.path()).env("ROCI_DEVICE", device).stdin(Stdio::null());
        command.output().expect("the binary was built for this test")
    };
    let wrong = run("nonsense", &[]);
    assert_eq!(wrong.status.code(), Some(3), "{}", String::from_utf8_lossy(&wrong.stderr));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("using nonsense, from ROCI_DEVICE"));
    succeed(run("cpu", &[]));
    succeed(run("nonsense", &["--device", "cpu"]));
}

#[test]
fn specialized_kernels_can_be_turned_off() {
    let folder = models();
    let run = |name: &str, value: &str| {
        command(folder.path(), &["run", "plain.gguf", "-p", "a", "--max-tokens", "1"]).env(name, value).output()
    };
    succeed(run("ROCI_SPECIALIZE", "off").expect("it starts"));
    for name in ["ROCI_SPECIALIZE", "ROCI_BAKE"] {
        fail(&run(name, "maybe").expect("it starts"), 2, "ROCI_SPECIALIZE: it is `maybe`", "`on` or `off`");
    }
}

/// Starts an endless answer and waits for its first text.
fn endless(folder: &Path, verb: &[&str], input: &[u8]) -> Child {
    std::fs::write(folder.join("endless.gbnf"), "root ::= [a-z]{100000,}").expect("there is room");
    let mut child = command(folder, verb).args(["--grammar", "endless.gbnf"]).stdin(Stdio::piped()).spawn();
    let child_ = child.as_mut().expect("the binary was built for this test");
    child_.stdin.as_mut().expect("it is a pipe").write_all(input).expect("it is read");
    child_.stdout.as_mut().expect("it is a pipe").read_exact(&mut [0]).expect("some text comes");
    child.expect("it runs")
}

#[test]
fn ctrl_c_stops_an_answer_and_prints_the_results_so_far() {
    let folder = models();
    for verb in [&["run", "plain.gguf", "-p", "Once"][..], &["chat", "chat.model"]] {
        let child = endless(folder.path(), verb, b"Once\n");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("it has a number");
        kill_process(pid, Signal::INT).expect("it is ours");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.ends_with(b"\n"), "{:?}", output.stdout);
    }
}

#[test]
fn a_closed_pipe_ends_the_answer() {
    let folder = models();
    let mut child = endless(folder.path(), &["run", "plain.gguf", "-p", "Once"], b"");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn checkpoints_are_converted_and_run() {
    let folder = models();
    let path = |name: &str| folder.path().join(name);
    let numbers = [16i32, 24, 1, 2, 2, 300, 64];
    let floats = 300 * 16 + 16 + 4 * 256 + 16 + 3 * 384 + 16 + 64 * 8;
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut random = fastrand::Rng::with_seed(1);
    bytes.extend((0..floats).flat_map(|_| (random.f32() - 0.5).to_le_bytes()));
    std::fs::write(path("tiny.bin"), &bytes).expect("there is room");
    fail(&roci(folder.path(), &["convert", "tiny.bin", "tiny.gguf"]), 2, "tokenizer.bin", "check the path");
    let run = roci(folder.path(), &["run", "tiny.bin", "-p", "a"]);
    fail(&run, 2, "a checkpoint of llama2.c", "roci convert tiny.bin tiny.gguf");
    let mut tokens = vec![0; 4];
    for token in 0..300 {
        let text = if (3..259).contains(&token) { format!("<0x{:02X}>", token - 3) } else { format!("t{token}") };
        tokens.extend(0f32.to_le_bytes());
        tokens.extend((text.len() as i32).to_le_bytes());
        tokens.extend(text.as_bytes());
    }
    std::fs::write(path("tokenizer.bin"), &tokens).expect("there is room");
    let output = roci(folder.path(), &["convert", "tiny.bin", "tiny.gguf", "--name", "Tiny"]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("wrote tiny.gguf ("));
    succeed(output);
    let report = json(&succeed(roci(folder.path(), &["run", "tiny.gguf", "-p", "hi", "-n", "4", "--json"])));
    assert_eq!((&report["model"]["name"], &report["model"]["context"]), (&"Tiny".into(), &64.into()));
    // A failure leaves no file behind and keeps an existing one.
    std::fs::write(path("tiny.bin"), &bytes[..999]).expect("there is room");
    fail(&roci(folder.path(), &["convert", "tiny.bin", "tiny.gguf"]), 2, "has 999 bytes", "download");
    fail(&roci(folder.path(), &["convert", "tiny.bin", "no/tiny.gguf"]), 2, "cannot write", "");
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["chat.model", "plain.gguf", "tiny.bin", "tiny.gguf", "tokenizer.bin"]);
}

/// A folder with a model for embeddings and a reranker.
fn text_models() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    let write = |name: &str, case: &roci_lm::synthetic::Case| {
        std::fs::write(folder.path().join(name), case.bytes().expect("it can be made")).expect("there is room");
    };
    let mut case = talking();
    case.metadata.push(("llama.pooling_type".to_owned(), 1u32.into()));
    write("mean.gguf", &case);
    let mut case = talking();
    case.metadata.push(("llama.pooling_type".to_owned(), 4u32.into()));
    case.recipe.encoder =
        Some(roci_lm::synthetic::EncoderRecipe { pooled: &[("cls.output", 64, 1, true)], ..Default::default() });
    write("rank.gguf", &case);
    folder
}

#[test]
fn embed_prints_a_vector_per_text() {
    let folder = text_models();
    std::fs::write(folder.path().join("texts.txt"), "third\nfourth\n").expect("there is room");
    let arguments = ["embed", "mean.gguf", "first", "second", "--file", "texts.txt", "--device", "cpu"];
    let lines = succeed(roci(folder.path(), &arguments));
    let vectors: Vec<Vec<f64>> =
        lines.lines().map(|line| line.split(' ').map(|number| number.parse().expect("a number")).collect()).collect();
    assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [64; 4]);
    for vector in &vectors {
        let length: f64 = vector.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
    assert_ne!(vectors[0], vectors[1]);
    let json = succeed(roci(folder.path(), &["embed", "mean.gguf", "first", "--device", "cpu", "--json"]));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["embeddings"][0]["embedding"][7].as_f64(), Some(vectors[0][7]));

    fail(&roci(folder.path(), &["embed", "mean.gguf", "--device", "cpu"]), 2, "there are no texts", "--file");
    let wrong = roci(folder.path(), &["embed", "rank.gguf", "a", "--device", "cpu"]);
    fail(&wrong, 2, "pooling type `rank`", "reranker");
}

#[test]
fn perplexity_counts_the_second_half_of_each_chunk() {
    let folder = text_models();
    std::fs::write(folder.path().join("model.gguf"), talking().bytes().expect("it can be made"))
        .expect("there is room");
    std::fs::write(folder.path().join("text.txt"), "a text of some words. ".repeat(9)).expect("there is room");
    let perplexity = |model: &str, more: &[&str]| {
        let arguments = ["perplexity", model, "--file", "text.txt", "--device", "cpu"];
        roci(folder.path(), &[&arguments[..], more].concat())
    };
    let line = succeed(perplexity("model.gguf", &["--context", "8", "--chunks", "3"]));
    assert!(line.starts_with("perplexity ") && line.contains("(9 predictions in 3 chunks of 8 tokens"), "{line}");
    fail(&perplexity("model.gguf", &[]), 2, "tokens, and a chunk 512", "--context");
    let missing = roci(folder.path(), &["perplexity", "model.gguf", "--file", "no.txt", "--device", "cpu"]);
    fail(&missing, 2, "cannot read `no.txt`", "path");
}

#[test]
fn rerank_sorts_documents() {
    let folder = text_models();
    let rerank = |more: &[&str]| {
        let arguments = ["rerank", "rank.gguf", "--query", "a query", "--device", "cpu", "one", "two", "three"];
        succeed(roci(folder.path(), &[&arguments[..], more].concat()))
    };
    let lines = rerank(&[]);
    let scores: Vec<f64> =
        lines.lines().map(|line| line.trim().split("  ").next().expect("a score").parse().expect("a number")).collect();
    assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b), "{lines}");
    let json: Value = serde_json::from_str(&rerank(&["--json", "--top", "2"])).expect("JSON");
    let results = json["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2);
    assert!(lines.lines().next().expect("a line").ends_with(results[0]["document"].as_str().expect("a text")));
    let wrong = roci(folder.path(), &["rerank", "mean.gguf", "--query", "a", "b", "--device", "cpu"]);
    fail(&wrong, 2, "gives no scores", "reranker");
}
