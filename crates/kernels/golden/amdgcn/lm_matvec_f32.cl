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
} Params;
typedef struct { float2 e[512]; } array512_float2_;
typedef struct { uint4 e[8]; } array8_uint4_;
typedef struct {
    array8_uint4_ v;
} Block;
typedef struct { float2 e[4]; } array4_float2_;
typedef struct { float e[4]; } array4_float;

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

ROCI_FN Block load_block(uint group_1, global const uint4 *codes) {
    Block block = (Block){0};
    uint i_2 = 0u;
    bool local_1 = false;
    uint i_3 = 0u;
    bool local_2 = false;
    while (true) {
        const uint _e5 = i_2;
        if (!(_e5 < 8u)) {
            break;
        }
        {
            const uint _e9 = i_2;
            const uint _e14 = i_2;
            const uint4 _e17 = codes[(group_1 * 8u) + _e14];
            block.v.e[_e9] = _e17;
        }
        const uint _e18 = i_2;
        i_2 = _e18 + 1u;
    }
    const Block _e22 = block;
    return _e22;
}

ROCI_FN float4 codes_of(uint chunk, uint word, uint next, uint2 rest) {
    bool local_3 = false;
    return as_float4((uint4)(word, next, rest.x, rest.y));
}

ROCI_FN float4 chunk_of(Block block_1, uint chunk_1) {
    bool local_4 = false;
    bool local_5 = false;
    const uint4 four = block_1.v.e[chunk_1];
    const float4 _e7 = codes_of(chunk_1, four.x, four.y, four.zw);
    return _e7;
}

ROCI_FN float2 scale_of(uint group_2, uint half_1, global const uint *scales) {
    bool local_6 = false;
    bool local_7 = false;
    bool local_8 = false;
    local_6 = false;
    const bool _e5 = local_6;
    if (_e5) {
        const uint _e10 = scales[group_2 / 2u];
        const float2 pair = roci_unpack2x16float(_e10);
        const float scale = ((group_2 % 2u) == 1u) ? pair.y : pair.x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    local_7 = false;
    const bool _e28 = local_7;
    if (_e28) {
        const uint _e34 = scales[(group_2 * 2u) + half_1];
        return roci_unpack2x16float(_e34);
    }
    local_8 = false;
    const bool _e39 = local_8;
    if (_e39) {
        const uint _e42 = scales[group_2];
        return (float2)(as_float(_e42), 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN float activation(float v, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 4u) != 0u) {
        return v / (1.0f + __builtin_elementwise_exp(-v));
    }
    const float z = 1.5957692f * (v + (((0.044715f * v) * v) * v));
    return v / (1.0f + __builtin_elementwise_exp(-z));
}

ROCI_FN void finish_pair(uint token, uint row, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    float2 v_1 = (float2)(0.0f);
    v_1 = sums_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v_1;
        const float _e14 = bias[row];
        const float _e19 = bias[row + 1u];
        v_1 = _e11 + ((float2)(_e14, _e19));
    }
    const uint _e25 = (*params).y_stride;
    const uint _e29 = (*params).y_offset;
    const float _e36 = v_1.x;
    const float _e37 = activation(_e36, params);
    const float _e39 = v_1.y;
    y[((token * _e25) + _e29) + (row / 2u)] = _e37 * _e39;
}

ROCI_FN void finish(uint token_1, uint row_1, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v_2 = 0.0f;
    const uint _e5 = (*params).y_stride;
    const uint _e9 = (*params).y_offset;
    const uint at_1 = ((token_1 * _e5) + _e9) + row_1;
    v_2 = sum_1;
    const uint _e15 = (*params).flags;
    if ((_e15 & 2u) != 0u) {
        const float _e20 = v_2;
        const float _e23 = bias[row_1];
        v_2 = _e20 + _e23;
    }
    const uint _e27 = (*params).flags;
    if ((_e27 & 1u) != 0u) {
        const float _e32 = v_2;
        const float _e35 = y[at_1];
        v_2 = _e32 + _e35;
    }
    const float _e39 = v_2;
    y[at_1] = _e39;
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_matvec_f32(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *experts, global float *y, Params params) {
    local array512_float2_ partials;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 128u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint first_row = 0u;
    uint tile = 0u;
    array4_float2_ sums = {0};
    uint at = 0u;
    uint half_ = 0u;
    array4_float2_ products = {0};
    array4_float totals = {0};
    uint i = 0u;
    uint t = 0u;
    uint t_1 = 0u;
    uint t_2 = 0u;
    bool local_ = false;
    float2 sum = (float2)(0.0f);
    uint i_1 = 0u;
    const uint _e5 = params.columns;
    const uint width = _e5 / 32u;
    const uint token_2 = group.y * 1u;
    const uint _e13 = params.tokens;
    const uint last = _e13 - 1u;
    const uint _e20 = params.experts;
    if (_e20 != 0u) {
        const uint _e25 = experts[token_2];
        const uint _e28 = params.experts;
        const uint _e34 = params.rows;
        first_row = __builtin_elementwise_min(_e25, _e28 - 1u) * _e34;
    }
    tile = group.x * 8u;
    while (true) {
        const uint _e40 = tile;
        const uint _e43 = params.rows;
        if (!(_e40 < _e43)) {
            break;
        }
        {
            const uint _e45 = tile;
            const uint row_2 = _e45 + ((lane / 32u) * 2u);
            const uint _e51 = first_row;
            const uint _e54 = params.rows;
            const uint near = (_e51 + __builtin_elementwise_min(row_2, _e54 - 1u)) * width;
            const uint _e60 = first_row;
            const uint _e65 = params.rows;
            const uint far = (_e60 + __builtin_elementwise_min(row_2 + 1u, _e65 - 1u)) * width;
            sums = (array4_float2_){0};
            at = lane % 32u;
            while (true) {
                const uint _e76 = at;
                if (!(_e76 < width)) {
                    break;
                }
                {
                    const uint _e78 = at;
                    const Block near_block = load_block(near + _e78, codes);
                    const uint _e81 = at;
                    const Block far_block = load_block(far + _e81, codes);
                    half_ = 0u;
                    while (true) {
                        const uint _e86 = half_;
                        if (!(_e86 < 2u)) {
                            break;
                        }
                        {
                            products = (array4_float2_){0};
                            totals = (array4_float){0};
                            i = 0u;
                            while (true) {
                                const uint _e95 = i;
                                if (!(_e95 < 4u)) {
                                    break;
                                }
                                {
                                    const uint _e98 = half_;
                                    const uint _e101 = i;
                                    const uint chunk_2 = (_e98 * 4u) + _e101;
                                    const float4 a = chunk_of(near_block, chunk_2);
                                    const float4 b = chunk_of(far_block, chunk_2);
                                    t = 0u;
                                    while (true) {
                                        const uint _e107 = t;
                                        if (!(_e107 < 1u)) {
                                            break;
                                        }
                                        {
                                            const uint _e110 = t;
                                            const uint _e115 = params.sharing;
                                            const uint _e119 = params.x_stride;
                                            const uint base = roci_div_u32(__builtin_elementwise_min(token_2 + _e110, last), _e115) * (_e119 / 4u);
                                            const uint _e124 = at;
                                            const float4 v_3 = x[(base + (_e124 * 8u)) + chunk_2];
                                            const uint _e131 = t;
                                            const float2 _e133 = products.e[_e131];
                                            products.e[_e131] = _e133 + ((float2)(roci_dot_float4(a, v_3), roci_dot_float4(b, v_3)));
                                            const uint _e138 = t;
                                            const float _e140 = totals.e[_e138];
                                            totals.e[_e138] = _e140 + ((v_3.x + v_3.y) + (v_3.z + v_3.w));
                                        }
                                        const uint _e149 = t;
                                        t = _e149 + 1u;
                                    }
                                }
                                const uint _e152 = i;
                                i = _e152 + 1u;
                            }
                            const uint _e155 = at;
                            const uint _e157 = half_;
                            const float2 s = scale_of(near + _e155, _e157, scales);
                            const uint _e159 = at;
                            const uint _e161 = half_;
                            const float2 r = scale_of(far + _e159, _e161, scales);
                            t_1 = 0u;
                            while (true) {
                                const uint _e165 = t_1;
                                if (!(_e165 < 1u)) {
                                    break;
                                }
                                {
                                    const uint _e168 = t_1;
                                    const float2 _e170 = sums.e[_e168];
                                    const uint _e174 = t_1;
                                    const float2 _e176 = products.e[_e174];
                                    const uint _e181 = t_1;
                                    const float _e183 = totals.e[_e181];
                                    sums.e[_e168] = _e170 + ((((float2)(s.x, r.x)) * _e176) + (((float2)(s.y, r.y)) * _e183));
                                }
                                const uint _e187 = t_1;
                                t_1 = _e187 + 1u;
                            }
                        }
                        const uint _e190 = half_;
                        half_ = _e190 + 1u;
                    }
                }
                const uint _e193 = at;
                at = _e193 + 32u;
            }
            t_2 = 0u;
            while (true) {
                const uint _e198 = t_2;
                if (!(_e198 < 1u)) {
                    break;
                }
                {
                    const uint _e202 = t_2;
                    const uint _e207 = t_2;
                    const float2 _e209 = sums.e[_e207];
                    partials.e[(_e202 * 128u) + lane] = _e209;
                }
                const uint _e210 = t_2;
                t_2 = _e210 + 1u;
            }
            roci_barrier_workgroup();
            if (lane < 4u) {
                local_ = (token_2 + (lane / 4u)) <= last;
            } else {
                local_ = false;
            }
            const bool _e222 = local_;
            if (_e222) {
                const uint to = token_2 + (lane / 4u);
                const uint team = lane % 4u;
                sum = (float2)(0.0f);
                i_1 = 0u;
                while (true) {
                    const uint _e232 = i_1;
                    if (!(_e232 < 32u)) {
                        break;
                    }
                    {
                        const float2 _e235 = sum;
                        const uint _e244 = i_1;
                        const float2 _e247 = partials.e[(((lane / 4u) * 128u) + (team * 32u)) + _e244];
                        sum = _e235 + _e247;
                    }
                    const uint _e249 = i_1;
                    i_1 = _e249 + 1u;
                }
                const uint _e252 = tile;
                const uint result = _e252 + (team * 2u);
                const uint _e258 = params.rows;
                if (result < _e258) {
                    const uint _e262 = params.flags;
                    if ((_e262 & 12u) != 0u) {
                        const float2 _e267 = sum;
                        finish_pair(to, result, _e267, &params, bias, y);
                    } else {
                        const float _e269 = sum.x;
                        finish(to, result, _e269, &params, bias, y);
                        const uint _e274 = params.rows;
                        if ((result + 1u) < _e274) {
                            const float _e279 = sum.y;
                            finish(to, result + 1u, _e279, &params, bias, y);
                        }
                    }
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e280 = tile;
        tile = _e280 + (groups.x * 8u);
    }
}
