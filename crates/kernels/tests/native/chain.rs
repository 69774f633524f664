//! `chain`, operation by operation against f64 and wide integers, and its ways to read inputs; `random` against known
//! words.

use proptest::prelude::*;
use roci_hal::native::NativeBinding;
use roci_kernels::native::Level;
use roci_kernels::params::{self, Chain, ChainCode, ChainError, ChainOp, ChainOperand, RandomForm};

use crate::arrays::{extent, place, strides};
use crate::launch::{bytes, launch_at, launch_bound, ulps, values};
use crate::unary::{erf, gelu, interesting};

/// The output of a program over inputs of one length.
fn run(level: Level, code: &ChainCode, a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut a, mut b, mut c, mut y) = (a.to_vec(), b.to_vec(), [0u32; 0], vec![0xdead_beefu32; a.len()]);
    let p = Chain::dense(a.len() as u32, code);
    let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut c), bytes(&mut y)];
    launch_at(level, "chain", &mut buffers, bytemuck::bytes_of(&p), 2).expect("it fits");
    y
}

/// `op` of `a`, and of `b` where it takes an operand.
fn only(op: ChainOp) -> Result<ChainCode, ChainError> {
    let code = ChainCode::new().with(ChainOp::Load, ChainOperand::A)?;
    if op.takes_operand() { code.with(op, ChainOperand::B) } else { code.then(op) }
}

fn words(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn functions_of_one_number_are_accurate() {
    type Case = (ChainOp, fn(f64) -> f64, u64);
    let cases: &[Case] = &[
        (ChainOp::Neg, |x| -x, 0),
        (ChainOp::Abs, f64::abs, 0),
        (ChainOp::Sign, |x| if x == 0.0 { 0.0 } else { x.signum() }, 0),
        (ChainOp::Ceil, f64::ceil, 0),
        (ChainOp::Floor, f64::floor, 0),
        (ChainOp::Round, f64::round_ties_even, 0),
        (ChainOp::Sqrt, f64::sqrt, 0),
        (ChainOp::Reciprocal, |x| 1.0 / x, 0),
        (ChainOp::Exp, f64::exp, 1),
        (ChainOp::Log, f64::ln, 1),
        (ChainOp::Sin, f64::sin, 1),
        (ChainOp::Cos, f64::cos, 1),
        (ChainOp::Tan, f64::tan, 1),
        (ChainOp::Asin, f64::asin, 1),
        (ChainOp::Acos, f64::acos, 1),
        (ChainOp::Atan, f64::atan, 1),
        (ChainOp::Sinh, f64::sinh, 1),
        (ChainOp::Cosh, f64::cosh, 1),
        (ChainOp::Tanh, f64::tanh, 1),
        (ChainOp::Asinh, f64::asinh, 1),
        (ChainOp::Acosh, f64::acosh, 1),
        (ChainOp::Atanh, f64::atanh, 1),
        (ChainOp::Erf, erf, 1),
        (ChainOp::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 1),
        (ChainOp::Relu, |x| if x < 0.0 { 0.0 } else { x }, 0),
        (ChainOp::Gelu, gelu, 1),
        (ChainOp::Softplus, |x| if x > 50.0 { x } else { x.exp().ln_1p() }, 1),
    ];
    let x = interesting();
    for &level in Level::available() {
        for &(op, exact, limit) in cases {
            let y = run(level, &only(op).unwrap(), &words(&x), &[]);
            for (&x, &y) in x.iter().zip(&y) {
                let (y, exact) = (f32::from_bits(y), exact(x.into()));
                assert!(ulps(y, exact) <= limit, "{op:?} at {level}: f({x:e}) = {y:e}, exactly {exact:e}");
            }
        }
    }
}

#[test]
fn functions_of_two_numbers_are_accurate() {
    type Case = (ChainOp, fn(f64, f64) -> f64, u64);
    fn modulo(a: f64, b: f64) -> f64 {
        let rest = a % b;
        if rest * b < 0.0 { rest + b } else { rest }
    }
    fn wins(a: f64, b: f64, of: fn(f64, f64) -> f64) -> f64 {
        if a.is_nan() || b.is_nan() { f64::NAN } else { of(a, b) }
    }
    let cases: &[Case] = &[
        (ChainOp::Add, |a, b| a + b, 0),
        (ChainOp::Sub, |a, b| a - b, 0),
        (ChainOp::RSub, |a, b| b - a, 0),
        (ChainOp::Mul, |a, b| a * b, 0),
        (ChainOp::Div, |a, b| a / b, 0),
        (ChainOp::RDiv, |a, b| b / a, 0),
        (ChainOp::Pow, f64::powf, 1),
        (ChainOp::RPow, |a, b| b.powf(a), 1),
        (ChainOp::Min, |a, b| wins(a, b, f64::min), 0),
        (ChainOp::Max, |a, b| wins(a, b, f64::max), 0),
        (ChainOp::Fmod, |a, b| a % b, 0),
        (ChainOp::Modulo, modulo, 1),
        (ChainOp::Leaky, |a, b| if a < 0.0 { a * b } else { a }, 0),
        (ChainOp::Elu, |a, b| if a < 0.0 { b * a.exp_m1() } else { a }, 1),
        (ChainOp::Threshold, |a, b| if a > b { a } else { 0.0 }, 0),
    ];
    type Comparison = (ChainOp, fn(f64, f64) -> bool);
    let comparisons: &[Comparison] = &[
        (ChainOp::Less, |a, b| a < b),
        (ChainOp::LessEqual, |a, b| a <= b),
        (ChainOp::Equal, |a, b| a == b),
        (ChainOp::Greater, |a, b| a > b),
        (ChainOp::GreaterEqual, |a, b| a >= b),
    ];
    let special = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, -0.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30, -1e30];
    let (mut a, mut b) = (values(3000, 9.0, 1), values(3000, 9.0, 2));
    a.extend(special.iter().flat_map(|&left| special.map(|_| left)));
    b.extend(special.iter().flat_map(|_| special));
    for &level in Level::available() {
        let compute = |op| run(level, &only(op).unwrap(), &words(&a), &words(&b));
        for &(op, exact, limit) in cases {
            for ((&a, &b), &y) in a.iter().zip(&b).zip(&compute(op)) {
                let (y, exact) = (f32::from_bits(y), exact(a.into(), b.into()));
                assert!(ulps(y, exact) <= limit, "{op:?} at {level}: f({a:e}, {b:e}) = {y:e}, exactly {exact:e}");
            }
        }
        for &(op, exact) in comparisons {
            for ((&a, &b), &y) in a.iter().zip(&b).zip(&compute(op)) {
                assert_eq!(y, u32::from(exact(a.into(), b.into())), "{op:?} at {level} of {a:e} and {b:e}");
            }
        }
    }
}

/// Words of all sizes.
fn integers(seed: u32) -> Vec<u32> {
    let mut words = vec![0, 1, 2, 3, 5, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000];
    words.extend((1..8).map(u32::wrapping_neg));
    let bits = |value: &f32| value.to_bits().wrapping_mul(2_654_435_761);
    words.extend(values(500, 1.0, seed).iter().enumerate().map(|(i, value)| (bits(value) as i32 >> (i % 32)) as u32));
    words
}

#[test]
fn integers_are_exact() {
    type Case = (ChainOp, fn(i128, i128) -> i128);
    fn floor_modulo(a: i128, b: i128) -> i128 {
        if b == 0 { 0 } else { a - a.div_euclid(b) * b + if b < 0 && a.rem_euclid(b) != 0 { b } else { 0 } }
    }
    fn power(a: i128, b: i128) -> i128 {
        match (a, b) {
            (_, 0) => 1,
            (_, 1..) => {
                let half = power(a, b / 2);
                let odd = if b % 2 == 1 { a } else { 1 };
                (half * half % (1 << 32) * odd) as i32 as i128
            }
            (1, _) => 1,
            (-1, _) if b % 2 == 0 => 1,
            (-1, _) => -1,
            _ => 0,
        }
    }
    let signed: &[Case] = &[
        (ChainOp::AddI32, |a, b| a + b),
        (ChainOp::SubI32, |a, b| a - b),
        (ChainOp::MulI32, |a, b| a * b),
        (ChainOp::DivI32, |a, b| a.checked_div(b).unwrap_or(0)),
        (ChainOp::ModI32, |a, b| a.checked_rem(b).unwrap_or(0)),
        (ChainOp::ModuloI32, floor_modulo),
        (ChainOp::MinI32, i128::min),
        (ChainOp::MaxI32, i128::max),
        (ChainOp::PowI32, power),
        (ChainOp::LessI32, |a, b| (a < b).into()),
        (ChainOp::LessEqualI32, |a, b| (a <= b).into()),
        (ChainOp::GreaterI32, |a, b| (a > b).into()),
        (ChainOp::GreaterEqualI32, |a, b| (a >= b).into()),
        (ChainOp::NegI32, |a, _| -a),
        (ChainOp::AbsI32, |a, _| a.abs()),
        (ChainOp::SignI32, |a, _| a.signum()),
        (ChainOp::WrapI8, |a, _| a as i8 as i128),
        (ChainOp::WrapI16, |a, _| a as i16 as i128),
        (ChainOp::I32ToF32, |a, _| (a as f32).to_bits().into()),
    ];
    let unsigned: &[Case] = &[
        (ChainOp::DivU32, |a, b| a.checked_div(b).unwrap_or(0)),
        (ChainOp::ModU32, |a, b| a.checked_rem(b).unwrap_or(0)),
        (ChainOp::MinU32, i128::min),
        (ChainOp::MaxU32, i128::max),
        (ChainOp::LessU32, |a, b| (a < b).into()),
        (ChainOp::LessEqualU32, |a, b| (a <= b).into()),
        (ChainOp::GreaterU32, |a, b| (a > b).into()),
        (ChainOp::GreaterEqualU32, |a, b| (a >= b).into()),
        (ChainOp::EqualWord, |a, b| (a == b).into()),
        (ChainOp::And, |a, b| a & b),
        (ChainOp::Or, |a, b| a | b),
        (ChainOp::Xor, |a, b| a ^ b),
        (ChainOp::ShiftLeft, |a, b| if b < 32 { a << b } else { 0 }),
        (ChainOp::ShiftRight, |a, b| if b < 32 { a >> b } else { 0 }),
        (ChainOp::Not, |a, _| !a),
        (ChainOp::IsZero, |a, _| (a == 0).into()),
        (ChainOp::WordToBool, |a, _| (a != 0).into()),
        (ChainOp::WrapU8, |a, _| a % 256),
        (ChainOp::WrapU16, |a, _| a % 65_536),
        (ChainOp::U32ToF32, |a, _| (a as f32).to_bits().into()),
    ];
    let pairs: Vec<(u32, u32)> = {
        let (a, b) = (integers(1), integers(2));
        let edges = a[..23].iter().flat_map(|&left| b[..23].iter().map(move |&right| (left, right)));
        edges.chain(a.iter().copied().zip(b.iter().rev().copied())).collect()
    };
    let (a, b): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
    let check = |cases: &[Case], wide: fn(u32) -> i128| {
        for &(op, exact) in cases {
            let y = run(Level::best(), &only(op).unwrap(), &a, &b);
            for ((&a, &b), &y) in a.iter().zip(&b).zip(&y) {
                assert_eq!(y, exact(wide(a), wide(b)) as u32, "{op:?} of {a:#x} and {b:#x}");
            }
        }
    };
    check(signed, |word| (word as i32).into());
    check(unsigned, u32::into);
}

#[test]
fn numbers_are_told_apart_and_rounded_to_smaller_types() {
    type Case = (ChainOp, fn(f32) -> u32);
    let cases: &[Case] = &[
        (ChainOp::IsNan, |x| x.is_nan().into()),
        (ChainOp::IsPositiveInfinity, |x| (x == f32::INFINITY).into()),
        (ChainOp::IsNegativeInfinity, |x| (x == f32::NEG_INFINITY).into()),
        (ChainOp::F32ToBool, |x| (x != 0.0).into()),
        (ChainOp::F32ToI32, |x| x as i32 as u32),
        (ChainOp::F32ToU32, |x| x as u32),
        (ChainOp::ThroughF16, |x| half::f16::from_f32(x).to_f32().to_bits()),
        (ChainOp::ThroughBf16, |x| half::bf16::from_f32(x).to_f32().to_bits()),
    ];
    let mut x = interesting();
    // Between any two neighbours of f16, and near them.
    x.extend((0..=u16::MAX).step_by(7).flat_map(|bits| {
        let (low, high) = (half::f16::from_bits(bits).to_f32(), half::f16::from_bits(bits ^ 1).to_f32());
        let middle = 0.5 * (low + high);
        [low, middle, middle.next_up(), middle.next_down()]
    }));
    for &(op, exact) in cases {
        for (&x, &y) in x.iter().zip(&run(Level::best(), &only(op).unwrap(), &words(&x), &[])) {
            let want = exact(x);
            let nan = x.is_nan() && f32::from_bits(want).is_nan() && f32::from_bits(y).is_nan();
            assert!(y == want || nan, "{op:?} of {x:e} ({:#x}) is {y:#x}, not {want:#x}", x.to_bits());
        }
    }
}

/// `max(a - b, 2 * c)`, with the index of the row added: temporaries, constants, coordinates and three inputs.
fn mixed() -> Result<ChainCode, ChainError> {
    ChainCode::new()
        .with(ChainOp::Load, ChainOperand::C)?
        .with(ChainOp::Mul, 2.0)?
        .save(1)?
        .with(ChainOp::Load, ChainOperand::A)?
        .with(ChainOp::Sub, ChainOperand::B)?
        .with(ChainOp::Max, ChainOperand::Temporary(1))?
        .save(3)?
        .coordinate(2)?
        .then(ChainOp::U32ToF32)?
        .with(ChainOp::Add, ChainOperand::Temporary(3))
}

proptest! {
    #[test]
    fn a_chain_reads_the_right_elements(
        shape in prop::array::uniform4(0u32..7),
        kinds in prop::array::uniform3(prop::array::uniform4(0u8..3)),
        inner in 1u32..300,
        workers in 1usize..5,
    ) {
        let shape = [shape[0], shape[1], shape[2], shape[3] * inner];
        let strides = kinds.map(|kinds| strides(shape, kinds));
        let mut inputs = strides.map(|strides| values(extent(shape, strides), 4.0, 11));
        let p = Chain::new(shape, strides, &mixed().unwrap());
        let mut y = vec![f32::NAN; p.count as usize];
        let [a, b, c] = &mut inputs;
        let mut buffers = [bytes(a), bytes(b), bytes(c), bytes(&mut y)];
        launch_at(Level::best(), "chain", &mut buffers, bytemuck::bytes_of(&p), workers).unwrap();
        for (i, &y) in y.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|input| inputs[input][place(i, shape, strides[input])]);
            let row = i / shape[3] as usize % shape[2] as usize;
            prop_assert_eq!(y, row as f32 + (a - b).max(2.0 * c), "element {}", i);
        }
    }

    #[test]
    fn random_numbers_do_not_depend_on_where_a_launch_starts(
        count in 0u32..300,
        skip in 0u32..50,
        form in 0u32..3,
        key: [u32; 2],
        low: u32,
        high in 0u32..9,
    ) {
        let whole = random(params::Random { count: count + 4 * skip, key, counter: [low, high], form });
        let start = (u64::from(low) | u64::from(high) << 32) + u64::from(skip);
        let counter = [start as u32, (start >> 32) as u32];
        let rest = random(params::Random { count, key, counter, form });
        prop_assert_eq!(&whole[4 * skip as usize..], &rest[..]);
    }
}

#[test]
fn a_chain_writes_over_a_dense_input_and_past_the_caches() {
    let count = 5 << 20;
    let (a, b) = (values(count, 9.0, 1), values(count, 9.0, 2));
    let code = only(ChainOp::Sub).unwrap();
    let p = Chain::dense(count as u32, &code);
    for &level in Level::available() {
        for over in 0..3 {
            let mut memory = [a.clone(), b.clone(), vec![0.0; count]];
            let bound = [0, 1, 2].map(|i| NativeBinding { pointer: memory[i].as_mut_ptr().cast(), length: count * 4 });
            launch_bound(level, "chain", &bound, &[0, 1, over, over], bytemuck::bytes_of(&p), 1).unwrap();
            assert!(memory[over].iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a - b), "{level}");
        }
    }
}

#[test]
fn wrong_chains_are_refused_with_the_reason() {
    let mut memory = vec![0u32; 64];
    let bound = [NativeBinding { pointer: memory.as_mut_ptr().cast(), length: 128 }];
    let refused = |p: Chain| launch_bound(Level::best(), "chain", &bound, &[0; 4], bytemuck::bytes_of(&p), 2);
    let error = |p| refused(p).expect_err("it is wrong");
    let with = |instruction: u32| Chain {
        count: 4,
        shape: [1, 1, 4],
        program: [instruction, 0, 0, 0, 0, 0, 0, 0],
        ..Chain::default()
    };
    assert_eq!(error(with(7)), "7 is no operation of a chain");
    assert_eq!(error(with(128 | 3 << 8)), "Load in a chain has the operand 3");
    assert_eq!(error(with(1)), "Save in a chain has the operand 0");
    assert_eq!(error(with(2 | 4 << 8)), "Coordinate in a chain has the operand 4");
    assert_eq!(error(with(128 | 5 << 8)), "the chain reads temporary 1 before it is saved");
    assert_eq!(error(with(129 | 8 << 8)), "the chain reads temporary 3 before it is saved");
    assert_eq!(error(Chain { shape: [1, 3, 1], ..with(0) }), "4 elements are no multiple of the shape [1, 3, 1]");
    assert_eq!(error(Chain { shape: [1, 0, 1], ..with(0) }), "4 elements are no multiple of the shape [1, 0, 1]");
    let load = ChainCode::new().with(ChainOp::Load, ChainOperand::A).unwrap();
    assert_eq!(error(Chain::dense(33, &load)), "writes 33 elements of `y`, bound are 32");
    assert_eq!(error(Chain::new([1, 1, 2, 16], [[0, 0, 0, 2]; 3], &load)), "`y` overlaps `a`");
    assert_eq!(refused(Chain::dense(32, &load)), Ok(1));
}

#[test]
fn programs_that_do_not_fit_are_not_written() {
    let load = ChainCode::new().with(ChainOp::Load, ChainOperand::A).unwrap();
    assert_eq!(load.len(), 1);
    let full = (1..16).try_fold(load, |code, _| code.then(ChainOp::Neg)).unwrap();
    assert_eq!(full.then(ChainOp::Neg), Err(ChainError::TooLong));
    let constants = (0..8).try_fold(load, |code, i| code.with(ChainOp::AddI32, ChainOperand::Word(i))).unwrap();
    assert_eq!(constants.with(ChainOp::Add, 1.0), Err(ChainError::TooManyImmediates));
    assert!(constants.with(ChainOp::AddI32, ChainOperand::Word(3)).is_ok());
    assert_eq!(load.then(ChainOp::Add), Err(ChainError::Operand(ChainOp::Add)));
    assert_eq!(load.with(ChainOp::Neg, 1.0), Err(ChainError::Operand(ChainOp::Neg)));
    assert_eq!(load.with(ChainOp::Add, ChainOperand::Input(3)), Err(ChainError::Operand(ChainOp::Add)));
    assert_eq!(load.save(4), Err(ChainError::Operand(ChainOp::Save)));
    assert_eq!(load.coordinate(4), Err(ChainError::Operand(ChainOp::Coordinate)));
    assert_eq!(ChainError::TooLong.to_string(), "a chain has at most 16 instructions");
}

fn random(p: params::Random) -> Vec<u32> {
    let mut y = vec![0u32; p.count as usize];
    launch_at(Level::best(), "random", &mut [bytes(&mut y)], bytemuck::bytes_of(&p), 3).expect("it fits");
    y
}

#[test]
fn random_words_are_those_of_philox() {
    let zero = params::Random { count: 4, ..params::Random::default() };
    // The first of the known answers that come with Random123.
    assert_eq!(random(zero), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let wrong = params::Random { form: 3, ..zero };
    let result = launch_at(Level::best(), "random", &mut [&mut [0; 16]], bytemuck::bytes_of(&wrong), 1);
    assert_eq!(result, Err("3 is no form of random numbers".to_owned()));
}

#[test]
fn random_numbers_are_spread_as_said() {
    let count = 1 << 18;
    let numbers = |form: RandomForm| {
        let p = params::Random { count, key: [1, 2], counter: [3, 4], form: form as u32 };
        random(p).into_iter().map(|word| f64::from(f32::from_bits(word))).collect::<Vec<f64>>()
    };
    let mean = |x: &[f64], power: i32| x.iter().map(|x| x.powi(power)).sum::<f64>() / x.len() as f64;
    let uniform = numbers(RandomForm::Uniform);
    assert!(uniform.iter().all(|x| (0.0..1.0).contains(x)));
    assert!((mean(&uniform, 1) - 0.5).abs() < 3e-3 && (mean(&uniform, 2) - 1.0 / 3.0).abs() < 3e-3);
    let normal = numbers(RandomForm::Normal);
    assert!(normal.iter().all(|x| x.abs() < 6.0));
    assert!(mean(&normal, 1).abs() < 0.01 && (mean(&normal, 2) - 1.0).abs() < 0.01, "{}", mean(&normal, 2));
    assert!(mean(&normal, 3).abs() < 0.05 && (mean(&normal, 4) - 3.0).abs() < 0.05, "{}", mean(&normal, 4));
}
