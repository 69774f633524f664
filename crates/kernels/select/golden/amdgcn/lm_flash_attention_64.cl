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
    uint sinks;
    uint chunk;
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
} KeyRange;
typedef struct {
    half4 a;
    half4 b;
    half4 c;
    half4 d;
    half4 e;
    half4 f;
    half4 g;
    half4 h;
} TileElements;

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

ROCI_FN float4 masked_scores(float4 products, uint position, KeyRange visible_1, private const Params *params) {
    float4 v = (float4)(0.0f);
    const float _e5 = (*params).scale;
    v = products * _e5;
    const float _e10 = (*params).soft_cap;
    if (_e10 > 0.0f) {
        const float _e15 = (*params).soft_cap;
        const float4 _e16 = v;
        const float _e19 = (*params).soft_cap;
        v = _e15 * roci_tanhx4(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e16 / ((float4)(_e19)), (float4)((-15.0f))), (float4)(15.0f)));
    }
    const uint4 at_1 = ((uint4)(position)) + ((uint4)(0u, 1u, 2u, 3u));
    const int4 is_visible = (at_1 >= ((uint4)(visible_1.begin))) & (at_1 < ((uint4)(visible_1.end)));
    const float4 _e45 = v;
    return is_visible ? _e45 : ((float4)((-3e38f)));
}

ROCI_FN float max_component(float4 v_1) {
    return __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(v_1.x, v_1.y), __builtin_elementwise_maxnum(v_1.z, v_1.w));
}

ROCI_FN float sum_components(float4 v_2) {
    return (v_2.x + v_2.y) + (v_2.z + v_2.w);
}

ROCI_FN float4 softmax_weights(float4 score, float row_max_1) {
    return (score > ((float4)((-3e38f)))) ? __builtin_elementwise_exp(score - ((float4)(row_max_1))) : (float4)(0.0f);
}

ROCI_FN uint cache_row_of(uint position_1, uint table, uint head, private const Params *params, global const uint *inputs) {
    const uint _e6 = (*params).page;
    const uint page = inputs[table + roci_div_u32(position_1, _e6)];
    const uint _e13 = (*params).page;
    const uint _e17 = (*params).page;
    const uint _e22 = (*params).kv_heads;
    return ((((page * _e13) + roci_mod_u32(position_1, _e17)) * _e22) + head) * 16u;
}

ROCI_FN TileElements load_keys(uint first_1, uint column, global const half4 *keys, local array128_uint *cache_rows) {
    TileElements elements = {0};
    const uint _e10 = (*cache_rows).e[first_1 + 0u];
    const half4 _e13 = keys[_e10 + column];
    elements.a = _e13;
    const uint _e20 = (*cache_rows).e[first_1 + 16u];
    const half4 _e23 = keys[_e20 + column];
    elements.b = _e23;
    const uint _e30 = (*cache_rows).e[first_1 + 32u];
    const half4 _e33 = keys[_e30 + column];
    elements.c = _e33;
    const uint _e40 = (*cache_rows).e[first_1 + 48u];
    const half4 _e43 = keys[_e40 + column];
    elements.d = _e43;
    const TileElements _e44 = elements;
    return _e44;
}

ROCI_FN TileElements load_values(uint first_2, uint column_1, global const half4 *values, local array128_uint *cache_rows) {
    TileElements elements_1 = {0};
    const uint _e10 = (*cache_rows).e[first_2 + 0u];
    const half4 _e13 = values[_e10 + column_1];
    elements_1.a = _e13;
    const uint _e20 = (*cache_rows).e[first_2 + 16u];
    const half4 _e23 = values[_e20 + column_1];
    elements_1.b = _e23;
    const uint _e30 = (*cache_rows).e[first_2 + 32u];
    const half4 _e33 = values[_e30 + column_1];
    elements_1.c = _e33;
    const uint _e40 = (*cache_rows).e[first_2 + 48u];
    const half4 _e43 = values[_e40 + column_1];
    elements_1.d = _e43;
    const TileElements _e44 = elements_1;
    return _e44;
}

ROCI_FN void store_tile(TileElements elements_2, uint row, uint column_2, local array2176_half4_ *tile) {
    const uint at_2 = (row * 34u) + column_2;
    (*tile).e[at_2 + 0u] = elements_2.a;
    (*tile).e[at_2 + 544u] = elements_2.b;
    (*tile).e[at_2 + 1088u] = elements_2.c;
    (*tile).e[at_2 + 1632u] = elements_2.d;
}

ROCI_FN uint pack_f16_(float2 v_3) {
    return roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_3, (float2)((-65504.0f))), (float2)(65504.0f)));
}

ROCI_FN void store_output(uint pass_index, uint row_1, uint at, float weight_sum_1, uint quarter, private const Params *params, global uint *y, local array1280_float4_ *scores) {
    uint i_3 = 0u;
    const uint column_3 = (((quarter / 2u) * 32u) + (pass_index * 32u)) + ((quarter % 2u) * 16u);
    while (true) {
        const uint _e19 = i_3;
        if (!(_e19 < 4u)) {
            break;
        }
        {
            const uint _e28 = i_3;
            const float4 _e31 = (*scores).e[((row_1 * 20u) + (quarter * 4u)) + _e28];
            const float4 v_4 = _e31 / ((float4)(weight_sum_1));
            const uint _e35 = i_3;
            const uint to = (at + column_3) + (_e35 * 4u);
            const uint _e41 = (*params).packed;
            if (_e41 != 0u) {
                const uint _e49 = pack_f16_(v_4.xy);
                y[to / 2u] = _e49;
                const uint _e57 = pack_f16_(v_4.zw);
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
void lm_flash_attention_64(global const uint *inputs, global const float *q, global const half4 *keys, global const half4 *values, global const float *sinks, global uint *y, Params params) {
    local array2176_half4_ tile;
    local array1280_float4_ scores;
    local array1152_half4_ weights;
    local array128_uint cache_rows;
    local array64_float rescale;
    local array4_uint needs_rescale;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint begin = 0u;
    bool local_ = false;
    uint i = 0u;
    TileElements next_elements = {0};
    KeyRange visible = {0};
    bool local_1 = false;
    float row_max = (-3e38f);
    float weight_sum = 0.0f;
    float8 o0_ = (float8)(0);
    float8 o1_ = (float8)(0);
    float8 o2_ = (float8)(0);
    float8 o3_ = (float8)(0);
    uint slot = 0u;
    uint first = 0u;
    float8 s0_ = (float8)(0);
    float8 s1_ = (float8)(0);
    float tile_max = 0.0f;
    uint i_1 = 0u;
    uint i_2 = 0u;
    const uint _e4 = params.heads;
    const uint _e7 = params.kv_heads;
    const uint gqa_ratio = roci_div_u32(_e4, _e7);
    const uint _e11 = params.block;
    const uint groups_per_block = (((_e11 * gqa_ratio) + 64u) - 1u) / 64u;
    const uint block = roci_div_u32(group.x, groups_per_block);
    const uint _e25 = params.tokens;
    const uint first_token = inputs[(2u * _e25) + (2u * block)];
    const uint _e36 = params.tokens;
    const uint count = inputs[((2u * _e36) + (2u * block)) + 1u];
    const uint first_row = roci_mod_u32(group.x, groups_per_block) * 64u;
    const uint rows = __builtin_elementwise_min((count * gqa_ratio) - __builtin_elementwise_min(first_row, count * gqa_ratio), 64u);
    const uint last_row = __builtin_elementwise_max(rows, 1u) - 1u;
    const uint _e62 = params.tokens;
    const uint table_1 = inputs[_e62 + first_token];
    const uint base_row = __builtin_elementwise_min(first_row, (count * gqa_ratio) - 1u);
    const uint last_position = inputs[first_token + roci_div_u32(base_row + last_row, gqa_ratio)];
    const uint first_position = inputs[first_token + roci_div_u32(base_row, gqa_ratio)];
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
    const uint _e110 = params.chunk;
    if (_e110 != 0u) {
        const uint _e113 = begin;
        const uint _e116 = params.chunk;
        const uint _e120 = params.chunk;
        begin = __builtin_elementwise_max(_e113, ((roci_div_u32(first_position, _e116) * _e120) / 64u) * 64u);
    }
    const uint _e127 = begin;
    const uint end = (rows > 0u) ? (last_position + 1u) : _e127;
    const uint load_row = lane / 16u;
    const uint load_column = lane % 16u;
    if (lane < 128u) {
        const uint _e140 = begin;
        const uint _e144 = cache_row_of(__builtin_elementwise_min(_e140 + lane, last_position), table_1, group.y, &params, inputs);
        cache_rows.e[lane] = _e144;
    }
    if (lane == 0u) {
        needs_rescale.e[0] = 0u;
    }
    i = lane;
    while (true) {
        const uint _e151 = i;
        if (!(_e151 < 1024u)) {
            break;
        }
        {
            const uint _e154 = i;
            const uint row_2 = base_row + __builtin_elementwise_min(_e154 / 16u, last_row);
            const uint _e162 = params.q_stride;
            const uint _e171 = i;
            const uint at_3 = (((first_token + roci_div_u32(row_2, gqa_ratio)) * _e162) + (((group.y * gqa_ratio) + roci_mod_u32(row_2, gqa_ratio)) * 64u)) + ((_e171 % 16u) * 4u);
            const uint _e177 = i;
            const uint _e181 = i;
            const float _e187 = q[at_3];
            const float _e192 = q[at_3 + 1u];
            const float _e197 = q[at_3 + 2u];
            const float _e202 = q[at_3 + 3u];
            tile.e[((_e177 / 16u) * 34u) + (_e181 % 16u)] = __builtin_convertvector(((float4)(_e187, _e192, _e197, _e202)), half4);
        }
        const uint _e205 = i;
        i = _e205 + 256u;
    }
    roci_barrier_workgroup();
    const TileElements _e208 = load_keys(load_row, load_column, keys, &cache_rows);
    next_elements = _e208;
    const uint tile_row = (lane / 64u) * 16u;
    const uint column_half = (lane / 32u) % 2u;
    const uint q_start = tile_row * 34u;
    const half16 q0_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_start + 0u], 34u * 4u);
    const half16 q1_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_start + 4u], 34u * 4u);
    const half16 q2_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_start + 8u], 34u * 4u);
    const half16 q3_ = roci_wmma_load_a_f16_local_rows((local half *)&tile.e[q_start + 12u], 34u * 4u);
    roci_barrier_workgroup();
    const uint row_3 = tile_row + ((lane % 64u) / 4u);
    const uint quarter_1 = lane % 4u;
    const uint row_token = first_token + roci_div_u32(base_row + __builtin_elementwise_min(row_3, last_row), gqa_ratio);
    const uint position_2 = inputs[row_token];
    visible = (KeyRange){.begin = 0u, .end = (position_2 + 1u)};
    const uint _e289 = params.window;
    if (_e289 != 0u) {
        const uint _e298 = params.window;
        local_1 = (position_2 + 1u) > _e298;
    } else {
        local_1 = false;
    }
    const bool _e301 = local_1;
    if (_e301) {
        const uint _e307 = params.window;
        visible.begin = (position_2 + 1u) - _e307;
    }
    const uint _e311 = params.chunk;
    if (_e311 != 0u) {
        const uint _e316 = visible.begin;
        const uint _e319 = params.chunk;
        const uint _e323 = params.chunk;
        visible.begin = __builtin_elementwise_max(_e316, roci_div_u32(position_2, _e319) * _e323);
    }
    const uint score_at = (row_3 * 20u) + quarter_1;
    const uint weight_at = (row_3 * 18u) + quarter_1;
    const uint k_start = (column_half * 32u) * 34u;
    const uint v_start = column_half * 8u;
    const uint score_start = (tile_row * 20u) + (column_half * 8u);
    const uint head_1 = (group.y * gqa_ratio) + roci_mod_u32(first_row + row_3, gqa_ratio);
    const uint _e354 = params.sinks;
    if (_e354 != 0u) {
        const float _e359 = sinks[head_1];
        row_max = _e359;
        weight_sum = (quarter_1 == 0u) ? 1.0f : 0.0f;
    }
    const uint _e373 = begin;
    first = _e373;
    while (true) {
        const uint _e375 = first;
        if (!(_e375 < end)) {
            break;
        }
        {
            const TileElements _e377 = next_elements;
            store_tile(_e377, load_row, load_column, &tile);
            const uint _e378 = slot;
            const TileElements _e380 = load_values(_e378 + load_row, load_column, values, &cache_rows);
            next_elements = _e380;
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            const half16 _e392 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 0u], 34u * 4u);
            const float8 _e393 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e392, _e393);
            const half16 _e402 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 0u], 34u * 4u);
            const float8 _e403 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e402, _e403);
            const half16 _e412 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 4u], 34u * 4u);
            const float8 _e413 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e412, _e413);
            const half16 _e422 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 4u], 34u * 4u);
            const float8 _e423 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e422, _e423);
            const half16 _e432 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 8u], 34u * 4u);
            const float8 _e433 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e432, _e433);
            const half16 _e442 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 8u], 34u * 4u);
            const float8 _e443 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e442, _e443);
            const half16 _e452 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 12u], 34u * 4u);
            const float8 _e453 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e452, _e453);
            const half16 _e462 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 12u], 34u * 4u);
            const float8 _e463 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e462, _e463);
            const float8 _e465 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e465);
            const float8 _e469 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e469);
            roci_barrier_workgroup();
            const TileElements _e475 = next_elements;
            store_tile(_e475, load_row, load_column, &tile);
            const uint _e477 = slot;
            const TileElements _e480 = load_keys((64u - _e477) + load_row, load_column, keys, &cache_rows);
            next_elements = _e480;
            const float4 _e483 = scores.e[score_at];
            const uint _e484 = first;
            const KeyRange _e488 = visible;
            const float4 a = masked_scores(_e483, _e484 + (quarter_1 * 4u), _e488, &params);
            const float4 _e494 = scores.e[score_at + 4u];
            const uint _e495 = first;
            const KeyRange _e501 = visible;
            const float4 b = masked_scores(_e494, (_e495 + (quarter_1 * 4u)) + 16u, _e501, &params);
            const float4 _e507 = scores.e[score_at + 8u];
            const uint _e508 = first;
            const KeyRange _e514 = visible;
            const float4 c = masked_scores(_e507, (_e508 + (quarter_1 * 4u)) + 32u, _e514, &params);
            const float4 _e520 = scores.e[score_at + 12u];
            const uint _e521 = first;
            const KeyRange _e527 = visible;
            const float4 d = masked_scores(_e520, (_e521 + (quarter_1 * 4u)) + 48u, _e527, &params);
            const float _e529 = max_component(a);
            const float _e530 = max_component(b);
            const float _e532 = max_component(c);
            const float _e533 = max_component(d);
            tile_max = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e529, _e530), __builtin_elementwise_maxnum(_e532, _e533));
            const float _e537 = tile_max;
            const float _e538 = tile_max;
            const float _e540 = roci_subgroup_shuffle_xor_f32(_e538, 1u);
            tile_max = __builtin_elementwise_maxnum(_e537, _e540);
            const float _e542 = tile_max;
            const float _e543 = tile_max;
            const float _e545 = roci_subgroup_shuffle_xor_f32(_e543, 2u);
            tile_max = __builtin_elementwise_maxnum(_e542, _e545);
            const float _e547 = tile_max;
            const float _e548 = row_max;
            if (_e547 > (_e548 + 10.0f)) {
                const float _e552 = row_max;
                const float _e553 = tile_max;
                const float scale = __builtin_elementwise_exp(_e552 - _e553);
                const float _e556 = weight_sum;
                weight_sum = _e556 * scale;
                rescale.e[row_3] = scale;
                const float _e560 = row_max;
                if (_e560 > (-3e38f)) {
                    needs_rescale.e[0] = 1u;
                }
                const float _e566 = tile_max;
                row_max = _e566;
            } else {
                rescale.e[row_3] = 1.0f;
            }
            const float _e570 = row_max;
            const float4 e = softmax_weights(a, _e570);
            const float _e572 = row_max;
            const float4 f = softmax_weights(b, _e572);
            const float _e574 = row_max;
            const float4 g = softmax_weights(c, _e574);
            const float _e576 = row_max;
            const float4 h = softmax_weights(d, _e576);
            const float _e578 = weight_sum;
            const float _e579 = sum_components(e);
            const float _e580 = sum_components(f);
            const float _e582 = sum_components(g);
            const float _e583 = sum_components(h);
            weight_sum = _e578 + ((_e579 + _e580) + (_e582 + _e583));
            weights.e[weight_at] = __builtin_convertvector(e, half4);
            weights.e[weight_at + 4u] = __builtin_convertvector(f, half4);
            weights.e[weight_at + 8u] = __builtin_convertvector(g, half4);
            weights.e[weight_at + 12u] = __builtin_convertvector(h, half4);
            roci_barrier_workgroup();
            const uint _e607 = needs_rescale.e[0];
            roci_barrier_workgroup();
            if (_e607 != 0u) {
                const float8 _e610 = o0_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e610);
                const float8 _e614 = o1_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e614);
                roci_barrier_workgroup();
                i_1 = 0u;
                while (true) {
                    const uint _e622 = i_1;
                    if (!(_e622 < 16u)) {
                        break;
                    }
                    {
                        const uint _e626 = i_1;
                        const float4 _e629 = scores.e[score_at + _e626];
                        const float _e632 = rescale.e[row_3];
                        scores.e[score_at + _e626] = _e629 * _e632;
                    }
                    const uint _e634 = i_1;
                    i_1 = _e634 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e640 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u);
                o0_ = _e640;
                const float8 _e646 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u);
                o1_ = _e646;
            }
            if (lane == 0u) {
                needs_rescale.e[0] = 0u;
            }
            if (lane < 64u) {
                const uint _e655 = slot;
                const uint _e658 = first;
                const uint _e664 = cache_row_of(__builtin_elementwise_min((_e658 + 128u) + lane, last_position), table_1, group.y, &params, inputs);
                cache_rows.e[_e655 + lane] = _e664;
            }
            const uint _e666 = slot;
            slot = 64u - _e666;
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 12u], 18u * 4u);
            const half16 _e707 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 0u) + 0u], 34u * 4u);
            const float8 _e708 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e707, _e708);
            const half16 _e717 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 544u) + 0u], 34u * 4u);
            const float8 _e718 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e717, _e718);
            const half16 _e727 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1088u) + 0u], 34u * 4u);
            const float8 _e728 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e727, _e728);
            const half16 _e737 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1632u) + 0u], 34u * 4u);
            const float8 _e738 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e737, _e738);
            const half16 _e747 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 0u) + 4u], 34u * 4u);
            const float8 _e748 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e747, _e748);
            const half16 _e757 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 544u) + 4u], 34u * 4u);
            const float8 _e758 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e757, _e758);
            const half16 _e767 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1088u) + 4u], 34u * 4u);
            const float8 _e768 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e767, _e768);
            const half16 _e777 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1632u) + 4u], 34u * 4u);
            const float8 _e778 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e777, _e778);
            roci_barrier_workgroup();
        }
        const uint _e780 = first;
        first = _e780 + 64u;
    }
    const float _e783 = weight_sum;
    const float _e784 = weight_sum;
    const float _e786 = roci_subgroup_shuffle_xor_f32(_e784, 1u);
    weight_sum = _e783 + _e786;
    const float _e788 = weight_sum;
    const float _e789 = weight_sum;
    const float _e791 = roci_subgroup_shuffle_xor_f32(_e789, 2u);
    weight_sum = _e788 + _e791;
    const uint _e795 = params.y_stride;
    const uint at_4 = (row_token * _e795) + (head_1 * 64u);
    const float8 _e800 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e800);
    const float8 _e804 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e804);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e812 = weight_sum;
        store_output(0u, row_3, at_4, _e812, quarter_1, &params, y, &scores);
    }
}
