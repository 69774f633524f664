The function library of f32 for amdgcn, from fused multiply-adds and the instructions behind exp, log and sqrt.
Polynomials are the minimax ones of Cephes' single-precision library; errors stay within a few units in the last place.

//: roci_copy_sign
ROCI_FN float roci_copy_sign(float a, float sign) {
    return as_float((as_uint(a) & 0x7fffffffu) | (as_uint(sign) & 0x80000000u));
}
//: roci_inverse_sqrt
ROCI_FN float roci_inverse_sqrt(float a) {
    return 1.0f / __builtin_sqrtf(a);
}
//: roci_quarter_turns
// How many quarter turns an angle has, to the nearest.
ROCI_FN float roci_quarter_turns(float a) {
    return __builtin_roundevenf(a * 0.636619772367581f);
}
//: roci_less_quarter_turns
// What is left of an angle; a quarter turn in three parts keeps it exact far from zero.
ROCI_FN float roci_less_quarter_turns(float a, float turns) {
    float r = __builtin_fmaf(turns, -1.57079637050628662f, a);
    r = __builtin_fmaf(turns, 4.37113900018624283e-8f, r);
    return __builtin_fmaf(turns, 1.71512451e-15f, r);
}
//: roci_small_sin
ROCI_FN float roci_small_sin(float a) {
    const float z = a * a;
    float p = __builtin_fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f);
    p = __builtin_fmaf(z, p, -1.6666654611e-1f);
    return __builtin_fmaf(z * a, p, a);
}
//: roci_small_cos
ROCI_FN float roci_small_cos(float a) {
    const float z = a * a;
    float p = __builtin_fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
    p = __builtin_fmaf(z, p, 4.166664568298827e-2f);
    return __builtin_fmaf(z * z, p, __builtin_fmaf(z, -0.5f, 1.0f));
}
//: roci_sin
ROCI_FN float roci_sin(float a) {
    const float turns = roci_quarter_turns(a);
    const float r = roci_less_quarter_turns(a, turns);
    const int quadrant = (int)turns;
    const float v = (quadrant & 1) != 0 ? roci_small_cos(r) : roci_small_sin(r);
    return (quadrant & 2) != 0 ? -v : v;
}
//: roci_cos
ROCI_FN float roci_cos(float a) {
    const float turns = roci_quarter_turns(a);
    const float r = roci_less_quarter_turns(a, turns);
    const int quadrant = (int)turns;
    const float v = (quadrant & 1) != 0 ? roci_small_sin(r) : roci_small_cos(r);
    return ((quadrant + 1) & 2) != 0 ? -v : v;
}
//: roci_tan
ROCI_FN float roci_tan(float a) {
    const float turns = roci_quarter_turns(a);
    const float r = roci_less_quarter_turns(a, turns);
    const float s = roci_small_sin(r);
    const float c = roci_small_cos(r);
    return ((int)turns & 1) != 0 ? -c / s : s / c;
}
//: roci_small_asin
ROCI_FN float roci_small_asin(float a) {
    const float z = a * a;
    float p = __builtin_fmaf(z, 4.2163199048e-2f, 2.4181311049e-2f);
    p = __builtin_fmaf(z, p, 4.5470025998e-2f);
    p = __builtin_fmaf(z, p, 7.4953002686e-2f);
    p = __builtin_fmaf(z, p, 1.6666752422e-1f);
    return __builtin_fmaf(z * a, p, a);
}
//: roci_asin
ROCI_FN float roci_asin(float a) {
    const float x = __builtin_fabsf(a);
    const float far = 1.57079632679489662f - 2.0f * roci_small_asin(__builtin_sqrtf(0.5f - 0.5f * x));
    return roci_copy_sign(x > 0.5f ? far : roci_small_asin(x), a);
}
//: roci_acos
ROCI_FN float roci_acos(float a) {
    const float x = __builtin_fabsf(a);
    const float far = 2.0f * roci_small_asin(__builtin_sqrtf(0.5f - 0.5f * x));
    const float near = 1.57079632679489662f - roci_small_asin(a);
    return x <= 0.5f ? near : a < 0.0f ? 3.14159265358979324f - far : far;
}
//: roci_atan
ROCI_FN float roci_atan(float a) {
    float x = __builtin_fabsf(a);
    float base = 0.0f;
    if (x > 2.414213562373095f) {
        base = 1.57079632679489662f;
        x = -1.0f / x;
    } else if (x > 0.4142135623730950f) {
        base = 0.785398163397448310f;
        x = (x - 1.0f) / (x + 1.0f);
    }
    const float z = x * x;
    float p = __builtin_fmaf(z, 8.05374449538e-2f, -1.38776856032e-1f);
    p = __builtin_fmaf(z, p, 1.99777106478e-1f);
    p = __builtin_fmaf(z, p, -3.33329491539e-1f);
    return roci_copy_sign(base + __builtin_fmaf(z * x, p, x), a);
}
//: roci_atan2
ROCI_FN float roci_atan2(float y, float x) {
    const float high = __builtin_fmaxf(__builtin_fabsf(x), __builtin_fabsf(y));
    const float low = __builtin_fminf(__builtin_fabsf(x), __builtin_fabsf(y));
    float a = high == 0.0f ? 0.0f : low == high ? 0.785398163397448310f : roci_atan(low / high);
    a = __builtin_fabsf(y) > __builtin_fabsf(x) ? 1.57079632679489662f - a : a;
    a = as_int(x) < 0 ? 3.14159265358979324f - a : a;
    return roci_copy_sign(a, y);
}
//: roci_sinh
ROCI_FN float roci_sinh(float a) {
    const float x = __builtin_fabsf(a);
    const float z = a * a;
    float p = __builtin_fmaf(z, 2.7557319e-6f, 1.98412698e-4f);
    p = __builtin_fmaf(z, p, 8.33333333e-3f);
    p = __builtin_fmaf(z, p, 1.66666667e-1f);
    const float near = __builtin_fmaf(z * a, p, a);
    const float e = __builtin_elementwise_exp(x);
    // The root of a great power does not overflow before the power itself.
    const float root = __builtin_elementwise_exp(0.5f * x);
    const float far = x > 80.0f ? 0.5f * root * root : 0.5f * e - 0.5f / e;
    return x < 1.0f ? near : roci_copy_sign(far, a);
}
//: roci_cosh
ROCI_FN float roci_cosh(float a) {
    const float x = __builtin_fabsf(a);
    const float e = __builtin_elementwise_exp(x);
    const float root = __builtin_elementwise_exp(0.5f * x);
    return x > 80.0f ? 0.5f * root * root : 0.5f * e + 0.5f / e;
}
//: roci_tanh
ROCI_FN float roci_tanh(float a) {
    const float x = __builtin_fabsf(a);
    const float z = a * a;
    float p = __builtin_fmaf(z, -5.70498872745e-3f, 2.06390887954e-2f);
    p = __builtin_fmaf(z, p, -5.37397155531e-2f);
    p = __builtin_fmaf(z, p, 1.33314422036e-1f);
    p = __builtin_fmaf(z, p, -3.33332819422e-1f);
    const float near = __builtin_fmaf(z * a, p, a);
    const float far = 1.0f - 2.0f / (__builtin_elementwise_exp(2.0f * x) + 1.0f);
    return x < 0.625f ? near : roci_copy_sign(far, a);
}
//: roci_asinh
ROCI_FN float roci_asinh(float a) {
    const float x = __builtin_fabsf(a);
    const float z = a * a;
    float p = __builtin_fmaf(z, 2.0122003309e-2f, -4.2699340972e-2f);
    p = __builtin_fmaf(z, p, 7.4847586088e-2f);
    p = __builtin_fmaf(z, p, -1.6666288134e-1f);
    const float near = __builtin_fmaf(z * a, p, a);
    const float middle = __builtin_elementwise_log(x + __builtin_sqrtf(__builtin_fmaf(x, x, 1.0f)));
    const float far = __builtin_elementwise_log(x) + 0.693147180559945309f;
    return x < 0.5f ? near : roci_copy_sign(x > 1500.0f ? far : middle, a);
}
//: roci_acosh
ROCI_FN float roci_acosh(float a) {
    const float z = a - 1.0f;
    float p = __builtin_fmaf(z, 1.7596881071e-3f, -7.5272886713e-3f);
    p = __builtin_fmaf(z, p, 2.6454905019e-2f);
    p = __builtin_fmaf(z, p, -1.1784741703e-1f);
    p = __builtin_fmaf(z, p, 1.4142135263f);
    const float near = p * __builtin_sqrtf(z);
    const float middle = __builtin_elementwise_log(a + __builtin_sqrtf(z * (a + 1.0f)));
    const float far = __builtin_elementwise_log(a) + 0.693147180559945309f;
    return z < 0.5f ? near : a > 1500.0f ? far : middle;
}
//: roci_atanh
ROCI_FN float roci_atanh(float a) {
    const float x = __builtin_fabsf(a);
    const float z = a * a;
    float p = __builtin_fmaf(z, 1.81740078349e-1f, 8.24370301058e-2f);
    p = __builtin_fmaf(z, p, 1.46691431730e-1f);
    p = __builtin_fmaf(z, p, 1.99782164500e-1f);
    p = __builtin_fmaf(z, p, 3.33337300303e-1f);
    const float near = __builtin_fmaf(z * a, p, a);
    const float far = 0.5f * __builtin_elementwise_log((1.0f + x) / (1.0f - x));
    return x < 0.5f ? near : roci_copy_sign(far, a);
}
//: roci_pow_positive
// exp2(y * log2(x)) with the logarithm in two floats, since its error is multiplied by up to 128.
ROCI_FN float roci_pow_positive(float x, float y) {
    const bool tiny = x < 1.17549435e-38f;
    const float scaled = tiny ? x * 16777216.0f : x;
    // x = m * 2^e with m between the roots of 1/2 and 2.
    const int bits = as_int(scaled) - 0x3f3504f3;
    const float e = (float)((bits >> 23) - (tiny ? 24 : 0));
    const float m = as_float((bits & 0x007fffff) + 0x3f3504f3);
    // log(m) = 2 * (s + s^3/3 + ...) with s = (m - 1) / (m + 1).
    const float below = m - 1.0f;
    const float above = m + 1.0f;
    const float s = below / above;
    const float s_low = (__builtin_fmaf(-s, above, below) - s * (m - (above - 1.0f))) / above;
    const float z = s * s;
    float p = __builtin_fmaf(z, 0.2222222222f, 0.2857142857f);
    p = __builtin_fmaf(z, p, 0.4f);
    p = __builtin_fmaf(z, p, 0.6666666667f);
    const float log_low = __builtin_fmaf(s * z, p, 2.0f * s_low);
    const float log_high = 2.0f * s + log_low;
    const float log_rest = log_low - (log_high - 2.0f * s);
    // Times 1/ln(2) in two floats, plus e.
    const float product = log_high * 1.44269504088896341f;
    const float product_rest = __builtin_fmaf(log_high, 1.44269504088896341f, -product) +
                               __builtin_fmaf(log_high, 1.925963033e-8f, log_rest * 1.44269504088896341f);
    const float high = e + product;
    const float virtual_product = high - e;
    const float low = (e - (high - virtual_product)) + (product - virtual_product) + product_rest;
    const float power = __builtin_fminf(__builtin_fmaxf(y * high, -300.0f), 300.0f);
    const float power_low = __builtin_fmaf(y, high, -(y * high)) + y * low;
    const float whole = __builtin_roundevenf(power);
    // Beyond the range of f32 the rest does not matter, and may not be a number.
    const float rest = __builtin_fabsf(y * high) > 300.0f ? 0.0f : (power - whole) + power_low;
    return __builtin_ldexpf(__builtin_elementwise_exp2(rest), (int)whole);
}
//: roci_pow
ROCI_FN float roci_pow(float x, float y) {
    if (y == 0.0f || x == 1.0f) {
        return 1.0f;
    }
    const float size = __builtin_fabsf(x);
    const float infinity = as_float(0x7f800000u);
    float result = roci_pow_positive(size, y);
    if (size == 0.0f || size == infinity) {
        result = (size == 0.0f) == (y > 0.0f) ? 0.0f : infinity;
    }
    if (as_int(x) >= 0) {
        return result;
    }
    // A negative base has whole powers alone.
    const bool odd = __builtin_fabsf(y) < 16777216.0f && ((int)y & 1) != 0;
    result = odd ? -result : result;
    return size == 0.0f || __builtin_roundevenf(y) == y ? result : as_float(0x7fc00000u);
}
