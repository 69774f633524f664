//! The JSON of each verb is a contract, and so is the JSON of errors.
//!
//! A golden file has the shape of the output, its keys and the types of their values, since values
//! depend on the machine. `ROCI_BLESS=1` rewrites them; a key that is removed or has another type
//! needs a new `version`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn roci(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
    command.args(arguments).env_clear().stdin(Stdio::null()).output().expect("the binary was built for this test")
}

#[track_caller]
fn output(arguments: &[&str], code: i32) -> Value {
    let output = roci(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{stderr}"))
}

/// A line for each path in the JSON, with the types of its values: `results[].seconds null|number`.
fn shape(values: &[Value]) -> String {
    let mut paths = BTreeMap::new();
    values.iter().for_each(|value| visit(value, String::new(), &mut paths));
    let line = |(path, types): (String, BTreeSet<&str>)| {
        format!("{path} {}\n", types.into_iter().collect::<Vec<_>>().join("|"))
    };
    paths.into_iter().map(line).collect()
}

fn visit(value: &Value, path: String, paths: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(elements) => {
            elements.iter().for_each(|element| visit(element, format!("{path}[]"), paths));
            "array"
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| visit(value, format!("{path}.{key}"), paths));
            "object"
        }
    };
    paths.entry(path).or_default().insert(name);
}

#[test]
fn bench_measures_and_checks() {
    let value = output(&["bench", "--quick", "--json", "--device", "cpu"], 0);
    for result in value["results"].as_array().expect("a list") {
        assert_eq!(result["status"], "ok", "{result}");
        assert!(result["seconds"].as_f64().expect("a number") > 0.0, "{result}");
    }
    let null = output(&["bench", "--quick", "--json", "--device", "null"], 1);
    assert!(null["results"].as_array().expect("a list").iter().any(|result| result["status"] == "wrong"));
    assert_shape("bench", &[value, null]);
}

#[track_caller]
fn assert_shape(name: &str, values: &[Value]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shapes").join(format!("{name}.txt"));
    let text = shape(values);
    if roci_testkit::bless() {
        std::fs::write(&file, &text).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&file).expect("the golden file exists (ROCI_BLESS=1 writes it)");
    assert_eq!(text, golden, "the shape of `{name}` changed; see ROCI_BLESS in CONTRIBUTING.md");
}

#[test]
fn losses_of_devices_agree() {
    let few = ["train-demo", "--json", "--steps", "4", "--batch", "10", "--device", "cpu", "--device"];
    let same = output(&[&few[..], &["emu://gfx1010"]].concat(), 0);
    assert_eq!(same["results"][1]["losses"].as_array().map(Vec::len), Some(4));
    let distance = same["results"][1]["loss_distance"].as_f64().expect("a number");
    assert!(distance < 1e-3, "{distance}");
    let adam = output(&[&few[..], &["null", "--optimizer", "adam"]].concat(), 1);
    assert_eq!((&adam["results"][0]["status"], &adam["results"][1]["status"]), (&json!("ok"), &json!("no-progress")));
    let missing_device = output(&[&few[..], &["cpu:7"]].concat(), 3);
    assert_eq!(missing_device["results"][1]["status"], "failed");
    assert_renamed(std::slice::from_ref(&same));
    assert_shape("train_demo", &[same, adam, missing_device]);
}

#[test]
fn devices() {
    let value = output(&["devices", "--all", "--json"], 0);
    assert_eq!((&value["schema"], &value["version"]), (&json!("roci.devices"), &json!(1)));
    // Whether a driver has an error depends on the machine.
    let refusal = json!({ "drivers": [{ "error": "", "hint": "" }] });
    // The known properties of a card also depend on it.
    let card = json!({
        "vendor": "", "runtime": "", "pci": "", "true_memory_bytes": 0, "same_card": [""], "quirks": [""],
        "subgroup_sizes": [32],
    });
    let card = json!({ "drivers": [{ "devices": [card] }] });
    assert_shape("devices", &[value, refusal, card]);
}

#[test]
fn quantize() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("in.gguf"), roci_lm::synthetic::talking().bytes().expect("it can be made"))
        .expect("there is room");
    let run = |kind, more: &[&str]| {
        output(&[&["quantize", &path("in.gguf"), &path("out.gguf"), kind, "--json"], more].concat(), 0)
    };
    let (dry, real) = (run("Q4_K_M", &["--dry-run"]), run("Q4_0", &[]));
    assert_eq!((&dry["schema"], &dry["version"]), (&json!("roci.quantize"), &json!(1)));
    assert_shape("quantize", &[dry, real]);
}

#[test]
fn env() {
    let value = output(&["env", "--json"], 0);
    assert_eq!((&value["schema"], &value["version"]), (&json!("roci.env"), &json!(1)));
    assert_shape("env", &[value]);
}

#[test]
fn demo() {
    // A device with right results, one with wrong ones, and one that does not exist.
    let devices = ["-d", "cpu", "-d", "null", "-d", "cpu:7"];
    let value = output(&[&["demo", "--quick", "--json", "fill", "matmul"][..], &devices].concat(), 3);
    assert_eq!((&value["schema"], &value["version"]), (&json!("roci.demo"), &json!(2)));
    assert_eq!(value["errors"][0]["code"], 3);
    // A lost device, and kernels that are skipped afterwards.
    let lost = output(&["demo", "matmul", "--timeout", "0.000001", "--json", "--device", "cpu"], 4);
    assert_renamed(std::slice::from_ref(&value));
    assert_shape("demo", &[value, lost]);
}

#[test]
fn inspect() {
    let model = format!("{}/tests/models/small.onnx", env!("CARGO_MANIFEST_DIR"));
    let value = output(&["inspect", &model, "--json"], 0);
    // Keys are names of symbolic dimensions and of locations.
    let any = json!({ "devices": [{ "runs": { "precomputed": 1, "ahead": 1, "refused": 1, "unknown": 1 } }], "notes": ["odd"] });
    assert_renamed(std::slice::from_ref(&value));
    assert_shape("inspect", &[value, any]);
}

#[test]
fn run_of_a_language_model() {
    let folder = tempfile::tempdir().expect("there is room");
    let model = folder.path().join("model.gguf");
    std::fs::write(&model, roci_lm::synthetic::talking().bytes().expect("it can be made")).expect("there is room");
    let value = output(&["run", &model.display().to_string(), "-p", "Once", "-n", "3", "--device", "cpu", "--json"], 0);
    // An interrupted run has no times and no counts.
    let stopped = json!({
        "prompt_seconds": null, "generation_seconds": null, "drafted_tokens": null, "accepted_tokens": null,
    });
    assert_renamed(std::slice::from_ref(&value));
    assert_shape("answer", &[value, stopped]);
}

#[test]
fn perplexity() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("model.gguf"), roci_lm::synthetic::talking().bytes().expect("it can be made")).expect("room");
    std::fs::write(path("text.txt"), "a text of some words. ".repeat(9)).expect("there is room");
    let (model, text) = (path("model.gguf"), path("text.txt"));
    let arguments = ["perplexity", model.as_str(), "--file", text.as_str(), "--context", "8", "--device", "cpu"];
    let run = |more: &[&str]| output(&[&arguments[..], more].concat(), 0);
    let values = [run(&["--json"]), run(&["--json", "--losses"])];
    assert_eq!((&values[0]["schema"], &values[0]["version"]), (&json!("roci.perplexity"), &json!(1)));
    assert_eq!(values[0]["perplexity"], values[1]["perplexity"]);
    let losses = values[1]["losses"].as_array().expect("a list");
    assert_eq!(Some(losses.len() as u64), values[1]["tokens"].as_u64());
    assert_shape("perplexity", &values);
}

#[test]
fn embed_and_rerank() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, pooling: u32| {
        let mut case = roci_lm::synthetic::talking();
        case.metadata.push(("llama.pooling_type".to_owned(), pooling.into()));
        let head = roci_lm::synthetic::EncoderRecipe { pooled: &[("cls.output", 64, 1, false)], ..Default::default() };
        case.recipe.encoder = (pooling == 4).then_some(head);
        std::fs::write(path(name), case.bytes().expect("it can be made")).expect("there is room");
    };
    write("mean.gguf", 1);
    write("rank.gguf", 4);
    let embeddings = output(&["embed", &path("mean.gguf"), "a text", "--device", "cpu", "--json"], 0);
    assert_eq!((&embeddings["schema"], &embeddings["version"]), (&json!("roci.embeddings"), &json!(1)));
    assert_shape("embeddings", &[embeddings]);
    let ranking = output(&["rerank", &path("rank.gguf"), "--query", "a", "b", "--device", "cpu", "--json"], 0);
    assert_eq!((&ranking["schema"], &ranking["version"]), (&json!("roci.ranking"), &json!(1)));
    assert_shape("ranking", &[ranking]);
}

#[test]
fn matrix() {
    let value = output(&["matrix", "--json", "-d", "cpu", "-d", "cpu:7", "--only", "mm, larger"], 3);
    assert_eq!((&value["schema"], &value["version"]), (&json!("roci.matrix"), &json!(2)));
    // Details and changes of results depend on the device.
    let change = json!({ "device": "", "probe": "", "from": "", "to": "", "driver_before": "", "since": 0 });
    let same = json!({ "driver_before": null, "since": null });
    let others =
        json!({ "changes": [change, same], "results": [{ "detail": "", "error_ratio": null, "excess": null }] });
    assert_renamed(std::slice::from_ref(&value));
    assert_shape("matrix", &[value, others]);
}

#[test]
fn profile() {
    let value = output(&["demo", "--quick", "--json", "--profile", "fill", "-d", "cpu", "-d", "emu://gfx1010"], 0);
    let devices = value["profile"].as_array().expect("a list");
    assert_eq!(devices.iter().map(|device| &device["device"]).collect::<Vec<_>>(), ["cpu", "emu://gfx1010"]);
    for device in devices {
        let number = |value: &Value, key: &str| value[key].as_u64().expect("a number");
        let records = device["records"].as_array().expect("a list");
        let of_kernel = |record: &&Value| record["operation"] == "dispatch" && record["name"] == "fill";
        let runs: Vec<_> = records.iter().filter(of_kernel).collect();
        let sum = &device["kernels"].as_array().expect("a list").iter().find(|sum| of_kernel(sum)).expect("it ran");
        assert_eq!(number(sum, "count"), runs.len() as u64, "{device}");
        let total: u64 = runs.iter().map(|run| number(run, "end_ns") - number(run, "start_ns")).sum();
        assert_eq!(number(sum, "total_ns"), total);
        assert!(
            number(device, "busy_ns") <= number(device, "span_ns") && total <= number(device, "busy_ns"),
            "{device}"
        );
    }
    assert_shape("profile", &[value["profile"].clone()]);
}

#[test]
fn objects_for_a_chip() {
    let fixture = |name: &str| format!("{}/../amd/codeobj/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let value = output(&["objects", "--for", "GFX1013", "--json", &fixture("fat.so"), "/nowhere"], 1);
    let problem = json!({ "problems": [{ "hint": "" }] });
    assert_renamed(std::slice::from_ref(&value));
    assert_renamed(&[output(&["objects", "--json", &fixture("fat.so")], 0)]);
    assert_shape("objects_for", &[value, problem]);
}

#[test]
fn verified_routes() {
    let right = output(&["verify-route", "--in-children", "--json", "null"], 1);
    let missing_device = output(&["verify-route", "--in-children", "--json", "cpu:7"], 1);
    assert_shape("verify", &[right, missing_device]);
}

#[test]
fn errors_replace_results() {
    for (arguments, code, message, hint) in [
        (&["demo", "--json", "--device", "cpu:7"][..], 3, "there is no device 7", "devices are: cpu"),
        (&["demo", "--json", "--device", "cpu:0,"], 2, "ends with a comma", "devices are: cpu"),
        (&["demo", "--json", "--device", "toaster"], 3, "there is no driver `toaster`", "drivers are: amdgpu, "),
        (&["demo", "--json", "-d", "cpu:7", "-d", "cpu?threads=0"], 2, "`threads` is `0`", "set `threads`"),
        (&["demo", "nonsense", "--json"], 2, "`nonsense`", "matmul_f32"),
        (&["objects", "--library", "--extract", "/dev/null/x", "--json"], 2, "cannot write", "choose a folder"),
        (
            &["emu", "run", "/dev/null", "--gpu", "gfx1", "--kernel", "k", "--grid", "1", "--block", "1", "--json"],
            3,
            "gfx1",
            "gfx1010",
        ),
        (&["devices", "--json", "--nonsense"], 2, "unexpected argument '--nonsense'", "--help"),
        (&["--json"], 2, "unexpected argument '--json'", "--help"),
    ] {
        let value = output(arguments, code);
        assert_eq!((&value["schema"], &value["version"]), (&json!("roci.error"), &json!(1)), "{arguments:?}");
        let error = &value["error"];
        assert_eq!(error["code"], code, "{arguments:?}");
        let says = |key: &str, part: &str| error[key].as_str().is_some_and(|text| text.contains(part));
        assert!(says("message", message) && says("hint", hint), "{arguments:?}: {error}");
        assert_shape("error", &[value]);
    }
}

#[test]
fn json_errors_are_printed_only_on_request_and_not_after_results() {
    let output = roci(&["demo", "--device", "cpu:7"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    // One device of two fails: its error is in the results, and on standard error.
    let output = roci(&["demo", "--quick", "fill", "--json", "-d", "cpu", "-d", "cpu:7"]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: device `cpu://7`"));
    let value: Value = serde_json::from_slice(&output.stdout).expect("one value");
    assert_eq!((&value["schema"], value["results"].as_array().map(Vec::len)), (&json!("roci.demo"), Some(1)));
}

#[test]
fn shapes_differ_if_keys_or_types_differ() {
    let base = json!({"a": [{"b": 1, "c": null}, {"b": 2, "c": "text"}], "d": true});
    let lines = [" object", ".a array", ".a[] object", ".a[].b number", ".a[].c null|string", ".d boolean"];
    assert_eq!(shape(&[base]), lines.map(|line| format!("{line}\n")).concat());
    assert_ne!(shape(&[json!({"a": 1})]), shape(&[json!({"a": "1"})]));
    assert_ne!(shape(&[json!({"a": 1})]), shape(&[json!({"A": 1})]));
    assert_ne!(shape(&[json!({"a": 1})]), shape(&[json!({"a": 1, "b": null})]));
}

/// A renamed key: path of its object, current key, key of the version before.
type RenamedKey = (&'static str, &'static str, &'static str);

/// Renamed keys of each schema, which are written under both names for one release.
const RENAMED: [(&str, &[RenamedKey]); 10] = [
    ("roci.answer", &[("", "completion_tokens", "tokens")]),
    ("roci.demo", &[("results[].wrong", "total", "of")]),
    ("roci.inspect", &[("graph[].runs.cpu", "location", "where")]),
    ("roci.matrix", &[("results[]", "error_ratio", "excess")]),
    ("roci.objects", &[("files[].objects[]", "location", "place")]),
    (
        "roci.objects.for",
        &[
            ("libraries[]", "components", "parts"),
            ("libraries[].components[]", "compatibility", "fit"),
            ("libraries[].components[].targets[]", "compatibility", "fit"),
        ],
    ),
    ("roci.train-demo", &[("results[]", "loss_distance", "apart")]),
    (
        "roci.doctor",
        &[
            ("", "failed_probes", "unanswered"),
            ("failed_probes[]", "requested", "was_wanted"),
            ("gpus[].names", "product_name", "sold_as"),
            ("gpus[].routes[]", "kind", "way"),
            ("findings[]", "certainty", "sureness"),
            ("findings[].evidence[]", "location", "place"),
        ],
    ),
    (
        "roci.doctor.log",
        &[
            ("", "programs", "kinds"),
            ("", "vendor", "whose"),
            ("facts[]", "location", "place"),
            ("causes[]", "certainty", "sureness"),
            ("causes[]", "persistence", "lasts"),
            ("causes[]", "outdated_advice", "expired"),
            ("excluded[]", "evidence", "because"),
        ],
    ),
    ("roci.doctor.rules", &[("rules[]", "persistence", "lasts"), ("rules[]", "outdated_advice", "expired")]),
];

/// The objects at a path such as `results[].wrong`. An object that is missing or null has none.
fn objects_at<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let members = found.iter().filter_map(|value| value.get(segment.trim_end_matches("[]")));
        found = match segment.ends_with("[]") {
            true => members.filter_map(Value::as_array).flatten().collect(),
            false => members.filter(|value| value.is_object()).collect(),
        };
    }
    found
}

/// Checks that these outputs of one schema have its renamed keys, under both names.
#[track_caller]
fn assert_renamed(outputs: &[Value]) {
    let schema = &outputs[0]["schema"];
    let (_, keys) = RENAMED.iter().find(|(name, _)| schema == name).expect("it has renamed keys");
    for (path, current, old) in *keys {
        let objects: Vec<_> = outputs.iter().flat_map(|value| objects_at(value, path)).collect();
        assert!(!objects.is_empty(), "{schema}: nothing at `{path}`");
        let mut is_present = false;
        for object in objects {
            assert_eq!(object.get(current), object.get(old), "{schema}: `{current}` and `{old}` in {object}");
            is_present |= object.get(current).is_some();
        }
        assert!(is_present, "{schema}: no `{current}` at `{path}`");
    }
    assert!(outputs.iter().all(|value| value["version"] == 2), "{schema} with renamed keys has version 2");
}

#[test]
fn renamed_keys_of_the_doctor() {
    let folder = tempfile::tempdir().expect("there is room");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("there is room");
        path.display().to_string()
    };
    let gpu = json!({ "pci": "0000:03:00.0", "pci_id": "1002:7340", "target": "gfx1012", "driver": "amdgpu" });
    let snapshot = json!({
        "schema": "roci.snapshot", "version": 1, "gpus": [gpu], "probes": { "hsa": { "error": "gone" } },
        "env": { "HSA_OVERRIDE_GFX_VERSION": "10.3.0" },
    });
    let machine = output(&["doctor", "--json", "--snapshot", &write("machine.json", &snapshot.to_string())], 1);
    assert_renamed(&[machine]);
    let fault = "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. Reason: Page not present or \
                 supervisor privilege.";
    let excluded = format!("  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n{fault}\n");
    let cause = "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : \
                 gfx1010\n";
    let log = |name: &str, text: &str| output(&["doctor", "--json", "--log", &write(name, text)], 1);
    assert_renamed(&[log("excluded.txt", &excluded), log("cause.txt", cause)]);
    assert_renamed(&[output(&["doctor", "rules", "--json"], 0)]);
}
