//! Strided copies: merges contiguous dimensions, and dispatches the copy kernel.

use roci_kernels::params::StridedCopy;

use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// The number of dimensions of the copy kernel.
const MAX_DIMENSIONS: usize = 5;

/// A dimension of a strided read: its size and its stride in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) size: usize,
    pub(super) stride: i64,
}

/// Where a copy writes: rows of `run` elements, `pitch` apart, from `offset` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) offset: usize,
    pub(super) run: usize,
    pub(super) pitch: usize,
}

/// The dimensions of a tensor of this shape with these strides.
pub(super) fn dimensions(shape: &[usize], strides: impl IntoIterator<Item = i64>) -> Vec<Dimension> {
    shape.iter().zip(strides).map(|(&size, stride)| Dimension { size, stride }).collect()
}

/// Strides of a dense tensor.
pub(super) fn dense(shape: &[usize]) -> Vec<i64> {
    roci_graph::shape::strides(shape).into_iter().map(|stride| stride as i64).collect()
}

/// Merges contiguous dimensions.
fn merge_dimensions(all: &[Dimension]) -> Vec<Dimension> {
    let mut result: Vec<Dimension> = Vec::new();
    for &one in all.iter().filter(|one| one.size != 1) {
        match result.last_mut() {
            Some(outer) if outer.stride == one.size as i64 * one.stride => {
                *outer = Dimension { size: outer.size * one.size, stride: one.stride };
            }
            _ => result.push(one),
        }
    }
    result
}

impl Context<'_, '_> {
    /// Copies elements of `source`, read through `walk`, into `target`.
    pub(super) fn strided_copy_into(
        &mut self,
        source: &DeviceTensor,
        offset: usize,
        walk: &[Dimension],
        target: &DeviceTensor,
        to: Target,
    ) -> Result<(), LoweringError> {
        let count: usize = walk.iter().map(|one| one.size).product();
        if count == 0 {
            return Ok(());
        }
        let mut walk = merge_dimensions(walk);
        if walk.len() > MAX_DIMENSIONS {
            // Too many dimensions: one dispatch per index of the outermost, into consecutive rows.
            let outer = walk.remove(0);
            let inner: usize = walk.iter().map(|one| one.size).product();
            if to.run != to.pitch && !inner.is_multiple_of(to.run) {
                let dense = self.new_tensor(source.dtype, [count]);
                let whole = Target { offset: 0, run: count, pitch: count };
                walk.insert(0, outer);
                self.strided_copy_into(source, offset, &walk, &dense, whole)?;
                let line = [Dimension { size: count, stride: 1 }];
                return self.strided_copy_into(&dense, 0, &line, target, to);
            }
            let step = if to.run == to.pitch { inner } else { inner / to.run * to.pitch };
            for at in 0..outer.size {
                let start = offset as i64 + at as i64 * outer.stride;
                let start = usize::try_from(start)
                    .map_err(|_| LoweringError::unsupported("a read before the start of a tensor"))?;
                let part = Target { offset: to.offset + at * step, ..to };
                let part = if to.run == to.pitch { Target { run: inner, pitch: inner, ..part } } else { part };
                self.strided_copy_into(source, start, &walk, target, part)?;
            }
            return Ok(());
        }
        let (mut shape, mut strides) = ([1; MAX_DIMENSIONS], [0; MAX_DIMENSIONS]);
        let first = MAX_DIMENSIONS - walk.len();
        for (at, one) in walk.iter().enumerate() {
            shape[first + at] = word(one.size)?;
            strides[first + at] =
                i32::try_from(one.stride).map_err(|_| LoweringError::unsupported("a tensor of this size"))?;
        }
        let run = if to.run == to.pitch { count } else { to.run };
        let params = StridedCopy {
            count: word(count)?,
            source_offset: word(offset)?,
            shape,
            strides,
            target_offset: word(to.offset)?,
            run: word(run)?,
            pitch: word(to.pitch.max(run))?,
        };
        self.segment().dispatch("strided_copy", &params, &[source.tensor_id], target.tensor_id);
        Ok(())
    }

    /// A dense copy of a strided read.
    pub(super) fn strided_copy(
        &mut self,
        source: &DeviceTensor,
        offset: usize,
        walk: &[Dimension],
        shape: impl Into<Vec<usize>>,
    ) -> Result<DeviceTensor, LoweringError> {
        let target = self.new_tensor(source.dtype, shape);
        let count = target.count();
        self.strided_copy_into(source, offset, walk, &target, Target { offset: 0, run: count, pitch: count })?;
        Ok(target)
    }

    /// Permutes axes.
    pub(super) fn transpose(&mut self, source: &DeviceTensor, perm: &[usize]) -> Result<DeviceTensor, LoweringError> {
        let own = dense(&source.shape);
        let shape: Vec<usize> = perm.iter().map(|&axis| source.shape[axis]).collect();
        // If only axes of size 1 move, the order of the elements stays the same.
        let moved: Vec<usize> = perm.iter().copied().filter(|&axis| source.shape[axis] != 1).collect();
        if moved.is_sorted() {
            return Ok(source.reshaped(shape));
        }
        self.strided_copy(source, 0, &dimensions(&shape, perm.iter().map(|&axis| own[axis])), shape.clone())
    }

    pub(super) fn broadcast(&mut self, source: &DeviceTensor, shape: &[usize]) -> Result<DeviceTensor, LoweringError> {
        if source.count() == shape.iter().product() {
            return Ok(source.reshaped(shape));
        }
        let strides =
            roci_graph::shape::broadcast_strides(&source.shape, shape).into_iter().map(|stride| stride as i64);
        self.strided_copy(source, 0, &dimensions(shape, strides), shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_dimensions_are_merged() {
        let walk = dimensions(&[2, 1, 3, 4], [12, 12, 4, 1]);
        assert_eq!(merge_dimensions(&walk), [Dimension { size: 24, stride: 1 }]);
        let repeated = dimensions(&[2, 3, 4], [0, 4, 1]);
        assert_eq!(merge_dimensions(&repeated), [Dimension { size: 2, stride: 0 }, Dimension { size: 12, stride: 1 }]);
    }
}
