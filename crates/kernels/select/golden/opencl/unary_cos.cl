// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;
typedef struct {
    float sine;
    float cosine;
    int quadrant;
} ReducedAngle;

#define roci_leading_zeros_u32 clz
#define roci_fmin fmin
#define roci_fmax fmax
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}

ROCI_FN float quiet_nan(void) {
    uint bits = 2143289344u;
    const uint _e2 = bits;
    return as_float(_e2);
}

ROCI_FN uint2 mul_wide(uint p, uint q) {
    const uint low = (p & 65535u) * (q & 65535u);
    const uint left = ((p >> 16u) * (q & 65535u)) + (low >> 16u);
    const uint right = ((p & 65535u) * (q >> 16u)) + (left & 65535u);
    return (uint2)(p * q, (((p >> 16u) * (q >> 16u)) + (left >> 16u)) + (right >> 16u));
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
    const uint shift = start & 31u;
    const uint _e5 = two_over_pi_word(start >> 5u);
    const uint first = _e5 << (shift & 31u);
    const uint _e11 = two_over_pi_word((start >> 5u) + 1u);
    return (shift == 0u) ? first : (first | (_e11 >> (((32u - shift) & 31u) & 31u)));
}

ROCI_FN float2 payne_hanek(float v) {
    uint high_word = 0u;
    uint low_word = 0u;
    uint exponent = 0u;
    const uint bits_1 = as_uint(v) & 2147483647u;
    const uint significand = (bits_1 & 8388607u) | 8388608u;
    const uint start_1 = (bits_1 >> 23u) - 120u;
    const uint _e14 = two_over_pi_bits(start_1 + 64u);
    const uint2 low_1 = mul_wide(significand, _e14);
    const uint _e18 = two_over_pi_bits(start_1 + 32u);
    const uint2 middle = mul_wide(significand, _e18);
    const uint second = low_1.y + middle.x;
    const uint _e23 = two_over_pi_bits(start_1);
    const uint first_1 = ((significand * _e23) + middle.y) + ((second < low_1.y) ? 1u : 0u);
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
        exponent = 32u;
    }
    const uint _e73 = high_word;
    const uint zeros = roci_leading_zeros_u32(_e73) & 31u;
    const uint _e77 = high_word;
    const uint _e79 = low_word;
    const uint leading_bits = (_e77 << (zeros & 31u)) | ((zeros == 0u) ? 0u : (_e79 >> (((32u - zeros) & 31u) & 31u)));
    const uint _e92 = exponent;
    const float fraction = (((float)leading_bits) * as_float(((95u - _e92) - zeros) << 23u)) * 1.5707964f;
    const float2 result = (float2)(negative ? (-fraction) : fraction, (float)quadrant_1);
    return (v < 0.0f) ? (-result) : result;
}

ROCI_FN ReducedAngle reduce_angle(float v_1) {
    float quadrant = 0.0f;
    float r = 0.0f;
    quadrant = rint(v_1 * 0.63661975f);
    const float _e5 = quadrant;
    const float _e9 = quadrant;
    const float _e13 = quadrant;
    r = ((v_1 - (_e5 * 1.5703125f)) - (_e9 * 0.0004837513f)) - (_e13 * 7.54979e-8f);
    const uint bits_2 = as_uint(v_1) & 2147483647u;
    if (bits_2 >= 2139095040u) {
        quadrant = 0.0f;
        const float _e24 = quiet_nan();
        r = _e24;
    } else {
        if (bits_2 >= 1174405120u) {
            const float2 large = payne_hanek(v_1);
            r = large.x;
            quadrant = large.y;
        }
    }
    const float _e30 = r;
    const float _e31 = r;
    const float s = _e30 * _e31;
    const float _e33 = r;
    const float _e34 = r;
    const float sine = _e33 + ((_e34 * s) * ((-0.16666655f) + (s * (0.008332161f - (s * 0.00019515296f)))));
    const float cosine = (1.0f - (0.5f * s)) + ((s * s) * (0.041666646f + (s * ((-0.0013887316f) + (s * 2.4433157e-5f)))));
    const float _e59 = quadrant;
    return (ReducedAngle){.sine = sine, .cosine = cosine, .quadrant = roci_f32_to_i32(_e59)};
}

ROCI_FN float shifted_sin(float v_2, int quarter_turns) {
    const ReducedAngle angle = reduce_angle(v_2);
    const int quadrant_2 = ((int)((uint)angle.quadrant + (uint)quarter_turns)) & 3;
    const float value = ((quadrant_2 & 1) == 1) ? angle.cosine : angle.sine;
    return (quadrant_2 >= 2) ? (-value) : value;
}

ROCI_FN float apply(float v_3) {
    const float _e2 = shifted_sin(v_3, 1);
    return _e2;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_cos(global const float *x, global float *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
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
            const uint _e13 = i;
            const float _e15 = x[_e13];
            const float _e16 = apply(_e15);
            y[_e10] = _e16;
        }
        const uint _e17 = i;
        i = _e17 + (groups.x * 256u);
    }
}
