//! Random values: the same stream as on the host, bit for bit.

use roci_graph::ops::Random;
use roci_graph::ops::random::{Distribution, Stream};
use roci_graph::{DType, OpError};
use roci_kernels::params::{ElementwiseOp as Op, ElementwiseOperand, Random as Params, RandomForm};

use super::build::{A, B, Instr::Apply, Instr::ApplyWith, Instr::Save, float, integer, temporary};
use super::elementwise::cast;
use super::strided::dimensions;
use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn lower(op: &Random, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    match op {
        Random::Fill { distribution, seed, .. } => Ok(vec![fill(context, *distribution, *seed)?]),
        Random::Bernoulli { seed, .. } => {
            let chances = context.operand(0)?;
            let drawn = context.random(RandomForm::Uniform, &chances.shape, *seed)?;
            let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Less, B)];
            let drawn = context.map(&code, &[&drawn, &chances], DType::Bool, &chances.shape)?;
            let dtype = context.output(0)?.dtype;
            let result = match cast(DType::Bool, dtype)? {
                None => DeviceTensor { dtype, ..drawn },
                Some(code) => context.elementwise(&code, &[&drawn], dtype, &chances.shape)?,
            };
            Ok(vec![result])
        }
        Random::Multinomial { samples, seed, .. } => Ok(vec![multinomial(context, *samples, *seed)?]),
        Random::Dropout { seed } => dropout(context, *seed),
        other => Err(LoweringError::unsupported(format!("{other:?}"))),
    }
}

impl Context<'_, '_> {
    /// Values of the stream of a seed. Without a seed, the stream is different in every run.
    fn random(&mut self, form: RandomForm, shape: &[usize], seed: Option<u64>) -> Result<DeviceTensor, LoweringError> {
        let key = match seed {
            Some(seed) => seed,
            None => {
                self.prevent_replay();
                // The kernel's counter has no field for the stream's number, so it goes into the
                // key.
                let Stream { seed, run } = Stream::new(None);
                seed ^ (run + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            }
        };
        let target = self.new_tensor(DType::F32, shape);
        let params = Params {
            count: word(target.count())?,
            key: [key as u32, (key >> 32) as u32],
            counter: [0, 0],
            form: form as u32,
        };
        self.segment().dispatch("random", &params, &[], target.tensor_id);
        Ok(target)
    }
}

fn fill(
    context: &mut Context<'_, '_>,
    distribution: Distribution,
    seed: Option<u64>,
) -> Result<DeviceTensor, LoweringError> {
    let (dtype, to) = (context.output(0)?.dtype, context.output(0)?.shape()?.to_vec());
    if dtype == DType::F64 {
        // The host draws 53 bits for f64, which devices cannot represent.
        return Err(LoweringError::unsupported("random numbers of f64"));
    }
    match distribution {
        Distribution::Uniform { low, high } => {
            let drawn = context.random(RandomForm::Uniform, &to, seed)?;
            let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, float(high - low)), ApplyWith(Op::Add, float(low))];
            context.map(&code, &[&drawn], dtype, &to)
        }
        Distribution::Normal { mean, scale } => {
            // Two words per element. The kernel's own normal form makes two elements of two words,
            // which is another stream.
            let count = to.iter().product::<usize>();
            let words = context.random(RandomForm::Words, &[2 * count], seed)?;
            let every = dimensions(&[count], [2]);
            let (radius, angle) =
                (context.strided_copy(&words, 0, &every, [count])?, context.strided_copy(&words, 1, &every, [count])?);
            let step = 1.0 / (1u32 << 24) as f32;
            let fraction = [
                ApplyWith(Op::Load, A),
                ApplyWith(Op::ShiftRight, ElementwiseOperand::Word(8)),
                Apply(Op::U32ToF32),
                ApplyWith(Op::Mul, float(step)),
            ];
            // In (0, 1], because log(0) is infinite.
            let code = [
                &fraction[..],
                &[ApplyWith(Op::Add, float(step)), Apply(Op::Log), ApplyWith(Op::Mul, float(-2.0)), Apply(Op::Sqrt)],
            ];
            let radius = context.map(&code.concat(), &[&radius], DType::F32, &[count])?;
            let turn = [
                ApplyWith(Op::Mul, float(2.0 * std::f32::consts::PI)),
                Apply(Op::Cos),
                ApplyWith(Op::Mul, B),
                ApplyWith(Op::Mul, float(scale)),
                ApplyWith(Op::Add, float(mean)),
            ];
            let code = [&fraction[..], &turn].concat();
            Ok(context.map(&code, &[&angle, &radius], dtype, &[count])?.reshaped(to))
        }
    }
}

fn multinomial(
    context: &mut Context<'_, '_>,
    samples: usize,
    seed: Option<u64>,
) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let dtype = context.output(0)?.dtype;
    let (rows, classes) = (x.shape[0], x.shape[1]);
    let top = context.reduce(&x, "reduce_max", &[1])?.reshaped([rows, 1]);
    let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Sub, B), Apply(Op::Exp)];
    let weights = context.map(&code, &[&x, &top], DType::F32, &x.shape)?;
    let params = roci_kernels::params::Scan {
        outer: word(rows)?,
        axis: word(classes)?,
        inner: 1,
        numbers: roci_kernels::params::Numbers::F32.word(),
        exclusive: 0,
        reverse: 0,
    };
    let sums = context.new_tensor(DType::F32, [rows, classes]);
    context.segment().dispatch("scan_sum", &params, &[weights.tensor_id], sums.tensor_id);
    let total = context.slice(&sums, 1, classes - 1, 1)?;
    let drawn = context.random(RandomForm::Uniform, &[rows, samples], seed)?;
    let at = context.map(
        &[ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)],
        &[&drawn, &total],
        DType::F32,
        &[rows, samples],
    )?;
    // The number of running sums that are not above the drawn value.
    let below = context.map(
        &[ApplyWith(Op::Load, A), ApplyWith(Op::LessEqual, B)],
        &[&sums.reshaped([rows, 1, classes]), &at.reshaped([rows, samples, 1])],
        DType::I32,
        &[rows, samples, classes],
    )?;
    let count = context.reduce(&below, "reduce_sum_i32", &[2])?;
    let last = integer(word(classes - 1)? as i32);
    context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::MinI32, last)], &[&count], dtype, &[rows, samples])
}

fn dropout(context: &mut Context<'_, '_>, seed: Option<u64>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let ratio = match context.fact(1) {
        Some(_) => context.value(1)?.float()?,
        None => 0.5,
    };
    let train = match context.fact(2) {
        Some(_) => context.value(2)?.float()? != 0.0,
        None => false,
    };
    let x = context.operand(0)?;
    let ratio = if train { ratio } else { 0.0 };
    if !(0.0..1.0).contains(&ratio) {
        return Err(OpError::invalid(format!("the dropout ratio is {ratio}, expected a value in [0, 1)")).into());
    }
    if ratio == 0.0 {
        let mut result = vec![x.clone()];
        if context.uses_output(1) {
            result.push(context.fill(DType::Bool, &x.shape, 1)?);
        }
        return Ok(result);
    }
    let drawn = context.random(RandomForm::Uniform, &x.shape, seed)?;
    let code = [ApplyWith(Op::Load, A), ApplyWith(Op::GreaterEqual, float(ratio as f32))];
    let mask = context.map(&code, &[&drawn], DType::Bool, &x.shape)?;
    let code = [
        ApplyWith(Op::Load, float(0.0)),
        Save(3),
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Mul, float((1.0 / (1.0 - ratio)) as f32)),
        Save(0),
        ApplyWith(Op::Load, B),
        ApplyWith(Op::Select, temporary(0)),
    ];
    Ok(vec![context.map(&code, &[&x, &mask], x.dtype, &x.shape)?, mask])
}
