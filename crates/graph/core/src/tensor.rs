//! Tensors in host memory: a shape, and elements in C order.

use std::sync::Arc;

use half::{bf16, f16};

use crate::{DType, OpError, shape};

/// Elements of one type.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the vector of the type of its name")]
pub enum Data {
    Bool(Vec<bool>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    String(Vec<String>),
}

/// A Rust type that elements can have.
pub trait Element: Clone + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The corresponding [`DType`].
    const DTYPE: DType;
    /// The elements, if they have this type.
    fn slice(data: &Data) -> Option<&[Self]>;
    /// Wraps elements.
    fn wrap(elements: Vec<Self>) -> Data;
    /// Takes the elements out, if they have this type.
    fn unwrap(data: Data) -> Option<Vec<Self>>;
}

/// Calls a macro with every pair of a variant of [`Data`] and its Rust type.
macro_rules! for_each_type {
    ($($variant:ident $rust:ty),*) => {
        $(impl Element for $rust {
            const DTYPE: DType = DType::$variant;
            fn slice(data: &Data) -> Option<&[Self]> {
                if let Data::$variant(elements) = data { Some(elements) } else { None }
            }
            fn wrap(elements: Vec<Self>) -> Data {
                Data::$variant(elements)
            }
            fn unwrap(data: Data) -> Option<Vec<Self>> {
                if let Data::$variant(elements) = data { Some(elements) } else { None }
            }
        })*

        impl Data {
            /// The type of the elements.
            pub fn dtype(&self) -> DType {
                match self { $(Self::$variant(_) => DType::$variant),* }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(elements) => elements.len()),* }
            }

            /// Zeros, or empty strings.
            pub fn zeros(dtype: DType, count: usize) -> Self {
                match dtype { $(DType::$variant => Self::$variant(vec![<$rust>::default(); count])),* }
            }
        }
    };
}

for_each_type!(
    Bool bool, U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F16 f16, BF16 bf16, F32 f32, F64 f64,
    String String
);

impl Data {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Runs a block for the elements of a tensor of any type: `$t` names the type and `$v` the slice.
///
/// `each_type!(any: tensor, |T, v| …)` accepts all types, `number:` all but strings and `bool`,
/// `float:` floating-point types, `integer:` integers. Other types run the block after `else`.
#[macro_export]
macro_rules! each_type {
    (@arms $data:expr, $t:ident, $v:ident, $body:expr $(, $other:expr)?; $($variant:ident $rust:ty),*) => {
        match $data {
            $($crate::Data::$variant($v) => {
                type $t = $rust;
                // Not every block names the type.
                let _ = std::marker::PhantomData::<$t>;
                $body
            })*
            $(_ => $other,)?
        }
    };
    (any: $tensor:expr, |$t:ident, $v:ident| $body:expr) => {
        $crate::each_type!(@arms $tensor.data(), $t, $v, $body;
            Bool bool, U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F16 half::f16, BF16 half::bf16,
            F32 f32, F64 f64, String String)
    };
    (number: $tensor:expr, |$t:ident, $v:ident| $body:expr, else $other:expr) => {
        $crate::each_type!(@arms $tensor.data(), $t, $v, $body, $other;
            U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F16 half::f16, BF16 half::bf16,
            F32 f32, F64 f64)
    };
    (float: $tensor:expr, |$t:ident, $v:ident| $body:expr, else $other:expr) => {
        $crate::each_type!(@arms $tensor.data(), $t, $v, $body, $other; F16 half::f16, BF16 half::bf16, F32 f32, F64 f64)
    };
    (integer: $tensor:expr, |$t:ident, $v:ident| $body:expr, else $other:expr) => {
        $crate::each_type!(@arms $tensor.data(), $t, $v, $body, $other;
            U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64)
    };
}

/// A tensor. Clones share the elements, which are copied on write.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Arc<Data>,
}

impl Tensor {
    /// Creates a tensor from elements in C order; their number must match the shape.
    pub fn new<T: Element>(shape: impl Into<Vec<usize>>, elements: Vec<T>) -> Result<Self, OpError> {
        Self::from_data(shape, T::wrap(elements))
    }

    /// Creates a tensor from elements whose type is known only at run time.
    pub fn from_data(shape: impl Into<Vec<usize>>, data: Data) -> Result<Self, OpError> {
        let shape = shape.into();
        let count = shape::count(&shape)?;
        if count != data.len() {
            return Err(OpError::invalid(format!(
                "there are {} elements, expected {count} for shape {shape:?}",
                data.len()
            )));
        }
        Ok(Self { shape, data: Arc::new(data) })
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(element: T) -> Self {
        Self { shape: Vec::new(), data: Arc::new(T::wrap(vec![element])) }
    }

    /// A tensor of rank 1.
    pub fn vector<T: Element>(elements: Vec<T>) -> Self {
        Self { shape: vec![elements.len()], data: Arc::new(T::wrap(elements)) }
    }

    /// A tensor of zeros, or of empty strings.
    pub fn zeros(dtype: DType, shape: impl Into<Vec<usize>>) -> Result<Self, OpError> {
        let shape = shape.into();
        let count = shape::count(&shape)?;
        Ok(Self { data: Arc::new(Data::zeros(dtype, count)), shape })
    }

    /// Creates a tensor from little-endian bytes in C order. A `bool` is true if its byte is not
    /// zero.
    pub fn from_bytes(dtype: DType, shape: impl Into<Vec<usize>>, bytes: &[u8]) -> Result<Self, OpError> {
        let size = dtype.size().ok_or_else(|| OpError::dtype("raw data", dtype))?;
        let shape = shape.into();
        let count = shape::count(&shape)?;
        if count.checked_mul(size) != Some(bytes.len()) {
            let expected = count as u128 * size as u128;
            return Err(OpError::invalid(format!(
                "there are {} bytes, expected {expected} for shape {shape:?} and type {dtype}",
                bytes.len()
            )));
        }
        macro_rules! read {
            ($($variant:ident $rust:ty),*) => {
                match dtype {
                    $(DType::$variant => Data::$variant(pods::<$rust>(bytes, count)),)*
                    DType::Bool => Data::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
                    DType::String => return Err(OpError::dtype("raw data", dtype)),
                }
            };
        }
        let data = read!(
            U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F16 f16, BF16 bf16, F32 f32, F64 f64
        );
        Ok(Self { shape, data: Arc::new(data) })
    }

    /// The elements as little-endian bytes; `None` for strings.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        macro_rules! write {
            ($($variant:ident),*) => {
                match &*self.data {
                    $(Data::$variant(elements) => bytemuck::cast_slice(elements).to_vec(),)*
                    Data::Bool(elements) => elements.iter().map(|&element| u8::from(element)).collect(),
                    Data::String(_) => return None,
                }
            };
        }
        Some(write!(U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64))
    }

    /// The sizes of the dimensions, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The elements.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The elements, copied if other tensors share them.
    pub fn into_data(self) -> Data {
        Arc::unwrap_or_clone(self.data)
    }

    /// The elements as a slice of their type.
    pub fn slice<T: Element>(&self) -> Result<&[T], OpError> {
        T::slice(&self.data)
            .ok_or_else(|| OpError::invalid(format!("the tensor has type {}, expected {}", self.dtype(), T::DTYPE)))
    }

    /// Reshapes the tensor; the number of elements stays the same.
    pub fn reshaped(&self, shape: impl Into<Vec<usize>>) -> Result<Self, OpError> {
        let shape = shape.into();
        if shape::count(&shape)? != self.len() {
            return Err(OpError::invalid(format!("shape {:?} cannot become {shape:?}", self.shape)));
        }
        Ok(Self { shape, data: Arc::clone(&self.data) })
    }

    /// Converts integers of any type to `i64`, as for axes, sizes and indices.
    pub fn integers(&self) -> Result<Vec<i64>, OpError> {
        use num_traits::ToPrimitive;
        each_type!(integer: self, |T, v| {
            let wide = |element: &T| {
                let wrong = || OpError::invalid(format!("{element} is too large for a signed 64-bit integer"));
                element.to_i64().ok_or_else(wrong)
            };
            v.iter().map(wide).collect()
        }, else Err(OpError::dtype("a list of integers", self.dtype())))
    }

    /// The element of a one-element integer tensor.
    pub fn integer(&self) -> Result<i64, OpError> {
        match self.integers()?[..] {
            [one] => Ok(one),
            ref all => Err(OpError::invalid(format!("the tensor has {} elements, expected one", all.len()))),
        }
    }

    /// Converts numbers of any type to `f64`; `bool` becomes 0 or 1.
    pub fn floats(&self) -> Result<Vec<f64>, OpError> {
        use num_traits::AsPrimitive;
        if let Data::Bool(elements) = self.data() {
            return Ok(elements.iter().map(|&element| f64::from(u8::from(element))).collect());
        }
        each_type!(number: self, |T, v| {
            Ok(v.iter().map(|element| element.as_()).collect())
        }, else Err(OpError::dtype("a list of numbers", self.dtype())))
    }

    /// The element of a one-element tensor of numbers.
    pub fn float(&self) -> Result<f64, OpError> {
        match self.floats()?[..] {
            [one] => Ok(one),
            ref all => Err(OpError::invalid(format!("the tensor has {} elements, expected one", all.len()))),
        }
    }

    /// Converts floats to this type, rounded to its precision. Integers are truncated toward zero
    /// and saturate.
    pub fn from_floats(dtype: DType, shape: impl Into<Vec<usize>>, elements: &[f64]) -> Result<Self, OpError> {
        macro_rules! narrow {
            ($($variant:ident $rust:ty),*) => {
                match dtype {
                    $(DType::$variant => Data::$variant(elements.iter().map(|&element| element as $rust).collect()),)*
                    DType::F16 => Data::F16(elements.iter().map(|&element| f16::from_f64(element)).collect()),
                    DType::BF16 => Data::BF16(elements.iter().map(|&element| bf16::from_f64(element)).collect()),
                    DType::Bool => Data::Bool(elements.iter().map(|&element| element != 0.0).collect()),
                    DType::String => return Err(OpError::dtype("a number", dtype)),
                }
            };
        }
        Self::from_data(
            shape,
            narrow!(U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F32 f32, F64 f64),
        )
    }
}

/// A vector with this capacity. Models decide the size, so a failed allocation is an error instead
/// of an abort.
pub(crate) fn with_capacity<T>(count: usize) -> Result<Vec<T>, OpError> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| OpError::TooLarge(vec![count]))?;
    Ok(elements)
}

/// Copies elements from bytes that may be unaligned.
fn pods<T: bytemuck::Pod>(bytes: &[u8], count: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); count];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_round_trip_through_bytes() -> Result<(), OpError> {
        let tensor = Tensor::new([2, 2], vec![1.0f32, -2.0, 0.5, f32::INFINITY])?;
        let bytes = tensor.to_bytes().unwrap_or_default();
        assert_eq!(Tensor::from_bytes(DType::F32, [2, 2], &bytes)?, tensor);
        assert!(Tensor::from_bytes(DType::F32, [2, 3], &bytes).is_err());
        assert!(Tensor::from_bytes(DType::String, [1], &bytes).is_err());
        assert!(Tensor::from_bytes(DType::F32, [usize::MAX, 4], &bytes).is_err());
        Ok(())
    }

    #[test]
    fn elements_must_fill_the_shape() {
        assert!(Tensor::new([3], vec![1i32, 2]).is_err());
        assert!(Tensor::new([0, 3], Vec::<i32>::new()).is_ok());
    }

    #[test]
    fn integers_of_any_type_are_converted_and_strings_are_not() -> Result<(), OpError> {
        assert_eq!(Tensor::vector(vec![1u8, 255]).integers()?, [1, 255]);
        assert!(Tensor::vector(vec![u64::MAX]).integers().is_err());
        assert!(Tensor::vector(vec![String::new()]).integers().is_err());
        Ok(())
    }
}
