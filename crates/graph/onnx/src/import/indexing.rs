//! Gather, scatter and other operations on indices.

use roci_graph::Tensor;
use roci_graph::ops::indexing::{Indexing, MaxRoiPool, RoiAlign, Scatter};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "Gather" => {
            let axis = node.int_or("axis", 0)?;
            node.emit(Indexing::Gather { axis })
        }
        "GatherElements" => {
            let axis = node.int_or("axis", 0)?;
            node.emit(Indexing::GatherElements { axis })
        }
        "GatherND" => {
            let batch = node.int_or("batch_dims", 0)?;
            let batch_dims = size("batch_dims", batch)?;
            node.emit(Indexing::GatherNd { batch_dims })
        }
        "Scatter" | "ScatterElements" => {
            let axis = node.int_or("axis", 0)?;
            let reduction = reduction(node)?;
            node.emit(Indexing::ScatterElements { axis, reduction })
        }
        "ScatterND" => {
            let reduction = reduction(node)?;
            node.emit(Indexing::ScatterNd { reduction })
        }
        "TensorScatter" => {
            let axis = node.int_or("axis", -2)?;
            let circular = match node.string_or("mode", "linear")?.as_str() {
                "linear" => false,
                "circular" => true,
                other => return Err(unknown("mode", other)),
            };
            node.emit(Indexing::TensorScatter { axis, circular })
        }
        "OneHot" => {
            let axis = node.int_or("axis", -1)?;
            node.emit(Indexing::OneHot { axis })
        }
        "TopK" => top(node),
        "NonZero" => node.emit(Indexing::NonZero),
        "Unique" => {
            let (axis, sorted) = (node.int("axis")?, node.flag("sorted", true)?);
            node.emit(Indexing::Unique { axis, sorted })
        }
        "Compress" => {
            let axis = node.int("axis")?;
            node.emit(Indexing::Compress { axis })
        }
        "NonMaxSuppression" => {
            let center_point = node.flag("center_point_box", false)?;
            node.emit(Indexing::NonMaxSuppression { center_point })
        }
        "RoiAlign" => roi_align(node),
        "MaxRoiPool" => {
            let pooled = node.ints("pooled_shape")?.unwrap_or_default();
            let [height, width] = pooled[..] else {
                return Err(Error::invalid(format!("attribute `pooled_shape` is {pooled:?}, expected two sizes")));
            };
            let size = [size("pooled_shape", height)?, size("pooled_shape", width)?];
            let scale = node.float_or("spatial_scale", 1.0)?;
            node.emit(Indexing::MaxRoiPool(MaxRoiPool { size, scale }))
        }
        _ => Ok(false),
    }
}

fn unknown(name: &str, value: &str) -> Error {
    Error::invalid(format!("{name} `{value}` is not supported"))
}

/// Converts a non-negative attribute.
fn size(name: &str, value: i64) -> Result<usize, Error> {
    usize::try_from(value)
        .map_err(|_| Error::invalid(format!("attribute `{name}` is {value}, expected a non-negative number")))
}

fn reduction(node: &NodeContext<'_, '_>) -> Result<Scatter, Error> {
    Ok(match node.string_or("reduction", "none")?.as_str() {
        "none" => Scatter::Replace,
        "add" => Scatter::Add,
        "mul" => Scatter::Multiply,
        "max" => Scatter::Max,
        "min" => Scatter::Min,
        other => return Err(unknown("reduction", other)),
    })
}

fn top(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let axis = node.int_or("axis", -1)?;
    let largest = node.flag("largest", true)?;
    // Without `sorted` any order is valid.
    node.flag("sorted", true)?;
    if node.version() >= 10 {
        return node.emit(Indexing::TopK { axis, largest });
    }
    let data = node.required(0)?;
    let count = node.int("k")?.ok_or_else(|| Error::invalid("attribute `k` is missing"))?;
    let count = node.constant(Tensor::vector(vec![count]));
    node.emit_with(Indexing::TopK { axis, largest }, &[Some(data), Some(count)])
}

fn roi_align(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let max = match node.string_or("mode", "avg")?.as_str() {
        "avg" => false,
        "max" => true,
        other => return Err(unknown("mode", other)),
    };
    // Before opset 16 there was no half-pixel offset.
    let default = if node.version() >= 16 { "half_pixel" } else { "output_half_pixel" };
    let half_pixel = match node.string_or("coordinate_transformation_mode", default)?.as_str() {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => return Err(unknown("coordinate_transformation_mode", other)),
    };
    let height = size("output_height", node.int_or("output_height", 1)?)?;
    let width = size("output_width", node.int_or("output_width", 1)?)?;
    let samples = Some(size("sampling_ratio", node.int_or("sampling_ratio", 0)?)?).filter(|&samples| samples > 0);
    let scale = node.float_or("spatial_scale", 1.0)?;
    node.emit(Indexing::RoiAlign(RoiAlign { size: [height, width], samples, scale, half_pixel, max }))
}
