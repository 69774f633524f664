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

fn not_a_number() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn with_sign(magnitude: f32, v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(magnitude) | (bitcast<u32>(v) & 0x80000000u));
}

// v * 2^n, for n from -252 to 254.
fn scaled(v: f32, n: i32) -> f32 {
    let lower = n / 2;
    return v * bitcast<f32>(u32(lower + 127) << 23u) * bitcast<f32>(u32(n - lower + 127) << 23u);
}

// (e^v - 1 - v) / v^2, for v from -0.6 to 0.6.
fn exponential_rest(v: f32) -> f32 {
    return 0.5 + v * (0.166666681 + v * (0.0416666681 + v * (0.00833301917 + v * (0.0013888575
        + v * (0.00020015593 + v * 0.0000249757915)))));
}

fn exponential(v: f32) -> f32 {
    let bounded = clamp(v, -104.0, 89.0);
    let n = round(bounded * 1.44269504);
    let r = (bounded - n * 0.693359375) + n * 0.000212194440;
    let value = scaled(1.0 + (r + r * r * exponential_rest(r)), i32(n));
    return select(value, v, is_nan(v));
}

// e^v - 1, accurate near zero.
fn exponential_less_one(v: f32) -> f32 {
    return select(exponential(v) - 1.0, v + v * v * exponential_rest(v), abs(v) < 0.5);
}

fn logarithm(v: f32) -> f32 {
    let all = bitcast<u32>(v);
    var bits = all;
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
    if (all & 0x7fffffffu) == 0u {
        value = -infinity();
    } else if all > 0x80000000u {
        value = not_a_number();
    } else if all >= 0x7f800000u {
        value = v;
    }
    return value;
}

// The inverse hyperbolic tangent, for v from -1/3 to 1/3.
fn area_tangent_near(v: f32) -> f32 {
    let z = v * v;
    return v + v * z * (0.333333337 + z * (0.199998532 + z * (0.14296179 + z * (0.10853288 + z * 0.116121642))));
}

// log(1 + v) for v >= 0, accurate near zero.
fn logarithm_above_one(v: f32) -> f32 {
    return select(logarithm(1.0 + v), 2.0 * area_tangent_near(v / (2.0 + v)), v <= 1.0);
}

fn sigmoid(v: f32) -> f32 {
    let e = exponential(-abs(v));
    return select(1.0, e, v < 0.0) / (1.0 + e);
}

fn softplus(v: f32) -> f32 {
    return max(v, 0.0) + logarithm_above_one(exponential(-abs(v)));
}

fn hyperbolic_sine(v: f32) -> f32 {
    let z = v * v;
    let near = v + v * z * (0.166666666 + z * (0.00833333968 + z * (0.00019838102 + z * 0.00000280628025)));
    let root = exponential(0.5 * abs(v));
    let e = root * root;
    let far = select(0.5 * (e - 1.0 / e), 0.5 * root * root, abs(v) > 80.0);
    return select(with_sign(far, v), near, abs(v) < 1.0);
}

fn hyperbolic_cosine(v: f32) -> f32 {
    let root = exponential(0.5 * abs(v));
    let e = root * root;
    return select(0.5 * (e + 1.0 / e), 0.5 * root * root, abs(v) > 80.0);
}

// The hyperbolic tangent; above 10 it rounds to one.
fn tangent(v: f32) -> f32 {
    let t = exponential_less_one(2.0 * min(abs(v), 10.0));
    return select(with_sign(t / (t + 2.0), v), v, is_nan(v));
}

fn area_sine(v: f32) -> f32 {
    let s = abs(v);
    let near = logarithm_above_one(s + s * s / (1.0 + sqrt(1.0 + s * s)));
    return with_sign(select(near, logarithm(s) + 0.693147181, s > 1e9), v);
}

fn area_cosine(v: f32) -> f32 {
    let t = v - 1.0;
    let near = logarithm_above_one(t + sqrt(t * (t + 2.0)));
    return select(select(near, logarithm(v) + 0.693147181, v > 1e9), not_a_number(), v < 1.0);
}

fn area_tangent(v: f32) -> f32 {
    let s = abs(v);
    let value = select(0.5 * logarithm((1.0 + s) / (1.0 - s)), area_tangent_near(s), s < 0.333333);
    return with_sign(select(select(value, infinity(), s == 1.0), not_a_number(), s > 1.0), v);
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
    return t * exponential(p - z * z);
}

fn error_function(v: f32) -> f32 {
    let z = v * v;
    let near = v * (1.12837917 + z * (-0.376126267 + z * (0.112835947 + z * (-0.026854212 + z * (0.00518908742
        + z * (-0.000801686428 + z * 0.0000787587504))))));
    return select(with_sign(1.0 - erfc_positive(abs(v)), v), near, abs(v) < 1.0);
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
fn rectified(v: f32) -> f32 {
    let bits = bitcast<u32>(v);
    return select(v, 0.0, bits > 0x80000000u && bits <= 0xff800000u);
}

// The 64-bit product of 32-bit integers: low word, high word.
fn wide_product(p: u32, q: u32) -> vec2<u32> {
    let low = (p & 0xffffu) * (q & 0xffffu);
    let left = (p >> 16u) * (q & 0xffffu) + (low >> 16u);
    let right = (p & 0xffffu) * (q >> 16u) + (left & 0xffffu);
    return vec2<u32>(p * q, (p >> 16u) * (q >> 16u) + (left >> 16u) + (right >> 16u));
}

// 2 / pi as words after the binary point, preceded by the integer word.
fn turns_word(i: u32) -> u32 {
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
fn turns_bits(start: u32) -> u32 {
    let shift = start & 31u;
    let first = turns_word(start >> 5u) << shift;
    return select(first | (turns_word((start >> 5u) + 1u) >> ((32u - shift) & 31u)), first, shift == 0u);
}

// Payne-Hanek reduction of a large angle: the quadrant and the remainder. The 24-bit significand is
// multiplied by those bits of 2 / pi that contribute neither full turns nor less than the
// precision.
fn far_rest(v: f32) -> vec2<f32> {
    let bits = bitcast<u32>(v) & 0x7fffffffu;
    let digits = (bits & 0x007fffffu) | 0x00800000u;
    let start = (bits >> 23u) - 120u;
    let low = wide_product(digits, turns_bits(start + 64u));
    let middle = wide_product(digits, turns_bits(start + 32u));
    let second = low.y + middle.x;
    let first = digits * turns_bits(start) + middle.y + select(0u, 1u, second < low.y);
    let quarters = (first + 0x20000000u) >> 30u;
    // The quarter turn as a signed 64-bit fraction.
    var high = (first << 2u) | (second >> 30u);
    var next = (second << 2u) | (low.x >> 30u);
    let below = high >= 0x80000000u;
    if below {
        high = ~high + select(0u, 1u, next == 0u);
        next = 0u - next;
    }
    var exponent = 0u;
    if high == 0u {
        high = next;
        next = 0u;
        exponent = 32u;
    }
    let zeros = countLeadingZeros(high) & 31u;
    let leading = (high << zeros) | select(next >> ((32u - zeros) & 31u), 0u, zeros == 0u);
    let part = f32(leading) * bitcast<f32>((95u - exponent - zeros) << 23u) * 1.57079633;
    let rest = vec2<f32>(select(part, -part, below), f32(quarters));
    return select(rest, -rest, v < 0.0);
}

struct Angle {
    sine: f32,
    cosine: f32,
    quarters: i32,
}

// Reduces an angle to a quadrant and the sine and cosine of the remainder within [-pi/4, pi/4]:
// subtracts multiples of pi / 2 in three parts (Cody-Waite). Above 8192 that would lose precision.
fn reduced(v: f32) -> Angle {
    var turns = round(v * 0.636619772);
    var r = ((v - turns * 1.5703125) - turns * 0.00048375129699707031) - turns * 0.0000000754978995489188216;
    let bits = bitcast<u32>(v) & 0x7fffffffu;
    if bits >= 0x7f800000u {
        turns = 0.0;
        r = not_a_number();
    } else if bits >= 0x46000000u {
        let far = far_rest(v);
        r = far.x;
        turns = far.y;
    }
    let s = r * r;
    let sine = r + r * s * (-0.16666654611 + s * (0.0083321608736 - s * 0.00019515295891));
    let cosine = 1.0 - 0.5 * s + s * s * (0.041666645683 + s * (-0.0013887316255 + s * 0.000024433157118));
    return Angle(sine, cosine, i32(turns));
}

// The sine of v plus `quarters` quarter turns.
fn wave(v: f32, quarters: i32) -> f32 {
    let angle = reduced(v);
    let quarter = (angle.quarters + quarters) & 3;
    let value = select(angle.sine, angle.cosine, (quarter & 1) == 1);
    return select(value, -value, quarter >= 2);
}

// The tangent of an angle.
fn slope(v: f32) -> f32 {
    let angle = reduced(v);
    let odd = (angle.quarters & 1) == 1;
    return select(angle.sine, -angle.cosine, odd) / select(angle.cosine, angle.sine, odd);
}

// asin(v) for results from 0 to pi / 6, given v * v; the remaining range uses half of the
// complementary angle.
fn arc(v: f32, z: f32) -> f32 {
    return v + v * z * (0.16666752422 + z * (0.074953002686 + z * (0.045470025998 + z * (0.024181311049
        + z * 0.042163199048))));
}

fn arc_sine(v: f32) -> f32 {
    let s = abs(v);
    let z = 0.5 * (1.0 - s);
    let value = select(arc(s, s * s), 1.57079633 - 2.0 * arc(sqrt(z), z), s > 0.5);
    return with_sign(select(value, not_a_number(), s > 1.0), v);
}

fn arc_cosine(v: f32) -> f32 {
    let s = abs(v);
    let z = 0.5 * (1.0 - s);
    let far = 2.0 * arc(sqrt(z), z);
    let value = select(1.57079633 - arc(v, v * v), select(far, 3.14159265 - far, v < 0.0), s > 0.5);
    return select(value, not_a_number(), s > 1.0);
}

fn arc_tangent(v: f32) -> f32 {
    let s = abs(v);
    let above = s > 0.414213562;
    let far = s > 2.41421356;
    let w = select(select(s, (s - 1.0) / (s + 1.0), above), -1.0 / s, far);
    let start = select(select(0.0, 0.785398163, above), 1.57079633, far);
    let z = w * w;
    let rest = z * w * (-0.333329491539 + z * (0.199777106478 + z * (-0.138776856032 + z * 0.0805374449538)));
    return with_sign(start + (rest + w), v);
}

// The upper half of a significand.
fn head(v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(v) & 0xfffff000u);
}

// x^y for finite x > 0, as 2^(y * log2 x) with a two-part logarithm: FreeBSD's e_powf.c.
fn power_of_positive(x: f32, exponent: f32) -> f32 {
    var bits = bitcast<u32>(x);
    var n = 0;
    if bits < 0x00800000u {
        bits = bitcast<u32>(f32(bits));
        n = -149;
    }
    n += i32(bits >> 23u) - 127;
    let fraction = bits & 0x007fffffu;
    bits = fraction | 0x3f800000u;
    // Near 1 or near 1.5.
    var middle = false;
    if fraction > 0x1cc471u {
        if fraction < 0x5db3d7u {
            middle = true;
        } else {
            n += 1;
            bits -= 0x00800000u;
        }
    }
    let center = select(1.0, 1.5, middle);
    let m = bitcast<f32>(bits);
    let difference = m - center;
    let inverse = 1.0 / (m + center);
    let s = difference * inverse;
    let s_head = head(s);
    let sum_bits = (((bits >> 1u) & 0xfffff000u) | 0x20000000u) + 0x00400000u;
    let sum_head = bitcast<f32>(sum_bits + select(0u, 0x00200000u, middle));
    let sum_tail = m - (sum_head - center);
    let s_tail = inverse * ((difference - s_head * sum_head) - s_head * sum_tail);
    let s2 = s * s;
    let series = s2 * s2 * (0.60000002384 + s2 * (0.42857143283 + s2 * (0.33333334327 + s2 * (0.27272811532
        + s2 * (0.23066075146 + s2 * 0.20697501302))))) + s_tail * (s_head + s);
    let square = s_head * s_head;
    let t_head = head(3.0 + square + series);
    let t_tail = series - ((t_head - 3.0) - square);
    let u = s_head * t_head;
    let v = s_tail * t_head + t_tail * s;
    let p_head = head(u + v);
    let p_tail = v - (p_head - u);
    let z_head = 0.96191406250 * p_head;
    let z_tail = -0.00011736857402 * p_head + p_tail * 0.96179670095 + select(0.0, 0.00000156322085, middle);
    let d_head = select(0.0, 0.584960938, middle);
    let whole = f32(n);
    let log_head = head(((z_head + z_tail) + d_head) + whole);
    let log_tail = z_tail - (((log_head - whole) - d_head) - z_head);
    // Above these bounds every power is zero or infinite, unless the base is 1.
    let y = clamp(exponent, -1e12, 1e12);
    let y_head = head(y);
    let tail = (y - y_head) * log_head + y * log_tail;
    let product = y_head * log_head;
    let power = tail + product;
    if power >= 128.0 {
        return infinity();
    }
    if power < -150.0 {
        return 0.0;
    }
    let k = round(power);
    let rest = product - k;
    let r_head = head(tail + rest);
    let r_tail = tail - (r_head - rest);
    let near = r_head * 0.693145752;
    let small = r_tail * 0.69314718246 + r_head * 0.00000142860654;
    let r = near + small;
    return scaled(1.0 + (r + r * r * exponential_rest(r)), i32(k));
}

// C's powf(): WGSL leaves pow() undefined for zero and negative bases.
fn power(base: f32, exponent: f32) -> f32 {
    let base_bits = bitcast<u32>(base);
    let exponent_bits = bitcast<u32>(exponent);
    let x = base_bits & 0x7fffffffu;
    let y = exponent_bits & 0x7fffffffu;
    if y == 0u || base_bits == 0x3f800000u {
        return 1.0;
    }
    if x > 0x7f800000u || y > 0x7f800000u {
        return not_a_number();
    }
    let negative = base_bits >= 0x80000000u;
    let grows = exponent_bits < 0x80000000u;
    let whole = y >= 0x4b800000u || exponent == floor(exponent);
    let odd = y < 0x4b800000u && whole && (i32(exponent) & 1) != 0;
    if y == 0x7f800000u {
        let one = select(0.0, 1.0, x == 0x3f800000u);
        return select(one, infinity(), x != 0x3f800000u && (x > 0x3f800000u) == grows);
    }
    var value = 0.0;
    if x == 0u || x == 0x7f800000u {
        value = select(0.0, infinity(), (x != 0u) == grows);
    } else if negative && !whole {
        return not_a_number();
    } else {
        value = power_of_positive(bitcast<f32>(x), exponent);
    }
    return select(value, -value, negative && odd);
}

fn smaller(p: f32, q: f32) -> f32 {
    return select(select(min(p, q), q, is_nan(q)), p, is_nan(p));
}

fn larger(p: f32, q: f32) -> f32 {
    return select(select(max(p, q), q, is_nan(q)), p, is_nan(p));
}

// Splits the bits of a nonzero number into a 24-bit significand with its leading bit set and the
// exponent.
fn fraction_of(bits: u32) -> vec2<i32> {
    let exponent = i32(bits >> 23u);
    if exponent == 0 {
        let shift = i32(countLeadingZeros(bits)) - 8;
        return vec2<i32>(i32(bits << u32(shift)), 1 - shift);
    }
    return vec2<i32>(i32((bits & 0x007fffffu) | 0x00800000u), exponent);
}

// C's fmodf(): the exact remainder of p / q with the sign of p, by long division with 8-bit digits.
fn remainder(p: f32, q: f32) -> f32 {
    let x = bitcast<u32>(p) & 0x7fffffffu;
    let y = bitcast<u32>(q) & 0x7fffffffu;
    if y == 0u || x >= 0x7f800000u || y > 0x7f800000u {
        return not_a_number();
    }
    if x < y {
        return p;
    }
    let dividend = fraction_of(x);
    let divisor = fraction_of(y);
    let by = u32(divisor.x);
    var rest = u32(dividend.x) % by;
    var digits = dividend.y - divisor.y;
    while digits > 0 {
        let step = min(digits, 8);
        rest = (rest << u32(step)) % by;
        digits -= step;
    }
    var bits = 0u;
    if rest != 0u {
        let shift = i32(countLeadingZeros(rest)) - 8;
        let exponent = divisor.y - shift;
        if exponent > 0 {
            bits = ((rest << u32(shift)) & 0x007fffffu) | (u32(exponent) << 23u);
        } else {
            bits = (rest << u32(shift)) >> u32(1 - exponent);
        }
    }
    return with_sign(bitcast<f32>(bits), p);
}

// The remainder of p / q with the sign of q.
fn modulo(p: f32, q: f32) -> f32 {
    let rest = remainder(p, q);
    return select(rest, rest + q, rest != 0.0 && (rest < 0.0) != (q < 0.0));
}
