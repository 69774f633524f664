//! Random numbers: the same stream on every device as on the host, word for word.

use roci_graph::ops::Random;
use roci_graph::ops::random::{Distribution, Stream};
use roci_graph::{DType, OpError};
use roci_kernels::params::{ChainOp as Op, ChainOperand, Random as Params, RandomForm};

use super::build::{A, B, Step::Do, Step::Save, Step::With, float, integer, temporary};
use super::elementwise::cast;
use super::strided::dimensions;
use super::{Context, Operand, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Random, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Random::Fill { distribution, seed, .. } => Ok(vec![fill(context, *distribution, *seed)?]),
        Random::Bernoulli { seed, .. } => {
            let chances = context.operand(0)?;
            let drawn = context.random(RandomForm::Uniform, &chances.shape, *seed)?;
            let code = [With(Op::Load, A), With(Op::Less, B)];
            let drawn = context.map(&code, &[&drawn, &chances], DType::Bool, &chances.shape)?;
            let dtype = context.output(0)?.dtype;
            let made = match cast(DType::Bool, dtype)? {
                None => Operand { dtype, ..drawn },
                Some(code) => context.chain(&code, &[&drawn], dtype, &chances.shape)?,
            };
            Ok(vec![made])
        }
        Random::Multinomial { samples, seed, .. } => Ok(vec![multinomial(context, *samples, *seed)?]),
        Random::Dropout { seed } => dropout(context, *seed),
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

impl Context<'_, '_> {
    /// Numbers of the stream of a seed; without one, of a stream that is new in every run.
    fn random(&mut self, form: RandomForm, shape: &[usize], seed: Option<u64>) -> Result<Operand, Refusal> {
        let key = match seed {
            Some(seed) => seed,
            None => {
                self.differs_every_run();
                // The kernel's counter has no room for the number of the stream: it goes into the key.
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
        self.segment().run("random", &params, &[], target.slot);
        Ok(target)
    }
}

fn fill(context: &mut Context<'_, '_>, distribution: Distribution, seed: Option<u64>) -> Result<Operand, Refusal> {
    let (dtype, to) = (context.output(0)?.dtype, context.output(0)?.shape()?.to_vec());
    if dtype == DType::F64 {
        // Of 53 bits on the host: devices have no such numbers.
        return Err(Refusal::unsupported("random numbers of f64"));
    }
    match distribution {
        Distribution::Uniform { low, high } => {
            let drawn = context.random(RandomForm::Uniform, &to, seed)?;
            let code = [With(Op::Load, A), With(Op::Mul, float(high - low)), With(Op::Add, float(low))];
            context.map(&code, &[&drawn], dtype, &to)
        }
        Distribution::Normal { mean, scale } => {
            // Two words an element: the kernel's own form would make two elements of them.
            let count = to.iter().product::<usize>();
            let words = context.random(RandomForm::Words, &[2 * count], seed)?;
            let every = dimensions(&[count], [2]);
            let (radius, angle) =
                (context.arranged(&words, 0, &every, [count])?, context.arranged(&words, 1, &every, [count])?);
            let step = 1.0 / (1u32 << 24) as f32;
            let fraction = [
                With(Op::Load, A),
                With(Op::ShiftRight, ChainOperand::Word(8)),
                Do(Op::U32ToF32),
                With(Op::Mul, float(step)),
            ];
            // From above 0 to 1: the logarithm of 0 is none.
            let code =
                [&fraction[..], &[With(Op::Add, float(step)), Do(Op::Log), With(Op::Mul, float(-2.0)), Do(Op::Sqrt)]];
            let radius = context.map(&code.concat(), &[&radius], DType::F32, &[count])?;
            let turn = [
                With(Op::Mul, float(2.0 * std::f32::consts::PI)),
                Do(Op::Cos),
                With(Op::Mul, B),
                With(Op::Mul, float(scale)),
                With(Op::Add, float(mean)),
            ];
            let code = [&fraction[..], &turn].concat();
            Ok(context.map(&code, &[&angle, &radius], dtype, &[count])?.reshaped(to))
        }
    }
}

fn multinomial(context: &mut Context<'_, '_>, samples: usize, seed: Option<u64>) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let dtype = context.output(0)?.dtype;
    let (rows, classes) = (x.shape[0], x.shape[1]);
    let top = context.folded(&x, "reduce_max", &[1])?.reshaped([rows, 1]);
    let code = [With(Op::Load, A), With(Op::Sub, B), Do(Op::Exp)];
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
    context.segment().run("scan_sum", &params, &[weights.slot], sums.slot);
    let total = context.part(&sums, 1, classes - 1, 1)?;
    let drawn = context.random(RandomForm::Uniform, &[rows, samples], seed)?;
    let at = context.map(&[With(Op::Load, A), With(Op::Mul, B)], &[&drawn, &total], DType::F32, &[rows, samples])?;
    // How many sums are not above it.
    let below = context.map(
        &[With(Op::Load, A), With(Op::LessEqual, B)],
        &[&sums.reshaped([rows, 1, classes]), &at.reshaped([rows, samples, 1])],
        DType::I32,
        &[rows, samples, classes],
    )?;
    let count = context.folded(&below, "reduce_sum_i32", &[2])?;
    let last = integer(word(classes - 1)? as i32);
    context.map(&[With(Op::Load, A), With(Op::MinI32, last)], &[&count], dtype, &[rows, samples])
}

fn dropout(context: &mut Context<'_, '_>, seed: Option<u64>) -> Result<Vec<Operand>, Refusal> {
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
        return Err(OpError::invalid(format!("a share of {ratio} to leave out, which is not from 0 to below 1")).into());
    }
    if ratio == 0.0 {
        let mut made = vec![x.clone()];
        if context.wants(1) {
            made.push(context.filled(DType::Bool, &x.shape, 1)?);
        }
        return Ok(made);
    }
    let drawn = context.random(RandomForm::Uniform, &x.shape, seed)?;
    let code = [With(Op::Load, A), With(Op::GreaterEqual, float(ratio as f32))];
    let kept = context.map(&code, &[&drawn], DType::Bool, &x.shape)?;
    let code = [
        With(Op::Load, float(0.0)),
        Save(3),
        With(Op::Load, A),
        With(Op::Mul, float((1.0 / (1.0 - ratio)) as f32)),
        Save(0),
        With(Op::Load, B),
        With(Op::Select, temporary(0)),
    ];
    Ok(vec![context.map(&code, &[&x, &kept], x.dtype, &x.shape)?, kept])
}
