//! What there is to tell of a model, for people.

use std::collections::BTreeMap;

use super::report::{DEVICES, Named, NodeRow, Report, Runs, plain};
use crate::error::CliError;
use crate::printer::{Column, Printer};
use crate::units;

/// Prints it, the nodes only where that is asked for.
pub(super) fn print(report: &Report, nodes: bool, printer: &Printer) -> Result<(), CliError> {
    let producer = if report.producer.is_empty() { "an unknown tool" } else { &report.producer };
    printer.data(&format!(
        "opset {}, made by {producer}; {} nodes, {} constants of {}\n\n",
        report.opset,
        report.nodes,
        report.constants,
        units::bytes(report.constant_bytes)
    ))?;
    let columns = [Column::Text(""), Column::Text("NAME"), Column::Text("TYPE"), Column::Text("SHAPE")];
    let row = |kind: &str, one: &Named| vec![kind.to_owned(), one.name.clone(), one.r#type.clone(), one.shape.clone()];
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
        let row = |row: &NodeRow| {
            let (inputs, outputs) = (values(&row.inputs), values(&row.outputs));
            vec![plain(&row.name), row.operation.to_owned(), inputs, outputs, work(row.multiply_adds)]
        };
        printer.table(&columns, report.graph.iter().map(row).collect())?;
        printer.data("\n")?;
    }
    operations(report, printer)?;
    figures(report, printer)?;
    reasons(report, printer)?;
    report.notes.iter().for_each(|note| printer.note(note));
    Ok(())
}

/// Types and shapes of values.
fn values(all: &[Named]) -> String {
    let one = |value: &Named| match value.shape.as_str() {
        "-" => value.r#type.clone(),
        shape => format!("{} {shape}", value.r#type),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn work(count: Option<u64>) -> String {
    count.map_or_else(|| "-".to_owned(), units::count)
}

fn operations(report: &Report, printer: &Printer) -> Result<(), CliError> {
    let mut columns = vec![Column::Text("OPERATION"), Column::Number("NODES"), Column::Number("MULTIPLY-ADDS")];
    columns.extend(["CPU", "VULKAN", "OPENCL", "AMDGPU"].map(Column::Text));
    let row = |row: &super::report::Counted| {
        let runs = DEVICES.iter().map(|(device, _)| row.runs.get(device).map_or_else(|| "-".to_owned(), places));
        let first = [row.operation.to_owned(), row.count.to_string(), work(row.multiply_adds)];
        first.into_iter().chain(runs).collect()
    };
    Ok(printer.table(&columns, report.operations.iter().map(row).collect())?)
}

/// Where nodes run: the place alone where it is one for all.
fn places(runs: &BTreeMap<&'static str, usize>) -> String {
    let mut all: Vec<_> = runs.iter().collect();
    all.sort_by_key(|(place, count)| (std::cmp::Reverse(**count), **place));
    match all[..] {
        [(place, _)] => (*place).to_owned(),
        _ => all.iter().map(|(place, count)| format!("{count} {place}")).collect::<Vec<_>>().join(", "),
    }
}

/// What a run takes.
fn figures(report: &Report, printer: &Printer) -> Result<(), CliError> {
    let dims: Vec<String> = report.dims.iter().map(|(name, size)| format!("{}={size}", plain(name))).collect();
    let with = if dims.is_empty() { String::new() } else { format!("with {}: ", dims.join(" ")) };
    let largest = report.largest.as_ref().map_or_else(String::new, |largest| {
        format!("; the largest tensor is `{}` with {}", largest.name, units::bytes(largest.bytes))
    });
    printer.data(&format!("\n{with}{} multiply-adds{largest}\n", units::count(report.multiply_adds)))?;
    let columns = [
        Column::Text("DEVICE"),
        Column::Number("WEIGHTS, TABLES, INPUTS"),
        Column::Number("IN BETWEEN"),
        Column::Number("TOGETHER"),
        Column::Number("DISPATCHES"),
        Column::Text("NODES"),
    ];
    let row = |one: &super::report::OnDevice| {
        let [constants, arena, total] = [one.constant_bytes, one.arena_bytes, one.total_bytes].map(units::bytes);
        vec![one.device.to_owned(), constants, arena, total, one.dispatches.to_string(), places(&one.runs)]
    };
    printer.table(&columns, report.devices.iter().map(row).collect())?;
    printer.note("as the runtime plans it; no device was asked. `ahead`: computed once, or part of another operation");
    Ok(())
}

/// Operation, place and reason.
type Why<'a> = (&'a str, &'a str, &'a str);
/// Devices, how many nodes, and the first of them.
type Who<'a> = (Vec<&'a str>, usize, &'a str);

/// Why nodes do not run as kernels.
fn reasons(report: &Report, printer: &Printer) -> Result<(), CliError> {
    let mut found: BTreeMap<Why, Who> = BTreeMap::new();
    for (device, _) in DEVICES {
        for row in &report.graph {
            let Some(Runs { r#where: place, reason: Some(reason), .. }) = row.runs.get(device) else { continue };
            let (devices, count, _) = found
                .entry((row.operation, *place, reason.as_str()))
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
    let row = |((operation, place, reason), (devices, count, first)): (Why, Who)| {
        let devices = if devices.len() == DEVICES.len() { "all".to_owned() } else { devices.join(",") };
        vec![operation.to_owned(), place.to_owned(), devices, count.to_string(), plain(first), plain(reason)]
    };
    Ok(printer.table(&columns, found.into_iter().map(row).collect())?)
}
