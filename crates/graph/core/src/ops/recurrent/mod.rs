//! Recurrent layers.
//!
//! Operands: the sequence, weights `[directions, gates * hidden, inputs]`, recurrence weights
//! `[directions, gates * hidden, hidden]`, concatenated biases of both `[directions, 2 * gates *
//! hidden]`, sequence lengths, the initial hidden state; for an LSTM the initial cell state and
//! peepholes `[directions, 3 * hidden]`. Outputs: all hidden states, the last hidden state, and for
//! an LSTM the last cell state. Gates are in ONNX's order: `zrh` and `iofc`.

mod activation;
mod cell;

pub use activation::Activation;

use super::{Facts, Inputs, Operation};
use crate::{Fact, OpError, Tensor, Value};
use cell::{Cell, Weights};

/// The direction in which a layer reads its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are unambiguous")]
pub enum Direction {
    Forward,
    Reverse,
    Both,
}

impl Direction {
    /// The number of directions.
    pub fn count(self) -> usize {
        if self == Self::Both { 2 } else { 1 }
    }
}

/// The kind of a recurrent layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain recurrent layer.
    Rnn,
    /// A gated recurrent unit.
    Gru {
        /// Whether the reset gate is applied after the product with the state.
        linear_before_reset: bool,
    },
    /// Long short-term memory.
    Lstm {
        /// Whether the forget gate is one minus the input gate.
        coupled: bool,
    },
}

impl Kind {
    /// The number of gates.
    pub fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru { .. } => 3,
            Self::Lstm { .. } => 4,
        }
    }

    /// The default activations of one direction.
    pub fn activations(self) -> &'static [Activation] {
        match self {
            Self::Rnn => &[Activation::Tanh],
            Self::Gru { .. } => &[Activation::Sigmoid, Activation::Tanh],
            Self::Lstm { .. } => &[Activation::Sigmoid, Activation::Tanh, Activation::Tanh],
        }
    }
}

/// A recurrent layer.
#[derive(Clone, Debug)]
pub struct Recurrent {
    /// The kind of layer.
    pub kind: Kind,
    /// Forward, reverse or both; both concatenate their outputs.
    pub direction: Direction,
    /// The activations of all directions, each with as many as [`Kind::activations`] has.
    pub activations: Vec<Activation>,
    /// The bound that clips the inputs of activations.
    pub clip: Option<f32>,
    /// Whether the batch is the first axis: `[batch, steps, …]` and `[batch, directions, hidden]`
    /// instead of `[steps, batch, …]` and `[directions, batch, hidden]`.
    pub batch_first: bool,
}

/// All sizes of a layer.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    steps: usize,
    batch: usize,
    inputs: usize,
    hidden: usize,
    directions: usize,
}

impl Recurrent {
    /// The sizes, from the shapes of the sequence and the recurrence weights.
    fn sizes(&self, sequence: &[usize], recurrent: &[usize]) -> Result<Sizes, OpError> {
        let (&[first, second, inputs], &[directions, _, hidden]) = (sequence, recurrent) else {
            return Err(OpError::invalid(format!(
                "the sequence has shape {sequence:?} and the recurrence weights {recurrent:?}, expected 3 dimensions"
            )));
        };
        if directions != self.direction.count() {
            let text = format!("the weights are for {directions} directions, expected {}", self.direction.count());
            return Err(OpError::invalid(text));
        }
        let (steps, batch) = if self.batch_first { (second, first) } else { (first, second) };
        Ok(Sizes { steps, batch, inputs, hidden, directions })
    }

    /// The shapes of all outputs.
    fn shapes(&self, sizes: &Sizes) -> Vec<Vec<usize>> {
        let Sizes { steps, batch, hidden, directions, .. } = *sizes;
        let state = if self.batch_first { vec![batch, directions, hidden] } else { vec![directions, batch, hidden] };
        let all = if self.batch_first {
            vec![batch, steps, directions, hidden]
        } else {
            vec![steps, directions, batch, hidden]
        };
        let mut shapes = vec![all, state.clone()];
        if matches!(self.kind, Kind::Lstm { .. }) {
            shapes.push(state);
        }
        shapes
    }

    /// The initial state of an operand, as `[directions, batch, hidden]`, or zeros.
    fn state(&self, inputs: &Inputs<'_>, index: usize, sizes: &Sizes) -> Result<Vec<f64>, OpError> {
        let Sizes { batch, hidden, directions, .. } = *sizes;
        let Some(tensor) = inputs.optional(index)? else { return Ok(vec![0.0; directions * batch * hidden]) };
        let expected = &self.shapes(sizes)[1];
        expect("state", tensor, expected)?;
        let given = tensor.floats()?;
        if !self.batch_first {
            return Ok(given);
        }
        Ok(swap(&given, batch, directions, hidden))
    }

    /// The length of each sequence.
    fn lengths(inputs: &Inputs<'_>, sizes: &Sizes) -> Result<Vec<usize>, OpError> {
        let Some(tensor) = inputs.optional(4)? else { return Ok(vec![sizes.steps; sizes.batch]) };
        expect("length", tensor, &[sizes.batch])?;
        let length = |length: i64| {
            usize::try_from(length).ok().filter(|length| *length <= sizes.steps).ok_or_else(|| {
                OpError::invalid(format!("sequence length {length} is out of range for {} steps", sizes.steps))
            })
        };
        tensor.integers()?.into_iter().map(length).collect()
    }
}

/// Fails if a tensor has another shape.
fn expect(what: &str, tensor: &Tensor, shape: &[usize]) -> Result<(), OpError> {
    if tensor.shape() == shape {
        return Ok(());
    }
    Err(OpError::invalid(format!("the {what} tensor has shape {:?}, expected {shape:?}", tensor.shape())))
}

/// Transposes `[outer, inner, rest]` to `[inner, outer, rest]`.
fn swap(given: &[f64], outer: usize, inner: usize, rest: usize) -> Vec<f64> {
    let mut result = Vec::with_capacity(given.len());
    for b in 0..inner {
        for a in 0..outer {
            result.extend_from_slice(&given[(a * inner + b) * rest..][..rest]);
        }
    }
    result
}

impl Operation for Recurrent {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Rnn => "RNN",
            Kind::Gru { .. } => "GRU",
            Kind::Lstm { .. } => "LSTM",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let (sequence, recurrent) = (inputs.get(0)?, inputs.get(2)?);
        if !sequence.dtype.is_float() {
            return Err(OpError::dtype(self.name(), sequence.dtype));
        }
        let Some((shape, weights)) = sequence.shape.as_ref().zip(recurrent.shape.as_ref()) else {
            return Ok(vec![Fact::unknown(sequence.dtype); 3]);
        };
        let shapes = self.shapes(&self.sizes(shape, weights)?);
        Ok(shapes.into_iter().map(|shape| Fact::new(sequence.dtype, shape)).collect())
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let (sequence, input_weights, recurrent) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
        if !sequence.dtype().is_float() {
            return Err(OpError::dtype(self.name(), sequence.dtype()));
        }
        let sizes = self.sizes(sequence.shape(), recurrent.shape())?;
        let Sizes { steps, batch, inputs: width, hidden, directions } = sizes;
        let shapes = self.shapes(&sizes);
        for shape in &shapes {
            crate::shape::count(shape)?;
        }
        let gates = self.kind.gates().checked_mul(hidden).ok_or_else(|| OpError::TooLarge(shapes[0].clone()))?;
        expect("weight", input_weights, &[directions, gates, width])?;
        expect("recurrence weight", recurrent, &[directions, gates, hidden])?;
        let bias = inputs.optional(3)?;
        if let Some(bias) = bias {
            expect("bias", bias, &[directions, gates.saturating_mul(2)])?;
        }
        let is_lstm = matches!(self.kind, Kind::Lstm { .. });
        let peepholes = if is_lstm { inputs.optional(7)? } else { None };
        if let Some(peepholes) = peepholes {
            expect("peephole", peepholes, &[directions, 3 * hidden])?;
        }
        let functions = self.kind.activations().len();
        if self.activations.len() != functions * directions {
            return Err(OpError::invalid(format!(
                "there are {} activations, expected {functions} for each of {directions} directions",
                self.activations.len()
            )));
        }
        let lengths = Self::lengths(inputs, &sizes)?;
        // From here on, the first axis is the steps.
        let mut x = sequence.floats()?;
        if self.batch_first {
            x = swap(&x, batch, steps, width);
        }
        let (input_weights, recurrent) = (input_weights.floats()?, recurrent.floats()?);
        let bias = bias.map_or(Ok(vec![0.0; directions * 2 * gates]), Tensor::floats)?;
        let peepholes = peepholes.map_or(Ok(vec![0.0; directions * 3 * hidden]), Tensor::floats)?;
        let mut h = self.state(inputs, 5, &sizes)?;
        let mut c = if is_lstm { self.state(inputs, 6, &sizes)? } else { vec![0.0; h.len()] };
        // `[steps, directions, batch, hidden]`; steps beyond the end of a sequence stay 0.
        let mut all = vec![0.0; crate::shape::count(&shapes[0])?];
        for direction in 0..directions {
            let cell = Cell {
                kind: self.kind,
                activations: &self.activations[direction * functions..][..functions],
                clip: self.clip.map_or(f64::INFINITY, f64::from),
                weights: Weights {
                    input: &input_weights[direction * gates * width..][..gates * width],
                    recurrent: &recurrent[direction * gates * hidden..][..gates * hidden],
                    bias: &bias[direction * 2 * gates..][..2 * gates],
                    peephole: &peepholes[direction * 3 * hidden..][..3 * hidden],
                },
                width,
                hidden,
            };
            let backward = self.direction == Direction::Reverse || direction == 1;
            for row in 0..batch {
                let state = (direction * batch + row) * hidden;
                let (h, c) = (&mut h[state..state + hidden], &mut c[state..state + hidden]);
                if lengths[row] == 0 {
                    // A sequence of length 0 has no last state.
                    h.fill(0.0);
                    c.fill(0.0);
                }
                for step in 0..lengths[row] {
                    let step = if backward { lengths[row] - 1 - step } else { step };
                    cell.step(&x[(step * batch + row) * width..][..width], h, c);
                    all[((step * directions + direction) * batch + row) * hidden..][..hidden].copy_from_slice(h);
                }
            }
        }
        if self.batch_first {
            // To `[batch, steps, directions, hidden]` and `[batch, directions, hidden]`.
            all = swap(&all, steps * directions, batch, hidden);
            h = swap(&h, directions, batch, hidden);
            c = swap(&c, directions, batch, hidden);
        }
        let outputs = [all, h, c].into_iter().zip(shapes);
        outputs.map(|(all, shape)| Ok(Tensor::from_floats(sequence.dtype(), shape, &all)?.into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(kind: Kind, direction: Direction) -> Recurrent {
        let activations = kind.activations().repeat(direction.count());
        Recurrent { kind, direction, activations, clip: None, batch_first: false }
    }

    fn eval(layer: &Recurrent, operands: &[Option<Tensor>]) -> Result<Vec<Value>, OpError> {
        let operands: Vec<_> = operands.iter().map(|one| one.clone().map(Value::from)).collect();
        layer.eval(&Inputs::new(&operands.iter().map(Option::as_ref).collect::<Vec<_>>(), 3))
    }

    #[test]
    fn sequences_end_at_their_length_in_both_directions() -> Result<(), OpError> {
        let mut layer = layer(Kind::Rnn, Direction::Both);
        layer.activations = vec![Activation::Affine { alpha: 1.0, beta: 0.0 }; 2];
        let x = Tensor::new([3, 2, 1], vec![1f32, 10.0, 2.0, 20.0, 4.0, 40.0])?;
        let ones = Tensor::new([2, 1, 1], vec![1f32; 2])?;
        let lengths = Tensor::vector(vec![2i32, 0]);
        let output = eval(&layer, &[Some(x), Some(ones.clone()), Some(ones), None, Some(lengths)])?;
        let all = output[0].tensor()?;
        assert_eq!(all.shape(), [3, 2, 2, 1]);
        assert_eq!(all.floats()?, [1.0, 0.0, 3.0, 0.0, 3.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(output[1].tensor()?.floats()?, [3.0, 0.0, 3.0, 0.0]);
        Ok(())
    }

    #[test]
    fn mismatched_operands_are_rejected_and_empty_sequences_accepted() -> Result<(), OpError> {
        let layer = layer(Kind::Lstm { coupled: false }, Direction::Forward);
        let zeros = |shape: &[usize]| Tensor::zeros(crate::DType::F32, shape).map(Some);
        let (w, r) = (zeros(&[1, 8, 3])?, zeros(&[1, 8, 2])?);
        let output = eval(&layer, &[zeros(&[0, 5, 3])?, w.clone(), r.clone()])?;
        assert_eq!(output[0].tensor()?.shape(), [0, 1, 5, 2]);
        assert_eq!(output[2].tensor()?.shape(), [1, 5, 2]);
        assert!(eval(&layer, &[zeros(&[4, 5, 2])?, w.clone(), r.clone()]).is_err());
        assert!(eval(&layer, &[zeros(&[4, 5, 3])?, r.clone(), w.clone()]).is_err());
        let lengths = Some(Tensor::vector(vec![5i32, 0, 0, 0, -1]));
        assert!(eval(&layer, &[zeros(&[4, 5, 3])?, w, r, None, lengths]).is_err());
        Ok(())
    }
}
