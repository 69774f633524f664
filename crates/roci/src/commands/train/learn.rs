//! One device learns.

use std::time::Instant;

use indicatif::ProgressBar;
use roci_graph::interpreter::RunError;
use roci_graph::train::{CLASSES, example};
use roci_graph::{DType, OpError, Tensor, Value};
use roci_hal::Device;
use roci_runtime::{Session, Stateful};

use super::{Plan, pictures::pictures};
use crate::commands::model::{ModelError, note};
use crate::error::CliError;
use crate::interrupt;
use crate::printer::Printer;

/// Pictures that are kept apart, to see what was learnt.
const HELD_OUT: usize = 100;
/// Their numbers, which training never reaches.
const APART: u64 = 1 << 40;
/// How often the loss is told, of all steps.
const TOLD: usize = 6;

/// What a device made of it.
pub(super) struct Learnt {
    /// By step.
    pub(super) losses: Vec<f64>,
    /// The share of the pictures kept apart that it tells right; none where it was interrupted.
    pub(super) accuracy: Option<f64>,
    /// Seconds of the first step, in which everything is made ready.
    pub(super) first_seconds: f64,
    /// The best of the others.
    pub(super) best_seconds: Option<f64>,
}

/// Trains the network, then tries it.
pub(super) fn learn(device: Device, plan: &Plan, bar: &ProgressBar, printer: &Printer) -> Result<Learnt, CliError> {
    let (model, loss) = example(DType::F32, plan.batch, true, plan.seed).map_err(wrong)?;
    let step = model.step(loss, &plan.optimizer).map_err(wrong)?;
    let carried = step.carried.iter().map(|one| (one.input, one.output)).collect();
    let initial: Vec<Tensor> = step.carried.iter().map(|one| one.initial.clone()).collect();
    let name = device.info().uri.to_string();
    let session = Session::new(step.graph, device.clone());
    let mut session = Stateful::new(session, carried, initial).map_err(ModelError::from)?;
    let mut learnt = Learnt { losses: Vec::new(), accuracy: None, first_seconds: 0.0, best_seconds: None };
    for at in 0..plan.steps {
        if interrupt::asked() {
            return Ok(learnt);
        }
        let (images, classes) = pictures(plan.seed, (at * plan.batch) as u64, plan.batch).map_err(bad)?;
        let data = [images.into(), classes.into(), Tensor::scalar(plan.rate as f32).into()];
        let started = Instant::now();
        let made = session.run(&data).map_err(ModelError::from)?;
        let seconds = started.elapsed().as_secs_f64();
        match at {
            0 => learnt.first_seconds = seconds,
            _ => learnt.best_seconds = Some(learnt.best_seconds.map_or(seconds, |best: f64| best.min(seconds))),
        }
        let loss = made[0].tensor().and_then(Tensor::float).map_err(bad)?;
        learnt.losses.push(loss);
        bar.inc(1);
        bar.set_message(format!("{name}: loss {loss:.4}"));
        if at == 0 {
            session.notes().iter().for_each(|one| bar.suspend(|| printer.note(&format!("{name}: {}", note(one)))));
        }
        if (at + 1) % plan.steps.div_ceil(TOLD) == 0 || at == 0 {
            bar.suspend(|| printer.note(&format!("{name}: step {}, loss {loss:.4}", at + 1)));
        }
    }
    let state = session.state().map_err(ModelError::from)?;
    learnt.accuracy = Some(accuracy(device, plan, state)?);
    Ok(learnt)
}

/// The share of pictures that the network tells right which it never saw.
fn accuracy(device: Device, plan: &Plan, state: Vec<Value>) -> Result<f64, CliError> {
    let (images, classes) = pictures(plan.seed, APART, HELD_OUT).map_err(bad)?;
    let (model, scores) = example(DType::F32, HELD_OUT, false, plan.seed).map_err(wrong)?;
    let graph = model.finish(&[scores]);
    let mut inputs: Vec<Value> = vec![images.into()];
    inputs.extend(state);
    // What the optimizer keeps is behind what the network does.
    inputs.truncate(graph.inputs.len());
    let made = Session::new(graph, device).run(&inputs).map_err(ModelError::from)?;
    let scores = made[0].tensor().and_then(Tensor::floats).map_err(bad)?;
    let best = |scores: &[f64]| scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(class, _)| class);
    let right = scores.chunks(CLASSES).zip(classes.integers().map_err(bad)?);
    let right = right.filter(|(scores, class)| best(scores) == usize::try_from(*class).ok()).count();
    Ok(right as f64 / HELD_OUT as f64)
}

fn wrong(error: RunError) -> CliError {
    ModelError::from(roci_runtime::Error::from(error)).into()
}

fn bad(error: OpError) -> CliError {
    ModelError::from(roci_runtime::Error::Input(error.to_string())).into()
}
