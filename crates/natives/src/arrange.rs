//! `arrange`: words in another order, by strides.

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use crate::params;

/// `target[offset + i / run * pitch + i % run] = source[source_offset + strides * position of i in shape]`.
pub(super) struct Arrange;

impl params::Arrange {
    /// The first and behind the last word that is read; `None` where nothing is, or where a stride leads below the start.
    fn reach(&self) -> Result<u128, String> {
        let (mut low, mut high) = (i128::from(self.source_offset), i128::from(self.source_offset));
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            let Some(steps) = size.checked_sub(1) else { return Ok(0) };
            let way = i128::from(steps) * i128::from(stride);
            *if way < 0 { &mut low } else { &mut high } += way;
        }
        if low < 0 {
            return Err(format!("reads {} words before the start of `source`", -low));
        }
        Ok(high as u128 + 1)
    }
}

impl Each for Arrange {
    type Params = params::Arrange;
    const INPUTS: &'static [&'static str] = &["source"];

    fn plan(p: &params::Arrange) -> Result<Plan, String> {
        let count = p.shape.iter().fold(1u128, |product, &size| product.saturating_mul(size.into()));
        if count != u128::from(p.count) {
            return Err(format!("the shape {:?} has {count} elements, but the count is {}", p.shape, p.count));
        }
        if p.count > 0 && (p.run == 0 || !p.count.is_multiple_of(p.run)) {
            return Err(format!("{} elements in rows of {}", p.count, p.run));
        }
        let rows = p.count.checked_div(p.run).unwrap_or(0);
        let output = Layout { offset: p.target_offset, rows, run: p.run, pitch: p.pitch };
        Ok(Plan { inputs: vec![Extent::words(p.reach()?)], output, cost: 8 })
    }

    fn compute(p: &params::Arrange, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let source = inputs[0];
        let shape = p.shape.map(|size| size as usize);
        let (inner, step) = (shape[4], p.strides[4] as isize);
        let mut at = first;
        let mut left = output;
        while !left.is_empty() {
            let (mut rest, mut offset) = (at, p.source_offset as isize);
            for axis in (0..5).rev() {
                offset += (rest % shape[axis]) as isize * p.strides[axis] as isize;
                rest /= shape[axis];
            }
            let run = (inner - at % inner).min(left.len());
            let (piece, behind) = std::mem::take(&mut left).split_at_mut(run);
            match step {
                0 => piece.fill(source[offset as usize]),
                1 => piece.copy_from_slice(&source[offset as usize..offset as usize + run]),
                _ => (0..).zip(piece).for_each(|(index, word)| *word = source[(offset + index * step) as usize]),
            }
            at += run;
            left = behind;
        }
    }
}
