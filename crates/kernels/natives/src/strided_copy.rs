//! `strided_copy`: words copied through strides.

use super::check::Extent;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] =
    &[("strided_copy", |_| Arc::new(PerElementKernel::<StridedCopy>::new()))];

/// `target[offset + i / run * pitch + i % run] = source[source_offset + strides * position of i in
/// shape]`.
pub(super) struct StridedCopy;

/// Words of the source up to the last one read; 0 if none is. Fails if a stride leads below the
/// start.
fn source_extent(p: &roci_families::StridedCopy) -> Result<u128, String> {
    let (mut low, mut high) = (i128::from(p.source_offset), i128::from(p.source_offset));
    for (&size, &stride) in p.shape.iter().zip(&p.strides) {
        let Some(steps) = size.checked_sub(1) else { return Ok(0) };
        let distance = i128::from(steps) * i128::from(stride);
        *if distance < 0 { &mut low } else { &mut high } += distance;
    }
    if low < 0 {
        return Err(format!("reads {} words before the start of `source`", -low));
    }
    Ok(high as u128 + 1)
}

impl PerElement for StridedCopy {
    type Params = roci_families::StridedCopy;
    const INPUTS: &'static [&'static str] = &["source"];

    fn footprint(p: &roci_families::StridedCopy) -> Result<Footprint, String> {
        let count = p.shape.iter().fold(1u128, |product, &size| product.saturating_mul(size.into()));
        if count != u128::from(p.count) {
            return Err(format!("shape {:?} has {count} elements, but the count is {}", p.shape, p.count));
        }
        if p.count > 0 && (p.run == 0 || !p.count.is_multiple_of(p.run)) {
            return Err(format!("{} elements are not whole rows of {}", p.count, p.run));
        }
        let rows = p.count.checked_div(p.run).unwrap_or(0);
        let output = Layout { offset: p.target_offset, rows, run: p.run, pitch: p.pitch };
        Ok(Footprint { inputs: vec![Extent::count(source_extent(p)?)], output, cost: 8 })
    }

    fn compute(p: &roci_families::StridedCopy, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let source = inputs[0];
        let shape = p.shape.map(|size| size as usize);
        let (inner, step) = (shape[4], p.strides[4] as isize);
        let mut at = first;
        let mut remaining = output;
        while !remaining.is_empty() {
            let (mut rest, mut offset) = (at, p.source_offset as isize);
            for axis in (0..5).rev() {
                offset += (rest % shape[axis]) as isize * p.strides[axis] as isize;
                rest /= shape[axis];
            }
            let run = (inner - at % inner).min(remaining.len());
            let (piece, behind) = std::mem::take(&mut remaining).split_at_mut(run);
            match step {
                0 => piece.fill(source[offset as usize]),
                1 => piece.copy_from_slice(&source[offset as usize..offset as usize + run]),
                _ => (0..).zip(piece).for_each(|(index, word)| *word = source[(offset + index * step) as usize]),
            }
            at += run;
            remaining = behind;
        }
    }
}
