//! Fourier transforms.

use super::{Facts, Inputs, Operation};
use crate::{Fact, OpError, Tensor, Value, shape};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Signal {
    /// The discrete Fourier transform. Operands: numbers whose last axis is the real part, or both
    /// parts; the length, to which the axis is truncated or zero-padded; the axis, which is the
    /// last but one by default.
    Dft {
        /// Whether this is the inverse transform.
        inverse: bool,
        /// Whether only the nonredundant half of the frequencies is present.
        onesided: bool,
    },
    /// The short-time Fourier transform. Operands: `[batch, length, 1 or 2]`, the step between
    /// frames, a window, the frame length.
    Stft {
        /// Whether only the nonredundant half of the frequencies is output.
        onesided: bool,
    },
}

impl Operation for Signal {
    fn name(&self) -> &'static str {
        match self {
            Self::Dft { .. } => "DFT",
            Self::Stft { .. } => "STFT",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let signal = inputs.get(0)?;
        if !signal.dtype.is_float() {
            return Err(OpError::dtype(self.name(), signal.dtype));
        }
        let unknown = Ok(vec![Fact::unknown(signal.dtype)]);
        let Some(shape) = &signal.shape else { return unknown };
        // An omitted operand counts as known; one that depends on data does not.
        let number = |index: usize| -> Result<Option<Option<i64>>, OpError> {
            match inputs.optional(index) {
                None => Ok(Some(None)),
                Some(fact) => Ok(fact.value.as_ref().map(Tensor::integer).transpose()?.map(Some)),
            }
        };
        let shape = match self {
            Self::Dft { inverse, onesided } => {
                let (Some(length), Some(axis)) = (number(1)?, number(2)?) else { return unknown };
                Dft::new(shape, length, axis, *inverse, *onesided)?.shape(shape)
            }
            Self::Stft { onesided } => {
                let (Some(step), Some(length)) = (number(1)?, number(3)?) else { return unknown };
                let window = match inputs.optional(2) {
                    None => None,
                    Some(fact) => match &fact.shape {
                        Some(shape) => Some(&shape[..]),
                        None => return unknown,
                    },
                };
                Stft::new(shape, step, window, length, *onesided)?.shape(shape)
            }
        };
        Ok(vec![Fact::new(signal.dtype, shape)])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let signal = inputs.tensor(0)?;
        if !signal.dtype().is_float() {
            return Err(OpError::dtype(self.name(), signal.dtype()));
        }
        let number = |index: usize| inputs.optional(index)?.map(Tensor::integer).transpose();
        Ok(vec![match self {
            Self::Dft { inverse, onesided } => {
                let dft = Dft::new(signal.shape(), number(1)?, number(2)?, *inverse, *onesided)?;
                dft.eval(signal)?.into()
            }
            Self::Stft { onesided } => {
                let window = inputs.optional(2)?;
                let shape = window.map(Tensor::shape);
                let stft = Stft::new(signal.shape(), number(1)?, shape, number(3)?, *onesided)?;
                stft.eval(signal, window)?.into()
            }
        }])
    }
}

/// A complex number.
type Complex = (f64, f64);

/// 1 for real and 2 for complex numbers.
fn parts(shape: &[usize]) -> Result<usize, OpError> {
    match shape.last() {
        Some(&parts @ (1 | 2)) if shape.len() > 1 => Ok(parts),
        _ => Err(OpError::invalid(format!(
            "the signal has shape {shape:?}, expected at least 2 dimensions, the last of size 1 or 2"
        ))),
    }
}

/// A length from an operand.
fn positive(what: &str, given: i64) -> Result<usize, OpError> {
    let number = usize::try_from(given).ok().filter(|number| *number > 0);
    number.ok_or_else(|| OpError::invalid(format!("{what} is {given}, expected a positive number")))
}

struct Dft {
    axis: usize,
    length: usize,
    inverse: bool,
    onesided: bool,
}

impl Dft {
    fn new(
        shape: &[usize],
        length: Option<i64>,
        axis: Option<i64>,
        inverse: bool,
        onesided: bool,
    ) -> Result<Self, OpError> {
        let parts = parts(shape)?;
        let axis = shape::axis(axis.unwrap_or(-2), shape.len())?;
        if axis + 1 == shape.len() {
            let text = format!("axis {axis} holds real and imaginary parts, so it cannot be transformed");
            return Err(OpError::invalid(text));
        }
        if onesided && inverse != (parts == 2) {
            return Err(OpError::invalid(format!(
                "onesided=1 needs real input (complex input for the inverse), but the last dimension is {parts}"
            )));
        }
        let length = match length {
            Some(length) => positive("the DFT length", length)?,
            None if onesided && inverse => 2 * shape[axis].saturating_sub(1),
            None => shape[axis],
        };
        Ok(Self { axis, length, inverse, onesided })
    }

    fn shape(&self, given: &[usize]) -> Vec<usize> {
        let mut shape = given.to_vec();
        shape[self.axis] = if self.onesided && !self.inverse { self.length / 2 + 1 } else { self.length };
        shape[given.len() - 1] = if self.onesided && self.inverse { 1 } else { 2 };
        shape
    }

    fn eval(&self, signal: &Tensor) -> Result<Tensor, OpError> {
        let shape = self.shape(signal.shape());
        let mut result = vec![0.0; shape::count(&shape)?];
        if result.is_empty() || self.length == 0 {
            return Tensor::from_floats(signal.dtype(), shape, &result);
        }
        let (parts, made_parts) = (parts(signal.shape())?, shape[shape.len() - 1]);
        let given = signal.floats()?;
        let (outer, size, inner) = shape::around(signal.shape(), self.axis);
        let (inner, output) = (inner / parts, shape[self.axis]);
        let transform = FourierTransform::new(self.length, self.inverse);
        let factor = if self.inverse { 1.0 / self.length as f64 } else { 1.0 };
        for lane in 0..outer * inner {
            let (row, column) = (lane / inner, lane % inner);
            let number = |index: usize| -> Complex {
                if index >= size {
                    return (0.0, 0.0);
                }
                let at = ((row * size + index) * inner + column) * parts;
                (given[at], if parts == 2 { given[at + 1] } else { 0.0 })
            };
            let mut numbers: Vec<Complex> = (0..self.length).map(number).collect();
            if self.onesided && self.inverse {
                // The other half is the complex conjugate, mirrored.
                let half = self.length / 2;
                for index in half + 1..self.length {
                    let (real, imaginary) = numbers[self.length - index];
                    numbers[index] = (real, -imaginary);
                }
            }
            for (index, (real, imaginary)) in transform.apply(&numbers).into_iter().take(output).enumerate() {
                let at = ((row * output + index) * inner + column) * made_parts;
                result[at] = real * factor;
                if made_parts == 2 {
                    result[at + 1] = imaginary * factor;
                }
            }
        }
        Tensor::from_floats(signal.dtype(), shape, &result)
    }
}

struct Stft {
    step: usize,
    length: usize,
    frames: usize,
    bins: usize,
}

impl Stft {
    fn new(
        shape: &[usize],
        step: Option<i64>,
        window: Option<&[usize]>,
        length: Option<i64>,
        onesided: bool,
    ) -> Result<Self, OpError> {
        let (parts, &[_, size, _]) = (parts(shape)?, shape) else {
            return Err(OpError::invalid(format!("the signal has shape {shape:?}, expected 3 dimensions")));
        };
        let step = positive("the frame step", step.ok_or(OpError::MissingInput(1))?)?;
        let window = match window {
            None => None,
            Some(&[length]) => Some(length),
            Some(other) => {
                return Err(OpError::invalid(format!("the window has shape {other:?}, expected one dimension")));
            }
        };
        let length = match (length, window) {
            (Some(length), _) => positive("the frame length", length)?,
            (None, window) => window.unwrap_or(size),
        };
        if let Some(window) = window.filter(|window| *window != length) {
            let text = format!("the frame length {length} must equal the window length {window}");
            return Err(OpError::invalid(text));
        }
        if length == 0 || length > size {
            let text = format!("the frame length is {length}, expected 1 to the signal length, {size}");
            return Err(OpError::invalid(text));
        }
        if onesided && parts == 2 {
            return Err(OpError::invalid("onesided=1 needs real input, but the last dimension is 2"));
        }
        let bins = if onesided { length / 2 + 1 } else { length };
        Ok(Self { step, length, frames: 1 + (size - length) / step, bins })
    }

    fn shape(&self, given: &[usize]) -> Vec<usize> {
        vec![given[0], self.frames, self.bins, 2]
    }

    fn eval(&self, signal: &Tensor, window: Option<&Tensor>) -> Result<Tensor, OpError> {
        let shape = self.shape(signal.shape());
        let mut result = Vec::with_capacity(shape::count(&shape)?);
        let (parts, size) = (parts(signal.shape())?, signal.shape()[1]);
        let given = signal.floats()?;
        let window = window.map(Tensor::floats).transpose()?.unwrap_or_else(|| vec![1.0; self.length]);
        let transform = FourierTransform::new(self.length, false);
        for batch in 0..shape[0] {
            for frame in 0..self.frames {
                let numbers: Vec<Complex> = (0..self.length)
                    .map(|index| {
                        let at = (batch * size + frame * self.step + index) * parts;
                        let imaginary = if parts == 2 { given[at + 1] } else { 0.0 };
                        (given[at] * window[index], imaginary * window[index])
                    })
                    .collect();
                let output = transform.apply(&numbers);
                result.extend(output.into_iter().take(self.bins).flat_map(|(real, imaginary)| [real, imaginary]));
            }
        }
        Tensor::from_floats(signal.dtype(), shape, &result)
    }
}

/// A transform of one length.
struct FourierTransform {
    /// The powers of the root of unity.
    powers: Vec<Complex>,
}

impl FourierTransform {
    fn new(length: usize, inverse: bool) -> Self {
        let sign = if inverse { 1.0 } else { -1.0 };
        let power = |index: usize| {
            let angle = sign * 2.0 * std::f64::consts::PI * index as f64 / length as f64;
            (angle.cos(), angle.sin())
        };
        Self { powers: (0..length).map(power).collect() }
    }

    fn apply(&self, numbers: &[Complex]) -> Vec<Complex> {
        let mut result = vec![(0.0, 0.0); numbers.len()];
        self.part(numbers, 1, 1, &mut result);
        result
    }

    /// The transform of every `stride`-th number, whose length is the whole divided by `division`:
    /// split by its smallest prime factor, transformed part by part, and combined.
    fn part(&self, numbers: &[Complex], stride: usize, division: usize, into: &mut [Complex]) {
        let length = into.len();
        if length <= 1 {
            into.iter_mut().zip(numbers).for_each(|(into, number)| *into = *number);
            return;
        }
        let prime = (2..).take_while(|prime| prime * prime <= length).find(|prime| length.is_multiple_of(*prime));
        let prime = prime.unwrap_or(length);
        let each = length / prime;
        for (index, into) in into.chunks_exact_mut(each).enumerate() {
            self.part(&numbers[index * stride..], stride * prime, division * prime, into);
        }
        let parts = into.to_vec();
        for (frequency, into) in into.iter_mut().enumerate() {
            let mut sum = (0.0, 0.0);
            for index in 0..prime {
                let (real, imaginary) = parts[index * each + frequency % each];
                let (cos, sin) = self.powers[index * frequency % length * division];
                sum = (sum.0 + real * cos - imaginary * sin, sum.1 + real * sin + imaginary * cos);
            }
            *into = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn eval(op: &Signal, operands: &[Option<Tensor>]) -> Result<Tensor, OpError> {
        let operands: Vec<_> = operands.iter().map(|one| one.clone().map(Value::from)).collect();
        let output = op.eval(&Inputs::new(&operands.iter().map(Option::as_ref).collect::<Vec<_>>(), 1))?;
        output[0].tensor().cloned()
    }

    #[test]
    fn transforms_of_every_length_round_trip() -> Result<(), OpError> {
        for length in [1usize, 2, 3, 7, 8, 12, 30, 49] {
            let given: Vec<f64> = (0..2 * length).map(|index| ((index * 7919) % 101) as f64).collect();
            let signal = Tensor::new([length, 2], given.clone())?;
            let axis = || Some(Tensor::scalar(0i64));
            let there = eval(&Signal::Dft { inverse: false, onesided: false }, &[Some(signal), None, axis()])?;
            // One frequency, by the definition of the DFT.
            let k = length / 2;
            let angle = |n: usize| -2.0 * std::f64::consts::PI * (k * n) as f64 / length as f64;
            let real: f64 =
                (0..length).map(|n| given[2 * n] * angle(n).cos() - given[2 * n + 1] * angle(n).sin()).sum();
            assert!((there.floats()?[2 * k] - real).abs() < 1e-9);
            let back = eval(&Signal::Dft { inverse: true, onesided: false }, &[Some(there), None, axis()])?;
            assert!(back.floats()?.iter().zip(&given).all(|(output, given)| (output - given).abs() < 1e-9));
        }
        Ok(())
    }

    #[test]
    fn hostile_lengths_and_axes_are_rejected() -> Result<(), OpError> {
        let signal = || Some(Tensor::zeros(DType::F32, [1, 4, 1]).unwrap_or_else(|_| Tensor::scalar(0f32)));
        let dft = Signal::Dft { inverse: false, onesided: false };
        let number = |number: i64| Some(Tensor::scalar(number));
        for (length, axis) in [(0, 1), (-1, 1), (i64::MAX, 1), (4, 2), (4, -1), (4, 7)] {
            assert!(eval(&dft, &[signal(), number(length), number(axis)]).is_err());
        }
        let stft = Signal::Stft { onesided: true };
        for (step, length) in [(0, 2), (1, 0), (1, 5), (-1, 2)] {
            assert!(eval(&stft, &[signal(), number(step), None, number(length)]).is_err());
        }
        assert_eq!(eval(&dft, &[Some(Tensor::zeros(DType::F32, [2, 0, 1])?)])?.shape(), [2, 0, 2]);
        Ok(())
    }
}
