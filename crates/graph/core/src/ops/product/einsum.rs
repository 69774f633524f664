//! Einsum.

use super::common;
use crate::ops::accumulator::{Accumulator, wide};
use crate::ops::{Facts, Inputs};
use crate::{Fact, OpError, Tensor, shape};

/// The subscript of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscript {
    /// The labels before the ellipsis, or all labels.
    pub before: Vec<char>,
    /// Whether there is an ellipsis, which stands for any number of axes.
    pub dots: bool,
    /// The labels after the ellipsis.
    pub after: Vec<char>,
}

/// A label of an axis: a letter, or an axis of the ellipsis, of which the last one is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Name(char),
    Dot(usize),
}

impl Subscript {
    fn labels(&self, dots: usize) -> Vec<Label> {
        let names = |names: &'_ [char]| names.iter().map(|name| Label::Name(*name)).collect::<Vec<_>>();
        let dots = if self.dots { (0..dots).rev().map(Label::Dot).collect() } else { Vec::new() };
        [names(&self.before), dots, names(&self.after)].concat()
    }
}

/// Every label with its size, and the labels of each operand.
struct EinsumPlan {
    labels: Vec<(Label, usize)>,
    operands: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl EinsumPlan {
    fn size(&self, label: Label) -> usize {
        self.labels.iter().find(|(other, _)| *other == label).map_or(1, |(_, size)| *size)
    }
}

fn plan(names: &[Subscript], output: &Subscript, shapes: &[&[usize]]) -> Result<EinsumPlan, OpError> {
    if names.len() != shapes.len() {
        return Err(OpError::invalid(format!(
            "there are {} operands, but the equation has {}",
            shapes.len(),
            names.len()
        )));
    }
    let mut plan = EinsumPlan { labels: Vec::new(), operands: Vec::new(), output: Vec::new() };
    let mut most_dots = 0;
    for (name, shape) in names.iter().zip(shapes) {
        let named = name.before.len() + name.after.len();
        let dots =
            shape.len().checked_sub(named).filter(|dots| *dots == 0 || name.dots).ok_or_else(|| {
                OpError::invalid(format!("{named} labels do not match an operand of shape {shape:?}"))
            })?;
        most_dots = most_dots.max(dots);
        let labels = name.labels(dots);
        for (label, &size) in labels.iter().zip(*shape) {
            match plan.labels.iter_mut().find(|(other, _)| other == label) {
                None => plan.labels.push((*label, size)),
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) if *known != size && size != 1 => {
                    return Err(OpError::invalid(format!(
                        "axes of different sizes, {known} and {size}, have the same label"
                    )));
                }
                Some(_) => {}
            }
        }
        plan.operands.push(labels);
    }
    if most_dots > 0 && !output.dots {
        return Err(OpError::invalid("the output lacks the axes of the ellipsis"));
    }
    plan.output = output.labels(most_dots);
    for (index, label) in plan.output.iter().enumerate() {
        let known = plan.labels.iter().any(|(other, _)| other == label);
        if !known || plan.output[..index].contains(label) {
            return Err(OpError::invalid(format!("the output's label {label:?} is unknown or occurs twice")));
        }
    }
    Ok(plan)
}

pub(super) fn infer(names: &[Subscript], output: &Subscript, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let dtype = common(inputs)?;
    let facts = (0..inputs.len()).map(|index| inputs.get(index)).collect::<Result<Vec<_>, _>>()?;
    let shapes: Option<Vec<_>> = facts.iter().map(|fact| fact.shape.as_deref()).collect();
    let Some(shapes) = shapes else { return Ok(Fact::unknown(dtype)) };
    let plan = plan(names, output, &shapes)?;
    let to: Vec<_> = plan.output.iter().map(|label| plan.size(*label)).collect();
    shape::count(&to)?;
    Ok(Fact::new(dtype, to))
}

pub(super) fn eval(
    names: &[Subscript],
    output: &Subscript,
    inputs: &Inputs<'_>,
    to: &[usize],
) -> Result<Tensor, OpError> {
    let tensors = inputs.tensors()?;
    let shapes: Vec<_> = tensors.iter().map(|tensor| tensor.shape()).collect();
    let plan = plan(names, output, &shapes)?;
    wide!(inputs.tensor(0)?.dtype(), eval_in(&plan, &tensors, to))
}

fn eval_in<W: Accumulator>(plan: &EinsumPlan, tensors: &[&Tensor], to: &[usize]) -> Result<Tensor, OpError> {
    let summed: Vec<Label> =
        plan.labels.iter().map(|(label, _)| *label).filter(|label| !plan.output.contains(label)).collect();
    let depth: Vec<usize> = summed.iter().map(|label| plan.size(*label)).collect();
    let terms = shape::count_bounded(&depth)?;
    if terms == 0 {
        shape::count_bounded(to)?;
    }
    let mut result = shape::filled(to, W::ZERO)?;
    // The offsets into each operand: by element of the result, and by term of its sum.
    let mut walks = Vec::new();
    for (tensor, labels) in tensors.iter().zip(&plan.operands) {
        let own = shape::strides(tensor.shape());
        let steps = |expected: &[Label]| -> Vec<usize> {
            let step = |expected: &Label| {
                // A label that occurs twice in an operand selects its diagonal; an axis of size 1
                // is broadcast.
                let axes =
                    labels.iter().enumerate().filter(|(axis, label)| *label == expected && tensor.shape()[*axis] != 1);
                axes.map(|(axis, _)| own[axis]).sum()
            };
            expected.iter().map(step).collect()
        };
        let along: Vec<usize> = shape::offsets(&depth, &steps(&summed)).collect();
        walks.push((W::read(tensor)?, steps(&plan.output), along));
    }
    let mut starts: Vec<_> = walks.iter().map(|(_, steps, _)| shape::offsets(to, steps)).collect();
    for into in &mut result {
        let starts: Vec<usize> = starts.iter_mut().map(|walk| walk.next().unwrap_or(0)).collect();
        *into = (0..terms).fold(W::ZERO, |sum, term| {
            let factors = walks.iter().zip(&starts).map(|((data, _, along), start)| data[start + along[term]]);
            sum.plus(factors.fold(W::ONE, W::times))
        });
    }
    W::write(tensors[0].dtype(), to, result)
}
