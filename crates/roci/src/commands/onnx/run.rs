//! `roci run MODEL.onnx`: runs an ONNX model on a device. [`Session::run`] is the next stop.

use std::time::Instant;

use roci_graph::graph::Dim;
use roci_graph_tools::inputs::{self, InputOptions};
use roci_graph_tools::outputs::{OutputFolder, OutputSummary};
use roci_graph_tools::profile::{self, ProfileRow};
use roci_graph_tools::shape_mismatch;
use roci_hal::CodeFormat;
use roci_onnx::OPSETS;
use roci_probe::units;
use roci_runtime::{Note, Session};
use serde::Serialize;

use super::OnnxError;
use crate::cli::{DriverArgs, Precision, RunArgs};
use crate::commands::auto;
use crate::commands::language::LanguageError;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::input;
use crate::interrupt;
use crate::printer::{Column, Printer};
use crate::registry::registry;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    device: String,
    /// Duration of the first run, which also loads kernels.
    first_seconds: f64,
    /// The best of the later runs; null if there was only one run.
    best_seconds: Option<f64>,
    /// Duration of each later run, in order.
    seconds: Vec<f64>,
    runs: u32,
    /// Device memory of weights and tables.
    constant_bytes: u64,
    /// Device memory of intermediate tensors.
    arena_bytes: u64,
    notes: Vec<String>,
    outputs: Vec<OutputSummary>,
    /// Time by operation, from one additional run; null without `--profile`.
    profile: Option<Vec<ProfileRow>>,
}

/// Runs a model and prints its outputs.
pub(crate) fn run(arguments: &RunArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    // A path that is not a file is reported when the model is opened.
    if arguments.model.is_file() {
        reject_language_options(arguments)?;
    }
    let sources = inputs::sources(&arguments.inputs).map_err(OnnxError::from)?;
    let model = super::open(&arguments.model, &sources.keys().map(String::as_str).collect::<Vec<_>>())?;
    untested_opset(model.opset).iter().for_each(|note| printer.note(note));
    // An unusable output folder is reported before a long run, not after it.
    if let Some(folder) = &arguments.output {
        let failed = |source| OnnxError::Output { path: folder.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let options = InputOptions { dims: &arguments.dims, image: &arguments.image.decoder(), read: &input::read };
    let inputs = inputs::gather(&model.graph, &sources, &options).map_err(OnnxError::from)?;
    let registry = registry(drivers);
    let uri = registry.parse(&auto::requested_uris(&arguments.devices, printer)[0])?;
    let device = registry.open(&auto::resolve(&registry, uri, printer)?, arguments.timeout)?;
    let name = device.info().uri.to_string();
    let precision = match arguments.precision {
        Precision::F32 => roci_runtime::Precision::F32,
        Precision::F16 => roci_runtime::Precision::F16,
    };
    if arguments.precision == Precision::F16 && device.info().formats.first() == Some(&CodeFormat::Native) {
        printer.note("`--precision` has no effect on the CPU, which computes in f32");
    }
    let declared: Vec<_> =
        model.graph.outputs.iter().map(|id| model.graph.values[id.index()].declared.clone()).collect();
    let mut session = Session::new(model.graph, device).with_precision(precision);
    interrupt::listen();
    let started = Instant::now();
    // No results exist yet, so a signal ends the process at once: planning, or a loop in the model,
    // may take any time.
    let mut values = interrupt::exit_on_signal_during(|| session.run(&inputs)).map_err(OnnxError::from)?;
    let first_seconds = started.elapsed().as_secs_f64();
    let bar = printer.progress(arguments.repeat as usize - 1);
    let mut seconds = Vec::new();
    for _ in 1..arguments.repeat {
        if interrupt::requested() {
            break;
        }
        let started = Instant::now();
        values = session.run(&inputs).map_err(OnnxError::from)?;
        seconds.push(started.elapsed().as_secs_f64());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut profile = None;
    if let Some(path) = arguments.profile.as_ref().filter(|_| !interrupt::requested()) {
        let (_, timings) = session.run_timed(&inputs).map_err(OnnxError::from)?;
        let failed = |source| OnnxError::Output { path: path.clone(), source };
        let trace = profile::trace_json(&timings).map_err(|error| failed(error.into()))?;
        std::fs::write(path, trace).map_err(failed)?;
        profile = Some(profile::rows(&timings));
    }
    let memory = session.memory();
    let graph = session.graph();
    let mut folder = arguments.output.as_deref().map(OutputFolder::new);
    let mut outputs = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let name = graph.output_name(index);
        let mut output = OutputSummary::new(name, value);
        if let Some(folder) = &mut folder {
            let failed = |(path, source)| OnnxError::Output { path, source };
            output.file = folder.write(name, value).map_err(failed)?;
        }
        outputs.push(output);
    }
    let mut notes: Vec<String> = session.notes().iter().map(format_note).collect();
    for (output, declared) in outputs.iter().zip(&declared) {
        let shape: Vec<Dim> = output.shape.iter().map(|size| Dim::Known(*size)).collect();
        notes.extend(shape_mismatch(&output.name, declared.as_ref(), &shape));
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
            print_profile(rows, printer)?;
            printer.note(&format!("{}: open it at https://ui.perfetto.dev", path.display()));
        }
    }
    Ok(if interrupt::requested() { ExitStatus::Interrupted } else { ExitStatus::Success })
}

/// A note if an operation may have another meaning in this operator set version than the one
/// implemented.
fn untested_opset(opset: i64) -> Option<String> {
    let (oldest, newest) = (OPSETS.start(), OPSETS.end());
    let text = format!(
        "the model is of opset {opset}, and {oldest} to {newest} were tested: operations may have another meaning"
    );
    (!OPSETS.contains(&opset)).then_some(text)
}

/// Rejects options for language models instead of ignoring them.
fn reject_language_options(arguments: &RunArgs) -> Result<(), LanguageError> {
    let given = [
        ("--prompt", arguments.text.prompt.is_some()),
        ("--image", !arguments.text.images.is_empty()),
        ("--mmproj", arguments.language.mmproj.is_some()),
        ("--system", arguments.language.system.is_some()),
        ("--context", arguments.language.context.is_some()),
        ("--cache-type", arguments.language.cache_type.is_some()),
        ("--exact", arguments.language.exact),
        ("--speculate", arguments.language.speculation.speculate.is_some()),
        ("--draft", arguments.language.speculation.draft.is_some()),
        ("--draft-tokens", arguments.language.speculation.draft_tokens.is_some()),
        ("--lora", arguments.language.adapters.files().next().is_some()),
        ("--cpu-moe", arguments.language.experts.cpu_moe),
        ("--n-cpu-moe", arguments.language.experts.n_cpu_moe.is_some()),
        ("--max-tokens", arguments.language.max_tokens.is_some()),
        ("--grammar", arguments.language.grammar.is_some()),
        ("--json-schema", arguments.language.json_schema.is_some()),
        ("--device (more than one)", arguments.devices.len() > 1),
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
    printer.note(&format!("memory on the device: {constants} of weights and tables, {arena} of intermediate tensors"));
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
    let row = |row: &OutputSummary| {
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

/// A note of the runtime as text.
pub(crate) fn format_note(note: &Note) -> String {
    match note {
        Note::NarrowedF64(name) => format!("`{name}` is f64 and is computed in f32"),
        Note::Reference { node, op, reason } => {
            format!("`{node}` ({op}) has no kernel and is evaluated by its definition: {reason}")
        }
        Note::HostIntegers { node, op, reason } => {
            format!("`{node}` ({op}) runs on the host, since 32 bits may not hold its results: {reason}")
        }
        other => format!("{other:?}"),
    }
}

/// Prints the time by operation and kernel.
fn print_profile(rows: &[ProfileRow], printer: &Printer) -> Result<(), CliError> {
    let columns = [
        Column::Text("OPERATION"),
        Column::Text("KERNEL"),
        Column::Number("COUNT"),
        Column::Number("TIME"),
        Column::Number("SHARE"),
    ];
    let row = |row: &ProfileRow| {
        let share = format!("{:.1} %", row.share * 100.0);
        vec![row.operation.clone(), row.kernel.clone(), row.count.to_string(), units::seconds(row.seconds), share]
    };
    Ok(printer.table(&columns, rows.iter().map(row).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untested_opsets_are_noted() {
        assert!(OPSETS.clone().all(|opset| untested_opset(opset).is_none()));
        for opset in [1, 5, 27, 99] {
            let note = untested_opset(opset).expect("a note");
            assert!(note.contains(&format!("of opset {opset}, and 6 to 26 were tested")), "{note}");
        }
    }
}
