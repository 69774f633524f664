//! Runs ONNX's backend tests: finds the cases, compares outputs, and prints a table of the results.
//!
//! Shared by the examples `backend_host` of `roci-onnx` and `backend` of `roci-runtime`, which runs
//! on devices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roci_graph::{Data, Graph, Tensor, Value, ValueId};
use roci_onnx::{Model, value_from_file};
use roci_tolerance::Tolerance;

/// The result of a case.
pub(crate) enum Outcome {
    /// The outputs match. The text is an optional note, such as where the case ran.
    Passed(Option<String>),
    /// An operation is not supported.
    Unsupported(String),
    /// The outputs differ, or the run failed.
    Wrong(String),
}

/// Command line arguments.
pub(crate) struct Arguments {
    folder: PathBuf,
    op: Option<String>,
    only: Option<String>,
    results: Option<String>,
    table: bool,
    /// The device's URI.
    pub(crate) device: String,
}

impl Arguments {
    /// Parses the process's arguments; `None` if the folder is missing.
    pub(crate) fn new() -> Option<Self> {
        let mut arguments = std::env::args().skip(1);
        let (mut folder, mut op, mut only, mut results) = (None, None, None, None);
        let (mut table, mut device) = (false, "cpu".to_owned());
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--device" => device = arguments.next().unwrap_or_default(),
                "--op" => op = arguments.next(),
                "--only" => only = arguments.next(),
                "--results" => results = arguments.next(),
                "--table" => table = true,
                _ => folder = Some(PathBuf::from(argument)),
            }
        }
        Some(Self { folder: folder?, op, only, results, table, device })
    }

    /// Runs all selected cases and prints the results.
    pub(crate) fn run(&self, mut run: impl FnMut(&Path) -> Outcome) -> ExitCode {
        let known: Option<BTreeMap<String, String>> = self.results.as_ref().map(|path| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        });
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for name in cases(&self.folder) {
            let counts = known.as_ref().is_none_or(|known| known.get(&name).is_some_and(|result| result == "pass"));
            if !counts || self.only.as_ref().is_some_and(|text| !name.contains(text.as_str())) {
                continue;
            }
            let path = self.folder.join(&name);
            let label = operation(&path);
            if self.op.as_ref().is_some_and(|op| *op != label) {
                continue;
            }
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&path)));
            let outcome = outcome.unwrap_or_else(|_| Outcome::Wrong("panicked".to_owned()));
            if !self.table {
                match &outcome {
                    Outcome::Passed(None) => {}
                    Outcome::Passed(Some(note)) => println!("{name}: passed, {note}"),
                    Outcome::Unsupported(reason) => println!("{name}: unsupported: {reason}"),
                    Outcome::Wrong(reason) => println!("{name}: WRONG: {reason}"),
                }
            }
            rows.entry(label).or_default().add(outcome);
        }
        let mut all = Row::default();
        if self.table {
            println!("| Operation | Passed | With a note | Unsupported | Wrong | Why |");
            println!("| --- | ---: | ---: | ---: | ---: | --- |");
        }
        for (label, row) in &rows {
            if self.table {
                println!("| {label} | {} |", row.cells());
            }
            all.join(row);
        }
        if self.table {
            println!("| all | {} |", Row { why: None, ..all.clone() }.cells());
        }
        for (note, count) in &all.notes {
            println!("{count} passed {note}");
        }
        let of = all.passed + all.unsupported + all.wrong;
        println!("{} of {of} passed, {} unsupported, {} wrong", all.passed, all.unsupported, all.wrong);
        if all.passed == of { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The results of an operation's cases.
#[derive(Clone, Default)]
struct Row {
    passed: usize,
    unsupported: usize,
    wrong: usize,
    /// The number of passed cases with a note.
    notes: BTreeMap<String, usize>,
    /// Why the first case failed.
    why: Option<String>,
}

impl Row {
    fn add(&mut self, outcome: Outcome) {
        let why = match outcome {
            Outcome::Passed(note) => {
                self.passed += 1;
                if let Some(note) = note {
                    *self.notes.entry(note).or_default() += 1;
                }
                return;
            }
            Outcome::Unsupported(reason) => {
                self.unsupported += 1;
                reason
            }
            Outcome::Wrong(reason) => {
                self.wrong += 1;
                reason
            }
        };
        self.why.get_or_insert(why);
    }

    fn join(&mut self, other: &Self) {
        self.passed += other.passed;
        self.unsupported += other.unsupported;
        self.wrong += other.wrong;
        for (note, count) in &other.notes {
            *self.notes.entry(note.clone()).or_default() += count;
        }
    }

    fn cells(&self) -> String {
        let noted: usize = self.notes.values().sum();
        let why = self.why.as_deref().unwrap_or_default().replace('|', "/");
        format!("{} | {noted} | {} | {} | {why}", self.passed, self.unsupported, self.wrong)
    }
}

/// All cases below the folder, as `node/test_abs`.
fn cases(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for kind in ["node", "pytorch-converted", "pytorch-operator", "simple"] {
        let entries = std::fs::read_dir(folder.join(kind)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| format!("{kind}/{}", entry.file_name().to_string_lossy())));
    }
    found.sort();
    found
}

/// The operation that a case tests: the model's first node that is not a constant, or else its
/// first node. `test_celu_expanded` tests the operation of `test_celu`, by its function body.
fn operation(case: &Path) -> String {
    use prost::Message;
    let name = case.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let unexpanded = name.split_once("_expanded").map_or(&*name, |(before, _)| before);
    let bytes = std::fs::read(case.with_file_name(unexpanded).join("model.onnx")).unwrap_or_default();
    let model = roci_onnx::proto::ModelProto::decode(&bytes[..]).unwrap_or_default();
    let nodes = model.graph.map(|graph| graph.node).unwrap_or_default();
    let tested = nodes.iter().find(|node| node.op_type != "Constant").or(nodes.first());
    tested.map(|node| node.op_type.clone()).unwrap_or_default()
}

/// A model with test inputs and expected outputs.
pub(crate) struct Case {
    pub(crate) graph: Graph,
    /// Inputs and outputs.
    pub(crate) sets: Vec<(Vec<Value>, Vec<Value>)>,
}

impl Case {
    /// Reads a case.
    pub(crate) fn open(folder: &Path) -> Result<Self, String> {
        let graph = Model::open(&folder.join("model.onnx")).map_err(|error| error.to_string())?.graph;
        let mut sets = Vec::new();
        for set in 0.. {
            let data = folder.join(format!("test_data_set_{set}"));
            if !data.is_dir() {
                break;
            }
            let read = |kind: &str, ids: &[ValueId]| -> Result<Vec<Value>, String> {
                let one = |(index, id): (usize, &ValueId)| {
                    let declared = graph.values[id.index()].declared.as_ref();
                    let path = data.join(format!("{kind}_{index}.pb"));
                    value_from_file(&path, declared).map_err(|error| error.to_string())
                };
                ids.iter().enumerate().map(one).collect()
            };
            sets.push((read("input", &graph.inputs)?, read("output", &graph.outputs)?));
        }
        if sets.is_empty() { Err("no data".to_owned()) } else { Ok(Self { graph, sets }) }
    }
}

/// Fails if outputs differ from the expected ones.
pub(crate) fn compare(produced: &[Value], expected: &[Value]) -> Result<(), String> {
    if produced.len() != expected.len() {
        return Err(format!("{} outputs, expected {}", produced.len(), expected.len()));
    }
    for (index, (produced, expected)) in produced.iter().zip(expected).enumerate() {
        same(produced, expected).map_err(|reason| format!("output {index}: {reason}"))?;
    }
    Ok(())
}

fn same(produced: &Value, expected: &Value) -> Result<(), String> {
    match (produced, expected) {
        (Value::Tensor(produced), Value::Tensor(expected)) => close(produced, expected),
        (Value::Sequence(produced), Value::Sequence(expected)) if produced.len() == expected.len() => {
            produced.iter().zip(expected).try_for_each(|(produced, expected)| same(produced, expected))
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(()),
        (Value::Optional(Some(produced)), Value::Optional(Some(expected))) => same(produced, expected),
        _ => Err(format!("{}, expected {} of the same length", produced.kind(), expected.kind())),
    }
}

fn close(produced: &Tensor, expected: &Tensor) -> Result<(), String> {
    if (produced.dtype(), produced.shape()) != (expected.dtype(), expected.shape()) {
        let (dtype, shape) = (produced.dtype(), produced.shape());
        return Err(format!("{dtype} {shape:?}, expected {} {:?}", expected.dtype(), expected.shape()));
    }
    if !produced.dtype().is_float() {
        return if produced == expected { Ok(()) } else { Err(differ(produced, expected)) };
    }
    let (made_all, expected_all) = (produced.floats().unwrap_or_default(), expected.floats().unwrap_or_default());
    for (index, (produced, expected)) in made_all.iter().zip(&expected_all).enumerate() {
        if Tolerance::OnnxBackend.error_ratio(*produced, *expected) > 1.0 {
            return Err(format!("element {index} is {produced}, expected {expected}"));
        }
    }
    Ok(())
}

fn differ(produced: &Tensor, expected: &Tensor) -> String {
    let show = |tensor: &Tensor| match tensor.data() {
        Data::String(all) => format!("{:?}", &all[..all.len().min(8)]),
        _ => {
            format!("{:?}", tensor.floats().map(|all| all.into_iter().take(8).collect::<Vec<_>>()).unwrap_or_default())
        }
    };
    format!("{}, expected {}", show(produced), show(expected))
}
