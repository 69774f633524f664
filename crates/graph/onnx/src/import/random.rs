//! Random values, dropout and sampling.

use roci_graph::ops::elementwise::Elementwise;
use roci_graph::ops::random::Distribution;
use roci_graph::ops::{Random, Source};
use roci_graph::{DType, Data, Tensor};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = node.op();
    match op.as_str() {
        "RandomUniform" | "RandomUniformLike" => {
            let distribution =
                Distribution::Uniform { low: node.float_or("low", 0.0)?, high: node.float_or("high", 1.0)? };
            fill(node, distribution, op.ends_with("Like"))
        }
        "RandomNormal" | "RandomNormalLike" => {
            let distribution =
                Distribution::Normal { mean: node.float_or("mean", 0.0)?, scale: node.float_or("scale", 1.0)? };
            fill(node, distribution, op.ends_with("Like"))
        }
        "Bernoulli" => {
            let (dtype, seed) = (node.dtype("dtype")?, seed(node)?);
            node.emit(Random::Bernoulli { dtype, seed })
        }
        "Multinomial" => {
            let samples = node.int_or("sample_size", 1)?;
            let samples = usize::try_from(samples).map_err(|_| Error::invalid(format!("{samples} samples")))?;
            let (dtype, seed) = (node.dtype("dtype")?.unwrap_or(DType::I32), seed(node)?);
            node.emit(Random::Multinomial { dtype, samples, seed })
        }
        "Dropout" => dropout(node),
        _ => Ok(false),
    }
}

/// The seed, which ONNX gives as a float.
fn seed(node: &NodeContext<'_, '_>) -> Result<Option<u64>, Error> {
    Ok(node.float("seed")?.map(|seed| u64::from(seed.to_bits())))
}

fn fill(node: &mut NodeContext<'_, '_>, distribution: Distribution, like: bool) -> Result<bool, Error> {
    let (dtype, seed) = (node.dtype("dtype")?, seed(node)?);
    if like {
        let like = node.required(0)?;
        let shape = node.step(Source::Shape { start: 0, end: None }, &[like]);
        return node.emit_with(Random::Fill { distribution, dtype, seed }, &[Some(shape), Some(like)]);
    }
    let shape = node.ints("shape")?.ok_or_else(|| Error::invalid("attribute `shape` is missing"))?;
    let shape = node.constant(Tensor::vector(shape));
    let dtype = Some(dtype.unwrap_or(DType::F32));
    node.emit_with(Random::Fill { distribution, dtype, seed }, &[Some(shape)])
}

fn dropout(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let data = node.required(0)?;
    let (ratio, trains, seed) = if node.version() >= 12 {
        // ONNX gives this operation's seed as an integer.
        let seed = node.int("seed")?.map(|seed| seed as u64);
        let never = node.input(2).is_none()
            || matches!(node.known(2).map(Tensor::data), Some(Data::Bool(all)) if all[..] == [false]);
        (node.input(1), if never { None } else { node.input(2) }, seed)
    } else {
        let ratio = node.float_or("ratio", 0.5)?;
        // Since opset 7 models are for inference by default; before it, an attribute selects it.
        if node.version() >= 7 || node.flag("is_test", false)? {
            (None, None, None)
        } else {
            let (ratio, yes) = (node.constant(Tensor::scalar(ratio)), node.constant(Tensor::scalar(true)));
            (Some(ratio), Some(yes), None)
        }
    };
    if trains.is_none() && !node.wants(1) {
        return node.bind(0, data);
    }
    let result = node.add(Random::Dropout { seed }, &[Some(data), ratio, trains], 2);
    node.bind(0, result[0])?;
    if !node.wants(1) {
        return Ok(true);
    }
    // Before opset 10 the mask had the type of the data.
    let mask = if node.version() < 10 { node.step(Elementwise::CastLike, &[result[1], data]) } else { result[1] };
    node.bind(1, mask)
}
