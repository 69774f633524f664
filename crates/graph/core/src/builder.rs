//! Builds a graph and infers type, shape and constant elements of every value as it is added.
//!
//! Code that builds a graph can therefore query the shape of a value right after adding it, and
//! operands that do not match are an error at the call that adds the node, with the node's name.

use crate::graph::{DeclaredType, Dim};
use crate::interpreter::RunError;
use crate::ops::elementwise::{Binary, Unary};
use crate::ops::reduction::ReduceKind;
use crate::ops::{Facts, Movement, Reduction};
use crate::{DType, Fact, Graph, Inputs, Node, Op, OpError, Operation, Tensor, Value, ValueId};

/// Builds a graph node by node.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    graph: Graph,
    facts: Vec<Option<Fact>>,
    /// The name of the next nodes.
    name: String,
}

impl GraphBuilder {
    /// Starts an empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        Self { graph: Graph { name: name.into(), ..Graph::default() }, ..Self::default() }
    }

    /// Continues a graph. Its inputs must be declared as tensors of known size.
    pub fn of(graph: Graph) -> Result<Self, RunError> {
        let mut facts: Vec<Option<Fact>> = vec![None; graph.values.len()];
        for (id, tensor) in &graph.constants {
            facts[id.index()] = Some(tensor.into());
        }
        for id in &graph.inputs {
            let error = || RunError {
                node: graph.name(*id).to_owned(),
                op: "input",
                error: OpError::unsupported("an input without a declared shape"),
            };
            facts[id.index()] = Some(declared(&graph, *id).ok_or_else(error)?);
        }
        let mut builder = Self { graph, facts, name: String::new() };
        for index in 0..builder.graph.nodes.len() {
            builder.infer(index)?;
        }
        Ok(builder)
    }

    /// Returns the graph.
    pub fn finish(self) -> Graph {
        self.graph
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Sets the name of the next nodes.
    pub fn name_nodes(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = name.into();
        self
    }

    /// Adds an input.
    pub fn input(&mut self, name: impl Into<String>, dtype: DType, shape: &[usize]) -> ValueId {
        let id = self.graph.value(name);
        let dims = Some(shape.iter().map(|&size| Dim::Known(size)).collect());
        self.graph.values[id.index()].declared = Some(DeclaredType::Tensor { dtype, dims });
        self.graph.inputs.push(id);
        self.know(id, Fact::new(dtype, shape));
        id
    }

    /// Adds an output.
    pub fn output(&mut self, id: ValueId) {
        self.graph.outputs.push(id);
    }

    /// Adds a constant.
    pub fn constant(&mut self, tensor: Tensor) -> ValueId {
        let fact = Fact::from(&tensor);
        let id = self.graph.constant(format!("{} constant", self.name), tensor);
        self.know(id, fact);
        id
    }

    /// Adds a constant list of integers, such as axes or sizes.
    pub fn list(&mut self, elements: impl IntoIterator<Item = i64>) -> ValueId {
        self.constant(Tensor::vector(elements.into_iter().collect()))
    }

    /// Adds a scalar constant of the type of another value.
    pub fn number_like(&mut self, like: ValueId, number: f64) -> Result<ValueId, RunError> {
        let tensor = self.dtype(like).and_then(|dtype| Tensor::from_floats(dtype, [], &[number]));
        tensor.map(|tensor| self.constant(tensor)).map_err(|error| self.wrong("constant", error))
    }

    /// Adds a node with one output.
    pub fn op(&mut self, op: impl Into<Op>, operands: &[ValueId]) -> Result<ValueId, RunError> {
        let operands: Vec<_> = operands.iter().copied().map(Some).collect();
        self.op_with(op, &operands, 1).map(|result| result[0])
    }

    /// Adds a node with operands that may be omitted and this many outputs.
    pub fn op_with(
        &mut self,
        op: impl Into<Op>,
        operands: &[Option<ValueId>],
        outputs: usize,
    ) -> Result<Vec<ValueId>, RunError> {
        let name = self.name.clone();
        let result: Vec<_> = (0..outputs).map(|_| self.graph.value(&name)).collect();
        let outputs = result.iter().copied().map(Some).collect();
        self.graph.nodes.push(Node { name, op: op.into(), kind: None, inputs: operands.to_vec(), outputs });
        self.infer(self.graph.nodes.len() - 1)?;
        Ok(result)
    }

    /// An output of an existing node, added if the node does not have it yet.
    pub fn output_of(&mut self, node: usize, index: usize) -> Result<ValueId, RunError> {
        let name = self.graph.nodes[node].name.clone();
        let known = self.graph.nodes[node].outputs.get(index).copied().flatten();
        if let Some(id) = known {
            return Ok(id);
        }
        let id = self.graph.value(format!("{name}.{index}"));
        let outputs = &mut self.graph.nodes[node].outputs;
        outputs.resize(outputs.len().max(index + 1), None);
        outputs[index] = Some(id);
        self.infer(node)?;
        Ok(id)
    }

    /// What is known about a value.
    pub fn fact(&self, id: ValueId) -> Option<&Fact> {
        self.facts.get(id.index()).and_then(Option::as_ref)
    }

    /// Shape as inferred so far; an error if it is unknown.
    pub fn shape(&self, id: ValueId) -> Result<Vec<usize>, OpError> {
        let fact = self.fact(id).ok_or_else(|| OpError::invalid("no node produces this value"))?;
        fact.shape().map(<[usize]>::to_vec)
    }

    /// The type of a value.
    pub fn dtype(&self, id: ValueId) -> Result<DType, OpError> {
        self.fact(id).map(|fact| fact.dtype).ok_or_else(|| OpError::invalid("no node produces this value"))
    }

    /// Applies a unary operation.
    pub fn map(&mut self, kind: Unary, x: ValueId) -> Result<ValueId, RunError> {
        self.op(kind, &[x])
    }

    /// Adds two values.
    pub fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Add, &[a, b])
    }

    /// Subtracts two values.
    pub fn sub(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Sub, &[a, b])
    }

    /// Multiplies two values element by element.
    pub fn mul(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Mul, &[a, b])
    }

    /// Divides two values.
    pub fn div(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Div, &[a, b])
    }

    /// Multiplies a value by a number.
    pub fn scale(&mut self, x: ValueId, factor: f64) -> Result<ValueId, RunError> {
        let factor = self.number_like(x, factor)?;
        self.mul(x, factor)
    }

    /// Reshapes a value.
    pub fn reshape(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, RunError> {
        if self.shape(x).is_ok_and(|own| own == shape) {
            return Ok(x);
        }
        let shape = self.list(shape.iter().map(|&size| size as i64));
        self.op(Movement::Reshape { allow_zero: true }, &[x, shape])
    }

    /// Permutes the axes of a value.
    pub fn transpose(&mut self, x: ValueId, perm: Vec<usize>) -> Result<ValueId, RunError> {
        if perm.is_sorted() {
            return Ok(x);
        }
        self.op(Movement::Transpose { perm: Some(perm) }, &[x])
    }

    /// Broadcasts a value to a shape.
    pub fn expand(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, RunError> {
        if self.shape(x).is_ok_and(|own| own == shape) {
            return Ok(x);
        }
        let shape = self.list(shape.iter().map(|&size| size as i64));
        self.op(Movement::Expand, &[x, shape])
    }

    /// Reduces axes, which are kept with size 1.
    pub fn fold(&mut self, x: ValueId, fold: ReduceKind, axes: &[usize]) -> Result<ValueId, RunError> {
        let axes = self.list(axes.iter().map(|&axis| axis as i64));
        self.op(Reduction::Reduce { fold, keep: true, noop_with_empty_axes: true }, &[x, axes])
    }

    /// The adjoint of a broadcast from `shape`: sums over the elements that one element was
    /// repeated to.
    pub fn sum_to(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, RunError> {
        let own = self.shape(x).map_err(|error| self.wrong("ReduceSum", error))?;
        let lead = own.len() - shape.len().min(own.len());
        let repeated = |axis: &usize| *axis < lead || shape[*axis - lead] == 1 && own[*axis] != 1;
        let axes: Vec<usize> = (0..own.len()).filter(repeated).collect();
        let sum = if axes.is_empty() { x } else { self.fold(x, ReduceKind::Sum, &axes)? };
        self.reshape(sum, shape)
    }

    /// An error at the current node.
    pub(crate) fn wrong(&self, op: &'static str, error: OpError) -> RunError {
        RunError { node: self.name.clone(), op, error }
    }

    fn know(&mut self, id: ValueId, fact: Fact) {
        self.facts.resize(self.graph.values.len(), None);
        self.facts[id.index()] = Some(fact);
    }

    /// Infers the outputs of a node.
    fn infer(&mut self, index: usize) -> Result<(), RunError> {
        let node = &self.graph.nodes[index];
        let facts: Vec<Option<Fact>> = node.inputs.iter().map(|id| self.fact((*id)?).cloned()).collect();
        let result =
            result(node, &facts).map_err(|error| RunError { node: node.name.clone(), op: node.op.name(), error })?;
        for (id, fact) in node.outputs.clone().into_iter().zip(result) {
            if let Some(id) = id {
                self.know(id, fact);
            }
        }
        Ok(())
    }
}

/// The facts of a node's outputs, with elements if the operands are constant and few.
fn result(node: &Node, facts: &[Option<Fact>]) -> Result<Vec<Fact>, OpError> {
    const MAX_KNOWN_ELEMENTS: usize = 1 << 10;
    let result = node.op.infer(&Facts::new(facts, node.outputs.len()))?;
    let few =
        |fact: &Fact| fact.shape.as_ref().is_some_and(|shape| shape.iter().product::<usize>() <= MAX_KNOWN_ELEMENTS);
    let known = facts.iter().flatten().all(|fact| fact.value.is_some()) && !node.op.is_random();
    if !known || !result.iter().all(few) {
        return Ok(result);
    }
    let values: Vec<Option<Value>> =
        facts.iter().map(|fact| fact.as_ref().and_then(|fact| fact.value.clone()).map(Value::from)).collect();
    let operands: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
    let values = node.op.eval(&Inputs::new(&operands, node.outputs.len()))?;
    values.iter().map(|value| Ok(Fact::from(value.tensor()?))).collect()
}

fn declared(graph: &Graph, id: ValueId) -> Option<Fact> {
    let DeclaredType::Tensor { dtype, dims: Some(dims) } = graph.values[id.index()].declared.as_ref()? else {
        return None;
    };
    let size = |dim: &Dim| match dim {
        Dim::Known(size) => Some(*size),
        _ => None,
    };
    Some(Fact::new(*dtype, dims.iter().map(size).collect::<Option<Vec<_>>>()?))
}
