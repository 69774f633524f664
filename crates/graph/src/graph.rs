//! A graph: values, and nodes that make values of others.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{DType, Op, Operation as _, Tensor};

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// Its place in [`Graph::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The size of a dimension as a model states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A number.
    Known(usize),
    /// A name for a number that whoever runs the model decides.
    Symbol(String),
    /// Nothing is said.
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

/// The type of a value as a model states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declared {
    /// A tensor; without dimensions where nothing is said of them.
    Tensor {
        /// The type of its elements.
        dtype: DType,
        /// Its dimensions.
        dims: Option<Vec<Dim>>,
    },
    /// A sequence of values.
    Sequence(Box<Declared>),
    /// A value that may be missing.
    Optional(Box<Declared>),
}

/// What a graph says of a value.
#[derive(Clone, Debug, Default)]
pub struct ValueInfo {
    /// Its name in the model.
    pub name: String,
    /// Its type, where the model states it.
    pub declared: Option<Declared>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the model, or one made of its output.
    pub name: String,
    /// What it does.
    pub op: Op,
    /// What the model calls that, where it is another name than the operation has here.
    pub kind: Option<Arc<str>>,
    /// Its operands, in order; missing ones are `None`.
    pub inputs: Vec<Option<ValueId>>,
    /// What it makes, in order; what nobody asks for is `None`.
    pub outputs: Vec<Option<ValueId>>,
}

impl Node {
    /// What the model calls what it does.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or_else(|| self.op.name())
    }
}

/// A graph. Nodes stand in an order in which they can run.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Its name in the model.
    pub name: String,
    /// All values, by [`ValueId`].
    pub values: Vec<ValueInfo>,
    /// Values that are known.
    pub constants: BTreeMap<ValueId, Tensor>,
    /// The steps.
    pub nodes: Vec<Node>,
    /// Values that whoever runs it gives.
    pub inputs: Vec<ValueId>,
    /// Values that it gives back.
    pub outputs: Vec<ValueId>,
    /// Names of the outputs, where they are not those of the values: one value may be given back under several.
    pub output_names: Vec<String>,
}

impl Graph {
    /// A new value.
    pub fn value(&mut self, name: impl Into<String>) -> ValueId {
        self.values.push(ValueInfo { name: name.into(), declared: None });
        ValueId(self.values.len() as u32 - 1)
    }

    /// A new value that is known.
    pub fn constant(&mut self, name: impl Into<String>, tensor: Tensor) -> ValueId {
        let id = self.value(name);
        self.constants.insert(id, tensor);
        id
    }

    /// A new step with one output.
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

    /// The name of an output, by its place.
    pub fn output_name(&self, index: usize) -> &str {
        match self.output_names.get(index) {
            Some(name) => name,
            None => self.outputs.get(index).map_or("", |id| self.name(*id)),
        }
    }

    /// The name of a value.
    pub fn name(&self, id: ValueId) -> &str {
        self.values.get(id.index()).map_or("", |info| &info.name)
    }
}
