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
typedef struct { float e[1188]; } array1188_float;
typedef struct { float e[144]; } array144_float;
typedef struct {
    uint4 a;
    uint4 b;
    uint4 c;
    uint4 d;
    uint4 e;
    uint4 f;
    uint4 g;
    uint4 h;
} Eight;
typedef struct {
    float4 low;
    float4 high;
    float squares;
    uchar _pad_end[12];
} Part;

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

ROCI_FN uint4 code_at(uint row, uint unit, uint first_row_1, uint units, private const Params *params, global const uint4 *codes) {
    const uint _e7 = (*params).rows;
    const uint4 _e15 = codes[((first_row_1 + __builtin_elementwise_min(row, _e7 - 1u)) * units) + unit];
    return _e15;
}

ROCI_FN Eight hold(uint tile_1, uint at_1, uint first_row_2, uint units_1, private const Params *params, global const uint4 *codes) {
    const uint unit_1 = __builtin_elementwise_min(at_1, units_1 - 1u);
    const uint4 _e7 = code_at(tile_1, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e10 = code_at(tile_1 + 1u, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e13 = code_at(tile_1 + 2u, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e16 = code_at(tile_1 + 3u, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e19 = code_at(tile_1 + 4u, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e22 = code_at(tile_1 + 5u, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e25 = code_at(tile_1 + 6u, unit_1, first_row_2, units_1, params, codes);
    const uint4 _e28 = code_at(tile_1 + 7u, unit_1, first_row_2, units_1, params, codes);
    return (Eight){.a = _e7, .b = _e10, .c = _e13, .d = _e16, .e = _e19, .f = _e22, .g = _e25, .h = _e28};
}

ROCI_FN Part part_of(uint start, uint at_2, uint units_2, private const Params *params, global const float4 *x, global const float4 *norm) {
    float4 low_1 = (float4)(0.0f);
    float4 high_1 = (float4)(0.0f);
    float squares_1 = 0.0f;
    const uint near = __builtin_elementwise_min(at_2, units_2 - 1u) * 2u;
    const uint far = (near + 2u) - 1u;
    const float4 _e16 = x[start + near];
    low_1 = (at_2 < units_2) ? _e16 : (float4)(0.0f);
    const float4 _e24 = x[start + far];
    high_1 = (at_2 < units_2) ? _e24 : (float4)(0.0f);
    const uint _e32 = (*params).flags;
    if ((_e32 & 16u) != 0u) {
        const float4 _e37 = low_1;
        const float4 _e38 = low_1;
        const float4 _e40 = high_1;
        const float4 _e41 = high_1;
        squares_1 = roci_dot_float4(_e37, _e38) + (true ? roci_dot_float4(_e40, _e41) : 0.0f);
        const float4 _e47 = low_1;
        const float4 _e50 = norm[near];
        low_1 = _e47 * _e50;
        const float4 _e52 = high_1;
        const float4 _e55 = norm[far];
        high_1 = _e52 * _e55;
    }
    const float4 _e57 = low_1;
    const float4 _e58 = high_1;
    const float _e59 = squares_1;
    return (Part){.low = _e57, .high = _e58, .squares = _e59};
}

ROCI_FN float4 codes_of(uint chunk, uint word, uint next, uint2 rest) {
    bool local_1 = false;
    bool local_2 = false;
    return (float4)(roci_unpack2x16float(word), roci_unpack2x16float(next));
}

ROCI_FN float times(uint4 code, Part part) {
    const float4 _e6 = codes_of(0u, code.x, code.y, code.zw);
    const float low_2 = roci_dot_float4(_e6, part.low);
    const float4 _e13 = codes_of(0u, code.z, code.w, code.xy);
    return low_2 + roci_dot_float4(_e13, part.high);
}

ROCI_FN float total(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

ROCI_FN float sum_of(uint row_1, local array144_float *fewer) {
    float4 sum = (float4)(0.0f);
    uint i_1 = 0u;
    i_1 = row_1 * 16u;
    while (true) {
        const uint _e6 = i_1;
        if (!(_e6 < ((row_1 * 16u) + 16u))) {
            break;
        }
        {
            const float4 _e12 = sum;
            const uint _e14 = i_1;
            const float _e16 = (*fewer).e[_e14];
            const uint _e18 = i_1;
            const float _e22 = (*fewer).e[_e18 + 1u];
            const uint _e24 = i_1;
            const float _e28 = (*fewer).e[_e24 + 2u];
            const uint _e30 = i_1;
            const float _e34 = (*fewer).e[_e30 + 3u];
            sum = _e12 + ((float4)(_e16, _e22, _e28, _e34));
        }
        const uint _e37 = i_1;
        i_1 = _e37 + 4u;
    }
    const float4 _e40 = sum;
    const float _e41 = total(_e40);
    return _e41;
}

ROCI_FN float2 scale_from(uint2 words, uint half_) {
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    local_3 = false;
    const bool _e5 = local_3;
    if (_e5) {
        const float scale = roci_unpack2x16float(words.x).x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    local_4 = false;
    const bool _e18 = local_4;
    if (_e18) {
        return roci_unpack2x16float((half_ == 1u) ? words.y : words.x);
    }
    local_5 = false;
    const bool _e28 = local_5;
    if (_e28) {
        return (float2)(as_float(words.x), 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN uint2 scale_words(uint group_1, global const uint *scales) {
    bool local_6 = false;
    bool local_7 = false;
    bool local_8 = false;
    bool local_9 = false;
    bool local_10 = false;
    local_6 = false;
    const bool _e4 = local_6;
    if (_e4) {
        const uint _e9 = scales[group_1 / 2u];
        return (uint2)(_e9 >> (((group_1 % 2u) * 16u) & 31u), 0u);
    }
    local_7 = false;
    const bool _e20 = local_7;
    if (!_e20) {
        local_8 = false;
    } else {
        local_8 = true;
    }
    const bool _e26 = local_8;
    if (_e26) {
        const uint _e29 = scales[group_1];
        return (uint2)(_e29, 0u);
    }
    local_9 = false;
    const bool _e35 = local_9;
    if (!_e35) {
        local_10 = false;
    } else {
        local_10 = true;
    }
    const bool _e41 = local_10;
    if (_e41) {
        const uint _e46 = scales[group_1 * 2u];
        const uint _e53 = scales[(group_1 * 2u) + 1u];
        return (uint2)(_e46, _e53);
    }
    return (uint2)(0u);
}

ROCI_FN void finish(uint token, uint row_2, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v_1 = 0.0f;
    const uint _e5 = (*params).y_stride;
    const uint _e9 = (*params).y_offset;
    const uint at_3 = ((token * _e5) + _e9) + row_2;
    v_1 = sum_1;
    const uint _e15 = (*params).flags;
    if ((_e15 & 2u) != 0u) {
        const float _e20 = v_1;
        const float _e23 = bias[row_2];
        v_1 = _e20 + _e23;
    }
    const uint _e27 = (*params).flags;
    if ((_e27 & 1u) != 0u) {
        const float _e32 = v_1;
        const float _e35 = y[at_3];
        v_1 = _e32 + _e35;
    }
    const float _e39 = v_1;
    y[at_3] = _e39;
}

ROCI_FN float activation(float v_2, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 4u) != 0u) {
        return v_2 / (1.0f + __builtin_elementwise_exp(-v_2));
    }
    const float z = 1.5957692f * (v_2 + (((0.044715f * v_2) * v_2) * v_2));
    return v_2 / (1.0f + __builtin_elementwise_exp(-z));
}

ROCI_FN float pair_of(uint row_3, float2 sums, private const Params *params, global const float *bias) {
    float2 v_3 = (float2)(0.0f);
    v_3 = sums;
    const uint _e5 = (*params).flags;
    if ((_e5 & 2u) != 0u) {
        const float2 _e10 = v_3;
        const float _e13 = bias[row_3];
        const float _e18 = bias[row_3 + 1u];
        v_3 = _e10 + ((float2)(_e13, _e18));
    }
    const float _e22 = v_3.x;
    const float _e23 = activation(_e22, params);
    const float _e25 = v_3.y;
    return _e23 * _e25;
}

ROCI_FN void finish_pair(uint token_1, uint row_4, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    const uint _e6 = (*params).y_stride;
    const uint _e10 = (*params).y_offset;
    const float _e16 = pair_of(row_4, sums_1, params, bias);
    y[((token_1 * _e6) + _e10) + (row_4 / 2u)] = _e16;
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_matvec_f16(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *experts, global const float4 *norm, global float *y, Params params) {
    local array1188_float partials;
    local array144_float fewer;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 128u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint first_row = 0u;
    Eight held = {0};
    Part part_held = {0};
    uint tile = 0u;
    float4 low = (float4)(0.0f);
    float4 high = (float4)(0.0f);
    float squares = 0.0f;
    uint at = 0u;
    uint i = 0u;
    bool local_ = false;
    float factor = 0.0f;
    const uint token_2 = group.y;
    const uint _e6 = params.columns;
    const uint units_3 = (_e6 / 4u) / 2u;
    const uint _e15 = params.experts;
    if (_e15 != 0u) {
        const uint _e20 = experts[token_2];
        const uint _e23 = params.experts;
        const uint _e29 = params.rows;
        first_row = __builtin_elementwise_min(_e20, _e23 - 1u) * _e29;
    }
    const uint _e33 = params.tokens;
    const uint _e39 = params.sharing;
    const uint _e43 = params.x_stride;
    const uint start_1 = roci_div_u32(__builtin_elementwise_min(token_2, _e33 - 1u), _e39) * (_e43 / 4u);
    const uint2 _e48 = scale_words(0u, scales);
    const float2 _e50 = scale_from(_e48, 0u);
    const float one = _e50.x;
    const uint _e55 = first_row;
    const Eight _e56 = hold(group.x * 8u, lane, _e55, units_3, &params, codes);
    held = _e56;
    const Part _e58 = part_of(start_1, lane, units_3, &params, x, norm);
    part_held = _e58;
    tile = group.x * 8u;
    while (true) {
        const uint _e64 = tile;
        const uint _e67 = params.rows;
        if (!(_e64 < _e67)) {
            break;
        }
        {
            low = (float4)(0.0f);
            high = (float4)(0.0f);
            squares = 0.0f;
            at = lane;
            while (true) {
                const uint _e76 = at;
                if (!(_e76 < (units_3 + lane))) {
                    break;
                }
                {
                    const Eight now = held;
                    const Part part_1 = part_held;
                    const uint _e81 = at;
                    const bool on = (_e81 + 128u) < (units_3 + lane);
                    const uint _e86 = tile;
                    const uint _e91 = tile;
                    const uint from_tile = on ? _e91 : (_e86 + (groups.x * 8u));
                    const uint _e93 = at;
                    const uint from_at = on ? (_e93 + 128u) : lane;
                    const uint _e97 = first_row;
                    const Eight _e98 = hold(from_tile, from_at, _e97, units_3, &params, codes);
                    held = _e98;
                    const Part _e99 = part_of(start_1, from_at, units_3, &params, x, norm);
                    part_held = _e99;
                    const float4 _e100 = low;
                    const float _e102 = times(now.a, part_1);
                    const float _e104 = times(now.b, part_1);
                    const float _e106 = times(now.c, part_1);
                    const float _e108 = times(now.d, part_1);
                    low = _e100 + ((float4)(_e102, _e104, _e106, _e108));
                    const float4 _e111 = high;
                    const float _e113 = times(now.e, part_1);
                    const float _e115 = times(now.f, part_1);
                    const float _e117 = times(now.g, part_1);
                    const float _e119 = times(now.h, part_1);
                    high = _e111 + ((float4)(_e113, _e115, _e117, _e119));
                    const float _e122 = squares;
                    squares = _e122 + part_1.squares;
                }
                const uint _e125 = at;
                at = _e125 + 128u;
            }
            i = 0u;
            while (true) {
                const uint _e130 = i;
                if (!(_e130 < 4u)) {
                    break;
                }
                {
                    const uint _e134 = i;
                    const uint _e139 = i;
                    const float _e141 = ((private float *)&low)[_e139];
                    partials.e[(_e134 * 132u) + lane] = _e141;
                    const uint _e143 = i;
                    const uint _e150 = i;
                    const float _e152 = ((private float *)&high)[_e150];
                    partials.e[((_e143 + 4u) * 132u) + lane] = _e152;
                }
                const uint _e153 = i;
                i = _e153 + 1u;
            }
            const float _e160 = squares;
            partials.e[1056u + lane] = _e160;
            roci_barrier_workgroup();
            const uint from_row = ((lane / 16u) * 132u) + (lane % 16u);
            const float _e172 = partials.e[from_row];
            const float _e177 = partials.e[from_row + 16u];
            const float _e183 = partials.e[from_row + 32u];
            const float _e188 = partials.e[from_row + 48u];
            const float _e195 = partials.e[from_row + 64u];
            const float _e200 = partials.e[from_row + 80u];
            const float _e206 = partials.e[from_row + 96u];
            const float _e211 = partials.e[from_row + 112u];
            fewer.e[lane] = ((_e172 + _e177) + (_e183 + _e188)) + ((_e195 + _e200) + (_e206 + _e211));
            if (lane < 16u) {
                const uint behind = 1056u + lane;
                const float _e225 = partials.e[behind];
                const float _e230 = partials.e[behind + 16u];
                const float _e236 = partials.e[behind + 32u];
                const float _e241 = partials.e[behind + 48u];
                const float _e248 = partials.e[behind + 64u];
                const float _e253 = partials.e[behind + 80u];
                const float _e259 = partials.e[behind + 96u];
                const float _e264 = partials.e[behind + 112u];
                fewer.e[128u + lane] = ((_e225 + _e230) + (_e236 + _e241)) + ((_e248 + _e253) + (_e259 + _e264));
            }
            roci_barrier_workgroup();
            if (lane < 8u) {
                const uint _e272 = tile;
                const uint _e276 = params.rows;
                local_ = (_e272 + lane) < _e276;
            } else {
                local_ = false;
            }
            const bool _e279 = local_;
            if (_e279) {
                factor = one;
                const uint _e283 = params.flags;
                if ((_e283 & 16u) != 0u) {
                    const float _e289 = sum_of(8u, &fewer);
                    const uint _e292 = params.model_columns;
                    const float _e297 = params.epsilon;
                    factor = one / __builtin_elementwise_sqrt((_e289 / ((float)_e292)) + _e297);
                }
                const float _e301 = sum_of(lane, &fewer);
                const float _e302 = factor;
                const float sum_2 = _e301 * _e302;
                const uint _e306 = params.flags;
                if ((_e306 & 12u) == 0u) {
                    const uint _e311 = tile;
                    finish(token_2, _e311 + lane, sum_2, &params, bias, y);
                } else {
                    if ((lane % 2u) == 0u) {
                        const uint _e317 = tile;
                        const float _e321 = sum_of(lane + 1u, &fewer);
                        const float _e322 = factor;
                        finish_pair(token_2, _e317 + lane, (float2)(sum_2, _e321 * _e322), &params, bias, y);
                    }
                }
            }
        }
        const uint _e325 = tile;
        tile = _e325 + (groups.x * 8u);
    }
}
