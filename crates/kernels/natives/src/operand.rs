//! Inputs of elementwise kernels: dense, a single repeated element, or strided.

use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::NativeBinding;

use super::check::Extent;
use super::elementwise::BLOCK;
use super::memory;

/// The extent of an input with these strides.
pub(super) fn extent(shape: [u32; 4], strides: [u32; 4]) -> Extent {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| (shape[i], strides[i]));
    Extent::of(&[a, b, c, d])
}

/// An input viewed in the shape of the output.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    binding: NativeBinding,
    shape: [usize; 4],
    strides: [usize; 4],
}

impl Operand {
    /// Merges adjacent dimensions where strides allow it, innermost last, so that runs are as long
    /// as possible.
    pub(super) fn new(shape: [u32; 4], strides: [u32; 4], binding: NativeBinding) -> Operand {
        let mut operand = Operand { binding, shape: [1; 4], strides: [0; 4] };
        let mut at = 3;
        let mut empty = true;
        for i in (0..4).rev() {
            let (size, stride) = (shape[i] as usize, strides[i] as usize);
            if size == 1 {
                continue;
            }
            if empty {
                empty = false;
            } else if stride == operand.shape[at] * operand.strides[at] {
                operand.shape[at] *= size;
                continue;
            } else {
                at -= 1;
            }
            (operand.shape[at], operand.strides[at]) = (size, stride);
        }
        operand
    }

    /// The binding.
    pub(super) fn binding(&self) -> NativeBinding {
        self.binding
    }

    /// Whether element `i` of the output reads element `i` of the input, for all `i`.
    pub(super) fn dense(&self) -> bool {
        self.shape[..3] == [1; 3] && (self.strides[3] == 1 || self.shape[3] == 1)
    }

    /// Whether all elements of the output read the same element.
    pub(super) fn repeated(&self) -> bool {
        self.strides == [0; 4]
    }

    /// The elements, of 32 bits, that the output elements in `range` read: in place where they are
    /// contiguous, otherwise gathered.
    pub(super) fn fetch<'a, T: Pod>(&self, range: Range<usize>, buffer: &'a mut [T; BLOCK]) -> &'a [T] {
        if self.dense() {
            // SAFETY: within the output's elements, which `prepare` checked against this binding
            // too.
            return unsafe { memory::input(self.binding, range) };
        }
        let count = range.len();
        let buffer = &mut buffer[..count];
        let mut at = range.start;
        let mut filled = 0;
        while filled < count {
            let [i, j, k, l] = self.position(at);
            let start = i * self.strides[0] + j * self.strides[1] + k * self.strides[2] + l * self.strides[3];
            let run = (self.shape[3] - l).min(count - filled);
            let stride = self.strides[3];
            let target = &mut buffer[filled..filled + run];
            // SAFETY: `run` positions within the innermost dimension, so within the extent that
            // `prepare` checked.
            let source: &[T] = unsafe { memory::input(self.binding, start..start + (run - 1) * stride + 1) };
            match stride {
                0 => target.fill(source[0]),
                1 => target.copy_from_slice(source),
                _ => {
                    target.iter_mut().zip(source.iter().step_by(stride)).for_each(|(target, source)| *target = *source)
                }
            }
            filled += run;
            at += run;
        }
        buffer
    }

    /// The position of element `index` in the merged shape.
    fn position(&self, mut index: usize) -> [usize; 4] {
        let mut position = [0; 4];
        for i in (1..4).rev() {
            position[i] = index % self.shape[i];
            index /= self.shape[i];
        }
        position[0] = index;
        position
    }
}
