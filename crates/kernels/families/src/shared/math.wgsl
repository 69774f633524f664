// Math functions shared by kernels; appended to a kernel's source, and unused ones are removed.
//
// Vulkan allows large errors: exp() is off by up to 3 + 2 |x| ULP, sin() by 2^-11 and by more
// outside [-pi, pi], and tanh() inherits the error of exp(). NaN is tested by its bits, because
// compilers may assume that the operands of comparisons are not NaN.

fn is_nan(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u;
}

// Variables, because WGSL has no constants for them.
fn infinity() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}

fn quiet_nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn copysign(magnitude: f32, v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(magnitude) | (bitcast<u32>(v) & 0x80000000u));
}

// v * 2^n, for n from -252 to 254.
fn mul_pow2(v: f32, n: i32) -> f32 {
    let lower = n / 2;
    return v * bitcast<f32>(u32(lower + 127) << 23u) * bitcast<f32>(u32(n - lower + 127) << 23u);
}

// (e^v - 1 - v) / v^2, for v from -0.6 to 0.6.
fn expm1_polynomial(v: f32) -> f32 {
    return 0.5 + v * (0.166666681 + v * (0.0416666681 + v * (0.00833301917 + v * (0.0013888575
        + v * (0.00020015593 + v * 0.0000249757915)))));
}

fn precise_exp(v: f32) -> f32 {
    let bounded = clamp(v, -104.0, 89.0);
    let n = round(bounded * 1.44269504);
    let r = (bounded - n * 0.693359375) + n * 0.000212194440;
    let value = mul_pow2(1.0 + (r + r * r * expm1_polynomial(r)), i32(n));
    return select(value, v, is_nan(v));
}

// e^v - 1, accurate near zero.
fn expm1(v: f32) -> f32 {
    return select(precise_exp(v) - 1.0, v + v * v * expm1_polynomial(v), abs(v) < 0.5);
}

fn precise_log(v: f32) -> f32 {
    let input_bits = bitcast<u32>(v);
    var bits = input_bits;
    var exponent = 0;
    if bits < 0x00800000u {
        // Subnormal: scaled by the smallest subnormal.
        bits = bitcast<u32>(f32(bits));
        exponent = -149;
    }
    // Split so that the fraction is between sqrt(1/2) and sqrt(2).
    let shifted = bits - 0x3f3504f3u;
    let k = f32(exponent + (bitcast<i32>(shifted) >> 23u));
    let f = bitcast<f32>((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * (0.66666662693 + z * (0.40000972152 + z * (0.28498786688 + z * 0.24279078841)));
    let square = 0.5 * f * f;
    var value = k * 0.69313812256 - ((square - (s * (square + r) + k * 0.0000090580006145)) - f);
    if (input_bits & 0x7fffffffu) == 0u {
        value = -infinity();
    } else if input_bits > 0x80000000u {
        value = quiet_nan();
    } else if input_bits >= 0x7f800000u {
        value = v;
    }
    return value;
}

// atanh(v), for v from -1/3 to 1/3.
fn atanh_polynomial(v: f32) -> f32 {
    let z = v * v;
    return v + v * z * (0.333333337 + z * (0.199998532 + z * (0.14296179 + z * (0.10853288 + z * 0.116121642))));
}

// log(1 + v) for v >= 0, accurate near zero.
fn log1p(v: f32) -> f32 {
    return select(precise_log(1.0 + v), 2.0 * atanh_polynomial(v / (2.0 + v)), v <= 1.0);
}

fn sigmoid(v: f32) -> f32 {
    let e = precise_exp(-abs(v));
    return select(1.0, e, v < 0.0) / (1.0 + e);
}

fn softplus(v: f32) -> f32 {
    return max(v, 0.0) + log1p(precise_exp(-abs(v)));
}

fn precise_sinh(v: f32) -> f32 {
    let z = v * v;
    let small = v + v * z * (0.166666666 + z * (0.00833333968 + z * (0.00019838102 + z * 0.00000280628025)));
    let root = precise_exp(0.5 * abs(v));
    let e = root * root;
    let large = select(0.5 * (e - 1.0 / e), 0.5 * root * root, abs(v) > 80.0);
    return select(copysign(large, v), small, abs(v) < 1.0);
}

fn precise_cosh(v: f32) -> f32 {
    let root = precise_exp(0.5 * abs(v));
    let e = root * root;
    return select(0.5 * (e + 1.0 / e), 0.5 * root * root, abs(v) > 80.0);
}

// tanh(v); above 10 it rounds to one.
fn precise_tanh(v: f32) -> f32 {
    let t = expm1(2.0 * min(abs(v), 10.0));
    return select(copysign(t / (t + 2.0), v), v, is_nan(v));
}

fn precise_asinh(v: f32) -> f32 {
    let s = abs(v);
    let small = log1p(s + s * s / (1.0 + sqrt(1.0 + s * s)));
    return copysign(select(small, precise_log(s) + 0.693147181, s > 1e9), v);
}

fn precise_acosh(v: f32) -> f32 {
    let t = v - 1.0;
    let small = log1p(t + sqrt(t * (t + 2.0)));
    return select(select(small, precise_log(v) + 0.693147181, v > 1e9), quiet_nan(), v < 1.0);
}

fn precise_atanh(v: f32) -> f32 {
    let s = abs(v);
    let value = select(0.5 * precise_log((1.0 + s) / (1.0 - s)), atanh_polynomial(s), s < 0.333333);
    return copysign(select(select(value, infinity(), s == 1.0), quiet_nan(), s > 1.0), v);
}

// The complementary error function for z >= 0, as t * exp(polynomial(t) - z * z) with t = 1 / (1 +
// z / 2). The polynomial interpolates at Chebyshev nodes. Its relative error is below 2e-7 up to z
// = 10, where the value itself is below the smallest f32.
fn erfc_positive(z: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * z);
    var p = 0.148046046;
    p = p * t - 0.697536588;
    p = p * t + 1.19532764;
    p = p * t - 0.746469915;
    p = p * t - 0.0398663245;
    p = p * t - 0.0195079986;
    p = p * t + 0.0413959622;
    p = p * t + 0.385283619;
    p = p * t + 0.998782456;
    p = p * t - 1.26545489;
    return t * precise_exp(p - z * z);
}

fn erf(v: f32) -> f32 {
    let z = v * v;
    let small = v * (1.12837917 + z * (-0.376126267 + z * (0.112835947 + z * (-0.026854212 + z * (0.00518908742
        + z * (-0.000801686428 + z * 0.0000787587504))))));
    return select(copysign(1.0 - erfc_positive(abs(v)), v), small, abs(v) < 1.0);
}

// GELU: x * (1 + erf(x / sqrt 2)) / 2. The tail is computed directly, so that negative x keeps its
// relative precision. Below -20 it rounds to zero.
fn gelu(v: f32) -> f32 {
    let bounded = select(v, -20.0, v < -20.0);
    let tail = 0.5 * erfc_positive(abs(bounded) * 0.70710678);
    return bounded * select(1.0 - tail, tail, v < 0.0);
}

// max(v, 0) that propagates NaN. Uses the bits, because compilers turn max() into a comparison that
// loses NaN.
fn relu(v: f32) -> f32 {
    let bits = bitcast<u32>(v);
    return select(v, 0.0, bits > 0x80000000u && bits <= 0xff800000u);
}

// The 64-bit product of 32-bit integers: low word, high word.
fn mul_wide(p: u32, q: u32) -> vec2<u32> {
    let low = (p & 0xffffu) * (q & 0xffffu);
    let left = (p >> 16u) * (q & 0xffffu) + (low >> 16u);
    let right = (p & 0xffffu) * (q >> 16u) + (left & 0xffffu);
    return vec2<u32>(p * q, (p >> 16u) * (q >> 16u) + (left >> 16u) + (right >> 16u));
}

// 2 / pi as words after the binary point, preceded by the integer word.
fn two_over_pi_word(i: u32) -> u32 {
    switch i {
        case 1u: { return 0xa2f9836eu; }
        case 2u: { return 0x4e441529u; }
        case 3u: { return 0xfc2757d1u; }
        case 4u: { return 0xf534ddc0u; }
        case 5u: { return 0xdb629599u; }
        case 6u: { return 0x3c439041u; }
        case 7u: { return 0xfe5163abu; }
        default: { return 0u; }
    }
}

// 32 bits of 2 / pi, starting at bit `start` of those words.
fn two_over_pi_bits(start: u32) -> u32 {
    let shift = start & 31u;
    let first = two_over_pi_word(start >> 5u) << shift;
    return select(first | (two_over_pi_word((start >> 5u) + 1u) >> ((32u - shift) & 31u)), first, shift == 0u);
}

// Payne-Hanek reduction of a large angle: the quadrant and the remainder. The 24-bit significand is
// multiplied by those bits of 2 / pi that contribute neither full turns nor less than the
// precision.
fn payne_hanek(v: f32) -> vec2<f32> {
    let bits = bitcast<u32>(v) & 0x7fffffffu;
    let significand = (bits & 0x007fffffu) | 0x00800000u;
    let start = (bits >> 23u) - 120u;
    let low = mul_wide(significand, two_over_pi_bits(start + 64u));
    let middle = mul_wide(significand, two_over_pi_bits(start + 32u));
    let second = low.y + middle.x;
    let first = significand * two_over_pi_bits(start) + middle.y + select(0u, 1u, second < low.y);
    let quadrant = (first + 0x20000000u) >> 30u;
    // The remainder in quarter turns, as a signed 64-bit fraction.
    var high_word = (first << 2u) | (second >> 30u);
    var low_word = (second << 2u) | (low.x >> 30u);
    let negative = high_word >= 0x80000000u;
    if negative {
        high_word = ~high_word + select(0u, 1u, low_word == 0u);
        low_word = 0u - low_word;
    }
    var exponent = 0u;
    if high_word == 0u {
        high_word = low_word;
        low_word = 0u;
        exponent = 32u;
    }
    let zeros = countLeadingZeros(high_word) & 31u;
    let leading_bits = (high_word << zeros) | select(low_word >> ((32u - zeros) & 31u), 0u, zeros == 0u);
    let fraction = f32(leading_bits) * bitcast<f32>((95u - exponent - zeros) << 23u) * 1.57079633;
    let result = vec2<f32>(select(fraction, -fraction, negative), f32(quadrant));
    return select(result, -result, v < 0.0);
}

struct ReducedAngle {
    sine: f32,
    cosine: f32,
    quadrant: i32,
}

// Reduces an angle to a quadrant and the sine and cosine of the remainder within [-pi/4, pi/4]:
// subtracts multiples of pi / 2 in three parts (Cody-Waite). Above 8192 that would lose precision.
fn reduce_angle(v: f32) -> ReducedAngle {
    var quadrant = round(v * 0.636619772);
    var r = ((v - quadrant * 1.5703125) - quadrant * 0.00048375129699707031) - quadrant * 0.0000000754978995489188216;
    let bits = bitcast<u32>(v) & 0x7fffffffu;
    if bits >= 0x7f800000u {
        quadrant = 0.0;
        r = quiet_nan();
    } else if bits >= 0x46000000u {
        let large = payne_hanek(v);
        r = large.x;
        quadrant = large.y;
    }
    let s = r * r;
    let sine = r + r * s * (-0.16666654611 + s * (0.0083321608736 - s * 0.00019515295891));
    let cosine = 1.0 - 0.5 * s + s * s * (0.041666645683 + s * (-0.0013887316255 + s * 0.000024433157118));
    return ReducedAngle(sine, cosine, i32(quadrant));
}

// sin(v + quarter_turns * pi / 2).
fn shifted_sin(v: f32, quarter_turns: i32) -> f32 {
    let angle = reduce_angle(v);
    let quadrant = (angle.quadrant + quarter_turns) & 3;
    let value = select(angle.sine, angle.cosine, (quadrant & 1) == 1);
    return select(value, -value, quadrant >= 2);
}

fn precise_tan(v: f32) -> f32 {
    let angle = reduce_angle(v);
    let odd = (angle.quadrant & 1) == 1;
    return select(angle.sine, -angle.cosine, odd) / select(angle.cosine, angle.sine, odd);
}

// asin(v) for results from 0 to pi / 6, given v * v; the remaining range uses half of the
// complementary angle.
fn asin_polynomial(v: f32, z: f32) -> f32 {
    return v + v * z * (0.16666752422 + z * (0.074953002686 + z * (0.045470025998 + z * (0.024181311049
        + z * 0.042163199048))));
}

fn precise_asin(v: f32) -> f32 {
    let s = abs(v);
    let z = 0.5 * (1.0 - s);
    let value = select(asin_polynomial(s, s * s), 1.57079633 - 2.0 * asin_polynomial(sqrt(z), z), s > 0.5);
    return copysign(select(value, quiet_nan(), s > 1.0), v);
}

fn precise_acos(v: f32) -> f32 {
    let s = abs(v);
    let z = 0.5 * (1.0 - s);
    let outer_angle = 2.0 * asin_polynomial(sqrt(z), z);
    let value = select(1.57079633 - asin_polynomial(v, v * v), select(outer_angle, 3.14159265 - outer_angle, v < 0.0), s > 0.5);
    return select(value, quiet_nan(), s > 1.0);
}

fn precise_atan(v: f32) -> f32 {
    let s = abs(v);
    let is_middle = s > 0.414213562;
    let is_large = s > 2.41421356;
    let w = select(select(s, (s - 1.0) / (s + 1.0), is_middle), -1.0 / s, is_large);
    let offset = select(select(0.0, 0.785398163, is_middle), 1.57079633, is_large);
    let z = w * w;
    let tail = z * w * (-0.333329491539 + z * (0.199777106478 + z * (-0.138776856032 + z * 0.0805374449538)));
    return copysign(offset + (tail + w), v);
}

// The number with the lower 12 bits of its significand cleared.
fn high_bits(v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(v) & 0xfffff000u);
}

// x^y for finite x > 0, as 2^(y * log2 x) with a two-part logarithm: FreeBSD's e_powf.c.
fn pow_positive(x: f32, exponent: f32) -> f32 {
    var bits = bitcast<u32>(x);
    var n = 0;
    if bits < 0x00800000u {
        bits = bitcast<u32>(f32(bits));
        n = -149;
    }
    n += i32(bits >> 23u) - 127;
    let mantissa = bits & 0x007fffffu;
    bits = mantissa | 0x3f800000u;
    // Whether the significand is near 1.5, otherwise near 1.
    var near_1_5 = false;
    if mantissa > 0x1cc471u {
        if mantissa < 0x5db3d7u {
            near_1_5 = true;
        } else {
            n += 1;
            bits -= 0x00800000u;
        }
    }
    let center = select(1.0, 1.5, near_1_5);
    let m = bitcast<f32>(bits);
    let difference = m - center;
    let inverse_sum = 1.0 / (m + center);
    let s = difference * inverse_sum;
    let s_high = high_bits(s);
    let sum_bits = (((bits >> 1u) & 0xfffff000u) | 0x20000000u) + 0x00400000u;
    let sum_high = bitcast<f32>(sum_bits + select(0u, 0x00200000u, near_1_5));
    let sum_low = m - (sum_high - center);
    let s_low = inverse_sum * ((difference - s_high * sum_high) - s_high * sum_low);
    let s2 = s * s;
    let series = s2 * s2 * (0.60000002384 + s2 * (0.42857143283 + s2 * (0.33333334327 + s2 * (0.27272811532
        + s2 * (0.23066075146 + s2 * 0.20697501302))))) + s_low * (s_high + s);
    let square = s_high * s_high;
    let t_high = high_bits(3.0 + square + series);
    let t_low = series - ((t_high - 3.0) - square);
    let u = s_high * t_high;
    let v = s_low * t_high + t_low * s;
    let p_high = high_bits(u + v);
    let p_low = v - (p_high - u);
    let z_high = 0.96191406250 * p_high;
    let z_low = -0.00011736857402 * p_high + p_low * 0.96179670095 + select(0.0, 0.00000156322085, near_1_5);
    let center_log2 = select(0.0, 0.584960938, near_1_5);
    let integer_part = f32(n);
    let log2_high = high_bits(((z_high + z_low) + center_log2) + integer_part);
    let log2_low = z_low - (((log2_high - integer_part) - center_log2) - z_high);
    // Above these bounds every power is zero or infinite, unless the base is 1.
    let y = clamp(exponent, -1e12, 1e12);
    let y_high = high_bits(y);
    let power_low = (y - y_high) * log2_high + y * log2_low;
    let power_high = y_high * log2_high;
    let power = power_low + power_high;
    if power >= 128.0 {
        return infinity();
    }
    if power < -150.0 {
        return 0.0;
    }
    let k = round(power);
    let fraction_high = power_high - k;
    let r_high = high_bits(power_low + fraction_high);
    let r_low = power_low - (r_high - fraction_high);
    let ln_high = r_high * 0.693145752;
    let ln_low = r_low * 0.69314718246 + r_high * 0.00000142860654;
    let r = ln_high + ln_low;
    return mul_pow2(1.0 + (r + r * r * expm1_polynomial(r)), i32(k));
}

// C's powf(): WGSL leaves pow() undefined for zero and negative bases.
fn precise_pow(base: f32, exponent: f32) -> f32 {
    let base_bits = bitcast<u32>(base);
    let exponent_bits = bitcast<u32>(exponent);
    let x = base_bits & 0x7fffffffu;
    let y = exponent_bits & 0x7fffffffu;
    if y == 0u || base_bits == 0x3f800000u {
        return 1.0;
    }
    if x > 0x7f800000u || y > 0x7f800000u {
        return quiet_nan();
    }
    let negative = base_bits >= 0x80000000u;
    let positive_exponent = exponent_bits < 0x80000000u;
    let is_integer = y >= 0x4b800000u || exponent == floor(exponent);
    let is_odd = y < 0x4b800000u && is_integer && (i32(exponent) & 1) != 0;
    if y == 0x7f800000u {
        let value_at_one = select(0.0, 1.0, x == 0x3f800000u);
        return select(value_at_one, infinity(), x != 0x3f800000u && (x > 0x3f800000u) == positive_exponent);
    }
    var value = 0.0;
    if x == 0u || x == 0x7f800000u {
        value = select(0.0, infinity(), (x != 0u) == positive_exponent);
    } else if negative && !is_integer {
        return quiet_nan();
    } else {
        value = pow_positive(bitcast<f32>(x), exponent);
    }
    return select(value, -value, negative && is_odd);
}

// The minimum; propagates NaN.
fn minimum(p: f32, q: f32) -> f32 {
    return select(select(min(p, q), q, is_nan(q)), p, is_nan(p));
}

// The maximum; propagates NaN.
fn maximum(p: f32, q: f32) -> f32 {
    return select(select(max(p, q), q, is_nan(q)), p, is_nan(p));
}

// Splits the bits of a nonzero number into a 24-bit significand with its leading bit set and the
// exponent.
fn significand_and_exponent(bits: u32) -> vec2<i32> {
    let exponent = i32(bits >> 23u);
    if exponent == 0 {
        let shift = i32(countLeadingZeros(bits)) - 8;
        return vec2<i32>(i32(bits << u32(shift)), 1 - shift);
    }
    return vec2<i32>(i32((bits & 0x007fffffu) | 0x00800000u), exponent);
}

// C's fmodf(): the exact remainder of p / q with the sign of p, by long division with 8-bit digits.
fn fmod(p: f32, q: f32) -> f32 {
    let x = bitcast<u32>(p) & 0x7fffffffu;
    let y = bitcast<u32>(q) & 0x7fffffffu;
    if y == 0u || x >= 0x7f800000u || y > 0x7f800000u {
        return quiet_nan();
    }
    if x < y {
        return p;
    }
    let dividend = significand_and_exponent(x);
    let divisor = significand_and_exponent(y);
    let divisor_significand = u32(divisor.x);
    var remainder = u32(dividend.x) % divisor_significand;
    var exponent_difference = dividend.y - divisor.y;
    while exponent_difference > 0 {
        let bits_per_step = min(exponent_difference, 8);
        remainder = (remainder << u32(bits_per_step)) % divisor_significand;
        exponent_difference -= bits_per_step;
    }
    var bits = 0u;
    if remainder != 0u {
        let shift = i32(countLeadingZeros(remainder)) - 8;
        let exponent = divisor.y - shift;
        if exponent > 0 {
            bits = ((remainder << u32(shift)) & 0x007fffffu) | (u32(exponent) << 23u);
        } else {
            bits = (remainder << u32(shift)) >> u32(1 - exponent);
        }
    }
    return copysign(bitcast<f32>(bits), p);
}

// The remainder of p / q with the sign of q.
fn floor_mod(p: f32, q: f32) -> f32 {
    let remainder = fmod(p, q);
    return select(remainder, remainder + q, remainder != 0.0 && (remainder < 0.0) != (q < 0.0));
}
