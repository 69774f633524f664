//! From operations to kernels, a file a family.

mod attend;
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
mod sample;
mod scatter;
mod signal;
mod source;
mod strided;

use roci_graph::{DType, Fact, Node, Op, Tensor, ValueId};
use roci_kernels::params::Numbers;

use crate::error::Refusal;
use crate::segment::{Segment, Slot};
use crate::storage::Word;
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
    /// Which outputs somebody uses.
    wanted: Vec<bool>,
}

impl<'a, 'w> Context<'a, 'w> {
    pub(crate) fn new(walk: &'a mut Walk<'w>, node: &Node, facts: Vec<Option<Fact>>, outputs: Vec<Fact>) -> Self {
        let wanted = node.outputs.iter().map(Option::is_some).collect();
        Self { walk, inputs: node.inputs.clone(), facts, outputs, wanted }
    }

    /// What is known of an operand; `None` where it is missing.
    pub(crate) fn fact(&self, index: usize) -> Option<&Fact> {
        self.facts.get(index).and_then(Option::as_ref)
    }

    /// Type and shape of what comes out.
    pub(crate) fn output(&self, index: usize) -> Result<&Fact, Refusal> {
        self.outputs.get(index).ok_or_else(|| Refusal::unsupported(format!("output {index}")))
    }

    /// How many outputs the node has.
    pub(crate) fn outputs(&self) -> usize {
        self.wanted.len()
    }

    /// Whether somebody uses an output.
    pub(crate) fn wants(&self, index: usize) -> bool {
        self.wanted.get(index).copied().unwrap_or(false)
    }

    /// What is known of all operands.
    pub(crate) fn facts(&self) -> Vec<Option<Fact>> {
        self.facts.clone()
    }

    /// Words that every run needs, such as indices.
    pub(crate) fn table(&mut self, words: &[u32]) -> Result<Operand, Refusal> {
        self.walk.table(words)
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

    /// The shape of an operand.
    pub(crate) fn shape_of(&self, index: usize) -> Result<Vec<usize>, Refusal> {
        let fact = self.fact(index).ok_or(Refusal::Wrong(roci_graph::OpError::MissingInput(index)))?;
        Ok(fact.shape()?.to_vec())
    }

    /// A constant operand as 16-bit floats; `None` where kernels take it as it is.
    pub(crate) fn halves(&mut self, index: usize) -> Result<Option<Operand>, Refusal> {
        match self.inputs.get(index).copied().flatten() {
            Some(id) => self.walk.halves(id),
            None => Ok(None),
        }
    }

    /// What products are computed in.
    pub(crate) fn precision(&self) -> crate::Precision {
        self.walk.precision()
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

    /// What is made now differs in every run, so that no recording of it may be replayed.
    pub(crate) fn differs_every_run(&mut self) {
        self.walk.differs_every_run();
    }

    /// Where kernels go.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        self.walk.segment()
    }

    /// Some bytes of a tensor that lies in memory of its own.
    pub(crate) fn part_of(&mut self, slot: Slot, offset: u64, length: u64) -> Option<Slot> {
        self.walk.part_of(slot, offset, length)
    }

    /// The device.
    pub(crate) fn info(&self) -> &roci_hal::DeviceInfo {
        self.walk.info()
    }
}

/// Lowers an operation: its outputs on the device.
pub(crate) fn lower(op: &Op, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let made = match op {
        // These round their results themselves, or move elements as they are.
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
        Op::Attend(op) => attend::lower(op, context),
        Op::Signal(op) => signal::lower(op, context),
        Op::Random(op) => random::lower(op, context),
        other => Err(Refusal::unsupported(format!("there is no kernel for {other:?}"))),
    }?;
    // Sums of small integers wrap; where other integers come out they are small already.
    let is_narrow = |one: &Operand| one.dtype.is_float() || matches!(op, Op::Reduction(_));
    made.into_iter().map(|one| if is_narrow(&one) { context.narrowed(one) } else { Ok(one) }).collect()
}

/// A size as kernels take it.
fn word(size: usize) -> Result<u32, Refusal> {
    u32::try_from(size).map_err(|_| Refusal::unsupported(format!("{size} elements")))
}

/// Up to three sizes, led by others.
fn three(sizes: impl ExactSizeIterator<Item = usize>, lead: u32) -> Result<[u32; 3], Refusal> {
    let mut made = [lead; 3];
    let first = 3 - sizes.len().min(3);
    for (into, size) in made[first..].iter_mut().zip(sizes) {
        *into = word(size)?;
    }
    Ok(made)
}

/// How kernels read the words of a type.
fn numbers(dtype: DType) -> Result<Numbers, Refusal> {
    match Word::of(dtype) {
        Some(Word::Float) => Ok(Numbers::F32),
        Some(Word::Signed) => Ok(Numbers::I32),
        Some(Word::Unsigned) => Ok(Numbers::U32),
        None => Err(Refusal::unsupported(format!("elements of type {dtype}"))),
    }
}
