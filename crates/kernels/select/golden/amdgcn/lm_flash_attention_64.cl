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
    uint own;
    uint after;
    uint alibi_heads;
    float alibi;
    uint values_in_keys;
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
        const uint _e122 = params.chunk;
        begin = __builtin_elementwise_max(_e113, ((roci_div_u32(first_position, __builtin_elementwise_max(_e116, 1u)) * _e122) / 64u) * 64u);
    }
    const uint _e129 = begin;
    const uint end = (rows > 0u) ? (last_position + 1u) : _e129;
    const uint load_row = lane / 16u;
    const uint load_column = lane % 16u;
    if (lane < 128u) {
        const uint _e142 = begin;
        const uint _e146 = cache_row_of(__builtin_elementwise_min(_e142 + lane, last_position), table_1, group.y, &params, inputs);
        cache_rows.e[lane] = _e146;
    }
    if (lane == 0u) {
        needs_rescale.e[0] = 0u;
    }
    i = lane;
    while (true) {
        const uint _e153 = i;
        if (!(_e153 < 1024u)) {
            break;
        }
        {
            const uint _e156 = i;
            const uint row_2 = base_row + __builtin_elementwise_min(_e156 / 16u, last_row);
            const uint _e164 = params.q_stride;
            const uint _e173 = i;
            const uint at_3 = (((first_token + roci_div_u32(row_2, gqa_ratio)) * _e164) + (((group.y * gqa_ratio) + roci_mod_u32(row_2, gqa_ratio)) * 64u)) + ((_e173 % 16u) * 4u);
            const uint _e179 = i;
            const uint _e183 = i;
            const float _e189 = q[at_3];
            const float _e194 = q[at_3 + 1u];
            const float _e199 = q[at_3 + 2u];
            const float _e204 = q[at_3 + 3u];
            tile.e[((_e179 / 16u) * 34u) + (_e183 % 16u)] = __builtin_convertvector(((float4)(_e189, _e194, _e199, _e204)), half4);
        }
        const uint _e207 = i;
        i = _e207 + 256u;
    }
    roci_barrier_workgroup();
    const TileElements _e210 = load_keys(load_row, load_column, keys, &cache_rows);
    next_elements = _e210;
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
    const uint _e291 = params.window;
    if (_e291 != 0u) {
        const uint _e300 = params.window;
        local_1 = (position_2 + 1u) > _e300;
    } else {
        local_1 = false;
    }
    const bool _e303 = local_1;
    if (_e303) {
        const uint _e309 = params.window;
        visible.begin = (position_2 + 1u) - _e309;
    }
    const uint _e313 = params.chunk;
    if (_e313 != 0u) {
        const uint _e318 = visible.begin;
        const uint _e321 = params.chunk;
        const uint _e327 = params.chunk;
        visible.begin = __builtin_elementwise_max(_e318, roci_div_u32(position_2, __builtin_elementwise_max(_e321, 1u)) * _e327);
    }
    const uint score_at = (row_3 * 20u) + quarter_1;
    const uint weight_at = (row_3 * 18u) + quarter_1;
    const uint k_start = (column_half * 32u) * 34u;
    const uint v_start = column_half * 8u;
    const uint score_start = (tile_row * 20u) + (column_half * 8u);
    const uint head_1 = (group.y * gqa_ratio) + roci_mod_u32(first_row + row_3, gqa_ratio);
    const uint _e358 = params.sinks;
    if (_e358 != 0u) {
        const float _e363 = sinks[head_1];
        row_max = _e363;
        weight_sum = (quarter_1 == 0u) ? 1.0f : 0.0f;
    }
    const uint _e377 = begin;
    first = _e377;
    while (true) {
        const uint _e379 = first;
        if (!(_e379 < end)) {
            break;
        }
        {
            const TileElements _e381 = next_elements;
            store_tile(_e381, load_row, load_column, &tile);
            const uint _e382 = slot;
            const TileElements _e384 = load_values(_e382 + load_row, load_column, values, &cache_rows);
            next_elements = _e384;
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            const half16 _e396 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 0u], 34u * 4u);
            const float8 _e397 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e396, _e397);
            const half16 _e406 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 0u], 34u * 4u);
            const float8 _e407 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e406, _e407);
            const half16 _e416 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 4u], 34u * 4u);
            const float8 _e417 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e416, _e417);
            const half16 _e426 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 4u], 34u * 4u);
            const float8 _e427 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e426, _e427);
            const half16 _e436 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 8u], 34u * 4u);
            const float8 _e437 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e436, _e437);
            const half16 _e446 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 8u], 34u * 4u);
            const float8 _e447 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e446, _e447);
            const half16 _e456 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 12u], 34u * 4u);
            const float8 _e457 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e456, _e457);
            const half16 _e466 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 12u], 34u * 4u);
            const float8 _e467 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e466, _e467);
            const float8 _e469 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e469);
            const float8 _e473 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e473);
            roci_barrier_workgroup();
            const TileElements _e479 = next_elements;
            store_tile(_e479, load_row, load_column, &tile);
            const uint _e481 = slot;
            const TileElements _e484 = load_keys((64u - _e481) + load_row, load_column, keys, &cache_rows);
            next_elements = _e484;
            const float4 _e487 = scores.e[score_at];
            const uint _e488 = first;
            const KeyRange _e492 = visible;
            const float4 a = masked_scores(_e487, _e488 + (quarter_1 * 4u), _e492, &params);
            const float4 _e498 = scores.e[score_at + 4u];
            const uint _e499 = first;
            const KeyRange _e505 = visible;
            const float4 b = masked_scores(_e498, (_e499 + (quarter_1 * 4u)) + 16u, _e505, &params);
            const float4 _e511 = scores.e[score_at + 8u];
            const uint _e512 = first;
            const KeyRange _e518 = visible;
            const float4 c = masked_scores(_e511, (_e512 + (quarter_1 * 4u)) + 32u, _e518, &params);
            const float4 _e524 = scores.e[score_at + 12u];
            const uint _e525 = first;
            const KeyRange _e531 = visible;
            const float4 d = masked_scores(_e524, (_e525 + (quarter_1 * 4u)) + 48u, _e531, &params);
            const float _e533 = max_component(a);
            const float _e534 = max_component(b);
            const float _e536 = max_component(c);
            const float _e537 = max_component(d);
            tile_max = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e533, _e534), __builtin_elementwise_maxnum(_e536, _e537));
            const float _e541 = tile_max;
            const float _e542 = tile_max;
            const float _e544 = roci_subgroup_shuffle_xor_f32(_e542, 1u);
            tile_max = __builtin_elementwise_maxnum(_e541, _e544);
            const float _e546 = tile_max;
            const float _e547 = tile_max;
            const float _e549 = roci_subgroup_shuffle_xor_f32(_e547, 2u);
            tile_max = __builtin_elementwise_maxnum(_e546, _e549);
            const float _e551 = tile_max;
            const float _e552 = row_max;
            if (_e551 > (_e552 + 10.0f)) {
                const float _e556 = row_max;
                const float _e557 = tile_max;
                const float scale = __builtin_elementwise_exp(_e556 - _e557);
                const float _e560 = weight_sum;
                weight_sum = _e560 * scale;
                rescale.e[row_3] = scale;
                const float _e564 = row_max;
                if (_e564 > (-3e38f)) {
                    needs_rescale.e[0] = 1u;
                }
                const float _e570 = tile_max;
                row_max = _e570;
            } else {
                rescale.e[row_3] = 1.0f;
            }
            const float _e574 = row_max;
            const float4 e = softmax_weights(a, _e574);
            const float _e576 = row_max;
            const float4 f = softmax_weights(b, _e576);
            const float _e578 = row_max;
            const float4 g = softmax_weights(c, _e578);
            const float _e580 = row_max;
            const float4 h = softmax_weights(d, _e580);
            const float _e582 = weight_sum;
            const float _e583 = sum_components(e);
            const float _e584 = sum_components(f);
            const float _e586 = sum_components(g);
            const float _e587 = sum_components(h);
            weight_sum = _e582 + ((_e583 + _e584) + (_e586 + _e587));
            weights.e[weight_at] = __builtin_convertvector(e, half4);
            weights.e[weight_at + 4u] = __builtin_convertvector(f, half4);
            weights.e[weight_at + 8u] = __builtin_convertvector(g, half4);
            weights.e[weight_at + 12u] = __builtin_convertvector(h, half4);
            roci_barrier_workgroup();
            const uint _e611 = needs_rescale.e[0];
            roci_barrier_workgroup();
            if (_e611 != 0u) {
                const float8 _e614 = o0_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e614);
                const float8 _e618 = o1_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e618);
                roci_barrier_workgroup();
                i_1 = 0u;
                while (true) {
                    const uint _e626 = i_1;
                    if (!(_e626 < 16u)) {
                        break;
                    }
                    {
                        const uint _e630 = i_1;
                        const float4 _e633 = scores.e[score_at + _e630];
                        const float _e636 = rescale.e[row_3];
                        scores.e[score_at + _e630] = _e633 * _e636;
                    }
                    const uint _e638 = i_1;
                    i_1 = _e638 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e644 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u);
                o0_ = _e644;
                const float8 _e650 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u);
                o1_ = _e650;
            }
            if (lane == 0u) {
                needs_rescale.e[0] = 0u;
            }
            if (lane < 64u) {
                const uint _e659 = slot;
                const uint _e662 = first;
                const uint _e668 = cache_row_of(__builtin_elementwise_min((_e662 + 128u) + lane, last_position), table_1, group.y, &params, inputs);
                cache_rows.e[_e659 + lane] = _e668;
            }
            const uint _e670 = slot;
            slot = 64u - _e670;
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 12u], 18u * 4u);
            const half16 _e711 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 0u) + 0u], 34u * 4u);
            const float8 _e712 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e711, _e712);
            const half16 _e721 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 544u) + 0u], 34u * 4u);
            const float8 _e722 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e721, _e722);
            const half16 _e731 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1088u) + 0u], 34u * 4u);
            const float8 _e732 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e731, _e732);
            const half16 _e741 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1632u) + 0u], 34u * 4u);
            const float8 _e742 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e741, _e742);
            const half16 _e751 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 0u) + 4u], 34u * 4u);
            const float8 _e752 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e751, _e752);
            const half16 _e761 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 544u) + 4u], 34u * 4u);
            const float8 _e762 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e761, _e762);
            const half16 _e771 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1088u) + 4u], 34u * 4u);
            const float8 _e772 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e771, _e772);
            const half16 _e781 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1632u) + 4u], 34u * 4u);
            const float8 _e782 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e781, _e782);
            roci_barrier_workgroup();
        }
        const uint _e784 = first;
        first = _e784 + 64u;
    }
    const float _e787 = weight_sum;
    const float _e788 = weight_sum;
    const float _e790 = roci_subgroup_shuffle_xor_f32(_e788, 1u);
    weight_sum = _e787 + _e790;
    const float _e792 = weight_sum;
    const float _e793 = weight_sum;
    const float _e795 = roci_subgroup_shuffle_xor_f32(_e793, 2u);
    weight_sum = _e792 + _e795;
    const uint _e799 = params.y_stride;
    const uint at_4 = (row_token * _e799) + (head_1 * 64u);
    const float8 _e804 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e804);
    const float8 _e808 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e808);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e816 = weight_sum;
        store_output(0u, row_3, at_4, _e816, quarter_1, &params, y, &scores);
    }
}
