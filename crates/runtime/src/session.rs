//! A graph on a device.

use std::collections::HashMap;

use roci_graph::{Graph, Tensor, Value};
use roci_hal::{CodeFormat, Device};

use crate::Error;
use crate::kernels::Kernels;
use crate::storage::encode;
use crate::walk::{self, Output, Program, Shelf};

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

/// A graph on a device, ready to run any number of times.
pub struct Session {
    graph: Graph,
    shelf: Shelf,
    /// By the shapes of the inputs.
    programs: HashMap<Vec<Vec<usize>>, Program>,
    notes: Vec<Note>,
}

impl Session {
    /// A session; nothing is sent to the device before the first run.
    pub fn new(graph: Graph, device: Device) -> Self {
        let is_host = device.info().formats.first() == Some(&CodeFormat::Native);
        let shelf = Shelf { device, kernels: Kernels::default(), constants: HashMap::new(), is_host };
        Self { graph, shelf, programs: HashMap::new(), notes: Vec::new() }
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What there is to know of the last run.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Runs the graph on inputs in its order.
    pub fn run(&mut self, inputs: &[Value]) -> Result<Vec<Value>, Error> {
        if inputs.len() != self.graph.inputs.len() {
            let (given, has) = (inputs.len(), self.graph.inputs.len());
            return Err(Error::Input(format!("{given} inputs are given, and the model has {has}")));
        }
        let shapes: Option<Vec<Vec<usize>>> =
            inputs.iter().map(|value| value.tensor().ok().map(|tensor| tensor.shape().to_vec())).collect();
        if let Some(program) = shapes.as_ref().and_then(|shapes| self.programs.get(shapes))
            && program.fixed.iter().all(|(index, tensor)| inputs[*index].tensor().is_ok_and(|given| given == tensor))
        {
            self.notes.clone_from(&program.notes);
            return replay(&self.shelf, program, inputs, &self.graph.name);
        }
        let (values, notes, program) = walk::walk(&mut self.shelf, &self.graph, inputs)?;
        self.notes = notes;
        if let (Some(shapes), Some(program)) = (shapes, program) {
            self.programs.insert(shapes, program);
        }
        Ok(values)
    }
}

/// Runs what was recorded on other inputs of the same shapes.
fn replay(shelf: &Shelf, program: &Program, inputs: &[Value], label: &str) -> Result<Vec<Value>, Error> {
    let bad = |error: roci_graph::OpError| Error::Input(error.to_string());
    for (range, value) in program.inputs.iter().zip(inputs) {
        if let Some(range) = range {
            let tensor: &Tensor = value.tensor().map_err(bad)?;
            let words = encode(tensor).map_err(bad)?;
            if !words.is_empty() {
                shelf.device.write(range.clone(), bytemuck::cast_slice(&words))?;
            }
        }
    }
    if let Some(recorded) = &program.recorded {
        walk::replay(&shelf.device, recorded, label)?;
    }
    let output = |output: &Output| match output {
        Output::Host(value) => Ok(value.clone()),
        Output::Device(range, fact) => walk::download(&shelf.device, range, fact)
            .map(Value::from)
            .map_err(|refusal| Error::Input(format!("{refusal:?}"))),
    };
    program.outputs.iter().map(output).collect()
}
