//! `roci inspect`: what is in a model.

use std::collections::BTreeMap;

use roci_graph::graph::{Declared, Dim};
use roci_graph::{Graph, Operation, ValueId};
use roci_onnx::Model;
use serde::Serialize;

use super::ModelError;
use crate::cli::InspectArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, Printer};
use crate::units;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    producer: String,
    opset: i64,
    nodes: usize,
    constants: usize,
    constant_bytes: u64,
    inputs: Vec<Named>,
    outputs: Vec<Named>,
    operations: Vec<Counted>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    r#type: String,
    shape: String,
}

#[derive(Serialize)]
struct Counted {
    operation: &'static str,
    count: usize,
}

/// Reads a model and prints what is in it.
pub(crate) fn run(arguments: &InspectArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let model = Model::open(&arguments.model).map_err(ModelError::from)?;
    let graph = &model.graph;
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for node in &graph.nodes {
        *counts.entry(node.op.name()).or_default() += 1;
    }
    let mut operations: Vec<Counted> =
        counts.into_iter().map(|(operation, count)| Counted { operation, count }).collect();
    operations.sort_by_key(|row| (std::cmp::Reverse(row.count), row.operation));
    let bytes = |tensor: &roci_graph::Tensor| (tensor.len() * tensor.dtype().size().unwrap_or(0)) as u64;
    let report = Report {
        schema: "roci.inspect",
        version: 1,
        producer: model.producer.clone(),
        opset: model.opset,
        nodes: graph.nodes.len(),
        constants: graph.constants.len(),
        constant_bytes: graph.constants.values().map(bytes).sum(),
        inputs: graph.inputs.iter().map(|id| named(graph, *id)).collect(),
        outputs: graph.outputs.iter().map(|id| named(graph, *id)).collect(),
        operations,
    };
    if arguments.format.json {
        printer.json(&report)?;
        return Ok(ExitStatus::Success);
    }
    let producer = if report.producer.is_empty() { "an unknown tool" } else { &report.producer };
    printer.data(&format!(
        "opset {}, made by {producer}; {} nodes, {} constants of {}",
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
    let columns = [Column::Text("OPERATION"), Column::Number("NODES")];
    let rows = report.operations.iter().map(|row| vec![row.operation.to_owned(), row.count.to_string()]);
    printer.table(&columns, rows.collect())?;
    Ok(ExitStatus::Success)
}

fn named(graph: &Graph, id: ValueId) -> Named {
    let (kind, dims) = match graph.values[id.index()].declared.as_ref() {
        Some(Declared::Tensor { dtype, dims }) => (dtype.to_string(), shape(dims.as_deref())),
        Some(Declared::Sequence(_)) => ("sequence".to_owned(), "-".to_owned()),
        Some(Declared::Optional(_)) => ("optional".to_owned(), "-".to_owned()),
        None => ("?".to_owned(), "?".to_owned()),
    };
    Named { name: graph.name(id).to_owned(), r#type: kind, shape: dims }
}

/// Dimensions as people write them.
pub(super) fn shape(dims: Option<&[Dim]>) -> String {
    let Some(dims) = dims else { return "?".to_owned() };
    let one = |dim: &Dim| match dim {
        Dim::Known(size) => size.to_string(),
        Dim::Symbol(name) => name.clone(),
        Dim::Unknown => "?".to_owned(),
    };
    format!("[{}]", dims.iter().map(one).collect::<Vec<_>>().join(", "))
}
