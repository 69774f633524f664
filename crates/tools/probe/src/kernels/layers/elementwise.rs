//! Element-wise kernels: elementwise programs, conversions, and counter-based random numbers.

use roci_kernels::params::{
    Cast, ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand, ElementwiseProgram, Random, RandomForm,
};

use super::super::input::{Element, Input};
use super::super::reference::{Expected, exact};
use super::{CaseData, LayerCase, LayerCaseBuilder, bytes_moved, floats, join_sizes};
use crate::Tolerance;
use crate::WorkAmount;

/// The hard swish of the sum of both inputs.
fn program() -> Result<ElementwiseCode, ElementwiseError> {
    ElementwiseCode::new()
        .with(ElementwiseOp::Load, ElementwiseOperand::A)?
        .with(ElementwiseOp::Add, ElementwiseOperand::B)?
        .save(0)?
        .with(ElementwiseOp::Mul, 0.125)?
        .with(ElementwiseOp::Add, 0.5)?
        .with(ElementwiseOp::Max, 0.0)?
        .with(ElementwiseOp::Min, 1.0)?
        .with(ElementwiseOp::Mul, ElementwiseOperand::Temporary(0))
}

/// A matrix plus a broadcast row, followed by the program's other operations.
pub(super) fn elementwise_program(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (rows, columns) = (builder.size(79, 4099), builder.size(129, 1021));
    // A program that does not fit leaves the output at zero, which fails the comparison.
    let code = program().unwrap_or_default();
    let strides = [[0, 0, columns, 1], [0, 0, 0, 1], [0; 4]];
    let params = ElementwiseProgram::new([1, 1, rows, columns], strides, &code);
    let work = bytes_moved(&[2 * rows * columns, columns]);
    builder.case(params, join_sizes(&[rows, columns]), work, (Element::F32, Tolerance::FewUlps), hard_swish_data)
}

fn hard_swish_data(_: &str, p: &ElementwiseProgram) -> CaseData {
    let columns = p.shape[2];
    let range = (-4.0, 4.0);
    let (a, b, c) = (floats(p.count, range, 1), floats(columns, range, 2), floats(1, range, 3));
    let swish = |(a, b): (&f64, &f64)| {
        let (sum, size) = (a + b, a.abs() + b.abs());
        // The terms of a sum may cancel, but not their rounding errors.
        Expected { value: sum * (sum / 8.0 + 0.5).clamp(0.0, 1.0), magnitude: size * (size / 8.0 + 0.5) }
    };
    let expected = a.values.iter().zip(b.values.iter().cycle()).map(swish).collect();
    (vec![a, b, c], expected)
}

pub(super) fn cast(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let count = builder.size(10_006, (1 << 22) + 2);
    let output = if builder.kernel == "cast_f32_to_f16" { Element::F16 } else { Element::F32 };
    let work = WorkAmount::Bytes(6 * u64::from(count));
    builder.case(Cast { count }, count.to_string(), work, (output, Tolerance::Exact), cast_data)
}

fn cast_data(kernel: &str, p: &Cast) -> CaseData {
    let narrows = kernel == "cast_f32_to_f16";
    let from = if narrows { Element::F32 } else { Element::F16 };
    let x = Input::spread(from, p.count as usize, -4.0, 4.0, 1);
    let expected = if narrows { Element::F16.decode(&Element::F16.encode(&x.values)) } else { x.values.clone() };
    (vec![x], expected.into_iter().map(exact).collect())
}

pub(super) fn random(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let count = builder.size(10_007, (1 << 22) + 3);
    let form = RandomForm::Words as u32;
    // The low word of the counter overflows.
    let params = Random { count, key: [0x0dd_ba11, 7], counter: [u32::MAX - 100, 5], form };
    builder.case(params, count.to_string(), bytes_moved(&[count]), (Element::U32, Tolerance::Exact), random_data)
}

fn random_data(_: &str, p: &Random) -> CaseData {
    let first = u64::from(p.counter[1]) << 32 | u64::from(p.counter[0]);
    let four = |j| philox(first.wrapping_add(j), p.key).into_iter();
    let words = (0..u64::from(p.count.div_ceil(4))).flat_map(four).take(p.count as usize);
    (Vec::new(), words.map(|word| exact(f64::from(word))).collect())
}

/// Philox 4x32-10, from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3".
fn philox(counter: u64, [mut k0, mut k1]: [u32; 2]) -> [u32; 4] {
    let mut x = [counter as u32, (counter >> 32) as u32, 0, 0];
    for _ in 0..10 {
        let left = u64::from(x[0]) * 0xd251_1f53;
        let right = u64::from(x[2]) * 0xcd9e_8d57;
        x = [(right >> 32) as u32 ^ x[1] ^ k0, right as u32, (left >> 32) as u32 ^ x[3] ^ k1, left as u32];
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_the_demo_fits() {
        assert!(program().is_ok());
    }

    #[test]
    fn random_words_are_those_of_the_authors() {
        // From Random123's `kat_vectors`: philox4x32, 10 rounds, all zero.
        assert_eq!(philox(0, [0, 0]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }
}
