// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[2]; } array2_uint;
typedef struct {
    uint count;
    array2_uint key;
    array2_uint counter;
    uint form;
} Params;
typedef struct {
    float sine;
    float cosine;
    int quarters;
} Angle;

#define roci_leading_zeros_u32 clz
#define roci_fmin fmin
#define roci_fmax fmax
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}

ROCI_FN uint2 wide_product(uint p, uint q) {
    const uint low = (p & 65535u) * (q & 65535u);
    const uint left = ((p >> 16u) * (q & 65535u)) + (low >> 16u);
    const uint right = ((p & 65535u) * (q >> 16u)) + (left & 65535u);
    return (uint2)(p * q, (((p >> 16u) * (q >> 16u)) + (left >> 16u)) + (right >> 16u));
}

ROCI_FN uint4 philox(uint4 start, uint2 start_key) {
    uint4 v = (uint4)(0u);
    uint2 key = (uint2)(0u);
    uint turn = 0u;
    v = start;
    key = start_key;
    while (true) {
        const uint _e6 = turn;
        if (!(_e6 < 10u)) {
            break;
        }
        {
            const uint _e10 = v.x;
            const uint2 first = wide_product(_e10, 3528531795u);
            const uint _e14 = v.z;
            const uint2 second = wide_product(_e14, 3449720151u);
            const uint _e19 = v.y;
            const uint _e22 = key.x;
            const uint _e27 = v.w;
            const uint _e30 = key.y;
            v = (uint4)((second.y ^ _e19) ^ _e22, second.x, (first.y ^ _e27) ^ _e30, first.x);
            const uint2 _e34 = key;
            key = _e34 + ((uint2)(2654435769u, 3144134277u));
        }
        const uint _e39 = turn;
        turn = _e39 + 1u;
    }
    const uint4 _e42 = v;
    return _e42;
}

ROCI_FN float fraction(uint v_1) {
    return ((float)(v_1 >> 8u)) * 5.9604645e-8f;
}

ROCI_FN float infinity(void) {
    uint bits = 2139095040u;
    const uint _e2 = bits;
    return as_float(_e2);
}

ROCI_FN float not_a_number(void) {
    uint bits_1 = 2143289344u;
    const uint _e2 = bits_1;
    return as_float(_e2);
}

ROCI_FN float logarithm(float v_2) {
    uint bits_2 = 0u;
    int exponent = 0;
    float value = 0.0f;
    const uint all_ = as_uint(v_2);
    bits_2 = all_;
    const uint _e5 = bits_2;
    if (_e5 < 8388608u) {
        const uint _e8 = bits_2;
        bits_2 = as_uint((float)_e8);
        exponent = -149;
    }
    const uint _e12 = bits_2;
    const uint shifted = _e12 - 1060439283u;
    const int _e15 = exponent;
    const float k = (float)((int)((uint)_e15 + (uint)(as_int(shifted) >> 23u)));
    const float f = as_float((shifted & 8388607u) + 1060439283u) - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float r_1 = z * (0.6666666f + (z * (0.40000972f + (z * (0.28498787f + (z * 0.24279079f))))));
    const float square = (0.5f * f) * f;
    value = (k * 0.6931381f) - ((square - ((s * (square + r_1)) + (k * 9.058001e-6f))) - f);
    if ((all_ & 2147483647u) == 0u) {
        const float _e61 = infinity();
        value = -_e61;
    } else {
        if (all_ > 2147483648u) {
            const float _e65 = not_a_number();
            value = _e65;
        } else {
            if (all_ >= 2139095040u) {
                value = v_2;
            }
        }
    }
    const float _e68 = value;
    return _e68;
}

ROCI_FN uint turns_word(uint i_1) {
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

ROCI_FN uint turns_bits(uint start_1) {
    const uint shift = start_1 & 31u;
    const uint _e5 = turns_word(start_1 >> 5u);
    const uint first_1 = _e5 << (shift & 31u);
    const uint _e11 = turns_word((start_1 >> 5u) + 1u);
    return (shift == 0u) ? first_1 : (first_1 | (_e11 >> (((32u - shift) & 31u) & 31u)));
}

ROCI_FN float2 far_rest(float v_3) {
    uint high = 0u;
    uint next = 0u;
    uint exponent_1 = 0u;
    const uint bits_3 = as_uint(v_3) & 2147483647u;
    const uint digits = (bits_3 & 8388607u) | 8388608u;
    const uint start_2 = (bits_3 >> 23u) - 120u;
    const uint _e14 = turns_bits(start_2 + 64u);
    const uint2 low_1 = wide_product(digits, _e14);
    const uint _e18 = turns_bits(start_2 + 32u);
    const uint2 middle = wide_product(digits, _e18);
    const uint second_1 = low_1.y + middle.x;
    const uint _e23 = turns_bits(start_2);
    const uint first_2 = ((digits * _e23) + middle.y) + ((second_1 < low_1.y) ? 1u : 0u);
    const uint quarters_1 = (first_2 + 536870912u) >> 30u;
    high = (first_2 << 2u) | (second_1 >> 30u);
    next = (second_1 << 2u) | (low_1.x >> 30u);
    const uint _e50 = high;
    const bool below = _e50 >= 2147483648u;
    if (below) {
        const uint _e53 = high;
        const uint _e57 = next;
        high = (~_e53) + ((_e57 == 0u) ? 1u : 0u);
        const uint _e63 = next;
        next = 0u - _e63;
    }
    const uint _e67 = high;
    if (_e67 == 0u) {
        const uint _e70 = next;
        high = _e70;
        next = 0u;
        exponent_1 = 32u;
    }
    const uint _e73 = high;
    const uint zeros = roci_leading_zeros_u32(_e73) & 31u;
    const uint _e77 = high;
    const uint _e79 = next;
    const uint leading = (_e77 << (zeros & 31u)) | ((zeros == 0u) ? 0u : (_e79 >> (((32u - zeros) & 31u) & 31u)));
    const uint _e92 = exponent_1;
    const float part = (((float)leading) * as_float(((95u - _e92) - zeros) << 23u)) * 1.5707964f;
    const float2 rest = (float2)(below ? (-part) : part, (float)quarters_1);
    return (v_3 < 0.0f) ? (-rest) : rest;
}

ROCI_FN Angle reduced(float v_4) {
    float turns = 0.0f;
    float r = 0.0f;
    turns = rint(v_4 * 0.63661975f);
    const float _e5 = turns;
    const float _e9 = turns;
    const float _e13 = turns;
    r = ((v_4 - (_e5 * 1.5703125f)) - (_e9 * 0.0004837513f)) - (_e13 * 7.54979e-8f);
    const uint bits_4 = as_uint(v_4) & 2147483647u;
    if (bits_4 >= 2139095040u) {
        turns = 0.0f;
        const float _e24 = not_a_number();
        r = _e24;
    } else {
        if (bits_4 >= 1174405120u) {
            const float2 far = far_rest(v_4);
            r = far.x;
            turns = far.y;
        }
    }
    const float _e30 = r;
    const float _e31 = r;
    const float s_1 = _e30 * _e31;
    const float _e33 = r;
    const float _e34 = r;
    const float sine = _e33 + ((_e34 * s_1) * ((-0.16666655f) + (s_1 * (0.008332161f - (s_1 * 0.00019515296f)))));
    const float cosine = (1.0f - (0.5f * s_1)) + ((s_1 * s_1) * (0.041666646f + (s_1 * ((-0.0013887316f) + (s_1 * 2.4433157e-5f)))));
    const float _e59 = turns;
    return (Angle){.sine = sine, .cosine = cosine, .quarters = roci_f32_to_i32(_e59)};
}

ROCI_FN float wave(float v_5, int quarters) {
    const Angle angle = reduced(v_5);
    const int quarter = ((int)((uint)angle.quarters + (uint)quarters)) & 3;
    const float value_1 = ((quarter & 1) == 1) ? angle.cosine : angle.sine;
    return (quarter >= 2) ? (-value_1) : value_1;
}

ROCI_FN uint2 normals(uint p_1, uint q_1) {
    const float _e9 = logarithm(((float)((p_1 >> 8u) + 1u)) * 5.9604645e-8f);
    const float radius = sqrt((-2.0f) * _e9);
    const float _e13 = fraction(q_1);
    const float angle_1 = 6.2831855f * _e13;
    const float _e17 = wave(angle_1, 1);
    const float _e19 = wave(angle_1, 0);
    return as_uint2(radius * ((float2)(_e17, _e19)));
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void random(global uint *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint i = 0u;
    uint4 words = (uint4)(0u);
    uint j = 0u;
    bool local_ = false;
    const uint _e4 = params.count;
    const uint _e11 = params.count;
    const uint blocks = (_e4 / 4u) + (((_e11 & 3u) != 0u) ? 1u : 0u);
    i = id.x;
    while (true) {
        const uint _e20 = i;
        if (!(_e20 < blocks)) {
            break;
        }
        {
            const uint _e25 = params.counter.e[0];
            const uint _e26 = i;
            const uint low_2 = _e25 + _e26;
            const uint _e31 = params.counter.e[1];
            const uint _e34 = i;
            const uint high_1 = _e31 + ((low_2 < _e34) ? 1u : 0u);
            const uint _e44 = params.key.e[0];
            const uint _e48 = params.key.e[1];
            const uint4 _e50 = philox((uint4)(low_2, high_1, 0u, 0u), (uint2)(_e44, _e48));
            words = _e50;
            const uint _e54 = params.form;
            switch (_e54) {
            case 1u: {
                const uint _e56 = words.x;
                const float _e57 = fraction(_e56);
                const uint _e59 = words.y;
                const float _e60 = fraction(_e59);
                const float2 pair = (float2)(_e57, _e60);
                const uint _e63 = words.z;
                const float _e64 = fraction(_e63);
                const uint _e66 = words.w;
                const float _e67 = fraction(_e66);
                words = as_uint4((float4)(pair, _e64, _e67));
                break;
            }
            case 2u: {
                const uint _e71 = words.x;
                const uint _e73 = words.y;
                const uint2 _e74 = normals(_e71, _e73);
                const uint _e76 = words.z;
                const uint _e78 = words.w;
                const uint2 _e79 = normals(_e76, _e78);
                words = (uint4)(_e74, _e79);
                break;
            }
            default: {
                break;
            }
            }
            j = 0u;
            while (true) {
                const uint _e83 = j;
                if (_e83 < 4u) {
                    const uint _e89 = i;
                    const uint _e91 = j;
                    const uint _e95 = params.count;
                    local_ = ((4u * _e89) + _e91) < _e95;
                } else {
                    local_ = false;
                }
                const bool _e98 = local_;
                if (!_e98) {
                    break;
                }
                {
                    const uint _e101 = i;
                    const uint _e103 = j;
                    const uint _e106 = j;
                    const uint _e108 = ((private uint *)&words)[_e106];
                    y[(4u * _e101) + _e103] = _e108;
                }
                const uint _e109 = j;
                j = _e109 + 1u;
            }
        }
        const uint _e112 = i;
        i = _e112 + (groups.x * 256u);
    }
}
