//! The cost of operations.

use crate::ops::{AttentionOp, Product};
use crate::{Fact, Op, shape};

/// The number of multiply-adds of an operation by its definition; `None` if the operation has none
/// worth counting, or shapes are not known. A kernel may need fewer.
pub fn multiply_adds(op: &Op, inputs: &[Option<Fact>], outputs: &[Option<Fact>]) -> Option<u64> {
    let sizes = |index: usize| inputs.get(index)?.as_ref()?.shape.as_deref();
    let result = shape::count(outputs.first()?.as_ref()?.shape.as_deref()?).ok()?;
    let count = |index: usize| shape::count(sizes(index)?).ok();
    // Results times multiply-adds per result, for each part of the operation.
    let parts = match op {
        Op::Product(Product::MatMul { transpose_a, .. }) => {
            let a = sizes(0)?;
            let inner = if *transpose_a && a.len() > 1 { a.len() - 2 } else { a.len().checked_sub(1)? };
            [(result, a[inner]), (0, 0)]
        }
        Op::Product(Product::MatMulInteger) => [(result, *sizes(0)?.last()?), (0, 0)],
        Op::Product(Product::Conv { .. } | Product::ConvInteger { .. } | Product::DeformConv { .. }) => {
            [(result, shape::count(sizes(1)?.get(1..)?).ok()?), (0, 0)]
        }
        Op::Product(Product::ConvTranspose { .. }) => [(count(0)?, shape::count(sizes(1)?.get(1..)?).ok()?), (0, 0)],
        Op::AttentionOp(AttentionOp::Attention(_)) => {
            // The length is the second to last axis, after the heads or after the batch.
            let length = |index: usize| sizes(index).and_then(|sizes| sizes.get(sizes.len().checked_sub(2)?)).copied();
            let keys = length(1)? + length(4).unwrap_or(0);
            [(count(0)?, keys), (result, keys)]
        }
        Op::Recurrent(_) => {
            let steps = shape::count(sizes(0)?.get(..2)?).ok()?;
            [(steps, count(1)?), (steps, count(2)?)]
        }
        _ => return None,
    };
    parts.iter().try_fold(0u64, |sum, &(one, other)| sum.checked_add((one as u64).checked_mul(other as u64)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::ops::window::{Padding, Window};

    #[test]
    fn multiply_adds_are_counted() {
        let fact = |shape: &[usize]| Some(Fact::new(DType::F32, shape));
        let matmul = |transpose_a| Product::MatMul { transpose_a, transpose_b: false, alpha: 1.0, beta: 1.0 }.into();
        let both = [fact(&[2, 3, 5]), fact(&[5, 7])];
        assert_eq!(multiply_adds(&matmul(false), &both, &[fact(&[2, 3, 7])]), Some(2 * 3 * 5 * 7));
        let both = [fact(&[5, 3]), fact(&[5, 7])];
        assert_eq!(multiply_adds(&matmul(true), &both, &[fact(&[3, 7])]), Some(3 * 5 * 7));
        let padding = Padding::Explicit(vec![]);
        let window = Window { kernel: vec![], strides: vec![], dilations: vec![], padding };
        let conv = Product::Conv { window, groups: 2 }.into();
        let both = [fact(&[1, 4, 9, 9]), fact(&[6, 2, 3, 3])];
        assert_eq!(multiply_adds(&conv, &both, &[fact(&[1, 6, 7, 7])]), Some(6 * 49 * 18));
        assert_eq!(multiply_adds(&conv, &both, &[None]), None);
    }
}
