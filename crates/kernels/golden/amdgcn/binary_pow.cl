// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[4]; } array4_uint;
typedef struct {
    uint count;
    array4_uint shape;
    array4_uint a_strides;
    array4_uint b_strides;
} Params;

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

ROCI_FN float power(float base, float exponent) {
    uint special = 2139095040u;
    if (exponent == 0.0f) {
        return 1.0f;
    }
    const float magnitude = roci_pow(__builtin_elementwise_abs(base), exponent);
    if (base == 0.0f) {
        const uint _e11 = special;
        return (exponent > 0.0f) ? 0.0f : as_float(_e11);
    }
    if (base < 0.0f) {
        special = 2143289344u;
        const bool odd = (exponent - (2.0f * __builtin_elementwise_floor(exponent * 0.5f))) == 1.0f;
        const float signed_ = odd ? (-magnitude) : magnitude;
        const uint _e30 = special;
        return (exponent == __builtin_elementwise_floor(exponent)) ? signed_ : as_float(_e30);
    }
    return magnitude;
}

ROCI_FN float apply(float p, float q) {
    const float _e2 = power(p, q);
    return _e2;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void binary_pow(global const float *a, global const float *b, global float *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint i = 0u;
    i = id.x;
    while (true) {
        const uint _e4 = i;
        const uint _e7 = params.count;
        if (!(_e4 < _e7)) {
            break;
        }
        {
            const uint _e88 = i;
            const uint _e91 = i;
            const float _e93 = a[_e91];
            const uint _e95 = i;
            const float _e97 = b[_e95];
            const float _e98 = apply(_e93, _e97);
            y[_e88] = _e98;
        }
        const uint _e99 = i;
        i = _e99 + (groups.x * 256u);
    }
}
