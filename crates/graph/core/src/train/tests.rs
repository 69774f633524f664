//! Compares training with JAX in double precision: the losses of several steps, and all tensors
//! after them.

use super::{Optimizer, TrainingStep, example};
use crate::{DType, OpError, Tensor, Value, run};

type Test = Result<(), Box<dyn std::error::Error>>;
/// The losses, the step, and the carried tensors at the end.
type Trained = (Vec<f64>, TrainingStep, Vec<Value>);

/// The output of `oracle/oracle.py`: the optimizer, the quantity, and numbers.
const ORACLE: &str = include_str!("oracle/oracle.txt");
const BATCH: usize = 6;

/// The numbers that the oracle uses.
fn numbers(salt: usize, shape: &[usize], scale: f64, shift: f64) -> Result<Tensor, OpError> {
    let one = |at: usize| {
        let at = at as f64;
        (at * 1.7 + at * at * 0.013 + salt as f64).sin() * scale + shift
    };
    Tensor::new(shape, (0..shape.iter().product()).map(one).collect())
}

/// A checksum of a tensor that depends on every element.
fn figure(tensor: &Tensor) -> Result<f64, OpError> {
    Ok(tensor.floats()?.iter().enumerate().map(|(at, one)| one * (at as f64).cos()).sum())
}

fn expected(optimizer: &str, what: &str) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let what = what.replace(' ', "_");
    let line =
        ORACLE.lines().find_map(|line| line.strip_prefix(optimizer)?.trim().strip_prefix(&what)?.strip_prefix(' '));
    let line = line.ok_or_else(|| format!("no params for {what}"))?;
    Ok(line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

fn trained(optimizer: &Optimizer, rate: f64, steps: usize) -> Result<Trained, Box<dyn std::error::Error>> {
    let (model, loss) = example(DType::F64, BATCH, true, 1)?;
    let step = model.step(loss, optimizer)?;
    let mut parameters = 0;
    let mut state = Vec::new();
    for tensor in &step.state {
        let is_parameter = ["weights", "scale", "bias"].iter().any(|kind| tensor.name.ends_with(kind))
            && !tensor.name.contains(" of ");
        state.push(Value::from(if is_parameter {
            let scale = if tensor.initial.rank() == 1 { 0.1 } else { 0.5 };
            let shift = if tensor.name.ends_with("scale") { 1.0 } else { 0.0 };
            parameters += 1;
            numbers(parameters - 1, tensor.initial.shape(), scale, shift)?
        } else {
            tensor.initial.clone()
        }));
    }
    let mut losses = Vec::new();
    for at in 0..steps {
        let images = numbers(100 + at, &[BATCH, 1, 16, 16], 1.0, 0.0)?;
        let classes = Tensor::vector((0..BATCH).map(|index| ((index * 3 + at) % 5) as i64).collect());
        let mut inputs: Vec<Value> = vec![images.into(), classes.into(), Tensor::scalar(rate).into()];
        inputs.extend(state);
        let mut result = run(&step.graph, inputs)?;
        state = result.split_off(1);
        losses.push(result[0].tensor()?.float()?);
    }
    Ok((losses, step, state))
}

#[test]
fn training_matches_jax() -> Test {
    for (optimizer, rate) in [(Optimizer::SGD, 0.05), (Optimizer::ADAM, 0.01)] {
        let name = optimizer.name();
        let losses = expected(name, "losses")?;
        let (result, step, state) = trained(&optimizer, rate, losses.len())?;
        for (result, loss) in result.iter().zip(&losses) {
            assert!((result - loss).abs() < 1e-9, "{name}: {result} for {loss}");
        }
        let mut compared = 0;
        for (tensor, value) in step.state.iter().zip(&state) {
            // The oracle stores the optimizer's state in another layout.
            let Ok(expected) = expected(name, &tensor.name) else { continue };
            let result = figure(value.tensor()?)?;
            assert!((result - expected[0]).abs() < 1e-8, "{name}, {}: {result} for {}", tensor.name, expected[0]);
            compared += 1;
        }
        assert_eq!(compared, 18);
    }
    Ok(())
}
