//! What a model is given: files of NumPy's, pictures, or random numbers of the right shape.

use std::collections::BTreeMap;
use std::path::Path;

use roci_graph::graph::{Declared, Dim};
use roci_graph::{DType, Graph, Tensor, Value, ValueId, symbols};

use super::{ModelError, image};
use crate::cli::{ImageArgs, RunArgs};
use crate::input::read;
use crate::npy::{self, Array, Dtype};

/// `NAME=VALUE` arguments.
fn pairs(arguments: &[String], form: &'static str) -> Result<BTreeMap<String, String>, ModelError> {
    let pair = |argument: &String| {
        let wrong = || ModelError::Argument { argument: argument.clone(), form };
        argument.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(wrong)
    };
    let mut found = BTreeMap::new();
    for argument in arguments {
        let (name, value) = pair(argument)?;
        if found.insert(name.clone(), value).is_some() {
            return Err(ModelError::Twice { name });
        }
    }
    Ok(found)
}

/// The inputs that are given, by name.
pub(super) fn named(arguments: &RunArgs) -> Result<BTreeMap<String, String>, ModelError> {
    pairs(&arguments.inputs, "NAME=FILE")
}

/// Sizes of dimensions that the model leaves open.
pub(super) fn sizes(graph: &Graph, arguments: &[String]) -> Result<BTreeMap<String, usize>, ModelError> {
    let names = symbols::names(graph);
    let mut sizes = BTreeMap::new();
    for (name, value) in pairs(arguments, "NAME=SIZE")? {
        let size = value.parse::<usize>();
        let size = size.map_err(|_| ModelError::Argument { argument: format!("{name}={value}"), form: "NAME=SIZE" })?;
        if !names.contains(&name) {
            return Err(ModelError::Dimension { name, names: names.join(", ") });
        }
        sizes.insert(name, size);
    }
    Ok(sizes)
}

/// All inputs of a graph, in its order; `inputs` are those that are given.
pub(super) fn gather(
    graph: &Graph,
    inputs: &BTreeMap<String, String>,
    arguments: &RunArgs,
) -> Result<Vec<Value>, ModelError> {
    let asked = sizes(graph, &arguments.dims)?;
    let names: Vec<&str> = graph.inputs.iter().map(|id| graph.name(*id)).collect();
    if let Some(unknown) = inputs.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(ModelError::Input {
            name: unknown.clone(),
            reason: "the model has no input of that name".into(),
            hint: format!("its inputs are: {}", names.join(", ")),
        });
    }
    // Files first: they decide about dimensions that they share with inputs that are not given.
    let mut sizes = asked.clone();
    let mut values: Vec<Option<Value>> = vec![None; graph.inputs.len()];
    for from_file in [true, false] {
        for (id, value) in graph.inputs.iter().zip(&mut values) {
            let source = Source::of(inputs.get(graph.name(*id)));
            if matches!(source, Source::File(_)) == from_file {
                *value = Some(one(graph, *id, source, (&asked, &mut sizes), &arguments.image)?);
            }
        }
    }
    Ok(values.into_iter().flatten().collect())
}

/// Where an input comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    File(&'a str),
    Random,
}

impl<'a> Source<'a> {
    fn of(argument: Option<&'a String>) -> Self {
        match argument.map(String::as_str) {
            None | Some("random") => Self::Random,
            Some(path) => Self::File(path),
        }
    }
}

/// One input. The sizes that a file has are those of the model's open dimensions from there on.
fn one(
    graph: &Graph,
    id: ValueId,
    source: Source<'_>,
    (asked, sizes): (&BTreeMap<String, usize>, &mut BTreeMap<String, usize>),
    options: &ImageArgs,
) -> Result<Value, ModelError> {
    let name = graph.name(id);
    let wrong = |reason: String, hint: &str| ModelError::Input { name: name.into(), reason, hint: hint.into() };
    let declared = graph.values[id.index()].declared.as_ref();
    let Some(Declared::Tensor { dtype, dims }) = declared else {
        return Err(wrong(
            "it is no tensor, or the model does not say what it is".into(),
            "such inputs cannot be given yet",
        ));
    };
    let tensor = match source {
        Source::Random => {
            let size = |dim: &Dim| match dim {
                Dim::Known(size) => *size,
                Dim::Symbol(symbol) => sizes.get(symbol).copied().unwrap_or(1),
                Dim::Unknown => 1,
            };
            let shape: Vec<usize> = dims.iter().flatten().map(size).collect();
            return random(*dtype, &shape, id.0)
                .map(Value::from)
                .map_err(|error| wrong(error.to_string(), "take smaller sizes (--dim), or give it a file"));
        }
        Source::File(path) => {
            let bytes = read(Path::new(path))
                .map_err(|error| wrong(format!("cannot read `{path}`: {error}"), "check the path"))?;
            if image::is_image(&bytes) {
                let dims = dims.as_deref().unwrap_or_default();
                return image::tensor(&bytes, *dtype, dims, options)
                    .map(Value::from)
                    .map_err(|reason| wrong(format!("`{path}`: {reason}"), "`roci inspect MODEL` shows the inputs"));
            }
            if !bytes.starts_with(npy::MAGIC) {
                let kind = image::other_kind(&bytes).map_or_else(String::new, |kind| format!(" {kind},"));
                return Err(wrong(
                    format!("`{path}` is{kind} neither an array of NumPy's (.npy) nor a PNG or JPEG picture"),
                    "save it with numpy.save, or convert the picture to PNG",
                ));
            }
            let failed = |error: String| {
                wrong(
                    format!("`{path}`: {error}"),
                    "save it with numpy.save, as little-endian numbers (`astype('<f4')`)",
                )
            };
            let array = Array::read(&bytes).map_err(|error| failed(error.to_string()))?;
            tensor(&array).map_err(|error| failed(error.to_string()))?
        }
    };
    if tensor.dtype() != *dtype {
        let reason = format!("it holds {} and the model wants {dtype}", tensor.dtype());
        return Err(wrong(reason, "convert it with numpy's astype"));
    }
    let Some(dims) = dims else { return Ok(tensor.into()) };
    let same = |(dim, size): (&Dim, &usize)| !matches!(dim, Dim::Known(known) if known != size);
    if dims.len() != tensor.rank() || !dims.iter().zip(tensor.shape()).all(same) {
        let wanted = super::inspect::shape(Some(dims));
        let reason = format!("it has shape {:?} and the model wants {wanted}", tensor.shape());
        return Err(wrong(reason, "reshape it, or export the model for that shape"));
    }
    for (dim, &size) in dims.iter().zip(tensor.shape()) {
        let Dim::Symbol(symbol) = dim else { continue };
        // Files may differ where the model broadcasts one to the other; what was asked for may not.
        if let Some(asked) = asked.get(symbol).filter(|asked| **asked != size) {
            let reason = format!("its shape {:?} has {size} for `{symbol}`, and --dim says {asked}", tensor.shape());
            return Err(wrong(reason, "leave --dim out: the file decides"));
        }
        sizes.entry(symbol.clone()).or_insert(size);
    }
    Ok(tensor.into())
}

/// The types that both sides know.
const TYPES: [(Dtype, DType); 12] = [
    (Dtype::Bool, DType::Bool),
    (Dtype::U8, DType::U8),
    (Dtype::U16, DType::U16),
    (Dtype::U32, DType::U32),
    (Dtype::U64, DType::U64),
    (Dtype::I8, DType::I8),
    (Dtype::I16, DType::I16),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::F16, DType::F16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
];

/// A tensor of an array.
fn tensor(array: &Array) -> Result<Tensor, roci_graph::OpError> {
    let dtype = TYPES.iter().find(|(own, _)| *own == array.dtype).map_or(DType::F32, |row| row.1);
    let shape: Vec<usize> = array.shape.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
    Tensor::from_bytes(dtype, shape, &array.data)
}

/// An array of a tensor; `None` for types that NumPy's files have not.
pub(super) fn array(tensor: &Tensor) -> Option<Array> {
    let dtype = TYPES.iter().find(|(_, other)| *other == tensor.dtype())?.0;
    let shape = tensor.shape().iter().map(|&size| size as u64).collect();
    Some(Array { dtype, shape, data: tensor.to_bytes()? })
}

/// Numbers without a pattern, the same in every run: floats from -1 to 1, integers 0 and 1.
fn random(dtype: DType, shape: &[usize], seed: u32) -> Result<Tensor, roci_graph::OpError> {
    let count = roci_graph::shape::count(shape)?;
    let (needed, most) = (count.saturating_mul(size_of::<f64>()), roci_graph::interpreter::quarter_of_memory());
    if needed > most {
        return Err(roci_graph::OpError::invalid(format!(
            "random numbers of shape {shape:?} take {needed} bytes, and this machine has {most} for them"
        )));
    }
    let mut state = seed.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f64::from(state) / f64::from(u32::MAX)
    };
    let numbers: Vec<f64> =
        (0..count).map(|_| if dtype.is_float() { next() * 2.0 - 1.0 } else { next().round() }).collect();
    Tensor::from_floats(dtype, shape, &numbers)
}
