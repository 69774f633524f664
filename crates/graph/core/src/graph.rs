//! The graph: values, and nodes that compute values from others.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{DType, Op, Operation as _, Tensor};

/// The ID of a value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// The index in [`Graph::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The size of a dimension as the model declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A fixed size.
    Known(usize),
    /// A named size that is decided when the model runs.
    Symbol(String),
    /// Not declared.
    Unknown,
}

impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Known(size) => write!(f, "{size}"),
            Self::Symbol(name) => f.write_str(name),
            Self::Unknown => f.write_str("?"),
        }
    }
}

/// The type of a value as the model declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredType {
    /// A tensor, with what the model states of it.
    Tensor {
        /// The type of the elements.
        dtype: DType,
        /// The dimensions; `None` if the model declares none.
        dims: Option<Vec<Dim>>,
    },
    /// A sequence of values.
    Sequence(Box<DeclaredType>),
    /// An optional value.
    Optional(Box<DeclaredType>),
}

/// The name and the declared type of a value.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ValueInfo {
    /// The name in the model.
    pub name: String,
    /// The type that the model declares.
    pub declared: Option<DeclaredType>,
}

/// A node: one operation with its operands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name in the model, or one that is derived from its output.
    pub name: String,
    /// The operation.
    pub op: Op,
    /// The operation's name in the model, if it differs from
    /// [`Operation::name`](crate::Operation::name).
    pub kind: Option<Arc<str>>,
    /// The operands, in order; `None` for omitted ones.
    pub inputs: Vec<Option<ValueId>>,
    /// The outputs, in order; `None` for unused ones.
    pub outputs: Vec<Option<ValueId>>,
}

impl Node {
    /// The operation's name in the model.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or_else(|| self.op.name())
    }
}

/// A graph. Nodes are in topological order.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The name in the model.
    pub name: String,
    /// All values, by [`ValueId`].
    pub values: Vec<ValueInfo>,
    /// Values that are known before a run, such as weights.
    pub constants: BTreeMap<ValueId, Tensor>,
    /// In an order in which each follows the nodes that it reads.
    pub nodes: Vec<Node>,
    /// Values that the caller provides, in the model's order.
    pub inputs: Vec<ValueId>,
    /// Values that a run returns, in the model's order.
    pub outputs: Vec<ValueId>,
    /// Output names, if they differ from the names of the values: one value can be several outputs.
    pub output_names: Vec<String>,
}

impl Graph {
    /// Adds a value.
    pub fn value(&mut self, name: impl Into<String>) -> ValueId {
        self.values.push(ValueInfo { name: name.into(), declared: None });
        ValueId(self.values.len() as u32 - 1)
    }

    /// Adds a constant.
    pub fn constant(&mut self, name: impl Into<String>, tensor: Tensor) -> ValueId {
        let id = self.value(name);
        self.constants.insert(id, tensor);
        id
    }

    /// Adds a node with one output, and returns the output.
    pub fn node(&mut self, name: &str, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let output = self.value(name);
        self.nodes.push(Node {
            name: name.to_owned(),
            op: op.into(),
            kind: None,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: vec![Some(output)],
        });
        output
    }

    /// Name under which an output is returned: its own, or its value's.
    pub fn output_name(&self, index: usize) -> &str {
        match self.output_names.get(index) {
            Some(name) => name,
            None => self.outputs.get(index).map_or("", |id| self.name(*id)),
        }
    }

    /// Name in the model; empty for values without one.
    pub fn name(&self, id: ValueId) -> &str {
        self.values.get(id.index()).map_or("", |info| &info.name)
    }
}
