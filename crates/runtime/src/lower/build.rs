//! What lowerings are made of: programs in a line each, small tensors, parts and joins.

use roci_graph::{DType, shape};
use roci_kernels::params::{ChainCode, ChainError, ChainOp, ChainOperand, Fill, Resample, Take};

use super::strided::{Target, dense, dimensions};
use super::{Context, Operand, word};
use crate::error::Refusal;

/// A step of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// An operation on the accumulator alone.
    Do(ChainOp),
    /// An operation with an operand.
    With(ChainOp, ChainOperand),
    /// Keeps the accumulator in a temporary.
    Save(u8),
}

/// Input `a` of a program.
pub(super) const A: ChainOperand = ChainOperand::A;
/// Input `b` of a program.
pub(super) const B: ChainOperand = ChainOperand::B;
/// Input `c` of a program.
pub(super) const C: ChainOperand = ChainOperand::C;

/// A temporary.
pub(super) fn temporary(index: u8) -> ChainOperand {
    ChainOperand::Temporary(index)
}

/// A number in a program.
pub(super) fn float(number: f32) -> ChainOperand {
    ChainOperand::from(number)
}

/// An integer in a program.
pub(super) fn integer(number: i32) -> ChainOperand {
    ChainOperand::Word(number as u32)
}

/// A program of these steps.
pub(super) fn program(steps: &[Step]) -> Result<ChainCode, ChainError> {
    steps.iter().try_fold(ChainCode::new(), |code, step| match *step {
        Step::Do(op) => code.then(op),
        Step::With(op, operand) => code.with(op, operand),
        Step::Save(temporary) => code.save(temporary),
    })
}

/// The shape of a tensor of this rank that is 1 but along one axis.
pub(super) fn along(rank: usize, axis: usize, size: usize) -> Vec<usize> {
    let mut shape = vec![1; rank];
    shape[axis] = size;
    shape
}

impl Context<'_, '_> {
    /// Runs a program of steps over operands that are broadcast to a shape.
    pub(super) fn map(
        &mut self,
        steps: &[Step],
        operands: &[&Operand],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Operand, Refusal> {
        self.chain(&program(steps)?, operands, dtype, shape)
    }

    /// A tensor full of a word.
    pub(super) fn filled(&mut self, dtype: DType, shape: &[usize], value: u32) -> Result<Operand, Refusal> {
        let target = self.new_tensor(dtype, shape);
        let params = Fill { count: word(target.count())?, offset: 0, value };
        self.segment().run("fill", &params, &[], target.slot);
        Ok(target)
    }

    /// A tensor of numbers that every run needs.
    pub(super) fn numbers(&mut self, numbers: &[f32], shape: impl Into<Vec<usize>>) -> Result<Operand, Refusal> {
        let words: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
        Ok(Operand { dtype: DType::F32, shape: shape.into(), ..self.table(&words)? })
    }

    /// A tensor of integers that every run needs.
    pub(super) fn integers(&mut self, numbers: &[i32], shape: impl Into<Vec<usize>>) -> Result<Operand, Refusal> {
        let words: Vec<u32> = numbers.iter().map(|&number| number as u32).collect();
        Ok(Operand { dtype: DType::I32, shape: shape.into(), ..self.table(&words)? })
    }

    /// 0, 1, 2 and so on along an axis of a tensor of this rank.
    pub(super) fn ramp(&mut self, rank: usize, axis: usize, size: usize) -> Result<Operand, Refusal> {
        let size_word = i32::try_from(size).map_err(|_| Refusal::unsupported(format!("{size} elements")))?;
        self.integers(&(0..size_word).collect::<Vec<_>>(), along(rank, axis, size))
    }

    /// Integers as floats.
    pub(super) fn as_floats(&mut self, x: &Operand) -> Result<Operand, Refusal> {
        let op = match super::numbers(x.dtype)? {
            roci_kernels::params::Numbers::F32 => return Ok(x.clone()),
            roci_kernels::params::Numbers::I32 => ChainOp::I32ToF32,
            roci_kernels::params::Numbers::U32 => ChainOp::U32ToF32,
        };
        self.map(&[Step::With(ChainOp::Load, A), Step::Do(op)], &[x], DType::F32, &x.shape)
    }

    /// A copy that may be changed in place.
    pub(super) fn copied(&mut self, x: &Operand) -> Result<Operand, Refusal> {
        self.arranged(x, 0, &dimensions(&[x.count()], [1]), x.shape.clone())
    }

    /// Elements along an axis by indices on the device, which take the axis's place.
    pub(super) fn taken(&mut self, x: &Operand, axis: usize, index: &Operand) -> Result<Operand, Refusal> {
        let (outer, size, inner) = shape::around(&x.shape, axis);
        let made = [&x.shape[..axis], &index.shape[..], &x.shape[axis + 1..]].concat();
        let target = self.new_tensor(x.dtype, made);
        if target.count() > 0 {
            let params =
                Take { outer: word(outer)?, axis: word(size)?, inner: word(inner)?, count: word(index.count())? };
            self.segment().run("take", &params, &[x.slot, index.slot], target.slot);
        }
        Ok(target)
    }

    /// The same by indices that are known.
    pub(super) fn picked(&mut self, x: &Operand, axis: usize, places: &[usize]) -> Result<Operand, Refusal> {
        let words = places.iter().map(|&at| word(at)).collect::<Result<Vec<_>, _>>()?;
        let index = self.table(&words)?;
        self.taken(x, axis, &index)
    }

    /// For each place of a line of `x` the element that an index names: `x` is `[outer, size]`, `index` is
    /// `[outer, count]`.
    pub(super) fn taken_by_line(&mut self, x: &Operand, index: &Operand) -> Result<Operand, Refusal> {
        let (outer, size, count) = (x.shape[0], x.shape[1], index.shape[1]);
        let target = self.new_tensor(x.dtype, [outer, count]);
        if target.count() > 0 {
            let params = roci_kernels::params::TakeElements {
                count: word(target.count())?,
                shape: [1, 1, 1, word(outer)?, word(count)?],
                strides: [0, 0, 0, word(size)?, 0],
                axis: word(size)?,
                axis_stride: 1,
            };
            self.segment().run("take_elements", &params, &[x.slot, index.slot], target.slot);
        }
        Ok(target)
    }

    /// Weighted sums along an axis: for each element of the result the places and their weights.
    pub(super) fn resampled(
        &mut self,
        x: &Operand,
        axis: usize,
        taps: &[Vec<(usize, f64)>],
    ) -> Result<Operand, Refusal> {
        let (outer, size, inner) = shape::around(&x.shape, axis);
        let most = taps.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut index = Vec::with_capacity(taps.len() * most);
        let mut weights = Vec::with_capacity(taps.len() * most);
        for taps in taps {
            // What fills up a row weighs nothing, and reads an element that counts anyhow.
            let spare = taps.first().map_or(0, |(at, _)| *at);
            for tap in 0..most {
                let (at, weight) = taps.get(tap).copied().unwrap_or((spare, 0.0));
                index.push(word(at)?);
                weights.push(weight as f32);
            }
        }
        let (index, weights) = (self.table(&index)?, self.numbers(&weights, [taps.len(), most])?);
        let mut made = x.shape.clone();
        made[axis] = taps.len();
        let target = self.new_tensor(x.dtype, made);
        let params = Resample {
            outer: word(outer)?,
            axis: word(size)?,
            inner: word(inner)?,
            count: word(taps.len())?,
            taps: word(most)?,
        };
        if target.count() > 0 {
            self.segment().run("resample", &params, &[x.slot, index.slot, weights.slot], target.slot);
        }
        Ok(target)
    }

    /// A part along an axis.
    pub(super) fn part(&mut self, x: &Operand, axis: usize, start: usize, size: usize) -> Result<Operand, Refusal> {
        if start == 0 && size == x.shape[axis] {
            return Ok(x.clone());
        }
        let strides = dense(&x.shape);
        let mut made = x.shape.clone();
        made[axis] = size;
        self.arranged(x, start * strides[axis] as usize, &dimensions(&made, strides), made.clone())
    }

    /// Tensors one behind the other along an axis.
    pub(super) fn joined(&mut self, parts: &[&Operand], axis: usize) -> Result<Operand, Refusal> {
        let mut made = parts[0].shape.clone();
        made[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let target = self.new_tensor(parts[0].dtype, made);
        let (rows, size, inner) = shape::around(&target.shape, axis);
        let mut offset = 0;
        for part in parts {
            let run = part.shape[axis] * inner;
            let walk = dimensions(&[rows, run], [run as i64, 1]);
            self.arrange(part, 0, &walk, &target, Target { offset, run, pitch: size * inner })?;
            offset += run;
        }
        Ok(target)
    }

    /// Sums along axes, which stay with size 1.
    pub(super) fn summed(&mut self, x: &Operand, axes: &[usize]) -> Result<Operand, Refusal> {
        let mut kept = x.shape.clone();
        axes.iter().for_each(|&axis| kept[axis] = 1);
        if x.count() == 0 {
            return self.filled(x.dtype, &kept, 0);
        }
        Ok(self.folded(x, "reduce_sum", axes)?.reshaped(kept))
    }
}
