//! Sorting: top-k and unique.

use std::cmp::Ordering;

use crate::ops::Facts;
use crate::ops::movement::{Shape, integers, known};
use crate::{OpError, Tensor, each_type, shape};

/// Compares the elements at two places. Not generic: one copy of the sorting code per type would be
/// a sixth of this crate.
type Compare<'a> = dyn Fn(usize, usize) -> Ordering + 'a;

/// A total order: NaN comes after all numbers, and equals itself.
fn order<T: PartialOrd>(one: &T, other: &T) -> Ordering {
    let strange = |element: &T| element.partial_cmp(element).is_none();
    one.partial_cmp(other).unwrap_or_else(|| strange(one).cmp(&strange(other)))
}

pub(super) fn top_shape(inputs: &Facts<'_>, axis: i64) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let axis = shape::axis(axis, input_shape.len())?;
    let count = known!(integers(inputs.get(1)?)?);
    let mut result = input_shape.to_vec();
    match count[..] {
        [count] if count >= 0 && count as u64 <= input_shape[axis] as u64 => result[axis] = count as usize,
        _ => {
            return Err(OpError::invalid(format!(
                "k = {count:?} is out of range for axis {axis} of shape {input_shape:?}"
            )));
        }
    }
    Ok(Some(result))
}

pub(super) fn top(data: &Tensor, axis: i64, largest: bool, shape: Vec<usize>) -> Result<Vec<Tensor>, OpError> {
    let axis = shape::axis(axis, data.rank())?;
    let (outer, size, inner) = shape::around(data.shape(), axis);
    let (count, all) = (shape[axis], shape::count(&shape)?);
    let outer = if all == 0 { 0 } else { outer };
    each_type!(number: data, |T, v| {
        let mut values = shape::reserve::<T>(&shape)?;
        values.resize(all, T::default());
        let mut indices = vec![0i64; all];
        for line in 0..outer * inner {
            let (row, column) = (line / inner, line % inner);
            let element = |at: usize| &v[(row * size + at) * inner + column];
            let places = first_places(size, count, &|one, other| {
                let order = order(element(one), element(other));
                if largest { order.reverse() } else { order }
            });
            for (rank, at) in places.into_iter().enumerate() {
                let to = (row * count + rank) * inner + column;
                values[to] = *element(at);
                indices[to] = at as i64;
            }
        }
        Ok(vec![Tensor::new(shape.clone(), values)?, Tensor::new(shape, indices)?])
    }, else Err(OpError::dtype("TopK", data.dtype())))
}

/// The first `count` of `size` places, sorted. Equal elements keep their order.
fn first_places(size: usize, count: usize, compare: &Compare<'_>) -> Vec<usize> {
    let compare = |one: &usize, other: &usize| compare(*one, *other).then(one.cmp(other));
    let mut places: Vec<usize> = (0..size).collect();
    // Only the first `count` have to be sorted.
    if count < size {
        places.select_nth_unstable_by(count, compare);
        places.truncate(count);
    }
    places.sort_unstable_by(compare);
    places
}

pub(super) fn unique(data: &Tensor, axis: Option<i64>, sorted: bool) -> Result<Vec<Tensor>, OpError> {
    let axis = axis.map(|axis| shape::axis(axis, data.rank())).transpose()?;
    let (outer, size, inner) = match axis {
        None => (1, data.len(), 1),
        Some(axis) => shape::around(data.shape(), axis),
    };
    if data.is_empty() && size > 0 {
        return Err(OpError::unsupported(format!("Unique along an axis of the empty shape {:?}", data.shape())));
    }
    each_type!(any: data, |T, v| {
        let groups = Groups::new(size, sorted, &|one, other| {
            let at = |slice: usize, row: usize, column: usize| &v[(row * size + slice) * inner + column];
            let places = (0..outer).flat_map(|row| (0..inner).map(move |column| (row, column)));
            let mut orders = places.map(|(row, column)| order(at(one, row, column), at(other, row, column)));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })?;
        let mut shape = match axis {
            None => vec![0],
            Some(_) => data.shape().to_vec(),
        };
        shape[axis.unwrap_or(0)] = groups.first.len();
        let mut result = shape::reserve::<T>(&shape)?;
        for row in 0..outer {
            for at in &groups.first {
                let from = (row * size + at) * inner;
                result.extend_from_slice(&v[from..from + inner]);
            }
        }
        let list = |places: &[usize]| Tensor::vector(places.iter().map(|&at| at as i64).collect());
        Ok(vec![Tensor::new(shape, result)?, list(&groups.first), list(&groups.inverse), list(&groups.counts)])
    })
}

/// Groups of equal slices along an axis.
struct Groups {
    /// The first slice of each group.
    first: Vec<usize>,
    /// The group of each slice.
    inverse: Vec<usize>,
    /// The number of slices in each group.
    counts: Vec<usize>,
}

impl Groups {
    fn new(size: usize, sorted: bool, compare: &Compare<'_>) -> Result<Self, OpError> {
        let compare = |one: &usize, other: &usize| compare(*one, *other);
        let mut places = shape::reserve(&[size])?;
        places.extend(0..size);
        // A stable sort, so that the first slice of a group is the first one in the tensor.
        places.sort_by(compare);
        let mut groups: Vec<&[usize]> = places.chunk_by(|one, other| compare(one, other).is_eq()).collect();
        if !sorted {
            groups.sort_by_key(|group| group[0]);
        }
        let mut inverse = vec![0; size];
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|&at| inverse[at] = number);
        }
        let first = groups.iter().map(|group| group[0]).collect();
        Ok(Self { first, inverse, counts: groups.iter().map(|group| group.len()).collect() })
    }
}
