//! Training against JAX, in double precision: losses of several steps, and what all tensors are after them.

use super::{Optimizer, Step, example};
use crate::{DType, OpError, Tensor, Value, run};

type Test = Result<(), Box<dyn std::error::Error>>;
/// Losses, the step, and what is carried in the end.
type Trained = (Vec<f64>, Step, Vec<Value>);

/// What `oracle/oracle.py` printed: the optimizer, what it is, and figures.
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

/// One figure for a tensor, which depends on every element.
fn figure(tensor: &Tensor) -> Result<f64, OpError> {
    Ok(tensor.floats()?.iter().enumerate().map(|(at, one)| one * (at as f64).cos()).sum())
}

fn expected(optimizer: &str, what: &str) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let what = what.replace(' ', "_");
    let line =
        ORACLE.lines().find_map(|line| line.strip_prefix(optimizer)?.trim().strip_prefix(&what)?.strip_prefix(' '));
    let line = line.ok_or_else(|| format!("no figures for {what}"))?;
    Ok(line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

fn trained(optimizer: &Optimizer, rate: f64, steps: usize) -> Result<Trained, Box<dyn std::error::Error>> {
    let (model, loss) = example(DType::F64, BATCH, true, 1)?;
    let step = model.step(loss, optimizer)?;
    let mut parameters = 0;
    let mut state = Vec::new();
    for carried in &step.carried {
        let is_parameter = ["weights", "scale", "bias"].iter().any(|kind| carried.name.ends_with(kind))
            && !carried.name.contains(" of ");
        state.push(Value::from(if is_parameter {
            let scale = if carried.initial.rank() == 1 { 0.1 } else { 0.5 };
            let shift = if carried.name.ends_with("scale") { 1.0 } else { 0.0 };
            parameters += 1;
            numbers(parameters - 1, carried.initial.shape(), scale, shift)?
        } else {
            carried.initial.clone()
        }));
    }
    let mut losses = Vec::new();
    for at in 0..steps {
        let pictures = numbers(100 + at, &[BATCH, 1, 16, 16], 1.0, 0.0)?;
        let classes = Tensor::vector((0..BATCH).map(|index| ((index * 3 + at) % 5) as i64).collect());
        let mut inputs: Vec<Value> = vec![pictures.into(), classes.into(), Tensor::scalar(rate).into()];
        inputs.extend(state);
        let mut made = run(&step.graph, inputs)?;
        state = made.split_off(1);
        losses.push(made[0].tensor()?.float()?);
    }
    Ok((losses, step, state))
}

#[test]
fn steps_are_those_of_jax() -> Test {
    for (optimizer, rate) in [(Optimizer::SGD, 0.05), (Optimizer::ADAM, 0.01)] {
        let name = optimizer.name();
        let losses = expected(name, "losses")?;
        let (made, step, state) = trained(&optimizer, rate, losses.len())?;
        for (made, loss) in made.iter().zip(&losses) {
            assert!((made - loss).abs() < 1e-9, "{name}: {made} for {loss}");
        }
        let mut compared = 0;
        for (carried, value) in step.carried.iter().zip(&state) {
            // The optimizer's own tensors are laid out otherwise there.
            let Ok(expected) = expected(name, &carried.name) else { continue };
            let made = figure(value.tensor()?)?;
            assert!((made - expected[0]).abs() < 1e-8, "{name}, {}: {made} for {}", carried.name, expected[0]);
            compared += 1;
        }
        assert_eq!(compared, 18);
    }
    Ok(())
}
