//! Losses.

use super::LossReduction;
use crate::ops::{Facts, Inputs};
use crate::{Fact, OpError, Tensor, shape};

pub(super) fn infer(reduction: LossReduction, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let (x, target) = (inputs.get(0)?, inputs.get(1)?);
    if !target.dtype.is_integer() {
        return Err(OpError::dtype("a list of class indices", target.dtype));
    }
    let weights = inputs.optional(2).and_then(|weights| weights.shape.as_deref());
    if let Some(shape) = x.shape.as_deref() {
        let [_, classes, ..] = shape else {
            return Err(OpError::invalid(format!("the log-probabilities have shape {shape:?}, expected [N, C, ...]")));
        };
        if let Some(other) = target.shape.as_deref()
            && (other.len() + 1 != shape.len() || other[0] != shape[0] || other[1..] != shape[2..])
        {
            let expected = [&shape[..1], &shape[2..]].concat();
            return Err(OpError::invalid(format!("the class indices have shape {other:?}, expected {expected:?}")));
        }
        if let Some(weights) = weights.filter(|weights| *weights != [*classes]) {
            return Err(OpError::invalid(format!("the class weights have shape {weights:?}, expected [{classes}]")));
        }
    }
    Ok(match (reduction, target.shape.as_deref()) {
        (LossReduction::None, Some(shape)) => Fact::new(x.dtype, shape),
        (LossReduction::None, None) => Fact::unknown(x.dtype),
        _ => Fact::new(x.dtype, []),
    })
}

pub(super) fn eval(
    reduction: LossReduction,
    ignore: Option<i64>,
    inputs: &Inputs<'_>,
    to: &[usize],
) -> Result<Tensor, OpError> {
    let (x, target) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let (data, targets) = (x.floats()?, target.integers()?);
    let weights = inputs.optional(2)?.map(Tensor::floats).transpose()?;
    let (_, classes, inner) = shape::around(x.shape(), 1);
    let (mut losses, mut total) = (Vec::with_capacity(targets.len()), 0.0);
    for (index, &class) in targets.iter().enumerate() {
        if Some(class) == ignore {
            losses.push(0.0);
            continue;
        }
        let class = usize::try_from(class)
            .ok()
            .filter(|class| *class < classes)
            .ok_or_else(|| OpError::invalid(format!("class {class} is out of range for {classes} classes")))?;
        let weight = weights.as_ref().map_or(1.0, |weights| weights[class]);
        losses.push(-data[(index / inner * classes + class) * inner + index % inner] * weight);
        total += weight;
    }
    let sum: f64 = losses.iter().sum();
    let result = match reduction {
        LossReduction::None => losses,
        LossReduction::Sum => vec![sum],
        LossReduction::Mean => vec![sum / total],
    };
    Tensor::from_floats(x.dtype(), to, &result)
}
