//! The operations of an elementwise program, each over a block.

use crate::math;
use roci_families::ElementwiseOp;
use roci_simd::{Level, Simd, Task};

/// The sign of an f32.
const SIGN: u32 = 0x8000_0000;
/// The bits of infinity.
const INFINITE: u32 = 0x7f80_0000;

/// `y = f(x)` of words.
#[inline(always)]
fn words(x: &[u32], y: &mut [u32], f: impl Fn(u32) -> u32) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = f(x);
    }
}

/// `y = f(x)` of floats.
#[inline(always)]
fn floats(x: &[u32], y: &mut [u32], f: impl Fn(f32) -> f32) {
    let x: &[f32] = bytemuck::cast_slice(x);
    for (y, &x) in bytemuck::cast_slice_mut::<u32, f32>(y).iter_mut().zip(x) {
        *y = f(x);
    }
}

/// `y = f(acc, x)` of words.
#[inline(always)]
fn word_pairs(acc: &[u32], x: &[u32], y: &mut [u32], f: impl Fn(u32, u32) -> u32) {
    for ((y, &acc), &x) in y.iter_mut().zip(acc).zip(x) {
        *y = f(acc, x);
    }
}

/// `y = f(acc, x)` of signed integers.
#[inline(always)]
fn integer_pairs(acc: &[u32], x: &[u32], y: &mut [u32], f: impl Fn(i32, i32) -> i32) {
    word_pairs(acc, x, y, |acc, x| f(acc as i32, x as i32) as u32);
}

/// `y = f(acc, x)` of floats.
#[inline(always)]
fn float_pairs(acc: &[u32], x: &[u32], y: &mut [u32], f: impl Fn(f32, f32) -> f32) {
    let (acc, x): (&[f32], &[f32]) = (bytemuck::cast_slice(acc), bytemuck::cast_slice(x));
    for ((y, &acc), &x) in bytemuck::cast_slice_mut::<u32, f32>(y).iter_mut().zip(acc).zip(x) {
        *y = f(acc, x);
    }
}

/// `y = f(acc, x)` of floats, as 0 or 1.
#[inline(always)]
fn compared(acc: &[u32], x: &[u32], y: &mut [u32], f: impl Fn(f32, f32) -> bool) {
    word_pairs(acc, x, y, |acc, x| f(f32::from_bits(acc), f32::from_bits(x)).into());
}

/// `x` where `condition` is not zero, else `other`.
pub(super) fn select(condition: &[u32], x: &[u32], other: &[u32], y: &mut [u32]) {
    for (((y, &condition), &x), &other) in y.iter_mut().zip(condition).zip(x).zip(other) {
        *y = if condition != 0 { x } else { other };
    }
}

/// Any operation that computes; `x` is the operand of those that take one.
pub(super) fn apply(level: Level, op: ElementwiseOp, acc: &[u32], x: &[u32], y: &mut [u32]) {
    use ElementwiseOp::*;
    match op {
        Neg | Abs | Ceil | Floor | Round | Sqrt | Reciprocal | Exp | Log | Sin | Cos | Tanh | Erf | Sigmoid | Relu
        | Gelu | Softplus | Add | Sub | RSub | Mul | Div | RDiv | Min | Max | Leaky | Elu => {
            level.run(OpTask { op, acc, x, y });
        }
        Pow => level.run(PowTask { base: acc, exponent: x, y }),
        RPow => level.run(PowTask { base: x, exponent: acc, y }),
        Sign => floats(acc, y, sign),
        Tan => floats(acc, y, |v| f64::from(v).tan() as f32),
        Asin => floats(acc, y, |v| f64::from(v).asin() as f32),
        Acos => floats(acc, y, |v| f64::from(v).acos() as f32),
        Atan => floats(acc, y, |v| f64::from(v).atan() as f32),
        Sinh => floats(acc, y, |v| f64::from(v).sinh() as f32),
        Cosh => floats(acc, y, |v| f64::from(v).cosh() as f32),
        Asinh => floats(acc, y, |v| f64::from(v).asinh() as f32),
        Acosh => floats(acc, y, |v| f64::from(v).acosh() as f32),
        Atanh => floats(acc, y, |v| f64::from(v).atanh() as f32),
        IsNan => words(acc, y, |v| (v & !SIGN > INFINITE).into()),
        IsPositiveInfinity => words(acc, y, |v| (v == INFINITE).into()),
        IsNegativeInfinity => words(acc, y, |v| (v == SIGN | INFINITE).into()),
        NegI32 => words(acc, y, u32::wrapping_neg),
        AbsI32 => words(acc, y, |v| (v as i32).wrapping_abs() as u32),
        SignI32 => words(acc, y, |v| (v as i32).signum() as u32),
        Not => words(acc, y, |v| !v),
        IsZero => words(acc, y, |v| (v == 0).into()),
        F32ToI32 => words(acc, y, |v| f32::from_bits(v) as i32 as u32),
        F32ToU32 => words(acc, y, |v| f32::from_bits(v) as u32),
        I32ToF32 => words(acc, y, |v| (v as i32 as f32).to_bits()),
        U32ToF32 => words(acc, y, |v| (v as f32).to_bits()),
        F32ToBool => words(acc, y, |v| (v & !SIGN != 0).into()),
        WordToBool => words(acc, y, |v| (v != 0).into()),
        WrapI8 => words(acc, y, |v| v as i8 as u32),
        WrapU8 => words(acc, y, |v| v & 0xff),
        WrapI16 => words(acc, y, |v| v as i16 as u32),
        WrapU16 => words(acc, y, |v| v & 0xffff),
        RoundF16 => words(acc, y, round_to_f16),
        RoundBf16 => words(acc, y, round_to_bf16),
        Fmod => float_pairs(acc, x, y, |p, q| p % q),
        Modulo => float_pairs(acc, x, y, modulo),
        Less => compared(acc, x, y, |p, q| p < q),
        LessEqual => compared(acc, x, y, |p, q| p <= q),
        Equal => compared(acc, x, y, |p, q| p == q),
        Greater => compared(acc, x, y, |p, q| p > q),
        GreaterEqual => compared(acc, x, y, |p, q| p >= q),
        Threshold => float_pairs(acc, x, y, |p, q| if p > q { p } else { 0.0 }),
        AddI32 => word_pairs(acc, x, y, u32::wrapping_add),
        SubI32 => word_pairs(acc, x, y, u32::wrapping_sub),
        MulI32 => word_pairs(acc, x, y, u32::wrapping_mul),
        DivI32 => integer_pairs(acc, x, y, |p, q| if q == 0 { 0 } else { p.wrapping_div(q) }),
        ModI32 => integer_pairs(acc, x, y, |p, q| if q == 0 { 0 } else { p.wrapping_rem(q) }),
        ModuloI32 => integer_pairs(acc, x, y, modulo_i32),
        MinI32 => integer_pairs(acc, x, y, i32::min),
        MaxI32 => integer_pairs(acc, x, y, i32::max),
        PowI32 => integer_pairs(acc, x, y, pow_i32),
        LessI32 => integer_pairs(acc, x, y, |p, q| (p < q).into()),
        LessEqualI32 => integer_pairs(acc, x, y, |p, q| (p <= q).into()),
        GreaterI32 => integer_pairs(acc, x, y, |p, q| (p > q).into()),
        GreaterEqualI32 => integer_pairs(acc, x, y, |p, q| (p >= q).into()),
        DivU32 => word_pairs(acc, x, y, |p, q| p.checked_div(q).unwrap_or(0)),
        ModU32 => word_pairs(acc, x, y, |p, q| p.checked_rem(q).unwrap_or(0)),
        MinU32 => word_pairs(acc, x, y, u32::min),
        MaxU32 => word_pairs(acc, x, y, u32::max),
        LessU32 => word_pairs(acc, x, y, |p, q| (p < q).into()),
        LessEqualU32 => word_pairs(acc, x, y, |p, q| (p <= q).into()),
        GreaterU32 => word_pairs(acc, x, y, |p, q| (p > q).into()),
        GreaterEqualU32 => word_pairs(acc, x, y, |p, q| (p >= q).into()),
        EqualWord => word_pairs(acc, x, y, |p, q| (p == q).into()),
        And => word_pairs(acc, x, y, |p, q| p & q),
        Or => word_pairs(acc, x, y, |p, q| p | q),
        Xor => word_pairs(acc, x, y, |p, q| p ^ q),
        ShiftLeft => word_pairs(acc, x, y, |p, q| if q < 32 { p << (q & 31) } else { 0 }),
        ShiftRight => word_pairs(acc, x, y, |p, q| if q < 32 { p >> (q & 31) } else { 0 }),
        // The interpreter moves words itself.
        End | Save | Coordinate | Load | Select => {}
    }
}

/// Operations that are common, or much faster with wider vectors. Only these are compiled for each
/// level, to limit the compile time: memory limits the others even at the baseline.
struct OpTask<'a> {
    op: ElementwiseOp,
    acc: &'a [u32],
    x: &'a [u32],
    y: &'a mut [u32],
}

impl Task for OpTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        use ElementwiseOp::*;
        let OpTask { op, acc, x, y } = self;
        // Swapped operands, so that one loop serves both.
        let (acc, x) = if matches!(op, RSub | RDiv) { (x, acc) } else { (acc, x) };
        match op {
            Neg => words(acc, y, |v| v ^ SIGN),
            Abs => words(acc, y, |v| v & !SIGN),
            Sqrt => floats(acc, y, f32::sqrt),
            Reciprocal => floats(acc, y, |v| 1.0 / v),
            Relu => floats(acc, y, math::relu),
            Add => float_pairs(acc, x, y, |p, q| p + q),
            Sub | RSub => float_pairs(acc, x, y, |p, q| p - q),
            Mul => float_pairs(acc, x, y, |p, q| p * q),
            Div | RDiv => float_pairs(acc, x, y, |p, q| p / q),
            // Comparisons with NaN are false, so a NaN in `p` stays.
            Min => float_pairs(acc, x, y, |p, q| if q < p || q.is_nan() { q } else { p }),
            Max => float_pairs(acc, x, y, |p, q| if q > p || q.is_nan() { q } else { p }),
            Leaky => float_pairs(acc, x, y, |p, q| if p < 0.0 { p * q } else { p }),
            Ceil => floats(acc, y, f32::ceil),
            Floor => floats(acc, y, f32::floor),
            Round => floats(acc, y, f32::round_ties_even),
            Exp => floats(acc, y, math::exp),
            Log => floats(acc, y, math::log),
            Sin => {
                floats(acc, y, math::sin);
                recompute_large(acc, y, f64::sin);
            }
            Cos => {
                floats(acc, y, math::cos);
                recompute_large(acc, y, f64::cos);
            }
            Tanh => floats(acc, y, math::tanh),
            Erf => floats(acc, y, math::erf),
            Sigmoid => floats(acc, y, math::sigmoid),
            Gelu => floats(acc, y, math::gelu),
            Softplus => floats(acc, y, math::softplus),
            Elu => float_pairs(acc, x, y, |p, q| if p < 0.0 { q * math::exp_m1(p) } else { p }),
            _ => {}
        }
    }
}

/// A separate task: in the same `match` as the others, its loop does not vectorize.
struct PowTask<'a> {
    base: &'a [u32],
    exponent: &'a [u32],
    y: &'a mut [u32],
}

impl Task for PowTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        float_pairs(self.base, self.exponent, self.y, math::pow);
    }
}

/// Recomputes elements beyond [`math::TRIGONOMETRIC_LIMIT`].
fn recompute_large(acc: &[u32], y: &mut [u32], exact: fn(f64) -> f64) {
    let limit = math::TRIGONOMETRIC_LIMIT;
    // This check vectorizes; large arguments are rare.
    if acc.iter().fold(false, |any, &x| any | (f32::from_bits(x).abs() > limit)) {
        for (y, x) in y.iter_mut().zip(acc.iter().map(|&x| f32::from_bits(x))).filter(|(_, x)| x.abs() > limit) {
            *y = (exact(x.into()) as f32).to_bits();
        }
    }
}

#[inline(always)]
fn sign(v: f32) -> f32 {
    let below = if v < 0.0 { -1.0 } else { 0.0 };
    let one = if v > 0.0 { 1.0 } else { below };
    if v.is_nan() { v } else { one }
}

/// The remainder with the sign of the divisor.
#[inline(always)]
fn modulo(p: f32, q: f32) -> f32 {
    let rest = p % q;
    if rest != 0.0 && (rest < 0.0) != (q < 0.0) { rest + q } else { rest }
}

/// The remainder with the sign of the divisor; 0 if that is 0.
#[inline(always)]
fn modulo_i32(p: i32, q: i32) -> i32 {
    if q == 0 {
        return 0;
    }
    let rest = p.wrapping_rem(q);
    if rest != 0 && (rest < 0) != (q < 0) { rest.wrapping_add(q) } else { rest }
}

fn pow_i32(base: i32, exponent: i32) -> i32 {
    match (u32::try_from(exponent), base) {
        (Ok(exponent), _) => base.wrapping_pow(exponent),
        (Err(_), 1) => 1,
        (Err(_), -1) => 1 - 2 * (exponent & 1),
        (Err(_), _) => 0,
    }
}

/// Rounds the bits of an f32 to the nearest f16, by integer arithmetic, which vectorizes at the
/// baseline.
#[inline(always)]
fn round_to_f16(v: u32) -> u32 {
    let sign = v & SIGN;
    let m = v & !SIGN;
    let usual = (m + 0xfff + ((m >> 13) & 1)) & 0xffff_e000;
    // Subnormal f16 are multiples of 2^-24.
    let shift = 126u32.saturating_sub(m >> 23).clamp(1, 26);
    let digits = (m & 0x007f_ffff) | 0x0080_0000;
    let steps = (digits + (1 << (shift - 1)) - 1 + ((digits >> shift) & 1)) >> shift;
    let small = (steps as f32 * (1.0 / 16_777_216.0)).to_bits();
    let value = if m < 0x3880_0000 { small } else { usual };
    let finite = if m >= 0x477f_f000 { INFINITE } else { value };
    if m >= INFINITE { v } else { sign | finite }
}

/// Rounds the bits of an f32 to the nearest bf16.
#[inline(always)]
fn round_to_bf16(v: u32) -> u32 {
    let rounded = v.wrapping_add(0x7fff + ((v >> 16) & 1)) & 0xffff_0000;
    if v & !SIGN > INFINITE { v } else { rounded }
}
