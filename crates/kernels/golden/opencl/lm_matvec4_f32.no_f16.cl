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

ROCI_FN Eight load_eight(uint at_3, global const float4 *x) {
    const float4 _e3 = x[at_3];
    const float4 _e8 = x[at_3 + 1u];
    const float4 _e13 = x[at_3 + 2u];
    const float4 _e18 = x[at_3 + 3u];
    const float4 _e23 = x[at_3 + 4u];
    const float4 _e28 = x[at_3 + 5u];
    const float4 _e33 = x[at_3 + 6u];
    const float4 _e38 = x[at_3 + 7u];
    return (Eight){.a = _e3, .b = _e8, .c = _e13, .d = _e18, .e = _e23, .f = _e28, .g = _e33, .h = _e38};
}

ROCI_FN float2 totals_of(Eight v) {
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
    const float4 first_1 = (v.a + v.b) + (v.c + v.d);
    const float4 second_1 = (v.e + v.f) + (v.g + v.h);
    return (float2)((first_1.x + first_1.y) + (first_1.z + first_1.w), (second_1.x + second_1.y) + (second_1.z + second_1.w));
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

ROCI_FN float2 products_of(uint group_1, Eight v_1, global const uint4 *codes) {
    bool local_8 = false;
    bool local_9 = false;
    bool local_10 = false;
    const uint at_4 = group_1 * 8u;
    const uint4 _e6 = codes[at_4];
    const float4 _e7 = whole(_e6);
    const uint4 _e14 = codes[at_4 + 1u];
    const float4 _e15 = whole(_e14);
    const uint4 _e23 = codes[at_4 + 2u];
    const float4 _e24 = whole(_e23);
    const uint4 _e31 = codes[at_4 + 3u];
    const float4 _e32 = whole(_e31);
    const float first_2 = (roci_dot_float4(_e7, v_1.a) + roci_dot_float4(_e15, v_1.b)) + (roci_dot_float4(_e24, v_1.c) + roci_dot_float4(_e32, v_1.d));
    const uint4 _e41 = codes[at_4 + 4u];
    const float4 _e42 = whole(_e41);
    const uint4 _e49 = codes[at_4 + 5u];
    const float4 _e50 = whole(_e49);
    const uint4 _e58 = codes[at_4 + 6u];
    const float4 _e59 = whole(_e58);
    const uint4 _e66 = codes[at_4 + 7u];
    const float4 _e67 = whole(_e66);
    const float second_2 = (roci_dot_float4(_e42, v_1.e) + roci_dot_float4(_e50, v_1.f)) + (roci_dot_float4(_e59, v_1.g) + roci_dot_float4(_e67, v_1.h));
    return (float2)(first_2, second_2);
}

ROCI_FN float2 scale_of(uint group_2, uint half_1, global const uint *scales) {
    bool local_11 = false;
    bool local_12 = false;
    bool local_13 = false;
    local_11 = false;
    const bool _e5 = local_11;
    if (_e5) {
        const uint _e10 = scales[group_2 / 2u];
        const float2 pair = roci_unpack2x16float(_e10);
        const float scale = ((group_2 % 2u) == 1u) ? pair.y : pair.x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    local_12 = false;
    const bool _e28 = local_12;
    if (_e28) {
        const uint _e34 = scales[(group_2 * 2u) + half_1];
        return roci_unpack2x16float(_e34);
    }
    local_13 = false;
    const bool _e39 = local_13;
    if (_e39) {
        const uint _e42 = scales[group_2];
        return (float2)(as_float(_e42), 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN float group_of(uint group_3, Eight v_2, float2 totals, global const uint4 *codes, global const uint *scales) {
    bool local_14 = false;
    const float2 products = products_of(group_3, v_2, codes);
    const float2 first_3 = scale_of(group_3, 0u, scales);
    local_14 = false;
    const bool _e9 = local_14;
    if (_e9) {
        const float2 second_3 = scale_of(group_3, 1u, scales);
        return ((first_3.x * products.x) + (first_3.y * totals.x)) + ((second_3.x * products.y) + (second_3.y * totals.y));
    }
    return (first_3.x * (products.x + products.y)) + (first_3.y * (totals.x + totals.y));
}

ROCI_FN uint row_of(uint token, private const Params *params) {
    const uint _e3 = (*params).tokens;
    const uint _e9 = (*params).sharing;
    const uint _e13 = (*params).x_stride;
    return roci_div_u32(min(token, _e3 - 1u), _e9) * (_e13 / 4u);
}

ROCI_FN float2 step_(uint near, uint far, Eight v_3, global const uint4 *codes, global const uint *scales) {
    const float2 totals_1 = totals_of(v_3);
    const float _e4 = group_of(near, v_3, totals_1, codes, scales);
    const float _e5 = group_of(far, v_3, totals_1, codes, scales);
    return (float2)(_e4, _e5);
}

ROCI_FN float activation(float v_4, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 4u) != 0u) {
        return v_4 / (1.0f + exp(-v_4));
    }
    const float z = 1.5957692f * (v_4 + (((0.044715f * v_4) * v_4) * v_4));
    return v_4 / (1.0f + exp(-z));
}

ROCI_FN void finish_pair(uint token_1, uint row, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    float2 v_5 = (float2)(0.0f);
    v_5 = sums_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v_5;
        const float _e14 = bias[row];
        const float _e19 = bias[row + 1u];
        v_5 = _e11 + ((float2)(_e14, _e19));
    }
    const uint _e25 = (*params).y_stride;
    const uint _e29 = (*params).y_offset;
    const float _e36 = v_5.x;
    const float _e37 = activation(_e36, params);
    const float _e39 = v_5.y;
    y[((token_1 * _e25) + _e29) + (row / 2u)] = _e37 * _e39;
}

ROCI_FN void finish(uint token_2, uint row_1, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_6 = 0.0f;
    const uint _e5 = (*params).y_stride;
    const uint _e9 = (*params).y_offset;
    const uint at_5 = ((token_2 * _e5) + _e9) + row_1;
    v_6 = sum;
    const uint _e15 = (*params).flags;
    if ((_e15 & 2u) != 0u) {
        const float _e20 = v_6;
        const float _e23 = bias[row_1];
        v_6 = _e20 + _e23;
    }
    const uint _e27 = (*params).flags;
    if ((_e27 & 1u) != 0u) {
        const float _e32 = v_6;
        const float _e35 = y[at_5];
        v_6 = _e32 + _e35;
    }
    const float _e39 = v_6;
    y[at_5] = _e39;
}

ROCI_FN void meet(uint token_3, uint tile_2, uint lane_1, float factor_1, private const Params *params, global const float *bias, global float *y, local array128_float2_ *partials) {
    bool local_15 = false;
    float2 sum_1 = (float2)(0.0f);
    uint i_1 = 0u;
    if (lane_1 < 4u) {
        const uint _e10 = (*params).tokens;
        local_15 = token_3 < _e10;
    } else {
        local_15 = false;
    }
    const bool _e13 = local_15;
    if (_e13) {
        while (true) {
            const uint _e18 = i_1;
            if (!(_e18 < 32u)) {
                break;
            }
            {
                const float2 _e21 = sum_1;
                const uint _e25 = i_1;
                const float2 _e28 = (*partials).e[(lane_1 * 32u) + _e25];
                sum_1 = _e21 + _e28;
            }
            const uint _e30 = i_1;
            i_1 = _e30 + 1u;
        }
        const float2 _e33 = sum_1;
        sum_1 = _e33 * factor_1;
        const uint row_2 = tile_2 + (lane_1 * 2u);
        const uint _e40 = (*params).rows;
        if (row_2 < _e40) {
            const uint _e44 = (*params).flags;
            if ((_e44 & 12u) != 0u) {
                const float2 _e49 = sum_1;
                finish_pair(token_3, row_2, _e49, params, bias, y);
                return;
            } else {
                const float _e51 = sum_1.x;
                finish(token_3, row_2, _e51, params, bias, y);
                const uint _e56 = (*params).rows;
                if ((row_2 + 1u) < _e56) {
                    const float _e61 = sum_1.y;
                    finish(token_3, row_2 + 1u, _e61, params, bias, y);
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
void lm_matvec4_f32(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *experts, global const float4 *norm, global float *y, Params params) {
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
    const uint token_4 = group.y * 4u;
    const uint _e15 = params.experts;
    if (_e15 != 0u) {
        const uint _e20 = experts[token_4];
        const uint _e23 = params.experts;
        const uint _e29 = params.rows;
        first_row = min(_e20, _e23 - 1u) * _e29;
    }
    const uint _e34 = row_of(token_4, &params);
    const float _e39 = params.epsilon;
    if (_e39 < 0.0f) {
        const float _e47 = norm[0].x;
        local_ = _e47 > 0.0f;
    } else {
        local_ = false;
    }
    const bool _e51 = local_;
    const uint one = _e34 + (_e51 ? 1u : 0u);
    const uint two = row_of(token_4 + 1u, &params);
    const uint three = row_of(token_4 + 2u, &params);
    const uint four_1 = row_of(token_4 + 3u, &params);
    tile_1 = group.x * 8u;
    while (true) {
        const uint _e67 = tile_1;
        const uint _e70 = params.rows;
        if (!(_e67 < _e70)) {
            break;
        }
        {
            const uint _e72 = tile_1;
            const uint row_3 = _e72 + ((lane / 32u) * 2u);
            const uint _e78 = first_row;
            const uint _e81 = params.rows;
            const uint near_1 = (_e78 + min(row_3, _e81 - 1u)) * width;
            const uint _e87 = first_row;
            const uint _e92 = params.rows;
            const uint far_1 = (_e87 + min(row_3 + 1u, _e92 - 1u)) * width;
            first = (float2)(0.0f);
            second = (float2)(0.0f);
            third = (float2)(0.0f);
            fourth = (float2)(0.0f);
            at_2 = lane % 32u;
            while (true) {
                const uint _e109 = at_2;
                if (!(_e109 < width)) {
                    break;
                }
                {
                    const float2 _e111 = first;
                    const uint _e112 = at_2;
                    const uint _e114 = at_2;
                    const uint _e116 = at_2;
                    const Eight _e120 = load_eight(one + (_e116 * 8u), x);
                    const float2 _e121 = step_(near_1 + _e112, far_1 + _e114, _e120, codes, scales);
                    first = _e111 + _e121;
                    const float2 _e123 = second;
                    const uint _e124 = at_2;
                    const uint _e126 = at_2;
                    const uint _e128 = at_2;
                    const Eight _e132 = load_eight(two + (_e128 * 8u), x);
                    const float2 _e133 = step_(near_1 + _e124, far_1 + _e126, _e132, codes, scales);
                    second = _e123 + _e133;
                    const float2 _e135 = third;
                    const uint _e136 = at_2;
                    const uint _e138 = at_2;
                    const uint _e140 = at_2;
                    const Eight _e144 = load_eight(three + (_e140 * 8u), x);
                    const float2 _e145 = step_(near_1 + _e136, far_1 + _e138, _e144, codes, scales);
                    third = _e135 + _e145;
                    const float2 _e147 = fourth;
                    const uint _e148 = at_2;
                    const uint _e150 = at_2;
                    const uint _e152 = at_2;
                    const Eight _e156 = load_eight(four_1 + (_e152 * 8u), x);
                    const float2 _e157 = step_(near_1 + _e148, far_1 + _e150, _e156, codes, scales);
                    fourth = _e147 + _e157;
                }
                const uint _e159 = at_2;
                at_2 = _e159 + 32u;
            }
            const float2 _e164 = first;
            partials.e[lane] = _e164;
            roci_barrier_workgroup();
            const uint _e165 = tile_1;
            meet(token_4, _e165, lane, 1.0f, &params, bias, y, &partials);
            roci_barrier_workgroup();
            const float2 _e169 = second;
            partials.e[lane] = _e169;
            roci_barrier_workgroup();
            const uint _e172 = tile_1;
            meet(token_4 + 1u, _e172, lane, 1.0f, &params, bias, y, &partials);
            roci_barrier_workgroup();
            const float2 _e176 = third;
            partials.e[lane] = _e176;
            roci_barrier_workgroup();
            const uint _e179 = tile_1;
            meet(token_4 + 2u, _e179, lane, 1.0f, &params, bias, y, &partials);
            roci_barrier_workgroup();
            const float2 _e183 = fourth;
            partials.e[lane] = _e183;
            roci_barrier_workgroup();
            const uint _e186 = tile_1;
            meet(token_4 + 3u, _e186, lane, 1.0f, &params, bias, y, &partials);
            roci_barrier_workgroup();
        }
        const uint _e188 = tile_1;
        tile_1 = _e188 + (groups.x * 8u);
    }
}
