//! Quantization and dequantization.

use roci_graph::DType;
use roci_graph::ops::Quantize;

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    match node.op().as_str() {
        "QuantizeLinear" | "com.microsoft.QuantizeLinear" => {
            let axis = node.int_or("axis", 1)?;
            let block = block(node)?;
            let dtype = dtype(node, "output_dtype")?.unwrap_or(DType::U8);
            let precision = dtype_of_floats(node)?;
            // It affects only 8-bit floats, which are not supported.
            let _ = node.int("saturate")?;
            node.emit(Quantize::Linear { axis, block, dtype, precision })
        }
        "DequantizeLinear" | "com.microsoft.DequantizeLinear" => {
            let axis = node.int_or("axis", 1)?;
            let block = block(node)?;
            let dtype = dtype(node, "output_dtype")?;
            node.emit(Quantize::Dequantize { axis, block, dtype })
        }
        "DynamicQuantizeLinear" => node.emit(Quantize::Dynamic),
        _ => Ok(false),
    }
}

fn block(node: &NodeContext<'_, '_>) -> Result<usize, Error> {
    let block = node.int_or("block_size", 0)?;
    usize::try_from(block)
        .map_err(|_| Error::invalid(format!("attribute `block_size` is {block}, expected a non-negative number")))
}

/// A type attribute that may be 0 for none.
fn dtype(node: &NodeContext<'_, '_>, name: &str) -> Result<Option<DType>, Error> {
    if node.int_or(name, 0)? == 0 { Ok(None) } else { node.dtype(name) }
}

fn dtype_of_floats(node: &NodeContext<'_, '_>) -> Result<Option<DType>, Error> {
    match dtype(node, "precision")? {
        Some(other) if !other.is_float() => {
            Err(Error::invalid(format!("attribute `precision` is {other}, expected a floating-point type")))
        }
        found => Ok(found),
    }
}
