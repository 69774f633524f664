//! ONNX models on a device.

use std::fmt;
use std::path::Path;

use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::{DType, Graph, Tensor, Value, ValueId};
use roci_runtime::Session;

use crate::device::Device;
use crate::error::Error;

/// An ONNX model on a device, from [`Device::onnx`].
///
/// The first run with given input shapes compiles and records; later runs with the same shapes
/// replay the recording.
pub struct OnnxModel {
    session: Session,
}

impl fmt::Debug for OnnxModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnnxModel").field("inputs", &self.inputs()).field("outputs", &self.outputs()).finish()
    }
}

/// What the model expects for one input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// Name in the model.
    pub name: &'a str,
    /// Element type, if the model states it.
    pub dtype: Option<DType>,
    /// Dimensions, `None` for those that the caller chooses. Empty if the model states no shape.
    pub shape: Vec<Option<usize>>,
}

impl Device {
    /// Reads an ONNX model, with the external data files that it names.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, or uses an operator that is not supported; the error
    /// names the node.
    pub fn onnx(&self, path: impl AsRef<Path>) -> Result<OnnxModel, Error> {
        let model = roci_onnx::Model::open(path.as_ref())?;
        Ok(OnnxModel { session: Session::new(model.graph, self.hal().clone()) })
    }
}

impl OnnxModel {
    /// Inputs, in the model's order.
    pub fn inputs(&self) -> Vec<Input<'_>> {
        self.graph().inputs.iter().map(|id| input(self.graph(), *id)).collect()
    }

    /// Output names, in the order of the results of [`run`](Self::run).
    pub fn outputs(&self) -> Vec<&str> {
        let graph = self.graph();
        (0..graph.outputs.len()).map(|index| graph.output_name(index)).collect()
    }

    /// Runs the model on named inputs and waits for the outputs.
    ///
    /// # Errors
    /// A missing or unknown input, an input of the wrong type or shape, too little memory, or a
    /// lost device.
    pub fn run<N: AsRef<str>>(&mut self, inputs: impl IntoIterator<Item = (N, Tensor)>) -> Result<Vec<Value>, Error> {
        let mut values: Vec<Option<Value>> = vec![None; self.graph().inputs.len()];
        for (name, tensor) in inputs {
            let name = name.as_ref();
            let names: Vec<&str> = self.inputs().iter().map(|input| input.name).collect();
            let Some(index) = names.iter().position(|input| *input == name) else {
                return Err(Error::Input { name: name.to_owned(), expected: names.join(", ") });
            };
            values[index] = Some(tensor.into());
        }
        if let Some(missing) = values.iter().position(Option::is_none) {
            return Err(Error::MissingInput { name: self.inputs()[missing].name.to_owned() });
        }
        let values: Vec<Value> = values.into_iter().flatten().collect();
        Ok(self.session.run(&values)?)
    }

    /// The underlying session, with its graph, notes, memory and timings.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn graph(&self) -> &Graph {
        self.session.graph()
    }
}

fn input(graph: &Graph, id: ValueId) -> Input<'_> {
    let (dtype, dims) = match &graph.values[id.index()].declared {
        Some(DeclaredType::Tensor { dtype, dims }) => (Some(*dtype), dims.as_deref().unwrap_or_default()),
        _ => (None, [].as_slice()),
    };
    let size = |dim: &Dim| match dim {
        Dim::Known(size) => Some(*size),
        Dim::Symbol(_) | Dim::Unknown => None,
    };
    Input { name: graph.name(id), dtype, shape: dims.iter().map(size).collect() }
}
