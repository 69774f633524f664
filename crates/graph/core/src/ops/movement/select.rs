//! Transpose, expand, tile, slice and similar rearrangements.

use super::select_axes::pick;
use super::{Shape, integers, known, optional_integers};
use crate::ops::{Facts, Inputs};
use crate::{Element, OpError, Tensor, each_type, shape};

pub(super) fn transpose_shape(inputs: &Facts<'_>, perm: Option<&[usize]>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let Some(perm) = perm else { return Ok(Some(input_shape.iter().rev().copied().collect())) };
    let mut sorted = perm.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..input_shape.len()) {
        return Err(OpError::invalid(format!("{perm:?} is not a permutation of the axes of shape {input_shape:?}")));
    }
    Ok(Some(perm.iter().map(|&axis| input_shape[axis]).collect()))
}

pub(super) fn transpose(data: &Tensor, perm: Option<&[usize]>, shape: Vec<usize>) -> Result<Tensor, OpError> {
    match perm {
        Some(perm) => permute(data, data.shape(), perm, shape),
        None => permute(data, data.shape(), &(0..data.rank()).rev().collect::<Vec<_>>(), shape),
    }
}

/// Permutes axes of the elements, viewed with shape `seen`.
fn permute(data: &Tensor, seen: &[usize], perm: &[usize], shape: Vec<usize>) -> Result<Tensor, OpError> {
    let strides = shape::strides(seen);
    pick(data, shape, None, |axis, at| Ok(at * strides[perm[axis]]))
}

pub(super) fn expand_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let expected = shape::sizes(&known!(integers(inputs.get(1)?)?))?;
    shape::broadcast(&[input_shape, &expected]).map(Some)
}

pub(super) fn expand(data: &Tensor, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let strides = shape::broadcast_strides(data.shape(), &shape);
    pick(data, shape, None, |axis, at| Ok(at * strides[axis]))
}

pub(super) fn tile_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let repeats = shape::sizes(&known!(integers(inputs.get(1)?)?))?;
    if repeats.len() != input_shape.len() {
        return Err(OpError::invalid(format!(
            "there are {} repeats, expected one per axis of shape {input_shape:?}",
            repeats.len()
        )));
    }
    let result =
        input_shape.iter().zip(&repeats).map(|(&size, &times)| size.checked_mul(times)).collect::<Option<Vec<_>>>();
    result
        .map(Some)
        .ok_or_else(|| OpError::invalid(format!("shape {input_shape:?} cannot be repeated {repeats:?} times")))
}

pub(super) fn tile(data: &Tensor, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let strides = shape::strides(data.shape());
    pick(data, shape, None, |axis, at| Ok(at % data.shape()[axis] * strides[axis]))
}

/// The slice of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AxisSlice {
    /// The axis that is sliced.
    pub axis: usize,
    /// The index of the first element.
    pub start: usize,
    /// The step between elements; may be negative.
    pub step: i64,
    /// The number of elements.
    pub count: usize,
}

/// The slices of all named axes; `None` if operands are unknown.
pub fn slice_parts(inputs: &Facts<'_>, given: &[usize]) -> Result<Option<Vec<AxisSlice>>, OpError> {
    let starts = known!(integers(inputs.get(1)?)?);
    let ends = known!(integers(inputs.get(2)?)?);
    let axes = known!(optional_integers(inputs, 3)?).unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = known!(optional_integers(inputs, 4)?).unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        let lengths = [starts.len(), ends.len(), axes.len(), steps.len()];
        return Err(OpError::invalid(format!(
            "starts, ends, axes and steps have lengths {lengths:?}, expected equal lengths"
        )));
    }
    shape::axes(&axes, given.len())?;
    let mut result = Vec::with_capacity(axes.len());
    for (((&start, &end), &axis), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let axis = shape::axis(axis, given.len())?;
        // Wider than i64, so that nothing overflows.
        let (size, wide) = (given[axis] as i128, i128::from(step));
        let from_front = |at: i64| i128::from(at) + if at < 0 { size } else { 0 };
        let (start, count) = match step {
            0 => return Err(OpError::invalid(format!("the step along axis {axis} is 0"))),
            1.. => {
                let (start, end) = (from_front(start).clamp(0, size), from_front(end).clamp(0, size));
                (start, (end - start + wide - 1) / wide)
            }
            _ if size == 0 => (0, 0),
            _ => {
                let (start, end) = (from_front(start).clamp(0, size - 1), from_front(end).clamp(-1, size - 1));
                (start, (start - end - wide - 1) / -wide)
            }
        };
        result.push(AxisSlice { axis, start: start as usize, step, count: count.max(0) as usize });
    }
    Ok(Some(result))
}

pub(super) fn slice_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let mut result = input_shape.to_vec();
    for part in known!(slice_parts(inputs, input_shape)?) {
        result[part.axis] = part.count;
    }
    Ok(Some(result))
}

pub(super) fn slice(inputs: &Inputs<'_>, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let data = inputs.tensor(0)?;
    let facts = inputs.facts()?;
    let parts = slice_parts(&Facts::new(&facts, 1), data.shape())?.unwrap_or_default();
    let strides = shape::strides(data.shape());
    let mut ranges: Vec<_> = strides.iter().map(|_| (0, 1)).collect();
    for part in parts {
        ranges[part.axis] = (part.start as i64, part.step);
    }
    pick(data, shape, None, |axis, at| {
        let (start, step) = ranges[axis];
        Ok((start + at as i64 * step) as usize * strides[axis])
    })
}

/// The four sizes of images.
fn images<'a>(inputs: &Facts<'a>) -> Result<Option<[usize; 4]>, OpError> {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let sizes = <[usize; 4]>::try_from(input_shape);
    sizes.map(Some).map_err(|_| OpError::invalid(format!("the input has shape {input_shape:?}, expected 4 dimensions")))
}

pub(super) fn depth_to_space_shape(inputs: &Facts<'_>, block: usize) -> Shape {
    let [count, channels, height, width] = known!(images(inputs)?);
    let wrong = || OpError::invalid(format!("{channels} channels cannot form blocks of {block} by {block}"));
    let pixels = block.checked_mul(block).filter(|&pixels| pixels > 0).ok_or_else(wrong)?;
    if channels % pixels != 0 {
        return Err(wrong());
    }
    let grown = |size: usize| size.checked_mul(block).ok_or_else(wrong);
    Ok(Some(vec![count, channels / pixels, grown(height)?, grown(width)?]))
}

pub(super) fn depth_to_space(
    data: &Tensor,
    block: usize,
    column_first: bool,
    shape: Vec<usize>,
) -> Result<Tensor, OpError> {
    let &[count, channels, height, width] = data.shape() else {
        return Err(OpError::invalid(format!("the input has shape {:?}, expected 4 dimensions", data.shape())));
    };
    let depth = channels / (block * block);
    let (view, perm) = if column_first {
        ([count, depth, block, block, height, width], [0, 1, 4, 2, 5, 3])
    } else {
        ([count, block, block, depth, height, width], [0, 3, 4, 1, 5, 2])
    };
    let six: Vec<usize> = perm.iter().map(|&axis| view[axis]).collect();
    permute(data, &view, &perm, six)?.reshaped(shape)
}

pub(super) fn space_to_depth_shape(inputs: &Facts<'_>, block: usize) -> Shape {
    let [count, channels, height, width] = known!(images(inputs)?);
    let wrong =
        || OpError::invalid(format!("images of {height} by {width} cannot be split into blocks of {block} by {block}"));
    if block == 0 || height % block != 0 || width % block != 0 {
        return Err(wrong());
    }
    let depth = block.checked_mul(block).and_then(|pixels| pixels.checked_mul(channels)).ok_or_else(wrong)?;
    Ok(Some(vec![count, depth, height / block, width / block]))
}

pub(super) fn space_to_depth(data: &Tensor, block: usize, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let &[count, channels, height, width] = data.shape() else {
        return Err(OpError::invalid(format!("the input has shape {:?}, expected 4 dimensions", data.shape())));
    };
    let view = [count, channels, height / block, block, width / block, block];
    let perm = [0, 3, 5, 1, 2, 4];
    let six: Vec<usize> = perm.iter().map(|&axis| view[axis]).collect();
    permute(data, &view, &perm, six)?.reshaped(shape)
}

pub(super) fn reverse_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    if input_shape.len() < 2 {
        return Err(OpError::invalid(format!("the input has shape {input_shape:?}, expected axes of time and batch")));
    }
    Ok(Some(input_shape.to_vec()))
}

pub(super) fn reverse(data: &Tensor, lengths: &Tensor, time_axis: usize, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let (times, sequences) = if time_axis == 0 { (shape[0], shape[1]) } else { (shape[1], shape[0]) };
    let lengths = shape::sizes(&lengths.integers()?)?;
    if lengths.len() != sequences || lengths.iter().any(|&length| length > times) {
        let count = lengths.len();
        return Err(OpError::invalid(format!(
            "there are {count} sequence lengths, expected {sequences}, each at most {times}"
        )));
    }
    let block = shape::count(&shape[2..])?;
    each_type!(any: data, |T, v| {
        let mut result = shape::reserve::<T>(&shape)?;
        for index in 0..if v.is_empty() { 0 } else { shape[0] * shape[1] } {
            let (first, second) = (index / shape[1], index % shape[1]);
            let (time, sequence) = if time_axis == 0 { (first, second) } else { (second, first) };
            let time = if time < lengths[sequence] { lengths[sequence] - 1 - time } else { time };
            let from = if time_axis == 0 { time * shape[1] + second } else { first * shape[1] + time };
            result.extend_from_slice(&v[from * block..(from + 1) * block]);
        }
        Tensor::new(shape, result)
    })
}

pub(super) fn trilu_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    if input_shape.len() < 2 {
        return Err(OpError::invalid(format!("the input has shape {input_shape:?}, expected matrices")));
    }
    Ok(Some(input_shape.to_vec()))
}

pub(super) fn trilu(
    data: &Tensor,
    diagonal: Option<&Tensor>,
    upper: bool,
    shape: Vec<usize>,
) -> Result<Tensor, OpError> {
    let diagonal = i128::from(diagonal.map_or(Ok(0), Tensor::integer)?);
    let (rows, columns) = (shape[shape.len() - 2].max(1), shape[shape.len() - 1].max(1));
    let keep = |index: usize| {
        let above = (index % columns) as i128 - (index / columns % rows) as i128;
        if upper { above >= diagonal } else { above <= diagonal }
    };
    each_type!(any: data, |T, v| Tensor::new(shape, keep_or_zero(v, keep)))
}

fn keep_or_zero<T: Element>(elements: &[T], keep: impl Fn(usize) -> bool) -> Vec<T> {
    let one = |(index, element): (usize, &T)| if keep(index) { element.clone() } else { T::default() };
    elements.iter().enumerate().map(one).collect()
}
