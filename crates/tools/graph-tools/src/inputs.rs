//! Inputs of a graph: NumPy arrays, images, or random numbers.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use roci_base::Hint;
use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::{DType, Graph, OpError, Tensor, Value, ValueId, symbols};
use roci_npy::Array;

use super::arrays;
use super::declared::format_shape;

/// Why inputs or sizes are invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// An input is invalid.
    #[error("input `{name}`: {reason}")]
    Input {
        /// Input of the model.
        name: String,
        /// Why the input is invalid.
        reason: String,
        /// The remedy.
        hint: String,
    },
    /// An argument does not have the form `NAME=VALUE`.
    #[error("`{argument}` is not of the form {form}")]
    Form {
        /// Text of the command line.
        argument: String,
        /// The expected form.
        form: &'static str,
    },
    /// A name is given twice.
    #[error("`{name}` is given twice")]
    Duplicate {
        /// Input that two arguments set.
        name: String,
    },
    /// The model has no symbolic dimension of this name.
    #[error("the model has no symbolic dimension `{name}`")]
    Dimension {
        /// Name in the argument.
        name: String,
        /// Names of the model's symbolic dimensions.
        names: String,
    },
}

impl Hint for InputError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Input { hint, .. } => hint.clone(),
            Self::Form { .. } => "`roci run --help` shows examples".into(),
            Self::Duplicate { .. } => "give each name once".into(),
            Self::Dimension { names, .. } if names.is_empty() => "all its dimensions are fixed".into(),
            Self::Dimension { names, .. } => format!("its symbolic dimensions are: {names}"),
        })
    }
}

/// How inputs are read.
pub struct InputOptions<'a> {
    /// Sizes of symbolic dimensions, as `NAME=SIZE`.
    pub dims: &'a [String],
    /// Preprocessing of images.
    pub image: &'a roci_image::Options,
    /// Reads a whole file.
    pub read: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

impl std::fmt::Debug for InputOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputOptions").field("dims", &self.dims).finish_non_exhaustive()
    }
}

/// Parses `NAME=VALUE` arguments.
fn pairs(arguments: &[String], form: &'static str) -> Result<BTreeMap<String, String>, InputError> {
    let pair = |argument: &String| {
        let wrong = || InputError::Form { argument: argument.clone(), form };
        argument.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(wrong)
    };
    let mut found = BTreeMap::new();
    for argument in arguments {
        let (name, value) = pair(argument)?;
        if found.insert(name.clone(), value).is_some() {
            return Err(InputError::Duplicate { name });
        }
    }
    Ok(found)
}

/// Parses `NAME=FILE` arguments: the sources of inputs, by name. The source `random` is not a file.
pub fn sources(arguments: &[String]) -> Result<BTreeMap<String, String>, InputError> {
    pairs(arguments, "NAME=FILE")
}

/// Parses `NAME=SIZE` arguments: sizes of symbolic dimensions.
pub fn sizes(graph: &Graph, arguments: &[String]) -> Result<BTreeMap<String, usize>, InputError> {
    let names = symbols::names(graph);
    let mut sizes = BTreeMap::new();
    for (name, value) in pairs(arguments, "NAME=SIZE")? {
        let size = value.parse::<usize>();
        let size = size.map_err(|_| InputError::Form { argument: format!("{name}={value}"), form: "NAME=SIZE" })?;
        if !names.contains(&name) {
            return Err(InputError::Dimension { name, names: names.join(", ") });
        }
        sizes.insert(name, size);
    }
    Ok(sizes)
}

/// All inputs of a graph, in its order. Inputs without a source are random.
pub fn gather(
    graph: &Graph,
    sources: &BTreeMap<String, String>,
    options: &InputOptions<'_>,
) -> Result<Vec<Value>, InputError> {
    let dims = sizes(graph, options.dims)?;
    let names: Vec<&str> = graph.inputs.iter().map(|id| graph.name(*id)).collect();
    if let Some(unknown) = sources.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(InputError::Input {
            name: unknown.clone(),
            reason: "the model has no input of that name".into(),
            hint: format!("its inputs are: {}", names.join(", ")),
        });
    }
    // Files first: they determine the sizes of symbolic dimensions that random inputs share.
    let mut sizes = dims.clone();
    let mut values: Vec<Option<Value>> = vec![None; graph.inputs.len()];
    for from_file in [true, false] {
        for (id, value) in graph.inputs.iter().zip(&mut values) {
            let source = Source::of(sources.get(graph.name(*id)));
            if matches!(source, Source::File(_)) == from_file {
                *value = Some(input(graph, *id, source, (&dims, &mut sizes), options)?);
            }
        }
    }
    Ok(values.into_iter().flatten().collect())
}

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

/// One input. The shape of a file sets the sizes of the symbolic dimensions for later inputs.
fn input(
    graph: &Graph,
    id: ValueId,
    source: Source<'_>,
    (given, sizes): (&BTreeMap<String, usize>, &mut BTreeMap<String, usize>),
    options: &InputOptions<'_>,
) -> Result<Value, InputError> {
    let name = graph.name(id);
    let wrong = |reason: String, hint: &str| InputError::Input { name: name.into(), reason, hint: hint.into() };
    let declared = graph.values[id.index()].declared.as_ref();
    let Some(DeclaredType::Tensor { dtype, dims }) = declared else {
        return Err(wrong(
            "it is not a tensor, or the model does not declare its type".into(),
            "only tensors can be inputs",
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
                .map_err(|error| wrong(error.to_string(), "use smaller sizes (`--dim`), or a file"));
        }
        Source::File(path) => {
            let bytes = (options.read)(Path::new(path))
                .map_err(|error| wrong(format!("cannot read `{path}`: {error}"), "check the path"))?;
            if roci_image::is_image(&bytes) {
                let dims = dims.as_deref().unwrap_or_default();
                return roci_image::tensor(&bytes, *dtype, dims, options.image)
                    .map(Value::from)
                    .map_err(|reason| wrong(format!("`{path}`: {reason}"), "`roci inspect MODEL` shows the inputs"));
            }
            if !bytes.starts_with(roci_npy::MAGIC) {
                let kind = roci_image::other_kind(&bytes).map_or_else(String::new, |kind| format!(" {kind},"));
                return Err(wrong(
                    format!("`{path}` is{kind} neither a NumPy array (.npy) nor a PNG or JPEG image"),
                    "save it with numpy.save, or convert the image to PNG",
                ));
            }
            let failed = |error: String| {
                wrong(
                    format!("`{path}`: {error}"),
                    "save it with numpy.save, as little-endian numbers (`astype('<f4')`)",
                )
            };
            let array = Array::read(&bytes).map_err(|error| failed(error.to_string()))?;
            arrays::tensor(&array).map_err(|error| failed(error.to_string()))?
        }
    };
    if tensor.dtype() != *dtype {
        let reason = format!("it has elements of type {}, and the model requires {dtype}", tensor.dtype());
        return Err(wrong(reason, "convert it with numpy's astype"));
    }
    let Some(dims) = dims else { return Ok(tensor.into()) };
    let same = |(dim, size): (&Dim, &usize)| !matches!(dim, Dim::Known(known) if known != size);
    if dims.len() != tensor.rank() || !dims.iter().zip(tensor.shape()).all(same) {
        let required = format_shape(Some(dims));
        let reason = format!("it has shape {:?}, and the model requires {required}", tensor.shape());
        return Err(wrong(reason, "reshape it, or export the model for that shape"));
    }
    for (dim, &size) in dims.iter().zip(tensor.shape()) {
        let Dim::Symbol(symbol) = dim else { continue };
        // The shapes of files may differ if the model broadcasts; a size from the command line must
        // match.
        if let Some(given) = given.get(symbol).filter(|given| **given != size) {
            let reason = format!("its shape {:?} has {size} for `{symbol}`, and `--dim` sets {given}", tensor.shape());
            return Err(wrong(reason, "leave `--dim` out: the file determines the size"));
        }
        sizes.entry(symbol.clone()).or_insert(size);
    }
    Ok(tensor.into())
}

/// Deterministic random numbers: floats from -1 to 1, integers 0 and 1. xorshift32 rather than a
/// crate, so that a model has the same inputs in every version.
fn random(dtype: DType, shape: &[usize], seed: u32) -> Result<Tensor, OpError> {
    let count = roci_graph::shape::count(shape)?;
    let (needed, max) = (count.saturating_mul(size_of::<f64>()), roci_graph::interpreter::default_limit());
    if needed > max {
        return Err(OpError::invalid(format!(
            "random numbers of shape {shape:?} take {needed} bytes, and a quarter of this machine's memory is {max}"
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
