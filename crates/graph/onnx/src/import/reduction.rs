//! Reductions along axes.

use roci_graph::Tensor;
use roci_graph::ops::Reduction;
use roci_graph::ops::reduction::{LossReduction, ReduceKind, SoftmaxKind};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "ReduceSum" => reduce(node, ReduceKind::Sum, 13),
        "ReduceMean" => reduce(node, ReduceKind::Mean, 18),
        "ReduceMax" => reduce(node, ReduceKind::Max, 18),
        "ReduceMin" => reduce(node, ReduceKind::Min, 18),
        "ReduceProd" => reduce(node, ReduceKind::Product, 18),
        "ReduceL1" => reduce(node, ReduceKind::L1, 18),
        "ReduceL2" => reduce(node, ReduceKind::L2, 18),
        "ReduceSumSquare" => reduce(node, ReduceKind::SumSquare, 18),
        "ReduceLogSum" => reduce(node, ReduceKind::LogSum, 18),
        "ReduceLogSumExp" => reduce(node, ReduceKind::LogSumExp, 18),
        "ArgMax" => arg_extreme(node, true),
        "ArgMin" => arg_extreme(node, false),
        "Softmax" => softmax(node, SoftmaxKind::Softmax),
        "LogSoftmax" => softmax(node, SoftmaxKind::LogSoftmax),
        "Hardmax" => softmax(node, SoftmaxKind::Hardmax),
        "CumSum" => cumulate(node, false),
        "CumProd" => cumulate(node, true),
        "NegativeLogLikelihoodLoss" => {
            let op = likelihood(node)?;
            node.emit(op)
        }
        "SoftmaxCrossEntropyLoss" => cross_entropy(node),
        _ => Ok(false),
    }
}

/// Axes were an attribute before version `since`.
fn reduce(node: &mut NodeContext<'_, '_>, fold: ReduceKind, since: i64) -> Result<bool, Error> {
    let keep = node.flag("keepdims", true)?;
    if node.version() >= since {
        let noop_with_empty_axes = node.flag("noop_with_empty_axes", false)?;
        return node.emit(Reduction::Reduce { fold, keep, noop_with_empty_axes });
    }
    let data = node.required(0)?;
    let axes = node.ints("axes")?.map(|axes| node.constant(Tensor::vector(axes)));
    node.emit_with(Reduction::Reduce { fold, keep, noop_with_empty_axes: false }, &[Some(data), axes])
}

fn arg_extreme(node: &mut NodeContext<'_, '_>, largest: bool) -> Result<bool, Error> {
    let axis = node.int_or("axis", 0)?;
    let keep = node.flag("keepdims", true)?;
    let last = node.flag("select_last_index", false)?;
    node.emit(Reduction::ArgExtreme { largest, axis, keep, last })
}

/// Before version 13, rows included all axes from the given one on.
fn softmax(node: &mut NodeContext<'_, '_>, kind: SoftmaxKind) -> Result<bool, Error> {
    let to_end = node.version() < 13;
    let axis = node.int_or("axis", if to_end { 1 } else { -1 })?;
    node.emit(Reduction::Softmax { kind, axis, to_end })
}

fn cumulate(node: &mut NodeContext<'_, '_>, product: bool) -> Result<bool, Error> {
    let exclusive = node.flag("exclusive", false)?;
    let reverse = node.flag("reverse", false)?;
    node.emit(Reduction::Cumulate { product, exclusive, reverse })
}

fn likelihood(node: &NodeContext<'_, '_>) -> Result<Reduction, Error> {
    let reduction = match node.string_or("reduction", "mean")?.as_str() {
        "none" => LossReduction::None,
        "sum" => LossReduction::Sum,
        "mean" => LossReduction::Mean,
        other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `reduction`"))),
    };
    Ok(Reduction::NegativeLogLikelihood { reduction, ignore: node.int("ignore_index")? })
}

/// The negative log-likelihood of the log-softmax of the scores, which is the second output.
fn cross_entropy(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let op = likelihood(node)?;
    let (scores, labels) = (node.required(0)?, node.required(1)?);
    let kind = SoftmaxKind::LogSoftmax;
    let logs = node.step(Reduction::Softmax { kind, axis: 1, to_end: false }, &[scores]);
    let loss = node.add(op, &[Some(logs), Some(labels), node.input(2)], 1)[0];
    node.bind(0, loss)?;
    node.bind(1, logs)
}
