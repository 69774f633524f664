// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[3]; } array3_uint;
typedef struct { uint e[12]; } array12_uint;
typedef struct { uint e[8]; } array8_uint;
typedef struct {
    uint count;
    array3_uint shape;
    array12_uint strides;
    array8_uint program;
    array8_uint immediates;
} Params;
typedef struct {
    float sine;
    float cosine;
    int quadrant;
} ReducedAngle;

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
ROCI_FN uint roci_f32_to_u32(float a) {
    return (uint)roci_fmin(roci_fmax(a, 0.0f), 4294967040.0f);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_leading_zeros_u32(uint a) {
    return a == 0 ? 32 : (uint)__builtin_clz((uint)a);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN uint f32_word(float v) {
    return as_uint(v);
}

ROCI_FN uint bool_word(bool v_1) {
    return v_1 ? 1u : 0u;
}

ROCI_FN bool is_nan(float v_2) {
    return (as_uint(v_2) & 2147483647u) > 2139095040u;
}

ROCI_FN uint to_i32_(float v_3) {
    const bool _e1 = is_nan(v_3);
    if (_e1) {
        return 0u;
    }
    if (v_3 >= 2147483600.0f) {
        return 2147483647u;
    }
    if (v_3 <= (-2147483600.0f)) {
        return 2147483648u;
    }
    return as_uint(roci_f32_to_i32(v_3));
}

ROCI_FN uint to_u32_(float v_4) {
    bool local_ = false;
    const bool _e1 = is_nan(v_4);
    if (!_e1) {
        local_ = v_4 <= 0.0f;
    } else {
        local_ = true;
    }
    const bool _e8 = local_;
    if (_e8) {
        return 0u;
    }
    if (v_4 >= 4294967300.0f) {
        return 4294967295u;
    }
    return roci_f32_to_u32(v_4);
}

ROCI_FN uint round_to_f16_(uint v_5) {
    const uint sign_ = v_5 & 2147483648u;
    const uint m = v_5 & 2147483647u;
    if (m >= 2139095040u) {
        return v_5;
    }
    if (m >= 1199566848u) {
        return sign_ | 2139095040u;
    }
    if (m >= 947912704u) {
        return sign_ | (((m + 4095u) + ((m >> 13u) & 1u)) & 4294959104u);
    }
    const uint shift = 126u - (m >> 23u);
    if (shift > 25u) {
        return sign_;
    }
    const uint significand = (m & 8388607u) | 8388608u;
    const uint multiple = (((significand + (1u << ((shift - 1u) & 31u))) - 1u) + ((significand >> (shift & 31u)) & 1u)) >> (shift & 31u);
    return sign_ | as_uint(((float)multiple) * 5.9604645e-8f);
}

ROCI_FN uint round_to_bf16_(uint v_6) {
    if ((v_6 & 2147483647u) > 2139095040u) {
        return v_6;
    }
    return ((v_6 + 32767u) + ((v_6 >> 16u) & 1u)) & 4294901760u;
}

ROCI_FN float sign_of(float v_7) {
    const float sign_1 = (v_7 < 0.0f) ? (-1.0f) : ((v_7 > 0.0f) ? 1.0f : 0.0f);
    const bool _e10 = is_nan(v_7);
    return _e10 ? v_7 : sign_1;
}

ROCI_FN uint abs_i32_(uint v_8) {
    return (v_8 >= 2147483648u) ? (0u - v_8) : v_8;
}

ROCI_FN uint div_i32_(uint p, uint q) {
    const uint _e2 = abs_i32_(p);
    const uint _e3 = abs_i32_(q);
    const uint value_3 = (q == 0u) ? 0u : roci_div_u32(_e2, __builtin_elementwise_max(_e3, 1u));
    return (((p ^ q) & 2147483648u) != 0u) ? (0u - value_3) : value_3;
}

ROCI_FN uint pow_i32_(uint base, uint exponent) {
    bool local_1 = false;
    uint value = 1u;
    uint square = 0u;
    uint remaining = 0u;
    if (exponent >= 2147483648u) {
        const bool is_odd = (exponent & 1u) == 1u;
        if (!(base == 1u)) {
            local_1 = base == 4294967295u;
        } else {
            local_1 = true;
        }
        const bool is_unit = local_1;
        return is_unit ? (is_odd ? base : 1u) : 0u;
    }
    square = base;
    remaining = exponent;
    while (true) {
        const uint _e25 = remaining;
        if (!(_e25 != 0u)) {
            break;
        }
        {
            const uint _e28 = remaining;
            if ((_e28 & 1u) == 1u) {
                const uint _e33 = value;
                const uint _e34 = square;
                value = _e33 * _e34;
            }
            const uint _e36 = square;
            const uint _e37 = square;
            square = _e36 * _e37;
            const uint _e39 = remaining;
            remaining = _e39 >> 1u;
        }
    }
    const uint _e42 = value;
    return _e42;
}

ROCI_FN float mul_pow2_(float v_9, int n) {
    const int lower = n / 2;
    return (v_9 * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float expm1_polynomial(float v_10) {
    return 0.5f + (v_10 * (0.16666669f + (v_10 * (0.041666668f + (v_10 * (0.008333019f + (v_10 * (0.0013888575f + (v_10 * (0.00020015593f + (v_10 * 2.4975792e-5f)))))))))));
}

ROCI_FN float precise_exp(float v_11) {
    const float bounded = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_11, -104.0f), 89.0f);
    const float n_2 = __builtin_elementwise_roundeven(bounded * 1.442695f);
    const float r_1 = (bounded - (n_2 * 0.6933594f)) + (n_2 * 0.00021219444f);
    const float _e14 = expm1_polynomial(r_1);
    const float value_4 = mul_pow2_(1.0f + (r_1 + ((r_1 * r_1) * _e14)), roci_f32_to_i32(n_2));
    const bool _e21 = is_nan(v_11);
    return _e21 ? v_11 : value_4;
}

ROCI_FN float infinity(void) {
    uint bits = 2139095040u;
    const uint _e2 = bits;
    return as_float(_e2);
}

ROCI_FN float quiet_nan(void) {
    uint bits_1 = 2143289344u;
    const uint _e2 = bits_1;
    return as_float(_e2);
}

ROCI_FN float precise_log(float v_12) {
    uint bits_2 = 0u;
    int exponent_1 = 0;
    float value_1 = 0.0f;
    const uint input_bits = as_uint(v_12);
    bits_2 = input_bits;
    const uint _e5 = bits_2;
    if (_e5 < 8388608u) {
        const uint _e8 = bits_2;
        bits_2 = as_uint((float)_e8);
        exponent_1 = -149;
    }
    const uint _e12 = bits_2;
    const uint shifted = _e12 - 1060439283u;
    const int _e15 = exponent_1;
    const float k = (float)((int)((uint)_e15 + (uint)(as_int(shifted) >> 23u)));
    const float f = as_float((shifted & 8388607u) + 1060439283u) - 1.0f;
    const float s = f / (2.0f + f);
    const float z_2 = s * s;
    const float r_2 = z_2 * (0.6666666f + (z_2 * (0.40000972f + (z_2 * (0.28498787f + (z_2 * 0.24279079f))))));
    const float square_1 = (0.5f * f) * f;
    value_1 = (k * 0.6931381f) - ((square_1 - ((s * (square_1 + r_2)) + (k * 9.058001e-6f))) - f);
    if ((input_bits & 2147483647u) == 0u) {
        const float _e61 = infinity();
        value_1 = -_e61;
    } else {
        if (input_bits > 2147483648u) {
            const float _e65 = quiet_nan();
            value_1 = _e65;
        } else {
            if (input_bits >= 2139095040u) {
                value_1 = v_12;
            }
        }
    }
    const float _e68 = value_1;
    return _e68;
}

ROCI_FN uint2 mul_wide(uint p_1, uint q_1) {
    const uint low = (p_1 & 65535u) * (q_1 & 65535u);
    const uint left = ((p_1 >> 16u) * (q_1 & 65535u)) + (low >> 16u);
    const uint right = ((p_1 & 65535u) * (q_1 >> 16u)) + (left & 65535u);
    return (uint2)(p_1 * q_1, (((p_1 >> 16u) * (q_1 >> 16u)) + (left >> 16u)) + (right >> 16u));
}

ROCI_FN uint two_over_pi_word(uint i_1) {
    switch (i_1) {
    case 1u: {
        return 2734261102u;
    }
    case 2u: {
        return 1313084713u;
    }
    case 3u: {
        return 4230436817u;
    }
    case 4u: {
        return 4113882560u;
    }
    case 5u: {
        return 3680671129u;
    }
    case 6u: {
        return 1011060801u;
    }
    case 7u: {
        return 4266746795u;
    }
    default: {
        return 0u;
    }
    }
}

ROCI_FN uint two_over_pi_bits(uint start) {
    const uint shift_1 = start & 31u;
    const uint _e5 = two_over_pi_word(start >> 5u);
    const uint first = _e5 << (shift_1 & 31u);
    const uint _e11 = two_over_pi_word((start >> 5u) + 1u);
    return (shift_1 == 0u) ? first : (first | (_e11 >> (((32u - shift_1) & 31u) & 31u)));
}

ROCI_FN float2 payne_hanek(float v_13) {
    uint high_word = 0u;
    uint low_word = 0u;
    uint exponent_2 = 0u;
    const uint bits_6 = as_uint(v_13) & 2147483647u;
    const uint significand_1 = (bits_6 & 8388607u) | 8388608u;
    const uint start_1 = (bits_6 >> 23u) - 120u;
    const uint _e14 = two_over_pi_bits(start_1 + 64u);
    const uint2 low_1 = mul_wide(significand_1, _e14);
    const uint _e18 = two_over_pi_bits(start_1 + 32u);
    const uint2 middle = mul_wide(significand_1, _e18);
    const uint second = low_1.y + middle.x;
    const uint _e23 = two_over_pi_bits(start_1);
    const uint first_1 = ((significand_1 * _e23) + middle.y) + ((second < low_1.y) ? 1u : 0u);
    const uint quadrant_1 = (first_1 + 536870912u) >> 30u;
    high_word = (first_1 << 2u) | (second >> 30u);
    low_word = (second << 2u) | (low_1.x >> 30u);
    const uint _e50 = high_word;
    const bool negative = _e50 >= 2147483648u;
    if (negative) {
        const uint _e53 = high_word;
        const uint _e57 = low_word;
        high_word = (~_e53) + ((_e57 == 0u) ? 1u : 0u);
        const uint _e63 = low_word;
        low_word = 0u - _e63;
    }
    const uint _e67 = high_word;
    if (_e67 == 0u) {
        const uint _e70 = low_word;
        high_word = _e70;
        low_word = 0u;
        exponent_2 = 32u;
    }
    const uint _e73 = high_word;
    const uint zeros = roci_leading_zeros_u32(_e73) & 31u;
    const uint _e77 = high_word;
    const uint _e79 = low_word;
    const uint leading_bits = (_e77 << (zeros & 31u)) | ((zeros == 0u) ? 0u : (_e79 >> (((32u - zeros) & 31u) & 31u)));
    const uint _e92 = exponent_2;
    const float fraction = (((float)leading_bits) * as_float(((95u - _e92) - zeros) << 23u)) * 1.5707964f;
    const float2 result = (float2)(negative ? (-fraction) : fraction, (float)quadrant_1);
    return (v_13 < 0.0f) ? (-result) : result;
}

ROCI_FN ReducedAngle reduce_angle(float v_14) {
    float quadrant = 0.0f;
    float r = 0.0f;
    quadrant = __builtin_elementwise_roundeven(v_14 * 0.63661975f);
    const float _e5 = quadrant;
    const float _e9 = quadrant;
    const float _e13 = quadrant;
    r = ((v_14 - (_e5 * 1.5703125f)) - (_e9 * 0.0004837513f)) - (_e13 * 7.54979e-8f);
    const uint bits_7 = as_uint(v_14) & 2147483647u;
    if (bits_7 >= 2139095040u) {
        quadrant = 0.0f;
        const float _e24 = quiet_nan();
        r = _e24;
    } else {
        if (bits_7 >= 1174405120u) {
            const float2 large = payne_hanek(v_14);
            r = large.x;
            quadrant = large.y;
        }
    }
    const float _e30 = r;
    const float _e31 = r;
    const float s_1 = _e30 * _e31;
    const float _e33 = r;
    const float _e34 = r;
    const float sine = _e33 + ((_e34 * s_1) * ((-0.16666655f) + (s_1 * (0.008332161f - (s_1 * 0.00019515296f)))));
    const float cosine = (1.0f - (0.5f * s_1)) + ((s_1 * s_1) * (0.041666646f + (s_1 * ((-0.0013887316f) + (s_1 * 2.4433157e-5f)))));
    const float _e59 = quadrant;
    return (ReducedAngle){.sine = sine, .cosine = cosine, .quadrant = roci_f32_to_i32(_e59)};
}

ROCI_FN float shifted_sin(float v_15, int quarter_turns) {
    const ReducedAngle angle = reduce_angle(v_15);
    const int quadrant_2 = ((int)((uint)angle.quadrant + (uint)quarter_turns)) & 3;
    const float value_5 = ((quadrant_2 & 1) == 1) ? angle.cosine : angle.sine;
    return (quadrant_2 >= 2) ? (-value_5) : value_5;
}

ROCI_FN float precise_tan(float v_16) {
    const ReducedAngle angle_1 = reduce_angle(v_16);
    const bool odd = (angle_1.quadrant & 1) == 1;
    return (odd ? (-angle_1.cosine) : angle_1.sine) / (odd ? angle_1.sine : angle_1.cosine);
}

ROCI_FN float asin_polynomial(float v_17, float z) {
    return v_17 + ((v_17 * z) * (0.16666752f + (z * (0.074953005f + (z * (0.045470025f + (z * (0.024181312f + (z * 0.0421632f)))))))));
}

ROCI_FN float copysign_(float magnitude, float v_18) {
    return as_float(as_uint(magnitude) | (as_uint(v_18) & 2147483648u));
}

ROCI_FN float precise_asin(float v_19) {
    const float s_2 = __builtin_elementwise_abs(v_19);
    const float z_3 = 0.5f * (1.0f - s_2);
    const float _e7 = asin_polynomial(s_2, s_2 * s_2);
    const float _e9 = asin_polynomial(__builtin_elementwise_sqrt(z_3), z_3);
    const float value_6 = (s_2 > 0.5f) ? (1.5707964f - (2.0f * _e9)) : _e7;
    const float _e17 = quiet_nan();
    const float _e21 = copysign_((s_2 > 1.0f) ? _e17 : value_6, v_19);
    return _e21;
}

ROCI_FN float precise_acos(float v_20) {
    const float s_3 = __builtin_elementwise_abs(v_20);
    const float z_4 = 0.5f * (1.0f - s_3);
    const float _e7 = asin_polynomial(__builtin_elementwise_sqrt(z_4), z_4);
    const float outer_angle = 2.0f * _e7;
    const float _e11 = asin_polynomial(v_20, v_20 * v_20);
    const float value_7 = (s_3 > 0.5f) ? ((v_20 < 0.0f) ? (3.1415927f - outer_angle) : outer_angle) : (1.5707964f - _e11);
    const float _e22 = quiet_nan();
    return (s_3 > 1.0f) ? _e22 : value_7;
}

ROCI_FN float precise_atan(float v_21) {
    const float s_4 = __builtin_elementwise_abs(v_21);
    const bool is_middle = s_4 > 0.41421357f;
    const bool is_large = s_4 > 2.4142137f;
    const float w = is_large ? ((-1.0f) / s_4) : (is_middle ? ((s_4 - 1.0f) / (s_4 + 1.0f)) : s_4);
    const float offset = is_large ? 1.5707964f : (is_middle ? 0.7853982f : 0.0f);
    const float z_5 = w * w;
    const float tail = (z_5 * w) * ((-0.3333295f) + (z_5 * (0.19977711f + (z_5 * ((-0.13877685f) + (z_5 * 0.080537446f))))));
    const float _e35 = copysign_(offset + (tail + w), v_21);
    return _e35;
}

ROCI_FN float precise_sinh(float v_22) {
    const float z_6 = v_22 * v_22;
    const float small = v_22 + ((v_22 * z_6) * (0.16666667f + (z_6 * (0.008333339f + (z_6 * (0.00019838102f + (z_6 * 2.8062802e-6f)))))));
    const float root = precise_exp(0.5f * __builtin_elementwise_abs(v_22));
    const float e = root * root;
    const float large_1 = (__builtin_elementwise_abs(v_22) > 80.0f) ? ((0.5f * root) * root) : (0.5f * (e - (1.0f / e)));
    const float _e32 = copysign_(large_1, v_22);
    return (__builtin_elementwise_abs(v_22) < 1.0f) ? small : _e32;
}

ROCI_FN float precise_cosh(float v_23) {
    const float root_1 = precise_exp(0.5f * __builtin_elementwise_abs(v_23));
    const float e_1 = root_1 * root_1;
    return (__builtin_elementwise_abs(v_23) > 80.0f) ? ((0.5f * root_1) * root_1) : (0.5f * (e_1 + (1.0f / e_1)));
}

ROCI_FN float expm1_(float v_24) {
    const float _e1 = precise_exp(v_24);
    const float _e5 = expm1_polynomial(v_24);
    return (__builtin_elementwise_abs(v_24) < 0.5f) ? (v_24 + ((v_24 * v_24) * _e5)) : (_e1 - 1.0f);
}

ROCI_FN float precise_tanh(float v_25) {
    const float t = expm1_(2.0f * __builtin_elementwise_minnum(__builtin_elementwise_abs(v_25), 10.0f));
    const float _e10 = copysign_(t / (t + 2.0f), v_25);
    const bool _e11 = is_nan(v_25);
    return _e11 ? v_25 : _e10;
}

ROCI_FN float atanh_polynomial(float v_26) {
    const float z_7 = v_26 * v_26;
    return v_26 + ((v_26 * z_7) * (0.33333334f + (z_7 * (0.19999853f + (z_7 * (0.14296179f + (z_7 * (0.10853288f + (z_7 * 0.11612164f)))))))));
}

ROCI_FN float log1p_(float v_27) {
    const float _e3 = precise_log(1.0f + v_27);
    const float _e7 = atanh_polynomial(v_27 / (2.0f + v_27));
    return (v_27 <= 1.0f) ? (2.0f * _e7) : _e3;
}

ROCI_FN float precise_asinh(float v_28) {
    const float s_5 = __builtin_elementwise_abs(v_28);
    const float small_1 = log1p_(s_5 + ((s_5 * s_5) / (1.0f + __builtin_elementwise_sqrt(1.0f + (s_5 * s_5)))));
    const float _e12 = precise_log(s_5);
    const float _e18 = copysign_((s_5 > 1000000000.0f) ? (_e12 + 0.6931472f) : small_1, v_28);
    return _e18;
}

ROCI_FN float precise_acosh(float v_29) {
    const float t_1 = v_29 - 1.0f;
    const float small_2 = log1p_(t_1 + __builtin_elementwise_sqrt(t_1 * (t_1 + 2.0f)));
    const float _e9 = precise_log(v_29);
    const float _e15 = quiet_nan();
    return (v_29 < 1.0f) ? _e15 : ((v_29 > 1000000000.0f) ? (_e9 + 0.6931472f) : small_2);
}

ROCI_FN float precise_atanh(float v_30) {
    const float s_6 = __builtin_elementwise_abs(v_30);
    const float _e7 = precise_log((1.0f + s_6) / (1.0f - s_6));
    const float _e10 = atanh_polynomial(s_6);
    const float value_8 = (s_6 < 0.333333f) ? _e10 : (0.5f * _e7);
    const float _e14 = infinity();
    const float _e18 = quiet_nan();
    const float _e22 = copysign_((s_6 > 1.0f) ? _e18 : ((s_6 == 1.0f) ? _e14 : value_8), v_30);
    return _e22;
}

ROCI_FN float erfc_positive(float z_1) {
    float p_2 = 0.14804605f;
    const float t_2 = 1.0f / (1.0f + (0.5f * z_1));
    const float _e9 = p_2;
    p_2 = (_e9 * t_2) - 0.6975366f;
    const float _e13 = p_2;
    p_2 = (_e13 * t_2) + 1.1953276f;
    const float _e17 = p_2;
    p_2 = (_e17 * t_2) - 0.7464699f;
    const float _e21 = p_2;
    p_2 = (_e21 * t_2) - 0.039866325f;
    const float _e25 = p_2;
    p_2 = (_e25 * t_2) - 0.019507999f;
    const float _e29 = p_2;
    p_2 = (_e29 * t_2) + 0.041395962f;
    const float _e33 = p_2;
    p_2 = (_e33 * t_2) + 0.38528362f;
    const float _e37 = p_2;
    p_2 = (_e37 * t_2) + 0.99878246f;
    const float _e41 = p_2;
    p_2 = (_e41 * t_2) - 1.2654549f;
    const float _e45 = p_2;
    const float _e48 = precise_exp(_e45 - (z_1 * z_1));
    return t_2 * _e48;
}

ROCI_FN float erf_(float v_31) {
    const float z_8 = v_31 * v_31;
    const float small_3 = v_31 * (1.1283792f + (z_8 * ((-0.37612626f) + (z_8 * (0.11283594f + (z_8 * ((-0.026854211f) + (z_8 * (0.0051890872f + (z_8 * ((-0.00080168643f) + (z_8 * 7.875875e-5f))))))))))));
    const float _e23 = erfc_positive(__builtin_elementwise_abs(v_31));
    const float _e26 = copysign_(1.0f - _e23, v_31);
    return (__builtin_elementwise_abs(v_31) < 1.0f) ? small_3 : _e26;
}

ROCI_FN float sigmoid(float v_32) {
    const float e_2 = precise_exp(-__builtin_elementwise_abs(v_32));
    return ((v_32 < 0.0f) ? e_2 : 1.0f) / (1.0f + e_2);
}

ROCI_FN float relu(float v_33) {
    bool local_2 = false;
    const uint bits_8 = as_uint(v_33);
    if (bits_8 > 2147483648u) {
        local_2 = bits_8 <= 4286578688u;
    } else {
        local_2 = false;
    }
    const bool _e9 = local_2;
    return _e9 ? 0.0f : v_33;
}

ROCI_FN float gelu(float v_34) {
    const float bounded_1 = (v_34 < (-20.0f)) ? (-20.0f) : v_34;
    const float _e8 = erfc_positive(__builtin_elementwise_abs(bounded_1) * 0.70710677f);
    const float tail_1 = 0.5f * _e8;
    return bounded_1 * ((v_34 < 0.0f) ? tail_1 : (1.0f - tail_1));
}

ROCI_FN float softplus(float v_35) {
    const float _e5 = precise_exp(-__builtin_elementwise_abs(v_35));
    const float _e6 = log1p_(_e5);
    return __builtin_elementwise_maxnum(v_35, 0.0f) + _e6;
}

ROCI_FN uint unary_op(uint op, uint acc) {
    const float p_7 = as_float(acc);
    const int i_4 = as_int(acc);
    switch (op) {
    case 8u: {
        return acc ^ 2147483648u;
    }
    case 9u: {
        return acc & 2147483647u;
    }
    case 10u: {
        const float _e8 = sign_of(p_7);
        const uint _e9 = f32_word(_e8);
        return _e9;
    }
    case 11u: {
        const uint _e11 = f32_word(__builtin_elementwise_ceil(p_7));
        return _e11;
    }
    case 12u: {
        const uint _e13 = f32_word(__builtin_elementwise_floor(p_7));
        return _e13;
    }
    case 13u: {
        const uint _e15 = f32_word(__builtin_elementwise_roundeven(p_7));
        return _e15;
    }
    case 14u: {
        const uint _e17 = f32_word(__builtin_elementwise_sqrt(p_7));
        return _e17;
    }
    case 15u: {
        const uint _e20 = f32_word(1.0f / p_7);
        return _e20;
    }
    case 16u: {
        const float _e21 = precise_exp(p_7);
        const uint _e22 = f32_word(_e21);
        return _e22;
    }
    case 17u: {
        const float _e23 = precise_log(p_7);
        const uint _e24 = f32_word(_e23);
        return _e24;
    }
    case 18u: {
        const float _e26 = shifted_sin(p_7, 0);
        const uint _e27 = f32_word(_e26);
        return _e27;
    }
    case 19u: {
        const float _e29 = shifted_sin(p_7, 1);
        const uint _e30 = f32_word(_e29);
        return _e30;
    }
    case 20u: {
        const float _e31 = precise_tan(p_7);
        const uint _e32 = f32_word(_e31);
        return _e32;
    }
    case 21u: {
        const float _e33 = precise_asin(p_7);
        const uint _e34 = f32_word(_e33);
        return _e34;
    }
    case 22u: {
        const float _e35 = precise_acos(p_7);
        const uint _e36 = f32_word(_e35);
        return _e36;
    }
    case 23u: {
        const float _e37 = precise_atan(p_7);
        const uint _e38 = f32_word(_e37);
        return _e38;
    }
    case 24u: {
        const float _e39 = precise_sinh(p_7);
        const uint _e40 = f32_word(_e39);
        return _e40;
    }
    case 25u: {
        const float _e41 = precise_cosh(p_7);
        const uint _e42 = f32_word(_e41);
        return _e42;
    }
    case 26u: {
        const float _e43 = precise_tanh(p_7);
        const uint _e44 = f32_word(_e43);
        return _e44;
    }
    case 27u: {
        const float _e45 = precise_asinh(p_7);
        const uint _e46 = f32_word(_e45);
        return _e46;
    }
    case 28u: {
        const float _e47 = precise_acosh(p_7);
        const uint _e48 = f32_word(_e47);
        return _e48;
    }
    case 29u: {
        const float _e49 = precise_atanh(p_7);
        const uint _e50 = f32_word(_e49);
        return _e50;
    }
    case 30u: {
        const float _e51 = erf_(p_7);
        const uint _e52 = f32_word(_e51);
        return _e52;
    }
    case 31u: {
        const float _e53 = sigmoid(p_7);
        const uint _e54 = f32_word(_e53);
        return _e54;
    }
    case 32u: {
        const float _e55 = relu(p_7);
        const uint _e56 = f32_word(_e55);
        return _e56;
    }
    case 33u: {
        const float _e57 = gelu(p_7);
        const uint _e58 = f32_word(_e57);
        return _e58;
    }
    case 34u: {
        const float _e59 = softplus(p_7);
        const uint _e60 = f32_word(_e59);
        return _e60;
    }
    case 35u: {
        const bool _e61 = is_nan(p_7);
        const uint _e62 = bool_word(_e61);
        return _e62;
    }
    case 36u: {
        const uint _e65 = bool_word(acc == 2139095040u);
        return _e65;
    }
    case 37u: {
        const uint _e68 = bool_word(acc == 4286578688u);
        return _e68;
    }
    case 48u: {
        return 0u - acc;
    }
    case 49u: {
        const uint _e71 = abs_i32_(acc);
        return _e71;
    }
    case 50u: {
        return as_uint(__builtin_elementwise_min(__builtin_elementwise_max(i_4, -1), 1));
    }
    case 51u: {
        return ~acc;
    }
    case 52u: {
        const uint _e79 = bool_word(acc == 0u);
        return _e79;
    }
    case 64u: {
        const uint _e80 = to_i32_(p_7);
        return _e80;
    }
    case 65u: {
        const uint _e81 = to_u32_(p_7);
        return _e81;
    }
    case 66u: {
        const uint _e83 = f32_word((float)i_4);
        return _e83;
    }
    case 67u: {
        const uint _e85 = f32_word((float)acc);
        return _e85;
    }
    case 68u: {
        const uint _e90 = bool_word((acc & 2147483647u) != 0u);
        return _e90;
    }
    case 69u: {
        const uint _e93 = bool_word(acc != 0u);
        return _e93;
    }
    case 70u: {
        return as_uint(as_int(acc << 24u) >> 24u);
    }
    case 71u: {
        return acc & 255u;
    }
    case 72u: {
        return as_uint(as_int(acc << 16u) >> 16u);
    }
    case 73u: {
        return acc & 65535u;
    }
    case 74u: {
        const uint _e110 = round_to_f16_(acc);
        return _e110;
    }
    case 75u: {
        const uint _e111 = round_to_bf16_(acc);
        return _e111;
    }
    default: {
        return acc;
    }
    }
}

ROCI_FN float high_bits(float v_36) {
    return as_float(as_uint(v_36) & 4294963200u);
}

ROCI_FN float pow_positive(float x, float exponent_3) {
    uint bits_3 = 0u;
    int n_1 = 0;
    bool near_1_5_ = false;
    bits_3 = as_uint(x);
    const uint _e6 = bits_3;
    if (_e6 < 8388608u) {
        const uint _e9 = bits_3;
        bits_3 = as_uint((float)_e9);
        n_1 = -149;
    }
    const int _e13 = n_1;
    const uint _e14 = bits_3;
    n_1 = (int)((uint)_e13 + (uint)((int)((uint)((int)(_e14 >> 23u)) - (uint)127)));
    const uint _e21 = bits_3;
    const uint mantissa = _e21 & 8388607u;
    bits_3 = mantissa | 1065353216u;
    if (mantissa > 1885297u) {
        if (mantissa < 6140887u) {
            near_1_5_ = true;
        } else {
            const int _e33 = n_1;
            n_1 = (int)((uint)_e33 + (uint)1);
            const uint _e36 = bits_3;
            bits_3 = _e36 - 8388608u;
        }
    }
    const bool _e39 = near_1_5_;
    const float center = _e39 ? 1.5f : 1.0f;
    const uint _e43 = bits_3;
    const float m_1 = as_float(_e43);
    const float difference = m_1 - center;
    const float inverse_sum = 1.0f / (m_1 + center);
    const float s_7 = difference * inverse_sum;
    const float s_high = high_bits(s_7);
    const uint _e51 = bits_3;
    const uint sum_bits = (((_e51 >> 1u) & 4294963200u) | 536870912u) + 4194304u;
    const bool _e62 = near_1_5_;
    const float sum_high = as_float(sum_bits + (_e62 ? 2097152u : 0u));
    const float sum_low = m_1 - (sum_high - center);
    const float s_low = inverse_sum * ((difference - (s_high * sum_high)) - (s_high * sum_low));
    const float s2_ = s_7 * s_7;
    const float series = ((s2_ * s2_) * (0.6f + (s2_ * (0.42857143f + (s2_ * (0.33333334f + (s2_ * (0.27272812f + (s2_ * (0.23066075f + (s2_ * 0.20697501f))))))))))) + (s_low * (s_high + s_7));
    const float square_2 = s_high * s_high;
    const float t_high = high_bits((3.0f + square_2) + series);
    const float t_low = series - ((t_high - 3.0f) - square_2);
    const float u = s_high * t_high;
    const float v_37 = (s_low * t_high) + (t_low * s_7);
    const float p_high = high_bits(u + v_37);
    const float p_low = v_37 - (p_high - u);
    const float z_high = 0.96191406f * p_high;
    const bool _e119 = near_1_5_;
    const float z_low = (((-0.000117368574f) * p_high) + (p_low * 0.9617967f)) + (_e119 ? 1.5632208e-6f : 0.0f);
    const bool _e124 = near_1_5_;
    const float center_log2_ = _e124 ? 0.58496094f : 0.0f;
    const int _e128 = n_1;
    const float integer_part = (float)_e128;
    const float log2_high = high_bits(((z_high + z_low) + center_log2_) + integer_part);
    const float log2_low = z_low - (((log2_high - integer_part) - center_log2_) - z_high);
    const float y_1 = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(exponent_3, -1000000000000.0f), 1000000000000.0f);
    const float y_high = high_bits(y_1);
    const float power_low = ((y_1 - y_high) * log2_high) + (y_1 * log2_low);
    const float power_high = y_high * log2_high;
    const float power = power_low + power_high;
    if (power >= 128.0f) {
        const float _e150 = infinity();
        return _e150;
    }
    if (power < (-150.0f)) {
        return 0.0f;
    }
    const float k_1 = __builtin_elementwise_roundeven(power);
    const float fraction_high = power_high - k_1;
    const float r_high = high_bits(power_low + fraction_high);
    const float r_low = power_low - (r_high - fraction_high);
    const float ln_high = r_high * 0.69314575f;
    const float ln_low = (r_low * 0.6931472f) + (r_high * 1.4286065e-6f);
    const float r_3 = ln_high + ln_low;
    const float _e169 = expm1_polynomial(r_3);
    const float _e175 = mul_pow2_(1.0f + (r_3 + ((r_3 * r_3) * _e169)), roci_f32_to_i32(k_1));
    return _e175;
}

ROCI_FN float precise_pow(float base_1, float exponent_4) {
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    bool local_6 = false;
    bool local_7 = false;
    bool local_8 = false;
    float value_2 = 0.0f;
    bool local_9 = false;
    bool local_10 = false;
    bool local_11 = false;
    const uint base_bits = as_uint(base_1);
    const uint exponent_bits = as_uint(exponent_4);
    const uint x_3 = base_bits & 2147483647u;
    const uint y_2 = exponent_bits & 2147483647u;
    if (!(y_2 == 0u)) {
        local_3 = base_bits == 1065353216u;
    } else {
        local_3 = true;
    }
    const bool _e16 = local_3;
    if (_e16) {
        return 1.0f;
    }
    if (!(x_3 > 2139095040u)) {
        local_4 = y_2 > 2139095040u;
    } else {
        local_4 = true;
    }
    const bool _e26 = local_4;
    if (_e26) {
        const float _e27 = quiet_nan();
        return _e27;
    }
    const bool negative_1 = base_bits >= 2147483648u;
    const bool positive_exponent = exponent_bits < 2147483648u;
    if (!(y_2 >= 1266679808u)) {
        local_5 = exponent_4 == __builtin_elementwise_floor(exponent_4);
    } else {
        local_5 = true;
    }
    const bool is_integer = local_5;
    if (y_2 < 1266679808u) {
        local_6 = is_integer;
    } else {
        local_6 = false;
    }
    const bool _e46 = local_6;
    if (_e46) {
        local_7 = (roci_f32_to_i32(exponent_4) & 1) != 0;
    } else {
        local_7 = false;
    }
    const bool is_odd_1 = local_7;
    if (y_2 == 2139095040u) {
        const float value_at_one = (x_3 == 1065353216u) ? 1.0f : 0.0f;
        const float _e63 = infinity();
        if (x_3 != 1065353216u) {
            local_8 = (x_3 > 1065353216u) == positive_exponent;
        } else {
            local_8 = false;
        }
        const bool _e72 = local_8;
        return _e72 ? _e63 : value_at_one;
    }
    if (!(x_3 == 0u)) {
        local_9 = x_3 == 2139095040u;
    } else {
        local_9 = true;
    }
    const bool _e84 = local_9;
    if (_e84) {
        const float _e85 = infinity();
        value_2 = ((x_3 != 0u) == positive_exponent) ? _e85 : 0.0f;
    } else {
        if (negative_1) {
            local_10 = !is_integer;
        } else {
            local_10 = false;
        }
        const bool _e95 = local_10;
        if (_e95) {
            const float _e96 = quiet_nan();
            return _e96;
        } else {
            const float _e98 = pow_positive(as_float(x_3), exponent_4);
            value_2 = _e98;
        }
    }
    const float _e99 = value_2;
    const float _e100 = value_2;
    if (negative_1) {
        local_11 = is_odd_1;
    } else {
        local_11 = false;
    }
    const bool _e105 = local_11;
    return _e105 ? (-_e100) : _e99;
}

ROCI_FN float minimum(float p_3, float q_2) {
    const bool _e3 = is_nan(q_2);
    const bool _e5 = is_nan(p_3);
    return _e5 ? p_3 : (_e3 ? q_2 : __builtin_elementwise_minnum(p_3, q_2));
}

ROCI_FN float maximum(float p_4, float q_3) {
    const bool _e3 = is_nan(q_3);
    const bool _e5 = is_nan(p_4);
    return _e5 ? p_4 : (_e3 ? q_3 : __builtin_elementwise_maxnum(p_4, q_3));
}

ROCI_FN int2 significand_and_exponent(uint bits_4) {
    const int exponent_5 = (int)(bits_4 >> 23u);
    if (exponent_5 == 0) {
        const int shift_2 = (int)((uint)((int)roci_leading_zeros_u32(bits_4)) - (uint)8);
        return (int2)((int)(bits_4 << (((uint)shift_2) & 31u)), (int)((uint)1 - (uint)shift_2));
    }
    return (int2)((int)((bits_4 & 8388607u) | 8388608u), exponent_5);
}

ROCI_FN float fmod_(float p_5, float q_4) {
    bool local_12 = false;
    bool local_13 = false;
    uint remainder_ = 0u;
    int exponent_difference = 0;
    uint bits_5 = 0u;
    const uint x_4 = as_uint(p_5) & 2147483647u;
    const uint y_3 = as_uint(q_4) & 2147483647u;
    if (!(y_3 == 0u)) {
        local_12 = x_4 >= 2139095040u;
    } else {
        local_12 = true;
    }
    const bool _e16 = local_12;
    if (!_e16) {
        local_13 = y_3 > 2139095040u;
    } else {
        local_13 = true;
    }
    const bool _e23 = local_13;
    if (_e23) {
        const float _e24 = quiet_nan();
        return _e24;
    }
    if (x_4 < y_3) {
        return p_5;
    }
    const int2 dividend = significand_and_exponent(x_4);
    const int2 divisor = significand_and_exponent(y_3);
    const uint divisor_significand = (uint)divisor.x;
    remainder_ = roci_mod_u32((uint)dividend.x, divisor_significand);
    exponent_difference = (int)((uint)dividend.y - (uint)divisor.y);
    while (true) {
        const int _e38 = exponent_difference;
        if (!(_e38 > 0)) {
            break;
        }
        {
            const int _e41 = exponent_difference;
            const int bits_per_step = __builtin_elementwise_min(_e41, 8);
            const uint _e44 = remainder_;
            remainder_ = roci_mod_u32(_e44 << (((uint)bits_per_step) & 31u), divisor_significand);
            const int _e48 = exponent_difference;
            exponent_difference = (int)((uint)_e48 - (uint)bits_per_step);
        }
    }
    const uint _e52 = remainder_;
    if (_e52 != 0u) {
        const uint _e55 = remainder_;
        const int shift_3 = (int)((uint)((int)roci_leading_zeros_u32(_e55)) - (uint)8);
        const int exponent_6 = (int)((uint)divisor.y - (uint)shift_3);
        if (exponent_6 > 0) {
            const uint _e64 = remainder_;
            bits_5 = ((_e64 << (((uint)shift_3) & 31u)) & 8388607u) | (((uint)exponent_6) << 23u);
        } else {
            const uint _e73 = remainder_;
            bits_5 = (_e73 << (((uint)shift_3) & 31u)) >> (((uint)((int)((uint)1 - (uint)exponent_6))) & 31u);
        }
    }
    const uint _e80 = bits_5;
    const float _e82 = copysign_(as_float(_e80), p_5);
    return _e82;
}

ROCI_FN float floor_mod(float p_6, float q_5) {
    bool local_14 = false;
    const float remainder_1 = fmod_(p_6, q_5);
    if (remainder_1 != 0.0f) {
        local_14 = (remainder_1 < 0.0f) != (q_5 < 0.0f);
    } else {
        local_14 = false;
    }
    const bool _e14 = local_14;
    return _e14 ? (remainder_1 + q_5) : remainder_1;
}

ROCI_FN uint binary_op(uint op_1, uint acc_1, uint x_1, uint alternative) {
    bool local_15 = false;
    const float p_8 = as_float(acc_1);
    const float q_6 = as_float(x_1);
    const int i_5 = as_int(acc_1);
    const int j = as_int(x_1);
    switch (op_1) {
    case 128u: {
        return x_1;
    }
    case 129u: {
        return (acc_1 != 0u) ? x_1 : alternative;
    }
    case 130u: {
        const uint _e12 = f32_word(p_8 + q_6);
        return _e12;
    }
    case 131u: {
        const uint _e14 = f32_word(p_8 - q_6);
        return _e14;
    }
    case 132u: {
        const uint _e16 = f32_word(q_6 - p_8);
        return _e16;
    }
    case 133u: {
        const uint _e18 = f32_word(p_8 * q_6);
        return _e18;
    }
    case 134u: {
        const uint _e20 = f32_word(p_8 / q_6);
        return _e20;
    }
    case 135u: {
        const uint _e22 = f32_word(q_6 / p_8);
        return _e22;
    }
    case 136u: {
        const float _e23 = precise_pow(p_8, q_6);
        const uint _e24 = f32_word(_e23);
        return _e24;
    }
    case 137u: {
        const float _e25 = precise_pow(q_6, p_8);
        const uint _e26 = f32_word(_e25);
        return _e26;
    }
    case 138u: {
        const float _e27 = minimum(p_8, q_6);
        const uint _e28 = f32_word(_e27);
        return _e28;
    }
    case 139u: {
        const float _e29 = maximum(p_8, q_6);
        const uint _e30 = f32_word(_e29);
        return _e30;
    }
    case 140u: {
        const float _e31 = fmod_(p_8, q_6);
        const uint _e32 = f32_word(_e31);
        return _e32;
    }
    case 141u: {
        const float _e33 = floor_mod(p_8, q_6);
        const uint _e34 = f32_word(_e33);
        return _e34;
    }
    case 142u: {
        const uint _e36 = bool_word(p_8 < q_6);
        return _e36;
    }
    case 143u: {
        const uint _e38 = bool_word(p_8 <= q_6);
        return _e38;
    }
    case 144u: {
        const uint _e40 = bool_word(p_8 == q_6);
        return _e40;
    }
    case 145u: {
        const uint _e42 = bool_word(p_8 > q_6);
        return _e42;
    }
    case 146u: {
        const uint _e44 = bool_word(p_8 >= q_6);
        return _e44;
    }
    case 147u: {
        const uint _e46 = f32_word(p_8 * q_6);
        return (p_8 < 0.0f) ? _e46 : acc_1;
    }
    case 148u: {
        const float _e50 = expm1_(p_8);
        const uint _e52 = f32_word(q_6 * _e50);
        return (p_8 < 0.0f) ? _e52 : acc_1;
    }
    case 149u: {
        return (p_8 > q_6) ? acc_1 : 0u;
    }
    case 160u: {
        return acc_1 + x_1;
    }
    case 161u: {
        return acc_1 - x_1;
    }
    case 162u: {
        return acc_1 * x_1;
    }
    case 163u: {
        const uint _e62 = div_i32_(acc_1, x_1);
        return _e62;
    }
    case 164u: {
        const uint _e63 = div_i32_(acc_1, x_1);
        return (x_1 == 0u) ? 0u : (acc_1 - (_e63 * x_1));
    }
    case 165u: {
        const uint _e70 = div_i32_(acc_1, x_1);
        const uint remainder_2 = (x_1 == 0u) ? 0u : (acc_1 - (_e70 * x_1));
        if (remainder_2 != 0u) {
            local_15 = ((remainder_2 ^ x_1) & 2147483648u) != 0u;
        } else {
            local_15 = false;
        }
        const bool _e88 = local_15;
        return _e88 ? (remainder_2 + x_1) : remainder_2;
    }
    case 166u: {
        return as_uint(__builtin_elementwise_min(i_5, j));
    }
    case 167u: {
        return as_uint(__builtin_elementwise_max(i_5, j));
    }
    case 168u: {
        const uint _e94 = pow_i32_(acc_1, x_1);
        return _e94;
    }
    case 169u: {
        const uint _e96 = bool_word(i_5 < j);
        return _e96;
    }
    case 170u: {
        const uint _e98 = bool_word(i_5 <= j);
        return _e98;
    }
    case 171u: {
        const uint _e100 = bool_word(i_5 > j);
        return _e100;
    }
    case 172u: {
        const uint _e102 = bool_word(i_5 >= j);
        return _e102;
    }
    case 176u: {
        return (x_1 == 0u) ? 0u : roci_div_u32(acc_1, __builtin_elementwise_max(x_1, 1u));
    }
    case 177u: {
        return (x_1 == 0u) ? 0u : roci_mod_u32(acc_1, __builtin_elementwise_max(x_1, 1u));
    }
    case 178u: {
        return __builtin_elementwise_min(acc_1, x_1);
    }
    case 179u: {
        return __builtin_elementwise_max(acc_1, x_1);
    }
    case 180u: {
        const uint _e120 = bool_word(acc_1 < x_1);
        return _e120;
    }
    case 181u: {
        const uint _e122 = bool_word(acc_1 <= x_1);
        return _e122;
    }
    case 182u: {
        const uint _e124 = bool_word(acc_1 > x_1);
        return _e124;
    }
    case 183u: {
        const uint _e126 = bool_word(acc_1 >= x_1);
        return _e126;
    }
    case 184u: {
        const uint _e128 = bool_word(acc_1 == x_1);
        return _e128;
    }
    case 185u: {
        return acc_1 & x_1;
    }
    case 186u: {
        return acc_1 | x_1;
    }
    case 187u: {
        return acc_1 ^ x_1;
    }
    case 188u: {
        return (x_1 < 32u) ? (acc_1 << ((x_1 & 31u) & 31u)) : 0u;
    }
    case 189u: {
        return (x_1 < 32u) ? (acc_1 >> ((x_1 & 31u) & 31u)) : 0u;
    }
    default: {
        return acc_1;
    }
    }
}

ROCI_FN uint input_offset(uint input, uint4 at, private const Params *params) {
    const uint first_2 = 4u * input;
    const uint _e8 = (*params).strides.e[first_2];
    const uint _e16 = (*params).strides.e[first_2 + 1u];
    const uint _e25 = (*params).strides.e[first_2 + 2u];
    const uint _e34 = (*params).strides.e[first_2 + 3u];
    return (((at.x * _e8) + (at.y * _e16)) + (at.z * _e25)) + (at.w * _e34);
}

ROCI_FN uint4 coordinates(uint i_2, private const Params *params) {
    const uint _e4 = (*params).shape.e[2];
    const uint _e7 = (*params).count;
    if (_e4 >= _e7) {
        return (uint4)(0u, 0u, 0u, i_2);
    }
    const uint _e16 = (*params).shape.e[2];
    const uint rows = roci_div_u32(i_2, _e16);
    const uint _e21 = (*params).shape.e[1];
    const uint planes = roci_div_u32(rows, _e21);
    const uint _e26 = (*params).shape.e[0];
    const uint _e31 = (*params).shape.e[0];
    const uint _e36 = (*params).shape.e[1];
    const uint _e41 = (*params).shape.e[2];
    return (uint4)(roci_div_u32(planes, _e26), roci_mod_u32(planes, _e31), roci_mod_u32(rows, _e36), roci_mod_u32(i_2, _e41));
}

ROCI_FN uint value_at(uint i_3, private const Params *params, global const uint *a, global const uint *b, global const uint *c) {
    uint4 saved = (uint4)(0u);
    uint acc_2 = 0u;
    uint step_ = 0u;
    uint x_2 = 0u;
    const uint4 at_1 = coordinates(i_3, params);
    while (true) {
        const uint _e8 = step_;
        if (!(_e8 < 16u)) {
            break;
        }
        {
            const uint _e13 = step_;
            const uint _e17 = (*params).program.e[_e13 / 2u];
            const uint _e19 = step_;
            const uint instruction = _e17 >> ((16u * (_e19 & 1u)) & 31u);
            const uint op_2 = instruction & 255u;
            const uint operand = (instruction >> 8u) & 15u;
            if (op_2 == 0u) {
                break;
            }
            if (op_2 >= 128u) {
                x_2 = 0u;
                switch (operand) {
                case 0u: {
                    const uint _e38 = input_offset(0u, at_1, params);
                    const uint _e40 = a[_e38];
                    x_2 = _e40;
                    break;
                }
                case 1u: {
                    const uint _e43 = input_offset(1u, at_1, params);
                    const uint _e45 = b[_e43];
                    x_2 = _e45;
                    break;
                }
                case 2u: {
                    const uint _e48 = input_offset(2u, at_1, params);
                    const uint _e50 = c[_e48];
                    x_2 = _e50;
                    break;
                }
                case 4u: {
                    const uint _e52 = saved.x;
                    x_2 = _e52;
                    break;
                }
                case 5u: {
                    const uint _e54 = saved.y;
                    x_2 = _e54;
                    break;
                }
                case 6u: {
                    const uint _e56 = saved.z;
                    x_2 = _e56;
                    break;
                }
                case 7u: {
                    const uint _e58 = saved.w;
                    x_2 = _e58;
                    break;
                }
                default: {
                    const uint _e64 = (*params).immediates.e[operand & 7u];
                    x_2 = _e64;
                    break;
                }
                }
                const uint _e65 = acc_2;
                const uint _e66 = x_2;
                const uint _e68 = saved.w;
                const uint _e69 = binary_op(op_2, _e65, _e66, _e68);
                acc_2 = _e69;
            } else {
                if (op_2 == 1u) {
                    switch (operand & 3u) {
                    case 0u: {
                        const uint _e75 = acc_2;
                        saved.x = _e75;
                        break;
                    }
                    case 1u: {
                        const uint _e77 = acc_2;
                        saved.y = _e77;
                        break;
                    }
                    case 2u: {
                        const uint _e79 = acc_2;
                        saved.z = _e79;
                        break;
                    }
                    default: {
                        const uint _e81 = acc_2;
                        saved.w = _e81;
                        break;
                    }
                    }
                } else {
                    if (op_2 == 2u) {
                        switch (operand & 3u) {
                        case 0u: {
                            acc_2 = at_1.x;
                            break;
                        }
                        case 1u: {
                            acc_2 = at_1.y;
                            break;
                        }
                        case 2u: {
                            acc_2 = at_1.z;
                            break;
                        }
                        default: {
                            acc_2 = at_1.w;
                            break;
                        }
                        }
                    } else {
                        const uint _e90 = acc_2;
                        const uint _e91 = unary_op(op_2, _e90);
                        acc_2 = _e91;
                    }
                }
            }
        }
        const uint _e92 = step_;
        step_ = _e92 + 1u;
    }
    const uint _e95 = acc_2;
    return _e95;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void elementwise_program(global const uint *a, global const uint *b, global const uint *c, global uint *y, Params params) {
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
            const uint _e10 = i;
            const uint _e12 = i;
            const uint _e13 = value_at(_e12, &params, a, b, c);
            y[_e10] = _e13;
        }
        const uint _e14 = i;
        i = _e14 + (groups.x * 256u);
    }
}
