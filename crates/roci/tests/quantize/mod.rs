//! `roci quantize` as a process. The tests of `roci-lm` compare its files with llama.cpp's.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use roci_gguf::{Gguf, Metadata, TensorInfo, Type, Value, Writer};
use roci_lm::synthetic::talking;
use rustix::process::{Pid, Signal, kill_process};

use super::{assert_code, assert_error, command, stderr, stdout};

/// A folder with a synthetic model in F32, whose rows have 64 or 96 values.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("in.gguf"), talking().bytes().expect("it can be made")).expect("there is room");
    folder
}

fn quantize(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(&[&["quantize"], arguments].concat());
    command.current_dir(folder).output().expect("the binary was built for this test")
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = files.map(|file| file.file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn a_quantized_model_runs() {
    let folder = folder();
    let output = quantize(folder.path(), &["in.gguf", "out.gguf", "Q8_0", "--threads", "2"]);
    assert_code(&output, 0);
    let lines: Vec<_> = stdout(&output).lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("from  to    tensors") && lines.iter().any(|line| line.starts_with("F32   Q8_0 ")));
    let notes = stderr(&output);
    assert!(notes.starts_with("Q8_0: ") && notes.contains("wrote out.gguf ("), "{notes}");
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).expect("a file").len();
    assert!(size("out.gguf") < size("in.gguf") / 2);
    let mut run = command(&["run", "out.gguf", "-p", "Once", "-n", "4", "--seed", "1", "--device", "cpu"]);
    assert_code(&run.current_dir(folder.path()).output().expect("the binary was built for this test"), 0);
    assert_eq!(names(folder.path()), ["in.gguf", "out.gguf"]);
}

#[test]
fn a_dry_run_writes_nothing_and_knows_the_size() {
    let folder = folder();
    let report = |arguments: &[&str]| {
        let output = quantize(folder.path(), &[&["in.gguf", "out.gguf", "Q4_K_M", "--json"], arguments].concat());
        assert_code(&output, 0);
        // Rows of 64 and 96 values do not fill blocks of 256.
        assert!(stderr(&output).contains(" instead of Q4_K"), "{}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    let dry = report(&["--dry-run"]);
    assert_eq!(names(folder.path()), ["in.gguf"]);
    let real = report(&[]);
    let size = std::fs::metadata(folder.path().join("out.gguf")).expect("a file").len();
    assert_eq!(
        (&dry["schema"], dry["bytes"].as_u64(), &dry["seconds"]),
        (&"roci.quantize".into(), Some(size), &serde_json::Value::Null)
    );
    assert_eq!((&real["bytes"], &real["tensors"]), (&dry["bytes"], &dry["tensors"]));
    assert!(real["seconds"].as_f64().expect("a number") > 0.0);
}

#[test]
fn options_choose_the_types_of_tensors() {
    let folder = folder();
    let types = |arguments: &[&str]| {
        let fixed = ["in.gguf", "out.gguf", "Q4_0", "--json", "--dry-run"];
        let output = quantize(folder.path(), &[&fixed, arguments].concat());
        assert_code(&output, 0);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let tensors = report["tensors"].as_array().expect("a list").clone();
        move |name: &str| {
            let tensor = tensors.iter().find(|tensor| tensor["name"] == name).expect("a tensor");
            tensor["to"].as_str().expect("a type").to_owned()
        }
    };
    let (query, norm, embedding) = ("blk.0.attn_q.weight", "blk.0.attn_norm.weight", "token_embd.weight");
    let mixture = types(&[]);
    assert_eq!([query, norm].map(mixture), ["Q4_0", "F32"]);
    let chosen = types(&["--tensor-type", "blk\\.0\\.ATTN_[qk]=q5_1", "--token-embedding-type", "BF16"]);
    assert_eq!([query, "blk.1.attn_q.weight", embedding].map(chosen), ["Q5_1", "Q4_0", "BF16"]);
    assert_eq!(types(&["--pure"])(embedding), "Q4_0");
}

#[test]
fn errors_are_one_line_with_a_remedy() {
    let folder = folder();
    let run = |arguments: &[&str]| quantize(folder.path(), arguments);
    assert_error(&run(&["no.gguf", "out.gguf", "Q4_0"]), 2, "no.gguf", "check the path");
    assert_error(&run(&["in.gguf", "./in.gguf", "Q4_0"]), 2, "is both the input and the output", "another file");
    assert_error(&run(&["in.gguf", "out.gguf", "Q4_0", "--imatrix", "in.gguf"]), 2, "no entries", "llama-imatrix");
    assert_error(&run(&["in.gguf", "out.gguf", "Q4_0", "--imatrix", "no.dat"]), 2, "cannot read `no.dat`", "check");
    let output = run(&["in.gguf", "no/out.gguf", "Q4_0"]);
    assert_code(&output, 2);
    assert!(stderr(&output).contains("cannot write `no/out.gguf`"), "{}", stderr(&output));
    assert_code(&run(&["in.gguf", "out.gguf", "Q8_0", "--quiet"]), 0);
    assert_error(&run(&["out.gguf", "again.gguf", "Q4_0"]), 2, "already quantized to Q8_0", "--allow-requantize");
    assert_code(&run(&["out.gguf", "again.gguf", "Q4_0", "--allow-requantize"]), 0);
    for (kind, cause) in [("IQ2_XS", "roci cannot quantize to IQ2_XS"), ("Q4", "unknown type")] {
        let output = run(&["in.gguf", "out.gguf", kind]);
        assert_code(&output, 2);
        assert!(stderr(&output).contains(cause) && stderr(&output).contains("Q4_K_M"), "{}", stderr(&output));
    }
    assert_eq!(names(folder.path()), ["again.gguf", "in.gguf", "out.gguf"]);
}

#[test]
fn the_parts_of_a_split_model_become_one_file() {
    let folder = tempfile::tempdir().expect("there is room");
    for part in [1, 2u16] {
        let keys = [
            ("split.no", Value::U16(part - 1)),
            ("split.count", Value::U16(2)),
            ("split.tensors.count", Value::I32(2)),
        ];
        let mut metadata: Metadata = keys.into_iter().collect();
        metadata.insert("general.architecture", "llama");
        let name = format!("blk.{part}.ffn_up.weight");
        let info = TensorInfo::new(&name, &[32, 2], Type::F32).expect("a tensor");
        let mut writer = Writer::start(Vec::new(), &metadata, &[info]).expect("tables");
        writer.write(&name, &[0; 256]).expect("in order");
        let path = folder.path().join(format!("model-{part:05}-of-00002.gguf"));
        std::fs::write(path, writer.finish().expect("complete")).expect("there is room");
    }
    let output = quantize(folder.path(), &["model-00002-of-00002.gguf", "out.gguf", "COPY"]);
    assert_code(&output, 0);
    let file = Gguf::open(folder.path().join("out.gguf")).expect("a model");
    assert_eq!(file.tensors().len(), 2);
    assert_eq!(file.metadata().iter().map(|(key, _)| key).collect::<Vec<_>>(), ["general.architecture"]);
    std::fs::remove_file(folder.path().join("model-00001-of-00002.gguf")).expect("the part exists");
    let output = quantize(folder.path(), &["model-00002-of-00002.gguf", "out.gguf", "Q4_0"]);
    assert_error(&output, 2, "model-00001-of-00002.gguf", "check the path");
}

#[test]
fn an_interrupted_quantization_leaves_no_file() {
    let folder = tempfile::tempdir().expect("there is room");
    let info = TensorInfo::new("blk.0.ffn_up.weight", &[256, 1 << 15], Type::F32).expect("a tensor");
    let mut writer = Writer::start(Vec::new(), &Metadata::new(), std::slice::from_ref(&info)).expect("tables");
    let values: Vec<u8> = (0..info.values()).flat_map(|at| ((at * 7919 % 509) as f32).to_le_bytes()).collect();
    writer.write(info.name(), &values).expect("in order");
    std::fs::write(folder.path().join("in.gguf"), writer.finish().expect("complete")).expect("there is room");
    let mut command = command(&["quantize", "in.gguf", "out.gguf", "IQ4_XS", "--threads", "1"]);
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary was built for this test");
    let started = Instant::now();
    while !folder.path().join("out.gguf.part").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "it never starts");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_raw(child.id().cast_signed()).expect("not zero"), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_code(&output, 130);
    assert_eq!(names(folder.path()), ["in.gguf"]);
}
