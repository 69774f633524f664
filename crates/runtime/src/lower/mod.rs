//! From operations to kernels, a file a family.

use roci_graph::{DType, Fact, Node, Op, Tensor, ValueId};

use crate::error::Refusal;
use crate::segment::{Segment, Slot};
use crate::walk::Walk;

/// A tensor on the device.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) slot: Slot,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

impl Operand {
    /// Elements.
    pub(crate) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The same elements in another shape.
    pub(crate) fn reshaped(&self, shape: impl Into<Vec<usize>>) -> Self {
        Self { shape: shape.into(), ..self.clone() }
    }
}

/// A node while it is lowered.
pub(crate) struct Context<'a, 'w> {
    walk: &'a mut Walk<'w>,
    inputs: Vec<Option<ValueId>>,
    facts: Vec<Option<Fact>>,
    outputs: Vec<Fact>,
}

impl<'a, 'w> Context<'a, 'w> {
    pub(crate) fn new(walk: &'a mut Walk<'w>, node: &Node, facts: Vec<Option<Fact>>, outputs: Vec<Fact>) -> Self {
        Self { walk, inputs: node.inputs.clone(), facts, outputs }
    }

    /// What is known of an operand; `None` where it is missing.
    pub(crate) fn fact(&self, index: usize) -> Option<&Fact> {
        self.facts.get(index).and_then(Option::as_ref)
    }

    /// Type and shape of what comes out.
    pub(crate) fn output(&self, index: usize) -> Result<&Fact, Refusal> {
        self.outputs.get(index).ok_or_else(|| Refusal::unsupported(format!("output {index}")))
    }

    /// How many operands there are, missing ones in between counted.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// An operand on the device.
    pub(crate) fn operand(&mut self, index: usize) -> Result<Operand, Refusal> {
        let id = self.inputs.get(index).copied().flatten();
        let id = id.ok_or(Refusal::Wrong(roci_graph::OpError::MissingInput(index)))?;
        self.walk.on_device(id)
    }

    /// An operand on the device that may be missing.
    pub(crate) fn optional(&mut self, index: usize) -> Result<Option<Operand>, Refusal> {
        if self.inputs.get(index).copied().flatten().is_none() {
            return Ok(None);
        }
        self.operand(index).map(Some)
    }

    /// The elements of an operand, which are asked for where they are not known.
    pub(crate) fn value(&self, index: usize) -> Result<&Tensor, Refusal> {
        let id = self.inputs.get(index).copied().flatten();
        let id = id.ok_or(Refusal::Wrong(roci_graph::OpError::MissingInput(index)))?;
        self.walk.known(id).ok_or(Refusal::NeedsValue(index))
    }

    /// A new tensor.
    pub(crate) fn new_tensor(&mut self, dtype: DType, shape: impl Into<Vec<usize>>) -> Operand {
        let shape = shape.into();
        let slot = self.segment().allocate(shape.iter().product());
        Operand { slot, dtype, shape }
    }

    /// A new tensor for an output.
    pub(crate) fn new_output(&mut self, index: usize) -> Result<Operand, Refusal> {
        let fact = self.output(index)?;
        let (dtype, shape) = (fact.dtype, fact.shape()?.to_vec());
        Ok(self.new_tensor(dtype, shape))
    }

    /// Where kernels go.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        self.walk.segment()
    }

    /// The device.
    pub(crate) fn device(&self) -> &roci_hal::Device {
        self.walk.device()
    }
}

/// Lowers an operation: its outputs on the device.
pub(crate) fn lower(op: &Op, _context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    Err(Refusal::unsupported(format!("there is no kernel for it yet ({op:?})")))
}
