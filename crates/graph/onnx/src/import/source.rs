//! Generators.

use roci_graph::ops::Source;
use roci_graph::ops::source::WindowFunction;
use roci_graph::{DType, Tensor};

use super::NodeContext;
use crate::Error;
use crate::proto::AttributeType;
use crate::tensor::dense;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = node.op();
    match op.as_str() {
        "Identity" => {
            let input = node.required(0)?;
            node.bind(0, input)
        }
        "Constant" => {
            let value = constant(node)?;
            let value = node.constant(value);
            node.bind(0, value)
        }
        "ConstantOfShape" => {
            let value = node.tensor("value")?.unwrap_or_else(|| Tensor::scalar(0.0f32));
            node.emit(Source::Fill { value })
        }
        "Range" => node.emit(Source::Range),
        "Shape" => {
            let (start, end) = (node.int_or("start", 0)?, node.int("end")?);
            node.emit(Source::Shape { start, end })
        }
        "Size" => node.emit(Source::Size),
        "EyeLike" => {
            let (dtype, k) = (node.dtype("dtype")?, node.int_or("k", 0)?);
            node.emit(Source::EyeLike { dtype, k })
        }
        "HannWindow" => window(node, WindowFunction::Hann),
        "HammingWindow" => window(node, WindowFunction::Hamming),
        "BlackmanWindow" => window(node, WindowFunction::Blackman),
        "MelWeightMatrix" => {
            let dtype = node.dtype("output_datatype")?.unwrap_or(DType::F32);
            node.emit(Source::MelWeightMatrix { dtype })
        }
        _ => Ok(false),
    }
}

/// A constant, from whichever attribute has its value.
fn constant(node: &NodeContext<'_, '_>) -> Result<Tensor, Error> {
    let forms = [
        node.tensor("value")?,
        sparse(node)?,
        node.float("value_float")?.map(Tensor::scalar),
        node.floats("value_floats")?.map(Tensor::vector),
        node.int("value_int")?.map(Tensor::scalar),
        node.ints("value_ints")?.map(Tensor::vector),
        node.string("value_string")?.map(Tensor::scalar),
        node.strings("value_strings")?.map(Tensor::vector),
    ];
    let mut given = forms.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(Error::invalid("the constant has no value")),
        (Some(_), Some(_)) => Err(Error::invalid("the constant has several values")),
    }
}

fn sparse(node: &NodeContext<'_, '_>) -> Result<Option<Tensor>, Error> {
    let found = node.of("sparse_value", AttributeType::SparseTensor)?;
    found.and_then(|one| one.sparse_tensor.as_ref()).map(|one| dense(one, node.folder())).transpose()
}

fn window(node: &mut NodeContext<'_, '_>, window: WindowFunction) -> Result<bool, Error> {
    let dtype = node.dtype("output_datatype")?.unwrap_or(DType::F32);
    let periodic = node.flag("periodic", true)?;
    node.emit(Source::Window { window, periodic, dtype })
}
