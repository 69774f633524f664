//! Col2Im: images from columns, as sums of overlapping blocks.

use super::{Shape, integers, known};
use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, each_type, shape};

/// The layout of blocks in an image, by axis.
struct Layout {
    image: Vec<usize>,
    block: Vec<usize>,
    /// The number of blocks.
    blocks: Vec<usize>,
    dilations: Vec<usize>,
    /// Padding before the image.
    pads: Vec<usize>,
    strides: Vec<usize>,
}

fn layout(
    inputs: &Facts<'_>,
    dilations: Option<&[usize]>,
    pads: Option<&[usize]>,
    strides: Option<&[usize]>,
) -> Result<Option<Layout>, OpError> {
    let image = shape::sizes(&known!(integers(inputs.get(1)?)?))?;
    let block = shape::sizes(&known!(integers(inputs.get(2)?)?))?;
    let rank = image.len();
    let ones = vec![1; rank];
    let none = vec![0; 2 * rank];
    let (dilations, strides) = (dilations.unwrap_or(&ones), strides.unwrap_or(&ones));
    let pads = pads.unwrap_or(&none);
    if [block.len(), dilations.len(), strides.len()] != [rank; 3] || pads.len() != 2 * rank {
        return Err(OpError::invalid(format!(
            "block {block:?}, dilations {dilations:?}, strides {strides:?} and pads {pads:?} \
             must have one entry per axis of the image {image:?} (pads: two)"
        )));
    }
    let count = |axis: usize| {
        let padded = image[axis].checked_add(pads[axis])?.checked_add(pads[rank + axis])?;
        let extent = block[axis].checked_sub(1)?.checked_mul(dilations[axis])?.checked_add(1)?;
        padded.checked_sub(extent)?.checked_div(strides[axis])?.checked_add(1)
    };
    let wrong = || OpError::invalid(format!("blocks of {block:?} do not fit into an image of {image:?}"));
    let blocks = (0..rank).map(count).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    let (dilations, pads, strides) = (dilations.to_vec(), pads[..rank].to_vec(), strides.to_vec());
    Ok(Some(Layout { image, block, blocks, dilations, pads, strides }))
}

pub(super) fn shape(
    inputs: &Facts<'_>,
    dilations: Option<&[usize]>,
    pads: Option<&[usize]>,
    strides: Option<&[usize]>,
) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let layout = known!(layout(inputs, dilations, pads, strides)?);
    let pixels = shape::count(&layout.block)?;
    let blocks = shape::count(&layout.blocks)?;
    match *input_shape {
        [count, rows, columns] if pixels > 0 && rows % pixels == 0 && columns == blocks => {
            let mut result = vec![count, rows / pixels];
            result.extend(layout.image);
            Ok(Some(result))
        }
        _ => Err(OpError::invalid(format!(
            "the input has shape {input_shape:?}, expected [N, C * {pixels}, {blocks}] for {blocks} blocks of {pixels} pixels"
        ))),
    }
}

pub(super) fn compute(
    inputs: &Inputs<'_>,
    dilations: Option<&[usize]>,
    pads: Option<&[usize]>,
    strides: Option<&[usize]>,
    shape: Vec<usize>,
) -> Result<Tensor, OpError> {
    let data = inputs.tensor(0)?;
    let facts = inputs.facts()?;
    let layout = layout(&Facts::new(&facts, 1), dilations, pads, strides)?;
    let layout = layout.ok_or_else(|| OpError::invalid("the output shape is unknown"))?;
    if data.is_empty() || shape::count(&shape)? == 0 {
        return Tensor::zeros(data.dtype(), shape);
    }
    let targets = targets(&layout)?;
    let pixels = shape::count(&layout.image)?;
    if data.dtype().is_float() {
        let elements = data.floats()?;
        let mut result = shape::reserve(&shape)?;
        result.resize(shape::count(&shape)?, 0.0);
        add(&elements, &mut result, &targets, pixels, |sum, element| sum + element);
        return Tensor::from_floats(data.dtype(), shape, &result);
    }
    each_type!(integer: data, |T, v| {
        let mut result = shape::reserve::<T>(&shape)?;
        result.resize(shape::count(&shape)?, 0);
        add(v, &mut result, &targets, pixels, T::wrapping_add);
        Tensor::new(shape, result)
    }, else Err(OpError::dtype("columns", data.dtype())))
}

/// The pixel that each element of a channel's columns adds to; `None` for padding.
fn targets(layout: &Layout) -> Result<Vec<Option<usize>>, OpError> {
    let rank = layout.image.len();
    let image_strides = shape::strides(&layout.image);
    let all: Vec<usize> = layout.block.iter().chain(&layout.blocks).copied().collect();
    let own_strides = shape::strides(&all);
    let mut result = shape::reserve(&all)?;
    for element in 0..shape::count(&all)? {
        let index = |axis: usize| element / own_strides[axis] % all[axis];
        let pixel = (0..rank).try_fold(0, |offset, axis| {
            let at = index(axis) * layout.dilations[axis] + index(rank + axis) * layout.strides[axis];
            let at = at.checked_sub(layout.pads[axis]).filter(|&at| at < layout.image[axis])?;
            Some(offset + at * image_strides[axis])
        });
        result.push(pixel);
    }
    Ok(result)
}

/// Adds the columns of all channels to the images.
fn add<T: Copy>(from: &[T], into: &mut [T], targets: &[Option<usize>], pixels: usize, sum: impl Fn(T, T) -> T) {
    for (columns, image) in from.chunks_exact(targets.len()).zip(into.chunks_exact_mut(pixels)) {
        for (&element, target) in columns.iter().zip(targets) {
            if let Some(target) = *target {
                image[target] = sum(image[target], element);
            }
        }
    }
}
