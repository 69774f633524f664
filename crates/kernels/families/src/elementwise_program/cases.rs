//! `elementwise_program`: every operation alone, fused programs, and all input layouts.

use super::{ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand, ElementwiseProgram};
use roci_tolerance::Tolerance;

use crate::cases::{COUNTS, Case, Element, Random, case, untouched, words};

/// The inputs of an operation.
#[derive(Clone, Copy)]
enum Input {
    Float,
    Integer,
}

/// Floats that are special cases of many functions.
const SPECIAL: [f32; 13] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    2.0,
    -3.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN_POSITIVE,
];

/// Integers that are special cases of many functions.
const EDGES: [u32; 12] = [0, 1, 2, 3, 31, 32, 0x7f, 0xff, 0x8000, 0x7fff_ffff, 0x8000_0000, u32::MAX];

/// Input kind, input range, output type and tolerance of an operation.
fn domain(op: ElementwiseOp) -> (Input, f32, f32, Element, Tolerance) {
    use ElementwiseOp::*;
    let float = |low, high, tolerance| (Input::Float, low, high, Element::F32, tolerance);
    match op {
        Neg | Abs | Sign | Ceil | Floor | Round | Relu | Min | Max | Add | Sub | RSub | Mul | Leaky | Threshold
        | Fmod | Modulo | RoundF16 | RoundBf16 | Load | Select => float(-9.0, 9.0, Tolerance::Exact),
        Sqrt | Log => float(0.0, 1e6, Tolerance::FewUlps),
        Reciprocal | Div | RDiv => float(-9.0, 9.0, Tolerance::FewUlps),
        Exp | Sinh | Cosh => float(-86.0, 86.0, Tolerance::ManyUlps),
        Asin | Acos | Atanh => float(-1.0, 1.0, Tolerance::ManyUlps),
        Acosh => float(1.0, 9.0, Tolerance::ManyUlps),
        Atan | Asinh | Tanh | Sigmoid | Softplus | Elu | Pow | RPow => float(-9.0, 9.0, Tolerance::ManyUlps),
        Sin | Cos | Tan | Erf | Gelu => float(-9.0, 9.0, Tolerance::Close),
        IsNan | IsPositiveInfinity | IsNegativeInfinity | Less | LessEqual | Equal | Greater | GreaterEqual
        | F32ToBool => (Input::Float, -9.0, 9.0, Element::Word, Tolerance::Exact),
        F32ToI32 | F32ToU32 => (Input::Float, -6e9, 6e9, Element::Word, Tolerance::Exact),
        I32ToF32 | U32ToF32 => (Input::Integer, 0.0, 0.0, Element::F32, Tolerance::Exact),
        _ => (Input::Integer, 0.0, 0.0, Element::Word, Tolerance::Exact),
    }
}

fn floats(random: &mut Random, count: usize, low: f32, high: f32) -> Vec<u32> {
    words(&random.floats(count, low, high))
}

/// Integers of all magnitudes.
fn integers(random: &mut Random, count: usize) -> Vec<u32> {
    (0..count).map(|_| (random.word() as i32 >> (random.word() % 32)) as u32).collect()
}

/// One operation over special values, over all pairs of them, and over values of its range.
fn one(op: ElementwiseOp, random: &mut Random) -> Result<Case, ElementwiseError> {
    const COUNT: usize = 300;
    let (input, low, high, output, tolerance) = domain(op);
    let special = match input {
        Input::Float => words(&SPECIAL),
        Input::Integer => EDGES.to_vec(),
    };
    let mut inputs = [0, 1, 2].map(|_| match input {
        Input::Float => floats(random, COUNT, low, high),
        Input::Integer => integers(random, COUNT),
    });
    let [a, b, c] = &mut inputs;
    let pairs = special.iter().flat_map(|&left| special.iter().map(move |&right| (left, right)));
    for ((a, b), (left, right)) in a.iter_mut().zip(b).zip(pairs) {
        (*a, *b) = (left, right);
    }
    match op {
        ElementwiseOp::Select => {
            a.iter_mut().step_by(3).for_each(|word| *word = 0);
            c.iter_mut().for_each(|word| *word ^= 1);
        }
        // Integer exponents.
        ElementwiseOp::Pow => inputs[1].iter_mut().skip(170).step_by(2).for_each(round),
        ElementwiseOp::RPow => inputs[0].iter_mut().skip(170).step_by(2).for_each(round),
        // Equal operands, and quotients of all magnitudes.
        ElementwiseOp::Equal | ElementwiseOp::EqualWord | ElementwiseOp::LessEqual => {
            let [a, b, _] = &mut inputs;
            a.iter_mut().zip(b).skip(170).step_by(2).for_each(|(a, b)| *a = *b);
        }
        ElementwiseOp::Fmod | ElementwiseOp::Modulo => {
            for (index, word) in inputs[0].iter_mut().enumerate().skip(170) {
                *word = (f32::from_bits(*word) * (1u64 << (index % 60)) as f32).to_bits();
            }
        }
        _ => {}
    }
    let code = ElementwiseCode::new();
    let code = match op {
        ElementwiseOp::Save => code
            .with(ElementwiseOp::Load, ElementwiseOperand::A)?
            .save(2)?
            .with(ElementwiseOp::AddI32, ElementwiseOperand::Temporary(2))?,
        ElementwiseOp::Coordinate => code.coordinate(3)?,
        ElementwiseOp::Load => code.with(op, ElementwiseOperand::B)?,
        ElementwiseOp::Select => code
            .with(ElementwiseOp::Load, ElementwiseOperand::C)?
            .save(3)?
            .with(ElementwiseOp::Load, ElementwiseOperand::A)?
            .with(op, ElementwiseOperand::B)?,
        _ if op.takes_operand() => {
            code.with(ElementwiseOp::Load, ElementwiseOperand::A)?.with(op, ElementwiseOperand::B)?
        }
        _ => code.with(ElementwiseOp::Load, ElementwiseOperand::A)?.then(op)?,
    };
    let mut buffers = inputs.to_vec();
    buffers.push(untouched(COUNT));
    Ok(case(ElementwiseProgram::dense(COUNT as u32, &code), buffers, output, tolerance, format!("{op:?}")))
}

fn round(word: &mut u32) {
    *word = f32::from_bits(*word).round().to_bits();
}

/// Hard swish; uses constants and a temporary.
fn fused() -> Result<ElementwiseCode, ElementwiseError> {
    ElementwiseCode::new()
        .with(ElementwiseOp::Load, ElementwiseOperand::A)?
        .save(0)?
        .with(ElementwiseOp::Mul, 1.0 / 6.0)?
        .with(ElementwiseOp::Add, 0.5)?
        .with(ElementwiseOp::Max, 0.0)?
        .with(ElementwiseOp::Min, 1.0)?
        .with(ElementwiseOp::Mul, ElementwiseOperand::Temporary(0))
}

/// (a + b) * c where the second coordinate exceeds the third, else a; uses all sixteen
/// instructions.
fn long() -> Result<ElementwiseCode, ElementwiseError> {
    let code = ElementwiseCode::new()
        .with(ElementwiseOp::Load, ElementwiseOperand::A)?
        .save(3)?
        .with(ElementwiseOp::Add, ElementwiseOperand::B)?
        .with(ElementwiseOp::Mul, ElementwiseOperand::C)?
        .save(1)?
        .coordinate(2)?
        .save(2)?
        .coordinate(1)?
        .with(ElementwiseOp::GreaterU32, ElementwiseOperand::Temporary(2))?
        .save(0)?
        .coordinate(0)?
        .with(ElementwiseOp::AddI32, ElementwiseOperand::Word(7))?
        .with(ElementwiseOp::And, ElementwiseOperand::Word(0))?
        .with(ElementwiseOp::Or, ElementwiseOperand::Temporary(0))?;
    code.with(ElementwiseOp::Select, ElementwiseOperand::Temporary(1))?.then(ElementwiseOp::Neg)
}

fn strided(code: &ElementwiseCode, random: &mut Random) -> Vec<Case> {
    let shapes: [([u32; 4], [[u32; 4]; 3]); 7] = [
        ([1, 1, 1, 1], [[0; 4]; 3]),
        ([1, 1, 1, 300], [[0, 0, 0, 1], [0; 4], [0, 0, 0, 2]]),
        ([1, 1, 7, 9], [[0, 0, 9, 1], [0, 0, 0, 1], [0, 0, 1, 0]]),
        ([1, 1, 9, 7], [[0, 0, 1, 9], [0, 0, 7, 1], [0; 4]]),
        ([2, 3, 5, 7], [[105, 35, 7, 1], [0, 7, 0, 1], [1, 2, 6, 30]]),
        ([3, 1, 1, 50], [[50, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]]),
        ([2, 0, 5, 7], [[1; 4]; 3]),
    ];
    let mut make = |(shape, strides): ([u32; 4], [[u32; 4]; 3])| {
        let chain = ElementwiseProgram::new(shape, strides, code);
        let extent = |strides: [u32; 4]| {
            let last: u32 = shape.iter().zip(strides).map(|(&size, stride)| size.saturating_sub(1) * stride).sum();
            last as usize + 1
        };
        let mut buffers: Vec<_> = strides.iter().map(|&strides| floats(random, extent(strides), -9.0, 9.0)).collect();
        buffers.push(untouched(chain.count as usize));
        case(chain, buffers, Element::F32, Tolerance::FewUlps, format!("{shape:?} of strides {strides:?}"))
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make(([4, 6, 5, 7], [[0, 35, 0, 1], [210, 35, 7, 1], [0; 4]])).with_one_group());
    cases
}

pub(super) fn of(_: &str, random: &mut Random) -> Vec<Case> {
    let known = "the programs fit";
    let ops = ElementwiseOp::ALL.iter().filter(|&&op| op != ElementwiseOp::End);
    let mut cases: Vec<_> = ops.map(|&op| one(op, random).expect(known)).collect();
    let fused = fused().expect(known);
    for count in COUNTS {
        let a = floats(random, count as usize, -9.0, 9.0);
        // Inputs that the program does not use may be bound to any buffer.
        let buffers = vec![a, vec![7], vec![7], untouched(count as usize)];
        let label = format!("{count} elements");
        cases.push(case(ElementwiseProgram::dense(count, &fused), buffers, Element::F32, Tolerance::FewUlps, label));
    }
    cases.extend(strided(&long().expect(known), random));
    let empty = ElementwiseProgram::dense(5, &ElementwiseCode::new());
    let buffers = vec![vec![7], vec![7], vec![7], untouched(5)];
    cases.push(case(empty, buffers, Element::Word, Tolerance::Exact, "no program".to_owned()));
    cases
}
