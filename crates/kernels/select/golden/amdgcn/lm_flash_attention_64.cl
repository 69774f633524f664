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
void lm_flash_attention_64(global const uint *inputs, global const float *q, global const half4 *keys, global const half4 *values, global uint *y, Params params) {
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
    const uint _e108 = begin;
    const uint end = (rows > 0u) ? (last_position + 1u) : _e108;
    const uint load_row = lane / 16u;
    const uint load_column = lane % 16u;
    if (lane < 128u) {
        const uint _e121 = begin;
        const uint _e125 = cache_row_of(__builtin_elementwise_min(_e121 + lane, last_position), table_1, group.y, &params, inputs);
        cache_rows.e[lane] = _e125;
    }
    if (lane == 0u) {
        needs_rescale.e[0] = 0u;
    }
    i = lane;
    while (true) {
        const uint _e132 = i;
        if (!(_e132 < 1024u)) {
            break;
        }
        {
            const uint _e135 = i;
            const uint row_2 = base_row + __builtin_elementwise_min(_e135 / 16u, last_row);
            const uint _e143 = params.q_stride;
            const uint _e152 = i;
            const uint at_3 = (((first_token + roci_div_u32(row_2, gqa_ratio)) * _e143) + (((group.y * gqa_ratio) + roci_mod_u32(row_2, gqa_ratio)) * 64u)) + ((_e152 % 16u) * 4u);
            const uint _e158 = i;
            const uint _e162 = i;
            const float _e168 = q[at_3];
            const float _e173 = q[at_3 + 1u];
            const float _e178 = q[at_3 + 2u];
            const float _e183 = q[at_3 + 3u];
            tile.e[((_e158 / 16u) * 34u) + (_e162 % 16u)] = __builtin_convertvector(((float4)(_e168, _e173, _e178, _e183)), half4);
        }
        const uint _e186 = i;
        i = _e186 + 256u;
    }
    roci_barrier_workgroup();
    const TileElements _e189 = load_keys(load_row, load_column, keys, &cache_rows);
    next_elements = _e189;
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
        visible.begin = (position_2 + 1u) - _e288;
    }
    const uint score_at = (row_3 * 20u) + quarter_1;
    const uint weight_at = (row_3 * 18u) + quarter_1;
    const uint k_start = (column_half * 32u) * 34u;
    const uint v_start = column_half * 8u;
    const uint score_start = (tile_row * 20u) + (column_half * 8u);
    const uint _e319 = begin;
    first = _e319;
    while (true) {
        const uint _e321 = first;
        if (!(_e321 < end)) {
            break;
        }
        {
            const TileElements _e323 = next_elements;
            store_tile(_e323, load_row, load_column, &tile);
            const uint _e324 = slot;
            const TileElements _e326 = load_values(_e324 + load_row, load_column, values, &cache_rows);
            next_elements = _e326;
            roci_barrier_workgroup();
            s0_ = (float8)(0);
            s1_ = (float8)(0);
            const half16 _e338 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 0u], 34u * 4u);
            const float8 _e339 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q0_, _e338, _e339);
            const half16 _e348 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 0u], 34u * 4u);
            const float8 _e349 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q0_, _e348, _e349);
            const half16 _e358 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 4u], 34u * 4u);
            const float8 _e359 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q1_, _e358, _e359);
            const half16 _e368 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 4u], 34u * 4u);
            const float8 _e369 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q1_, _e368, _e369);
            const half16 _e378 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 8u], 34u * 4u);
            const float8 _e379 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q2_, _e378, _e379);
            const half16 _e388 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 8u], 34u * 4u);
            const float8 _e389 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q2_, _e388, _e389);
            const half16 _e398 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 0u) + 12u], 34u * 4u);
            const float8 _e399 = s0_;
            s0_ = roci_wmma_multiply_add_f32(q3_, _e398, _e399);
            const half16 _e408 = roci_wmma_load_b_f16_local_columns((local half *)&tile.e[(k_start + 544u) + 12u], 34u * 4u);
            const float8 _e409 = s1_;
            s1_ = roci_wmma_multiply_add_f32(q3_, _e408, _e409);
            const float8 _e411 = s0_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e411);
            const float8 _e415 = s1_;
            roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e415);
            roci_barrier_workgroup();
            const TileElements _e421 = next_elements;
            store_tile(_e421, load_row, load_column, &tile);
            const uint _e423 = slot;
            const TileElements _e426 = load_keys((64u - _e423) + load_row, load_column, keys, &cache_rows);
            next_elements = _e426;
            const float4 _e429 = scores.e[score_at];
            const uint _e430 = first;
            const KeyRange _e434 = visible;
            const float4 a = masked_scores(_e429, _e430 + (quarter_1 * 4u), _e434, &params);
            const float4 _e440 = scores.e[score_at + 4u];
            const uint _e441 = first;
            const KeyRange _e447 = visible;
            const float4 b = masked_scores(_e440, (_e441 + (quarter_1 * 4u)) + 16u, _e447, &params);
            const float4 _e453 = scores.e[score_at + 8u];
            const uint _e454 = first;
            const KeyRange _e460 = visible;
            const float4 c = masked_scores(_e453, (_e454 + (quarter_1 * 4u)) + 32u, _e460, &params);
            const float4 _e466 = scores.e[score_at + 12u];
            const uint _e467 = first;
            const KeyRange _e473 = visible;
            const float4 d = masked_scores(_e466, (_e467 + (quarter_1 * 4u)) + 48u, _e473, &params);
            const float _e475 = max_component(a);
            const float _e476 = max_component(b);
            const float _e478 = max_component(c);
            const float _e479 = max_component(d);
            tile_max = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e475, _e476), __builtin_elementwise_maxnum(_e478, _e479));
            const float _e483 = tile_max;
            const float _e484 = tile_max;
            const float _e486 = roci_subgroup_shuffle_xor_f32(_e484, 1u);
            tile_max = __builtin_elementwise_maxnum(_e483, _e486);
            const float _e488 = tile_max;
            const float _e489 = tile_max;
            const float _e491 = roci_subgroup_shuffle_xor_f32(_e489, 2u);
            tile_max = __builtin_elementwise_maxnum(_e488, _e491);
            const float _e493 = tile_max;
            const float _e494 = row_max;
            if (_e493 > (_e494 + 10.0f)) {
                const float _e498 = row_max;
                const float _e499 = tile_max;
                const float scale = __builtin_elementwise_exp(_e498 - _e499);
                const float _e502 = weight_sum;
                weight_sum = _e502 * scale;
                rescale.e[row_3] = scale;
                const float _e506 = row_max;
                if (_e506 > (-3e38f)) {
                    needs_rescale.e[0] = 1u;
                }
                const float _e512 = tile_max;
                row_max = _e512;
            } else {
                rescale.e[row_3] = 1.0f;
            }
            const float _e516 = row_max;
            const float4 e = softmax_weights(a, _e516);
            const float _e518 = row_max;
            const float4 f = softmax_weights(b, _e518);
            const float _e520 = row_max;
            const float4 g = softmax_weights(c, _e520);
            const float _e522 = row_max;
            const float4 h = softmax_weights(d, _e522);
            const float _e524 = weight_sum;
            const float _e525 = sum_components(e);
            const float _e526 = sum_components(f);
            const float _e528 = sum_components(g);
            const float _e529 = sum_components(h);
            weight_sum = _e524 + ((_e525 + _e526) + (_e528 + _e529));
            weights.e[weight_at] = __builtin_convertvector(e, half4);
            weights.e[weight_at + 4u] = __builtin_convertvector(f, half4);
            weights.e[weight_at + 8u] = __builtin_convertvector(g, half4);
            weights.e[weight_at + 12u] = __builtin_convertvector(h, half4);
            roci_barrier_workgroup();
            const uint _e553 = needs_rescale.e[0];
            roci_barrier_workgroup();
            if (_e553 != 0u) {
                const float8 _e556 = o0_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e556);
                const float8 _e560 = o1_;
                roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e560);
                roci_barrier_workgroup();
                i_1 = 0u;
                while (true) {
                    const uint _e568 = i_1;
                    if (!(_e568 < 16u)) {
                        break;
                    }
                    {
                        const uint _e572 = i_1;
                        const float4 _e575 = scores.e[score_at + _e572];
                        const float _e578 = rescale.e[row_3];
                        scores.e[score_at + _e572] = _e575 * _e578;
                    }
                    const uint _e580 = i_1;
                    i_1 = _e580 + 4u;
                }
                roci_barrier_workgroup();
                const float8 _e586 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u);
                o0_ = _e586;
                const float8 _e592 = roci_wmma_load_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u);
                o1_ = _e592;
            }
            if (lane == 0u) {
                needs_rescale.e[0] = 0u;
            }
            if (lane < 64u) {
                const uint _e601 = slot;
                const uint _e604 = first;
                const uint _e610 = cache_row_of(__builtin_elementwise_min((_e604 + 128u) + lane, last_position), table_1, group.y, &params, inputs);
                cache_rows.e[_e601 + lane] = _e610;
            }
            const uint _e612 = slot;
            slot = 64u - _e612;
            const half16 p0_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 0u], 18u * 4u);
            const half16 p1_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 4u], 18u * 4u);
            const half16 p2_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 8u], 18u * 4u);
            const half16 p3_ = roci_wmma_load_a_f16_local_rows((local half *)&weights.e[(tile_row * 18u) + 12u], 18u * 4u);
            const half16 _e653 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 0u) + 0u], 34u * 4u);
            const float8 _e654 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p0_, _e653, _e654);
            const half16 _e663 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 544u) + 0u], 34u * 4u);
            const float8 _e664 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p1_, _e663, _e664);
            const half16 _e673 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1088u) + 0u], 34u * 4u);
            const float8 _e674 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p2_, _e673, _e674);
            const half16 _e683 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1632u) + 0u], 34u * 4u);
            const float8 _e684 = o0_;
            o0_ = roci_wmma_multiply_add_f32(p3_, _e683, _e684);
            const half16 _e693 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 0u) + 4u], 34u * 4u);
            const float8 _e694 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p0_, _e693, _e694);
            const half16 _e703 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 544u) + 4u], 34u * 4u);
            const float8 _e704 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p1_, _e703, _e704);
            const half16 _e713 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1088u) + 4u], 34u * 4u);
            const float8 _e714 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p2_, _e713, _e714);
            const half16 _e723 = roci_wmma_load_b_f16_local_rows((local half *)&tile.e[(v_start + 1632u) + 4u], 34u * 4u);
            const float8 _e724 = o1_;
            o1_ = roci_wmma_multiply_add_f32(p3_, _e723, _e724);
            roci_barrier_workgroup();
        }
        const uint _e726 = first;
        first = _e726 + 64u;
    }
    const float _e729 = weight_sum;
    const float _e730 = weight_sum;
    const float _e732 = roci_subgroup_shuffle_xor_f32(_e730, 1u);
    weight_sum = _e729 + _e732;
    const float _e734 = weight_sum;
    const float _e735 = weight_sum;
    const float _e737 = roci_subgroup_shuffle_xor_f32(_e735, 2u);
    weight_sum = _e734 + _e737;
    const uint head_1 = (group.y * gqa_ratio) + roci_mod_u32(first_row + row_3, gqa_ratio);
    const uint _e746 = params.y_stride;
    const uint at_4 = (row_token * _e746) + (head_1 * 64u);
    const float8 _e751 = o0_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start], 20u * 4u, _e751);
    const float8 _e755 = o1_;
    roci_wmma_store_c_f32_local_rows((local float *)&scores.e[score_start + 4u], 20u * 4u, _e755);
    roci_barrier_workgroup();
    if (row_3 < rows) {
        const float _e763 = weight_sum;
        store_output(0u, row_3, at_4, _e763, quarter_1, &params, y, &scores);
    }
}
