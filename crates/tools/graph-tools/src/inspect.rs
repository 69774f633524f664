//! What a model contains and needs: operations, work, memory, and where its nodes run on each kind
//! of device. No device is opened.

use std::collections::{BTreeMap, HashMap};

use roci_graph::graph::DeclaredType;
use roci_graph::{Graph, Operation, Tensor, ValueId, cost, inference, shape, simplify, symbols};
use roci_hal::CodeFormat;
use roci_onnx::Model;
use roci_runtime::{DryRunReport, Placement, dry_run};
use serde::Serialize;

use super::declared::{format_type, shape_mismatch};

/// Kinds of devices, with the code format that they accept.
pub const DEVICES: [(&str, CodeFormat); 4] = [
    ("cpu", CodeFormat::Native),
    ("vulkan", CodeFormat::Spirv),
    ("opencl", CodeFormat::OpenClC),
    ("amdgpu", CodeFormat::AmdGcn),
];

/// The location of a node that is computed once, when the model is loaded.
const PRECOMPUTED: &str = "precomputed";

/// The report of a model, as `roci inspect --json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct InspectReport {
    schema: &'static str,
    version: u32,
    /// The tool that wrote the model.
    pub producer: String,
    /// Version of the operator set.
    pub opset: i64,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of constants.
    pub constants: usize,
    /// Size of the weights in the model's own types.
    pub constant_bytes: u64,
    /// Inputs of the model.
    pub inputs: Vec<TypedName>,
    /// Outputs of the model.
    pub outputs: Vec<TypedName>,
    /// Symbolic dimensions, and the sizes that the numbers below assume.
    pub dims: BTreeMap<String, usize>,
    /// Multiply-adds of all operations for which they are known.
    pub multiply_adds: u64,
    /// The largest tensor that is not a constant, for these sizes; null if no shape is known.
    pub largest: Option<TensorSize>,
    /// Nodes by operation, the most frequent first.
    pub operations: Vec<OperationCount>,
    /// Requirements by kind of device.
    pub devices: Vec<DeviceRequirements>,
    /// All nodes, in execution order.
    pub graph: Vec<NodeReport>,
    /// Unusual properties of the model.
    pub notes: Vec<String>,
}

/// A value with its type and shape.
#[derive(Clone, Debug, Serialize)]
pub struct TypedName {
    /// Name of the value; empty for an omitted operand.
    pub name: String,
    /// Type as text; `?` if unknown.
    pub r#type: String,
    /// Shape as text; `?` if unknown.
    pub shape: String,
}

/// A tensor of the report on memory.
#[derive(Clone, Debug, Serialize)]
pub struct TensorSize {
    /// Name in the model.
    pub name: String,
    /// Size in the model's own type.
    pub bytes: u64,
}

/// All nodes of one operation.
#[derive(Clone, Debug, Serialize)]
pub struct OperationCount {
    /// Name of the operation.
    pub operation: &'static str,
    /// Number of nodes.
    pub count: usize,
    /// Null if negligible, or if shapes are unknown.
    pub multiply_adds: Option<u64>,
    /// By kind of device: number of nodes per location.
    #[serde(serialize_with = "old_keys::counts_by_device")]
    pub runs: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
}

/// Requirements of a run on a kind of device, as the runtime plans it.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceRequirements {
    /// Kind of device, as in [`DEVICES`].
    pub device: &'static str,
    /// Weights, tables and inputs on the device, at 32 bits per element, in the layout of the
    /// kernels.
    pub constant_bytes: u64,
    /// Intermediate tensors.
    pub arena_bytes: u64,
    /// Total device memory.
    pub total_bytes: u64,
    /// Dispatches after fusion.
    pub dispatches: usize,
    /// Number of nodes per location.
    #[serde(serialize_with = "old_keys::counts")]
    pub runs: BTreeMap<&'static str, usize>,
}

/// A node of the graph.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// Name in the model; may be empty.
    pub name: String,
    /// Name of the operation.
    pub operation: &'static str,
    /// Operands; an omitted one has no name.
    pub inputs: Vec<TypedName>,
    /// Results.
    pub outputs: Vec<TypedName>,
    /// Null if negligible, or if shapes are unknown.
    pub multiply_adds: Option<u64>,
    /// Location by kind of device.
    pub runs: BTreeMap<&'static str, NodeLocation>,
}

/// Where a node runs.
#[derive(Clone, Debug, Serialize)]
pub struct NodeLocation {
    /// `kernels`, `precomputed` (at load time), `host`, `refused` or `unknown`.
    #[serde(flatten, serialize_with = "old_keys::location")]
    pub location: &'static str,
    /// Why the node does not run as kernels.
    pub reason: Option<String>,
    /// Names of the kernels.
    pub kernels: Vec<&'static str>,
}

impl From<&Placement> for NodeLocation {
    fn from(placement: &Placement) -> Self {
        let (location, reason, kernels) = match placement {
            Placement::Precomputed => (PRECOMPUTED, None, Vec::new()),
            Placement::Kernels(kernels) => ("kernels", None, kernels.clone()),
            Placement::Host(reason) => ("host", Some(reason.clone()), Vec::new()),
            Placement::Refused(reason) => ("refused", Some(reason.clone()), Vec::new()),
            Placement::Unknown(reason) => ("unknown", Some(reason.clone()), Vec::new()),
            other => ("unknown", Some(format!("{other:?}")), Vec::new()),
        };
        Self { location, reason, kernels }
    }
}

impl InspectReport {
    /// Analyzes a model with these sizes of symbolic dimensions, and 1 for others.
    pub fn new(model: &Model, sizes: &BTreeMap<String, usize>) -> Result<Self, roci_runtime::Error> {
        let graph = &model.graph;
        let declared = symbols::shapes(graph, sizes);
        let inputs = symbols::inputs(graph, sizes);
        let facts = inference::facts(graph, &inputs);
        let fact = |id: &Option<ValueId>| id.and_then(|id| facts[id.index()].clone());
        let mut simple = graph.clone();
        simplify(&mut simple);
        let mut plans = Vec::new();
        for (device, format) in DEVICES {
            plans.push((device, dry_run(&simple, &inputs, format)?));
        }
        let locations = Locations::new(&simple, &plans);
        let named =
            |id: &Option<ValueId>| id.map_or_else(omitted, |id| value(graph, id, declared[id.index()].as_ref()));
        let row = |node: &roci_graph::Node| {
            let operands: Vec<_> = node.inputs.iter().map(fact).collect();
            let results: Vec<_> = node.outputs.iter().map(fact).collect();
            NodeReport {
                name: node.name.clone(),
                operation: node.op.name(),
                inputs: node.inputs.iter().map(named).collect(),
                outputs: node.outputs.iter().filter(|id| id.is_some()).map(named).collect(),
                multiply_adds: cost::multiply_adds(&node.op, &operands, &results),
                runs: locations.of_node(node),
            }
        };
        let rows: Vec<NodeReport> = graph.nodes.iter().map(row).collect();
        let bytes = |tensor: &Tensor| (tensor.len() * tensor.dtype().size().unwrap_or(0)) as u64;
        let dims = symbols::names(graph).into_iter().map(|name| {
            let size = sizes.get(&name).copied().unwrap_or(1);
            (name, size)
        });
        let interface = |id: &ValueId| {
            let inferred = declared[id.index()].as_ref().filter(|inferred| has_known_dims(inferred));
            value(graph, *id, inferred.or(graph.values[id.index()].declared.as_ref()))
        };
        let largest = |id: &ValueId| {
            let fact = facts[id.index()].as_ref()?;
            let count = shape::count(fact.shape.as_deref()?).ok()? as u64;
            Some((count.saturating_mul(fact.dtype.size()? as u64), *id))
        };
        let values = graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten()).chain(&graph.inputs);
        Ok(Self {
            schema: "roci.inspect",
            version: 2,
            producer: printable(&model.producer),
            opset: model.opset,
            nodes: graph.nodes.len(),
            constants: graph.constants.len(),
            constant_bytes: graph.constants.values().map(bytes).sum(),
            inputs: graph.inputs.iter().map(interface).collect(),
            outputs: (graph.outputs.iter().enumerate())
                .map(|(index, id)| TypedName { name: printable(graph.output_name(index)), ..interface(id) })
                .collect(),
            dims: dims.collect(),
            multiply_adds: rows.iter().filter_map(|row| row.multiply_adds).fold(0, u64::saturating_add),
            largest: values
                .filter_map(largest)
                .max_by_key(|(bytes, id)| (*bytes, std::cmp::Reverse(*id)))
                .map(|(bytes, id)| TensorSize { name: printable(graph.name(id)), bytes }),
            operations: operations(&rows),
            devices: plans.iter().map(|(device, plan)| on_device(device, plan, &rows)).collect(),
            graph: rows,
            notes: (graph.outputs.iter().enumerate())
                .filter_map(|(index, id)| {
                    let Some(DeclaredType::Tensor { dims: Some(actual), .. }) = &declared[id.index()] else {
                        return None;
                    };
                    let declared = graph.values[id.index()].declared.as_ref();
                    shape_mismatch(&printable(graph.output_name(index)), declared, actual)
                })
                .collect(),
        })
    }
}

/// Whether no dimension is unknown; symbols are known.
fn has_known_dims(declared: &DeclaredType) -> bool {
    let DeclaredType::Tensor { dims, .. } = declared else { return true };
    dims.as_ref().is_some_and(|dims| !dims.contains(&roci_graph::graph::Dim::Unknown))
}

/// An omitted operand.
fn omitted() -> TypedName {
    TypedName { name: String::new(), r#type: "-".to_owned(), shape: "-".to_owned() }
}

/// A value with its declared type and shape.
fn value(graph: &Graph, id: ValueId, declared: Option<&DeclaredType>) -> TypedName {
    let (kind, shape) = format_type(declared);
    TypedName { name: printable(graph.name(id)), r#type: kind, shape: printable(&shape) }
}

/// Replaces control characters, which a terminal would interpret, in text of a model.
pub fn printable(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { '\u{fffd}' } else { one }).collect()
}

/// Where the nodes of the simplified graph run, by their outputs.
struct Locations {
    by_output: HashMap<ValueId, BTreeMap<&'static str, NodeLocation>>,
}

impl Locations {
    fn new(simple: &Graph, plans: &[(&'static str, DryRunReport)]) -> Self {
        let mut by_output = HashMap::new();
        for (index, node) in simple.nodes.iter().enumerate() {
            let runs: BTreeMap<_, _> =
                plans.iter().map(|(device, plan)| (*device, NodeLocation::from(&plan.placements[index]))).collect();
            by_output.extend(node.outputs.iter().flatten().map(|id| (*id, runs.clone())));
        }
        Self { by_output }
    }

    /// Where a node of the model runs. A node that simplification removed counts as precomputed.
    fn of_node(&self, node: &roci_graph::Node) -> BTreeMap<&'static str, NodeLocation> {
        let found = node.outputs.iter().flatten().find_map(|id| self.by_output.get(id));
        found.cloned().unwrap_or_else(|| {
            DEVICES.iter().map(|(device, _)| (*device, NodeLocation::from(&Placement::Precomputed))).collect()
        })
    }
}

fn operations(rows: &[NodeReport]) -> Vec<OperationCount> {
    let mut counted: BTreeMap<&'static str, OperationCount> = BTreeMap::new();
    for row in rows {
        let operation = row.operation;
        let one = counted.entry(operation).or_insert_with(|| OperationCount {
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
            *one.runs.entry(*device).or_default().entry(runs.location).or_default() += 1;
        }
    }
    let mut counted: Vec<OperationCount> = counted.into_values().collect();
    counted.sort_by_key(|row| (std::cmp::Reverse(row.count), row.operation));
    counted
}

fn on_device(device: &'static str, plan: &DryRunReport, rows: &[NodeReport]) -> DeviceRequirements {
    let mut runs: BTreeMap<&'static str, usize> = BTreeMap::new();
    for row in rows.iter().filter_map(|row| row.runs.get(device)) {
        *runs.entry(row.location).or_default() += 1;
    }
    DeviceRequirements {
        device,
        constant_bytes: plan.memory.constants,
        arena_bytes: plan.memory.arena,
        total_bytes: plan.memory.total(),
        dispatches: plan.dispatches,
        runs,
    }
}

/// Writes the keys of version 1 next to the current ones, for one release: `where` for `location`,
/// and `ahead` for `precomputed`.
mod old_keys {
    use std::collections::BTreeMap;

    use serde::Serializer;
    use serde::ser::SerializeMap;

    use super::PRECOMPUTED;

    const OLD_PRECOMPUTED: &str = "ahead";

    type Counts = BTreeMap<&'static str, usize>;

    /// The counts with that of `precomputed` under its old key, too.
    fn with_old(counts: &Counts) -> Counts {
        let old = counts.get(PRECOMPUTED).map(|count| (OLD_PRECOMPUTED, *count));
        counts.iter().map(|(location, count)| (*location, *count)).chain(old).collect()
    }

    pub(super) fn counts<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(with_old(counts))
    }

    pub(super) fn counts_by_device<S: Serializer>(
        devices: &BTreeMap<&'static str, Counts>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(devices.iter().map(|(device, counts)| (device, with_old(counts))))
    }

    pub(super) fn location<S: Serializer>(location: &&'static str, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("location", location)?;
        map.serialize_entry("where", if *location == PRECOMPUTED { OLD_PRECOMPUTED } else { location })?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    #[test]
    fn renamed_keys_are_also_written_under_their_old_names() {
        let written = |placement: Placement| to_value(NodeLocation::from(&placement)).expect("it is JSON");
        let precomputed = json!({ "location": "precomputed", "where": "ahead", "reason": null, "kernels": [] });
        assert_eq!(written(Placement::Precomputed), precomputed);
        let host = json!({ "location": "host", "where": "host", "reason": "a loop", "kernels": [] });
        assert_eq!(written(Placement::Host("a loop".into())), host);

        let runs = BTreeMap::from([(PRECOMPUTED, 2), ("host", 1)]);
        let counts = json!({ "precomputed": 2, "ahead": 2, "host": 1 });
        let operation = OperationCount {
            operation: "Add",
            count: 3,
            multiply_adds: None,
            runs: BTreeMap::from([("cpu", runs.clone())]),
        };
        assert_eq!(to_value(operation).expect("it is JSON")["runs"], json!({ "cpu": counts }));
        let (constant_bytes, arena_bytes, total_bytes, dispatches) = (0, 0, 0, 0);
        let device = DeviceRequirements { device: "cpu", constant_bytes, arena_bytes, total_bytes, dispatches, runs };
        assert_eq!(to_value(device).expect("it is JSON")["runs"], counts);
    }
}
