//! Generated tensors. Most are precomputed; the others depend on the shape of an operand only.

use roci_graph::interpreter::default_limit;
use roci_graph::ops::Source;
use roci_graph::{OpError, Tensor, shape};

use super::Context;
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::storage::encode;

pub(super) fn lower(op: &Source, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    match op {
        Source::EyeLike { k, .. } => {
            let fact = context.output(0)?;
            let (dtype, to) = (fact.dtype, fact.shape()?.to_vec());
            // The host builds it.
            if shape::count(&to)? > default_limit() / size_of::<u32>() {
                return Err(OpError::TooLarge(to).into());
            }
            let one = encode(&Tensor::from_floats(dtype, [], &[1.0])?)?[0];
            let on = |at: usize| ((at % to[1]) as i64).checked_sub((at / to[1]) as i64) == Some(*k);
            let words: Vec<u32> = (0..to[0] * to[1]).map(|at| if on(at) { one } else { 0 }).collect();
            Ok(vec![DeviceTensor { dtype, shape: to, ..context.table(&words)? }])
        }
        // The operands decide the shape or the few elements, so the host computes it.
        _ => {
            let unknown =
                (0..context.len()).find(|&index| context.fact(index).is_some_and(|fact| fact.value.is_none()));
            Err(unknown.map_or_else(|| LoweringError::unsupported(format!("{op:?}")), LoweringError::NeedsValue))
        }
    }
}
