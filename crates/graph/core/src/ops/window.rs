//! A window over the spatial axes of a tensor, for convolutions and pooling.

use std::ops::Range;

use crate::OpError;

/// How far padding may exceed the tensor: a factor, and a number of elements. A small model file
/// could otherwise demand any amount of memory.
const REACH: (usize, usize) = (64, 1024);

/// The padding of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Elements before and after, by axis; an empty list means no padding.
    Explicit(Vec<(usize, usize)>),
    /// Enough that the output has the input's size divided by the stride, rounded up, with the odd
    /// element at the end.
    SameUpper,
    /// Like `SameUpper`, with the odd element at the start.
    SameLower,
}

/// A window. Empty lists mean ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The kernel size by axis; empty if the weights determine it.
    pub kernel: Vec<usize>,
    /// The stride between windows.
    pub strides: Vec<usize>,
    /// The spacing of a window's elements.
    pub dilations: Vec<usize>,
    /// The padding of the input.
    pub padding: Padding,
}

/// A window along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The input size.
    pub input: usize,
    /// The number of windows.
    pub output: usize,
    /// The kernel size.
    pub kernel: usize,
    /// The stride between windows.
    pub stride: usize,
    /// The spacing of a window's elements.
    pub dilation: usize,
    /// Padding before the input.
    pub before: usize,
    /// Padding after the input.
    pub after: usize,
}

impl Axis {
    /// The distance from the first to the last element of a window, inclusive.
    pub fn extent(kernel: usize, dilation: usize) -> Option<usize> {
        kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
    }

    /// The elements of a window that are on the input rather than on padding.
    pub fn taps(&self, output: usize) -> Range<usize> {
        let start = output * self.stride;
        let first = self.before.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.before + self.input).saturating_sub(start).div_ceil(self.dilation).min(self.kernel);
        first.min(end)..end
    }

    /// The elements of a window that are on the input or its padding.
    pub fn taps_with_padding(&self, output: usize) -> usize {
        let end = self.before + self.input + self.after;
        end.saturating_sub(output * self.stride).div_ceil(self.dilation).min(self.kernel)
    }

    /// The input index of a window element that is on the input.
    pub fn position(&self, output: usize, tap: usize) -> usize {
        output * self.stride + tap * self.dilation - self.before
    }

    /// The windows whose element `tap` is on the input.
    pub fn windows(&self, tap: usize) -> Range<usize> {
        let reach = tap * self.dilation;
        let first = self.before.saturating_sub(reach).div_ceil(self.stride);
        let end = (self.before + self.input).saturating_sub(reach).div_ceil(self.stride).min(self.output);
        first.min(end)..end
    }
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = [("strides", &self.strides), ("dilations", &self.dilations)];
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            write!(f, "{name} {list:?}, ")?;
        }
        match &self.padding {
            Padding::Explicit(pads) if pads.is_empty() => f.write_str("no padding"),
            Padding::Explicit(pads) => write!(f, "padding {pads:?}"),
            Padding::SameUpper | Padding::SameLower => f.write_str("padding for the same size"),
        }
    }
}

/// Which windows count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Windows entirely on the padded input, as for convolutions.
    Whole,
    /// Like `Whole`, for pooling: the first window counts even if the input is smaller by less than
    /// a stride, because ONNX truncates the quotient toward zero.
    Down,
    /// Also a partial window, if it starts before the end padding.
    Up,
}

impl Count {
    /// The count of a pool, which may round up.
    pub fn of_pool(ceil: bool) -> Self {
        if ceil { Self::Up } else { Self::Down }
    }
}

impl Window {
    /// The windows along each axis for an input and a kernel of these spatial sizes.
    pub fn axes(&self, spatial: &[usize], kernel: &[usize], count: Count) -> Result<Vec<Axis>, OpError> {
        let rank = spatial.len();
        let fits = |list: &[usize]| list.is_empty() || list.len() == rank;
        let padded = match &self.padding {
            Padding::Explicit(pads) => pads.is_empty() || pads.len() == rank,
            _ => true,
        };
        if kernel.len() != rank || !fits(&self.kernel) || !fits(&self.strides) || !fits(&self.dilations) || !padded {
            return Err(OpError::invalid(format!(
                "a kernel of {kernel:?} with {self} must have one entry per spatial axis of {spatial:?}"
            )));
        }
        for (what, list) in [("kernel", kernel), ("stride", &self.strides), ("dilation", &self.dilations)] {
            if list.contains(&0) {
                return Err(OpError::invalid(format!("the {what} {list:?} contains 0")));
            }
        }
        if !self.kernel.is_empty() && self.kernel != kernel {
            return Err(OpError::invalid(format!(
                "`kernel_shape` is {:?}, expected that of the weights, {kernel:?}",
                self.kernel
            )));
        }
        let one = |axis: usize| {
            self.axis(axis, spatial[axis], kernel[axis], count).ok_or_else(|| {
                let text = format!("a kernel of {kernel:?} does not fit on {spatial:?} with {self}");
                OpError::invalid(text)
            })
        };
        (0..rank).map(one).collect()
    }

    fn axis(&self, axis: usize, input: usize, kernel: usize, count: Count) -> Option<Axis> {
        let stride = self.stride(axis)?;
        let dilation = self.dilation(axis)?;
        let extent = Axis::extent(kernel, dilation)?;
        let windows = input.div_ceil(stride);
        let (before, after) = match &self.padding {
            Padding::Explicit(pads) => pads.get(axis).copied().unwrap_or((0, 0)),
            same => {
                let span = windows.saturating_sub(1).checked_mul(stride)?.checked_add(extent)?;
                let total = span.saturating_sub(input);
                let (less, more) = (total / 2, total - total / 2);
                if *same == Padding::SameUpper { (less, more) } else { (more, less) }
            }
        };
        let most = input.checked_add(kernel)?.checked_mul(REACH.0)?.checked_add(REACH.1)?;
        if before > most || after > most {
            return None;
        }
        let span = input.checked_add(before)?.checked_add(after)?;
        let ceil = count == Count::Up;
        let free = match span.checked_sub(extent) {
            None if count != Count::Whole && extent - span < stride && justified(kernel, input) => 0,
            free => free?,
        };
        let mut output = if ceil { free.div_ceil(stride) } else { free / stride } + 1;
        if ceil && (output - 1).checked_mul(stride)? >= input + before {
            output -= 1;
        }
        if !matches!(self.padding, Padding::Explicit(_)) {
            output = windows;
        }
        Some(Axis { input, output, kernel, stride, dilation, before, after })
    }

    /// The stride along an axis; an error if it is 0.
    pub fn stride(&self, axis: usize) -> Option<usize> {
        Some(self.strides.get(axis).copied().unwrap_or(1)).filter(|stride| *stride > 0)
    }

    /// The dilation along an axis; an error if it is 0.
    pub fn dilation(&self, axis: usize) -> Option<usize> {
        Some(self.dilations.get(axis).copied().unwrap_or(1)).filter(|dilation| *dilation > 0)
    }
}

/// Whether an amount of memory that only an attribute states is plausible for the operands' sizes.
pub(crate) fn justified(expected: usize, natural: usize) -> bool {
    natural.saturating_mul(REACH.0).saturating_add(REACH.1) >= expected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(strides: usize, dilations: usize, pads: (usize, usize)) -> Window {
        let padding = Padding::Explicit(vec![pads]);
        Window { kernel: vec![], strides: vec![strides], dilations: vec![dilations], padding }
    }

    #[test]
    fn a_first_pool_window_may_exceed_the_input_by_less_than_a_stride() {
        let outputs = |kernel, input, count| window(2, 1, (0, 0)).axis(0, input, kernel, count).map(|axis| axis.output);
        for count in [Count::Up, Count::Down] {
            assert_eq!(outputs(2, 1, count), Some(1));
            assert_eq!(outputs(3, 2, count), Some(1));
            assert_eq!(outputs(4, 2, count), None, "a whole stride is lacking");
        }
        assert_eq!(outputs(2, 1, Count::Whole), None);
    }

    #[test]
    fn hostile_sizes_and_factors_are_errors() {
        for bad in [
            window(0, 1, (0, 0)),
            window(1, 0, (0, 0)),
            window(1, usize::MAX, (0, 0)),
            window(1, 1, (usize::MAX, usize::MAX)),
            window(1, 1 << 40, (1 << 40, 1 << 40)),
        ] {
            assert!(bad.axes(&[4], &[3], Count::Up).is_err(), "{bad:?}");
        }
        assert!(window(1, 1, (0, 0)).axes(&[4], &[0], Count::Whole).is_err());
        assert!(window(1, 1, (0, 0)).axes(&[4, 4], &[3, 3], Count::Whole).is_err());
        assert!(window(usize::MAX, 1, (0, 0)).axes(&[4], &[3], Count::Up).is_ok());
    }

    #[test]
    fn taps_and_windows_agree() -> Result<(), OpError> {
        for (stride, dilation, pads) in [(1, 1, (0, 0)), (2, 1, (1, 1)), (1, 3, (4, 5)), (3, 2, (2, 0))] {
            let axis = window(stride, dilation, pads).axes(&[7], &[3], Count::Whole)?[0];
            for output in 0..axis.output {
                for tap in 0..axis.kernel {
                    let place = (output * stride + tap * dilation).checked_sub(pads.0).filter(|place| *place < 7);
                    assert_eq!(axis.taps(output).contains(&tap), place.is_some());
                    assert_eq!(axis.windows(tap).contains(&output), place.is_some());
                }
            }
        }
        Ok(())
    }
}
