//! Arithmetic on shapes: sizes, strides, axes, broadcasting, and walks over all elements.

use crate::OpError;

/// Elements of a tensor of this shape; an error where their number has no meaning on this machine.
pub fn count(shape: &[usize]) -> Result<usize, OpError> {
    // An element takes up to 8 bytes, and no allocation may be larger than isize::MAX.
    let most = isize::MAX as usize / 8;
    // A zero anywhere makes it empty, however large the rest is.
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    product.filter(|product| *product <= most).ok_or_else(|| OpError::TooLarge(shape.to_vec()))
}

/// An empty vector with room for a tensor of this shape; an error where memory is short.
pub fn reserve<T>(shape: &[usize]) -> Result<Vec<T>, OpError> {
    let mut room = Vec::new();
    room.try_reserve_exact(count(shape)?).map_err(|_| OpError::TooLarge(shape.to_vec()))?;
    Ok(room)
}

/// As many of an element as a tensor of this shape has; an error where memory is short.
pub fn filled<T: Clone>(shape: &[usize], element: T) -> Result<Vec<T>, OpError> {
    let mut elements = reserve(shape)?;
    elements.resize(count(shape)?, element);
    Ok(elements)
}

/// Sizes as ONNX gives them.
pub fn sizes(given: &[i64]) -> Result<Vec<usize>, OpError> {
    given
        .iter()
        .map(|&one| usize::try_from(one))
        .collect::<Result<_, _>>()
        .map_err(|_| OpError::invalid(format!("sizes {given:?} have a negative one")))
}

/// Elements between neighbours along each axis of a tensor in C order.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        // A shape without elements may have other sizes of any height.
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis].max(1));
    }
    strides
}

/// An axis as ONNX gives it, counted from the end where negative.
pub fn axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_front)
        .ok()
        .filter(|axis| *axis < rank)
        .ok_or_else(|| OpError::invalid(format!("axis {axis} of a tensor with {rank} dimensions")))
}

/// Axes as ONNX gives them, sorted; an error where one is given twice.
pub fn axes(given: &[i64], rank: usize) -> Result<Vec<usize>, OpError> {
    let mut axes = given.iter().map(|&one| axis(one, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(OpError::invalid(format!("axes {given:?} name one twice")));
    }
    Ok(axes)
}

/// The shape of operands that are broadcast to each other, as NumPy does it.
pub fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, OpError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (into, &size) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            if *into == 1 {
                *into = size;
            } else if size != 1 && size != *into {
                let all: Vec<_> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
                return Err(OpError::invalid(format!("shapes {} cannot be broadcast", all.join(" and "))));
            }
        }
    }
    Ok(result)
}

/// Strides by which an operand of `shape` is read where the result has shape `to`: 0 where it is repeated.
pub fn broadcast_strides(shape: &[usize], to: &[usize]) -> Vec<usize> {
    let own = strides(shape);
    let mut result = vec![0; to.len()];
    for (axis, (&size, stride)) in shape.iter().zip(own).enumerate() {
        if size != 1 {
            result[to.len() - shape.len() + axis] = stride;
        }
    }
    result
}

/// Offsets of all elements of `shape` in C order, for an operand with these strides.
pub fn offsets<'a>(shape: &'a [usize], strides: &'a [usize]) -> Offsets<'a> {
    let left = if shape.contains(&0) { 0 } else { shape.iter().product() };
    Offsets { shape, strides, index: vec![0; shape.len()], offset: 0, left }
}

/// See [`offsets`].
pub struct Offsets<'a> {
    shape: &'a [usize],
    strides: &'a [usize],
    index: Vec<usize>,
    offset: usize,
    left: usize,
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.offset;
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            self.offset += self.strides[axis];
            if self.index[axis] < self.shape[axis] {
                break;
            }
            self.offset -= self.strides[axis] * self.shape[axis];
            self.index[axis] = 0;
        }
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets<'_> {}

/// Sizes before, of, and behind an axis, multiplied together.
pub fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    // Saturates where there are no elements, and sizes of any height beside the zero.
    let product = |sizes: &[usize]| sizes.iter().fold(1usize, |product, &size| product.saturating_mul(size));
    (product(&shape[..axis]), shape[axis], product(&shape[axis + 1..]))
}

/// Walks for a fold along axes: the offsets at which results begin, and those of the elements of each, relative to that.
pub fn fold_offsets(shape: &[usize], axes: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let steps = strides(shape);
    let walk = |folded: bool| {
        let chosen = (0..shape.len()).filter(|axis| axes.contains(axis) == folded);
        let (sizes, steps): (Vec<_>, Vec<_>) = chosen.map(|axis| (shape[axis], steps[axis])).unzip();
        offsets(&sizes, &steps).collect()
    };
    (walk(false), walk(true))
}

/// Elements of a result that need not come of as many operands' elements, as where a sum runs over none: limited, because
/// a model file could ask for any number.
pub fn count_from_little(shape: &[usize]) -> Result<usize, OpError> {
    let count = count(shape)?;
    if count > 1 << 26 { Err(OpError::TooLarge(shape.to_vec())) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_is_numpys() -> Result<(), OpError> {
        assert_eq!(broadcast(&[&[3, 1], &[4]])?, [3, 4]);
        assert_eq!(broadcast(&[&[], &[2, 0]])?, [2, 0]);
        assert_eq!(broadcast(&[&[1], &[0]])?, [0]);
        assert!(broadcast(&[&[3], &[4]]).is_err());
        assert_eq!(broadcast_strides(&[3, 1], &[2, 3, 4]), [0, 1, 0]);
        Ok(())
    }

    #[test]
    fn a_walk_follows_its_strides() {
        let walk: Vec<_> = offsets(&[2, 3], &[1, 2]).collect();
        assert_eq!(walk, [0, 2, 4, 1, 3, 5]);
        assert_eq!(offsets(&[], &[]).collect::<Vec<_>>(), [0]);
        assert_eq!(offsets(&[2, 0], &[0, 1]).count(), 0);
    }

    #[test]
    fn huge_shapes_are_refused_and_empty_ones_are_not() {
        assert!(count(&[usize::MAX, 2]).is_err());
        assert_eq!(count(&[usize::MAX, 0]), Ok(0));
    }

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(axis(-1, 3), Ok(2));
        assert!(axis(3, 3).is_err() && axis(i64::MIN, 3).is_err());
        assert!(axes(&[0, -3], 3).is_err());
    }
}
