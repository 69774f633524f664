//! Lowers operations to dispatches, one file per family of operations.

mod attention;
mod build;
mod conv;
mod einsum;
mod elementwise;
mod indexing;
mod linear;
mod loss;
mod masks;
mod movement;
mod norm;
mod pool;
mod product;
mod quantize;
mod random;
mod recurrent;
mod reduction;
mod region;
mod resize;
mod rotary;
mod sample;
mod scatter;
mod signal;
mod source;
mod strided;

use roci_graph::{DType, Fact, Node, Op, OpError, Tensor, ValueId};
use roci_hal::DeviceInfo;
use roci_kernels::params::Numbers;

use crate::Precision;
use crate::error::LoweringError;
use crate::segment::{DeviceTensor, Segment, TensorId};
use crate::storage::WordType;
use crate::value_state::ValueTable;

/// A node that is being lowered, with its operands.
pub(crate) struct Context<'a, 'v> {
    values: &'a mut ValueTable<'v>,
    inputs: Vec<Option<ValueId>>,
    facts: Vec<Option<Fact>>,
    outputs: Vec<Fact>,
    /// Whether the graph uses each output.
    used_outputs: Vec<bool>,
}

impl<'a, 'v> Context<'a, 'v> {
    /// Creates the context of a node from the facts of its operands and outputs.
    pub(crate) fn new(
        values: &'a mut ValueTable<'v>,
        node: &Node,
        facts: Vec<Option<Fact>>,
        outputs: Vec<Fact>,
    ) -> Self {
        let used_outputs = node.outputs.iter().map(Option::is_some).collect();
        Self { values, inputs: node.inputs.clone(), facts, outputs, used_outputs }
    }

    /// The number of operands, including omitted ones before the last.
    pub(crate) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// The number of outputs.
    pub(crate) fn output_count(&self) -> usize {
        self.used_outputs.len()
    }

    /// Whether the graph uses an output.
    pub(crate) fn uses_output(&self, index: usize) -> bool {
        self.used_outputs.get(index).copied().unwrap_or(false)
    }

    /// The value of an operand, which must not be omitted.
    fn input(&self, index: usize) -> Result<ValueId, LoweringError> {
        let id = self.inputs.get(index).copied().flatten();
        id.ok_or(LoweringError::InvalidOperands(OpError::MissingInput(index)))
    }

    /// What is known about an operand; `None` if it is omitted.
    pub(crate) fn fact(&self, index: usize) -> Option<&Fact> {
        self.facts.get(index).and_then(Option::as_ref)
    }

    /// What is known about all operands.
    pub(crate) fn facts(&self) -> Vec<Option<Fact>> {
        self.facts.clone()
    }

    /// The shape of an operand.
    pub(crate) fn shape_of(&self, index: usize) -> Result<Vec<usize>, LoweringError> {
        let fact = self.fact(index).ok_or(LoweringError::InvalidOperands(OpError::MissingInput(index)))?;
        Ok(fact.shape()?.to_vec())
    }

    /// The inferred type and shape of an output.
    pub(crate) fn output(&self, index: usize) -> Result<&Fact, LoweringError> {
        self.outputs.get(index).ok_or_else(|| LoweringError::unsupported(format!("output {index}")))
    }

    /// An operand on the device, uploaded if necessary.
    pub(crate) fn operand(&mut self, index: usize) -> Result<DeviceTensor, LoweringError> {
        let id = self.input(index)?;
        self.values.on_device(id)
    }

    /// An operand on the device; `None` if it is omitted.
    pub(crate) fn optional(&mut self, index: usize) -> Result<Option<DeviceTensor>, LoweringError> {
        if self.inputs.get(index).copied().flatten().is_none() {
            return Ok(None);
        }
        self.operand(index).map(Some)
    }

    /// The elements of an operand on the host. If they are not known, the error makes the caller
    /// read them back and lower the node again.
    pub(crate) fn value(&self, index: usize) -> Result<&Tensor, LoweringError> {
        self.values.known(self.input(index)?).ok_or(LoweringError::NeedsValue(index))
    }

    /// A constant operand as f16; `None` if kernels read it as f32.
    pub(crate) fn constant_f16(&mut self, index: usize) -> Result<Option<DeviceTensor>, LoweringError> {
        match self.inputs.get(index).copied().flatten() {
            Some(id) => self.values.constant_f16(id),
            None => Ok(None),
        }
    }

    /// Uploads a lookup table, such as indices, that every run reads.
    pub(crate) fn table(&mut self, words: &[u32]) -> Result<DeviceTensor, LoweringError> {
        self.values.table(words)
    }

    /// The precision of matrix products.
    pub(crate) fn precision(&self) -> Precision {
        self.values.precision()
    }

    /// Allocates a tensor.
    pub(crate) fn new_tensor(&mut self, dtype: DType, shape: impl Into<Vec<usize>>) -> DeviceTensor {
        let shape = shape.into();
        let tensor_id = self.segment().allocate(shape.iter().product());
        DeviceTensor { tensor_id, dtype, shape }
    }

    /// Allocates the tensor of an output.
    pub(crate) fn new_output(&mut self, index: usize) -> Result<DeviceTensor, LoweringError> {
        let fact = self.output(index)?;
        let (dtype, shape) = (fact.dtype, fact.shape()?.to_vec());
        Ok(self.new_tensor(dtype, shape))
    }

    /// Marks the execution as not replayable, because the constants of a dispatch differ in every
    /// run.
    pub(crate) fn prevent_replay(&mut self) {
        self.values.is_replayable = false;
    }

    /// The segment that dispatches are appended to.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        &mut self.values.segment
    }

    /// A tensor for some bytes of an imported one; `None` if the tensor is not imported or too
    /// short.
    pub(crate) fn import_part(&mut self, tensor_id: TensorId, offset: u64, length: u64) -> Option<TensorId> {
        self.values.import_part(tensor_id, offset, length)
    }

    /// The device that kernels are selected for.
    pub(crate) fn info(&self) -> &DeviceInfo {
        self.values.info()
    }
}

/// Lowers an operation; returns its outputs.
pub(crate) fn lower(op: &Op, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let result = match op {
        // These round their results themselves, or only move elements.
        Op::Elementwise(op) => return elementwise::lower(op, context),
        Op::Movement(op) => return movement::lower(op, context),
        Op::Indexing(op) => return indexing::lower(op, context),
        Op::Source(op) => return source::lower(op, context),
        Op::Quantize(op) => return quantize::lower(op, context),
        Op::Product(op) => product::lower(op, context),
        Op::Pool(op) => pool::lower(op, context),
        Op::Reduction(op) => reduction::lower(op, context),
        Op::Norm(op) => norm::lower(op, context),
        Op::Recurrent(op) => recurrent::lower(op, context),
        Op::AttentionOp(op) => rotary::lower(op, context),
        Op::Signal(op) => signal::lower(op, context),
        Op::Random(op) => random::lower(op, context),
        other => Err(LoweringError::unsupported(format!("no kernel for {other:?}"))),
    }?;
    // Sums of narrow integers wrap around. Integer results of the other operations fit their type.
    let needs_rounding = |one: &DeviceTensor| one.dtype.is_float() || matches!(op, Op::Reduction(_));
    result.into_iter().map(|one| if needs_rounding(&one) { context.round_to_dtype(one) } else { Ok(one) }).collect()
}

/// A size as a kernel constant.
fn word(size: usize) -> Result<u32, LoweringError> {
    u32::try_from(size).map_err(|_| LoweringError::unsupported(format!("{size} elements")))
}

/// Up to three sizes, padded in front with `lead`.
fn padded_sizes(sizes: impl ExactSizeIterator<Item = usize>, lead: u32) -> Result<[u32; 3], LoweringError> {
    let mut result = [lead; 3];
    let first = 3 - sizes.len().min(3);
    for (into, size) in result[first..].iter_mut().zip(sizes) {
        *into = word(size)?;
    }
    Ok(result)
}

/// The element type that kernels use for a type.
fn element_type(dtype: DType) -> Result<Numbers, LoweringError> {
    match WordType::of(dtype) {
        Some(WordType::Float) => Ok(Numbers::F32),
        Some(WordType::Signed) => Ok(Numbers::I32),
        Some(WordType::Unsigned) => Ok(Numbers::U32),
        None => Err(LoweringError::unsupported(format!("elements of type {dtype}"))),
    }
}
