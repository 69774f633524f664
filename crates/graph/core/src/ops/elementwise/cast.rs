//! Type conversions.

use std::ops::Range;

use num_traits::AsPrimitive;

use crate::tensor::with_capacity;
use crate::{DType, Data, Element, OpError, Tensor, each_type};

/// Converts the elements to a type.
///
/// Integers keep their low bits. Floats are truncated toward zero. Values beyond 32 or 64 bits
/// saturate, and narrower types keep the low bits of that, as in other runtimes. Strings are
/// formatted as onnxruntime formats them.
pub fn cast(operand: &Tensor, to: DType) -> Result<Tensor, OpError> {
    if operand.dtype() == to {
        return Ok(operand.clone());
    }
    let data = match operand.data() {
        Data::Bool(elements) => {
            let bytes: Vec<u8> = elements.iter().map(|&element| u8::from(element)).collect();
            return cast(&Tensor::new(operand.shape(), bytes)?, to);
        }
        Data::String(elements) => parse(elements, to)?,
        _ if to == DType::String => Data::String(write(operand)?),
        _ if to == DType::Bool => each_type!(number: operand, |T, v| {
            Data::Bool(v.iter().map(|element| *element != T::default()).collect())
        }, else return Err(OpError::dtype("a conversion", operand.dtype()))),
        _ => numbers(operand, to)?,
    };
    Tensor::from_data(operand.shape(), data)
}

/// Elements as the widest type of their kind, which holds each of them exactly.
enum WidestElements {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
}

/// Elements converted at a time: conversions go through [`WidestElements`], since a loop per pair
/// of types takes long to compile.
const CHUNK: usize = 1024;

/// Numbers as numbers of another type.
fn numbers(operand: &Tensor, to: DType) -> Result<Data, OpError> {
    macro_rules! convert {
        ($($name:ident),*) => {
            match to {
                $(DType::$name => Data::$name(convert(operand, to)?),)*
                DType::Bool | DType::String => return Err(OpError::dtype("a number", to)),
            }
        };
    }
    Ok(convert!(U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64))
}

fn convert<R: Element + Copy>(operand: &Tensor, to: DType) -> Result<Vec<R>, OpError>
where
    i64: AsPrimitive<R>,
    u64: AsPrimitive<R>,
    f64: AsPrimitive<R>,
{
    let mut result = with_capacity(operand.len())?;
    for start in (0..operand.len()).step_by(CHUNK) {
        let range = start..operand.len().min(start + CHUNK);
        match widen(operand, range, to)? {
            WidestElements::Signed(elements) => result.extend(elements.iter().map(|element| -> R { element.as_() })),
            WidestElements::Unsigned(elements) => result.extend(elements.iter().map(|element| -> R { element.as_() })),
            WidestElements::Float(elements) => result.extend(elements.iter().map(|element| -> R { element.as_() })),
        }
    }
    Ok(result)
}

fn widen(operand: &Tensor, range: Range<usize>, to: DType) -> Result<WidestElements, OpError> {
    macro_rules! widen {
        ($elements:expr, $kind:ident) => {
            WidestElements::$kind($elements[range].iter().map(|element| element.as_()).collect())
        };
    }
    let narrow = matches!(to, DType::U8 | DType::U16 | DType::I8 | DType::I16);
    let wide = match operand.data() {
        Data::I8(elements) => widen!(elements, Signed),
        Data::I16(elements) => widen!(elements, Signed),
        Data::I32(elements) => widen!(elements, Signed),
        Data::I64(elements) => widen!(elements, Signed),
        Data::U8(elements) => widen!(elements, Unsigned),
        Data::U16(elements) => widen!(elements, Unsigned),
        Data::U32(elements) => widen!(elements, Unsigned),
        Data::U64(elements) => widen!(elements, Unsigned),
        Data::F16(elements) => widen!(elements, Float),
        Data::BF16(elements) => widen!(elements, Float),
        Data::F32(elements) => widen!(elements, Float),
        Data::F64(elements) => widen!(elements, Float),
        Data::Bool(_) | Data::String(_) => return Err(OpError::dtype("a conversion", operand.dtype())),
    };
    Ok(match wide {
        WidestElements::Float(elements) if narrow => {
            WidestElements::Signed(elements.into_iter().map(|element| i64::from(element as i32)).collect())
        }
        wide => wide,
    })
}

/// Numbers as strings.
fn write(operand: &Tensor) -> Result<Vec<String>, OpError> {
    each_type!(integer: operand, |T, v| Ok(v.iter().map(T::to_string).collect()), else {
        Ok(operand.floats()?.into_iter().map(general).collect())
    })
}

/// C's `%.8g` format.
fn general(number: f64) -> String {
    const DIGITS: i32 = 8;
    if !number.is_finite() {
        let text = if number.is_nan() { "NaN" } else { "INF" };
        return if number < 0.0 { format!("-{text}") } else { text.to_owned() };
    }
    let scientific = format!("{number:.*e}", DIGITS as usize - 1);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..DIGITS).contains(&exponent) {
        trimmed(&format!("{number:.*}", (DIGITS - 1 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
    }
}

/// Parses numbers.
fn parse(texts: &[String], to: DType) -> Result<Data, OpError> {
    let float = |text: &String| -> Result<f64, OpError> {
        text.trim().parse().map_err(|_| OpError::invalid(format!("`{text}` is not a number")))
    };
    if to.is_integer() {
        let integer = |text: &String| match text.trim().parse::<i128>() {
            Ok(integer) => Ok(integer),
            Err(_) => float(text).map(|float| float as i128),
        };
        let integers: Vec<i128> = texts.iter().map(integer).collect::<Result<_, _>>()?;
        // Keeps the low bits, as other runtimes do.
        let low = |integer: &i128| *integer as u64;
        let data = Tensor::vector(integers.iter().map(low).collect::<Vec<u64>>());
        return if to == DType::U64 { Ok(data.into_data()) } else { numbers(&data, to) };
    }
    let floats: Vec<f64> = texts.iter().map(float).collect::<Result<_, _>>()?;
    Ok(Tensor::from_floats(to, [floats.len()], &floats)?.into_data())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_formatted_as_in_onnxruntime() -> Result<(), OpError> {
        let numbers = vec![1.0f32, 0.1, 1e-5, 1e10, 123_456_789.0, f32::NAN, f32::NEG_INFINITY, -0.0, 1e7, 1e8, 0.001];
        let texts = ["1", "0.1", "9.9999997e-06", "1e+10", "1.2345679e+08", "NaN", "-INF", "-0", "10000000", "1e+08"];
        let written = cast(&Tensor::vector(numbers), DType::String)?;
        assert_eq!(written.slice::<String>()?[..10], texts);
        assert_eq!(written.slice::<String>()?[10], "0.001");
        let read = cast(&Tensor::vector(vec!["300".to_owned(), " -1".to_owned(), "3.7".to_owned()]), DType::U8)?;
        assert_eq!(read, Tensor::vector(vec![44u8, 255, 3]));
        let read = cast(&Tensor::vector(vec!["1e5".to_owned(), "-INF".to_owned()]), DType::F16)?;
        assert_eq!(read.floats()?, [f64::INFINITY, f64::NEG_INFINITY]);
        assert!(cast(&Tensor::vector(vec!["ten".to_owned()]), DType::I8).is_err());
        Ok(())
    }

    #[test]
    fn conversions_out_of_range() -> Result<(), OpError> {
        let floats = Tensor::vector(vec![300.0f32, -1.0, -300.0, f32::NAN]);
        assert_eq!(cast(&floats, DType::U8)?, Tensor::vector(vec![44u8, 255, 212, 0]));
        assert_eq!(cast(&floats, DType::Bool)?, Tensor::vector(vec![true; 4]));
        assert_eq!(cast(&Tensor::vector(vec![3e9f32, -3e9]), DType::I32)?, Tensor::vector(vec![i32::MAX, i32::MIN]));
        assert_eq!(cast(&Tensor::vector(vec![-1i64]), DType::U16)?, Tensor::vector(vec![u16::MAX]));
        Ok(())
    }
}
