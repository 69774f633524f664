//! Converts ONNX's nodes to operations. Scopes, names, functions and subgraphs are handled here;
//! each family of operations has a file.
//!
//! To add an operation of ONNX: add its name to the family's `import`, read its attributes, and
//! emit operations.

mod attention;
mod classic;
mod control;
mod elementwise;
mod indexing;
mod movement;
mod node;
mod norm;
mod pool;
mod product;
mod qlinear;
mod quantize;
mod random;
mod recurrent;
mod reduction;
mod sequence;
mod signal;
mod source;
mod text;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use roci_graph::graph::DeclaredType;
use roci_graph::{Fact, Graph, ValueId, inference};

use crate::Error;
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto,
};
use crate::tensor::{declared, dense, initializer, is_packed};

pub(crate) use node::NodeContext;

/// The maximum nesting depth of graphs, including functions.
const MAX_DEPTH: usize = 32;
/// The maximum number of nodes after functions are inlined: a hostile file could expand to any
/// number.
const MAX_NODES: usize = if cfg!(test) { 10_000 } else { 4_000_000 };

/// State that all graphs of a model share.
pub(crate) struct ModelContext<'a> {
    folder: Option<&'a Path>,
    /// Names of inputs that the caller provides even though the model has a default for them.
    given: &'a [&'a str],
    functions: HashMap<(&'a str, &'a str), &'a FunctionProto>,
    nodes: std::cell::Cell<usize>,
}

/// Imports a node; returns whether the family supports it.
type Family = fn(&mut NodeContext<'_, '_>) -> Result<bool, Error>;

/// All families; the first one that supports a node imports it.
const FAMILIES: [Family; 18] = [
    elementwise::import,
    movement::import,
    indexing::import,
    source::import,
    product::import,
    pool::import,
    reduction::import,
    norm::import,
    recurrent::import,
    attention::import,
    signal::import,
    quantize::import,
    qlinear::import,
    random::import,
    control::import,
    sequence::import,
    text::import,
    classic::import,
];

/// Imports the graph of a model. Names in `given` are inputs even if the model has a default for
/// them.
pub(crate) fn import(model: &ModelProto, folder: Option<&Path>, given: &[&str]) -> Result<Graph, Error> {
    let graph = model.graph.as_ref().ok_or_else(|| Error::Protobuf("the model has no graph".to_owned()))?;
    if let Some(none) = model.opset_import.iter().find(|one| one.version < 1) {
        let (domain, version) = (if none.domain.is_empty() { "ai.onnx" } else { &none.domain }, none.version);
        return Err(Error::invalid(format!(
            "the model imports opset {version} of domain `{domain}`, but opsets start at 1"
        )));
    }
    let functions = model.functions.iter().map(|one| ((plain(&one.domain), one.name.as_str()), one)).collect();
    let shared = ModelContext { folder, given, functions, nodes: Default::default() };
    let mut builder = Builder::new(&shared, opsets(&model.opset_import), 0)?;
    builder.body(graph)?;
    check_outputs(&builder.graph, &graph.output)?;
    Ok(builder.graph)
}

/// Fails if an output's declared type differs from the inferred one: a reader that trusts the
/// declaration would misinterpret the output.
fn check_outputs(graph: &Graph, outputs: &[ValueInfoProto]) -> Result<(), Error> {
    let tensor = |declared: &DeclaredType| match declared {
        DeclaredType::Tensor { dtype, .. } => Some(Fact::unknown(*dtype)),
        _ => None,
    };
    let given = |id: &ValueId| graph.values[id.index()].declared.as_ref().and_then(tensor);
    // Types do not depend on shapes, so no shape has to be known.
    let facts = inference::facts(graph, &graph.inputs.iter().map(given).collect::<Vec<_>>());
    for (id, output) in graph.outputs.iter().zip(outputs) {
        let declared = output.r#type.as_ref().map_or(Ok(None), declared)?.as_ref().and_then(tensor);
        if let (Some(declared), Some(result)) = (declared, &facts[id.index()])
            && declared.dtype != result.dtype
        {
            let (name, declared, result) = (&output.name, declared.dtype, result.dtype);
            return Err(Error::invalid(format!(
                "output `{name}`: the model declares {declared}, but its nodes produce {result}"
            )));
        }
    }
    Ok(())
}

/// Operator set versions by domain.
fn opsets(imports: &[OperatorSetIdProto]) -> BTreeMap<String, i64> {
    imports.iter().map(|one| (plain(&one.domain).to_owned(), one.version)).collect()
}

/// ONNX's own domain has two spellings.
fn plain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// A graph under construction.
pub(crate) struct Builder<'a> {
    shared: &'a ModelContext<'a>,
    opsets: BTreeMap<String, i64>,
    graph: Graph,
    /// Values by name. The body of a function has its own scope, so only the last one is searched.
    scopes: Vec<HashMap<String, ValueId>>,
    /// 4-bit constants, which are stored as 8-bit. Operations that depend on the type of such an
    /// operand must not see them.
    packed: HashSet<String>,
    depth: usize,
}

impl<'a> Builder<'a> {
    fn new(shared: &'a ModelContext<'a>, opsets: BTreeMap<String, i64>, depth: usize) -> Result<Self, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("graphs or functions are nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self {
            shared,
            opsets,
            graph: Graph::default(),
            scopes: vec![HashMap::new()],
            packed: HashSet::new(),
            depth,
        })
    }

    fn names(&mut self) -> &mut HashMap<String, ValueId> {
        if self.scopes.is_empty() {
            self.scopes.push(HashMap::new());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// The value of a name; `None` for the empty name, which is an omitted operand.
    fn find(&self, name: &str) -> Result<Option<ValueId>, Error> {
        if name.is_empty() {
            return Ok(None);
        }
        let found = self.scopes.last().and_then(|names| names.get(name)).copied();
        found.map(Some).ok_or_else(|| Error::invalid(format!("value `{name}` is used before it is defined")))
    }

    fn bind(&mut self, name: &str, id: ValueId) -> Result<(), Error> {
        match self.names().insert(name.to_owned(), id) {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("value `{name}` is defined twice"))),
        }
    }

    /// Reads a graph into this empty one.
    fn body(&mut self, proto: &GraphProto) -> Result<(), Error> {
        self.graph.name.clone_from(&proto.name);
        for one in &proto.initializer {
            if self.depth == 0 && self.is_given(proto, &one.name) {
                continue;
            }
            if is_packed(one.data_type) {
                self.packed.insert(one.name.clone());
            }
            let id = self.graph.constant(&one.name, initializer(one, self.shared.folder)?);
            self.bind(&one.name, id)?;
        }
        for one in &proto.sparse_initializer {
            let name = one.values.as_ref().map_or("", |values| &values.name);
            let id = self.graph.constant(name, dense(one, self.shared.folder)?);
            self.bind(name, id)?;
        }
        for one in &proto.input {
            // Old models list their constants among the inputs.
            if self.names().contains_key(&one.name) {
                continue;
            }
            let id = self.declare(one)?;
            self.bind(&one.name, id)?;
            self.graph.inputs.push(id);
        }
        for node in &proto.node {
            self.node(node, &[])?;
        }
        for one in &proto.output {
            let id = self.find(&one.name)?.ok_or_else(|| Error::invalid("an output has no name"))?;
            if self.packed.contains(&one.name) {
                return Err(Error::invalid(format!("the output `{}` has 4-bit elements", one.name)));
            }
            if let (Some(kind), Some(info)) = (&one.r#type, self.graph.values.get_mut(id.index())) {
                let kind = declared(kind).map_err(|error| Error::invalid(format!("output `{}`: {error}", one.name)))?;
                info.declared = info.declared.take().or(kind);
            }
            self.graph.outputs.push(id);
            self.graph.output_names.push(one.name.clone());
        }
        Ok(())
    }

    /// Whether the caller provides an input that has a default.
    fn is_given(&self, proto: &GraphProto, name: &str) -> bool {
        self.shared.given.contains(&name) && proto.input.iter().any(|input| input.name == name)
    }

    fn declare(&mut self, info: &ValueInfoProto) -> Result<ValueId, Error> {
        let id = self.graph.value(&info.name);
        let kind = info.r#type.as_ref().map_or(Ok(None), declared);
        let kind = kind.map_err(|error| Error::invalid(format!("input `{}`: {error}", info.name)))?;
        self.graph.values[id.index()].declared = kind;
        Ok(id)
    }

    /// Imports a node; `given` are the attributes of the surrounding function.
    fn node(&mut self, proto: &NodeProto, given: &[AttributeProto]) -> Result<(), Error> {
        let count = self.shared.nodes.get() + 1;
        self.shared.nodes.set(count);
        let domain = plain(&proto.domain);
        let version = self.opsets.get(domain).copied();
        let place = |reason: String| Error::Node {
            node: if proto.name.is_empty() {
                proto.output.first().cloned().unwrap_or_default()
            } else {
                proto.name.clone()
            },
            op: if domain.is_empty() { proto.op_type.clone() } else { format!("{domain}.{}", proto.op_type) },
            opset: version.unwrap_or(0),
            reason,
        };
        let here = |error: Error| match error {
            inner @ Error::Node { .. } => inner,
            other => place(other.to_string()),
        };
        if let Some(name) = proto.input.iter().find(|name| self.packed.contains(*name))
            && proto.op_type != "DequantizeLinear"
        {
            return Err(place(format!("`{name}` has 4-bit elements, which only DequantizeLinear supports")));
        }
        if count > MAX_NODES {
            return Err(place(format!("the model has more than {MAX_NODES} nodes")));
        }
        let attributes = resolve(&proto.attribute, given);
        if let Some(function) = self.shared.functions.get(&(domain, proto.op_type.as_str())).copied() {
            return self.function(proto, &attributes, function).map_err(here);
        }
        let Some(version) = version else {
            let domain =
                if domain.is_empty() { "ONNX's own domain".to_owned() } else { format!("the domain `{domain}`") };
            return Err(place(format!("the model imports no opset of {domain}")));
        };
        let mut context = NodeContext::new(self, proto, &attributes, domain, version).map_err(here)?;
        for family in FAMILIES {
            if family(&mut context).map_err(here)? {
                return context.finish().map_err(here);
            }
        }
        Err(place("this operation is not supported".to_owned()))
    }

    /// Inlines the body of a function.
    fn function(
        &mut self,
        node: &NodeProto,
        attributes: &[AttributeProto],
        function: &FunctionProto,
    ) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::invalid(format!("function calls are nested deeper than {MAX_DEPTH}")));
        }
        let mut names = HashMap::new();
        for (index, name) in function.input.iter().enumerate() {
            if let Some(id) = node.input.get(index).map_or(Ok(None), |name| self.find(name))? {
                names.insert(name.clone(), id);
            }
        }
        let mut given = attributes.to_vec();
        for one in &function.attribute_proto {
            if !given.iter().any(|other| other.name == one.name) {
                given.push(one.clone());
            }
        }
        let around = std::mem::replace(&mut self.opsets, opsets(&function.opset_import));
        self.scopes.push(names);
        let missing: Vec<&str> =
            function.input.iter().map(String::as_str).filter(|name| self.find(name).is_err()).collect();
        for inner in &function.node {
            // A missing input is omitted, as with an empty name.
            let mut inner = inner.clone();
            inner.input.iter_mut().filter(|name| missing.contains(&name.as_str())).for_each(String::clear);
            self.node(&inner, &given)?;
        }
        let result = function.output.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
        self.scopes.pop();
        self.opsets = around;
        self.depth -= 1;
        for (name, id) in node.output.iter().zip(result) {
            if let (false, Some(id)) = (name.is_empty(), id) {
                self.bind(name, id)?;
            }
        }
        Ok(())
    }

    /// Imports a subgraph as a graph whose inputs are its own, then the values that it captures
    /// from this graph, which are returned too. Constants are visible in both.
    fn subgraph(&mut self, proto: &GraphProto) -> Result<(Graph, Vec<ValueId>), Error> {
        let mut inner = Builder::new(self.shared, self.opsets.clone(), self.depth + 1)?;
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for name in free_names(proto) {
            let Ok(Some(id)) = self.find(&name) else { continue };
            let copy = inner.graph.value(&name);
            if let Some(constant) = self.graph.constants.get(&id) {
                inner.graph.constants.insert(copy, constant.clone());
            } else {
                outside.push(id);
                inside.push(copy);
            }
            if self.packed.contains(&name) {
                inner.packed.insert(name.clone());
            }
            inner.bind(&name, copy)?;
        }
        inner.body(proto)?;
        inner.graph.inputs.extend(inside);
        Ok((inner.graph, outside))
    }
}

/// A node's attributes, with references to function attributes resolved.
fn resolve(attributes: &[AttributeProto], given: &[AttributeProto]) -> Vec<AttributeProto> {
    let one = |attribute: &AttributeProto| {
        if attribute.ref_attr_name.is_empty() {
            let mut own = attribute.clone();
            if let Some(graph) = &mut own.g {
                for node in &mut graph.node {
                    node.attribute = resolve(&node.attribute, given);
                }
            }
            return Some(own);
        }
        let found = given.iter().find(|one| one.name == attribute.ref_attr_name)?;
        Some(AttributeProto { name: attribute.name.clone(), ..found.clone() })
    };
    attributes.iter().filter_map(one).collect()
}

/// Names that a graph, including its subgraphs, uses but does not define.
fn free_names(graph: &GraphProto) -> Vec<String> {
    let mut free = FreeNames::default();
    free.visit(graph);
    free.found.into_iter().map(str::to_owned).collect()
}

/// Names found in nested graphs.
#[derive(Default)]
struct FreeNames<'a> {
    /// The number of enclosing graphs that define each name.
    around: HashMap<&'a str, usize>,
    found: Vec<&'a str>,
    known: HashSet<&'a str>,
}

impl<'a> FreeNames<'a> {
    fn visit(&mut self, graph: &'a GraphProto) {
        for name in result(graph) {
            *self.around.entry(name).or_default() += 1;
        }
        let outputs = graph.output.iter().map(|one| &one.name);
        for name in graph.node.iter().flat_map(|node| &node.input).chain(outputs) {
            if !name.is_empty()
                && self.around.get(name.as_str()).is_none_or(|count| *count == 0)
                && self.known.insert(name)
            {
                self.found.push(name);
            }
        }
        for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
            attribute.g.iter().chain(&attribute.graphs).for_each(|inner| self.visit(inner));
        }
        for name in result(graph) {
            self.around.entry(name).and_modify(|count| *count -= 1);
        }
    }
}

/// The names that a graph defines.
fn result(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let inputs = graph.input.iter().map(|one| one.name.as_str());
    let constants = graph.initializer.iter().map(|one| one.name.as_str());
    inputs.chain(constants).chain(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)))
}
