//! A graph on a device.

use std::collections::HashMap;

use roci_graph::{Graph, Value, simplify};
use roci_hal::{BufferRange, CodeFormat, Device};

use crate::limits::{Limit, check, limits};
use crate::segment::fits;
use crate::split::{self, Verdicts};
use crate::storage::words;
use crate::timing::{Timing, Watch};
use crate::walk::{self, Output, Program, Shelf};
use crate::{Error, Precision};

/// Constants of fewer elements may be shapes, which stay on the host.
const LARGE: usize = 1024;

/// Something that whoever runs a model should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// An f64 tensor that is computed in f32.
    Narrowed(String),
    /// An operation without a kernel that the CPU evaluates by its definition.
    Reference {
        /// The node's name.
        node: String,
        /// What it does.
        op: &'static str,
        /// Why no kernel did it.
        reason: String,
    },
    /// Arithmetic of 64-bit integers, which devices do not have; the host computes it, whatever the device.
    Integers {
        /// The node's name.
        node: String,
        /// What it does.
        op: &'static str,
        /// Why 32 bits may not do.
        reason: String,
    },
}

/// Memory that a session holds on its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of constants: weights, and tables that kernels read.
    pub constants: u64,
    /// Bytes of the arenas that everything in between shares.
    pub arena: u64,
}

impl Memory {
    /// All of it, which a device has to have.
    pub fn total(&self) -> u64 {
        self.constants.saturating_add(self.arena)
    }
}

/// A graph on a device, ready to run any number of times.
pub struct Session {
    graph: Graph,
    pub(crate) shelf: Shelf,
    programs: HashMap<Key, Program>,
    notes: Vec<Note>,
    limits: Vec<Limit>,
    verdicts: Verdicts,
}

/// What a recording is for: the queue that runs it, and the shapes of the inputs.
pub(crate) type Key = (usize, Vec<Vec<usize>>);

impl Session {
    /// A session; nothing is sent to the device before the first run.
    pub fn new(mut graph: Graph, device: Device) -> Self {
        simplify(&mut graph);
        let is_host = device.info().formats.first() == Some(&CodeFormat::Native);
        let shelf = Shelf::new(device, is_host);
        let limits = limits(&graph);
        Self { graph, shelf, programs: HashMap::new(), notes: Vec::new(), limits, verdicts: Verdicts::default() }
    }

    /// The same session with products of another precision; for one that has not run yet.
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.shelf.precision = precision;
        self
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What there is to know of the last run.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What the runs so far hold on the device.
    pub fn memory(&self) -> Memory {
        self.shelf.memory
    }

    /// Runs the graph on inputs in its order. On a device of several physical ones a batch is split over
    /// them, if every node is known to keep its rows apart.
    pub fn run(&mut self, inputs: &[Value]) -> Result<Vec<Value>, Error> {
        if inputs.len() != self.graph.inputs.len() {
            let (given, has) = (inputs.len(), self.graph.inputs.len());
            return Err(Error::Input(format!("{given} inputs are given, and the model has {has}")));
        }
        check(&self.limits, &self.graph, inputs)?;
        let queues = split::queues(self.shelf.device.info());
        let Some(parts) = split::parts(&self.graph, inputs, queues.len(), &mut self.verdicts)? else {
            return self.run_part(inputs, queues[0])?.wait(&mut self.shelf);
        };
        // All are under way before the first is waited for.
        let runs = parts
            .iter()
            .zip(&queues)
            .map(|(part, &queue)| self.run_part(part, queue))
            .collect::<Result<Vec<_>, _>>()?;
        let made = runs.into_iter().map(|run| run.wait(&mut self.shelf)).collect::<Result<Vec<_>, _>>()?;
        split::join(&self.graph, made)
    }

    /// Runs the graph, and tells how long each kernel took. A device that cannot tell refuses.
    pub fn run_timed(&mut self, inputs: &[Value]) -> Result<(Vec<Value>, Vec<Timing>), Error> {
        self.shelf.watch = Some(Watch::default());
        let made = self.run(inputs);
        let watch = self.shelf.watch.take().unwrap_or_default();
        made.map(|values| (values, watch.into_timings()))
    }

    /// What a recording for these inputs on one device would be found by.
    pub(crate) fn key(&self, inputs: &[Value]) -> Option<Key> {
        key(inputs, split::queues(self.shelf.device.info())[0])
    }

    /// A recording.
    pub(crate) fn program(&self, key: &Key) -> Option<&Program> {
        self.programs.get(key)
    }

    /// Begins a run on one queue; the first of its shapes is over when this returns.
    fn run_part(&mut self, inputs: &[Value], queue: usize) -> Result<Running, Error> {
        let key = key(inputs, queue);
        if let Some(program) = key.as_ref().and_then(|key| self.programs.get(key))
            && program.fixed.iter().all(|(index, tensor)| inputs[*index].tensor().is_ok_and(|given| given == tensor))
        {
            self.notes.clone_from(&program.notes);
            return begin(&mut self.shelf, program, inputs, &self.graph.name, queue);
        }
        // Weights alone may be too much, which is known before the first of them is sent.
        let weights = self.graph.constants.values().filter(|one| one.len() > LARGE).map(|one| one.len() as u64 * 4);
        fits(&self.shelf.device, weights.sum())?;
        let (values, notes, program) = walk::walk(&mut self.shelf, &self.graph, inputs, queue)?;
        self.notes = notes;
        if let (Some(key), Some(program)) = (key, program) {
            self.programs.insert(key, program);
        }
        Ok(Running { outputs: values.into_iter().map(Output::Host).collect(), pending: None })
    }
}

fn key(inputs: &[Value], queue: usize) -> Option<Key> {
    let shape = |value: &Value| value.tensor().ok().map(|tensor| tensor.shape().to_vec());
    inputs.iter().map(shape).collect::<Option<_>>().map(|shapes| (queue, shapes))
}

/// A run that may not be over yet.
struct Running {
    outputs: Vec<Output>,
    pending: Option<walk::Pending>,
}

impl Running {
    fn wait(self, shelf: &mut Shelf) -> Result<Vec<Value>, Error> {
        if let Some(pending) = self.pending {
            walk::wait(shelf, pending)?;
        }
        self.outputs.iter().map(|output| fetch(shelf, output)).collect()
    }
}

/// A result, brought to the host.
pub(crate) fn fetch(shelf: &Shelf, output: &Output) -> Result<Value, Error> {
    match output {
        Output::Host(value) => Ok(value.clone()),
        Output::Device(range, fact) => walk::download(&shelf.device, range, fact)
            .map(Value::from)
            .map_err(|refusal| Error::Input(format!("{refusal:?}"))),
    }
}

/// Puts the words of an input where a recording reads them.
pub(crate) fn write(shelf: &Shelf, range: &BufferRange, value: &Value) -> Result<(), Error> {
    let bad = |error: roci_graph::OpError| Error::Input(error.to_string());
    let words = words(value.tensor().map_err(bad)?).map_err(bad)?;
    if !words.is_empty() {
        shelf.device.write(range.clone(), bytemuck::cast_slice(&words))?;
    }
    Ok(())
}

/// Begins what was recorded on other inputs of the same shapes.
fn begin(shelf: &mut Shelf, program: &Program, inputs: &[Value], label: &str, queue: usize) -> Result<Running, Error> {
    for (range, value) in program.inputs.iter().zip(inputs) {
        if let Some(range) = range {
            write(shelf, range, value)?;
        }
    }
    let pending = match &program.recorded {
        Some(recorded) => Some(walk::submit(shelf, recorded, label, queue, None)?),
        None => None,
    };
    Ok(Running { outputs: program.outputs.clone(), pending })
}
