//! WGSL's operators, conversions and built-in functions on scalars, implemented from the
//! specification only.

use half::f16;

use super::ast::{Scalar, Value};
use super::values::Data;

/// Why a program has no unique result: a bug of the generator, never of the code under test.
pub(crate) type Undefined = String;

fn number(value: Value) -> Result<f32, Undefined> {
    match value {
        Value::F32(value) => Ok(value),
        Value::F16(value) => Ok(value.to_f32()),
        other => Err(format!("{other:?} is not a float")),
    }
}

/// Rounds an f32 to an f32 or f16; a NaN, or an f16 out of range, is a bug of the generator.
fn float(scalar: Scalar, value: f32) -> Result<Value, Undefined> {
    let result = match scalar {
        Scalar::F16 => Value::F16(f16::from_f32(value)),
        _ => Value::F32(value),
    };
    let lost = scalar == Scalar::F16 && value.is_finite() && !f16::from_f32(value).is_finite();
    if value.is_nan() || lost { Err(format!("{value} as {scalar:?}")) } else { Ok(result) }
}

/// Wraps an integer to its type.
fn integer(scalar: Scalar, value: i128) -> Value {
    Value::from_bits(scalar, value as u64)
}

pub(crate) fn unary(op: &str, a: Value) -> Result<Value, Undefined> {
    let scalar = a.scalar();
    match op {
        "!" => Ok(Value::Bool(a.bits() == 0)),
        "~" => Ok(integer(scalar, !a.integer())),
        _ if scalar.is_float() => float(scalar, -number(a)?),
        _ => Ok(integer(scalar, -a.integer())),
    }
}

pub(crate) fn binary(op: &str, a: Value, b: Value) -> Result<Value, Undefined> {
    let scalar = a.scalar();
    if scalar.is_float() {
        let (x, y) = (number(a)?, number(b)?);
        return match op {
            "+" => float(scalar, x + y),
            "-" => float(scalar, x - y),
            "*" => float(scalar, x * y),
            _ => compare(op, x.partial_cmp(&y).ok_or("a comparison with a NaN")?),
        };
    }
    let (x, y) = (a.integer(), b.integer());
    let shift = (y & i128::from(scalar.bits() - 1)) as u32;
    let value = match op {
        "+" => x + y,
        "-" => x - y,
        "*" => x.wrapping_mul(y),
        "/" => x.checked_div(y).unwrap_or(x),
        "%" => x.checked_rem(y).unwrap_or(0),
        "&" => x & y,
        "|" => x | y,
        "^" => x ^ y,
        "<<" => x << shift,
        ">>" => x >> shift,
        _ => return compare(op, x.cmp(&y)),
    };
    Ok(integer(scalar, value))
}

fn compare(op: &str, order: std::cmp::Ordering) -> Result<Value, Undefined> {
    Ok(Value::Bool(match op {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => return Err(format!("no operator {op}")),
    }))
}

pub(crate) fn convert(to: Scalar, a: Value) -> Result<Value, Undefined> {
    if to == Scalar::Bool {
        let zero = if a.scalar().is_float() { number(a)? == 0.0 } else { a.bits() == 0 };
        return Ok(Value::Bool(!zero));
    }
    if to.is_float() {
        return match a {
            Value::I32(value) => float(to, value as f32),
            Value::U32(value) => float(to, value as f32),
            Value::I64(value) => float(to, value as f32),
            Value::U64(value) => float(to, value as f32),
            Value::Bool(value) => float(to, f32::from(u8::from(value))),
            Value::F32(_) | Value::F16(_) => float(to, number(a)?),
        };
    }
    if !a.scalar().is_float() {
        return Ok(integer(to, a.integer()));
    }
    // Out-of-range values saturate to the nearest value that both types represent.
    let (low, high) = match (to, a.scalar()) {
        (Scalar::U32 | Scalar::U64, Scalar::F16) => (0.0, 65504.0),
        (_, Scalar::F16) => (-65504.0, 65504.0),
        (Scalar::I32, _) => (-2_147_483_648.0, 2_147_483_520.0),
        (Scalar::U32, _) => (0.0, 4_294_967_040.0),
        (Scalar::I64, _) => (-9_223_372_036_854_775_808.0, 9_223_371_487_098_961_920.0),
        (_, _) => (0.0, 18_446_742_974_197_923_840.0),
    };
    Ok(integer(to, number(a)?.trunc().clamp(low, high) as i128))
}

/// A built-in function, applied to one component of each argument.
pub(crate) fn by_component(name: &str, arguments: &[Value]) -> Result<Value, Undefined> {
    let a = arguments[0];
    let scalar = a.scalar();
    match (name, arguments) {
        ("select", &[no, yes, condition]) => Ok(if condition == Value::Bool(true) { yes } else { no }),
        _ if scalar.is_float() => float_function(name, arguments),
        ("abs", _) => Ok(integer(scalar, a.integer().abs())),
        ("sign", _) => Ok(integer(scalar, a.integer().signum())),
        ("min", &[a, b]) => Ok(integer(scalar, a.integer().min(b.integer()))),
        ("max", &[a, b]) => Ok(integer(scalar, a.integer().max(b.integer()))),
        ("clamp", &[a, low, high]) => Ok(integer(scalar, a.integer().max(low.integer()).min(high.integer()))),
        _ => Ok(bit_function(name, arguments)),
    }
}

fn bit_function(name: &str, arguments: &[Value]) -> Value {
    let a = arguments[0];
    let scalar = a.scalar();
    let (bits, width) = (a.bits(), scalar.bits());
    let range = |offset: Value, count: Value| {
        let start = (offset.bits() as u32).min(width);
        (start, (count.bits() as u32).min(width - start))
    };
    // The bits above the width are zero.
    let leading = bits.leading_zeros() - (64 - width);
    let value = match (name, arguments) {
        ("countOneBits", _) => bits.count_ones().into(),
        ("countLeadingZeros", _) => leading.into(),
        ("countTrailingZeros", _) => bits.trailing_zeros().min(width).into(),
        ("reverseBits", _) => i128::from(bits.reverse_bits() >> (64 - width)),
        ("firstTrailingBit", _) if bits == 0 => -1,
        ("firstTrailingBit", _) => bits.trailing_zeros().into(),
        ("firstLeadingBit", _) => {
            // For a negative number, the highest zero bit.
            let looked_at = if a.integer() < 0 { Value::from_bits(scalar, !bits).bits() } else { bits };
            63 - i128::from(looked_at.leading_zeros())
        }
        ("extractBits", &[_, offset, count]) => {
            let (start, length) = range(offset, count);
            let field = (i128::from(bits) >> start) & ((1 << length) - 1);
            let negative = matches!(scalar, Scalar::I32 | Scalar::I64) && length > 0 && field >> (length - 1) == 1;
            if negative { field - (1 << length) } else { field }
        }
        ("insertBits", &[_, new, offset, count]) => {
            let (start, length) = range(offset, count);
            let mask = ((1i128 << length) - 1) << start;
            (i128::from(bits) & !mask) | ((i128::from(new.bits()) << start) & mask)
        }
        _ => unreachable!("the generator does not emit `{name}`"),
    };
    integer(scalar, value)
}

fn float_function(name: &str, arguments: &[Value]) -> Result<Value, Undefined> {
    let scalar = arguments[0].scalar();
    let x = number(arguments[0])?;
    let at = |index: usize| number(arguments[index]);
    let value = match name {
        "abs" => x.abs(),
        "sign" if x == 0.0 => 0.0,
        "sign" => x.signum(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        "round" => x.round_ties_even(),
        "fract" => x - x.floor(),
        "saturate" => x.clamp(0.0, 1.0),
        "min" => x.min(at(1)?),
        "max" => x.max(at(1)?),
        "clamp" => x.max(at(1)?).min(at(2)?),
        "step" => f32::from(u8::from(x <= at(1)?)),
        "fma" => x.mul_add(at(1)?, at(2)?),
        // The exponents in use keep both factors and the product normal or exact.
        "ldexp" => (f64::from(x) * 2f64.powi(arguments[1].integer() as i32)) as f32,
        "quantizeToF16" => f16::from_f32(x).to_f32(),
        "modf.fract" => x - x.trunc(),
        "modf.whole" => x.trunc(),
        "frexp.fract" => f64_frexp(x).0,
        "frexp.exp" => return Ok(Value::I32(f64_frexp(x).1)),
        _ => return Err(format!("no function {name}")),
    };
    float(scalar, value)
}

/// Fraction in [0.5, 1) and exponent; every f32 is normal in f64.
fn f64_frexp(x: f32) -> (f32, i32) {
    if x == 0.0 {
        return (0.0, 0);
    }
    let bits = f64::from(x).to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022;
    (f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52)) as f32, exponent)
}

/// A built-in function that does not work per component.
pub(crate) fn whole(name: &str, arguments: &[Data]) -> Option<Result<Data, Undefined>> {
    let scalars = |data: &Data| {
        let mut all = Vec::new();
        data.flatten(&mut all);
        all
    };
    let bytes = |data: &Data| scalars(data).first().map_or([0; 4], |word| (word.bits() as u32).to_le_bytes());
    let word = |bytes: [u8; 4]| Data::One(Value::U32(u32::from_le_bytes(bytes)));
    let lanes = |values: Vec<Value>| Data::Many(values.into_iter().map(Data::One).collect());
    let first = &arguments[0];
    Some(Ok(match name {
        "dot" => {
            let (a, b) = (scalars(first), scalars(&arguments[1]));
            let sum =
                a.iter().zip(&b).fold(0i128, |sum, (a, b)| sum.wrapping_add(a.integer().wrapping_mul(b.integer())));
            Data::One(integer(a[0].scalar(), sum))
        }
        "all" => Data::One(Value::Bool(scalars(first).iter().all(|one| one.bits() == 1))),
        "any" => Data::One(Value::Bool(scalars(first).iter().any(|one| one.bits() == 1))),
        "dot4U8Packed" => {
            let products = bytes(first).into_iter().zip(bytes(&arguments[1])).map(|(a, b)| u32::from(a) * u32::from(b));
            Data::One(Value::U32(products.sum()))
        }
        "dot4I8Packed" => {
            let pairs = bytes(first).into_iter().zip(bytes(&arguments[1]));
            Data::One(Value::I32(pairs.map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum()))
        }
        "unpack4xU8" => lanes(bytes(first).map(|one| Value::U32(one.into())).to_vec()),
        "unpack4xI8" => lanes(bytes(first).map(|one| Value::I32((one as i8).into())).to_vec()),
        "pack4xU8" | "pack4xI8" | "pack4xU8Clamp" | "pack4xI8Clamp" => {
            let all = scalars(first);
            word(std::array::from_fn(|lane| match name {
                "pack4xU8Clamp" => all[lane].integer().min(255) as u8,
                "pack4xI8Clamp" => all[lane].integer().clamp(-128, 127) as u8,
                _ => all[lane].integer() as u8,
            }))
        }
        "unpack2x16float" => {
            let [a, b, c, d] = bytes(first);
            let half = |bytes| Value::F32(f16::from_le_bytes(bytes).to_f32());
            lanes(vec![half([a, b]), half([c, d])])
        }
        "pack2x16float" => {
            let all = scalars(first);
            let half = |value: Value| number(value).map(|value| f16::from_f32(value).to_le_bytes());
            match (half(all[0]), half(all[1])) {
                (Ok([a, b]), Ok([c, d])) => word([a, b, c, d]),
                (Err(why), _) | (_, Err(why)) => return Some(Err(why)),
            }
        }
        _ => return None,
    }))
}
