//! Pooling.

use roci_graph::ops::Pool;
use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::window::{Padding, Window};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "MaxPool" => {
            let column_major = node.flag("storage_order", false)?;
            slide(node, PoolKind::Max { column_major })
        }
        "AveragePool" => {
            let with_padding = node.flag("count_include_pad", false)?;
            slide(node, PoolKind::Average { with_padding })
        }
        "LpPool" => {
            let order = order(node)?;
            slide(node, PoolKind::Lp { order })
        }
        "GlobalMaxPool" => node.emit(Pool::Global { kind: PoolKind::Max { column_major: false } }),
        "GlobalAveragePool" => node.emit(Pool::Global { kind: PoolKind::Average { with_padding: false } }),
        "GlobalLpPool" => {
            let order = order(node)?;
            node.emit(Pool::Global { kind: PoolKind::Lp { order } })
        }
        "MaxUnpool" => {
            let window = window(node)?;
            node.emit(Pool::MaxUnpool { window })
        }
        _ => Ok(false),
    }
}

fn slide(node: &mut NodeContext<'_, '_>, kind: PoolKind) -> Result<bool, Error> {
    let op = sliding(node, kind)?;
    node.emit(op)
}

/// A pool with the attributes that all of them share.
pub(super) fn sliding(node: &NodeContext<'_, '_>, kind: PoolKind) -> Result<Pool, Error> {
    let window = window(node)?;
    if window.kernel.is_empty() {
        return Err(Error::invalid("attribute `kernel_shape` is missing"));
    }
    let ceil = node.flag("ceil_mode", false)?;
    Ok(Pool::Slide { kind, window, ceil })
}

fn order(node: &NodeContext<'_, '_>) -> Result<f32, Error> {
    let order = node.int_or("p", 2)?;
    if order == 0 { Err(Error::invalid("norms of order 0 are not supported")) } else { Ok(order as f32) }
}

/// The window attributes that convolutions and pooling share.
pub(super) fn window(node: &NodeContext<'_, '_>) -> Result<Window, Error> {
    let pads = sizes(node, "pads")?;
    let auto = node.string_or("auto_pad", "NOTSET")?;
    let padding = match auto.as_str() {
        "SAME_UPPER" => Padding::SameUpper,
        "SAME_LOWER" => Padding::SameLower,
        "VALID" => Padding::Explicit(Vec::new()),
        "" | "NOTSET" => {
            if pads.len() % 2 != 0 {
                return Err(Error::invalid(format!(
                    "attribute `pads` has {} elements, expected an even number",
                    pads.len()
                )));
            }
            let (before, after) = pads.split_at(pads.len() / 2);
            Padding::Explicit(before.iter().copied().zip(after.iter().copied()).collect())
        }
        other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `auto_pad`"))),
    };
    let (kernel, strides) = (sizes(node, "kernel_shape")?, sizes(node, "strides")?);
    Ok(Window { kernel, strides, dilations: sizes(node, "dilations")?, padding })
}

/// An attribute that is a list of sizes; empty if it is missing.
pub(super) fn sizes(node: &NodeContext<'_, '_>, name: &str) -> Result<Vec<usize>, Error> {
    let given = node.ints(name)?.unwrap_or_default();
    let sizes: Result<Vec<_>, _> = given.iter().map(|&size| usize::try_from(size)).collect();
    sizes.map_err(|_| Error::invalid(format!("attribute `{name}` is {given:?}, expected non-negative numbers")))
}
