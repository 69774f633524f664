//! Normalization.

use roci_graph::DType;
use roci_graph::ops::Norm;
use roci_graph::ops::elementwise::Binary;

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "BatchNormalization" => batch(node),
        "LayerNormalization" => layer(node, false),
        "RMSNormalization" => layer(node, true),
        // Other runtimes accept it in ONNX's own domain too. Its second output is the third of
        // `LayerNormalization`.
        "SimplifiedLayerNormalization" | "com.microsoft.SimplifiedLayerNormalization" => {
            let op = layer_op(node, true, 1e-5)?;
            let (data, scale) = (node.required(0)?, node.required(1)?);
            let result = node.add(op, &[Some(data), Some(scale)], 3);
            node.bind(0, result[0])?;
            node.bind(1, result[2])
        }
        "com.microsoft.SkipLayerNormalization" => skip(node, false),
        "com.microsoft.SkipSimplifiedLayerNormalization" => skip(node, true),
        "GroupNormalization" => group(node),
        "InstanceNormalization" => {
            let epsilon = node.float_or("epsilon", 1e-5)?;
            node.emit(Norm::Group { groups: None, epsilon, by_group: false })
        }
        "LpNormalization" => {
            let axis = node.int_or("axis", -1)?;
            let euclidean = match node.int_or("p", 2)? {
                1 => false,
                2 => true,
                other => return Err(Error::invalid(format!("norms of order {other} are not supported"))),
            };
            node.emit(Norm::Lp { axis, euclidean })
        }
        "MeanVarianceNormalization" => {
            let axes = node.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
            node.emit(Norm::MeanVariance { axes })
        }
        "LRN" => {
            let size = node.int_or("size", 0)?;
            let size = usize::try_from(size).map_err(|_| Error::invalid(format!("{size} channels")))?;
            let alpha = node.float_or("alpha", 1e-4)?;
            let beta = node.float_or("beta", 0.75)?;
            let bias = node.float_or("bias", 1.0)?;
            node.emit(Norm::LocalResponse { size, alpha, beta, bias })
        }
        _ => Ok(false),
    }
}

/// Before opset 14, more than one output meant training mode.
fn batch(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let epsilon = node.float_or("epsilon", 1e-5)?;
    let momentum = node.float_or("momentum", 0.9)?;
    let training = if node.version() >= 14 {
        node.flag("training_mode", false)?
    } else {
        let more = (1..node.outputs()).any(|index| node.wants(index));
        if node.version() < 7 && node.flag("is_test", false)? && more {
            return Err(Error::invalid("a node in inference mode has training outputs"));
        }
        // Parameters by element rather than by channel are recognized by their shape.
        if node.version() < 9 {
            node.flag("spatial", true)?;
        }
        more
    };
    node.emit(Norm::Batch { epsilon, momentum: training.then_some(momentum) })
}

fn layer_op(node: &NodeContext<'_, '_>, rms: bool, epsilon: f32) -> Result<Norm, Error> {
    let axis = node.int_or("axis", -1)?;
    let epsilon = node.float_or("epsilon", epsilon)?;
    let stash = node.dtype("stash_type")?.unwrap_or(DType::F32);
    Ok(Norm::Layer { axis, epsilon, rms, stash })
}

/// Adds the first two operands and the bias first; the sum is the fourth output.
fn skip(node: &mut NodeContext<'_, '_>, rms: bool) -> Result<bool, Error> {
    let op = layer_op(node, rms, 1e-12)?;
    let (data, skip, scale) = (node.required(0)?, node.required(1)?, node.required(2)?);
    let mut sum = node.step(Binary::Add, &[data, skip]);
    let (shift, bias) = if rms { (None, node.input(3)) } else { (node.input(3), node.input(4)) };
    if let Some(bias) = bias {
        sum = node.step(Binary::Add, &[sum, bias]);
    }
    let result = node.add(op, &[Some(sum), Some(scale), shift], 3);
    (0..3).try_for_each(|index| node.bind(index, result[index]).map(|_| ()))?;
    node.bind(3, sum)
}

fn layer(node: &mut NodeContext<'_, '_>, rms: bool) -> Result<bool, Error> {
    let op = layer_op(node, rms, 1e-5)?;
    // The additional outputs are not defined for RMS normalization.
    if rms && node.wants(1) {
        return Err(Error::invalid("statistics of an RMS normalization are not supported"));
    }
    node.emit(op)
}

/// Before opset 21, scale and bias were per group.
fn group(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let groups = node.int("num_groups")?.ok_or_else(|| Error::invalid("attribute `num_groups` is missing"))?;
    let groups = usize::try_from(groups).map_err(|_| Error::invalid(format!("{groups} groups")))?;
    let epsilon = node.float_or("epsilon", 1e-5)?;
    let by_group = node.version() < 21;
    if !by_group {
        // The precision of the computation, which is always higher here.
        node.int("stash_type")?;
    }
    node.emit(Norm::Group { groups: Some(groups), epsilon, by_group })
}
