//! Views, permutations, slices, padding and resampling.

use roci_graph::Tensor;
use roci_graph::ops::movement::{
    AspectPolicy, Coordinates, GridMode, GridPadding, Movement, Nearest, PadMode, Resize, ResizeMode,
};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "Reshape" => {
            // An attribute before opset 5, and an operand since.
            let allow_zero = node.flag("allowzero", false)?;
            operand_or_attribute(node, 1, "shape")?.emit(node, Movement::Reshape { allow_zero })
        }
        "Flatten" => {
            let axis = node.int_or("axis", 1)?;
            node.emit(Movement::Flatten { axis })
        }
        "Squeeze" => operand_or_attribute(node, 1, "axes")?.emit(node, Movement::Squeeze),
        "Unsqueeze" => operand_or_attribute(node, 1, "axes")?.emit(node, Movement::Unsqueeze),
        "Transpose" => {
            let perm = node.ints("perm")?.map(|perm| sizes("perm", &perm)).transpose()?;
            node.emit(Movement::Transpose { perm })
        }
        "Expand" => node.emit(Movement::Expand),
        "Tile" => node.emit(Movement::Tile),
        "Slice" => slice(node),
        "Concat" => {
            let axis = node.int("axis")?.ok_or_else(|| missing("axis"))?;
            node.emit(Movement::Concat { axis })
        }
        "Split" => split(node),
        "Pad" => pad(node),
        "CenterCropPad" => {
            let axes = node.ints("axes")?;
            node.emit(Movement::CenterCropPad { axes })
        }
        "DepthToSpace" => {
            let block = size(node, "blocksize")?;
            let column_first = match node.string_or("mode", "DCR")?.as_str() {
                "DCR" => false,
                "CRD" => true,
                other => return Err(unknown("mode", other)),
            };
            node.emit(Movement::DepthToSpace { block, column_first })
        }
        "SpaceToDepth" => {
            let block = size(node, "blocksize")?;
            node.emit(Movement::SpaceToDepth { block })
        }
        "ReverseSequence" => match (node.int_or("batch_axis", 1)?, node.int_or("time_axis", 0)?) {
            (1, 0) => node.emit(Movement::ReverseSequence { time_axis: 0 }),
            (0, 1) => node.emit(Movement::ReverseSequence { time_axis: 1 }),
            (batch, time) => Err(Error::invalid(format!("batch_axis {batch} and time_axis {time} are not supported"))),
        },
        "Trilu" => {
            let upper = node.flag("upper", true)?;
            node.emit(Movement::Trilu { upper })
        }
        "Resize" => resize(node),
        "Upsample" => upsample(node),
        "GridSample" => grid_sample(node),
        "AffineGrid" => {
            let align_corners = node.flag("align_corners", false)?;
            node.emit(Movement::AffineGrid { align_corners })
        }
        "Col2Im" => {
            let list = |name| node.ints(name)?.map(|list| sizes(name, &list)).transpose();
            let (dilations, pads, strides) = (list("dilations")?, list("pads")?, list("strides")?);
            node.emit(Movement::Col2Im { dilations, pads, strides })
        }
        _ => Ok(false),
    }
}

fn missing(name: &str) -> Error {
    Error::invalid(format!("attribute `{name}` is missing"))
}

fn unknown(name: &str, value: &str) -> Error {
    Error::invalid(format!("{name} `{value}` is not supported"))
}

/// An attribute that is a size of at least 1.
fn size(node: &NodeContext<'_, '_>, name: &str) -> Result<usize, Error> {
    let value = node.int(name)?.ok_or_else(|| missing(name))?;
    let size = usize::try_from(value).ok().filter(|&size| size > 0);
    size.ok_or_else(|| Error::invalid(format!("attribute `{name}` is {value}, expected at least 1")))
}

fn sizes(name: &str, list: &[i64]) -> Result<Vec<usize>, Error> {
    let wrong = |_| Error::invalid(format!("attribute `{name}` is {list:?}, expected non-negative numbers"));
    list.iter().map(|&one| usize::try_from(one)).collect::<Result<_, _>>().map_err(wrong)
}

/// Operands of an operation.
struct Operands(Vec<Option<roci_graph::ValueId>>);

impl Operands {
    fn emit(self, node: &mut NodeContext<'_, '_>, op: Movement) -> Result<bool, Error> {
        node.emit_with(op, &self.0)
    }
}

/// The node's operands, with the integers at this index taken from an attribute in old versions.
fn operand_or_attribute(node: &mut NodeContext<'_, '_>, index: usize, name: &str) -> Result<Operands, Error> {
    let mut inputs = node.inputs().to_vec();
    if node.input(index).is_none()
        && let Some(list) = node.ints(name)?
    {
        inputs.resize(inputs.len().max(index + 1), None);
        inputs[index] = Some(node.constant(Tensor::vector(list)));
    }
    Ok(Operands(inputs))
}

fn slice(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    if node.version() >= 10 {
        return node.emit(Movement::Slice);
    }
    let data = node.required(0)?;
    let starts = node.ints("starts")?.ok_or_else(|| missing("starts"))?;
    let ends = node.ints("ends")?.ok_or_else(|| missing("ends"))?;
    let axes = node.ints("axes")?;
    let starts = node.constant(Tensor::vector(starts));
    let ends = node.constant(Tensor::vector(ends));
    let axes = axes.map(|axes| node.constant(Tensor::vector(axes)));
    node.emit_with(Movement::Slice, &[Some(data), Some(starts), Some(ends), axes])
}

fn split(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let axis = node.int_or("axis", 0)?;
    let parts = node.outputs();
    if let Some(stated) = node.int("num_outputs")?
        && usize::try_from(stated) != Ok(parts)
    {
        return Err(Error::invalid(format!("attribute `num_outputs` is {stated}, but the node has {parts} outputs")));
    }
    operand_or_attribute(node, 1, "split")?.emit(node, Movement::Split { axis, parts })
}

fn pad(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let mode = match node.string_or("mode", "constant")?.as_str() {
        "constant" => PadMode::Constant,
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        "wrap" => PadMode::Wrap,
        other => return Err(unknown("mode", other)),
    };
    if node.version() >= 11 {
        return node.emit(Movement::Pad { mode });
    }
    let data = node.required(0)?;
    let pads = node.ints("pads")?.ok_or_else(|| missing("pads"))?;
    let value = node.float_or("value", 0.0)?;
    let pads = node.constant(Tensor::vector(pads));
    let value = node.constant(Tensor::scalar(value));
    node.emit_with(Movement::Pad { mode }, &[Some(data), Some(pads), Some(value)])
}

/// `Upsample`, and `Resize` before opset 11.
fn upsampling(mode: &str, nearest: Nearest) -> Result<Resize, Error> {
    let mode = match mode {
        "nearest" => ResizeMode::Nearest(nearest),
        "linear" | "bilinear" => ResizeMode::Linear,
        other => return Err(unknown("mode", other)),
    };
    Ok(Resize {
        mode,
        coordinates: Coordinates::Asymmetric,
        antialias: false,
        exclude_outside: false,
        extrapolation: 0.0,
        policy: AspectPolicy::Stretch,
        axes: None,
    })
}

fn upsample(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let resize = upsampling(&node.string_or("mode", "nearest")?, Nearest::Floor)?;
    let data = node.required(0)?;
    let scales = match node.version() {
        ..7 => {
            let scale = |name| node.float(name)?.ok_or_else(|| missing(name));
            let scales = vec![1.0, 1.0, scale("height_scale")?, scale("width_scale")?];
            node.constant(Tensor::vector(scales))
        }
        7..9 => {
            let scales = node.floats("scales")?.ok_or_else(|| missing("scales"))?;
            node.constant(Tensor::vector(scales))
        }
        _ => node.required(1)?,
    };
    node.emit_with(Movement::Resize(resize), &[Some(data), None, Some(scales)])
}

fn resize(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let mode = node.string_or("mode", "nearest")?;
    if node.version() < 11 {
        // Opset 10 does not define the rounding; this is onnxruntime's.
        let resize = upsampling(&mode, Nearest::FloorOrCeil)?;
        let inputs = [Some(node.required(0)?), None, Some(node.required(1)?)];
        return node.emit_with(Movement::Resize(resize), &inputs);
    }
    let nearest = match node.string_or("nearest_mode", "round_prefer_floor")?.as_str() {
        // Some exporters write an empty string for the default.
        "round_prefer_floor" | "" => Nearest::RoundPreferFloor,
        "round_prefer_ceil" => Nearest::RoundPreferCeil,
        "floor" => Nearest::Floor,
        "ceil" => Nearest::Ceil,
        other => return Err(unknown("nearest_mode", other)),
    };
    let coefficient = node.float_or("cubic_coeff_a", -0.75)?;
    let mode = match mode.as_str() {
        "nearest" => ResizeMode::Nearest(nearest),
        "linear" => ResizeMode::Linear,
        "cubic" => ResizeMode::Cubic(coefficient),
        other => return Err(unknown("mode", other)),
    };
    let coordinates = match node.string_or("coordinate_transformation_mode", "half_pixel")?.as_str() {
        "half_pixel" => Coordinates::HalfPixel,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "tf_half_pixel_for_nn" => Coordinates::HalfPixelForNearest,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        "tf_crop_and_resize" => Coordinates::CropAndResize,
        other => return Err(unknown("coordinate_transformation_mode", other)),
    };
    let policy = match node.string_or("keep_aspect_ratio_policy", "stretch")?.as_str() {
        "stretch" => AspectPolicy::Stretch,
        "not_larger" => AspectPolicy::NotLarger,
        "not_smaller" => AspectPolicy::NotSmaller,
        other => return Err(unknown("keep_aspect_ratio_policy", other)),
    };
    let resize = Resize {
        mode,
        coordinates,
        antialias: node.flag("antialias", false)?,
        exclude_outside: node.flag("exclude_outside", false)?,
        extrapolation: node.float_or("extrapolation_value", 0.0)?,
        policy,
        axes: node.ints("axes")?,
    };
    node.emit(Movement::Resize(resize))
}

fn grid_sample(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let mode = match node.string_or("mode", "linear")?.as_str() {
        "linear" | "bilinear" => GridMode::Linear,
        "nearest" => GridMode::Nearest,
        "cubic" | "bicubic" => GridMode::Cubic,
        other => return Err(unknown("mode", other)),
    };
    let padding = match node.string_or("padding_mode", "zeros")?.as_str() {
        "zeros" => GridPadding::Zeros,
        "border" => GridPadding::Border,
        "reflection" => GridPadding::Reflection,
        other => return Err(unknown("padding_mode", other)),
    };
    let align_corners = node.flag("align_corners", false)?;
    node.emit(Movement::GridSample { mode, padding, align_corners })
}
