// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint rows;
    uint columns;
    uint tokens;
    uint x_stride;
    uint y_stride;
    uint y_offset;
    uint flags;
    uint experts;
    uint sharing;
    uint model_columns;
    float epsilon;
} Params;
typedef struct { float2 e[128]; } array128_float2_;
typedef struct {
    float4 a;
    float4 b;
    float4 c;
    float4 d;
    float4 e;
    float4 f;
    float4 g;
    float4 h;
} Eight;

ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
ROCI_FN uint4 roci_unpack4xU8(uint a) {
    const uchar4 v = as_uchar4(a);
    return (uint4)(v.x, v.y, v.z, v.w);
}
ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

ROCI_FN Eight load_eight(uint at_1, global const float4 *x) {
    const float4 _e3 = x[at_1];
    const float4 _e8 = x[at_1 + 1u];
    const float4 _e13 = x[at_1 + 2u];
    const float4 _e18 = x[at_1 + 3u];
    const float4 _e23 = x[at_1 + 4u];
    const float4 _e28 = x[at_1 + 5u];
    const float4 _e33 = x[at_1 + 6u];
    const float4 _e38 = x[at_1 + 7u];
    return (Eight){.a = _e3, .b = _e8, .c = _e13, .d = _e18, .e = _e23, .f = _e28, .g = _e33, .h = _e38};
}

ROCI_FN float2 totals_of(Eight v) {
    bool local_ = false;
    bool local_1 = false;
    bool local_2 = false;
    bool local_3 = false;
    bool local_4 = false;
    local_ = false;
    const bool _e4 = local_;
    if (!_e4) {
        local_1 = false;
    } else {
        local_1 = true;
    }
    const bool _e10 = local_1;
    if (!_e10) {
        local_2 = false;
    } else {
        local_2 = true;
    }
    const bool _e16 = local_2;
    if (!_e16) {
        local_3 = false;
    } else {
        local_3 = true;
    }
    const bool _e22 = local_3;
    if (!_e22) {
        local_4 = false;
    } else {
        local_4 = true;
    }
    const bool _e28 = local_4;
    if (_e28) {
        return (float2)(0.0f);
    }
    const float4 first_1 = (v.a + v.b) + (v.c + v.d);
    const float4 second_1 = (v.e + v.f) + (v.g + v.h);
    return (float2)((first_1.x + first_1.y) + (first_1.z + first_1.w), (second_1.x + second_1.y) + (second_1.z + second_1.w));
}

ROCI_FN float4 codes_of(uint chunk, uint word, uint next, uint2 rest) {
    bool local_5 = false;
    bool local_6 = false;
    local_5 = false;
    const bool _e8 = local_5;
    if (!_e8) {
        local_6 = false;
    } else {
        local_6 = true;
    }
    const bool _e14 = local_6;
    if (_e14) {
        return convert_float4(roci_unpack4xI8(word));
    }
    const uint nibbles = (word >> (((chunk / 4u) * 4u) & 31u)) & 252645135u;
    return convert_float4(roci_unpack4xU8(nibbles));
}

ROCI_FN float pair_dot(uint4 four, float4 v_1, float4 w) {
    const float4 _e7 = codes_of(0u, four.x, four.y, four.zw);
    const float4 _e13 = codes_of(0u, four.z, four.w, four.xy);
    return roci_dot_float4(_e7, v_1) + roci_dot_float4(_e13, w);
}

ROCI_FN float word_dot(uint chunk_1, uint word_1, float4 v_2) {
    const float4 _e4 = codes_of(chunk_1, word_1, word_1, (uint2)(0u));
    return roci_dot_float4(_e4, v_2);
}

ROCI_FN float2 products_of(uint group_1, Eight v_3, global const uint4 *codes) {
    bool local_7 = false;
    bool local_8 = false;
    bool local_9 = false;
    local_7 = false;
    const bool _e5 = local_7;
    if (_e5) {
        const uint at_2 = group_1 * 4u;
        const uint4 p = codes[at_2];
        const uint4 q = codes[at_2 + 1u];
        const uint4 r = codes[at_2 + 2u];
        const uint4 s = codes[at_2 + 3u];
        const float _e28 = pair_dot(p, v_3.a, v_3.b);
        const float _e31 = pair_dot(q, v_3.c, v_3.d);
        const float _e35 = pair_dot(r, v_3.e, v_3.f);
        const float _e38 = pair_dot(s, v_3.g, v_3.h);
        return (float2)(_e28 + _e31, _e35 + _e38);
    }
    local_8 = false;
    const bool _e44 = local_8;
    if (!_e44) {
        local_9 = false;
    } else {
        local_9 = true;
    }
    const bool _e50 = local_9;
    if (_e50) {
        const uint4 p_1 = codes[group_1 * 2u];
        const uint4 q_1 = codes[(group_1 * 2u) + 1u];
        const float _e66 = word_dot(0u, p_1.x, v_3.a);
        const float _e70 = word_dot(1u, p_1.y, v_3.b);
        const float _e75 = word_dot(2u, p_1.z, v_3.c);
        const float _e79 = word_dot(3u, p_1.w, v_3.d);
        const float _e85 = word_dot(4u, q_1.x, v_3.e);
        const float _e89 = word_dot(5u, q_1.y, v_3.f);
        const float _e94 = word_dot(6u, q_1.z, v_3.g);
        const float _e98 = word_dot(7u, q_1.w, v_3.h);
        return (float2)((_e66 + _e70) + (_e75 + _e79), (_e85 + _e89) + (_e94 + _e98));
    }
    const uint4 p_2 = codes[group_1];
    const float _e108 = word_dot(0u, p_2.x, v_3.a);
    const float _e112 = word_dot(1u, p_2.y, v_3.b);
    const float _e117 = word_dot(2u, p_2.z, v_3.c);
    const float _e121 = word_dot(3u, p_2.w, v_3.d);
    const float _e127 = word_dot(4u, p_2.x, v_3.e);
    const float _e131 = word_dot(5u, p_2.y, v_3.f);
    const float _e136 = word_dot(6u, p_2.z, v_3.g);
    const float _e140 = word_dot(7u, p_2.w, v_3.h);
    return (float2)((_e108 + _e112) + (_e117 + _e121), (_e127 + _e131) + (_e136 + _e140));
}

ROCI_FN float2 scale_from(uint2 words, uint half_) {
    bool local_10 = false;
    bool local_11 = false;
    bool local_12 = false;
    local_10 = false;
    const bool _e5 = local_10;
    if (_e5) {
        const float scale = roci_unpack2x16float(words.x).x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    local_11 = true;
    const bool _e18 = local_11;
    if (_e18) {
        return roci_unpack2x16float((half_ == 1u) ? words.y : words.x);
    }
    local_12 = false;
    const bool _e28 = local_12;
    if (_e28) {
        return (float2)(as_float(words.x), 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN uint2 scale_words(uint group_2, global const uint *scales) {
    bool local_13 = false;
    bool local_14 = false;
    bool local_15 = false;
    bool local_16 = false;
    bool local_17 = false;
    local_13 = false;
    const bool _e4 = local_13;
    if (_e4) {
        const uint _e9 = scales[group_2 / 2u];
        return (uint2)(_e9 >> (((group_2 % 2u) * 16u) & 31u), 0u);
    }
    local_14 = false;
    const bool _e20 = local_14;
    if (!_e20) {
        local_15 = false;
    } else {
        local_15 = true;
    }
    const bool _e26 = local_15;
    if (_e26) {
        const uint _e29 = scales[group_2];
        return (uint2)(_e29, 0u);
    }
    local_16 = true;
    const bool _e35 = local_16;
    if (!_e35) {
        local_17 = false;
    } else {
        local_17 = true;
    }
    const bool _e41 = local_17;
    if (_e41) {
        const uint _e46 = scales[group_2 * 2u];
        const uint _e53 = scales[(group_2 * 2u) + 1u];
        return (uint2)(_e46, _e53);
    }
    return (uint2)(0u);
}

ROCI_FN float2 scale_of(uint group_3, uint half_1, global const uint *scales) {
    const uint2 _e2 = scale_words(group_3, scales);
    const float2 _e3 = scale_from(_e2, half_1);
    return _e3;
}

ROCI_FN float group_of(uint group_4, Eight v_4, float2 totals, global const uint4 *codes, global const uint *scales) {
    bool local_18 = false;
    const float2 products = products_of(group_4, v_4, codes);
    const float2 first_2 = scale_of(group_4, 0u, scales);
    local_18 = true;
    const bool _e9 = local_18;
    if (_e9) {
        const float2 second_2 = scale_of(group_4, 1u, scales);
        return ((first_2.x * products.x) + (first_2.y * totals.x)) + ((second_2.x * products.y) + (second_2.y * totals.y));
    }
    return (first_2.x * (products.x + products.y)) + (first_2.y * (totals.x + totals.y));
}

ROCI_FN uint row_of(uint token, private const Params *params) {
    const uint _e3 = (*params).tokens;
    const uint _e9 = (*params).x_stride;
    return min(token, _e3 - 1u) * (_e9 / 4u);
}

ROCI_FN float2 step_(uint near, uint far, Eight v_5, global const uint4 *codes, global const uint *scales) {
    const float2 totals_1 = totals_of(v_5);
    const float _e4 = group_of(near, v_5, totals_1, codes, scales);
    const float _e5 = group_of(far, v_5, totals_1, codes, scales);
    return (float2)(_e4, _e5);
}

ROCI_FN float activation(float v_6, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 4u) != 0u) {
        return v_6 / (1.0f + exp(-v_6));
    }
    const float z = 1.5957692f * (v_6 + (((0.044715f * v_6) * v_6) * v_6));
    return v_6 / (1.0f + exp(-z));
}

ROCI_FN float pair_of(uint row, float2 sums, private const Params *params, global const float *bias) {
    float2 v_7 = (float2)(0.0f);
    v_7 = sums;
    const uint _e5 = (*params).flags;
    if ((_e5 & 2u) != 0u) {
        const float2 _e10 = v_7;
        const float _e13 = bias[row];
        const float _e18 = bias[row + 1u];
        v_7 = _e10 + ((float2)(_e13, _e18));
    }
    const float _e22 = v_7.x;
    const float _e23 = activation(_e22, params);
    const float _e25 = v_7.y;
    return _e23 * _e25;
}

ROCI_FN void finish_pair(uint token_1, uint row_1, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    const uint _e6 = (*params).y_stride;
    const uint _e10 = (*params).y_offset;
    const float _e16 = pair_of(row_1, sums_1, params, bias);
    y[((token_1 * _e6) + _e10) + (row_1 / 2u)] = _e16;
}

ROCI_FN void finish(uint token_2, uint row_2, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_8 = 0.0f;
    const uint _e5 = (*params).y_stride;
    const uint _e9 = (*params).y_offset;
    const uint at_3 = ((token_2 * _e5) + _e9) + row_2;
    v_8 = sum;
    const uint _e15 = (*params).flags;
    if ((_e15 & 2u) != 0u) {
        const float _e20 = v_8;
        const float _e23 = bias[row_2];
        v_8 = _e20 + _e23;
    }
    const uint _e27 = (*params).flags;
    if ((_e27 & 1u) != 0u) {
        const float _e32 = v_8;
        const float _e35 = y[at_3];
        v_8 = _e32 + _e35;
    }
    const float _e39 = v_8;
    y[at_3] = _e39;
}

ROCI_FN void meet(uint token_3, uint tile_1, uint lane_1, private const Params *params, global const float *bias, global float *y, local array128_float2_ *partials) {
    bool local_19 = false;
    float2 sum_1 = (float2)(0.0f);
    uint i = 0u;
    if (lane_1 < 4u) {
        const uint _e9 = (*params).tokens;
        local_19 = token_3 < _e9;
    } else {
        local_19 = false;
    }
    const bool _e12 = local_19;
    if (_e12) {
        while (true) {
            const uint _e17 = i;
            if (!(_e17 < 32u)) {
                break;
            }
            {
                const float2 _e20 = sum_1;
                const uint _e24 = i;
                const float2 _e27 = (*partials).e[(lane_1 * 32u) + _e24];
                sum_1 = _e20 + _e27;
            }
            const uint _e29 = i;
            i = _e29 + 1u;
        }
        const uint row_3 = tile_1 + (lane_1 * 2u);
        const uint _e37 = (*params).rows;
        if (row_3 < _e37) {
            const uint _e41 = (*params).flags;
            if ((_e41 & 12u) != 0u) {
                const float2 _e46 = sum_1;
                finish_pair(token_3, row_3, _e46, params, bias, y);
                return;
            } else {
                const float _e48 = sum_1.x;
                finish(token_3, row_3, _e48, params, bias, y);
                const uint _e53 = (*params).rows;
                if ((row_3 + 1u) < _e53) {
                    const float _e58 = sum_1.y;
                    finish(token_3, row_3 + 1u, _e58, params, bias, y);
                    return;
                } else {
                    return;
                }
            }
        } else {
            return;
        }
    } else {
        return;
    }
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_matvec4_q4_halves(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global float *y, Params params) {
    local array128_float2_ partials;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
    uint tile = 0u;
    float2 first = (float2)(0.0f);
    float2 second = (float2)(0.0f);
    float2 third = (float2)(0.0f);
    float2 fourth = (float2)(0.0f);
    uint at = 0u;
    const uint _e5 = params.columns;
    const uint width = _e5 / 32u;
    const uint token_4 = group.y * 4u;
    const uint one = row_of(token_4, &params);
    const uint two = row_of(token_4 + 1u, &params);
    const uint three = row_of(token_4 + 2u, &params);
    const uint four_1 = row_of(token_4 + 3u, &params);
    tile = group.x * 8u;
    while (true) {
        const uint _e25 = tile;
        const uint _e28 = params.rows;
        if (!(_e25 < _e28)) {
            break;
        }
        {
            const uint _e30 = tile;
            const uint row_4 = _e30 + ((lane / 32u) * 2u);
            const uint _e38 = params.rows;
            const uint near_1 = min(row_4, _e38 - 1u) * width;
            const uint _e47 = params.rows;
            const uint far_1 = min(row_4 + 1u, _e47 - 1u) * width;
            first = (float2)(0.0f);
            second = (float2)(0.0f);
            third = (float2)(0.0f);
            fourth = (float2)(0.0f);
            at = lane % 32u;
            while (true) {
                const uint _e63 = at;
                if (!(_e63 < width)) {
                    break;
                }
                {
                    const float2 _e65 = first;
                    const uint _e66 = at;
                    const uint _e68 = at;
                    const uint _e70 = at;
                    const Eight _e74 = load_eight(one + (_e70 * 8u), x);
                    const float2 _e75 = step_(near_1 + _e66, far_1 + _e68, _e74, codes, scales);
                    first = _e65 + _e75;
                    const float2 _e77 = second;
                    const uint _e78 = at;
                    const uint _e80 = at;
                    const uint _e82 = at;
                    const Eight _e86 = load_eight(two + (_e82 * 8u), x);
                    const float2 _e87 = step_(near_1 + _e78, far_1 + _e80, _e86, codes, scales);
                    second = _e77 + _e87;
                    const float2 _e89 = third;
                    const uint _e90 = at;
                    const uint _e92 = at;
                    const uint _e94 = at;
                    const Eight _e98 = load_eight(three + (_e94 * 8u), x);
                    const float2 _e99 = step_(near_1 + _e90, far_1 + _e92, _e98, codes, scales);
                    third = _e89 + _e99;
                    const float2 _e101 = fourth;
                    const uint _e102 = at;
                    const uint _e104 = at;
                    const uint _e106 = at;
                    const Eight _e110 = load_eight(four_1 + (_e106 * 8u), x);
                    const float2 _e111 = step_(near_1 + _e102, far_1 + _e104, _e110, codes, scales);
                    fourth = _e101 + _e111;
                }
                const uint _e113 = at;
                at = _e113 + 32u;
            }
            const float2 _e118 = first;
            partials.e[lane] = _e118;
            roci_barrier_workgroup();
            const uint _e119 = tile;
            meet(token_4, _e119, lane, &params, bias, y, &partials);
            roci_barrier_workgroup();
            const float2 _e122 = second;
            partials.e[lane] = _e122;
            roci_barrier_workgroup();
            const uint _e125 = tile;
            meet(token_4 + 1u, _e125, lane, &params, bias, y, &partials);
            roci_barrier_workgroup();
            const float2 _e128 = third;
            partials.e[lane] = _e128;
            roci_barrier_workgroup();
            const uint _e131 = tile;
            meet(token_4 + 2u, _e131, lane, &params, bias, y, &partials);
            roci_barrier_workgroup();
            const float2 _e134 = fourth;
            partials.e[lane] = _e134;
            roci_barrier_workgroup();
            const uint _e137 = tile;
            meet(token_4 + 3u, _e137, lane, &params, bias, y, &partials);
            roci_barrier_workgroup();
        }
        const uint _e138 = tile;
        tile = _e138 + (groups.x * 8u);
    }
}
