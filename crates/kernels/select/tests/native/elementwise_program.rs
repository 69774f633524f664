//! `elementwise_program`: each operation against f64 and wide integers, and all input layouts;
//! `random` against known answers.

use proptest::prelude::*;
use roci_hal::native::NativeBinding;
use roci_kernels::native::Level;
use roci_kernels::params::{
    self, ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand, ElementwiseProgram, RandomForm,
};

use crate::arrays::{extent, place, strides};
use crate::launch::{bytes, launch_at, launch_bound, ulps, values};
use crate::unary::{erf, gelu, interesting};

/// The output of a program over dense inputs.
fn run(level: Level, code: &ElementwiseCode, a: &[u32], b: &[u32]) -> Vec<u32> {
    let (mut a, mut b, mut c, mut y) = (a.to_vec(), b.to_vec(), [0u32; 0], vec![0xdead_beefu32; a.len()]);
    let p = ElementwiseProgram::dense(a.len() as u32, code);
    let mut buffers = [bytes(&mut a), bytes(&mut b), bytes(&mut c), bytes(&mut y)];
    launch_at(level, "elementwise_program", &mut buffers, bytemuck::bytes_of(&p), 2).expect("the launch is valid");
    y
}

/// A program that applies `op` to `a`, and to `b` if it takes an operand.
fn only(op: ElementwiseOp) -> Result<ElementwiseCode, ElementwiseError> {
    let code = ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A)?;
    if op.takes_operand() { code.with(op, ElementwiseOperand::B) } else { code.then(op) }
}

fn words(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn unary_functions_are_accurate() {
    type Case = (ElementwiseOp, fn(f64) -> f64, u64);
    let cases: &[Case] = &[
        (ElementwiseOp::Neg, |x| -x, 0),
        (ElementwiseOp::Abs, f64::abs, 0),
        (ElementwiseOp::Sign, |x| if x == 0.0 { 0.0 } else { x.signum() }, 0),
        (ElementwiseOp::Ceil, f64::ceil, 0),
        (ElementwiseOp::Floor, f64::floor, 0),
        (ElementwiseOp::Round, f64::round_ties_even, 0),
        (ElementwiseOp::Sqrt, f64::sqrt, 0),
        (ElementwiseOp::Reciprocal, |x| 1.0 / x, 0),
        (ElementwiseOp::Exp, f64::exp, 1),
        (ElementwiseOp::Log, f64::ln, 1),
        (ElementwiseOp::Sin, f64::sin, 1),
        (ElementwiseOp::Cos, f64::cos, 1),
        (ElementwiseOp::Tan, f64::tan, 1),
        (ElementwiseOp::Asin, f64::asin, 1),
        (ElementwiseOp::Acos, f64::acos, 1),
        (ElementwiseOp::Atan, f64::atan, 1),
        (ElementwiseOp::Sinh, f64::sinh, 1),
        (ElementwiseOp::Cosh, f64::cosh, 1),
        (ElementwiseOp::Tanh, f64::tanh, 1),
        (ElementwiseOp::Asinh, f64::asinh, 1),
        (ElementwiseOp::Acosh, f64::acosh, 1),
        (ElementwiseOp::Atanh, f64::atanh, 1),
        (ElementwiseOp::Erf, erf, 1),
        (ElementwiseOp::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 1),
        (ElementwiseOp::Relu, |x| if x < 0.0 { 0.0 } else { x }, 0),
        (ElementwiseOp::Gelu, gelu, 1),
        (ElementwiseOp::Softplus, |x| if x > 50.0 { x } else { x.exp().ln_1p() }, 1),
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
fn binary_functions_are_accurate() {
    type Case = (ElementwiseOp, fn(f64, f64) -> f64, u64);
    fn modulo(a: f64, b: f64) -> f64 {
        let rest = a % b;
        if rest * b < 0.0 { rest + b } else { rest }
    }
    fn wins(a: f64, b: f64, of: fn(f64, f64) -> f64) -> f64 {
        if a.is_nan() || b.is_nan() { f64::NAN } else { of(a, b) }
    }
    let cases: &[Case] = &[
        (ElementwiseOp::Add, |a, b| a + b, 0),
        (ElementwiseOp::Sub, |a, b| a - b, 0),
        (ElementwiseOp::RSub, |a, b| b - a, 0),
        (ElementwiseOp::Mul, |a, b| a * b, 0),
        (ElementwiseOp::Div, |a, b| a / b, 0),
        (ElementwiseOp::RDiv, |a, b| b / a, 0),
        (ElementwiseOp::Pow, f64::powf, 1),
        (ElementwiseOp::RPow, |a, b| b.powf(a), 1),
        (ElementwiseOp::Min, |a, b| wins(a, b, f64::min), 0),
        (ElementwiseOp::Max, |a, b| wins(a, b, f64::max), 0),
        (ElementwiseOp::Fmod, |a, b| a % b, 0),
        (ElementwiseOp::Modulo, modulo, 1),
        (ElementwiseOp::Leaky, |a, b| if a < 0.0 { a * b } else { a }, 0),
        (ElementwiseOp::Elu, |a, b| if a < 0.0 { b * a.exp_m1() } else { a }, 1),
        (ElementwiseOp::Threshold, |a, b| if a > b { a } else { 0.0 }, 0),
    ];
    type Comparison = (ElementwiseOp, fn(f64, f64) -> bool);
    let comparisons: &[Comparison] = &[
        (ElementwiseOp::Less, |a, b| a < b),
        (ElementwiseOp::LessEqual, |a, b| a <= b),
        (ElementwiseOp::Equal, |a, b| a == b),
        (ElementwiseOp::Greater, |a, b| a > b),
        (ElementwiseOp::GreaterEqual, |a, b| a >= b),
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

/// Words of all magnitudes.
fn integers(seed: u32) -> Vec<u32> {
    let mut words = vec![0, 1, 2, 3, 5, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000];
    words.extend((1..8).map(u32::wrapping_neg));
    let bits = |value: &f32| value.to_bits().wrapping_mul(2_654_435_761);
    words.extend(values(500, 1.0, seed).iter().enumerate().map(|(i, value)| (bits(value) as i32 >> (i % 32)) as u32));
    words
}

#[test]
fn integers_are_exact() {
    type Case = (ElementwiseOp, fn(i128, i128) -> i128);
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
        (ElementwiseOp::AddI32, |a, b| a + b),
        (ElementwiseOp::SubI32, |a, b| a - b),
        (ElementwiseOp::MulI32, |a, b| a * b),
        (ElementwiseOp::DivI32, |a, b| a.checked_div(b).unwrap_or(0)),
        (ElementwiseOp::ModI32, |a, b| a.checked_rem(b).unwrap_or(0)),
        (ElementwiseOp::ModuloI32, floor_modulo),
        (ElementwiseOp::MinI32, i128::min),
        (ElementwiseOp::MaxI32, i128::max),
        (ElementwiseOp::PowI32, power),
        (ElementwiseOp::LessI32, |a, b| (a < b).into()),
        (ElementwiseOp::LessEqualI32, |a, b| (a <= b).into()),
        (ElementwiseOp::GreaterI32, |a, b| (a > b).into()),
        (ElementwiseOp::GreaterEqualI32, |a, b| (a >= b).into()),
        (ElementwiseOp::NegI32, |a, _| -a),
        (ElementwiseOp::AbsI32, |a, _| a.abs()),
        (ElementwiseOp::SignI32, |a, _| a.signum()),
        (ElementwiseOp::WrapI8, |a, _| a as i8 as i128),
        (ElementwiseOp::WrapI16, |a, _| a as i16 as i128),
        (ElementwiseOp::I32ToF32, |a, _| (a as f32).to_bits().into()),
    ];
    let unsigned: &[Case] = &[
        (ElementwiseOp::DivU32, |a, b| a.checked_div(b).unwrap_or(0)),
        (ElementwiseOp::ModU32, |a, b| a.checked_rem(b).unwrap_or(0)),
        (ElementwiseOp::MinU32, i128::min),
        (ElementwiseOp::MaxU32, i128::max),
        (ElementwiseOp::LessU32, |a, b| (a < b).into()),
        (ElementwiseOp::LessEqualU32, |a, b| (a <= b).into()),
        (ElementwiseOp::GreaterU32, |a, b| (a > b).into()),
        (ElementwiseOp::GreaterEqualU32, |a, b| (a >= b).into()),
        (ElementwiseOp::EqualWord, |a, b| (a == b).into()),
        (ElementwiseOp::And, |a, b| a & b),
        (ElementwiseOp::Or, |a, b| a | b),
        (ElementwiseOp::Xor, |a, b| a ^ b),
        (ElementwiseOp::ShiftLeft, |a, b| if b < 32 { a << b } else { 0 }),
        (ElementwiseOp::ShiftRight, |a, b| if b < 32 { a >> b } else { 0 }),
        (ElementwiseOp::Not, |a, _| !a),
        (ElementwiseOp::IsZero, |a, _| (a == 0).into()),
        (ElementwiseOp::WordToBool, |a, _| (a != 0).into()),
        (ElementwiseOp::WrapU8, |a, _| a % 256),
        (ElementwiseOp::WrapU16, |a, _| a % 65_536),
        (ElementwiseOp::U32ToF32, |a, _| (a as f32).to_bits().into()),
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
fn types_are_distinguished_and_values_rounded_to_smaller_types() {
    type Case = (ElementwiseOp, fn(f32) -> u32);
    let cases: &[Case] = &[
        (ElementwiseOp::IsNan, |x| x.is_nan().into()),
        (ElementwiseOp::IsPositiveInfinity, |x| (x == f32::INFINITY).into()),
        (ElementwiseOp::IsNegativeInfinity, |x| (x == f32::NEG_INFINITY).into()),
        (ElementwiseOp::F32ToBool, |x| (x != 0.0).into()),
        (ElementwiseOp::F32ToI32, |x| x as i32 as u32),
        (ElementwiseOp::F32ToU32, |x| x as u32),
        (ElementwiseOp::RoundF16, |x| half::f16::from_f32(x).to_f32().to_bits()),
        (ElementwiseOp::RoundBf16, |x| half::bf16::from_f32(x).to_f32().to_bits()),
    ];
    let mut x = interesting();
    // Values between adjacent f16 values, and near them.
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

/// `max(a - b, 2 * c)` plus the row index: uses temporaries, constants, coordinates and three
/// inputs.
fn mixed() -> Result<ElementwiseCode, ElementwiseError> {
    ElementwiseCode::new()
        .with(ElementwiseOp::Load, ElementwiseOperand::C)?
        .with(ElementwiseOp::Mul, 2.0)?
        .save(1)?
        .with(ElementwiseOp::Load, ElementwiseOperand::A)?
        .with(ElementwiseOp::Sub, ElementwiseOperand::B)?
        .with(ElementwiseOp::Max, ElementwiseOperand::Temporary(1))?
        .save(3)?
        .coordinate(2)?
        .then(ElementwiseOp::U32ToF32)?
        .with(ElementwiseOp::Add, ElementwiseOperand::Temporary(3))
}

proptest! {
    #[test]
    fn programs_read_strided_inputs(
        shape in prop::array::uniform4(0u32..7),
        kinds in prop::array::uniform3(prop::array::uniform4(0u8..3)),
        inner in 1u32..300,
        workers in 1usize..5,
    ) {
        let shape = [shape[0], shape[1], shape[2], shape[3] * inner];
        let strides = kinds.map(|kinds| strides(shape, kinds));
        let mut inputs = strides.map(|strides| values(extent(shape, strides), 4.0, 11));
        let p = ElementwiseProgram::new(shape, strides, &mixed().unwrap());
        let mut y = vec![f32::NAN; p.count as usize];
        let [a, b, c] = &mut inputs;
        let mut buffers = [bytes(a), bytes(b), bytes(c), bytes(&mut y)];
        launch_at(Level::best(), "elementwise_program", &mut buffers, bytemuck::bytes_of(&p), workers).unwrap();
        for (i, &y) in y.iter().enumerate() {
            let [a, b, c] = [0, 1, 2].map(|input| inputs[input][place(i, shape, strides[input])]);
            let row = i / shape[3] as usize % shape[2] as usize;
            prop_assert_eq!(y, row as f32 + (a - b).max(2.0 * c), "element {}", i);
        }
    }

    #[test]
    fn random_numbers_do_not_depend_on_the_launch_offset(
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
fn programs_run_in_place_and_with_streaming_stores() {
    let count = 5 << 20;
    let (a, b) = (values(count, 9.0, 1), values(count, 9.0, 2));
    let code = only(ElementwiseOp::Sub).unwrap();
    let p = ElementwiseProgram::dense(count as u32, &code);
    for &level in Level::available() {
        for over in 0..3 {
            let mut memory = [a.clone(), b.clone(), vec![0.0; count]];
            let bound = [0, 1, 2].map(|i| NativeBinding { pointer: memory[i].as_mut_ptr().cast(), length: count * 4 });
            launch_bound(level, "elementwise_program", &bound, &[0, 1, over, over], bytemuck::bytes_of(&p), 1).unwrap();
            assert!(memory[over].iter().zip(a.iter().zip(&b)).all(|(y, (a, b))| *y == a - b), "{level}");
        }
    }
}

#[test]
fn invalid_programs_are_rejected_with_the_reason() {
    let mut memory = vec![0u32; 64];
    let bound = [NativeBinding { pointer: memory.as_mut_ptr().cast(), length: 128 }];
    let refused = |p: ElementwiseProgram| {
        launch_bound(Level::best(), "elementwise_program", &bound, &[0; 4], bytemuck::bytes_of(&p), 2)
    };
    let error = |p| refused(p).expect_err("the program is invalid");
    let with = |instruction: u32| ElementwiseProgram {
        count: 4,
        shape: [1, 1, 4],
        program: [instruction, 0, 0, 0, 0, 0, 0, 0],
        ..ElementwiseProgram::default()
    };
    assert_eq!(error(with(7)), "unknown operation 7 in an elementwise program");
    assert_eq!(error(with(128 | 3 << 8)), "Load in an elementwise program has the operand 3");
    assert_eq!(error(with(1)), "Save in an elementwise program has the operand 0");
    assert_eq!(error(with(2 | 4 << 8)), "Coordinate in an elementwise program has the operand 4");
    assert_eq!(error(with(128 | 5 << 8)), "the elementwise program reads temporary 1 before it is saved");
    assert_eq!(error(with(129 | 8 << 8)), "the elementwise program reads temporary 3 before it is saved");
    assert_eq!(
        error(ElementwiseProgram { shape: [1, 3, 1], ..with(0) }),
        "4 elements are not a multiple of the shape [1, 3, 1]"
    );
    assert_eq!(
        error(ElementwiseProgram { shape: [1, 0, 1], ..with(0) }),
        "4 elements are not a multiple of the shape [1, 0, 1]"
    );
    let load = ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A).unwrap();
    assert_eq!(error(ElementwiseProgram::dense(33, &load)), "writes 33 elements of `y`, but 32 are bound");
    assert_eq!(error(ElementwiseProgram::new([1, 1, 2, 16], [[0, 0, 0, 2]; 3], &load)), "`y` overlaps `a`");
    assert_eq!(refused(ElementwiseProgram::dense(32, &load)), Ok(1));
}

#[test]
fn oversized_programs_are_not_encoded() {
    let load = ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A).unwrap();
    assert_eq!(load.len(), 1);
    let full = (1..16).try_fold(load, |code, _| code.then(ElementwiseOp::Neg)).unwrap();
    assert_eq!(full.then(ElementwiseOp::Neg), Err(ElementwiseError::TooLong));
    let constants =
        (0..8).try_fold(load, |code, i| code.with(ElementwiseOp::AddI32, ElementwiseOperand::Word(i))).unwrap();
    assert_eq!(constants.with(ElementwiseOp::Add, 1.0), Err(ElementwiseError::TooManyImmediates));
    assert!(constants.with(ElementwiseOp::AddI32, ElementwiseOperand::Word(3)).is_ok());
    assert_eq!(load.then(ElementwiseOp::Add), Err(ElementwiseError::Operand(ElementwiseOp::Add)));
    assert_eq!(load.with(ElementwiseOp::Neg, 1.0), Err(ElementwiseError::Operand(ElementwiseOp::Neg)));
    assert_eq!(
        load.with(ElementwiseOp::Add, ElementwiseOperand::Input(3)),
        Err(ElementwiseError::Operand(ElementwiseOp::Add))
    );
    assert_eq!(load.save(4), Err(ElementwiseError::Operand(ElementwiseOp::Save)));
    assert_eq!(load.coordinate(4), Err(ElementwiseError::Operand(ElementwiseOp::Coordinate)));
    assert_eq!(ElementwiseError::TooLong.to_string(), "an elementwise program has at most 16 instructions");
}

fn random(p: params::Random) -> Vec<u32> {
    let mut y = vec![0u32; p.count as usize];
    launch_at(Level::best(), "random", &mut [bytes(&mut y)], bytemuck::bytes_of(&p), 3).expect("the launch is valid");
    y
}

#[test]
fn random_words_match_philox() {
    let zero = params::Random { count: 4, ..params::Random::default() };
    // The first known answer of the Random123 distribution.
    assert_eq!(random(zero), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    let wrong = params::Random { form: 3, ..zero };
    let result = launch_at(Level::best(), "random", &mut [&mut [0; 16]], bytemuck::bytes_of(&wrong), 1);
    assert_eq!(result, Err("unknown form 3 of random values".to_owned()));
}

#[test]
fn random_numbers_have_the_stated_distribution() {
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
