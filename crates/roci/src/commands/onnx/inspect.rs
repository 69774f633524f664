//! `roci inspect`: shows the content of a model, its requirements, and where its operations are
//! supported.

use std::collections::BTreeMap;

use roci_graph_tools::inputs;
use roci_graph_tools::inspect::{
    DEVICES, DeviceRequirements, InspectReport, NodeLocation, NodeReport, OperationCount, TypedName, printable,
};
use roci_probe::units;

use super::OnnxError;
use crate::cli::InspectArgs;
use crate::commands::language::is_language_model;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, Printer};

/// Graphs with at most this many nodes are listed without `--nodes`.
const MAX_LISTED_NODES: usize = 24;

/// Reads a model and prints its report.
pub(crate) fn run(arguments: &InspectArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    if is_language_model(&arguments.model) {
        return Err(OnnxError::Language { path: arguments.model.clone() }.into());
    }
    let model = super::open(&arguments.model, &[])?;
    let sizes = inputs::sizes(&model.graph, &arguments.dims).map_err(OnnxError::from)?;
    let report = InspectReport::new(&model, &sizes).map_err(OnnxError::from)?;
    if arguments.format.json {
        printer.json(&report)?;
    } else {
        print(&report, arguments.nodes || report.nodes <= MAX_LISTED_NODES, printer)?;
    }
    Ok(ExitStatus::Success)
}

/// Prints the report; nodes only if `nodes` is set.
fn print(report: &InspectReport, nodes: bool, printer: &Printer) -> Result<(), CliError> {
    let producer = if report.producer.is_empty() { "an unknown tool" } else { &report.producer };
    printer.data(&format!(
        "opset {}, made by {producer}; {} nodes, {} constants of {}\n\n",
        report.opset,
        report.nodes,
        report.constants,
        units::bytes(report.constant_bytes)
    ))?;
    let columns = [Column::Text(""), Column::Text("NAME"), Column::Text("TYPE"), Column::Text("SHAPE")];
    let row =
        |kind: &str, one: &TypedName| vec![kind.to_owned(), one.name.clone(), one.r#type.clone(), one.shape.clone()];
    let inputs = report.inputs.iter().map(|one| row("input", one));
    let outputs = report.outputs.iter().map(|one| row("output", one));
    printer.table(&columns, inputs.chain(outputs).collect())?;
    printer.data("\n")?;
    if nodes {
        let columns = [
            Column::Text("NODE"),
            Column::Text("OPERATION"),
            Column::Text("INPUTS"),
            Column::Text("OUTPUTS"),
            Column::Number("MULTIPLY-ADDS"),
        ];
        let row = |row: &NodeReport| {
            let (inputs, outputs) = (values(&row.inputs), values(&row.outputs));
            vec![printable(&row.name), row.operation.to_owned(), inputs, outputs, optional_count(row.multiply_adds)]
        };
        printer.table(&columns, report.graph.iter().map(row).collect())?;
        printer.data("\n")?;
    }
    operations(report, printer)?;
    requirements(report, printer)?;
    reasons(report, printer)?;
    report.notes.iter().for_each(|note| printer.note(note));
    Ok(())
}

/// Types and shapes of values as text.
fn values(all: &[TypedName]) -> String {
    let one = |value: &TypedName| match value.shape.as_str() {
        "-" => value.r#type.clone(),
        shape => format!("{} {shape}", value.r#type),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn optional_count(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), units::count)
}

fn operations(report: &InspectReport, printer: &Printer) -> Result<(), CliError> {
    let mut columns = vec![Column::Text("OPERATION"), Column::Number("NODES"), Column::Number("MULTIPLY-ADDS")];
    columns.extend(["CPU", "VULKAN", "OPENCL", "AMDGPU"].map(Column::Text));
    let row = |row: &OperationCount| {
        let runs = DEVICES.iter().map(|(device, _)| row.runs.get(device).map_or_else(|| "-".to_owned(), locations));
        let first = [row.operation.to_owned(), row.count.to_string(), optional_count(row.multiply_adds)];
        first.into_iter().chain(runs).collect()
    };
    Ok(printer.table(&columns, report.operations.iter().map(row).collect())?)
}

/// Where nodes run; without counts if it is the same for all.
fn locations(runs: &BTreeMap<&'static str, usize>) -> String {
    let mut all: Vec<_> = runs.iter().collect();
    all.sort_by_key(|(location, count)| (std::cmp::Reverse(**count), **location));
    match all[..] {
        [(location, _)] => (*location).to_owned(),
        _ => all.iter().map(|(location, count)| format!("{count} {location}")).collect::<Vec<_>>().join(", "),
    }
}

/// Prints the resource requirements of a run.
fn requirements(report: &InspectReport, printer: &Printer) -> Result<(), CliError> {
    let dims: Vec<String> = report.dims.iter().map(|(name, size)| format!("{}={size}", printable(name))).collect();
    let with = if dims.is_empty() { String::new() } else { format!("with {}: ", dims.join(" ")) };
    let largest = report.largest.as_ref().map_or_else(String::new, |largest| {
        format!("; the largest tensor is `{}` with {}", largest.name, units::bytes(largest.bytes))
    });
    printer.data(&format!("\n{with}{} multiply-adds{largest}\n", units::count(report.multiply_adds)))?;
    let columns = [
        Column::Text("DEVICE"),
        Column::Number("WEIGHTS, TABLES, INPUTS"),
        Column::Number("INTERMEDIATE"),
        Column::Number("TOTAL"),
        Column::Number("DISPATCHES"),
        Column::Text("NODES"),
    ];
    let row = |one: &DeviceRequirements| {
        let [constants, arena, total] = [one.constant_bytes, one.arena_bytes, one.total_bytes].map(units::bytes);
        vec![one.device.to_owned(), constants, arena, total, one.dispatches.to_string(), locations(&one.runs)]
    };
    printer.table(&columns, report.devices.iter().map(row).collect())?;
    printer.note(
        "planned by the runtime without opening a device. `precomputed`: computed once, or fused into another operation",
    );
    Ok(())
}

/// Operation, location and reason.
type ReasonKey<'a> = (&'a str, &'a str, &'a str);
/// Devices, number of nodes on the last one, and name of the first node.
type ReasonNodes<'a> = (Vec<&'a str>, usize, &'a str);

/// Prints why nodes do not run as kernels.
fn reasons(report: &InspectReport, printer: &Printer) -> Result<(), CliError> {
    let mut found: BTreeMap<ReasonKey, ReasonNodes> = BTreeMap::new();
    for (device, _) in DEVICES {
        for row in &report.graph {
            let Some(NodeLocation { location, reason: Some(reason), .. }) = row.runs.get(device) else { continue };
            let (devices, count, _) = found
                .entry((row.operation, *location, reason.as_str()))
                .or_insert_with(|| (Vec::new(), 0, row.name.as_str()));
            if devices.last() != Some(&device) {
                devices.push(device);
                *count = 0;
            }
            *count += 1;
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    printer.data("\n")?;
    let columns = [
        Column::Text("OPERATION"),
        Column::Text("RUNS"),
        Column::Text("ON"),
        Column::Number("NODES"),
        Column::Text("FIRST"),
        Column::Text("REASON"),
    ];
    let row = |((operation, location, reason), (devices, count, first)): (ReasonKey, ReasonNodes)| {
        let devices = if devices.len() == DEVICES.len() { "all".to_owned() } else { devices.join(",") };
        vec![operation.to_owned(), location.to_owned(), devices, count.to_string(), printable(first), printable(reason)]
    };
    Ok(printer.table(&columns, found.into_iter().map(row).collect())?)
}
