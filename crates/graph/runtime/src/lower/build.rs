//! Building blocks of lowerings: elementwise programs, constant tensors, slices and concatenation.

use roci_graph::{DType, shape};
use roci_kernels::params::{
    ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand, Fill, Gather, Resample,
};

use super::strided::{Target, dense, dimensions};
use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// An instruction of an elementwise program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instr {
    /// Applies an operation to the accumulator.
    Apply(ElementwiseOp),
    /// Applies an operation to the accumulator and an operand.
    ApplyWith(ElementwiseOp, ElementwiseOperand),
    /// Saves the accumulator in a temporary.
    Save(u8),
}

/// Input `a` of a program.
pub(super) const A: ElementwiseOperand = ElementwiseOperand::A;
/// Input `b` of a program.
pub(super) const B: ElementwiseOperand = ElementwiseOperand::B;
/// Input `c` of a program.
pub(super) const C: ElementwiseOperand = ElementwiseOperand::C;

pub(super) fn temporary(index: u8) -> ElementwiseOperand {
    ElementwiseOperand::Temporary(index)
}

/// An f32 immediate.
pub(super) fn float(number: f32) -> ElementwiseOperand {
    ElementwiseOperand::from(number)
}

/// An i32 immediate.
pub(super) fn integer(number: i32) -> ElementwiseOperand {
    ElementwiseOperand::Word(number as u32)
}

/// Encodes a program.
pub(super) fn program(steps: &[Instr]) -> Result<ElementwiseCode, ElementwiseError> {
    steps.iter().try_fold(ElementwiseCode::new(), |code, step| match *step {
        Instr::Apply(op) => code.then(op),
        Instr::ApplyWith(op, operand) => code.with(op, operand),
        Instr::Save(temporary) => code.save(temporary),
    })
}

/// A shape of this rank that is `size` along one axis and 1 along the others.
pub(super) fn along_axis(rank: usize, axis: usize, size: usize) -> Vec<usize> {
    let mut shape = vec![1; rank];
    shape[axis] = size;
    shape
}

impl Context<'_, '_> {
    /// Runs an elementwise program over operands that are broadcast to a shape.
    pub(super) fn map(
        &mut self,
        steps: &[Instr],
        operands: &[&DeviceTensor],
        dtype: DType,
        shape: &[usize],
    ) -> Result<DeviceTensor, LoweringError> {
        self.elementwise(&program(steps)?, operands, dtype, shape)
    }

    /// A tensor filled with one word.
    pub(super) fn fill(&mut self, dtype: DType, shape: &[usize], value: u32) -> Result<DeviceTensor, LoweringError> {
        let target = self.new_tensor(dtype, shape);
        let params = Fill { count: word(target.count())?, offset: 0, value };
        self.segment().dispatch("fill", &params, &[], target.tensor_id);
        Ok(target)
    }

    /// An f32 lookup table.
    pub(super) fn f32_table(
        &mut self,
        numbers: &[f32],
        shape: impl Into<Vec<usize>>,
    ) -> Result<DeviceTensor, LoweringError> {
        let words: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
        Ok(DeviceTensor { dtype: DType::F32, shape: shape.into(), ..self.table(&words)? })
    }

    /// An i32 lookup table.
    pub(super) fn i32_table(
        &mut self,
        numbers: &[i32],
        shape: impl Into<Vec<usize>>,
    ) -> Result<DeviceTensor, LoweringError> {
        let words: Vec<u32> = numbers.iter().map(|&number| number as u32).collect();
        Ok(DeviceTensor { dtype: DType::I32, shape: shape.into(), ..self.table(&words)? })
    }

    /// The indices 0, 1, 2, … along an axis of a tensor of this rank.
    pub(super) fn iota(&mut self, rank: usize, axis: usize, size: usize) -> Result<DeviceTensor, LoweringError> {
        let size_word = i32::try_from(size).map_err(|_| LoweringError::unsupported(format!("{size} elements")))?;
        self.i32_table(&(0..size_word).collect::<Vec<_>>(), along_axis(rank, axis, size))
    }

    /// Converts integers to f32.
    pub(super) fn as_floats(&mut self, x: &DeviceTensor) -> Result<DeviceTensor, LoweringError> {
        let op = match super::element_type(x.dtype)? {
            roci_kernels::params::Numbers::F32 => return Ok(x.clone()),
            roci_kernels::params::Numbers::I32 => ElementwiseOp::I32ToF32,
            roci_kernels::params::Numbers::U32 => ElementwiseOp::U32ToF32,
        };
        self.map(&[Instr::ApplyWith(ElementwiseOp::Load, A), Instr::Apply(op)], &[x], DType::F32, &x.shape)
    }

    /// A copy that may be changed in place.
    pub(super) fn copy(&mut self, x: &DeviceTensor) -> Result<DeviceTensor, LoweringError> {
        self.strided_copy(x, 0, &dimensions(&[x.count()], [1]), x.shape.clone())
    }

    /// Gathers elements along an axis by indices on the device, whose shape replaces the axis.
    pub(super) fn gather(
        &mut self,
        x: &DeviceTensor,
        axis: usize,
        index: &DeviceTensor,
    ) -> Result<DeviceTensor, LoweringError> {
        let (outer, size, inner) = shape::around(&x.shape, axis);
        let result = [&x.shape[..axis], &index.shape[..], &x.shape[axis + 1..]].concat();
        let target = self.new_tensor(x.dtype, result);
        if target.count() > 0 {
            let params =
                Gather { outer: word(outer)?, axis: word(size)?, inner: word(inner)?, count: word(index.count())? };
            self.segment().dispatch("gather", &params, &[x.tensor_id, index.tensor_id], target.tensor_id);
        }
        Ok(target)
    }

    /// Gathers by indices that are known on the host.
    pub(super) fn gather_known(
        &mut self,
        x: &DeviceTensor,
        axis: usize,
        places: &[usize],
    ) -> Result<DeviceTensor, LoweringError> {
        let words = places.iter().map(|&at| word(at)).collect::<Result<Vec<_>, _>>()?;
        let index = self.table(&words)?;
        self.gather(x, axis, &index)
    }

    /// Gathers elements of each row by the row's own indices: `x` is `[outer, size]`, `index` is
    /// `[outer, count]`.
    pub(super) fn gather_rows(
        &mut self,
        x: &DeviceTensor,
        index: &DeviceTensor,
    ) -> Result<DeviceTensor, LoweringError> {
        let (outer, size, count) = (x.shape[0], x.shape[1], index.shape[1]);
        let target = self.new_tensor(x.dtype, [outer, count]);
        if target.count() > 0 {
            let params = roci_kernels::params::GatherElements {
                count: word(target.count())?,
                shape: [1, 1, 1, word(outer)?, word(count)?],
                strides: [0, 0, 0, word(size)?, 0],
                axis: word(size)?,
                axis_stride: 1,
            };
            self.segment().dispatch("gather_elements", &params, &[x.tensor_id, index.tensor_id], target.tensor_id);
        }
        Ok(target)
    }

    /// Weighted sums along an axis. `taps` has, for each output element, the input indices and
    /// their weights.
    pub(super) fn resample(
        &mut self,
        x: &DeviceTensor,
        axis: usize,
        taps: &[Vec<(usize, f64)>],
    ) -> Result<DeviceTensor, LoweringError> {
        let (outer, size, inner) = shape::around(&x.shape, axis);
        let most = taps.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut index = Vec::with_capacity(taps.len() * most);
        let mut weights = Vec::with_capacity(taps.len() * most);
        for taps in taps {
            // Padding taps have weight 0 and repeat an index that is read anyway.
            let spare = taps.first().map_or(0, |(at, _)| *at);
            for tap in 0..most {
                let (at, weight) = taps.get(tap).copied().unwrap_or((spare, 0.0));
                index.push(word(at)?);
                weights.push(weight as f32);
            }
        }
        let (index, weights) = (self.table(&index)?, self.f32_table(&weights, [taps.len(), most])?);
        let mut result = x.shape.clone();
        result[axis] = taps.len();
        let target = self.new_tensor(x.dtype, result);
        let params = Resample {
            outer: word(outer)?,
            axis: word(size)?,
            inner: word(inner)?,
            count: word(taps.len())?,
            taps: word(most)?,
        };
        if target.count() > 0 {
            self.segment().dispatch(
                "resample",
                &params,
                &[x.tensor_id, index.tensor_id, weights.tensor_id],
                target.tensor_id,
            );
        }
        Ok(target)
    }

    /// A slice along an axis.
    pub(super) fn slice(
        &mut self,
        x: &DeviceTensor,
        axis: usize,
        start: usize,
        size: usize,
    ) -> Result<DeviceTensor, LoweringError> {
        if start == 0 && size == x.shape[axis] {
            return Ok(x.clone());
        }
        let strides = dense(&x.shape);
        let mut result = x.shape.clone();
        result[axis] = size;
        self.strided_copy(x, start * strides[axis] as usize, &dimensions(&result, strides), result.clone())
    }

    /// Concatenates tensors along an axis.
    pub(super) fn concat(&mut self, parts: &[&DeviceTensor], axis: usize) -> Result<DeviceTensor, LoweringError> {
        let mut result = parts[0].shape.clone();
        result[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let target = self.new_tensor(parts[0].dtype, result);
        let (rows, size, inner) = shape::around(&target.shape, axis);
        let mut offset = 0;
        for part in parts {
            let run = part.shape[axis] * inner;
            let walk = dimensions(&[rows, run], [run as i64, 1]);
            self.strided_copy_into(part, 0, &walk, &target, Target { offset, run, pitch: size * inner })?;
            offset += run;
        }
        Ok(target)
    }

    /// Sums along axes, which are kept with size 1.
    pub(super) fn sum(&mut self, x: &DeviceTensor, axes: &[usize]) -> Result<DeviceTensor, LoweringError> {
        let mut reduced_shape = x.shape.clone();
        axes.iter().for_each(|&axis| reduced_shape[axis] = 1);
        if x.count() == 0 {
            return self.fill(x.dtype, &reduced_shape, 0);
        }
        Ok(self.reduce(x, "reduce_sum", axes)?.reshaped(reduced_shape))
    }
}
