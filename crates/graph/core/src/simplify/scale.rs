//! Folds batch normalization with constant statistics into the convolution before it.

use crate::ops::{Norm, Product};
use crate::{Graph, Op, Tensor, ValueId};

use super::constant;
use super::uses::UseIndex;

/// `conv(x, w, b) * factor + shift` is `conv(x, w * factor, b * factor + shift)`.
pub(super) fn into_convolutions(graph: &mut Graph) {
    let mut known = UseIndex::new(graph);
    for index in 0..graph.nodes.len() {
        if let Some((conv, weights, bias)) = folded(graph, &known, index) {
            let base = graph.nodes[index].name.clone();
            let weights = graph.constant(format!("{base}.weights"), weights);
            let bias = graph.constant(format!("{base}.bias"), bias);
            let result = graph.nodes[index].outputs[0];
            let inputs = vec![graph.nodes[conv].inputs[0], Some(weights), Some(bias)];
            known.rewire(graph, conv, inputs);
            if let Some(before) = std::mem::replace(&mut graph.nodes[conv].outputs[0], result) {
                known.producers.remove(&before);
            }
            known.producers.extend(result.map(|result| (result, conv)));
            // The producer of the norm's input now produces its output; the norm keeps an unused
            // output until it is removed.
            graph.nodes[index].outputs = vec![None];
        }
    }
}

/// The convolution before a norm, with the weights and bias of both.
fn folded(graph: &Graph, known: &UseIndex, index: usize) -> Option<(usize, Tensor, Tensor)> {
    let norm = &graph.nodes[index];
    let Op::Norm(Norm::Batch { epsilon, momentum: None }) = &norm.op else { return None };
    if norm.outputs.iter().skip(1).any(Option::is_some) || norm.outputs.first().copied().flatten().is_none() {
        return None;
    }
    let input: ValueId = norm.inputs.first().copied().flatten()?;
    let conv = *known.producers.get(&input)?;
    let node = &graph.nodes[conv];
    if !matches!(node.op, Op::Product(Product::Conv { .. })) || !known.is_used_once(input) {
        return None;
    }
    let weights = constant(graph, node, 1)?;
    let channels = *weights.shape().first()?;
    let by_channel = |index| {
        let tensor = constant(graph, norm, index).filter(|tensor| tensor.shape() == [channels])?;
        tensor.floats().ok()
    };
    let (scale, bias, mean, variance) = (by_channel(1)?, by_channel(2)?, by_channel(3)?, by_channel(4)?);
    let own = match node.inputs.get(2).copied().flatten() {
        Some(_) => constant(graph, node, 2)?.floats().ok()?,
        None => vec![0.0; channels],
    };
    if own.len() != channels || channels == 0 || !weights.dtype().is_float() {
        return None;
    }
    let factor: Vec<f64> = scale.iter().zip(&variance).map(|(s, v)| s / (v + f64::from(*epsilon)).sqrt()).collect();
    // Values that are not finite would spread between channels if the sums were reordered.
    if !factor.iter().chain(&mean).chain(&bias).all(|one| one.is_finite()) {
        return None;
    }
    let each = weights.len() / channels;
    let scaled: Vec<f64> =
        weights.floats().ok()?.iter().enumerate().map(|(at, w)| w * factor[at / each.max(1)]).collect();
    let shifted: Vec<f64> = (0..channels).map(|at| (own[at] - mean[at]) * factor[at] + bias[at]).collect();
    let weights = Tensor::from_floats(weights.dtype(), weights.shape(), &scaled).ok()?;
    let bias = Tensor::from_floats(weights.dtype(), [channels], &shifted).ok()?;
    Some((conv, weights, bias))
}
