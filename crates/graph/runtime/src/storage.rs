//! Elements in device memory: one 32-bit word each.

use std::borrow::Cow;

use half::{bf16, f16};
use roci_graph::{DType, Data, OpError, Tensor};

/// The type of a word on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordType {
    /// f32.
    Float,
    /// i32; also for narrower signed integers and for i64 values that fit.
    Signed,
    /// u32; also for narrower unsigned integers, for u64 values that fit, and for `bool`.
    Unsigned,
}

impl WordType {
    /// The word type of elements of this type; `None` for strings.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Self::Float,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Self::Signed,
            DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => Self::Unsigned,
            DType::String => return None,
        })
    }
}

/// The words of a tensor, borrowed if its elements are words already.
pub(crate) fn words(tensor: &Tensor) -> Result<Cow<'_, [u32]>, OpError> {
    match tensor.data() {
        Data::F32(all) => Ok(Cow::Borrowed(bytemuck::cast_slice(all))),
        Data::U32(all) => Ok(Cow::Borrowed(all)),
        _ => encode(tensor).map(Cow::Owned),
    }
}

/// Converts the elements of a tensor to words. 64-bit integers and floats that do not fit are an
/// error.
pub(crate) fn encode(tensor: &Tensor) -> Result<Vec<u32>, OpError> {
    let large = |value: &dyn std::fmt::Display| {
        OpError::unsupported(format!("the 64-bit integer {value}, which does not fit the 32-bit integers of devices,"))
    };
    Ok(match tensor.data() {
        Data::F32(all) => all.iter().map(|one| one.to_bits()).collect(),
        Data::F64(all) => {
            let narrow = |&one: &f64| match one as f32 {
                narrowed if narrowed.is_infinite() && one.is_finite() => {
                    Err(OpError::unsupported(format!("{one:e}, which is too large for f32,")))
                }
                narrowed => Ok(narrowed.to_bits()),
            };
            all.iter().map(narrow).collect::<Result<_, _>>()?
        }
        Data::F16(all) => all.iter().map(|one| one.to_f32().to_bits()).collect(),
        Data::BF16(all) => all.iter().map(|one| one.to_f32().to_bits()).collect(),
        Data::I8(all) => all.iter().map(|&one| i32::from(one) as u32).collect(),
        Data::I16(all) => all.iter().map(|&one| i32::from(one) as u32).collect(),
        Data::I32(all) => all.iter().map(|&one| one as u32).collect(),
        Data::I64(all) => {
            // i32::MIN is excluded, because its negation overflows.
            let narrow = |&one: &i64| i32::try_from(one).ok().filter(|one| *one > i32::MIN).map(|one| one as u32);
            let narrow = |one: &i64| narrow(one).ok_or_else(|| large(one));
            all.iter().map(narrow).collect::<Result<_, _>>()?
        }
        Data::Bool(all) => all.iter().map(|&one| u32::from(one)).collect(),
        Data::U8(all) => all.iter().map(|&one| u32::from(one)).collect(),
        Data::U16(all) => all.iter().map(|&one| u32::from(one)).collect(),
        Data::U32(all) => all.clone(),
        Data::U64(all) => {
            all.iter().map(|&one| u32::try_from(one).map_err(|_| large(&one))).collect::<Result<_, _>>()?
        }
        Data::String(_) => return Err(OpError::dtype("a tensor on a device", DType::String)),
    })
}

/// Converts words back to a tensor.
pub(crate) fn decode(dtype: DType, shape: &[usize], words: &[u32]) -> Result<Tensor, OpError> {
    let float = |&word: &u32| f32::from_bits(word);
    let data = match dtype {
        DType::F32 => Data::F32(words.iter().map(float).collect()),
        DType::F64 => Data::F64(words.iter().map(|word| float(word).into()).collect()),
        DType::F16 => Data::F16(words.iter().map(|word| f16::from_f32(float(word))).collect()),
        DType::BF16 => Data::BF16(words.iter().map(|word| bf16::from_f32(float(word))).collect()),
        DType::I8 => Data::I8(words.iter().map(|&word| word as i8).collect()),
        DType::I16 => Data::I16(words.iter().map(|&word| word as i16).collect()),
        DType::I32 => Data::I32(words.iter().map(|&word| word as i32).collect()),
        DType::I64 => Data::I64(words.iter().map(|&word| i64::from(word as i32)).collect()),
        DType::Bool => Data::Bool(words.iter().map(|&word| word != 0).collect()),
        DType::U8 => Data::U8(words.iter().map(|&word| word as u8).collect()),
        DType::U16 => Data::U16(words.iter().map(|&word| word as u16).collect()),
        DType::U32 => Data::U32(words.to_vec()),
        DType::U64 => Data::U64(words.iter().map(|&word| word.into()).collect()),
        DType::String => return Err(OpError::dtype("a tensor on a device", DType::String)),
    };
    Tensor::from_data(shape, data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips_and_rejects_what_does_not_fit() -> Result<(), OpError> {
        let tensors = [
            Tensor::vector(vec![1.5f32, -0.0]),
            Tensor::vector(vec![-3i8, 7]),
            Tensor::vector(vec![-3i64, 1 << 30]),
            Tensor::vector(vec![true, false]),
            Tensor::vector(vec![u32::MAX, 0]),
            Tensor::vector(vec![f16::from_f32(0.25), f16::from_f32(-2.0)]),
        ];
        for tensor in tensors {
            assert_eq!(decode(tensor.dtype(), tensor.shape(), &encode(&tensor)?)?, tensor);
        }
        assert!(encode(&Tensor::vector(vec![1i64 << 40])).is_err());
        assert!(encode(&Tensor::vector(vec![i64::from(i32::MIN)])).is_err());
        assert!(encode(&Tensor::vector(vec![1e300])).is_err());
        assert!(encode(&Tensor::vector(vec![String::new()])).is_err());
        Ok(())
    }
}
