//! Lossless accumulator types: floats are computed as `f64`. Integers are computed as `i128` and
//! truncated at the end, which equals wrapping arithmetic in their own width.

use num_traits::AsPrimitive;

use crate::{DType, Data, OpError, Tensor, each_type};

/// `f64` for tensors of floats, `i128` for all others.
pub(crate) trait Accumulator: Copy + PartialOrd + Send + Sync + 'static {
    const ZERO: Self;
    const ONE: Self;
    /// The elements of a tensor.
    fn read(tensor: &Tensor) -> Result<Vec<Self>, OpError>;
    /// A tensor of elements, rounded or truncated to its type.
    fn write(dtype: DType, shape: &[usize], elements: Vec<Self>) -> Result<Tensor, OpError>;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn absolute(self) -> Self;
    fn float(self) -> f64;
    /// Converts a float, truncated toward zero.
    fn of(float: f64) -> Self;
    /// Divides by a count.
    fn over(self, count: usize) -> Self;
    /// Whether it is NaN.
    fn is_nan(self) -> bool;
}

impl Accumulator for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn read(tensor: &Tensor) -> Result<Vec<Self>, OpError> {
        tensor.floats()
    }

    fn write(dtype: DType, shape: &[usize], elements: Vec<Self>) -> Result<Tensor, OpError> {
        Tensor::from_floats(dtype, shape, &elements)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }

    fn absolute(self) -> Self {
        self.abs()
    }

    fn float(self) -> f64 {
        self
    }

    fn of(float: f64) -> Self {
        float
    }

    fn over(self, count: usize) -> Self {
        self / count as f64
    }

    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Accumulator for i128 {
    const ZERO: Self = 0;
    const ONE: Self = 1;

    fn read(tensor: &Tensor) -> Result<Vec<Self>, OpError> {
        if let Data::Bool(elements) = tensor.data() {
            return Ok(elements.iter().map(|&element| Self::from(element)).collect());
        }
        each_type!(integer: tensor, |T, v| {
            Ok(v.iter().map(|&element| Self::from(element)).collect())
        }, else Err(OpError::dtype("an integer", tensor.dtype())))
    }

    fn write(dtype: DType, shape: &[usize], elements: Vec<Self>) -> Result<Tensor, OpError> {
        macro_rules! narrow {
            ($($variant:ident $rust:ty),*) => {
                match dtype {
                    $(DType::$variant => Data::$variant(elements.iter().map(|&one| one as $rust).collect()),)*
                    DType::Bool => Data::Bool(elements.iter().map(|&one| one != 0).collect()),
                    other => return Err(OpError::dtype("an integer", other)),
                }
            };
        }
        let data = narrow!(U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64);
        Tensor::from_data(shape, data)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    fn absolute(self) -> Self {
        self.wrapping_abs()
    }

    fn float(self) -> f64 {
        self.as_()
    }

    fn of(float: f64) -> Self {
        float as Self
    }

    fn over(self, count: usize) -> Self {
        self.checked_div(count as Self).unwrap_or(0)
    }

    fn is_nan(self) -> bool {
        false
    }
}

/// Calls a generic function for `f64` or `i128`, the accumulator of a type.
macro_rules! wide {
    ($dtype:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        if $dtype.is_float() { $function::<f64>($($argument),*) } else { $function::<i128>($($argument),*) }
    };
}
pub(crate) use wide;
