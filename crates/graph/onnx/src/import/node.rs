//! A node as an importer sees it: operands, attributes, and the operations that it becomes.

use std::ops::Deref;
use std::path::Path;

use roci_graph::{DType, Graph, Node, Op, Operation as _, Tensor, ValueId};

use super::Builder;
use crate::Error;
use crate::attributes::Attributes;
use crate::proto::{AttributeProto, AttributeType, NodeProto};
use crate::tensor::{dtype, tensor};

/// A node that is being imported. Attributes are read through it (`node.int_or("axis", 1)`).
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

    /// The operation's name, prefixed with the domain if it is not ONNX's own: `Add`,
    /// `com.microsoft.FusedMatMul`.
    pub(crate) fn op(&self) -> String {
        if self.domain.is_empty() {
            self.proto.op_type.clone()
        } else {
            format!("{}.{}", self.domain, self.proto.op_type)
        }
    }

    /// The operator set version.
    pub(crate) fn version(&self) -> i64 {
        self.version
    }

    /// An operand, if present.
    pub(crate) fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    /// A required operand.
    pub(crate) fn required(&self, index: usize) -> Result<ValueId, Error> {
        self.input(index).ok_or_else(|| Error::invalid(format!("input {index} is missing")))
    }

    /// All operands.
    pub(crate) fn inputs(&self) -> &[Option<ValueId>] {
        &self.inputs
    }

    /// The number of outputs, without omitted ones at the end.
    pub(crate) fn outputs(&self) -> usize {
        self.proto.output.len()
    }

    /// Whether an output may be used.
    pub(crate) fn wants(&self, index: usize) -> bool {
        self.proto.output.get(index).is_some_and(|name| !name.is_empty())
    }

    /// The elements of a constant operand.
    pub(crate) fn known(&self, index: usize) -> Option<&Tensor> {
        self.builder.graph.constants.get(&self.input(index)?)
    }

    /// A tensor attribute.
    pub(crate) fn tensor(&self, name: &str) -> Result<Option<Tensor>, Error> {
        let Some(found) = self.attributes.of(name, AttributeType::Tensor)? else { return Ok(None) };
        found.t.as_ref().map(|one| tensor(one, self.builder.shared.folder)).transpose()
    }

    /// The folder of external data files.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.builder.shared.folder
    }

    /// A type attribute, given by ONNX's number.
    pub(crate) fn dtype(&self, name: &str) -> Result<Option<DType>, Error> {
        self.attributes.int(name)?.map(|number| dtype(i32::try_from(number).unwrap_or(0))).transpose()
    }

    /// A graph attribute, and the values of this graph that it captures, which are its last inputs.
    pub(crate) fn subgraph(&mut self, name: &str) -> Result<(Graph, Vec<ValueId>), Error> {
        let found = self.attributes.of(name, AttributeType::Graph)?.and_then(|one| one.g.as_ref());
        let found = found.ok_or_else(|| Error::invalid(format!("attribute `{name}` is missing")))?;
        self.builder.subgraph(found)
    }

    /// Emits an operation with the node's operands and outputs.
    pub(crate) fn emit(&mut self, op: impl Into<Op>) -> Result<bool, Error> {
        let inputs = self.inputs.clone();
        self.emit_with(op, &inputs)
    }

    /// Emits an operation with other operands and the node's outputs.
    pub(crate) fn emit_with(&mut self, op: impl Into<Op>, inputs: &[Option<ValueId>]) -> Result<bool, Error> {
        let count = self.proto.output.len();
        let result = self.add(op, inputs, count);
        for (index, id) in result.into_iter().enumerate() {
            if self.wants(index) {
                self.bind(index, id)?;
            }
        }
        Ok(true)
    }

    /// Adds an intermediate operation with one output.
    pub(crate) fn step(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.add(op, &inputs, 1)[0]
    }

    /// Adds an intermediate operation with several outputs.
    pub(crate) fn add(&mut self, op: impl Into<Op>, inputs: &[Option<ValueId>], outputs: usize) -> Vec<ValueId> {
        let name = self.name();
        let result: Vec<_> = (0..outputs).map(|_| self.builder.graph.value(&name)).collect();
        let op: Op = op.into();
        let kind = (op.name() != self.proto.op_type).then(|| self.proto.op_type.as_str().into());
        self.builder.graph.nodes.push(Node {
            name,
            op,
            kind,
            inputs: inputs.to_vec(),
            outputs: result.iter().copied().map(Some).collect(),
        });
        result
    }

    /// Adds a constant.
    pub(crate) fn constant(&mut self, tensor: Tensor) -> ValueId {
        let name = self.name();
        self.builder.graph.constant(name, tensor)
    }

    /// Makes a value the node's output of this index; no effect if the node does not have it.
    pub(crate) fn bind(&mut self, index: usize, id: ValueId) -> Result<bool, Error> {
        let proto = self.proto;
        if let Some(name) = proto.output.get(index).filter(|name| !name.is_empty()) {
            self.builder.bind(name, id)?;
            // Inputs are declared in order, so they are sorted.
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

    /// Fails if an attribute was not read or an output not set.
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
