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
typedef struct { uint e[4]; } array4_uint;
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
    local array4_uint raised;
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
        raised.e[0] = 0u;
    }
    i = lane;
    while (true) {
        const uint _e132 = i;
        if (!(_e132 < 2048u)) {
            break;
        }
        {
            const uint _e135 = i;
            const uint row_2 = near + __builtin_elementwise_min(_e135 / 32u, last_row);
            const uint _e143 = params.q_stride;
            const uint _e152 = i;
            const uint at_3 = (((first_token + roci_div_u32(row_2, shared_by)) * _e143) + (((group.y * shared_by) + roci_mod_u32(row_2, shared_by)) * 128u)) + ((_e152 % 32u) * 4u);
            const uint _e158 = i;
            const uint _e162 = i;
            const float _e168 = q[at_3];
            const float _e173 = q[at_3 + 1u];
            const float _e178 = q[at_3 + 2u];
            const float _e183 = q[at_3 + 3u];
            tile.e[((_e158 / 32u) * 34u) + (_e162 % 32u)] = __builtin_convertvector(((float4)(_e168, _e173, _e178, _e183)), half4);
        }
        const uint _e186 = i;
        i = _e186 + 256u;
    }
    roci_barrier_workgroup();
    const Brought _e189 = keys_at(bring_row, bring_column, keys, &lines);
    brought = _e189;
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
    const uint _e270 = params.window;
    if (_e270 != 0u) {
        const uint _e279 = params.window;
        local_1 = (position_2 + 1u) > _e279;
    } else {
        local_1 = false;
    }
    const bool _e282 = local_1;
    if (_e282) {
        const uint _e288 = params.window;
        view.begin = (position_2 + 1u) - _e288;
    }
    const uint from_score = (row_3 * 20u) + part_1;
    const uint to_weight = (row_3 * 18u) + part_1;
    const uint key_from = (side * 32u) * 34u;
    const uint value_from = side * 16u;
    const uint to_score = (own * 20u) + (side * 8u);
    const uint _e321 = begin;
    first = _e321;
    while (true) {
        const uint _e323 = first;
        if (!(_e323 < end)) {
            break;
        }
        {
            const Brought _e325 = brought;
            put_tile(_e325, bring_row, bring_column, &tile);
            const uint _e326 = slot;
            const Brought _e328 = values_at(_e326 + bring_row, bring_column, values, &lines);
            brought = _e328;
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            const half16 _e340 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 0u], 34u * 4u);
            const float8 _e341 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e340, _e341);
            const half16 _e350 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 0u], 34u * 4u);
            const float8 _e351 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e350, _e351);
            const half16 _e360 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 4u], 34u * 4u);
            const float8 _e361 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e360, _e361);
            const half16 _e370 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 4u], 34u * 4u);
            const float8 _e371 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e370, _e371);
            const half16 _e380 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 8u], 34u * 4u);
            const float8 _e381 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e380, _e381);
            const half16 _e390 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 8u], 34u * 4u);
            const float8 _e391 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e390, _e391);
            const half16 _e400 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 12u], 34u * 4u);
            const float8 _e401 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e400, _e401);
            const half16 _e410 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 12u], 34u * 4u);
            const float8 _e411 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e410, _e411);
            const half16 _e420 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 16u], 34u * 4u);
            const float8 _e421 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q4_, _e420, _e421);
            const half16 _e430 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 16u], 34u * 4u);
            const float8 _e431 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q4_, _e430, _e431);
            const half16 _e440 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 20u], 34u * 4u);
            const float8 _e441 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q5_, _e440, _e441);
            const half16 _e450 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 20u], 34u * 4u);
            const float8 _e451 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q5_, _e450, _e451);
            const half16 _e460 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 24u], 34u * 4u);
            const float8 _e461 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q6_, _e460, _e461);
            const half16 _e470 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 24u], 34u * 4u);
            const float8 _e471 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q6_, _e470, _e471);
            const half16 _e480 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 28u], 34u * 4u);
            const float8 _e481 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q7_, _e480, _e481);
            const half16 _e490 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 28u], 34u * 4u);
            const float8 _e491 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q7_, _e490, _e491);
            const float8 _e493 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e493);
            const float8 _e497 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e497);
            roci_barrier_workgroup();
            const Brought _e503 = brought;
            put_tile(_e503, bring_row, bring_column, &tile);
            const uint _e505 = slot;
            const Brought _e508 = keys_at((64u - _e505) + bring_row, bring_column, keys, &lines);
            brought = _e508;
            const float4 _e511 = scores.e[from_score];
            const uint _e512 = first;
            const View _e516 = view;
            const float4 a = seen(_e511, _e512 + (part_1 * 4u), _e516, &params);
            const float4 _e522 = scores.e[from_score + 4u];
            const uint _e523 = first;
            const View _e529 = view;
            const float4 b = seen(_e522, (_e523 + (part_1 * 4u)) + 16u, _e529, &params);
            const float4 _e535 = scores.e[from_score + 8u];
            const uint _e536 = first;
            const View _e542 = view;
            const float4 c = seen(_e535, (_e536 + (part_1 * 4u)) + 32u, _e542, &params);
            const float4 _e548 = scores.e[from_score + 12u];
            const uint _e549 = first;
            const View _e555 = view;
            const float4 d = seen(_e548, (_e549 + (part_1 * 4u)) + 48u, _e555, &params);
            const float _e557 = greatest_of(a);
            const float _e558 = greatest_of(b);
            const float _e560 = greatest_of(c);
            const float _e561 = greatest_of(d);
            most = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e557, _e558), __builtin_elementwise_maxnum(_e560, _e561));
            const float _e565 = most;
            const float _e566 = most;
            const float _e568 = roci_subgroup_shuffle_xor_f32(_e566, 1u);
            most = __builtin_elementwise_maxnum(_e565, _e568);
            const float _e570 = most;
            const float _e571 = most;
            const float _e573 = roci_subgroup_shuffle_xor_f32(_e571, 2u);
            most = __builtin_elementwise_maxnum(_e570, _e573);
            const float _e575 = most;
            const float _e576 = top;
            if (_e575 > (_e576 + 10.0f)) {
                const float _e580 = top;
                const float _e581 = most;
                const float factor = __builtin_elementwise_exp(_e580 - _e581);
                const float _e584 = total;
                total = _e584 * factor;
                factors.e[row_3] = factor;
                const float _e588 = top;
                if (_e588 > (-3e38f)) {
                    raised.e[0] = 1u;
                }
                const float _e594 = most;
                top = _e594;
            } else {
                factors.e[row_3] = 1.0f;
            }
            const float _e598 = top;
            const float4 e = weight_of(a, _e598);
            const float _e600 = top;
            const float4 f = weight_of(b, _e600);
            const float _e602 = top;
            const float4 g = weight_of(c, _e602);
            const float _e604 = top;
            const float4 h = weight_of(d, _e604);
            const float _e606 = total;
            const float _e607 = total_of(e);
            const float _e608 = total_of(f);
            const float _e610 = total_of(g);
            const float _e611 = total_of(h);
            total = _e606 + ((_e607 + _e608) + (_e610 + _e611));
            weights.e[to_weight] = __builtin_convertvector(e, half4);
            weights.e[to_weight + 4u] = __builtin_convertvector(f, half4);
            weights.e[to_weight + 8u] = __builtin_convertvector(g, half4);
            weights.e[to_weight + 12u] = __builtin_convertvector(h, half4);
            roci_barrier_workgroup();
            const uint _e635 = raised.e[0];
            roci_barrier_workgroup();
            if (_e635 != 0u) {
                const float8 _e638 = o0_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e638);
                const float8 _e642 = o1_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e642);
                roci_barrier_workgroup();
                i_1 = 0u;
                while (true) {
                    const uint _e650 = i_1;
                    if (!(_e650 < 16u)) {
                        break;
                    }
                    {
                        const uint _e654 = i_1;
                        const float4 _e657 = scores.e[from_score + _e654];
                        const float _e660 = factors.e[row_3];
                        scores.e[from_score + _e654] = _e657 * _e660;
                    }
                    const uint _e662 = i_1;
                    i_1 = _e662 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e668 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u);
                o0_ = _e668;
                const float8 _e674 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u);
                o1_ = _e674;
                roci_barrier_workgroup();
                const float8 _e675 = o2_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e675);
                const float8 _e679 = o3_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e679);
                roci_barrier_workgroup();
                i_2 = 0u;
                while (true) {
                    const uint _e687 = i_2;
                    if (!(_e687 < 16u)) {
                        break;
                    }
                    {
                        const uint _e691 = i_2;
                        const float4 _e694 = scores.e[from_score + _e691];
                        const float _e697 = factors.e[row_3];
                        scores.e[from_score + _e691] = _e694 * _e697;
                    }
                    const uint _e699 = i_2;
                    i_2 = _e699 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e705 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u);
                o2_ = _e705;
                const float8 _e711 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u);
                o3_ = _e711;
            }
            if (lane == 0u) {
                raised.e[0] = 0u;
            }
            if (lane < 64u) {
                const uint _e720 = slot;
                const uint _e723 = first;
                const uint _e729 = line_of(__builtin_elementwise_min((_e723 + 128u) + lane, last_position), table_1, group.y, &params, inputs);
                lines.e[_e720 + lane] = _e729;
            }
            const uint _e731 = slot;
            slot = 64u - _e731;
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 12u], 18u * 4u);
            const half16 _e772 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 0u], 34u * 4u);
            const float8 _e773 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e772, _e773);
            const half16 _e782 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 0u], 34u * 4u);
            const float8 _e783 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e782, _e783);
            const half16 _e792 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 0u], 34u * 4u);
            const float8 _e793 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e792, _e793);
            const half16 _e802 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 0u], 34u * 4u);
            const float8 _e803 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e802, _e803);
            const half16 _e812 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 4u], 34u * 4u);
            const float8 _e813 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e812, _e813);
            const half16 _e822 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 4u], 34u * 4u);
            const float8 _e823 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e822, _e823);
            const half16 _e832 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 4u], 34u * 4u);
            const float8 _e833 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e832, _e833);
            const half16 _e842 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 4u], 34u * 4u);
            const float8 _e843 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e842, _e843);
            const half16 _e852 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 8u], 34u * 4u);
            const float8 _e853 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p0_, _e852, _e853);
            const half16 _e862 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 8u], 34u * 4u);
            const float8 _e863 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p1_, _e862, _e863);
            const half16 _e872 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 8u], 34u * 4u);
            const float8 _e873 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p2_, _e872, _e873);
            const half16 _e882 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 8u], 34u * 4u);
            const float8 _e883 = o2_;
            o2_ = roci_wmma_multiply_add_f32(p3_, _e882, _e883);
            const half16 _e892 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 12u], 34u * 4u);
            const float8 _e893 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p0_, _e892, _e893);
            const half16 _e902 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 12u], 34u * 4u);
            const float8 _e903 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p1_, _e902, _e903);
            const half16 _e912 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 12u], 34u * 4u);
            const float8 _e913 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p2_, _e912, _e913);
            const half16 _e922 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 12u], 34u * 4u);
            const float8 _e923 = o3_;
            o3_ = roci_wmma_multiply_add_f32(p3_, _e922, _e923);
            roci_barrier_workgroup();
        }
        const uint _e925 = first;
        first = _e925 + 64u;
    }
    const float _e928 = total;
    const float _e929 = total;
    const float _e931 = roci_subgroup_shuffle_xor_f32(_e929, 1u);
    total = _e928 + _e931;
    const float _e933 = total;
    const float _e934 = total;
    const float _e936 = roci_subgroup_shuffle_xor_f32(_e934, 2u);
    total = _e933 + _e936;
    const uint head_1 = (group.y * shared_by) + roci_mod_u32(first_row + row_3, shared_by);
    const uint _e945 = params.y_stride;
    const uint at_4 = (row_token * _e945) + (head_1 * 128u);
    const float8 _e950 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e950);
    const float8 _e954 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e954);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e962 = total;
        put(0u, row_3, at_4, _e962, part_1, &params, y, &scores);
    }
    roci_barrier_workgroup();
    const float8 _e963 = o2_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e963);
    const float8 _e967 = o3_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e967);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e975 = total;
        put(1u, row_3, at_4, _e975, part_1, &params, y, &scores);
        return;
    } else {
        return;
    }
}
