//! Softmax, log-softmax and hardmax.

use super::SoftmaxKind;
use crate::{OpError, Tensor, shape};

pub(super) fn eval(kind: SoftmaxKind, axis: i64, to_end: bool, x: &Tensor) -> Result<Tensor, OpError> {
    let sizes = if x.rank() == 0 { &[1][..] } else { x.shape() };
    let axis = shape::axis(axis, sizes.len())?;
    let mut data = x.floats()?;
    if data.is_empty() {
        return Ok(x.clone());
    }
    let (outer, mut size, mut inner) = shape::around(sizes, axis);
    if to_end {
        (size, inner) = (size * inner, 1);
    }
    let mut row = vec![0.0; size];
    for start in (0..outer).flat_map(|block| (0..inner).map(move |column| block * size * inner + column)) {
        for (index, into) in row.iter_mut().enumerate() {
            *into = data[start + index * inner];
        }
        along(kind, &mut row);
        for (index, from) in row.iter().enumerate() {
            data[start + index * inner] = *from;
        }
    }
    Tensor::from_floats(x.dtype(), x.shape(), &data)
}

fn along(kind: SoftmaxKind, row: &mut [f64]) {
    let beyond = |most: f64, one: f64| if one > most || one.is_nan() { one } else { most };
    let most = row.iter().copied().fold(f64::NEG_INFINITY, beyond);
    match kind {
        SoftmaxKind::Softmax => {
            let sum: f64 = row.iter().map(|one| (one - most).exp()).sum();
            row.iter_mut().for_each(|one| *one = (*one - most).exp() / sum);
        }
        SoftmaxKind::LogSoftmax => {
            let sum: f64 = row.iter().map(|one| (one - most).exp()).sum();
            row.iter_mut().for_each(|one| *one = *one - most - sum.ln());
        }
        SoftmaxKind::Hardmax => {
            let first = row.iter().position(|one| *one == most || one.is_nan());
            row.iter_mut().enumerate().for_each(|(index, one)| *one = f64::from(u8::from(Some(index) == first)));
        }
    }
}
