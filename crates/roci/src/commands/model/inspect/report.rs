//! What there is to tell of a model.

use std::collections::{BTreeMap, HashMap};

use roci_graph::graph::Declared;
use roci_graph::{Graph, Operation, Tensor, ValueId, known, shape, simplify, symbols, work};
use roci_hal::CodeFormat;
use roci_onnx::Model;
use roci_runtime::{Placement, Plan, plan};
use serde::Serialize;

use crate::commands::model::ModelError;

/// Kinds of devices, by the code that they take.
pub(super) const DEVICES: [(&str, CodeFormat); 4] = [
    ("cpu", CodeFormat::Native),
    ("vulkan", CodeFormat::Spirv),
    ("opencl", CodeFormat::OpenClC),
    ("amdgpu", CodeFormat::AmdGcn),
];

#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    version: u32,
    pub(super) producer: String,
    pub(super) opset: i64,
    pub(super) nodes: usize,
    pub(super) constants: usize,
    /// As the model holds them.
    pub(super) constant_bytes: u64,
    pub(super) inputs: Vec<Named>,
    pub(super) outputs: Vec<Named>,
    /// Open dimensions, and the sizes that figures below are for.
    pub(super) dims: BTreeMap<String, usize>,
    /// Of all operations of which that is known.
    pub(super) multiply_adds: u64,
    /// The largest that is no constant, for these sizes; null where no shape is known.
    pub(super) largest: Option<Largest>,
    pub(super) operations: Vec<Counted>,
    pub(super) devices: Vec<OnDevice>,
    /// All nodes, in an order in which they run.
    pub(super) graph: Vec<NodeRow>,
    /// What is odd about the model.
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Serialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) r#type: String,
    pub(super) shape: String,
}

#[derive(Serialize)]
pub(super) struct Largest {
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// Nodes of one operation.
#[derive(Serialize)]
pub(super) struct Counted {
    pub(super) operation: &'static str,
    pub(super) count: usize,
    /// Null where there are none to speak of, or shapes are not known.
    pub(super) multiply_adds: Option<u64>,
    /// By kind of device: how many nodes run where.
    pub(super) runs: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
}

/// A run on a kind of device, as the runtime plans it.
#[derive(Serialize)]
pub(super) struct OnDevice {
    pub(super) device: &'static str,
    /// Weights, tables and inputs on the device, a 32-bit word an element, in the order that its kernels want.
    pub(super) constant_bytes: u64,
    /// Everything in between.
    pub(super) arena_bytes: u64,
    /// Both, which a device has to have.
    pub(super) total_bytes: u64,
    /// Kernels that are started, once they are joined.
    pub(super) dispatches: usize,
    /// How many nodes run where.
    pub(super) runs: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
pub(super) struct NodeRow {
    pub(super) name: String,
    pub(super) operation: &'static str,
    /// An operand that is missing has no name.
    pub(super) inputs: Vec<Named>,
    pub(super) outputs: Vec<Named>,
    pub(super) multiply_adds: Option<u64>,
    /// By kind of device.
    pub(super) runs: BTreeMap<&'static str, Runs>,
}

#[derive(Clone, Serialize)]
pub(super) struct Runs {
    /// `kernels`, `ahead`, `host`, `refused` or `unknown`.
    pub(super) r#where: &'static str,
    /// Why it is not `kernels`.
    pub(super) reason: Option<String>,
    pub(super) kernels: Vec<&'static str>,
}

impl From<&Placement> for Runs {
    fn from(placement: &Placement) -> Self {
        let (place, reason, kernels) = match placement {
            Placement::Ahead => ("ahead", None, Vec::new()),
            Placement::Kernels(kernels) => ("kernels", None, kernels.clone()),
            Placement::Host(reason) => ("host", Some(reason.clone()), Vec::new()),
            Placement::Refused(reason) => ("refused", Some(reason.clone()), Vec::new()),
            Placement::Unknown(reason) => ("unknown", Some(reason.clone()), Vec::new()),
            other => ("unknown", Some(format!("{other:?}")), Vec::new()),
        };
        Self { r#where: place, reason, kernels }
    }
}

impl Report {
    /// All of it, with these sizes for open dimensions, and 1 for others.
    pub(super) fn of(model: &Model, sizes: &BTreeMap<String, usize>) -> Result<Self, ModelError> {
        let graph = &model.graph;
        let declared = symbols::shapes(graph, sizes);
        let given = symbols::inputs(graph, sizes);
        let facts = known::facts(graph, &given);
        let fact = |id: &Option<ValueId>| id.and_then(|id| facts[id.index()].clone());
        let mut simple = graph.clone();
        simplify(&mut simple);
        let mut plans = Vec::new();
        for (device, format) in DEVICES {
            plans.push((device, plan(&simple, &given, format)?));
        }
        let places = Places::of(&simple, &plans);
        let named =
            |id: &Option<ValueId>| id.map_or_else(nothing, |id| value(graph, id, declared[id.index()].as_ref()));
        let row = |node: &roci_graph::Node| {
            let operands: Vec<_> = node.inputs.iter().map(fact).collect();
            let made: Vec<_> = node.outputs.iter().map(fact).collect();
            NodeRow {
                name: node.name.clone(),
                operation: node.op.name(),
                inputs: node.inputs.iter().map(named).collect(),
                outputs: node.outputs.iter().filter(|id| id.is_some()).map(named).collect(),
                multiply_adds: work::multiply_adds(&node.op, &operands, &made),
                runs: places.of_node(node),
            }
        };
        let rows: Vec<NodeRow> = graph.nodes.iter().map(row).collect();
        let bytes = |tensor: &Tensor| (tensor.len() * tensor.dtype().size().unwrap_or(0)) as u64;
        let dims = symbols::names(graph).into_iter().map(|name| {
            let size = sizes.get(&name).copied().unwrap_or(1);
            (name, size)
        });
        let interface = |id: &ValueId| {
            let told = declared[id.index()].as_ref().filter(|told| is_whole(told));
            value(graph, *id, told.or(graph.values[id.index()].declared.as_ref()))
        };
        let largest = |id: &ValueId| {
            let fact = facts[id.index()].as_ref()?;
            let count = shape::count(fact.shape.as_deref()?).ok()? as u64;
            Some((count.saturating_mul(fact.dtype.size()? as u64), *id))
        };
        let made = graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten()).chain(&graph.inputs);
        Ok(Self {
            schema: "roci.inspect",
            version: 1,
            producer: plain(&model.producer),
            opset: model.opset,
            nodes: graph.nodes.len(),
            constants: graph.constants.len(),
            constant_bytes: graph.constants.values().map(bytes).sum(),
            inputs: graph.inputs.iter().map(interface).collect(),
            outputs: (graph.outputs.iter().enumerate())
                .map(|(index, id)| Named { name: plain(graph.output_name(index)), ..interface(id) })
                .collect(),
            dims: dims.collect(),
            multiply_adds: rows.iter().filter_map(|row| row.multiply_adds).fold(0, u64::saturating_add),
            largest: made
                .filter_map(largest)
                .max_by_key(|(bytes, id)| (*bytes, std::cmp::Reverse(*id)))
                .map(|(bytes, id)| Largest { name: plain(graph.name(id)), bytes }),
            operations: operations(&rows),
            devices: plans.iter().map(|(device, plan)| on_device(device, plan, &rows)).collect(),
            graph: rows,
            notes: (graph.outputs.iter().enumerate())
                .filter_map(|(index, id)| {
                    let Some(Declared::Tensor { dims: Some(made), .. }) = &declared[id.index()] else { return None };
                    let told = graph.values[id.index()].declared.as_ref();
                    crate::commands::model::stray(&plain(graph.output_name(index)), told, made)
                })
                .collect(),
        })
    }
}

/// Whether every dimension is told.
fn is_whole(declared: &Declared) -> bool {
    let Declared::Tensor { dims, .. } = declared else { return true };
    dims.as_ref().is_some_and(|dims| !dims.contains(&roci_graph::graph::Dim::Unknown))
}

fn nothing() -> Named {
    Named { name: String::new(), r#type: "-".to_owned(), shape: "-".to_owned() }
}

/// A value with what is told of it.
fn value(graph: &Graph, id: ValueId, declared: Option<&Declared>) -> Named {
    let (kind, shape) = super::kind(declared);
    Named { name: plain(graph.name(id)), r#type: kind, shape: plain(&shape) }
}

/// Text of a model without what a terminal would obey.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect()
}

/// Where the nodes of the simplified graph run, by what they make.
struct Places {
    by_output: HashMap<ValueId, BTreeMap<&'static str, Runs>>,
}

impl Places {
    fn of(simple: &Graph, plans: &[(&'static str, Plan)]) -> Self {
        let mut by_output = HashMap::new();
        for (index, node) in simple.nodes.iter().enumerate() {
            let runs: BTreeMap<_, _> =
                plans.iter().map(|(device, plan)| (*device, Runs::from(&plan.placements[index]))).collect();
            by_output.extend(node.outputs.iter().flatten().map(|id| (*id, runs.clone())));
        }
        Self { by_output }
    }

    /// Where a node of the model runs. One that is gone is computed ahead, or part of another.
    fn of_node(&self, node: &roci_graph::Node) -> BTreeMap<&'static str, Runs> {
        let found = node.outputs.iter().flatten().find_map(|id| self.by_output.get(id));
        found
            .cloned()
            .unwrap_or_else(|| DEVICES.iter().map(|(device, _)| (*device, Runs::from(&Placement::Ahead))).collect())
    }
}

fn operations(rows: &[NodeRow]) -> Vec<Counted> {
    let mut counted: BTreeMap<&'static str, Counted> = BTreeMap::new();
    for row in rows {
        let operation = row.operation;
        let one = counted.entry(operation).or_insert_with(|| Counted {
            operation,
            count: 0,
            multiply_adds: None,
            runs: BTreeMap::new(),
        });
        one.count += 1;
        if let Some(more) = row.multiply_adds {
            one.multiply_adds = Some(one.multiply_adds.unwrap_or(0).saturating_add(more));
        }
        for (device, runs) in &row.runs {
            *one.runs.entry(*device).or_default().entry(runs.r#where).or_default() += 1;
        }
    }
    let mut counted: Vec<Counted> = counted.into_values().collect();
    counted.sort_by_key(|row| (std::cmp::Reverse(row.count), row.operation));
    counted
}

fn on_device(device: &'static str, plan: &Plan, rows: &[NodeRow]) -> OnDevice {
    let mut runs: BTreeMap<&'static str, usize> = BTreeMap::new();
    for row in rows.iter().filter_map(|row| row.runs.get(device)) {
        *runs.entry(row.r#where).or_default() += 1;
    }
    OnDevice {
        device,
        constant_bytes: plan.memory.constants,
        arena_bytes: plan.memory.arena,
        total_bytes: plan.memory.total(),
        dispatches: plan.dispatches,
        runs,
    }
}
