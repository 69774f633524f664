//! Walks over tensors by strides: dimensions that go together are joined, and `arrange` does the rest.

use roci_kernels::params::Arrange;

use super::{Context, Operand, word};
use crate::error::Refusal;

/// Dimensions that `arrange` walks.
const WALKED: usize = 5;

/// A dimension of a walk: its size, and elements of the source between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub(super) size: usize,
    pub(super) stride: i64,
}

/// Where a walk goes: rows of `run` elements, `pitch` apart, from `offset` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) offset: usize,
    pub(super) run: usize,
    pub(super) pitch: usize,
}

/// The dimensions of a tensor of this shape, by these strides.
pub(super) fn dimensions(shape: &[usize], strides: impl IntoIterator<Item = i64>) -> Vec<Dimension> {
    shape.iter().zip(strides).map(|(&size, stride)| Dimension { size, stride }).collect()
}

/// Strides of a dense tensor.
pub(super) fn dense(shape: &[usize]) -> Vec<i64> {
    roci_graph::shape::strides(shape).into_iter().map(|stride| stride as i64).collect()
}

/// The same walk in as few dimensions as can be.
fn joined(all: &[Dimension]) -> Vec<Dimension> {
    let mut made: Vec<Dimension> = Vec::new();
    for &one in all.iter().filter(|one| one.size != 1) {
        match made.last_mut() {
            Some(outer) if outer.stride == one.size as i64 * one.stride => {
                *outer = Dimension { size: outer.size * one.size, stride: one.stride };
            }
            _ => made.push(one),
        }
    }
    made
}

impl Context<'_, '_> {
    /// Copies elements of `source` into `target` in the order of a walk.
    pub(super) fn arrange(
        &mut self,
        source: &Operand,
        offset: usize,
        walk: &[Dimension],
        target: &Operand,
        to: Target,
    ) -> Result<(), Refusal> {
        let count: usize = walk.iter().map(|one| one.size).product();
        if count == 0 {
            return Ok(());
        }
        let mut walk = joined(walk);
        if walk.len() > WALKED {
            // The outermost dimension by a launch each, into rows that follow each other.
            let outer = walk.remove(0);
            let inner: usize = walk.iter().map(|one| one.size).product();
            if to.run != to.pitch && !inner.is_multiple_of(to.run) {
                let dense = self.new_tensor(source.dtype, [count]);
                let whole = Target { offset: 0, run: count, pitch: count };
                walk.insert(0, outer);
                self.arrange(source, offset, &walk, &dense, whole)?;
                let line = [Dimension { size: count, stride: 1 }];
                return self.arrange(&dense, 0, &line, target, to);
            }
            let step = if to.run == to.pitch { inner } else { inner / to.run * to.pitch };
            for at in 0..outer.size {
                let start = offset as i64 + at as i64 * outer.stride;
                let start = usize::try_from(start).map_err(|_| Refusal::unsupported("a walk before the start"))?;
                let part = Target { offset: to.offset + at * step, ..to };
                let part = if to.run == to.pitch { Target { run: inner, pitch: inner, ..part } } else { part };
                self.arrange(source, start, &walk, target, part)?;
            }
            return Ok(());
        }
        let (mut shape, mut strides) = ([1; WALKED], [0; WALKED]);
        let first = WALKED - walk.len();
        for (at, one) in walk.iter().enumerate() {
            shape[first + at] = word(one.size)?;
            strides[first + at] = i32::try_from(one.stride).map_err(|_| Refusal::unsupported("a tensor this large"))?;
        }
        let run = if to.run == to.pitch { count } else { to.run };
        let params = Arrange {
            count: word(count)?,
            source_offset: word(offset)?,
            shape,
            strides,
            target_offset: word(to.offset)?,
            run: word(run)?,
            pitch: word(to.pitch.max(run))?,
        };
        self.segment().run("arrange", &params, &[source.slot], target.slot);
        Ok(())
    }

    /// A dense tensor of a walk over another.
    pub(super) fn arranged(
        &mut self,
        source: &Operand,
        offset: usize,
        walk: &[Dimension],
        shape: impl Into<Vec<usize>>,
    ) -> Result<Operand, Refusal> {
        let target = self.new_tensor(source.dtype, shape);
        let count = target.count();
        self.arrange(source, offset, walk, &target, Target { offset: 0, run: count, pitch: count })?;
        Ok(target)
    }

    /// Axes in another order.
    pub(super) fn transposed(&mut self, source: &Operand, perm: &[usize]) -> Result<Operand, Refusal> {
        let own = dense(&source.shape);
        let shape: Vec<usize> = perm.iter().map(|&axis| source.shape[axis]).collect();
        // Axes of size 1 may stand anywhere: then the order of the elements is the same.
        let moved: Vec<usize> = perm.iter().copied().filter(|&axis| source.shape[axis] != 1).collect();
        if moved.is_sorted() {
            return Ok(source.reshaped(shape));
        }
        self.arranged(source, 0, &dimensions(&shape, perm.iter().map(|&axis| own[axis])), shape.clone())
    }

    /// Broadcast to a shape.
    pub(super) fn broadcast(&mut self, source: &Operand, shape: &[usize]) -> Result<Operand, Refusal> {
        if source.count() == shape.iter().product() {
            return Ok(source.reshaped(shape));
        }
        let strides =
            roci_graph::shape::broadcast_strides(&source.shape, shape).into_iter().map(|stride| stride as i64);
        self.arranged(source, 0, &dimensions(shape, strides), shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_that_go_together_are_joined() {
        let walk = dimensions(&[2, 1, 3, 4], [12, 12, 4, 1]);
        assert_eq!(joined(&walk), [Dimension { size: 24, stride: 1 }]);
        let repeated = dimensions(&[2, 3, 4], [0, 4, 1]);
        assert_eq!(joined(&repeated), [Dimension { size: 2, stride: 0 }, Dimension { size: 12, stride: 1 }]);
    }
}
