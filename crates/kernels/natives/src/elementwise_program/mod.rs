//! `elementwise_program`: an interpreted program of elementwise operations.
//!
//! Each operation runs over a whole block of elements before the next, so that its loop vectorizes;
//! blocks are small enough for intermediate values to stay in the L1 cache.

mod functions;

use std::cell::Cell;
use std::ops::Range;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::elementwise::{BLOCK, Blocks, Elementwise};
use super::operand::{self, Operand};
use super::{memory, partition};
use crate::KernelFactory;
use roci_families::ElementwiseOp;
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("elementwise_program", |level| Arc::new(ElementwiseProgram(level)))];

/// The interpreter; `y` may be an input with the same dense layout.
pub(super) struct ElementwiseProgram(pub(super) Level);

/// A buffer that holds one block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BlockBuffer {
    Input(usize),
    Temporary(usize),
    /// Filled once for all blocks.
    Constant(usize),
    /// An intermediate value.
    Work(usize),
    Output,
}

/// The constant zero, the initial accumulator.
const ZERO: BlockBuffer = BlockBuffer::Constant(0);

/// An instruction. The slot is its operand, or the target of a save; otherwise it is unused.
#[derive(Clone, Copy, Debug)]
struct Instruction {
    op: ElementwiseOp,
    slot: BlockBuffer,
    /// The dimension of a coordinate.
    dimension: usize,
}

/// A validated program.
struct DecodedProgram {
    shape: [u32; 4],
    instructions: Vec<Instruction>,
    /// The inputs that it reads.
    used: [bool; 3],
}

impl DecodedProgram {
    /// Decodes and validates the program.
    fn new(p: &roci_families::ElementwiseProgram) -> Result<Self, String> {
        let [x, y, z] = p.shape;
        let inner = u128::from(x) * u128::from(y) * u128::from(z);
        let count = u128::from(p.count);
        if count > 0 && (inner == 0 || !count.is_multiple_of(inner)) {
            return Err(format!("{count} elements are not a multiple of the shape {:?}", p.shape));
        }
        // At most `count`, so it fits in 32 bits.
        let outer = count.checked_div(inner).unwrap_or(0) as u32;
        let mut program = DecodedProgram { shape: [outer, x, y, z], instructions: Vec::new(), used: [false; 3] };
        let mut saved = [false; 4];
        for instruction in p.program.iter().flat_map(|&word| [word as u16, (word >> 16) as u16]) {
            let [code, field] = instruction.to_le_bytes();
            let op =
                ElementwiseOp::of(code).ok_or_else(|| format!("unknown operation {code} in an elementwise program"))?;
            if op == ElementwiseOp::End {
                break;
            }
            let wrong = || format!("{op:?} in an elementwise program has the operand {field}");
            let at = usize::from(field);
            let mut instruction = Instruction { op, slot: ZERO, dimension: at };
            match (op, at) {
                (ElementwiseOp::Save, 4..8) => {
                    instruction.slot = BlockBuffer::Temporary(at - 4);
                    saved[at - 4] = true;
                }
                (ElementwiseOp::Coordinate, 0..4) => {}
                (ElementwiseOp::Save | ElementwiseOp::Coordinate, _) => return Err(wrong()),
                _ if op.takes_operand() => {
                    instruction.slot = match at {
                        0..=2 => BlockBuffer::Input(at),
                        4..=7 => BlockBuffer::Temporary(at - 4),
                        8..=15 => BlockBuffer::Constant(at - 7),
                        _ => return Err(wrong()),
                    };
                }
                _ => {}
            }
            match instruction.slot {
                BlockBuffer::Input(input) => program.used[input] = true,
                BlockBuffer::Temporary(temporary) if !saved[temporary] => return Err(unsaved_error(temporary)),
                _ => {}
            }
            if op == ElementwiseOp::Select && !saved[3] {
                return Err(unsaved_error(3));
            }
            program.instructions.push(instruction);
        }
        Ok(program)
    }
}

fn input_strides(p: &roci_families::ElementwiseProgram, input: usize) -> [u32; 4] {
    [0, 1, 2, 3].map(|i| p.strides[4 * input + i])
}

fn unsaved_error(temporary: usize) -> String {
    format!("the elementwise program reads temporary {temporary} before it is saved")
}

// SAFETY: `prepare` checks all arrays that the program reads against their bindings; an input that
// overlaps the output must be the same array, element for element, so a part reads only those
// elements of it that it writes itself. Parts are disjoint ranges.
unsafe impl NativeKernel for ElementwiseProgram {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(4)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::ElementwiseProgram = check::constants(launch)?;
        let program = DecodedProgram::new(&p)?;
        let [a, b, c, y] = check::bindings(launch)?;
        let output = AccessRange::write::<u32>("y", y, Extent::of(&[(p.count, 1)]))?;
        let mut bytes = 4 + 4 * program.instructions.len() as u64;
        for (index, (name, binding)) in [("a", a), ("b", b), ("c", c)].into_iter().enumerate() {
            if !program.used[index] {
                continue;
            }
            bytes += 4;
            let strides = input_strides(&p, index);
            let input = AccessRange::read::<u32>(name, binding, operand::extent(program.shape, strides))?;
            if Operand::new(program.shape, strides, binding).dense() {
                output.disjoint_or_same(&input)?;
            } else {
                output.disjoint_from(&input)?;
            }
        }
        Ok(partition::count(bytes * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::ElementwiseProgram>(launch) else { return };
        let Ok(program) = DecodedProgram::new(&p) else { return };
        let y = launch.bindings[3];
        let range = partition::range(p.count as usize, partition::STEP, part, parts);
        if range.is_empty() {
            return;
        }
        let in_place = (0..3).any(|input| program.used[input] && launch.bindings[input].pointer == y.pointer);
        let mut blocks = Interpreter::new(self.0, &p, program, launch.bindings, range.len());
        let inputs = blocks.inputs.map(|input| input.map(|input| input.binding()));
        // SAFETY: the part's range is within the arrays, as `prepare` checked; the caller
        // guarantees the bindings.
        unsafe { Elementwise { blocks: &mut blocks, inputs, output: y, range, in_place }.run(self.0) };
    }
}

/// Buffers of a program.
struct Buffers {
    /// Inputs that are not contiguous.
    gathered: Vec<[u32; BLOCK]>,
    /// Zero, the constants of the program, and inputs of a single element.
    constants: Vec<[u32; BLOCK]>,
    temporaries: Vec<[u32; BLOCK]>,
    /// Intermediate values.
    work: Vec<[u32; BLOCK]>,
}

/// The first constant that is an input of a single element.
const REPEATED: usize = 1 + roci_families::ELEMENTWISE_IMMEDIATES;

thread_local! {
    /// The buffers of the last program of this thread: clearing new ones would take longer than
    /// many programs do.
    static SPARE_BUFFERS: Cell<Option<Buffers>> = const { Cell::new(None) };
}

/// Buffers that are returned to the thread when dropped.
struct Scratch(Option<Buffers>);

impl Scratch {
    fn new() -> Scratch {
        let zeros = |count: usize| vec![[0; BLOCK]; count];
        Scratch(Some(SPARE_BUFFERS.take().unwrap_or_else(|| Buffers {
            gathered: zeros(3),
            constants: zeros(REPEATED + 3),
            temporaries: zeros(4),
            work: zeros(2),
        })))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        SPARE_BUFFERS.set(self.0.take());
    }
}

/// A program and its buffers.
struct Interpreter {
    level: Level,
    shape: [u32; 4],
    instructions: Vec<Instruction>,
    /// The inputs that differ from block to block.
    inputs: [Option<Operand>; 3],
    scratch: Scratch,
}

impl Interpreter {
    /// For `count` elements, at least one, of a launch that `prepare` accepted.
    fn new(
        level: Level,
        p: &roci_families::ElementwiseProgram,
        program: DecodedProgram,
        bindings: &[NativeBinding],
        count: usize,
    ) -> Interpreter {
        let DecodedProgram { shape, mut instructions, used } = program;
        let mut scratch = Scratch::new();
        let mut fill = |constant: usize, word: u32| {
            if let Some(buffers) = &mut scratch.0 {
                buffers.constants[constant][..count.min(BLOCK)].fill(word);
            }
        };
        for (index, &word) in p.immediates.iter().enumerate() {
            if instructions.iter().any(|instruction| instruction.slot == BlockBuffer::Constant(1 + index)) {
                fill(1 + index, word);
            }
        }
        let mut inputs = [None; 3];
        for input in (0..3).filter(|&input| used[input]) {
            let operand = Operand::new(shape, input_strides(p, input), bindings[input]);
            if !operand.repeated() || operand.dense() {
                inputs[input] = Some(operand);
                continue;
            }
            // SAFETY: the launch is not empty, so the input has a first element, which is disjoint
            // from the output.
            let word = unsafe { memory::input::<u32>(bindings[input], 0..1) }[0];
            fill(REPEATED + input, word);
            for instruction in
                instructions.iter_mut().filter(|instruction| instruction.slot == BlockBuffer::Input(input))
            {
                instruction.slot = BlockBuffer::Constant(REPEATED + input);
            }
        }
        Interpreter { level, shape, instructions, inputs, scratch }
    }

    /// Computes the output elements in `range`. One function for all levels; only the operations
    /// that profit from wider vectors are compiled for each level.
    fn block(&mut self, range: Range<usize>, output: &mut [u32]) {
        let count = range.len();
        let Some(buffers) = &mut self.scratch.0 else { return };
        let Buffers { gathered, constants, temporaries, work } = buffers;
        let [first, second] = &mut work[..] else { return };
        let mut inputs: [&[u32]; 3] = [&[]; 3];
        for ((input, operand), buffer) in inputs.iter_mut().zip(&self.inputs).zip(gathered) {
            if let Some(operand) = operand {
                *input = operand.fetch(range.clone(), buffer);
            }
        }
        let mut acc = ZERO;
        for (index, &Instruction { op, slot, dimension }) in self.instructions.iter().enumerate() {
            if op == ElementwiseOp::Load {
                acc = slot;
                continue;
            }
            if let (ElementwiseOp::Save, BlockBuffer::Temporary(to)) = (op, slot) {
                match acc {
                    BlockBuffer::Temporary(from) => temporaries[to] = temporaries[from],
                    BlockBuffer::Input(from) => temporaries[to][..count].copy_from_slice(inputs[from]),
                    BlockBuffer::Constant(from) => temporaries[to] = constants[from],
                    BlockBuffer::Work(0) => temporaries[to] = *first,
                    BlockBuffer::Work(_) => temporaries[to] = *second,
                    BlockBuffer::Output => {}
                }
                continue;
            }
            let read = |slot: BlockBuffer| match slot {
                BlockBuffer::Input(input) => inputs[input],
                BlockBuffer::Temporary(temporary) => &temporaries[temporary][..count],
                BlockBuffer::Constant(constant) => &constants[constant][..count],
                BlockBuffer::Work(_) | BlockBuffer::Output => &[],
            };
            let (source, free, next): (&[u32], &mut [u32; BLOCK], _) = match acc {
                BlockBuffer::Work(0) => (&first[..count], &mut *second, 1),
                BlockBuffer::Work(_) => (&second[..count], &mut *first, 0),
                other => (read(other), &mut *first, 0),
            };
            let (target, next) = if index + 1 == self.instructions.len() {
                (&mut *output, BlockBuffer::Output)
            } else {
                (&mut free[..count], BlockBuffer::Work(next))
            };
            match op {
                ElementwiseOp::Coordinate => coordinates(self.shape, dimension, range.start, target),
                ElementwiseOp::Select => functions::select(source, read(slot), read(BlockBuffer::Temporary(3)), target),
                _ => functions::apply(self.level, op, source, read(slot), target),
            }
            acc = next;
        }
        match acc {
            BlockBuffer::Output => {}
            BlockBuffer::Input(input) => output.copy_from_slice(inputs[input]),
            BlockBuffer::Temporary(temporary) => output.copy_from_slice(&temporaries[temporary][..count]),
            BlockBuffer::Constant(constant) => output.copy_from_slice(&constants[constant][..count]),
            BlockBuffer::Work(0) => output.copy_from_slice(&first[..count]),
            BlockBuffer::Work(_) => output.copy_from_slice(&second[..count]),
        }
    }
}

impl Blocks for Interpreter {
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]) {
        self.block(range, bytemuck::cast_slice_mut(target));
    }
}

/// The coordinate in a dimension of the elements from `first` on.
fn coordinates(shape: [u32; 4], dimension: usize, first: usize, target: &mut [u32]) {
    let inner: usize = shape[dimension + 1..].iter().map(|&size| size as usize).product();
    let mut at = first;
    let mut remaining = target;
    while !remaining.is_empty() {
        let run = (inner - at % inner).min(remaining.len());
        let (piece, behind) = std::mem::take(&mut remaining).split_at_mut(run);
        piece.fill((at / inner % shape[dimension] as usize) as u32);
        at += run;
        remaining = behind;
    }
}
