//! Programs of `chain`, taken apart and put together.

use roci_kernels::params::{Chain, ChainCode, ChainOp, ChainOperand, Params as _};

use super::chain_of;
use crate::segment::{Slot, Step};

/// Dimensions that `chain` walks.
const WALKED: usize = 4;
/// The temporary that `Select` reads without naming it.
const SELECTED: u8 = 3;

/// What an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// None, or a temporary to save to, or a dimension: the bits as they are.
    Field(u8),
    /// By place in [`Program::inputs`].
    Input(usize),
    Temporary(u8),
    Word(u32),
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) op: ChainOp,
    pub(crate) operand: Operand,
}

/// An input: where it lies, and its strides in the dimensions of the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) slot: Slot,
    pub(crate) strides: Vec<u32>,
}

/// A program with the walk that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Sizes of the walk, outermost first.
    pub(crate) sizes: Vec<u32>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) code: Vec<Instruction>,
}

impl Program {
    /// The program of an element-wise step.
    pub(crate) fn of(step: &Step) -> Option<Self> {
        let chain = chain_of(step)?;
        let inner: u32 = chain.shape.iter().product();
        let mut sizes = vec![chain.count.checked_div(inner)?];
        sizes.extend(chain.shape);
        let mut program = Self { sizes, inputs: Vec::new(), code: Vec::new() };
        // What is bound and not named is not an input.
        let mut places = [None; 3];
        for at in 0..chain.program.len() * 2 {
            let bits = chain.program[at / 2] >> (at % 2 * 16) & 0xffff;
            let (op, field) = (ChainOp::of(bits as u8)?, (bits >> 8) as u8 & 15);
            let operand = match field {
                _ if op == ChainOp::End => break,
                _ if !op.takes_operand() => Operand::Field(field),
                0..3 => {
                    let at = usize::from(field);
                    let place = *places[at].get_or_insert_with(|| {
                        let strides = chain.strides[at * WALKED..][..WALKED].to_vec();
                        program.inputs.push(Input { slot: step.bindings[at].0, strides });
                        program.inputs.len() - 1
                    });
                    Operand::Input(place)
                }
                4..8 => Operand::Temporary(field - 4),
                8.. => Operand::Word(chain.immediates[usize::from(field - 8)]),
                3 => return None,
            };
            program.code.push(Instruction { op, operand });
        }
        Some(program)
    }

    /// The slots that it reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Slot> {
        self.inputs.iter().map(|input| input.slot)
    }

    /// Whether an input is read in the order in which it lies.
    pub(crate) fn is_dense(&self, input: &Input) -> bool {
        let mut stride = 1u32;
        self.sizes.iter().zip(&input.strides).rev().all(|(&size, &own)| {
            let fits = size == 1 || own == stride;
            stride = stride.saturating_mul(size);
            fits
        })
    }

    /// This program, then another that reads what it made.
    pub(crate) fn followed_by(&self, second: &Self, made: Slot) -> Option<Self> {
        let place = second.inputs.iter().position(|input| input.slot == made)?;
        let several = second.inputs.iter().filter(|input| input.slot == made).count() > 1;
        if several || !second.is_dense(&second.inputs[place]) || self.has_coordinates() || second.has_coordinates() {
            return None;
        }
        let (mut joined, moved) = self.walked_with(second)?;
        let uses = second.code.iter().filter(|one| one.operand == Operand::Input(place)).count();
        let starts = second.code.first() == Some(&Instruction { op: ChainOp::Load, operand: Operand::Input(place) });
        let free = (0..4).find(|temporary| !second.uses(*temporary));
        if !(starts && uses == 1) {
            joined.code.push(Instruction { op: ChainOp::Save, operand: Operand::Field(4 + free?) });
        }
        for one in &second.code[usize::from(starts)..] {
            let operand = match one.operand {
                Operand::Input(input) if input == place => Operand::Temporary(free?),
                Operand::Input(input) => Operand::Input(moved[input]?),
                other => other,
            };
            joined.code.push(Instruction { op: one.op, operand });
        }
        Some(joined)
    }

    pub(crate) fn has_coordinates(&self) -> bool {
        self.code.iter().any(|one| one.op == ChainOp::Coordinate)
    }

    /// Whether a temporary is written or read.
    fn uses(&self, temporary: u8) -> bool {
        self.code.iter().any(|one| match one.operand {
            Operand::Temporary(named) => named == temporary,
            Operand::Field(field) => one.op == ChainOp::Save && field == 4 + temporary,
            _ => false,
        } || (one.op == ChainOp::Select && temporary == SELECTED))
    }

    /// This program in a walk that suits another as well; with where the inputs of the other are in it.
    fn walked_with(&self, other: &Self) -> Option<(Self, Vec<Option<usize>>)> {
        let refined = refine(self, other)?;
        let width = self.inputs.len();
        let mut inputs: Vec<Input> = Vec::new();
        let mut places = Vec::new();
        for (at, slot) in self.inputs().chain(other.inputs()).enumerate() {
            let strides: Vec<u32> = refined.iter().map(|(_, strides)| strides[at]).collect();
            let input = Input { slot, strides };
            let place = inputs.iter().position(|known| *known == input);
            places.push(place.unwrap_or(inputs.len()));
            if place.is_none() {
                inputs.push(input);
            }
        }
        // Inputs of the first keep their places only if none of them is twice there.
        if places[..width].iter().enumerate().any(|(at, &place)| at != place) {
            return None;
        }
        let sizes = refined.iter().map(|(size, _)| *size).collect();
        let moved = places[width..].iter().map(|&place| Some(place)).collect();
        Some((Self { sizes, inputs, code: self.code.clone() }, moved))
    }

    /// The step that does it; `None` if it does not fit one.
    pub(crate) fn step(&self, label: String, output: Slot) -> Option<Step> {
        // An input that no instruction names any more goes.
        let named: Vec<usize> = (0..self.inputs.len())
            .filter(|&at| self.code.iter().any(|one| one.operand == Operand::Input(at)))
            .collect();
        if named.is_empty() || named.len() > 3 {
            return None;
        }
        let mut code = ChainCode::new();
        for one in &self.code {
            code = match one.operand {
                Operand::Field(field) if one.op == ChainOp::Save => code.save(field.checked_sub(4)?),
                Operand::Field(field) if one.op == ChainOp::Coordinate => code.coordinate(field),
                Operand::Field(_) => code.then(one.op),
                Operand::Input(at) => {
                    let place = named.iter().position(|&one| one == at)?;
                    code.with(one.op, ChainOperand::Input(place as u8))
                }
                Operand::Temporary(temporary) => code.with(one.op, ChainOperand::Temporary(temporary)),
                Operand::Word(word) => code.with(one.op, ChainOperand::Word(word)),
            }
            .ok()?;
        }
        let columns: Vec<&Input> = named.iter().map(|&at| &self.inputs[at]).collect();
        let walk = join(&self.sizes, &columns);
        if walk.len() > WALKED {
            return None;
        }
        let (mut sizes, mut strides) = ([1; WALKED], [[0; WALKED]; 3]);
        let first = WALKED - walk.len();
        for (at, (size, own)) in walk.iter().enumerate() {
            sizes[first + at] = *size;
            for (into, &stride) in strides.iter_mut().zip(own) {
                into[first + at] = stride;
            }
        }
        let params = Chain::new(sizes, strides, &code);
        let slot = |at: usize| columns.get(at).or(columns.first()).map(|input| (input.slot, false));
        let bindings = vec![slot(0)?, slot(1)?, slot(2)?, (output, true)];
        let constants = bytemuck::bytes_of(&params).to_vec();
        Some(Step { kernel: "chain", label, grid: params.grid(), constants, bindings })
    }
}

/// A walk: sizes, outermost first, with a stride for each input.
type Walk = Vec<(u32, Vec<u32>)>;

/// A walk whose dimensions divide those of both programs; strides of the first's inputs, then of the second's.
fn refine(first: &Program, second: &Program) -> Option<Walk> {
    let count = |program: &Program| program.sizes.iter().map(|&size| u64::from(size)).product::<u64>();
    if count(first) != count(second) {
        return None;
    }
    let columns = |program: &Program, at: usize| -> (u32, Vec<u32>) {
        (program.sizes[at], program.inputs.iter().map(|input| input.strides[at]).collect())
    };
    let list = |program: &Program| (0..program.sizes.len()).map(|at| columns(program, at)).collect::<Walk>();
    let (mut a, mut b) = (list(first), list(second));
    let mut made: Walk = Vec::new();
    while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
        let size = x.0.min(y.0);
        if size == 0 || x.0 % size != 0 || y.0 % size != 0 {
            return None;
        }
        made.push((size, x.1.iter().chain(&y.1).copied().collect()));
        for (walk, (whole, strides)) in [(&mut a, x), (&mut b, y)] {
            if whole > size {
                walk.push((whole / size, strides.iter().map(|stride| stride * size).collect()));
            }
        }
        // A dimension of one element stands for nothing, and would pair with one that is not.
        while a.last().is_some_and(|one| one.0 == 1) {
            a.pop();
        }
        while b.last().is_some_and(|one| one.0 == 1) {
            b.pop();
        }
    }
    made.reverse();
    Some(made)
}

/// The same walk in as few dimensions as can be.
fn join(sizes: &[u32], inputs: &[&Input]) -> Walk {
    let mut made: Walk = Vec::new();
    for (at, &size) in sizes.iter().enumerate().filter(|(_, size)| **size != 1) {
        let own: Vec<u32> = inputs.iter().map(|input| input.strides[at]).collect();
        match made.last_mut() {
            Some((outer, steps))
                if steps.iter().zip(&own).all(|(&step, &inner)| step == inner.saturating_mul(size)) =>
            {
                *outer *= size;
                *steps = own;
            }
            _ => made.push((size, own)),
        }
    }
    made
}
