//! Decodes, joins and encodes programs of the elementwise kernel.

use roci_kernels::params::{ElementwiseCode, ElementwiseOp, ElementwiseOperand, ElementwiseProgram, Params as _};

use super::elementwise_params;
use crate::segment::{Dispatch, TensorId};

/// The number of dimensions of the elementwise kernel.
const MAX_DIMENSIONS: usize = 4;
/// The temporary that `Select` reads implicitly.
const SELECT_TEMPORARY: u8 = 3;

/// The operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// An operand field that is not an input: unused, the temporary that `Save` writes, or a
    /// dimension.
    Field(u8),
    /// An index into [`DecodedProgram::inputs`].
    Input(usize),
    Temporary(u8),
    Word(u32),
}

/// An instruction of an elementwise program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) op: ElementwiseOp,
    pub(crate) operand: Operand,
}

/// An input: its tensor, and its stride in each loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) tensor_id: TensorId,
    pub(crate) strides: Vec<u32>,
}

/// A decoded program with the loops that it runs in.
#[derive(Clone, Debug)]
pub(crate) struct DecodedProgram {
    /// Sizes of the loops, outermost first.
    pub(crate) sizes: Vec<u32>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) code: Vec<Instruction>,
}

impl DecodedProgram {
    /// Decodes the program of an elementwise dispatch.
    pub(crate) fn of(step: &Dispatch) -> Option<Self> {
        let chain = elementwise_params(step)?;
        let inner: u32 = chain.shape.iter().product();
        let mut sizes = vec![chain.count.checked_div(inner)?];
        sizes.extend(chain.shape);
        let mut program = Self { sizes, inputs: Vec::new(), code: Vec::new() };
        // Only bindings that an instruction reads are inputs.
        let mut places = [None; 3];
        for at in 0..chain.program.len() * 2 {
            let bits = chain.program[at / 2] >> (at % 2 * 16) & 0xffff;
            let (op, field) = (ElementwiseOp::of(bits as u8)?, (bits >> 8) as u8 & 15);
            let operand = match field {
                _ if op == ElementwiseOp::End => break,
                _ if !op.takes_operand() => Operand::Field(field),
                0..3 => {
                    let at = usize::from(field);
                    let place = *places[at].get_or_insert_with(|| {
                        let strides = chain.strides[at * MAX_DIMENSIONS..][..MAX_DIMENSIONS].to_vec();
                        program.inputs.push(Input { tensor_id: step.bindings[at].0, strides });
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

    /// The tensors that the program reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = TensorId> {
        self.inputs.iter().map(|input| input.tensor_id)
    }

    /// Whether the loops read an input contiguously.
    pub(crate) fn is_dense(&self, input: &Input) -> bool {
        let mut stride = 1u32;
        self.sizes.iter().zip(&input.strides).rev().all(|(&size, &own)| {
            let fits = size == 1 || own == stride;
            stride = stride.saturating_mul(size);
            fits
        })
    }

    /// Joins this program with a second one that reads its result.
    pub(crate) fn followed_by(&self, second: &Self, result: TensorId) -> Option<Self> {
        let place = second.inputs.iter().position(|input| input.tensor_id == result)?;
        let several = second.inputs.iter().filter(|input| input.tensor_id == result).count() > 1;
        if several || !second.is_dense(&second.inputs[place]) || self.has_coordinates() || second.has_coordinates() {
            return None;
        }
        let (mut joined, moved) = self.with_common_loops(second)?;
        let uses = second.code.iter().filter(|one| one.operand == Operand::Input(place)).count();
        let starts =
            second.code.first() == Some(&Instruction { op: ElementwiseOp::Load, operand: Operand::Input(place) });
        let free = (0..4).find(|temporary| !second.uses(*temporary));
        if !(starts && uses == 1) {
            joined.code.push(Instruction { op: ElementwiseOp::Save, operand: Operand::Field(4 + free?) });
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
        self.code.iter().any(|one| one.op == ElementwiseOp::Coordinate)
    }

    /// Whether the program writes or reads a temporary.
    fn uses(&self, temporary: u8) -> bool {
        self.code.iter().any(|one| match one.operand {
            Operand::Temporary(named) => named == temporary,
            Operand::Field(field) => one.op == ElementwiseOp::Save && field == 4 + temporary,
            _ => false,
        } || (one.op == ElementwiseOp::Select && temporary == SELECT_TEMPORARY))
    }

    /// This program with loops that both programs can use, and the input indices of the other.
    fn with_common_loops(&self, other: &Self) -> Option<(Self, Vec<Option<usize>>)> {
        let refined = refine(self, other)?;
        let width = self.inputs.len();
        let mut inputs: Vec<Input> = Vec::new();
        let mut places = Vec::new();
        for (at, tensor_id) in self.inputs().chain(other.inputs()).enumerate() {
            let strides: Vec<u32> = refined.iter().map(|(_, strides)| strides[at]).collect();
            let input = Input { tensor_id, strides };
            let place = inputs.iter().position(|known| *known == input);
            places.push(place.unwrap_or(inputs.len()));
            if place.is_none() {
                inputs.push(input);
            }
        }
        // The first program's input indices must stay the same, so its inputs must be distinct.
        if places[..width].iter().enumerate().any(|(at, &place)| at != place) {
            return None;
        }
        let sizes = refined.iter().map(|(size, _)| *size).collect();
        let moved = places[width..].iter().map(|&place| Some(place)).collect();
        Some((Self { sizes, inputs, code: self.code.clone() }, moved))
    }

    /// Encodes the program as a dispatch; `None` if it exceeds the kernel's limits.
    pub(crate) fn step(&self, label: String, output: TensorId) -> Option<Dispatch> {
        // Drop inputs that no instruction reads any more.
        let named: Vec<usize> = (0..self.inputs.len())
            .filter(|&at| self.code.iter().any(|one| one.operand == Operand::Input(at)))
            .collect();
        if named.is_empty() || named.len() > 3 {
            return None;
        }
        let mut code = ElementwiseCode::new();
        for one in &self.code {
            code = match one.operand {
                Operand::Field(field) if one.op == ElementwiseOp::Save => code.save(field.checked_sub(4)?),
                Operand::Field(field) if one.op == ElementwiseOp::Coordinate => code.coordinate(field),
                Operand::Field(_) => code.then(one.op),
                Operand::Input(at) => {
                    let place = named.iter().position(|&one| one == at)?;
                    code.with(one.op, ElementwiseOperand::Input(place as u8))
                }
                Operand::Temporary(temporary) => code.with(one.op, ElementwiseOperand::Temporary(temporary)),
                Operand::Word(word) => code.with(one.op, ElementwiseOperand::Word(word)),
            }
            .ok()?;
        }
        let columns: Vec<&Input> = named.iter().map(|&at| &self.inputs[at]).collect();
        let walk = join(&self.sizes, &columns);
        if walk.len() > MAX_DIMENSIONS {
            return None;
        }
        let (mut sizes, mut strides) = ([1; MAX_DIMENSIONS], [[0; MAX_DIMENSIONS]; 3]);
        let first = MAX_DIMENSIONS - walk.len();
        for (at, (size, own)) in walk.iter().enumerate() {
            sizes[first + at] = *size;
            for (into, &stride) in strides.iter_mut().zip(own) {
                into[first + at] = stride;
            }
        }
        let params = ElementwiseProgram::new(sizes, strides, &code);
        let tensor_id = |at: usize| columns.get(at).or(columns.first()).map(|input| (input.tensor_id, false));
        let bindings = vec![tensor_id(0)?, tensor_id(1)?, tensor_id(2)?, (output, true)];
        let constants = bytemuck::bytes_of(&params).to_vec();
        Some(Dispatch { kernel: "elementwise_program", label, grid: params.grid(), constants, bindings })
    }
}

/// Loops, outermost first: the size, and the stride of each input.
type LoopNest = Vec<(u32, Vec<u32>)>;

/// Splits the loops of two programs so that both have the same sizes. Strides of the first
/// program's inputs come first.
fn refine(first: &DecodedProgram, second: &DecodedProgram) -> Option<LoopNest> {
    let count = |program: &DecodedProgram| program.sizes.iter().map(|&size| u64::from(size)).product::<u64>();
    if count(first) != count(second) {
        return None;
    }
    let columns = |program: &DecodedProgram, at: usize| -> (u32, Vec<u32>) {
        (program.sizes[at], program.inputs.iter().map(|input| input.strides[at]).collect())
    };
    let list = |program: &DecodedProgram| (0..program.sizes.len()).map(|at| columns(program, at)).collect::<LoopNest>();
    let (mut a, mut b) = (list(first), list(second));
    let mut result: LoopNest = Vec::new();
    while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
        let size = x.0.min(y.0);
        if size == 0 || x.0 % size != 0 || y.0 % size != 0 {
            return None;
        }
        result.push((size, x.1.iter().chain(&y.1).copied().collect()));
        for (walk, (whole, strides)) in [(&mut a, x), (&mut b, y)] {
            if whole > size {
                walk.push((whole / size, strides.iter().map(|stride| stride * size).collect()));
            }
        }
        // Skip loops of size 1, which must not pair with longer ones.
        while a.last().is_some_and(|one| one.0 == 1) {
            a.pop();
        }
        while b.last().is_some_and(|one| one.0 == 1) {
            b.pop();
        }
    }
    result.reverse();
    Some(result)
}

/// Merges loops that are contiguous for all inputs.
fn join(sizes: &[u32], inputs: &[&Input]) -> LoopNest {
    let mut result: LoopNest = Vec::new();
    for (at, &size) in sizes.iter().enumerate().filter(|(_, size)| **size != 1) {
        let own: Vec<u32> = inputs.iter().map(|input| input.strides[at]).collect();
        match result.last_mut() {
            Some((outer, steps))
                if steps.iter().zip(&own).all(|(&step, &inner)| step == inner.saturating_mul(size)) =>
            {
                *outer *= size;
                *steps = own;
            }
            _ => result.push((size, own)),
        }
    }
    result
}
