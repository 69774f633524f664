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
typedef struct { float4 e[864]; } array864_float4_;
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
    return (float)as_half(bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

ROCI_FN Eight staged_eight(uint group_1, local array864_float4_ *staged) {
    const uint at_3 = group_1 * 9u;
    const float4 _e5 = (*staged).e[at_3];
    const float4 _e10 = (*staged).e[at_3 + 1u];
    const float4 _e15 = (*staged).e[at_3 + 2u];
    const float4 _e20 = (*staged).e[at_3 + 3u];
    const float4 _e25 = (*staged).e[at_3 + 4u];
    const float4 _e30 = (*staged).e[at_3 + 5u];
    const float4 _e35 = (*staged).e[at_3 + 6u];
    const float4 _e40 = (*staged).e[at_3 + 7u];
    return (Eight){.a = _e5, .b = _e10, .c = _e15, .d = _e20, .e = _e25, .f = _e30, .g = _e35, .h = _e40};
}

ROCI_FN float stage(uint row, uint first_1, uint count, uint lane_1, private const Params *params, global const float4 *x, global const float4 *norm, local array864_float4_ *staged) {
    float squares_1 = 0.0f;
    uint i_1 = 0u;
    float4 v = (float4)(0.0f);
    i_1 = lane_1;
    while (true) {
        const uint _e7 = i_1;
        if (!(_e7 < (count * 8u))) {
            break;
        }
        {
            const uint _e15 = i_1;
            const float4 _e18 = x[(row + (first_1 * 8u)) + _e15];
            v = _e18;
            const uint _e22 = (*params).flags;
            if ((_e22 & 16u) != 0u) {
                const float _e27 = squares_1;
                const float4 _e28 = v;
                const float4 _e29 = v;
                squares_1 = _e27 + roci_dot_float4(_e28, _e29);
                const float4 _e32 = v;
                const uint _e36 = i_1;
                const float4 _e39 = norm[(first_1 * 8u) + _e36];
                v = _e32 * _e39;
            }
            const uint _e42 = i_1;
            const uint _e47 = i_1;
            const float4 _e52 = v;
            (*staged).e[((_e42 / 8u) * 9u) + (_e47 % 8u)] = _e52;
        }
        const uint _e53 = i_1;
        i_1 = _e53 + 128u;
    }
    const float _e56 = squares_1;
    return _e56;
}

ROCI_FN float2 totals_of(Eight v_1) {
    bool local_1 = false;
    bool local_2 = false;
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    local_1 = false;
    const bool _e4 = local_1;
    if (!_e4) {
        local_2 = false;
    } else {
        local_2 = true;
    }
    const bool _e10 = local_2;
    if (!_e10) {
        local_3 = false;
    } else {
        local_3 = true;
    }
    const bool _e16 = local_3;
    if (!_e16) {
        local_4 = false;
    } else {
        local_4 = true;
    }
    const bool _e22 = local_4;
    if (!_e22) {
        local_5 = false;
    } else {
        local_5 = true;
    }
    const bool _e28 = local_5;
    if (_e28) {
        return (float2)(0.0f);
    }
    const float4 first_2 = (v_1.a + v_1.b) + (v_1.c + v_1.d);
    const float4 second_1 = (v_1.e + v_1.f) + (v_1.g + v_1.h);
    return (float2)((first_2.x + first_2.y) + (first_2.z + first_2.w), (second_1.x + second_1.y) + (second_1.z + second_1.w));
}

ROCI_FN float4 codes_of(uint chunk, uint word, uint next, uint2 rest) {
    bool local_6 = false;
    bool local_7 = false;
    local_6 = false;
    const bool _e8 = local_6;
    if (!_e8) {
        local_7 = false;
    } else {
        local_7 = true;
    }
    const bool _e14 = local_7;
    if (_e14) {
        return __builtin_convertvector(roci_unpack4xI8(word), float4);
    }
    const uint nibbles = (word >> (((chunk / 4u) * 4u) & 31u)) & 252645135u;
    return __builtin_convertvector(roci_unpack4xU8(nibbles), float4);
}

ROCI_FN float pair_dot(uint4 four, float4 v_2, float4 w) {
    const float4 _e7 = codes_of(0u, four.x, four.y, four.zw);
    const float4 _e13 = codes_of(0u, four.z, four.w, four.xy);
    return roci_dot_float4(_e7, v_2) + roci_dot_float4(_e13, w);
}

ROCI_FN float word_dot(uint chunk_1, uint word_1, float4 v_3) {
    const float4 _e4 = codes_of(chunk_1, word_1, word_1, (uint2)(0u));
    return roci_dot_float4(_e4, v_3);
}

ROCI_FN float2 products_of(uint group_2, Eight v_4, global const uint4 *codes) {
    bool local_8 = false;
    bool local_9 = false;
    bool local_10 = false;
    local_8 = false;
    const bool _e5 = local_8;
    if (_e5) {
        const uint at_4 = group_2 * 4u;
        const uint4 p = codes[at_4];
        const uint4 q = codes[at_4 + 1u];
        const uint4 r = codes[at_4 + 2u];
        const uint4 s = codes[at_4 + 3u];
        const float _e28 = pair_dot(p, v_4.a, v_4.b);
        const float _e31 = pair_dot(q, v_4.c, v_4.d);
        const float _e35 = pair_dot(r, v_4.e, v_4.f);
        const float _e38 = pair_dot(s, v_4.g, v_4.h);
        return (float2)(_e28 + _e31, _e35 + _e38);
    }
    local_9 = false;
    const bool _e44 = local_9;
    if (!_e44) {
        local_10 = false;
    } else {
        local_10 = true;
    }
    const bool _e50 = local_10;
    if (_e50) {
        const uint4 p_1 = codes[group_2 * 2u];
        const uint4 q_1 = codes[(group_2 * 2u) + 1u];
        const float _e66 = word_dot(0u, p_1.x, v_4.a);
        const float _e70 = word_dot(1u, p_1.y, v_4.b);
        const float _e75 = word_dot(2u, p_1.z, v_4.c);
        const float _e79 = word_dot(3u, p_1.w, v_4.d);
        const float _e85 = word_dot(4u, q_1.x, v_4.e);
        const float _e89 = word_dot(5u, q_1.y, v_4.f);
        const float _e94 = word_dot(6u, q_1.z, v_4.g);
        const float _e98 = word_dot(7u, q_1.w, v_4.h);
        return (float2)((_e66 + _e70) + (_e75 + _e79), (_e85 + _e89) + (_e94 + _e98));
    }
    const uint4 p_2 = codes[group_2];
    const float _e108 = word_dot(0u, p_2.x, v_4.a);
    const float _e112 = word_dot(1u, p_2.y, v_4.b);
    const float _e117 = word_dot(2u, p_2.z, v_4.c);
    const float _e121 = word_dot(3u, p_2.w, v_4.d);
    const float _e127 = word_dot(4u, p_2.x, v_4.e);
    const float _e131 = word_dot(5u, p_2.y, v_4.f);
    const float _e136 = word_dot(6u, p_2.z, v_4.g);
    const float _e140 = word_dot(7u, p_2.w, v_4.h);
    return (float2)((_e108 + _e112) + (_e117 + _e121), (_e127 + _e131) + (_e136 + _e140));
}

ROCI_FN float2 scale_of(uint group_3, uint half_1, global const uint *scales) {
    bool local_11 = false;
    bool local_12 = false;
    bool local_13 = false;
    local_11 = false;
    const bool _e5 = local_11;
    if (_e5) {
        const uint _e10 = scales[group_3 / 2u];
        const float2 pair = roci_unpack2x16float(_e10);
        const float scale = ((group_3 % 2u) == 1u) ? pair.y : pair.x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    local_12 = false;
    const bool _e28 = local_12;
    if (_e28) {
        const uint _e34 = scales[(group_3 * 2u) + half_1];
        return roci_unpack2x16float(_e34);
    }
    const uint start_1 = (group_3 / 8u) * 5u;
    const uint _e42 = scales[start_1];
    const float2 both = roci_unpack2x16float(_e42);
    const uint _e53 = scales[(start_1 + 1u) + ((group_3 % 8u) / 2u)];
    const uint own = _e53 >> (((group_3 % 2u) * 16u) & 31u);
    return (float2)(both.x * ((float)(own & 255u)), (-both.y) * ((float)((own >> 8u) & 255u)));
}

ROCI_FN float group_of(uint group_4, Eight v_5, float2 totals, global const uint4 *codes, global const uint *scales) {
    bool local_14 = false;
    const float2 products = products_of(group_4, v_5, codes);
    const float2 first_3 = scale_of(group_4, 0u, scales);
    local_14 = false;
    const bool _e9 = local_14;
    if (_e9) {
        const float2 second_2 = scale_of(group_4, 1u, scales);
        return ((first_3.x * products.x) + (first_3.y * totals.x)) + ((second_2.x * products.y) + (second_2.y * totals.y));
    }
    return (first_3.x * (products.x + products.y)) + (first_3.y * (totals.x + totals.y));
}

ROCI_FN uint row_of(uint token, private const Params *params) {
    const uint _e3 = (*params).tokens;
    const uint _e9 = (*params).sharing;
    const uint _e13 = (*params).x_stride;
    return roci_div_u32(__builtin_elementwise_min(token, _e3 - 1u), _e9) * (_e13 / 4u);
}

ROCI_FN float2 step_(uint near, uint far, Eight v_6, global const uint4 *codes, global const uint *scales) {
    const float2 totals_1 = totals_of(v_6);
    const float _e4 = group_of(near, v_6, totals_1, codes, scales);
    const float _e5 = group_of(far, v_6, totals_1, codes, scales);
    return (float2)(_e4, _e5);
}

ROCI_FN float activation(float v_7, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 4u) != 0u) {
        return v_7 / (1.0f + __builtin_elementwise_exp(-v_7));
    }
    const float z = 1.5957692f * (v_7 + (((0.044715f * v_7) * v_7) * v_7));
    return v_7 / (1.0f + __builtin_elementwise_exp(-z));
}

ROCI_FN void finish_pair(uint token_1, uint row_1, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    float2 v_8 = (float2)(0.0f);
    v_8 = sums_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v_8;
        const float _e14 = bias[row_1];
        const float _e19 = bias[row_1 + 1u];
        v_8 = _e11 + ((float2)(_e14, _e19));
    }
    const uint _e25 = (*params).y_stride;
    const uint _e29 = (*params).y_offset;
    const float _e36 = v_8.x;
    const float _e37 = activation(_e36, params);
    const float _e39 = v_8.y;
    y[((token_1 * _e25) + _e29) + (row_1 / 2u)] = _e37 * _e39;
}

ROCI_FN void finish(uint token_2, uint row_2, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_9 = 0.0f;
    const uint _e5 = (*params).y_stride;
    const uint _e9 = (*params).y_offset;
    const uint at_5 = ((token_2 * _e5) + _e9) + row_2;
    v_9 = sum;
    const uint _e15 = (*params).flags;
    if ((_e15 & 2u) != 0u) {
        const float _e20 = v_9;
        const float _e23 = bias[row_2];
        v_9 = _e20 + _e23;
    }
    const uint _e27 = (*params).flags;
    if ((_e27 & 1u) != 0u) {
        const float _e32 = v_9;
        const float _e35 = y[at_5];
        v_9 = _e32 + _e35;
    }
    const float _e39 = v_9;
    y[at_5] = _e39;
}

ROCI_FN void meet(uint token_3, uint tile_2, uint lane_2, float factor_1, private const Params *params, global const float *bias, global float *y, local array128_float2_ *partials) {
    bool local_15 = false;
    float2 sum_1 = (float2)(0.0f);
    uint i_2 = 0u;
    if (lane_2 < 4u) {
        const uint _e10 = (*params).tokens;
        local_15 = token_3 < _e10;
    } else {
        local_15 = false;
    }
    const bool _e13 = local_15;
    if (_e13) {
        while (true) {
            const uint _e18 = i_2;
            if (!(_e18 < 32u)) {
                break;
            }
            {
                const float2 _e21 = sum_1;
                const uint _e25 = i_2;
                const float2 _e28 = (*partials).e[(lane_2 * 32u) + _e25];
                sum_1 = _e21 + _e28;
            }
            const uint _e30 = i_2;
            i_2 = _e30 + 1u;
        }
        const float2 _e33 = sum_1;
        sum_1 = _e33 * factor_1;
        const uint row_3 = tile_2 + (lane_2 * 2u);
        const uint _e40 = (*params).rows;
        if (row_3 < _e40) {
            const uint _e44 = (*params).flags;
            if ((_e44 & 12u) != 0u) {
                const float2 _e49 = sum_1;
                finish_pair(token_3, row_3, _e49, params, bias, y);
                return;
            } else {
                const float _e51 = sum_1.x;
                finish(token_3, row_3, _e51, params, bias, y);
                const uint _e56 = (*params).rows;
                if ((row_3 + 1u) < _e56) {
                    const float _e61 = sum_1.y;
                    finish(token_3, row_3 + 1u, _e61, params, bias, y);
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
void lm_matvec_q4_super(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *experts, global const float4 *norm, global float *y, Params params) {
    local array864_float4_ staged;
    local array128_float2_ partials;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 128u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint first_row = 0u;
    float factor = 1.0f;
    float squares = 0.0f;
    uint i = 0u;
    uint half_ = 64u;
    uint tile = 0u;
    float2 sums = (float2)(0.0f);
    uint at = 0u;
    uint start = 0u;
    uint at_1 = 0u;
    bool local_ = false;
    uint tile_1 = 0u;
    float2 first = (float2)(0.0f);
    float2 second = (float2)(0.0f);
    float2 third = (float2)(0.0f);
    float2 fourth = (float2)(0.0f);
    uint at_2 = 0u;
    const uint _e5 = params.columns;
    const uint width = _e5 / 32u;
    const uint token_4 = group.y * 1u;
    const uint _e15 = params.experts;
    if (_e15 != 0u) {
        const uint _e20 = experts[token_4];
        const uint _e23 = params.experts;
        const uint _e29 = params.rows;
        first_row = __builtin_elementwise_min(_e20, _e23 - 1u) * _e29;
    }
    const uint only = row_of(token_4, &params);
    if (width <= 96u) {
        const float _e39 = stage(only, 0u, width, lane, &params, x, norm, &staged);
        squares = _e39;
    } else {
        const uint _e42 = params.flags;
        if ((_e42 & 16u) != 0u) {
            i = lane;
            while (true) {
                const uint _e48 = i;
                if (!(_e48 < (width * 8u))) {
                    break;
                }
                {
                    const uint _e53 = i;
                    const float4 v_10 = x[only + _e53];
                    const float _e57 = squares;
                    squares = _e57 + roci_dot_float4(v_10, v_10);
                }
                const uint _e60 = i;
                i = _e60 + 128u;
            }
        }
    }
    const uint _e65 = params.flags;
    if ((_e65 & 16u) != 0u) {
        const float _e72 = squares;
        partials.e[lane] = (float2)(_e72, 0.0f);
        roci_barrier_workgroup();
        while (true) {
            const uint _e77 = half_;
            if (!(_e77 > 0u)) {
                break;
            }
            {
                const uint _e80 = half_;
                if (lane < _e80) {
                    const float2 _e84 = partials.e[lane];
                    const uint _e86 = half_;
                    const float2 _e89 = partials.e[lane + _e86];
                    partials.e[lane] = _e84 + _e89;
                }
                roci_barrier_workgroup();
            }
            const uint _e91 = half_;
            half_ = _e91 / 2u;
        }
        const float _e97 = partials.e[0].x;
        const uint _e100 = params.model_columns;
        const float _e105 = params.epsilon;
        factor = 1.0f / __builtin_elementwise_sqrt((_e97 / ((float)_e100)) + _e105);
    }
    roci_barrier_workgroup();
    tile = group.x * 8u;
    while (true) {
        const uint _e114 = tile;
        const uint _e117 = params.rows;
        if (!(_e114 < _e117)) {
            break;
        }
        {
            const uint _e119 = tile;
            const uint row_4 = _e119 + ((lane / 32u) * 2u);
            const uint _e125 = first_row;
            const uint _e128 = params.rows;
            const uint near_1 = (_e125 + __builtin_elementwise_min(row_4, _e128 - 1u)) * width;
            const uint _e134 = first_row;
            const uint _e139 = params.rows;
            const uint far_1 = (_e134 + __builtin_elementwise_min(row_4 + 1u, _e139 - 1u)) * width;
            sums = (float2)(0.0f);
            if (width <= 96u) {
                at = lane % 32u;
                while (true) {
                    const uint _e152 = at;
                    if (!(_e152 < width)) {
                        break;
                    }
                    {
                        const float2 _e154 = sums;
                        const uint _e155 = at;
                        const uint _e157 = at;
                        const uint _e159 = at;
                        const Eight _e160 = staged_eight(_e159, &staged);
                        const float2 _e161 = step_(near_1 + _e155, far_1 + _e157, _e160, codes, scales);
                        sums = _e154 + _e161;
                    }
                    const uint _e163 = at;
                    at = _e163 + 32u;
                }
            } else {
                start = 0u;
                while (true) {
                    const uint _e168 = start;
                    if (!(_e168 < width)) {
                        break;
                    }
                    {
                        const uint _e170 = start;
                        const uint count_1 = __builtin_elementwise_min(width - _e170, 96u);
                        const uint _e174 = start;
                        const float _e175 = stage(only, _e174, count_1, lane, &params, x, norm, &staged);
                        roci_barrier_workgroup();
                        at_1 = lane % 32u;
                        while (true) {
                            const uint _e179 = at_1;
                            if (!(_e179 < count_1)) {
                                break;
                            }
                            {
                                const float2 _e181 = sums;
                                const uint _e182 = start;
                                const uint _e184 = at_1;
                                const uint _e186 = start;
                                const uint _e188 = at_1;
                                const uint _e190 = at_1;
                                const Eight _e191 = staged_eight(_e190, &staged);
                                const float2 _e192 = step_((near_1 + _e182) + _e184, (far_1 + _e186) + _e188, _e191, codes, scales);
                                sums = _e181 + _e192;
                            }
                            const uint _e194 = at_1;
                            at_1 = _e194 + 32u;
                        }
                        roci_barrier_workgroup();
                    }
                    const uint _e197 = start;
                    start = _e197 + 96u;
                }
            }
            const float2 _e202 = sums;
            partials.e[lane] = _e202;
            roci_barrier_workgroup();
            const uint _e203 = tile;
            const float _e204 = factor;
            meet(token_4, _e203, lane, _e204, &params, bias, y, &partials);
            roci_barrier_workgroup();
        }
        const uint _e205 = tile;
        tile = _e205 + (groups.x * 8u);
    }
}
