//! Tensors made of little. Most are known before anything runs; what is left depends on the shape of an operand alone.

use roci_graph::interpreter::quarter_of_memory;
use roci_graph::ops::Source;
use roci_graph::{OpError, Tensor, shape};

use super::{Context, Operand};
use crate::error::Refusal;
use crate::storage::encode;

pub(super) fn lower(op: &Source, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Source::EyeLike { k, .. } => {
            let fact = context.output(0)?;
            let (dtype, to) = (fact.dtype, fact.shape()?.to_vec());
            // It is made on the host.
            if shape::count(&to)? > quarter_of_memory() / size_of::<u32>() {
                return Err(OpError::TooLarge(to).into());
            }
            let one = encode(&Tensor::from_floats(dtype, [], &[1.0])?)?[0];
            let on = |at: usize| ((at % to[1]) as i64).checked_sub((at / to[1]) as i64) == Some(*k);
            let words: Vec<u32> = (0..to[0] * to[1]).map(|at| if on(at) { one } else { 0 }).collect();
            Ok(vec![Operand { dtype, shape: to, ..context.table(&words)? }])
        }
        // Small, and computed from numbers that decide its shape or its few elements: the host's.
        _ => {
            let unknown =
                (0..context.len()).find(|&index| context.fact(index).is_some_and(|fact| fact.value.is_none()));
            Err(unknown.map_or_else(|| Refusal::unsupported(format!("{op:?}")), Refusal::NeedsValue))
        }
    }
}
