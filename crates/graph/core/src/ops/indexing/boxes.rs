//! Non-maximum suppression.

use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor};

/// Fails if the shapes of boxes and scores do not match.
pub(super) fn check(inputs: &Facts<'_>) -> Result<(), OpError> {
    match (inputs.get(0)?.shape.as_deref(), inputs.get(1)?.shape.as_deref()) {
        (Some(&[batches, boxes, 4]), Some(&[same_batches, _, same_boxes]))
            if batches == same_batches && boxes == same_boxes =>
        {
            Ok(())
        }
        (Some(boxes), Some(scores)) => Err(OpError::invalid(format!(
            "the boxes have shape {boxes:?} and the scores {scores:?}, expected [N, boxes, 4] and [N, classes, boxes]"
        ))),
        _ => Ok(()),
    }
}

/// A box by its lower and upper corner.
#[derive(Clone, Copy)]
struct BoundingBox {
    low: [f32; 2],
    high: [f32; 2],
}

impl BoundingBox {
    fn new(given: &[f32], center_point: bool) -> Self {
        let [a, b, c, d] = [given[0], given[1], given[2], given[3]];
        if center_point {
            Self { low: [a - c / 2.0, b - d / 2.0], high: [a + c / 2.0, b + d / 2.0] }
        } else {
            // Any two opposite corners are valid.
            Self { low: [a.min(c), b.min(d)], high: [a.max(c), b.max(d)] }
        }
    }

    fn area(self) -> f32 {
        (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])
    }

    /// Whether the intersection over union of two boxes exceeds this.
    fn overlaps(self, other: Self, most: f32) -> bool {
        let side = |axis: usize| self.high[axis].min(other.high[axis]) - self.low[axis].max(other.low[axis]);
        let (height, width) = (side(0), side(1));
        if height <= 0.0 || width <= 0.0 || self.area() <= 0.0 || other.area() <= 0.0 {
            return false;
        }
        let common = height * width;
        let all = self.area() + other.area() - common;
        all > 0.0 && common / all > most
    }
}

/// Batch, class and index of each selected box.
pub(super) fn suppress(inputs: &Inputs<'_>, center_point: bool) -> Result<Tensor, OpError> {
    let (boxes, scores) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let &[_, classes, count] = scores.shape() else {
        return Err(OpError::invalid(format!("the scores have shape {:?}, expected 3 dimensions", scores.shape())));
    };
    let most = inputs.optional(2)?.map_or(Ok(0), Tensor::integer)?;
    let most = usize::try_from(most).unwrap_or(0);
    let overlap = inputs.optional(3)?.map_or(Ok(0.0), Tensor::float)? as f32;
    let least = inputs.optional(4)?.map(Tensor::float).transpose()?.map(|least| least as f32);
    if !(0.0..=1.0).contains(&overlap) {
        return Err(OpError::invalid(format!("the IoU threshold is {overlap}, expected 0 to 1")));
    }
    let corners = boxes.slice::<f32>()?;
    let boxes: Vec<BoundingBox> = corners.chunks_exact(4).map(|one| BoundingBox::new(one, center_point)).collect();
    let mut result: Vec<i64> = Vec::new();
    let lists = if count == 0 { &[] } else { scores.slice::<f32>()? };
    for (list, scores) in lists.chunks_exact(count.max(1)).enumerate() {
        let (batch, class) = (list / classes, list % classes);
        let boxes = &boxes[batch * count..(batch + 1) * count];
        let good = |&at: &usize| least.is_none_or(|least| scores[at] > least);
        let mut order: Vec<usize> = (0..count).filter(good).collect();
        // A stable sort, so that the first of boxes with equal scores comes first.
        order.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
        let mut selected: Vec<usize> = Vec::new();
        for at in order {
            if selected.len() >= most {
                break;
            }
            if !selected.iter().any(|&earlier| boxes[at].overlaps(boxes[earlier], overlap)) {
                selected.push(at);
            }
        }
        result.extend(selected.iter().flat_map(|&at| [batch as i64, class as i64, at as i64]));
    }
    Tensor::new([result.len() / 3, 3], result)
}
