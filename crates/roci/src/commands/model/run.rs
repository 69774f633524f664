//! `roci run`: a model on a device.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use roci_graph::graph::Dim;
use roci_graph::{Tensor, Value};
use roci_hal::CodeFormat;
use roci_onnx::OPSETS;
use roci_runtime::{Note, Session};
use serde::Serialize;

use super::{ModelError, inputs, trace};
use crate::cli::{DriverArgs, Precision, RunArgs};
use crate::commands::auto;
use crate::commands::language::LanguageError;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{Column, Printer};
use crate::registry::registry;
use crate::units;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    device: String,
    /// Of the first run, in which kernels are made ready.
    first_seconds: f64,
    /// The best of the others; null where there was one alone.
    best_seconds: Option<f64>,
    /// Of each of the others, in order.
    seconds: Vec<f64>,
    runs: u32,
    /// Bytes on the device: weights and tables.
    constant_bytes: u64,
    /// Bytes on the device: everything in between.
    arena_bytes: u64,
    notes: Vec<String>,
    outputs: Vec<OutputRow>,
    /// Time by operation, of one more run; null without `--profile`.
    profile: Option<Vec<trace::Row>>,
}

#[derive(Serialize)]
struct OutputRow {
    name: String,
    r#type: String,
    shape: Vec<usize>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    mean: Option<f64>,
    /// The file that it was written to.
    file: Option<String>,
}

/// Runs a model and tells what came out.
pub(crate) fn run(arguments: &RunArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    // Of what is no file the next lines tell.
    if arguments.model.is_file() {
        refuse_others(arguments)?;
    }
    let named = inputs::named(arguments)?;
    let model = super::open(&arguments.model, &named.keys().map(String::as_str).collect::<Vec<_>>())?;
    unproven(model.opset).iter().for_each(|note| printer.note(note));
    // What would be lost behind a long run is told before it.
    if let Some(folder) = &arguments.output {
        let failed = |source| ModelError::Output { path: folder.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let given = inputs::gather(&model.graph, &named, arguments)?;
    let registry = registry(drivers);
    let uri = registry.parse(&auto::named(&arguments.devices, printer)[0])?;
    let device = registry.open(&auto::resolve(&registry, uri, printer)?, arguments.timeout)?;
    let name = device.info().uri.to_string();
    let precision = match arguments.precision {
        Precision::F32 => roci_runtime::Precision::F32,
        Precision::F16 => roci_runtime::Precision::F16,
    };
    if arguments.precision == Precision::F16 && device.info().formats.first() == Some(&CodeFormat::Native) {
        printer.note("the CPU computes in f32, whatever --precision says");
    }
    let declared: Vec<_> =
        model.graph.outputs.iter().map(|id| model.graph.values[id.index()].declared.clone()).collect();
    let mut session = Session::new(model.graph, device).with_precision(precision);
    interrupt::listen();
    let started = Instant::now();
    // Until there is something to show, a signal ends the process at once: planning, or a loop, may take any time.
    let mut values = interrupt::at_once(|| session.run(&given)).map_err(ModelError::from)?;
    let first_seconds = started.elapsed().as_secs_f64();
    let bar = printer.progress(arguments.repeat as usize - 1);
    let mut seconds = Vec::new();
    for _ in 1..arguments.repeat {
        if interrupt::asked() {
            break;
        }
        let started = Instant::now();
        values = session.run(&given).map_err(ModelError::from)?;
        seconds.push(started.elapsed().as_secs_f64());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut profile = None;
    if let Some(path) = arguments.profile.as_ref().filter(|_| !interrupt::asked()) {
        let (_, timings) = session.run_timed(&given).map_err(ModelError::from)?;
        trace::write(&timings, path)?;
        profile = Some(trace::rows(&timings));
    }
    let memory = session.memory();
    let graph = session.graph();
    let mut files = arguments.output.as_deref().map(Files::new);
    let mut outputs = Vec::new();
    for (index, value) in values.iter().enumerate() {
        outputs.push(row(graph.output_name(index), value, files.as_mut())?);
    }
    let mut notes: Vec<String> = session.notes().iter().map(note).collect();
    for (output, declared) in outputs.iter().zip(&declared) {
        let shape: Vec<Dim> = output.shape.iter().map(|size| Dim::Known(*size)).collect();
        notes.extend(super::stray(&output.name, declared.as_ref(), &shape));
    }
    let report = Report {
        schema: "roci.run",
        version: 1,
        device: name,
        first_seconds,
        best_seconds: seconds.iter().copied().reduce(f64::min),
        runs: 1 + seconds.len() as u32,
        seconds,
        constant_bytes: memory.constants,
        arena_bytes: memory.arena,
        notes,
        outputs,
        profile,
    };
    if arguments.format.json {
        printer.json(&report)?;
    } else {
        print(&report, printer)?;
        if let (Some(rows), Some(path)) = (&report.profile, &arguments.profile) {
            trace::print(rows, printer)?;
            printer.note(&format!("{}: open it at https://ui.perfetto.dev", path.display()));
        }
    }
    Ok(if interrupt::asked() { ExitStatus::Interrupted } else { ExitStatus::Success })
}

/// A note where an operation may mean something else than what is computed.
fn unproven(opset: i64) -> Option<String> {
    let (oldest, newest) = (OPSETS.start(), OPSETS.end());
    let text = format!(
        "the model is of opset {opset}, and {oldest} to {newest} were tested: what others mean by an operation is not proven"
    );
    (!OPSETS.contains(&opset)).then_some(text)
}

/// Options for language models would be passed over in silence.
fn refuse_others(arguments: &RunArgs) -> Result<(), LanguageError> {
    let given = [
        ("--prompt", arguments.text.prompt.is_some()),
        ("--system", arguments.language.system.is_some()),
        ("--context", arguments.language.context.is_some()),
        ("--cache", arguments.language.cache.is_some()),
        ("--exact", arguments.language.exact),
        ("--most", arguments.language.most.is_some()),
        ("--grammar", arguments.language.grammar.is_some()),
        ("a schema", arguments.language.schema.is_some()),
        ("a second --device", arguments.devices.len() > 1),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(LanguageError::Option { option, kind: "ONNX models" }),
        None => Ok(()),
    }
}

fn print(report: &Report, printer: &Printer) -> Result<(), CliError> {
    let best = report
        .best_seconds
        .map_or_else(String::new, |best| format!(", best of {} more {}", report.runs - 1, units::seconds(best)));
    printer.note(&format!("{}: first run {}{best}", report.device, units::seconds(report.first_seconds)));
    let (constants, arena) = (units::bytes(report.constant_bytes), units::bytes(report.arena_bytes));
    printer.note(&format!("memory on the device: {constants} of weights and tables, {arena} in between"));
    report.notes.iter().for_each(|note| printer.note(note));
    let columns = [
        Column::Text("OUTPUT"),
        Column::Text("TYPE"),
        Column::Text("SHAPE"),
        Column::Number("MIN"),
        Column::Number("MAX"),
        Column::Number("MEAN"),
        Column::Text("FILE"),
    ];
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.6}"));
    let row = |row: &OutputRow| {
        let file = row.file.clone().unwrap_or_else(|| "-".to_owned());
        let shape = format!("{:?}", row.shape);
        vec![
            row.name.clone(),
            row.r#type.clone(),
            shape,
            number(row.minimum),
            number(row.maximum),
            number(row.mean),
            file,
        ]
    };
    Ok(printer.table(&columns, report.outputs.iter().map(row).collect())?)
}

/// A note for people.
pub(crate) fn note(note: &Note) -> String {
    match note {
        Note::Narrowed(name) => format!("`{name}` is f64 and is computed in f32"),
        Note::Reference { node, op, reason } => {
            format!("`{node}` ({op}) has no kernel and is evaluated by its definition: {reason}")
        }
        Note::Integers { node, op, reason } => {
            format!("`{node}` ({op}) runs on the host, since 32 bits may not hold its results: {reason}")
        }
        other => format!("{other:?}"),
    }
}

/// What came out, written where that is asked for.
fn row(name: &str, value: &Value, files: Option<&mut Files<'_>>) -> Result<OutputRow, CliError> {
    let Value::Tensor(tensor) = value else {
        let kind = value.kind().to_owned();
        let shape = Vec::new();
        return Ok(OutputRow {
            name: name.into(),
            r#type: kind,
            shape,
            minimum: None,
            maximum: None,
            mean: None,
            file: None,
        });
    };
    let file = match files {
        Some(files) => files.write(name, tensor)?,
        None => None,
    };
    let numbers = tensor.floats().unwrap_or_default();
    let finite = || numbers.iter().copied().filter(|number| !number.is_nan());
    let some = |number: f64| if numbers.is_empty() { None } else { Some(number) };
    Ok(OutputRow {
        name: name.into(),
        r#type: tensor.dtype().to_string(),
        shape: tensor.shape().to_vec(),
        minimum: finite().reduce(f64::min),
        maximum: finite().reduce(f64::max),
        mean: some(numbers.iter().sum::<f64>() / numbers.len().max(1) as f64),
        file,
    })
}

/// The folder that outputs are written to, and the names that are taken there.
struct Files<'a> {
    folder: &'a Path,
    taken: HashSet<String>,
}

impl<'a> Files<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, taken: HashSet::new() }
    }

    /// Writes an output; the file's name, without what a path could be made of.
    fn write(&mut self, name: &str, tensor: &Tensor) -> Result<Option<String>, CliError> {
        let Some(array) = inputs::array(tensor) else { return Ok(None) };
        let path = self.folder.join(self.name(name));
        let failed = |source| CliError::from(ModelError::Output { path: path.clone(), source });
        std::fs::write(&path, array.write()).map_err(failed)?;
        Ok(Some(path.display().to_string()))
    }

    /// A file's name that no other output has: some systems tell `Y` from `y` in names of files and some do not.
    fn name(&mut self, name: &str) -> String {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        // No system takes names of more than 255 bytes.
        let plain: String = name.chars().map(plain).take(60).collect();
        let plain = plain.trim_start_matches('.');
        let mut free = plain.to_owned();
        let mut count = 1;
        while !self.taken.insert(free.to_lowercase()) {
            count += 1;
            free = format!("{plain}-{count}");
        }
        format!("{free}.npy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opsets_that_were_not_tested_are_told() {
        assert!(OPSETS.clone().all(|opset| unproven(opset).is_none()));
        for opset in [1, 5, 27, 99] {
            let note = unproven(opset).expect("a note");
            assert!(note.contains(&format!("of opset {opset}, and 6 to 26 were tested")), "{note}");
        }
    }

    #[test]
    fn outputs_never_share_a_file() {
        let mut files = Files::new(Path::new("."));
        let names = ["a/b", "a_b", "A_b", "a:b", "..", ""].map(|name| files.name(name));
        assert_eq!(names, ["a_b.npy", "a_b-2.npy", "A_b-3.npy", "a_b-4.npy", ".npy", "-2.npy"]);
    }
}
