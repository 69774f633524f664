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
    return ((((page * _e13) + roci_mod_u32(position_1, _e17)) * _e22) + head) * 16u;
}

ROCI_FN Brought keys_at(uint first_1, uint column, global const half4 *keys, local array128_uint *lines) {
    Brought brought_1 = {0};
    const uint _e10 = (*lines).e[first_1 + 0u];
    const half4 _e13 = keys[_e10 + column];
    brought_1.a = _e13;
    const uint _e20 = (*lines).e[first_1 + 16u];
    const half4 _e23 = keys[_e20 + column];
    brought_1.b = _e23;
    const uint _e30 = (*lines).e[first_1 + 32u];
    const half4 _e33 = keys[_e30 + column];
    brought_1.c = _e33;
    const uint _e40 = (*lines).e[first_1 + 48u];
    const half4 _e43 = keys[_e40 + column];
    brought_1.d = _e43;
    const Brought _e44 = brought_1;
    return _e44;
}

ROCI_FN Brought values_at(uint first_2, uint column_1, global const half4 *values, local array128_uint *lines) {
    Brought brought_2 = {0};
    const uint _e10 = (*lines).e[first_2 + 0u];
    const half4 _e13 = values[_e10 + column_1];
    brought_2.a = _e13;
    const uint _e20 = (*lines).e[first_2 + 16u];
    const half4 _e23 = values[_e20 + column_1];
    brought_2.b = _e23;
    const uint _e30 = (*lines).e[first_2 + 32u];
    const half4 _e33 = values[_e30 + column_1];
    brought_2.c = _e33;
    const uint _e40 = (*lines).e[first_2 + 48u];
    const half4 _e43 = values[_e40 + column_1];
    brought_2.d = _e43;
    const Brought _e44 = brought_2;
    return _e44;
}

ROCI_FN void put_tile(Brought brought_3, uint row, uint column_2, local array2176_half4_ *tile) {
    const uint at_2 = (row * 34u) + column_2;
    (*tile).e[at_2 + 0u] = brought_3.a;
    (*tile).e[at_2 + 544u] = brought_3.b;
    (*tile).e[at_2 + 1088u] = brought_3.c;
    (*tile).e[at_2 + 1632u] = brought_3.d;
}

ROCI_FN uint half_words(float2 v_3) {
    return roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_3, (float2)((-65504.0f))), (float2)(65504.0f)));
}

ROCI_FN void put(uint turn, uint row_1, uint at, float total_1, uint part, private const Params *params, global uint *y, local array1280_float4_ *scores) {
    uint i_3 = 0u;
    const uint column_3 = (((part / 2u) * 32u) + (turn * 32u)) + ((part % 2u) * 16u);
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
void lm_flash_64(global const uint *inputs, global const float *q, global const half4 *keys, global const half4 *values, global uint *y, Params params) {
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
    const uint bring_row = lane / 16u;
    const uint bring_column = lane % 16u;
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
        if (!(_e131 < 1024u)) {
            break;
        }
        {
            const uint _e134 = i;
            const uint row_2 = near + __builtin_elementwise_min(_e134 / 16u, last_row);
            const uint _e142 = params.q_stride;
            const uint _e151 = i;
            const uint at_3 = (((first_token + roci_div_u32(row_2, shared_by)) * _e142) + (((group.y * shared_by) + roci_mod_u32(row_2, shared_by)) * 64u)) + ((_e151 % 16u) * 4u);
            const uint _e157 = i;
            const uint _e161 = i;
            const float _e167 = q[at_3];
            const float _e172 = q[at_3 + 1u];
            const float _e177 = q[at_3 + 2u];
            const float _e182 = q[at_3 + 3u];
            tile.e[((_e157 / 16u) * 34u) + (_e161 % 16u)] = __builtin_convertvector(((float4)(_e167, _e172, _e177, _e182)), half4);
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
    const uint value_from = side * 8u;
    const uint to_score = (own * 20u) + (side * 8u);
    const uint _e318 = begin;
    first = _e318;
    while (true) {
        const uint _e320 = first;
        if (!(_e320 < end)) {
            break;
        }
        {
            const Brought _e322 = brought;
            put_tile(_e322, bring_row, bring_column, &tile);
            const uint _e323 = slot;
            const Brought _e325 = values_at(_e323 + bring_row, bring_column, values, &lines);
            brought = _e325;
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            const half16 _e337 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 0u], 34u * 4u);
            const float8 _e338 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e337, _e338);
            const half16 _e347 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 0u], 34u * 4u);
            const float8 _e348 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e347, _e348);
            const half16 _e357 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 4u], 34u * 4u);
            const float8 _e358 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e357, _e358);
            const half16 _e367 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 4u], 34u * 4u);
            const float8 _e368 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e367, _e368);
            const half16 _e377 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 8u], 34u * 4u);
            const float8 _e378 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e377, _e378);
            const half16 _e387 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 8u], 34u * 4u);
            const float8 _e388 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e387, _e388);
            const half16 _e397 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 0u) + 12u], 34u * 4u);
            const float8 _e398 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e397, _e398);
            const half16 _e407 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(key_from + 544u) + 12u], 34u * 4u);
            const float8 _e408 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e407, _e408);
            const float8 _e410 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e410);
            const float8 _e414 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e414);
            roci_barrier_workgroup();
            const Brought _e420 = brought;
            put_tile(_e420, bring_row, bring_column, &tile);
            const uint _e422 = slot;
            const Brought _e425 = keys_at((64u - _e422) + bring_row, bring_column, keys, &lines);
            brought = _e425;
            const float4 _e428 = scores.e[from_score];
            const uint _e429 = first;
            const View _e433 = view;
            const float4 a = seen(_e428, _e429 + (part_1 * 4u), _e433, &params);
            const float4 _e439 = scores.e[from_score + 4u];
            const uint _e440 = first;
            const View _e446 = view;
            const float4 b = seen(_e439, (_e440 + (part_1 * 4u)) + 16u, _e446, &params);
            const float4 _e452 = scores.e[from_score + 8u];
            const uint _e453 = first;
            const View _e459 = view;
            const float4 c = seen(_e452, (_e453 + (part_1 * 4u)) + 32u, _e459, &params);
            const float4 _e465 = scores.e[from_score + 12u];
            const uint _e466 = first;
            const View _e472 = view;
            const float4 d = seen(_e465, (_e466 + (part_1 * 4u)) + 48u, _e472, &params);
            const float _e474 = greatest_of(a);
            const float _e475 = greatest_of(b);
            const float _e477 = greatest_of(c);
            const float _e478 = greatest_of(d);
            most = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e474, _e475), __builtin_elementwise_maxnum(_e477, _e478));
            const float _e482 = most;
            const float _e483 = most;
            const float _e485 = roci_subgroup_shuffle_xor_f32(_e483, 1u);
            most = __builtin_elementwise_maxnum(_e482, _e485);
            const float _e487 = most;
            const float _e488 = most;
            const float _e490 = roci_subgroup_shuffle_xor_f32(_e488, 2u);
            most = __builtin_elementwise_maxnum(_e487, _e490);
            const float _e492 = most;
            const float _e493 = top;
            if (_e492 > (_e493 + 10.0f)) {
                const float _e497 = top;
                const float _e498 = most;
                const float factor = __builtin_elementwise_exp(_e497 - _e498);
                const float _e501 = total;
                total = _e501 * factor;
                factors.e[row_3] = factor;
                const float _e505 = top;
                if (_e505 > (-3e38f)) {
                    raised = 1u;
                }
                const float _e510 = most;
                top = _e510;
            } else {
                factors.e[row_3] = 1.0f;
            }
            const float _e514 = top;
            const float4 e = weight_of(a, _e514);
            const float _e516 = top;
            const float4 f = weight_of(b, _e516);
            const float _e518 = top;
            const float4 g = weight_of(c, _e518);
            const float _e520 = top;
            const float4 h = weight_of(d, _e520);
            const float _e522 = total;
            const float _e523 = total_of(e);
            const float _e524 = total_of(f);
            const float _e526 = total_of(g);
            const float _e527 = total_of(h);
            total = _e522 + ((_e523 + _e524) + (_e526 + _e527));
            weights.e[to_weight] = __builtin_convertvector(e, half4);
            weights.e[to_weight + 4u] = __builtin_convertvector(f, half4);
            weights.e[to_weight + 8u] = __builtin_convertvector(g, half4);
            weights.e[to_weight + 12u] = __builtin_convertvector(h, half4);
            roci_barrier_workgroup();
            const uint _e550 = raised;
            roci_barrier_workgroup();
            if (_e550 != 0u) {
                const float8 _e553 = o0_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e553);
                const float8 _e557 = o1_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e557);
                roci_barrier_workgroup();
                i_1 = 0u;
                while (true) {
                    const uint _e565 = i_1;
                    if (!(_e565 < 16u)) {
                        break;
                    }
                    {
                        const uint _e569 = i_1;
                        const float4 _e572 = scores.e[from_score + _e569];
                        const float _e575 = factors.e[row_3];
                        scores.e[from_score + _e569] = _e572 * _e575;
                    }
                    const uint _e577 = i_1;
                    i_1 = _e577 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e583 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u);
                o0_ = _e583;
                const float8 _e589 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u);
                o1_ = _e589;
            }
            if (lane == 0u) {
                raised = 0u;
            }
            if (lane < 64u) {
                const uint _e597 = slot;
                const uint _e600 = first;
                const uint _e606 = line_of(__builtin_elementwise_min((_e600 + 128u) + lane, last_position), table_1, group.y, &params, inputs);
                lines.e[_e597 + lane] = _e606;
            }
            const uint _e608 = slot;
            slot = 64u - _e608;
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(own * 18u) + 12u], 18u * 4u);
            const half16 _e649 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 0u], 34u * 4u);
            const float8 _e650 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e649, _e650);
            const half16 _e659 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 0u], 34u * 4u);
            const float8 _e660 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e659, _e660);
            const half16 _e669 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 0u], 34u * 4u);
            const float8 _e670 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e669, _e670);
            const half16 _e679 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 0u], 34u * 4u);
            const float8 _e680 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e679, _e680);
            const half16 _e689 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 0u) + 4u], 34u * 4u);
            const float8 _e690 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e689, _e690);
            const half16 _e699 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 544u) + 4u], 34u * 4u);
            const float8 _e700 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e699, _e700);
            const half16 _e709 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1088u) + 4u], 34u * 4u);
            const float8 _e710 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e709, _e710);
            const half16 _e719 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(value_from + 1632u) + 4u], 34u * 4u);
            const float8 _e720 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e719, _e720);
            roci_barrier_workgroup();
        }
        const uint _e722 = first;
        first = _e722 + 64u;
    }
    const float _e725 = total;
    const float _e726 = total;
    const float _e728 = roci_subgroup_shuffle_xor_f32(_e726, 1u);
    total = _e725 + _e728;
    const float _e730 = total;
    const float _e731 = total;
    const float _e733 = roci_subgroup_shuffle_xor_f32(_e731, 2u);
    total = _e730 + _e733;
    const uint head_1 = (group.y * shared_by) + roci_mod_u32(first_row + row_3, shared_by);
    const uint _e742 = params.y_stride;
    const uint at_4 = (row_token * _e742) + (head_1 * 64u);
    const float8 _e747 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score], 20u * 4u, _e747);
    const float8 _e751 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[to_score + 4u], 20u * 4u, _e751);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e759 = total;
        put(0u, row_3, at_4, _e759, part_1, &params, y, &scores);
    }
}
