// Written from WGSL; do not edit.
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

ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

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
    local_1 = true;
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
    return as_float4((uint4)(word, next, rest.x, rest.y));
}

ROCI_FN float4 whole(uint4 four) {
    const float4 _e5 = codes_of(0u, four.x, four.y, four.zw);
    return _e5;
}

ROCI_FN float2 products_of(uint group_2, Eight v_2, global const uint4 *codes) {
    bool local_8 = false;
    bool local_9 = false;
    bool local_10 = false;
    const uint at_4 = group_2 * 8u;
    const uint4 _e6 = codes[at_4];
    const float4 _e7 = whole(_e6);
    const uint4 _e14 = codes[at_4 + 1u];
    const float4 _e15 = whole(_e14);
    const uint4 _e23 = codes[at_4 + 2u];
    const float4 _e24 = whole(_e23);
    const uint4 _e31 = codes[at_4 + 3u];
    const float4 _e32 = whole(_e31);
    const float first_3 = (roci_dot_float4(_e7, v_2.a) + roci_dot_float4(_e15, v_2.b)) + (roci_dot_float4(_e24, v_2.c) + roci_dot_float4(_e32, v_2.d));
    const uint4 _e41 = codes[at_4 + 4u];
    const float4 _e42 = whole(_e41);
    const uint4 _e49 = codes[at_4 + 5u];
    const float4 _e50 = whole(_e49);
    const uint4 _e58 = codes[at_4 + 6u];
    const float4 _e59 = whole(_e58);
    const uint4 _e66 = codes[at_4 + 7u];
    const float4 _e67 = whole(_e66);
    const float second_2 = (roci_dot_float4(_e42, v_2.e) + roci_dot_float4(_e50, v_2.f)) + (roci_dot_float4(_e59, v_2.g) + roci_dot_float4(_e67, v_2.h));
    return (float2)(first_3, second_2);
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
    local_13 = false;
    const bool _e39 = local_13;
    if (_e39) {
        const uint _e42 = scales[group_3];
        return (float2)(as_float(_e42), 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN float group_of(uint group_4, Eight v_3, float2 totals, global const uint4 *codes, global const uint *scales) {
    bool local_14 = false;
    const float2 products = products_of(group_4, v_3, codes);
    const float2 first_4 = scale_of(group_4, 0u, scales);
    local_14 = false;
    const bool _e9 = local_14;
    if (_e9) {
        const float2 second_3 = scale_of(group_4, 1u, scales);
        return ((first_4.x * products.x) + (first_4.y * totals.x)) + ((second_3.x * products.y) + (second_3.y * totals.y));
    }
    return (first_4.x * (products.x + products.y)) + (first_4.y * (totals.x + totals.y));
}

ROCI_FN uint row_of(uint token, private const Params *params) {
    const uint _e3 = (*params).tokens;
    const uint _e9 = (*params).sharing;
    const uint _e13 = (*params).x_stride;
    return roci_div_u32(min(token, _e3 - 1u), _e9) * (_e13 / 4u);
}

ROCI_FN float2 step_(uint near, uint far, Eight v_4, global const uint4 *codes, global const uint *scales) {
    const float2 totals_1 = totals_of(v_4);
    const float _e4 = group_of(near, v_4, totals_1, codes, scales);
    const float _e5 = group_of(far, v_4, totals_1, codes, scales);
    return (float2)(_e4, _e5);
}

ROCI_FN float activation(float v_5, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 4u) != 0u) {
        return v_5 / (1.0f + exp(-v_5));
    }
    const float z = 1.5957692f * (v_5 + (((0.044715f * v_5) * v_5) * v_5));
    return v_5 / (1.0f + exp(-z));
}

ROCI_FN void finish_pair(uint token_1, uint row_1, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    float2 v_6 = (float2)(0.0f);
    v_6 = sums_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v_6;
        const float _e14 = bias[row_1];
        const float _e19 = bias[row_1 + 1u];
        v_6 = _e11 + ((float2)(_e14, _e19));
    }
    const uint _e25 = (*params).y_stride;
    const uint _e29 = (*params).y_offset;
    const float _e36 = v_6.x;
    const float _e37 = activation(_e36, params);
    const float _e39 = v_6.y;
    y[((token_1 * _e25) + _e29) + (row_1 / 2u)] = _e37 * _e39;
}

ROCI_FN void finish(uint token_2, uint row_2, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_7 = 0.0f;
    const uint _e5 = (*params).y_stride;
    const uint _e9 = (*params).y_offset;
    const uint at_5 = ((token_2 * _e5) + _e9) + row_2;
    v_7 = sum;
    const uint _e15 = (*params).flags;
    if ((_e15 & 2u) != 0u) {
        const float _e20 = v_7;
        const float _e23 = bias[row_2];
        v_7 = _e20 + _e23;
    }
    const uint _e27 = (*params).flags;
    if ((_e27 & 1u) != 0u) {
        const float _e32 = v_7;
        const float _e35 = y[at_5];
        v_7 = _e32 + _e35;
    }
    const float _e39 = v_7;
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
void lm_matvec_f32(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *experts, global const float4 *norm, global float *y, Params params) {
    local array864_float4_ staged;
    local array128_float2_ partials;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
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
        first_row = min(_e20, _e23 - 1u) * _e29;
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
                    const float4 v_8 = x[only + _e53];
                    const float _e57 = squares;
                    squares = _e57 + roci_dot_float4(v_8, v_8);
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
        factor = 1.0f / sqrt((_e97 / ((float)_e100)) + _e105);
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
            const uint near_1 = (_e125 + min(row_4, _e128 - 1u)) * width;
            const uint _e134 = first_row;
            const uint _e139 = params.rows;
            const uint far_1 = (_e134 + min(row_4 + 1u, _e139 - 1u)) * width;
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
                        const uint count_1 = min(width - _e170, 96u);
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
