// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint tokens;
    uint blocks;
    uint block;
    uint heads;
    uint kv_heads;
    uint key_length;
    uint value_length;
    uint q_stride;
    uint y_stride;
    uint page;
    uint splits;
    float scale;
    float soft_cap;
    uint window;
    uint packed;
} Params;
typedef struct { half4 e[2176]; } array2176_half4_;
typedef struct { float4 e[1088]; } array1088_float4_;
typedef struct { half4 e[1152]; } array1152_half4_;
typedef struct { uint e[64]; } array64_uint;
typedef struct {
    uint begin;
    uint end;
} View;

ROCI_FN float roci_copy_sign(float a, float sign) {
    return as_float((as_uint(a) & 0x7fffffffu) | (as_uint(sign) & 0x80000000u));
}
ROCI_FN float roci_tanh(float a) {
    const float x = __builtin_fabsf(a);
    const float z = a * a;
    float p = __builtin_fmaf(z, -5.70498872745e-3f, 2.06390887954e-2f);
    p = __builtin_fmaf(z, p, -5.37397155531e-2f);
    p = __builtin_fmaf(z, p, 1.33314422036e-1f);
    p = __builtin_fmaf(z, p, -3.33332819422e-1f);
    const float near = __builtin_fmaf(z * a, p, a);
    const float far = 1.0f - 2.0f / (__builtin_elementwise_exp(2.0f * x) + 1.0f);
    return x < 0.625f ? near : roci_copy_sign(far, a);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN ushort roci_narrow_f16(float a) {
    return as_ushort((half)a);
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
ROCI_FN uint roci_lane(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}
ROCI_FN half16 roci_wmma_load_a_f16_local_rows(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[lane * stride + i];
    }
    return v;
}
ROCI_FN half16 roci_wmma_load_b_f16_local_columns(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[lane * stride + i];
    }
    return v;
}
ROCI_FN float8 roci_wmma_multiply_add_f32(half16 a, half16 b, float8 c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
ROCI_FN void roci_wmma_store_c_f32_local_rows(local float *p, uint stride, float8 v) {
    const uint lane = roci_lane();
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        p[(2u * i + lane / 16u) * stride + lane % 16u] = v[i];
    }
}
ROCI_FN half16 roci_wmma_load_b_f16_local_rows(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[i * stride + lane];
    }
    return v;
}

ROCI_FN float4 roci_tanhx4(float4 a) {
    return (float4)(roci_tanh(a.x), roci_tanh(a.y), roci_tanh(a.z), roci_tanh(a.w));
}

ROCI_FN float4 seen(float4 four, uint position, View view_1, private const Params *params) {
    float4 v = (float4)(0.0f);
    const float _e5 = (*params).scale;
    v = four * _e5;
    const float _e10 = (*params).soft_cap;
    if (_e10 > 0.0f) {
        const float _e15 = (*params).soft_cap;
        const float4 _e16 = v;
        const float _e19 = (*params).soft_cap;
        v = _e15 * roci_tanhx4(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e16 / ((float4)(_e19)), (float4)((-15.0f))), (float4)(15.0f)));
    }
    const uint4 at = ((uint4)(position)) + ((uint4)(0u, 1u, 2u, 3u));
    const int4 inside = (at >= ((uint4)(view_1.begin))) & (at < ((uint4)(view_1.end)));
    const float4 _e45 = v;
    return inside ? _e45 : ((float4)((-3e38f)));
}

ROCI_FN float greatest_of(float4 v_1) {
    return __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(v_1.x, v_1.y), __builtin_elementwise_maxnum(v_1.z, v_1.w));
}

ROCI_FN void find(uint first_2, uint end, uint table, uint head, uint lane_1, private const Params *params, global const uint *inputs, local array64_uint *lines) {
    if (lane_1 < 64u) {
        const uint position_1 = __builtin_elementwise_min(first_2 + lane_1, end - 1u);
        const uint _e14 = (*params).page;
        const uint page = inputs[table + roci_div_u32(position_1, _e14)];
        const uint _e23 = (*params).page;
        const uint _e27 = (*params).page;
        const uint _e32 = (*params).kv_heads;
        (*lines).e[lane_1] = ((((page * _e23) + roci_mod_u32(position_1, _e27)) * _e32) + head) * 16u;
        return;
    } else {
        return;
    }
}

ROCI_FN uint line_of(uint i_3, local array64_uint *lines) {
    const uint _e5 = (*lines).e[i_3 / 16u];
    return _e5 + (i_3 % 16u);
}

ROCI_FN uint place(uint i_4) {
    return ((i_4 / 16u) * 34u) + (i_4 % 16u);
}

ROCI_FN void bring_keys(uint lane_2, global const half4 *keys, local array2176_half4_ *tile, local array64_uint *lines) {
    uint i_5 = 0u;
    i_5 = lane_2;
    while (true) {
        const uint _e2 = i_5;
        if (!(_e2 < 1024u)) {
            break;
        }
        {
            const uint _e6 = i_5;
            const uint _e9 = line_of(_e6 + 0u, lines);
            const half4 v0_ = keys[_e9];
            const uint _e13 = i_5;
            const uint _e16 = line_of(_e13 + 128u, lines);
            const half4 v1_ = keys[_e16];
            const uint _e20 = i_5;
            const uint _e23 = line_of(_e20 + 256u, lines);
            const half4 v2_ = keys[_e23];
            const uint _e27 = i_5;
            const uint _e30 = line_of(_e27 + 384u, lines);
            const half4 v3_ = keys[_e30];
            const uint _e34 = i_5;
            const uint _e37 = line_of(_e34 + 512u, lines);
            const half4 v4_ = keys[_e37];
            const uint _e41 = i_5;
            const uint _e44 = line_of(_e41 + 640u, lines);
            const half4 v5_ = keys[_e44];
            const uint _e48 = i_5;
            const uint _e51 = line_of(_e48 + 768u, lines);
            const half4 v6_ = keys[_e51];
            const uint _e55 = i_5;
            const uint _e58 = line_of(_e55 + 896u, lines);
            const half4 v7_ = keys[_e58];
            const uint _e62 = i_5;
            const uint _e65 = place(_e62 + 0u);
            (*tile).e[_e65] = v0_;
            const uint _e68 = i_5;
            const uint _e71 = place(_e68 + 128u);
            (*tile).e[_e71] = v1_;
            const uint _e74 = i_5;
            const uint _e77 = place(_e74 + 256u);
            (*tile).e[_e77] = v2_;
            const uint _e80 = i_5;
            const uint _e83 = place(_e80 + 384u);
            (*tile).e[_e83] = v3_;
            const uint _e86 = i_5;
            const uint _e89 = place(_e86 + 512u);
            (*tile).e[_e89] = v4_;
            const uint _e92 = i_5;
            const uint _e95 = place(_e92 + 640u);
            (*tile).e[_e95] = v5_;
            const uint _e98 = i_5;
            const uint _e101 = place(_e98 + 768u);
            (*tile).e[_e101] = v6_;
            const uint _e104 = i_5;
            const uint _e107 = place(_e104 + 896u);
            (*tile).e[_e107] = v7_;
        }
        const uint _e109 = i_5;
        i_5 = _e109 + 1024u;
    }
}

ROCI_FN void bring_values(uint lane_3, global const half4 *values, local array2176_half4_ *tile, local array64_uint *lines) {
    uint i_6 = 0u;
    i_6 = lane_3;
    while (true) {
        const uint _e2 = i_6;
        if (!(_e2 < 1024u)) {
            break;
        }
        {
            const uint _e6 = i_6;
            const uint _e9 = line_of(_e6 + 0u, lines);
            const half4 v0_1 = values[_e9];
            const uint _e13 = i_6;
            const uint _e16 = line_of(_e13 + 128u, lines);
            const half4 v1_1 = values[_e16];
            const uint _e20 = i_6;
            const uint _e23 = line_of(_e20 + 256u, lines);
            const half4 v2_1 = values[_e23];
            const uint _e27 = i_6;
            const uint _e30 = line_of(_e27 + 384u, lines);
            const half4 v3_1 = values[_e30];
            const uint _e34 = i_6;
            const uint _e37 = line_of(_e34 + 512u, lines);
            const half4 v4_1 = values[_e37];
            const uint _e41 = i_6;
            const uint _e44 = line_of(_e41 + 640u, lines);
            const half4 v5_1 = values[_e44];
            const uint _e48 = i_6;
            const uint _e51 = line_of(_e48 + 768u, lines);
            const half4 v6_1 = values[_e51];
            const uint _e55 = i_6;
            const uint _e58 = line_of(_e55 + 896u, lines);
            const half4 v7_1 = values[_e58];
            const uint _e62 = i_6;
            const uint _e65 = place(_e62 + 0u);
            (*tile).e[_e65] = v0_1;
            const uint _e68 = i_6;
            const uint _e71 = place(_e68 + 128u);
            (*tile).e[_e71] = v1_1;
            const uint _e74 = i_6;
            const uint _e77 = place(_e74 + 256u);
            (*tile).e[_e77] = v2_1;
            const uint _e80 = i_6;
            const uint _e83 = place(_e80 + 384u);
            (*tile).e[_e83] = v3_1;
            const uint _e86 = i_6;
            const uint _e89 = place(_e86 + 512u);
            (*tile).e[_e89] = v4_1;
            const uint _e92 = i_6;
            const uint _e95 = place(_e92 + 640u);
            (*tile).e[_e95] = v5_1;
            const uint _e98 = i_6;
            const uint _e101 = place(_e98 + 768u);
            (*tile).e[_e101] = v6_1;
            const uint _e104 = i_6;
            const uint _e107 = place(_e104 + 896u);
            (*tile).e[_e107] = v7_1;
        }
        const uint _e109 = i_6;
        i_6 = _e109 + 1024u;
    }
}

ROCI_FN uint half_words(float2 v_2) {
    return roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_2, (float2)((-65504.0f))), (float2)(65504.0f)));
}

ROCI_FN void put(uint four_1, uint own, uint first_token, uint first_row, uint rows, uint3 group_1, float total_1, uint lane_4, private const Params *params, global uint *y, local array1088_float4_ *scores) {
    uint i_7 = 0u;
    const uint _e10 = (*params).heads;
    const uint _e13 = (*params).kv_heads;
    const uint shared_by = roci_div_u32(_e10, _e13);
    const uint row = own + ((lane_4 % 32u) / 2u);
    if (row < rows) {
        const uint token = first_token + roci_div_u32(first_row + row, shared_by);
        const uint head_1 = (group_1.y * shared_by) + roci_mod_u32(first_row + row, shared_by);
        const uint _e31 = (*params).y_stride;
        const uint at_1 = (((token * _e31) + (head_1 * 64u)) + (four_1 * 4u)) + ((lane_4 % 2u) * 32u);
        while (true) {
            const uint _e46 = i_7;
            if (!(_e46 < 8u)) {
                break;
            }
            {
                const uint _e57 = i_7;
                const float4 _e60 = (*scores).e[((row * 17u) + ((lane_4 % 2u) * 8u)) + _e57];
                const float4 v_3 = _e60 / ((float4)(total_1));
                const uint _e63 = i_7;
                const uint to = at_1 + (_e63 * 4u);
                const uint _e69 = (*params).packed;
                if (_e69 != 0u) {
                    const uint _e77 = half_words(v_3.xy);
                    y[to / 2u] = _e77;
                    const uint _e85 = half_words(v_3.zw);
                    y[(to / 2u) + 1u] = _e85;
                } else {
                    y[to] = as_uint(v_3.x);
                    y[to + 1u] = as_uint(v_3.y);
                    y[to + 2u] = as_uint(v_3.z);
                    y[to + 3u] = as_uint(v_3.w);
                }
            }
            const uint _e108 = i_7;
            i_7 = _e108 + 1u;
        }
        return;
    } else {
        return;
    }
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_flash_64(global const uint *inputs, global const float *q, global const half4 *keys, global const half4 *values, global uint *y, Params params) {
    local array2176_half4_ tile;
    local array1088_float4_ scores;
    local array1152_half4_ weights;
    local array64_uint lines;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint begin = 0u;
    bool local_ = false;
    uint i = 0u;
    View view = {0};
    bool local_1 = false;
    float top = (-3e38f);
    uint first = 0u;
    float8 s0_ = (float8)(0);
    float8 s1_ = (float8)(0);
    float8 s2_ = (float8)(0);
    float8 s3_ = (float8)(0);
    uint i_1 = 0u;
    float8 o0_ = (float8)(0);
    float8 o1_ = (float8)(0);
    float8 o2_ = (float8)(0);
    float8 o3_ = (float8)(0);
    float8 o4_ = (float8)(0);
    float8 o5_ = (float8)(0);
    float8 o6_ = (float8)(0);
    float8 o7_ = (float8)(0);
    float total = 0.0f;
    uint first_1 = 0u;
    float8 s0_1 = (float8)(0);
    float8 s1_1 = (float8)(0);
    float8 s2_1 = (float8)(0);
    float8 s3_1 = (float8)(0);
    uint i_2 = 0u;
    const uint _e4 = params.heads;
    const uint _e7 = params.kv_heads;
    const uint shared_by_1 = roci_div_u32(_e4, _e7);
    const uint _e11 = params.block;
    const uint groups = (((_e11 * shared_by_1) + 64u) - 1u) / 64u;
    const uint block = roci_div_u32(group.x, groups);
    const uint _e25 = params.tokens;
    const uint first_token_1 = inputs[(2u * _e25) + (2u * block)];
    const uint _e36 = params.tokens;
    const uint count = inputs[((2u * _e36) + (2u * block)) + 1u];
    const uint first_row_1 = roci_mod_u32(group.x, groups) * 64u;
    const uint rows_1 = __builtin_elementwise_min((count * shared_by_1) - __builtin_elementwise_min(first_row_1, count * shared_by_1), 64u);
    const uint last_row = __builtin_elementwise_max(rows_1, 1u) - 1u;
    const uint _e62 = params.tokens;
    const uint table_1 = inputs[_e62 + first_token_1];
    const uint near = __builtin_elementwise_min(first_row_1, (count * shared_by_1) - 1u);
    const uint last_position = inputs[first_token_1 + roci_div_u32(near + last_row, shared_by_1)];
    const uint first_position = inputs[first_token_1 + roci_div_u32(near, shared_by_1)];
    const uint _e85 = params.window;
    if (_e85 != 0u) {
        const uint _e94 = params.window;
        local_ = (first_position + 1u) > _e94;
    } else {
        local_ = false;
    }
    const bool _e97 = local_;
    if (_e97) {
        const uint _e102 = params.window;
        begin = (((first_position + 1u) - _e102) / 64u) * 64u;
    }
    const uint _e108 = begin;
    const uint end_1 = (rows_1 > 0u) ? (last_position + 1u) : _e108;
    i = lane;
    while (true) {
        const uint _e116 = i;
        if (!(_e116 < 1024u)) {
            break;
        }
        {
            const uint _e119 = i;
            const uint row_1 = near + __builtin_elementwise_min(_e119 / 16u, last_row);
            const uint _e127 = params.q_stride;
            const uint _e136 = i;
            const uint at_2 = (((first_token_1 + roci_div_u32(row_1, shared_by_1)) * _e127) + (((group.y * shared_by_1) + roci_mod_u32(row_1, shared_by_1)) * 64u)) + ((_e136 % 16u) * 4u);
            const uint _e142 = i;
            const uint _e146 = i;
            const float _e152 = q[at_2];
            const float _e157 = q[at_2 + 1u];
            const float _e162 = q[at_2 + 2u];
            const float _e167 = q[at_2 + 3u];
            tile.e[((_e142 / 16u) * 34u) + (_e146 % 16u)] = __builtin_convertvector(((float4)(_e152, _e157, _e162, _e167)), half4);
        }
        const uint _e170 = i;
        i = _e170 + 128u;
    }
    roci_barrier_workgroup();
    const uint own_1 = (lane / 32u) * 16u;
    const uint q_from = own_1 * 34u;
    const half16 q0_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 0u], 34u * 4u);
    const half16 q1_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 4u], 34u * 4u);
    const half16 q2_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 8u], 34u * 4u);
    const half16 q3_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 12u], 34u * 4u);
    roci_barrier_workgroup();
    const uint row_2 = own_1 + ((lane % 32u) / 2u);
    const uint position_2 = inputs[first_token_1 + roci_div_u32(near + __builtin_elementwise_min(row_2, last_row), shared_by_1)];
    view = (View){.begin = 0u, .end = (position_2 + 1u)};
    const uint _e246 = params.window;
    if (_e246 != 0u) {
        const uint _e255 = params.window;
        local_1 = (position_2 + 1u) > _e255;
    } else {
        local_1 = false;
    }
    const bool _e258 = local_1;
    if (_e258) {
        const uint _e264 = params.window;
        view.begin = (position_2 + 1u) - _e264;
    }
    const uint from_score = (row_2 * 17u) + (lane % 2u);
    const uint _e273 = begin;
    first = _e273;
    while (true) {
        const uint _e275 = first;
        if (!(_e275 < end_1)) {
            break;
        }
        {
            const uint _e277 = first;
            find(_e277, end_1, table_1, group.y, lane, &params, inputs, &lines);
            roci_barrier_workgroup();
            bring_keys(lane, keys, &tile, &lines);
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            s2_ = (float8)(0);
            s3_ = (float8)(0);
            const half16 _e290 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[0], 34u * 4u);
            const float8 _e291 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e290, _e291);
            const half16 _e296 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[544], 34u * 4u);
            const float8 _e297 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e296, _e297);
            const half16 _e302 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1088], 34u * 4u);
            const float8 _e303 = s2_;
            s2_ = roci_wmma_multiply_add_f32(q0_, _e302, _e303);
            const half16 _e308 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1632], 34u * 4u);
            const float8 _e309 = s3_;
            s3_ = roci_wmma_multiply_add_f32(q0_, _e308, _e309);
            const half16 _e314 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[4], 34u * 4u);
            const float8 _e315 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e314, _e315);
            const half16 _e320 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[548], 34u * 4u);
            const float8 _e321 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e320, _e321);
            const half16 _e326 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1092], 34u * 4u);
            const float8 _e327 = s2_;
            s2_ = roci_wmma_multiply_add_f32(q1_, _e326, _e327);
            const half16 _e332 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1636], 34u * 4u);
            const float8 _e333 = s3_;
            s3_ = roci_wmma_multiply_add_f32(q1_, _e332, _e333);
            const half16 _e338 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[8], 34u * 4u);
            const float8 _e339 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e338, _e339);
            const half16 _e344 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[552], 34u * 4u);
            const float8 _e345 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e344, _e345);
            const half16 _e350 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1096], 34u * 4u);
            const float8 _e351 = s2_;
            s2_ = roci_wmma_multiply_add_f32(q2_, _e350, _e351);
            const half16 _e356 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1640], 34u * 4u);
            const float8 _e357 = s3_;
            s3_ = roci_wmma_multiply_add_f32(q2_, _e356, _e357);
            const half16 _e362 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[12], 34u * 4u);
            const float8 _e363 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e362, _e363);
            const half16 _e368 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[556], 34u * 4u);
            const float8 _e369 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e368, _e369);
            const half16 _e374 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1100], 34u * 4u);
            const float8 _e375 = s2_;
            s2_ = roci_wmma_multiply_add_f32(q3_, _e374, _e375);
            const half16 _e380 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1644], 34u * 4u);
            const float8 _e381 = s3_;
            s3_ = roci_wmma_multiply_add_f32(q3_, _e380, _e381);
            const float8 _e383 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 0u], 17u * 4u, _e383);
            const float8 _e391 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 4u], 17u * 4u, _e391);
            const float8 _e399 = s2_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 8u], 17u * 4u, _e399);
            const float8 _e407 = s3_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 12u], 17u * 4u, _e407);
            roci_barrier_workgroup();
            i_1 = 0u;
            while (true) {
                const uint _e417 = i_1;
                if (!(_e417 < 16u)) {
                    break;
                }
                {
                    const float _e420 = top;
                    const uint _e422 = i_1;
                    const float4 _e425 = scores.e[from_score + _e422];
                    const uint _e426 = first;
                    const uint _e429 = i_1;
                    const View _e434 = view;
                    const float4 _e435 = seen(_e425, _e426 + (((lane % 2u) + _e429) * 4u), _e434, &params);
                    const float _e436 = greatest_of(_e435);
                    top = __builtin_elementwise_maxnum(_e420, _e436);
                }
                const uint _e438 = i_1;
                i_1 = _e438 + 2u;
            }
        }
        const uint _e441 = first;
        first = _e441 + 64u;
    }
    roci_barrier_workgroup();
    const float _e447 = top;
    ((local float *)&scores.e[lane])[0] = _e447;
    roci_barrier_workgroup();
    const float _e448 = top;
    const float _e454 = scores.e[lane ^ 1u].x;
    top = __builtin_elementwise_maxnum(_e448, _e454);
    roci_barrier_workgroup();
    const uint _e470 = begin;
    first_1 = _e470;
    while (true) {
        const uint _e472 = first_1;
        if (!(_e472 < end_1)) {
            break;
        }
        {
            const uint _e474 = first_1;
            find(_e474, end_1, table_1, group.y, lane, &params, inputs, &lines);
            roci_barrier_workgroup();
            bring_keys(lane, keys, &tile, &lines);
            roci_barrier_workgroup();
            s0_1 = (float8)(0);
            s1_1 = (float8)(0);
            s2_1 = (float8)(0);
            s3_1 = (float8)(0);
            const half16 _e487 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[0], 34u * 4u);
            const float8 _e488 = s0_1;
            s0_1 = roci_wmma_multiply_add_f32(q0_, _e487, _e488);
            const half16 _e493 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[544], 34u * 4u);
            const float8 _e494 = s1_1;
            s1_1 = roci_wmma_multiply_add_f32(q0_, _e493, _e494);
            const half16 _e499 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1088], 34u * 4u);
            const float8 _e500 = s2_1;
            s2_1 = roci_wmma_multiply_add_f32(q0_, _e499, _e500);
            const half16 _e505 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1632], 34u * 4u);
            const float8 _e506 = s3_1;
            s3_1 = roci_wmma_multiply_add_f32(q0_, _e505, _e506);
            const half16 _e511 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[4], 34u * 4u);
            const float8 _e512 = s0_1;
            s0_1 = roci_wmma_multiply_add_f32(q1_, _e511, _e512);
            const half16 _e517 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[548], 34u * 4u);
            const float8 _e518 = s1_1;
            s1_1 = roci_wmma_multiply_add_f32(q1_, _e517, _e518);
            const half16 _e523 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1092], 34u * 4u);
            const float8 _e524 = s2_1;
            s2_1 = roci_wmma_multiply_add_f32(q1_, _e523, _e524);
            const half16 _e529 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1636], 34u * 4u);
            const float8 _e530 = s3_1;
            s3_1 = roci_wmma_multiply_add_f32(q1_, _e529, _e530);
            const half16 _e535 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[8], 34u * 4u);
            const float8 _e536 = s0_1;
            s0_1 = roci_wmma_multiply_add_f32(q2_, _e535, _e536);
            const half16 _e541 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[552], 34u * 4u);
            const float8 _e542 = s1_1;
            s1_1 = roci_wmma_multiply_add_f32(q2_, _e541, _e542);
            const half16 _e547 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1096], 34u * 4u);
            const float8 _e548 = s2_1;
            s2_1 = roci_wmma_multiply_add_f32(q2_, _e547, _e548);
            const half16 _e553 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1640], 34u * 4u);
            const float8 _e554 = s3_1;
            s3_1 = roci_wmma_multiply_add_f32(q2_, _e553, _e554);
            const half16 _e559 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[12], 34u * 4u);
            const float8 _e560 = s0_1;
            s0_1 = roci_wmma_multiply_add_f32(q3_, _e559, _e560);
            const half16 _e565 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[556], 34u * 4u);
            const float8 _e566 = s1_1;
            s1_1 = roci_wmma_multiply_add_f32(q3_, _e565, _e566);
            const half16 _e571 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1100], 34u * 4u);
            const float8 _e572 = s2_1;
            s2_1 = roci_wmma_multiply_add_f32(q3_, _e571, _e572);
            const half16 _e577 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[1644], 34u * 4u);
            const float8 _e578 = s3_1;
            s3_1 = roci_wmma_multiply_add_f32(q3_, _e577, _e578);
            const float8 _e580 = s0_1;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 0u], 17u * 4u, _e580);
            const float8 _e588 = s1_1;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 4u], 17u * 4u, _e588);
            const float8 _e596 = s2_1;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 8u], 17u * 4u, _e596);
            const float8 _e604 = s3_1;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 12u], 17u * 4u, _e604);
            roci_barrier_workgroup();
            bring_values(lane, values, &tile, &lines);
            i_2 = 0u;
            while (true) {
                const uint _e614 = i_2;
                if (!(_e614 < 16u)) {
                    break;
                }
                {
                    const uint _e618 = i_2;
                    const float4 _e621 = scores.e[from_score + _e618];
                    const uint _e622 = first_1;
                    const uint _e625 = i_2;
                    const View _e630 = view;
                    const float4 score = seen(_e621, _e622 + (((lane % 2u) + _e625) * 4u), _e630, &params);
                    const float _e633 = top;
                    const float4 weight = (score > ((float4)((-3e38f)))) ? __builtin_elementwise_exp(score - ((float4)(_e633))) : (float4)(0.0f);
                    const float _e641 = total;
                    total = _e641 + ((weight.x + weight.y) + (weight.z + weight.w));
                    const uint _e656 = i_2;
                    weights.e[((row_2 * 18u) + (lane % 2u)) + _e656] = __builtin_convertvector(weight, half4);
                }
                const uint _e660 = i_2;
                i_2 = _e660 + 2u;
            }
            roci_barrier_workgroup();
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own_1 * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own_1 * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own_1 * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own_1 * 18u) + 12u], 18u * 4u);
            const half16 _e698 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[0], 34u * 4u);
            const float8 _e699 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e698, _e699);
            const half16 _e704 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[544], 34u * 4u);
            const float8 _e705 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e704, _e705);
            const half16 _e710 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1088], 34u * 4u);
            const float8 _e711 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e710, _e711);
            const half16 _e716 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1632], 34u * 4u);
            const float8 _e717 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e716, _e717);
            const half16 _e722 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[4], 34u * 4u);
            const float8 _e723 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e722, _e723);
            const half16 _e728 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[548], 34u * 4u);
            const float8 _e729 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e728, _e729);
            const half16 _e734 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1092], 34u * 4u);
            const float8 _e735 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e734, _e735);
            const half16 _e740 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1636], 34u * 4u);
            const float8 _e741 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e740, _e741);
            const half16 _e746 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[8], 34u * 4u);
            const float8 _e747 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p0_, _e746, _e747);
            const half16 _e752 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[552], 34u * 4u);
            const float8 _e753 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p1_, _e752, _e753);
            const half16 _e758 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1096], 34u * 4u);
            const float8 _e759 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p2_, _e758, _e759);
            const half16 _e764 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1640], 34u * 4u);
            const float8 _e765 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p3_, _e764, _e765);
            const half16 _e770 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[12], 34u * 4u);
            const float8 _e771 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p0_, _e770, _e771);
            const half16 _e776 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[556], 34u * 4u);
            const float8 _e777 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p1_, _e776, _e777);
            const half16 _e782 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1100], 34u * 4u);
            const float8 _e783 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p2_, _e782, _e783);
            const half16 _e788 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[1644], 34u * 4u);
            const float8 _e789 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p3_, _e788, _e789);
            roci_barrier_workgroup();
        }
        const uint _e791 = first_1;
        first_1 = _e791 + 64u;
    }
    const float _e797 = total;
    ((local float *)&scores.e[lane])[0] = _e797;
    roci_barrier_workgroup();
    const float _e798 = total;
    const float _e804 = scores.e[lane ^ 1u].x;
    total = _e798 + _e804;
    roci_barrier_workgroup();
    const float8 _e806 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 0u], 17u * 4u, _e806);
    const float8 _e814 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 4u], 17u * 4u, _e814);
    const float8 _e822 = o2_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 8u], 17u * 4u, _e822);
    const float8 _e830 = o3_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[(own_1 * 17u) + 12u], 17u * 4u, _e830);
    roci_barrier_workgroup();
    const float _e839 = total;
    put(0u, own_1, first_token_1, first_row_1, rows_1, group, _e839, lane, &params, y, &scores);
    roci_barrier_workgroup();
}
