//! The backend tests of the ONNX project, whoever runs them: which cases there are, what they expect, and a table of
//! how they went.
//!
//! Shared by the examples `backend_host` of `roci-onnx` and `backend` of `roci-runtime`, which is for devices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roci_graph::{Data, Graph, Tensor, Value, ValueId};
use roci_onnx::{Model, value_from_file};

/// What `onnx` itself uses where a case says nothing else.
const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-7;

/// How a case went.
#[allow(dead_code, reason = "on the host nothing is unsupported")]
pub(crate) enum Outcome {
    /// As it should; the text says what else there is to know, such as where it ran.
    Passed(Option<String>),
    /// Not at all: an operation that is not there.
    Unsupported(String),
    /// Wrong.
    Wrong(String),
}

/// What the command line asks for.
#[allow(dead_code, reason = "the host needs no device")]
pub(crate) struct Arguments {
    folder: PathBuf,
    op: Option<String>,
    only: Option<String>,
    results: Option<String>,
    table: bool,
    /// Where to run.
    pub(crate) device: String,
}

impl Arguments {
    /// Those of this process; `None` where there is no folder among them.
    pub(crate) fn new() -> Option<Self> {
        let mut given = std::env::args().skip(1);
        let (mut folder, mut op, mut only, mut results) = (None, None, None, None);
        let (mut table, mut device) = (false, "cpu".to_owned());
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--device" => device = given.next().unwrap_or_default(),
                "--op" => op = given.next(),
                "--only" => only = given.next(),
                "--results" => results = given.next(),
                "--table" => table = true,
                _ => folder = Some(PathBuf::from(argument)),
            }
        }
        Some(Self { folder: folder?, op, only, results, table, device })
    }

    /// Runs all cases that are asked for, and prints how they went.
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
            if self.op.as_ref().is_some_and(|wanted| *wanted != label) {
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

/// How the cases of an operation went.
#[derive(Clone, Default)]
struct Row {
    passed: usize,
    unsupported: usize,
    wrong: usize,
    /// Of those that passed, how many have a note.
    notes: BTreeMap<String, usize>,
    /// Why the first one failed.
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

/// The operation that a case is about: that of the model's first node which is no constant.
fn operation(case: &Path) -> String {
    use prost::Message;
    let bytes = std::fs::read(case.join("model.onnx")).unwrap_or_default();
    let model = roci_onnx::proto::ModelProto::decode(&bytes[..]).unwrap_or_default();
    let nodes = model.graph.map(|graph| graph.node).unwrap_or_default();
    let name = case.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if name.contains("_expanded") {
        return "expanded".to_owned();
    }
    nodes.iter().find(|node| node.op_type != "Constant").map(|node| node.op_type.clone()).unwrap_or_default()
}

/// A model, and what it makes of which inputs.
pub(crate) struct Case {
    /// The graph.
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

/// An error where outputs are not what they should be.
pub(crate) fn compare(made: &[Value], expected: &[Value]) -> Result<(), String> {
    if made.len() != expected.len() {
        return Err(format!("{} outputs where {} are expected", made.len(), expected.len()));
    }
    for (index, (made, expected)) in made.iter().zip(expected).enumerate() {
        same(made, expected).map_err(|reason| format!("output {index}: {reason}"))?;
    }
    Ok(())
}

fn same(made: &Value, expected: &Value) -> Result<(), String> {
    match (made, expected) {
        (Value::Tensor(made), Value::Tensor(expected)) => close(made, expected),
        (Value::Sequence(made), Value::Sequence(expected)) if made.len() == expected.len() => {
            made.iter().zip(expected).try_for_each(|(made, expected)| same(made, expected))
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(()),
        (Value::Optional(Some(made)), Value::Optional(Some(expected))) => same(made, expected),
        _ => Err(format!("{} where {} is expected, or of another length", made.kind(), expected.kind())),
    }
}

fn close(made: &Tensor, expected: &Tensor) -> Result<(), String> {
    if (made.dtype(), made.shape()) != (expected.dtype(), expected.shape()) {
        let (dtype, shape) = (made.dtype(), made.shape());
        return Err(format!("{dtype} {shape:?} where {} {:?} is expected", expected.dtype(), expected.shape()));
    }
    if !made.dtype().is_float() {
        return if made == expected { Ok(()) } else { Err(differ(made, expected)) };
    }
    let (made_all, expected_all) = (made.floats().unwrap_or_default(), expected.floats().unwrap_or_default());
    for (index, (made, expected)) in made_all.iter().zip(&expected_all).enumerate() {
        let equal = made == expected || (made.is_nan() && expected.is_nan());
        let near = (made - expected).abs() <= ABSOLUTE + RELATIVE * expected.abs();
        if !equal && !near {
            return Err(format!("element {index} is {made} where {expected} is expected"));
        }
    }
    Ok(())
}

fn differ(made: &Tensor, expected: &Tensor) -> String {
    let show = |tensor: &Tensor| match tensor.data() {
        Data::String(all) => format!("{:?}", &all[..all.len().min(8)]),
        _ => {
            format!("{:?}", tensor.floats().map(|all| all.into_iter().take(8).collect::<Vec<_>>()).unwrap_or_default())
        }
    };
    format!("{} where {} is expected", show(made), show(expected))
}
