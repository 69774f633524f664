//! Shape arithmetic: sizes, strides, axes, broadcasting, and iteration over elements.

use crate::OpError;

/// The number of elements of a tensor of this shape; an error if the tensor could not be allocated.
pub fn count(shape: &[usize]) -> Result<usize, OpError> {
    // An element takes up to 8 bytes, and no allocation may be larger than isize::MAX.
    let most = isize::MAX as usize / 8;
    // A zero makes the tensor empty, however large the other sizes are.
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    product.filter(|product| *product <= most).ok_or_else(|| OpError::TooLarge(shape.to_vec()))
}

/// An empty vector with capacity for a tensor of this shape; an error if memory is short.
pub fn reserve<T>(shape: &[usize]) -> Result<Vec<T>, OpError> {
    let mut room = Vec::new();
    room.try_reserve_exact(count(shape)?).map_err(|_| OpError::TooLarge(shape.to_vec()))?;
    Ok(room)
}

/// A vector that repeats an element for a tensor of this shape; an error if memory is short.
pub fn filled<T: Clone>(shape: &[usize], element: T) -> Result<Vec<T>, OpError> {
    let mut elements = reserve(shape)?;
    elements.resize(count(shape)?, element);
    Ok(elements)
}

/// Converts sizes as ONNX gives them.
pub fn sizes(given: &[i64]) -> Result<Vec<usize>, OpError> {
    given
        .iter()
        .map(|&one| usize::try_from(one))
        .collect::<Result<_, _>>()
        .map_err(|_| OpError::invalid(format!("the sizes {given:?} contain a negative value")))
}

/// The strides of a tensor in C order, in elements.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        // The other sizes of an empty shape may be arbitrarily large.
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis].max(1));
    }
    strides
}

/// Converts an axis as ONNX gives it; negative ones count from the end.
pub fn axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let from_front = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_front)
        .ok()
        .filter(|axis| *axis < rank)
        .ok_or_else(|| OpError::invalid(format!("axis {axis} is out of range for a tensor with {rank} dimensions")))
}

/// Converts axes as ONNX gives them, and sorts them; an error if one occurs twice.
pub fn axes(given: &[i64], rank: usize) -> Result<Vec<usize>, OpError> {
    let mut axes = given.iter().map(|&one| axis(one, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(OpError::invalid(format!("axes {given:?} contain a duplicate")));
    }
    Ok(axes)
}

/// Broadcasts shapes by NumPy's rules.
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

/// The strides of an operand of `shape` that is broadcast to `to`: 0 along repeated axes.
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

/// The offsets of all elements of `shape` in C order, for an operand with these strides.
pub fn offsets<'a>(shape: &'a [usize], strides: &'a [usize]) -> Offsets<'a> {
    let remaining = if shape.contains(&0) { 0 } else { shape.iter().product() };
    Offsets { shape, strides, index: vec![0; shape.len()], offset: 0, remaining }
}

/// See [`offsets`].
#[derive(Debug)]
pub struct Offsets<'a> {
    shape: &'a [usize],
    strides: &'a [usize],
    index: Vec<usize>,
    offset: usize,
    remaining: usize,
}

impl Iterator for Offsets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
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
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Offsets<'_> {}

/// The products of the sizes before, at, and after an axis.
pub fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    // Saturates if the shape is empty, where the other sizes may be arbitrarily large.
    let product = |sizes: &[usize]| sizes.iter().fold(1usize, |product, &size| product.saturating_mul(size));
    (product(&shape[..axis]), shape[axis], product(&shape[axis + 1..]))
}

/// Iteration for a reduction along axes: the offset of each result, and the offsets of its elements
/// relative to that.
pub fn fold_offsets(shape: &[usize], axes: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let steps = strides(shape);
    let walk = |folded: bool| {
        let chosen = (0..shape.len()).filter(|axis| axes.contains(axis) == folded);
        let (sizes, steps): (Vec<_>, Vec<_>) = chosen.map(|axis| (shape[axis], steps[axis])).unzip();
        offsets(&sizes, &steps).collect()
    };
    (walk(false), walk(true))
}

/// Like [`count`], with a lower limit for results that do not grow with the operands, such as an
/// empty sum: a model file could request any size.
pub fn count_bounded(shape: &[usize]) -> Result<usize, OpError> {
    let count = count(shape)?;
    if count > 1 << 26 { Err(OpError::TooLarge(shape.to_vec())) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() -> Result<(), OpError> {
        assert_eq!(broadcast(&[&[3, 1], &[4]])?, [3, 4]);
        assert_eq!(broadcast(&[&[], &[2, 0]])?, [2, 0]);
        assert_eq!(broadcast(&[&[1], &[0]])?, [0]);
        assert!(broadcast(&[&[3], &[4]]).is_err());
        assert_eq!(broadcast_strides(&[3, 1], &[2, 3, 4]), [0, 1, 0]);
        Ok(())
    }

    #[test]
    fn offsets_follow_the_strides() {
        let walk: Vec<_> = offsets(&[2, 3], &[1, 2]).collect();
        assert_eq!(walk, [0, 2, 4, 1, 3, 5]);
        assert_eq!(offsets(&[], &[]).collect::<Vec<_>>(), [0]);
        assert_eq!(offsets(&[2, 0], &[0, 1]).count(), 0);
    }

    #[test]
    fn huge_shapes_are_rejected_and_empty_ones_are_not() {
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
