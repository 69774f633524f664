//! `chain`: a program of element-wise operations. One operation runs over a whole block of elements before the next, so
//! that its loop vectorises; blocks are so small that what lies between two operations stays in the nearest cache.

mod functions;

use std::cell::Cell;
use std::ops::Range;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::elementwise::{BLOCK, Blocks, Elementwise};
use super::operand::{self, Operand};
use super::simd::{Level, Simd};
use super::{memory, parts};
use crate::params::{self, ChainOp};

/// What [`params::Chain`] says; `y` may be an input that is as dense as itself.
pub(super) struct Chain(pub(super) Level);

/// Where the words of a block are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Input(usize),
    Temporary(usize),
    /// Filled once, the same for all blocks.
    Constant(usize),
    /// A buffer for what lies between two operations.
    Work(usize),
    Output,
}

/// The constant that is always there: what the accumulator holds at first.
const ZERO: Place = Place::Constant(0);

/// An instruction. Its place is the operand, or where to save; without either it says nothing.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: ChainOp,
    place: Place,
    /// Of a coordinate.
    dimension: usize,
}

/// A program that keeps to the rules.
struct Plan {
    shape: [u32; 4],
    steps: Vec<Step>,
    /// Which inputs it reads.
    used: [bool; 3],
}

impl params::Chain {
    fn plan(&self) -> Result<Plan, String> {
        let [x, y, z] = self.shape;
        let inner = u128::from(x) * u128::from(y) * u128::from(z);
        let count = u128::from(self.count);
        if count > 0 && (inner == 0 || !count.is_multiple_of(inner)) {
            return Err(format!("{count} elements are no multiple of the shape {:?}", self.shape));
        }
        // No larger than the count.
        let outer = count.checked_div(inner).unwrap_or(0) as u32;
        let mut plan = Plan { shape: [outer, x, y, z], steps: Vec::new(), used: [false; 3] };
        let mut saved = [false; 4];
        for instruction in self.program.iter().flat_map(|&word| [word as u16, (word >> 16) as u16]) {
            let [code, field] = instruction.to_le_bytes();
            let op = ChainOp::of(code).ok_or_else(|| format!("{code} is no operation of a chain"))?;
            if op == ChainOp::End {
                break;
            }
            let wrong = || format!("{op:?} in a chain has the operand {field}");
            let at = usize::from(field);
            let mut step = Step { op, place: ZERO, dimension: at };
            match (op, at) {
                (ChainOp::Save, 4..8) => {
                    step.place = Place::Temporary(at - 4);
                    saved[at - 4] = true;
                }
                (ChainOp::Coordinate, 0..4) => {}
                (ChainOp::Save | ChainOp::Coordinate, _) => return Err(wrong()),
                _ if op.takes_operand() => {
                    step.place = match at {
                        0..=2 => Place::Input(at),
                        4..=7 => Place::Temporary(at - 4),
                        8..=15 => Place::Constant(at - 7),
                        _ => return Err(wrong()),
                    };
                }
                _ => {}
            }
            match step.place {
                Place::Input(input) => plan.used[input] = true,
                Place::Temporary(temporary) if !saved[temporary] => return Err(unsaved(temporary)),
                _ => {}
            }
            if op == ChainOp::Select && !saved[3] {
                return Err(unsaved(3));
            }
            plan.steps.push(step);
        }
        Ok(plan)
    }

    fn input_strides(&self, input: usize) -> [u32; 4] {
        [0, 1, 2, 3].map(|i| self.strides[4 * input + i])
    }
}

fn unsaved(temporary: usize) -> String {
    format!("the chain reads temporary {temporary} before it is saved")
}

// SAFETY: `prepare` holds all arrays that the program reads against their bindings; an input that overlaps the output
// must be the same array, element for element, so a part reads of it what the part itself writes. Parts are disjoint
// ranges.
unsafe impl NativeKernel for Chain {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(4)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Chain = check::constants(launch)?;
        let plan = p.plan()?;
        let [a, b, c, y] = check::bindings(launch)?;
        let output = Access::write::<u32>("y", y, Extent::of(&[(p.count, 1)]))?;
        let mut bytes = 4 + 4 * plan.steps.len() as u64;
        for (index, (name, binding)) in [("a", a), ("b", b), ("c", c)].into_iter().enumerate() {
            if !plan.used[index] {
                continue;
            }
            bytes += 4;
            let strides = p.input_strides(index);
            let input = Access::read::<u32>(name, binding, operand::extent(plan.shape, strides))?;
            if Operand::new(plan.shape, strides, binding).dense() {
                output.apart_or_same(&input)?;
            } else {
                output.apart_from(&input)?;
            }
        }
        Ok(parts::count(bytes * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::Chain>(launch) else { return };
        let Ok(plan) = p.plan() else { return };
        let y = launch.bindings[3];
        let range = parts::share(p.count as usize, parts::STEP, part, parts);
        if range.is_empty() {
            return;
        }
        let in_place = (0..3).any(|input| plan.used[input] && launch.bindings[input].pointer == y.pointer);
        let blocks = Program::new(self.0, &p, plan, launch.bindings, range.len());
        // SAFETY: the part's range lies within the arrays by `prepare`; the caller vouches for the bindings.
        unsafe { Elementwise { blocks, output: y, range, in_place }.run(self.0) };
    }
}

/// Memory that programs compute in.
struct Buffers {
    /// Inputs that do not lie in a row.
    gathered: Vec<[u32; BLOCK]>,
    /// Zero, the constants of the program, and inputs of a single element.
    constants: Vec<[u32; BLOCK]>,
    temporaries: Vec<[u32; BLOCK]>,
    /// What lies between two operations.
    work: Vec<[u32; BLOCK]>,
}

/// The first constant that is an input of a single element.
const REPEATED: usize = 1 + params::CHAIN_IMMEDIATES;

thread_local! {
    /// What the last program of this thread left, since clearing so much would take longer than many programs do.
    static SPARE: Cell<Option<Buffers>> = const { Cell::new(None) };
}

/// Buffers that go back to the thread.
struct Scratch(Option<Buffers>);

impl Scratch {
    fn new() -> Scratch {
        let zeros = |count: usize| vec![[0; BLOCK]; count];
        Scratch(Some(SPARE.take().unwrap_or_else(|| Buffers {
            gathered: zeros(3),
            constants: zeros(REPEATED + 3),
            temporaries: zeros(4),
            work: zeros(2),
        })))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        SPARE.set(self.0.take());
    }
}

/// A program at work.
struct Program {
    level: Level,
    shape: [u32; 4],
    steps: Vec<Step>,
    /// The inputs that differ from block to block.
    inputs: [Option<Operand>; 3],
    scratch: Scratch,
}

impl Program {
    /// For `count` elements, at least one, of a launch that `prepare` accepted.
    fn new(level: Level, p: &params::Chain, plan: Plan, bindings: &[NativeBinding], count: usize) -> Program {
        let Plan { shape, mut steps, used } = plan;
        let mut scratch = Scratch::new();
        let mut fill = |constant: usize, word: u32| {
            if let Some(buffers) = &mut scratch.0 {
                buffers.constants[constant][..count.min(BLOCK)].fill(word);
            }
        };
        for (index, &word) in p.immediates.iter().enumerate() {
            if steps.iter().any(|step| step.place == Place::Constant(1 + index)) {
                fill(1 + index, word);
            }
        }
        let mut inputs = [None; 3];
        for input in (0..3).filter(|&input| used[input]) {
            let operand = Operand::new(shape, p.input_strides(input), bindings[input]);
            if !operand.repeated() || operand.dense() {
                inputs[input] = Some(operand);
                continue;
            }
            // SAFETY: the launch is not empty, so the input has a first element, which lies apart from the output.
            let word = unsafe { memory::input::<u32>(bindings[input], 0..1) }[0];
            fill(REPEATED + input, word);
            for step in steps.iter_mut().filter(|step| step.place == Place::Input(input)) {
                step.place = Place::Constant(REPEATED + input);
            }
        }
        Program { level, shape, steps, inputs, scratch }
    }

    /// The words of the output elements in `range`. Not for inlining: it is one function for all levels, and what pays
    /// to have for each is called from it.
    #[inline(never)]
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
        for (index, &Step { op, place, dimension }) in self.steps.iter().enumerate() {
            if op == ChainOp::Load {
                acc = place;
                continue;
            }
            if let (ChainOp::Save, Place::Temporary(to)) = (op, place) {
                match acc {
                    Place::Temporary(from) => temporaries[to] = temporaries[from],
                    Place::Input(from) => temporaries[to][..count].copy_from_slice(inputs[from]),
                    Place::Constant(from) => temporaries[to] = constants[from],
                    Place::Work(0) => temporaries[to] = *first,
                    Place::Work(_) => temporaries[to] = *second,
                    Place::Output => {}
                }
                continue;
            }
            let read = |place: Place| match place {
                Place::Input(input) => inputs[input],
                Place::Temporary(temporary) => &temporaries[temporary][..count],
                Place::Constant(constant) => &constants[constant][..count],
                Place::Work(_) | Place::Output => &[],
            };
            let (source, free, next): (&[u32], &mut [u32; BLOCK], _) = match acc {
                Place::Work(0) => (&first[..count], &mut *second, 1),
                Place::Work(_) => (&second[..count], &mut *first, 0),
                other => (read(other), &mut *first, 0),
            };
            let (target, next) = if index + 1 == self.steps.len() {
                (&mut *output, Place::Output)
            } else {
                (&mut free[..count], Place::Work(next))
            };
            match op {
                ChainOp::Coordinate => coordinates(self.shape, dimension, range.start, target),
                ChainOp::Select => functions::select(source, read(place), read(Place::Temporary(3)), target),
                _ => functions::apply(self.level, op, source, read(place), target),
            }
            acc = next;
        }
        match acc {
            Place::Output => {}
            Place::Input(input) => output.copy_from_slice(inputs[input]),
            Place::Temporary(temporary) => output.copy_from_slice(&temporaries[temporary][..count]),
            Place::Constant(constant) => output.copy_from_slice(&constants[constant][..count]),
            Place::Work(0) => output.copy_from_slice(&first[..count]),
            Place::Work(_) => output.copy_from_slice(&second[..count]),
        }
    }
}

impl Blocks for Program {
    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, index: usize) {
        for input in self.inputs.iter().flatten() {
            input.prefetch(simd, index);
        }
    }

    #[inline(always)]
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]) {
        self.block(range, bytemuck::cast_slice_mut(target));
    }
}

/// The coordinate in a dimension of the elements from `first` on.
fn coordinates(shape: [u32; 4], dimension: usize, first: usize, target: &mut [u32]) {
    let inner: usize = shape[dimension + 1..].iter().map(|&size| size as usize).product();
    let mut at = first;
    let mut left = target;
    while !left.is_empty() {
        let run = (inner - at % inner).min(left.len());
        let (piece, behind) = std::mem::take(&mut left).split_at_mut(run);
        piece.fill((at / inner % shape[dimension] as usize) as u32);
        at += run;
        left = behind;
    }
}
