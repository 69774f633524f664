//! ONNX's backend tests on a device: `cargo run --release -p roci-runtime --example backend -- DIR --device URI [--op NAME] [--case TEXT] [--table] [--results FILE]`.
//!
//! DIR is `onnx/backend/test/data` of the `onnx` package. Without `--results` every case counts; with it, only those that
//! the file (case to `pass`) says another implementation passes. `--table` prints a table by operation in Markdown.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roci_graph::{Data, Tensor, Value};
use roci_cpu::CpuDriver;
use roci_hal::{Device, Registry};
use roci_onnx::{Model, value_from_file};
use roci_runtime::{Note, Session};
use roci_vulkan::VulkanDriver;

/// What `onnx` itself uses where a case says nothing else.
const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-7;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut folder, mut op, mut case, mut table, mut results) = (None, None, None, false, None);
    let mut uri = "cpu".to_owned();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => uri = arguments.next().unwrap_or_default(),
            "--op" => op = arguments.next(),
            "--case" => case = arguments.next(),
            "--results" => results = arguments.next(),
            "--table" => table = true,
            _ => folder = Some(PathBuf::from(argument)),
        }
    }
    let Some(folder) = folder else {
        println!("usage: backend DIR [--op NAME] [--case TEXT] [--table] [--results FILE]");
        return ExitCode::from(2);
    };
    let known: Option<BTreeMap<String, String>> = results.map(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    });
    let registry = Registry::new().with(CpuDriver::new()).with(VulkanDriver::new());
    let device = uri.parse().map_err(roci_hal::Error::from).and_then(|uri| registry.open(&uri, None));
    let device = match device {
        Ok(device) => device,
        Err(error) => {
            println!("{error}");
            return ExitCode::from(3);
        }
    };
    let mut references: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let (mut passed, mut all) = (0, 0);
    for name in cases(&folder) {
        let counts = known.as_ref().is_none_or(|known| known.get(&name).is_some_and(|result| result == "pass"));
        if !counts || case.as_ref().is_some_and(|text| !name.contains(text.as_str())) {
            continue;
        }
        let label = operation(&folder.join(&name));
        if op.as_ref().is_some_and(|wanted| *wanted != label) {
            continue;
        }
        all += 1;
        let answer =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&folder.join(&name), &device))).unwrap_or_else(|_| Err("panicked".to_owned()));
        let row = rows.entry(label).or_default();
        row[1] += 1;
        match answer {
            Ok(notes) => {
                for op in notes {
                    *references.entry(op).or_default() += 1;
                }
                passed += 1;
                row[0] += 1;
            }
            Err(reason) if !table => println!("{name}: {reason}"),
            Err(_) => {}
        }
    }
    if table {
        println!("| Operation | Passed | Of |\n| --- | ---: | ---: |");
        for (label, [passed, all]) in &rows {
            println!("| {label} | {passed} | {all} |");
        }
    }
    println!("evaluated by their definition: {references:?}");
    println!("{passed} of {all} passed");
    if passed == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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

/// The operation that a case is about: the name of the test up to what it varies, by the model's first node.
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

fn run(case: &Path, device: &Device) -> Result<Vec<String>, String> {
    let model = Model::open(&case.join("model.onnx")).map_err(|error| error.to_string())?;
    let mut session = Session::new(model.graph.clone(), device.clone());
    let graph = &model.graph;
    let mut notes = Vec::new();
    for set in 0.. {
        let data = case.join(format!("test_data_set_{set}"));
        if !data.is_dir() {
            return if set == 0 { Err("no data".to_owned()) } else { Ok(notes) };
        }
        let read = |kind: &str, ids: &[roci_graph::ValueId]| -> Result<Vec<Value>, String> {
            let one = |(index, id): (usize, &roci_graph::ValueId)| {
                let declared = graph.values[id.index()].declared.as_ref();
                value_from_file(&data.join(format!("{kind}_{index}.pb")), declared).map_err(|error| error.to_string())
            };
            ids.iter().enumerate().map(one).collect()
        };
        let (inputs, expected) = (read("input", &graph.inputs)?, read("output", &graph.outputs)?);
        // Twice: the second run replays what the first recorded.
        session.run(&inputs).map_err(|error| error.to_string())?;
        let made = session.run(&inputs).map_err(|error| error.to_string())?;
        notes.extend(session.notes().iter().filter_map(|note| match note {
            Note::Reference { op, .. } => Some((*op).to_owned()),
            _ => None,
        }));
        for (index, (made, expected)) in made.iter().zip(&expected).enumerate() {
            same(made, expected).map_err(|reason| format!("output {index}: {reason}"))?;
        }
    }
    Ok(notes)
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
