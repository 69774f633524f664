//! A node as a family sees it: operands, attributes, and where to put the operations that it becomes.

use std::ops::Deref;
use std::path::Path;

use roci_graph::{DType, Graph, Node, Op, Operation as _, Tensor, ValueId};

use super::Builder;
use crate::Error;
use crate::attributes::Attributes;
use crate::proto::{AttributeProto, AttributeType, NodeProto};
use crate::tensor::{dtype, tensor};

/// A node while it becomes operations. Attributes are read through it (`node.int_or("axis", 1)`).
pub(crate) struct NodeContext<'b, 'a> {
    builder: &'b mut Builder<'a>,
    proto: &'b NodeProto,
    attributes: Attributes<'b>,
    domain: &'b str,
    version: i64,
    inputs: Vec<Option<ValueId>>,
}

impl<'b> Deref for NodeContext<'b, '_> {
    type Target = Attributes<'b>;

    fn deref(&self) -> &Attributes<'b> {
        &self.attributes
    }
}

impl<'b, 'a> NodeContext<'b, 'a> {
    pub(super) fn new(
        builder: &'b mut Builder<'a>,
        proto: &'b NodeProto,
        attributes: &'b [AttributeProto],
        domain: &'b str,
        version: i64,
    ) -> Result<Self, Error> {
        let inputs = proto.input.iter().map(|name| builder.find(name)).collect::<Result<_, _>>()?;
        Ok(Self { builder, proto, attributes: Attributes::new(attributes), domain, version, inputs })
    }

    /// The operation's name, with the domain in front where that is not ONNX's own: `Add`, `com.microsoft.FusedMatMul`.
    pub(crate) fn op(&self) -> String {
        if self.domain.is_empty() {
            self.proto.op_type.clone()
        } else {
            format!("{}.{}", self.domain, self.proto.op_type)
        }
    }

    /// The version of the operation set.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    /// An operand, if it is there.
    pub(crate) fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    /// An operand that must be there.
    pub(crate) fn required(&self, index: usize) -> Result<ValueId, Error> {
        self.input(index).ok_or_else(|| Error::invalid(format!("input {index} is missing")))
    }

    /// All operands.
    pub(crate) fn inputs(&self) -> &[Option<ValueId>] {
        &self.inputs
    }

    /// How many outputs the node has, those that nobody names at the end not counted.
    pub(crate) fn outputs(&self) -> usize {
        self.proto.output.len()
    }

    /// Whether somebody may use an output.
    pub(crate) fn wants(&self, index: usize) -> bool {
        self.proto.output.get(index).is_some_and(|name| !name.is_empty())
    }

    /// The elements of an operand that the model knows already.
    pub(crate) fn known(&self, index: usize) -> Option<&Tensor> {
        self.builder.graph.constants.get(&self.input(index)?)
    }

    /// A tensor among the attributes.
    pub(crate) fn tensor(&self, name: &str) -> Result<Option<Tensor>, Error> {
        let Some(found) = self.attributes.of(name, AttributeType::Tensor)? else { return Ok(None) };
        found.t.as_ref().map(|one| tensor(one, self.builder.shared.folder)).transpose()
    }

    /// Where files lie that the model may refer to.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.builder.shared.folder
    }

    /// A type among the attributes, given by ONNX's number.
    pub(crate) fn dtype(&self, name: &str) -> Result<Option<DType>, Error> {
        self.attributes.int(name)?.map(|number| dtype(i32::try_from(number).unwrap_or(0))).transpose()
    }

    /// A graph among the attributes, and the values of this graph that it uses: they are its inputs behind its own.
    pub(crate) fn subgraph(&mut self, name: &str) -> Result<(Graph, Vec<ValueId>), Error> {
        let found = self.attributes.of(name, AttributeType::Graph)?.and_then(|one| one.g.as_ref());
        let found = found.ok_or_else(|| Error::invalid(format!("attribute `{name}` is missing")))?;
        self.builder.subgraph(found)
    }

    /// The node becomes this operation, operands and outputs as they are.
    pub(crate) fn emit(&mut self, op: impl Into<Op>) -> Result<bool, Error> {
        let inputs = self.inputs.clone();
        self.emit_with(op, &inputs)
    }

    /// The node becomes this operation with other operands.
    pub(crate) fn emit_with(&mut self, op: impl Into<Op>, inputs: &[Option<ValueId>]) -> Result<bool, Error> {
        let count = self.proto.output.len();
        let made = self.add(op, inputs, count);
        for (index, id) in made.into_iter().enumerate() {
            if self.wants(index) {
                self.bind(index, id)?;
            }
        }
        Ok(true)
    }

    /// A step on the way, with one output.
    pub(crate) fn step(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.add(op, &inputs, 1)[0]
    }

    /// A step on the way, with several outputs.
    pub(crate) fn add(&mut self, op: impl Into<Op>, inputs: &[Option<ValueId>], outputs: usize) -> Vec<ValueId> {
        let name = self.name();
        let made: Vec<_> = (0..outputs).map(|_| self.builder.graph.value(&name)).collect();
        let op: Op = op.into();
        let kind = (op.name() != self.proto.op_type).then(|| self.proto.op_type.as_str().into());
        self.builder.graph.nodes.push(Node {
            name,
            op,
            kind,
            inputs: inputs.to_vec(),
            outputs: made.iter().copied().map(Some).collect(),
        });
        made
    }

    /// A constant.
    pub(crate) fn constant(&mut self, tensor: Tensor) -> ValueId {
        let name = self.name();
        self.builder.graph.constant(name, tensor)
    }

    /// This value is the node's output of that index; without effect where the node has none.
    pub(crate) fn bind(&mut self, index: usize, id: ValueId) -> Result<bool, Error> {
        let proto = self.proto;
        if let Some(name) = proto.output.get(index).filter(|name| !name.is_empty()) {
            self.builder.bind(name, id)?;
            // Inputs are declared one after the other, so that they are sorted.
            if let Some(info) = self.builder.graph.values.get_mut(id.index())
                && self.builder.graph.inputs.binary_search(&id).is_err()
                && !self.builder.graph.constants.contains_key(&id)
            {
                info.name.clone_from(name);
            }
        }
        Ok(true)
    }

    /// The node's name, or that of its first output.
    fn name(&self) -> String {
        let names = [Some(&self.proto.name), self.proto.output.first()];
        names.into_iter().flatten().find(|name| !name.is_empty()).cloned().unwrap_or_else(|| self.proto.op_type.clone())
    }

    /// An error where an attribute was not read, or an output not made.
    pub(super) fn finish(&self) -> Result<(), Error> {
        self.attributes.finish()?;
        for name in self.proto.output.iter().filter(|name| !name.is_empty()) {
            if self.builder.find(name).is_err() {
                return Err(Error::invalid(format!("output `{name}` is not supported")));
            }
        }
        Ok(())
    }
}
