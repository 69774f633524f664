//! Trains the network of [`roci_graph::train`] on synthetic images, and compares the loss curves of
//! devices.

mod compare;
mod images;

use std::time::Instant;

use roci_graph::train::{CLASSES, Optimizer, example};
use roci_graph::{DType, OpError, Tensor, Value};
use roci_hal::Device;
use roci_runtime::{Error, Note, Session, StatefulSession};

pub use compare::{LOSS_TOLERANCE, Verdict, loss_distance};
use images::images;

/// Images of the test set.
const TEST_IMAGES: usize = 100;
/// Index of the first image of the test set, beyond those of training.
const TEST_OFFSET: u64 = 1 << 40;

/// What the command line sets for a training.
#[derive(Clone, Copy, Debug)]
pub struct Hyperparameters {
    /// How gradients change the weights.
    pub optimizer: Optimizer,
    /// Learning rate.
    pub rate: f64,
    /// Number of steps, one batch each.
    pub steps: usize,
    /// Batch size.
    pub batch: usize,
    /// Seed of the images and the initial parameters.
    pub seed: u64,
}

/// The result of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// The loss of each step.
    pub losses: Vec<f64>,
    /// The accuracy on the test set; `None` if interrupted.
    pub accuracy: Option<f64>,
    /// Seconds of the first step, which compiles and records.
    pub first_seconds: f64,
    /// Seconds of the fastest later step.
    pub best_seconds: Option<f64>,
}

/// Events of a training, in order.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A step ended.
    Step {
        /// Number of the step, from 1.
        step: usize,
        /// Loss of the step's batch.
        loss: f64,
    },
    /// A note of the runtime, after the first step.
    Note(&'a Note),
}

/// Trains the network, then measures its accuracy. Training stops when `interrupted` returns true.
pub fn train(
    device: Device,
    parameters: &Hyperparameters,
    interrupted: &dyn Fn() -> bool,
    mut on_progress: impl FnMut(Progress<'_>),
) -> Result<Training, Error> {
    let Hyperparameters { optimizer, rate, steps, batch, seed } = parameters;
    let (model, loss) = example(DType::F32, *batch, true, *seed)?;
    let step = model.step(loss, optimizer)?;
    let carried = step.state.iter().map(|one| (one.input, one.output)).collect();
    let initial: Vec<Tensor> = step.state.iter().map(|one| one.initial.clone()).collect();
    let session = Session::new(step.graph, device.clone());
    let mut session = StatefulSession::new(session, carried, initial)?;
    let mut training = Training { losses: Vec::new(), accuracy: None, first_seconds: 0.0, best_seconds: None };
    for index in 0..*steps {
        if interrupted() {
            return Ok(training);
        }
        let (images, classes) = images(*seed, (index * batch) as u64, *batch).map_err(invalid)?;
        let data = [images.into(), classes.into(), Tensor::scalar(*rate as f32).into()];
        let started = Instant::now();
        let outputs = session.run(&data)?;
        let seconds = started.elapsed().as_secs_f64();
        match index {
            0 => training.first_seconds = seconds,
            _ => training.best_seconds = Some(training.best_seconds.map_or(seconds, |best: f64| best.min(seconds))),
        }
        let loss = outputs[0].tensor().and_then(Tensor::float).map_err(invalid)?;
        training.losses.push(loss);
        if index == 0 {
            session.notes().iter().for_each(|note| on_progress(Progress::Note(note)));
        }
        on_progress(Progress::Step { step: index + 1, loss });
    }
    training.accuracy = Some(accuracy(device, *seed, session.state()?)?);
    Ok(training)
}

/// The accuracy on the test set.
fn accuracy(device: Device, seed: u64, state: Vec<Value>) -> Result<f64, Error> {
    let (images, classes) = images(seed, TEST_OFFSET, TEST_IMAGES).map_err(invalid)?;
    let (model, scores) = example(DType::F32, TEST_IMAGES, false, seed)?;
    let graph = model.finish(&[scores]);
    let mut inputs: Vec<Value> = vec![images.into()];
    inputs.extend(state);
    // The optimizer's state follows the parameters.
    inputs.truncate(graph.inputs.len());
    let outputs = Session::new(graph, device).run(&inputs)?;
    let scores = outputs[0].tensor().and_then(Tensor::floats).map_err(invalid)?;
    let best = |scores: &[f64]| scores.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(class, _)| class);
    let right = scores.chunks(CLASSES).zip(classes.integers().map_err(invalid)?);
    let right = right.filter(|(scores, class)| best(scores) == usize::try_from(*class).ok()).count();
    Ok(right as f64 / TEST_IMAGES as f64)
}

fn invalid(error: OpError) -> Error {
    Error::Input(error.to_string())
}
