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
typedef struct { float4 e[1280]; } array1280_float4_;
typedef struct { half4 e[1152]; } array1152_half4_;
typedef struct { uint e[128]; } array128_uint;
typedef struct { float e[64]; } array64_float;
typedef struct {
    uint begin;
    uint end;
} View;
typedef struct {
    half4 a;
    half4 b;
    half4 c;
    half4 d;
    half4 e;
    half4 f;
    half4 g;
    half4 h;
} Brought;

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
ROCI_FN float roci_subgroup_shuffle_f32(float a, uint lane) {
    return as_float(__builtin_amdgcn_ds_bpermute((int)(lane * 4u), as_int(a)));
}
ROCI_FN float roci_subgroup_shuffle_xor_f32(float a, uint mask) {
    return roci_subgroup_shuffle_f32(a, roci_lane() ^ mask);
}
ROCI_FN float8 roci_wmma_load_c_f32_local_rows(local const float *p, uint stride) {
    const uint lane = roci_lane();
    float8 v;
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        v[i] = p[(2u * i + lane / 16u) * stride + lane % 16u];
    }
    return v;
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
    const uint4 at_1 = ((uint4)(position)) + ((uint4)(0u, 1u, 2u, 3u));
    const int4 inside = (at_1 >= ((uint4)(view_1.begin))) & (at_1 < ((uint4)(view_1.end)));
    const float4 _e45 = v;
    return inside ? _e45 : ((float4)((-3e38f)));
}

ROCI_FN float greatest_of(float4 v_1) {
    return __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(v_1.x, v_1.y), __builtin_elementwise_maxnum(v_1.z, v_1.w));
}

ROCI_FN float total_of(float4 v_2) {
    return (v_2.x + v_2.y) + (v_2.z + v_2.w);
}

ROCI_FN float4 weight_of(float4 score, float top_1) {
    return (score > ((float4)((-3e38f)))) ? __builtin_elementwise_exp(score - ((float4)(top_1))) : (float4)(0.0f);
}

ROCI_FN uint line_of(uint position_1, uint table, uint head, private const Params *params, global const uint *inputs) {
    const uint _e6 = (*params).page;
    const uint page = inputs[table + roci_div_u32(position_1, _e6)];
    const uint _e13 = (*params).page;
    const uint _e17 = (*params).page;
    const uint _e22 = (*params).kv_heads;
    return ((((page * _e13) + roci_mod_u32(position_1, _e17)) * _e22) + head) * 32u;
}

ROCI_FN Brought keys_at(uint first_1, uint column, global const half4 *keys, local array128_uint *lines) {
    Brought brought_1 = {0};
    const uint _e10 = (*lines).e[first_1 + 0u];
    const half4 _e13 = keys[_e10 + column];
    brought_1.a = _e13;
    const uint _e20 = (*lines).e[first_1 + 8u];
    const half4 _e23 = keys[_e20 + column];
    brought_1.b = _e23;
    const uint _e30 = (*lines).e[first_1 + 16u];
    const half4 _e33 = keys[_e30 + column];
    brought_1.c = _e33;
    const uint _e40 = (*lines).e[first_1 + 24u];
    const half4 _e43 = keys[_e40 + column];
    brought_1.d = _e43;
    const uint _e50 = (*lines).e[first_1 + 32u];
    const half4 _e53 = keys[_e50 + column];
    brought_1.e = _e53;
    const uint _e60 = (*lines).e[first_1 + 40u];
    const half4 _e63 = keys[_e60 + column];
    brought_1.f = _e63;
    const uint _e70 = (*lines).e[first_1 + 48u];
    const half4 _e73 = keys[_e70 + column];
    brought_1.g = _e73;
    const uint _e80 = (*lines).e[first_1 + 56u];
    const half4 _e83 = keys[_e80 + column];
    brought_1.h = _e83;
    const Brought _e84 = brought_1;
    return _e84;
}

ROCI_FN Brought values_at(uint first_2, uint column_1, global const half4 *values, local array128_uint *lines) {
    Brought brought_2 = {0};
    const uint _e10 = (*lines).e[first_2 + 0u];
    const half4 _e13 = values[_e10 + column_1];
    brought_2.a = _e13;
    const uint _e20 = (*lines).e[first_2 + 8u];
    const half4 _e23 = values[_e20 + column_1];
    brought_2.b = _e23;
    const uint _e30 = (*lines).e[first_2 + 16u];
    const half4 _e33 = values[_e30 + column_1];
    brought_2.c = _e33;
    const uint _e40 = (*lines).e[first_2 + 24u];
    const half4 _e43 = values[_e40 + column_1];
    brought_2.d = _e43;
    const uint _e50 = (*lines).e[first_2 + 32u];
    const half4 _e53 = values[_e50 + column_1];
    brought_2.e = _e53;
    const uint _e60 = (*lines).e[first_2 + 40u];
    const half4 _e63 = values[_e60 + column_1];
    brought_2.f = _e63;
    const uint _e70 = (*lines).e[first_2 + 48u];
    const half4 _e73 = values[_e70 + column_1];
    brought_2.g = _e73;
    const uint _e80 = (*lines).e[first_2 + 56u];
    const half4 _e83 = values[_e80 + column_1];
    brought_2.h = _e83;
    const Brought _e84 = brought_2;
    return _e84;
}

ROCI_FN void put_tile(Brought brought_3, uint row, uint column_2, local array2176_half4_ *tile) {
    const uint at_2 = (row * 34u) + column_2;
    (*tile).e[at_2 + 0u] = brought_3.a;
    (*tile).e[at_2 + 272u] = brought_3.b;
    (*tile).e[at_2 + 544u] = brought_3.c;
    (*tile).e[at_2 + 816u] = brought_3.d;
    (*tile).e[at_2 + 1088u] = brought_3.e;
    (*tile).e[at_2 + 1360u] = brought_3.f;
    (*tile).e[at_2 + 1632u] = brought_3.g;
    (*tile).e[at_2 + 1904u] = brought_3.h;
}

ROCI_FN uint half_words(float2 v_3) {
    return roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_3, (float2)((-65504.0f))), (float2)(65504.0f)));
}

ROCI_FN void put(uint turn, uint row_1, uint at, float total_1, uint part, private const Params *params, global uint *y, local array1280_float4_ *scores) {
    uint i_3 = 0u;
    const uint column_3 = (((part / 2u) * 64u) + (turn * 32u)) + ((part % 2u) * 16u);
    while (true) {
        const uint _e19 = i_3;
        if (!(_e19 < 4u)) {
            break;
        }
        {
            const uint _e28 = i_3;
            const float4 _e31 = (*scores).e[((row_1 * 20u) + (part * 4u)) + _e28];
            const float4 v_4 = _e31 / ((float4)(total_1));
            const uint _e35 = i_3;
            const uint to = (at + column_3) + (_e35 * 4u);
            const uint _e41 = (*params).packed;
            if (_e41 != 0u) {
                const uint _e49 = half_words(v_4.xy);
                y[to / 2u] = _e49;
                const uint _e57 = half_words(v_4.zw);
                y[(to / 2u) + 1u] = _e57;
            } else {
                y[to] = as_uint(v_4.x);
                y[to + 1u] = as_uint(v_4.y);
                y[to + 2u] = as_uint(v_4.z);
                y[to + 3u] = as_uint(v_4.w);
            }
        }
        const uint _e80 = i_3;
        i_3 = _e80 + 1u;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_flash_128(global const uint *inputs, global const float *q, global const half4 *keys, global const half4 *values, global uint *y, Params params) {
    local array2176_half4_ tile;
    local array1280_float4_ scores;
    local array1152_half4_ weights;
    local array128_uint lines;
    local array64_float factors;
    local uint raised;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint begin = 0u;
    bool local_ = false;
    uint i = 0u;
    Brought brought = {0};
    View view = {0};
    bool local_1 = false;
    float top = (-3e38f);
    float total = 0.0f;
    float8 o0_ = (float8)(0);
    float8 o1_ = (float8)(0);
    float8 o2_ = (float8)(0);
    float8 o3_ = (float8)(0);
    uint slot = 0u;
    uint first = 0u;
    float8 s0_ = (float8)(0);
    float8 s1_ = (float8)(0);
    float most = 0.0f;
    uint i_1 = 0u;
    uint i_2 = 0u;
    const uint _e4 = params.heads;
    const uint _e7 = params.kv_heads;
    const uint shared_by = roci_div_u32(_e4, _e7);
    const uint _e11 = params.block;
    const uint groups = (((_e11 * shared_by) + 64u) - 1u) / 64u;
    const uint block = roci_div_u32(group.x, groups);
    const uint _e25 = params.tokens;
    const uint first_token = inputs[(2u * _e25) + (2u * block)];
    const uint _e36 = params.tokens;
    const uint count = inputs[((2u * _e36) + (2u * block)) + 1u];
    const uint first_row = roci_mod_u32(group.x, groups) * 64u;
    const uint rows = __builtin_elementwise_min((count * shared_by) - __builtin_elementwise_min(first_row, count * shared_by), 64u);
    const uint last_row = __builtin_elementwise_max(rows, 1u) - 1u;
    const uint _e62 = params.tokens;
    const uint table_1 = inputs[_e62 + first_token];
    const uint near = __builtin_elementwise_min(first_row, (count * shared_by) - 1u);
    const uint last_position = inputs[first_token + roci_div_u32(near + last_row, shared_by)];
    const uint first_position = inputs[first_token + roci_div_u32(near, shared_by)];
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
    const uint end = (rows > 0u) ? (last_position + 1u) : _e108;
    const uint bring_row = lane / 32u;
    const uint bring_column = lane % 32u;
    if (lane < 128u) {
        const uint _e121 = begin;
        const uint _e125 = line_of(__builtin_elementwise_min(_e121 + lane, last_position), table_1, group.y, &params, inputs);
        lines.e[lane] = _e125;
    }
    if (lane == 0u) {
        raised = 0u;
    }
    i = lane;
    while (true) {
        const uint _e131 = i;
        if (!(_e131 < 2048u)) {
            break;
        }
        {
            const uint _e134 = i;
            const uint row_2 = near + __builtin_elementwise_min(_e134 / 32u, last_row);
            const uint _e142 = params.q_stride;
            const uint _e151 = i;
            const uint at_3 = (((first_token + roci_div_u32(row_2, shared_by)) * _e142) + (((group.y * shared_by) + roci_mod_u32(row_2, shared_by)) * 128u)) + ((_e151 % 32u) * 4u);
            const uint _e157 = i;
            const uint _e161 = i;
            const float _e167 = q[at_3];
            const float _e172 = q[at_3 + 1u];
            const float _e177 = q[at_3 + 2u];
            const float _e182 = q[at_3 + 3u];
            tile.e[((_e157 / 32u) * 34u) + (_e161 % 32u)] = __builtin_convertvector(((float4)(_e167, _e172, _e177, _e182)), half4);
        }
        const uint _e185 = i;
        i = _e185 + 256u;
    }
    roci_barrier_workgroup();
    const Brought _e188 = keys_at(bring_row, bring_column, keys, &lines);
    brought = _e188;
    const uint own = (lane / 64u) * 16u;
    const uint side = (lane / 32u) % 2u;
    const uint q_from = own * 34u;
    const half16 q0_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 0u], 34u * 4u);
    const half16 q1_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 4u], 34u * 4u);
    const half16 q2_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 8u], 34u * 4u);
    const half16 q3_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 12u], 34u * 4u);
    const half16 q4_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 16u], 34u * 4u);
    const half16 q5_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 20u], 34u * 4u);
    const half16 q6_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 24u], 34u * 4u);
    const half16 q7_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_from + 28u], 34u * 4u);
    roci_barrier_workgroup();
    const uint row_3 = own + ((lane % 64u) / 4u);
    const uint part_1 = lane % 4u;
    const uint row_token = first_token + roci_div_u32(near + __builtin_elementwise_min(row_3, last_row), shared_by);
    const uint position_2 = inputs[row_token];
    view = (View){.begin = 0u, .end = (position_2 + 1u)};
    const uint _e269 = params.window;
    if (_e269 != 0u) {
        const uint _e278 = params.window;
        local_1 = (position_2 + 1u) > _e278;
    } else {
        local_1 = false;
    }
    const bool _e281 = local_1;
    if (_e281) {
        const uint _e287 = params.window;
        view.begin = (position_2 + 1u) - _e287;
    }
    const uint from_score = (row_3 * 20u) + part_1;
    const uint to_weight = (row_3 * 18u) + part_1;
    const uint key_from = (side * 32u) * 34u;
    const uint value_from = side * 16u;
    const uint to_score = (own * 20u) + (side * 8u);
    const uint _e320 = begin;
    first = _e320;
    while (true) {
        const uint _e322 = first;
        if (!(_e322 < end)) {
            break;
        }
        {
            const Brought _e324 = brought;
            put_tile(_e324, bring_row, bring_column, &tile);
            const uint _e325 = slot;
            const Brought _e327 = values_at(_e325 + bring_row, bring_column, values, &lines);
            brought = _e327;
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            const half16 _e339 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 0u], 34u * 4u);
            const float8 _e340 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e339, _e340);
            const half16 _e349 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 0u], 34u * 4u);
            const float8 _e350 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e349, _e350);
            const half16 _e359 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 4u], 34u * 4u);
            const float8 _e360 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e359, _e360);
            const half16 _e369 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 4u], 34u * 4u);
            const float8 _e370 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e369, _e370);
            const half16 _e379 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 8u], 34u * 4u);
            const float8 _e380 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e379, _e380);
            const half16 _e389 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 8u], 34u * 4u);
            const float8 _e390 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e389, _e390);
            const half16 _e399 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 12u], 34u * 4u);
            const float8 _e400 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e399, _e400);
            const half16 _e409 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 12u], 34u * 4u);
            const float8 _e410 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e409, _e410);
            const half16 _e419 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 16u], 34u * 4u);
            const float8 _e420 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q4_, _e419, _e420);
            const half16 _e429 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 16u], 34u * 4u);
            const float8 _e430 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q4_, _e429, _e430);
            const half16 _e439 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 20u], 34u * 4u);
            const float8 _e440 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q5_, _e439, _e440);
            const half16 _e449 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 20u], 34u * 4u);
            const float8 _e450 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q5_, _e449, _e450);
            const half16 _e459 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 24u], 34u * 4u);
            const float8 _e460 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q6_, _e459, _e460);
            const half16 _e469 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 24u], 34u * 4u);
            const float8 _e470 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q6_, _e469, _e470);
            const half16 _e479 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 28u], 34u * 4u);
            const float8 _e480 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q7_, _e479, _e480);
            const half16 _e489 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 28u], 34u * 4u);
            const float8 _e490 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q7_, _e489, _e490);
            const float8 _e492 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e492);
            const float8 _e496 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e496);
            roci_barrier_workgroup();
            const Brought _e502 = brought;
            put_tile(_e502, bring_row, bring_column, &tile);
            const uint _e504 = slot;
            const Brought _e507 = keys_at((64u - _e504) + bring_row, bring_column, keys, &lines);
            brought = _e507;
            const float4 _e510 = scores.e[from_score];
            const uint _e511 = first;
            const View _e515 = view;
            const float4 a = seen(_e510, _e511 + (part_1 * 4u), _e515, &params);
            const float4 _e521 = scores.e[from_score + 4u];
            const uint _e522 = first;
            const View _e528 = view;
            const float4 b = seen(_e521, (_e522 + (part_1 * 4u)) + 16u, _e528, &params);
            const float4 _e534 = scores.e[from_score + 8u];
            const uint _e535 = first;
            const View _e541 = view;
            const float4 c = seen(_e534, (_e535 + (part_1 * 4u)) + 32u, _e541, &params);
            const float4 _e547 = scores.e[from_score + 12u];
            const uint _e548 = first;
            const View _e554 = view;
            const float4 d = seen(_e547, (_e548 + (part_1 * 4u)) + 48u, _e554, &params);
            const float _e556 = greatest_of(a);
            const float _e557 = greatest_of(b);
            const float _e559 = greatest_of(c);
            const float _e560 = greatest_of(d);
            most = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e556, _e557), __builtin_elementwise_maxnum(_e559, _e560));
            const float _e564 = most;
            const float _e565 = most;
            const float _e567 = roci_subgroup_shuffle_xor_f32(_e565, 1u);
            most = __builtin_elementwise_maxnum(_e564, _e567);
            const float _e569 = most;
            const float _e570 = most;
            const float _e572 = roci_subgroup_shuffle_xor_f32(_e570, 2u);
            most = __builtin_elementwise_maxnum(_e569, _e572);
            const float _e574 = most;
            const float _e575 = top;
            if (_e574 > (_e575 + 10.0f)) {
                const float _e579 = top;
                const float _e580 = most;
                const float factor = __builtin_elementwise_exp(_e579 - _e580);
                const float _e583 = total;
                total = _e583 * factor;
                factors.e[row_3] = factor;
                const float _e587 = top;
                if (_e587 > (-3e38f)) {
                    raised = 1u;
                }
                const float _e592 = most;
                top = _e592;
            } else {
                factors.e[row_3] = 1.0f;
            }
            const float _e596 = top;
            const float4 e = weight_of(a, _e596);
            const float _e598 = top;
            const float4 f = weight_of(b, _e598);
            const float _e600 = top;
            const float4 g = weight_of(c, _e600);
            const float _e602 = top;
            const float4 h = weight_of(d, _e602);
            const float _e604 = total;
            const float _e605 = total_of(e);
            const float _e606 = total_of(f);
            const float _e608 = total_of(g);
            const float _e609 = total_of(h);
            total = _e604 + ((_e605 + _e606) + (_e608 + _e609));
            weights.e[to_weight] = __builtin_convertvector(e, half4);
            weights.e[to_weight + 4u] = __builtin_convertvector(f, half4);
            weights.e[to_weight + 8u] = __builtin_convertvector(g, half4);
            weights.e[to_weight + 12u] = __builtin_convertvector(h, half4);
            roci_barrier_workgroup();
            const uint _e632 = raised;
            roci_barrier_workgroup();
            if (_e632 != 0u) {
                const float8 _e635 = o0_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e635);
                const float8 _e639 = o1_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e639);
                roci_barrier_workgroup();
                i_1 = 0u;
                while (true) {
                    const uint _e647 = i_1;
                    if (!(_e647 < 16u)) {
                        break;
                    }
                    {
                        const uint _e651 = i_1;
                        const float4 _e654 = scores.e[from_score + _e651];
                        const float _e657 = factors.e[row_3];
                        scores.e[from_score + _e651] = _e654 * _e657;
                    }
                    const uint _e659 = i_1;
                    i_1 = _e659 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e665 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u);
                o0_ = _e665;
                const float8 _e671 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u);
                o1_ = _e671;
                roci_barrier_workgroup();
                const float8 _e672 = o2_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e672);
                const float8 _e676 = o3_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e676);
                roci_barrier_workgroup();
                i_2 = 0u;
                while (true) {
                    const uint _e684 = i_2;
                    if (!(_e684 < 16u)) {
                        break;
                    }
                    {
                        const uint _e688 = i_2;
                        const float4 _e691 = scores.e[from_score + _e688];
                        const float _e694 = factors.e[row_3];
                        scores.e[from_score + _e688] = _e691 * _e694;
                    }
                    const uint _e696 = i_2;
                    i_2 = _e696 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e702 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u);
                o2_ = _e702;
                const float8 _e708 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u);
                o3_ = _e708;
            }
            if (lane == 0u) {
                raised = 0u;
            }
            if (lane < 64u) {
                const uint _e716 = slot;
                const uint _e719 = first;
                const uint _e725 = line_of(__builtin_elementwise_min((_e719 + 128u) + lane, last_position), table_1, group.y, &params, inputs);
                lines.e[_e716 + lane] = _e725;
            }
            const uint _e727 = slot;
            slot = 64u - _e727;
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 12u], 18u * 4u);
            const half16 _e768 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 0u], 34u * 4u);
            const float8 _e769 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e768, _e769);
            const half16 _e778 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 0u], 34u * 4u);
            const float8 _e779 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e778, _e779);
            const half16 _e788 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 0u], 34u * 4u);
            const float8 _e789 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e788, _e789);
            const half16 _e798 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 0u], 34u * 4u);
            const float8 _e799 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e798, _e799);
            const half16 _e808 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 4u], 34u * 4u);
            const float8 _e809 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e808, _e809);
            const half16 _e818 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 4u], 34u * 4u);
            const float8 _e819 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e818, _e819);
            const half16 _e828 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 4u], 34u * 4u);
            const float8 _e829 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e828, _e829);
            const half16 _e838 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 4u], 34u * 4u);
            const float8 _e839 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e838, _e839);
            const half16 _e848 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 8u], 34u * 4u);
            const float8 _e849 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p0_, _e848, _e849);
            const half16 _e858 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 8u], 34u * 4u);
            const float8 _e859 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p1_, _e858, _e859);
            const half16 _e868 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 8u], 34u * 4u);
            const float8 _e869 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p2_, _e868, _e869);
            const half16 _e878 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 8u], 34u * 4u);
            const float8 _e879 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p3_, _e878, _e879);
            const half16 _e888 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 12u], 34u * 4u);
            const float8 _e889 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p0_, _e888, _e889);
            const half16 _e898 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 12u], 34u * 4u);
            const float8 _e899 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p1_, _e898, _e899);
            const half16 _e908 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 12u], 34u * 4u);
            const float8 _e909 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p2_, _e908, _e909);
            const half16 _e918 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 12u], 34u * 4u);
            const float8 _e919 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p3_, _e918, _e919);
            roci_barrier_workgroup();
        }
        const uint _e921 = first;
        first = _e921 + 64u;
    }
    const float _e924 = total;
    const float _e925 = total;
    const float _e927 = roci_subgroup_shuffle_xor_f32(_e925, 1u);
    total = _e924 + _e927;
    const float _e929 = total;
    const float _e930 = total;
    const float _e932 = roci_subgroup_shuffle_xor_f32(_e930, 2u);
    total = _e929 + _e932;
    const uint head_1 = (group.y * shared_by) + roci_mod_u32(first_row + row_3, shared_by);
    const uint _e941 = params.y_stride;
    const uint at_4 = (row_token * _e941) + (head_1 * 128u);
    const float8 _e946 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e946);
    const float8 _e950 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e950);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e958 = total;
        put(0u, row_3, at_4, _e958, part_1, &params, y, &scores);
    }
    roci_barrier_workgroup();
    const float8 _e959 = o2_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e959);
    const float8 _e963 = o3_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e963);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e971 = total;
        put(1u, row_3, at_4, _e971, part_1, &params, y, &scores);
        return;
    } else {
        return;
    }
}
