//! Writes a graph with everything known of its values on the way: types, shapes, and elements where they are constant.
//!
//! Whoever makes a graph in code can so ask for the shape of what was made a line before, and what does not go together
//! is an error at the line that says it, with the node's name.

use crate::graph::{Declared, Dim};
use crate::interpreter::RunError;
use crate::ops::elementwise::{Binary, Unary};
use crate::ops::reduction::Fold;
use crate::ops::{Facts, Movement, Reduction};
use crate::{DType, Fact, Graph, Inputs, Node, Op, OpError, Operation, Tensor, Value, ValueId};

/// A graph that is being written.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    graph: Graph,
    facts: Vec<Option<Fact>>,
    /// What nodes are called from here on.
    name: String,
}

impl Builder {
    /// An empty graph.
    pub fn new(name: impl Into<String>) -> Self {
        Self { graph: Graph { name: name.into(), ..Graph::default() }, ..Self::default() }
    }

    /// Goes on with a graph. Its inputs must be declared as tensors of sizes that are known.
    pub fn of(graph: Graph) -> Result<Self, RunError> {
        let mut facts: Vec<Option<Fact>> = vec![None; graph.values.len()];
        for (id, tensor) in &graph.constants {
            facts[id.index()] = Some(tensor.into());
        }
        for id in &graph.inputs {
            let error = || RunError {
                node: graph.name(*id).to_owned(),
                op: "input",
                error: OpError::unsupported("a shape that is not declared"),
            };
            facts[id.index()] = Some(declared(&graph, *id).ok_or_else(error)?);
        }
        let mut builder = Self { graph, facts, name: String::new() };
        for index in 0..builder.graph.nodes.len() {
            builder.infer(index)?;
        }
        Ok(builder)
    }

    /// What was written.
    pub fn finish(self) -> Graph {
        self.graph
    }

    /// What was written so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Nodes from here on are called this.
    pub fn named(&mut self, name: impl Into<String>) -> &mut Self {
        self.name = name.into();
        self
    }

    /// An input.
    pub fn input(&mut self, name: impl Into<String>, dtype: DType, shape: &[usize]) -> ValueId {
        let id = self.graph.value(name);
        let dims = Some(shape.iter().map(|&size| Dim::Known(size)).collect());
        self.graph.values[id.index()].declared = Some(Declared::Tensor { dtype, dims });
        self.graph.inputs.push(id);
        self.know(id, Fact::new(dtype, shape));
        id
    }

    /// One more output.
    pub fn output(&mut self, id: ValueId) {
        self.graph.outputs.push(id);
    }

    /// A constant.
    pub fn constant(&mut self, tensor: Tensor) -> ValueId {
        let fact = Fact::from(&tensor);
        let id = self.graph.constant(format!("{} constant", self.name), tensor);
        self.know(id, fact);
        id
    }

    /// A constant list, as axes and sizes are given.
    pub fn list(&mut self, elements: impl IntoIterator<Item = i64>) -> ValueId {
        self.constant(Tensor::vector(elements.into_iter().collect()))
    }

    /// A constant that is one number, of the type of another value.
    pub fn number_like(&mut self, like: ValueId, number: f64) -> Result<ValueId, RunError> {
        let tensor = self.dtype(like).and_then(|dtype| Tensor::from_floats(dtype, [], &[number]));
        tensor.map(|tensor| self.constant(tensor)).map_err(|error| self.wrong("constant", error))
    }

    /// A step with one output.
    pub fn op(&mut self, op: impl Into<Op>, operands: &[ValueId]) -> Result<ValueId, RunError> {
        let operands: Vec<_> = operands.iter().copied().map(Some).collect();
        self.op_with(op, &operands, 1).map(|made| made[0])
    }

    /// A step with operands that may be missing, and so many outputs.
    pub fn op_with(
        &mut self,
        op: impl Into<Op>,
        operands: &[Option<ValueId>],
        outputs: usize,
    ) -> Result<Vec<ValueId>, RunError> {
        let name = self.name.clone();
        let made: Vec<_> = (0..outputs).map(|_| self.graph.value(&name)).collect();
        let outputs = made.iter().copied().map(Some).collect();
        self.graph.nodes.push(Node { name, op: op.into(), kind: None, inputs: operands.to_vec(), outputs });
        self.infer(self.graph.nodes.len() - 1)?;
        Ok(made)
    }

    /// An output of a node that is there, made if nobody asked for it before.
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

    /// What is known of a value.
    pub fn fact(&self, id: ValueId) -> Option<&Fact> {
        self.facts.get(id.index()).and_then(Option::as_ref)
    }

    /// The shape of a value.
    pub fn shape(&self, id: ValueId) -> Result<Vec<usize>, OpError> {
        let fact = self.fact(id).ok_or_else(|| OpError::invalid("a value that nothing makes"))?;
        fact.shape().map(<[usize]>::to_vec)
    }

    /// The type of a value.
    pub fn dtype(&self, id: ValueId) -> Result<DType, OpError> {
        self.fact(id).map(|fact| fact.dtype).ok_or_else(|| OpError::invalid("a value that nothing makes"))
    }

    /// A function of one value.
    pub fn map(&mut self, kind: Unary, x: ValueId) -> Result<ValueId, RunError> {
        self.op(kind, &[x])
    }

    /// A sum.
    pub fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Add, &[a, b])
    }

    /// A difference.
    pub fn sub(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Sub, &[a, b])
    }

    /// A product, element by element.
    pub fn mul(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Mul, &[a, b])
    }

    /// A quotient.
    pub fn div(&mut self, a: ValueId, b: ValueId) -> Result<ValueId, RunError> {
        self.op(Binary::Div, &[a, b])
    }

    /// A value times a number.
    pub fn scale(&mut self, x: ValueId, factor: f64) -> Result<ValueId, RunError> {
        let factor = self.number_like(x, factor)?;
        self.mul(x, factor)
    }

    /// The same elements in another shape.
    pub fn reshape(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, RunError> {
        if self.shape(x).is_ok_and(|own| own == shape) {
            return Ok(x);
        }
        let shape = self.list(shape.iter().map(|&size| size as i64));
        self.op(Movement::Reshape { allow_zero: true }, &[x, shape])
    }

    /// Axes in another order.
    pub fn transpose(&mut self, x: ValueId, perm: Vec<usize>) -> Result<ValueId, RunError> {
        if perm.is_sorted() {
            return Ok(x);
        }
        self.op(Movement::Transpose { perm: Some(perm) }, &[x])
    }

    /// Repeated to a shape that it can be broadcast to.
    pub fn expand(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, RunError> {
        if self.shape(x).is_ok_and(|own| own == shape) {
            return Ok(x);
        }
        let shape = self.list(shape.iter().map(|&size| size as i64));
        self.op(Movement::Expand, &[x, shape])
    }

    /// Folded along axes, which stay with size 1.
    pub fn fold(&mut self, x: ValueId, fold: Fold, axes: &[usize]) -> Result<ValueId, RunError> {
        let axes = self.list(axes.iter().map(|&axis| axis as i64));
        self.op(Reduction::Reduce { fold, keep: true, none_is_none: true }, &[x, axes])
    }

    /// The sum of everything that was made of one element when a value of `shape` was broadcast to this one.
    pub fn sum_to(&mut self, x: ValueId, shape: &[usize]) -> Result<ValueId, RunError> {
        let own = self.shape(x).map_err(|error| self.wrong("ReduceSum", error))?;
        let lead = own.len() - shape.len().min(own.len());
        let repeated = |axis: &usize| *axis < lead || shape[*axis - lead] == 1 && own[*axis] != 1;
        let axes: Vec<usize> = (0..own.len()).filter(repeated).collect();
        let sum = if axes.is_empty() { x } else { self.fold(x, Fold::Sum, &axes)? };
        self.reshape(sum, shape)
    }

    /// An error at the node that is being written.
    pub(crate) fn wrong(&self, op: &'static str, error: OpError) -> RunError {
        RunError { node: self.name.clone(), op, error }
    }

    fn know(&mut self, id: ValueId, fact: Fact) {
        self.facts.resize(self.graph.values.len(), None);
        self.facts[id.index()] = Some(fact);
    }

    /// Finds what a node makes.
    fn infer(&mut self, index: usize) -> Result<(), RunError> {
        let node = &self.graph.nodes[index];
        let facts: Vec<Option<Fact>> = node.inputs.iter().map(|id| self.fact((*id)?).cloned()).collect();
        let made =
            made(node, &facts).map_err(|error| RunError { node: node.name.clone(), op: node.op.name(), error })?;
        for (id, fact) in node.outputs.clone().into_iter().zip(made) {
            if let Some(id) = id {
                self.know(id, fact);
            }
        }
        Ok(())
    }
}

/// What is known of what a node makes; elements too, where those of its operands are known and few.
fn made(node: &Node, facts: &[Option<Fact>]) -> Result<Vec<Fact>, OpError> {
    const FEW: usize = 1 << 10;
    let made = node.op.infer(&Facts::new(facts, node.outputs.len()))?;
    let few = |fact: &Fact| fact.shape.as_ref().is_some_and(|shape| shape.iter().product::<usize>() <= FEW);
    let known = facts.iter().flatten().all(|fact| fact.value.is_some()) && !node.op.is_random();
    if !known || !made.iter().all(few) {
        return Ok(made);
    }
    let values: Vec<Option<Value>> =
        facts.iter().map(|fact| fact.as_ref().and_then(|fact| fact.value.clone()).map(Value::from)).collect();
    let operands: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
    let values = node.op.eval(&Inputs::new(&operands, node.outputs.len()))?;
    values.iter().map(|value| Ok(Fact::from(value.tensor()?))).collect()
}

fn declared(graph: &Graph, id: ValueId) -> Option<Fact> {
    let Declared::Tensor { dtype, dims: Some(dims) } = graph.values[id.index()].declared.as_ref()? else { return None };
    let size = |dim: &Dim| match dim {
        Dim::Known(size) => Some(*size),
        _ => None,
    };
    Some(Fact::new(*dtype, dims.iter().map(size).collect::<Option<Vec<_>>>()?))
}
