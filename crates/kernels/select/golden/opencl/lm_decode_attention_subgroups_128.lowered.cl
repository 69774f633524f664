// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint tokens;
    uint heads;
    uint kv_heads;
    uint key_length;
    uint value_length;
    uint pairs;
    uint flags;
    uint stride;
    uint y_stride;
    uint page;
    uint splits;
    float scale;
    float soft_cap;
    uint window;
    float epsilon;
    float temperature_scale;
    uint temperature_interval;
    uint temperature_offset;
    uint chunk;
    uint parts;
    uint packed;
} Params;
typedef struct { float4 e[512]; } array512_float4_;
typedef struct { float4 e[4]; } array4_float4_;
typedef struct {
    float4 low;
    float4 high;
} Vec8_;
typedef struct {
    Vec8_ a;
    Vec8_ b;
    Vec8_ c;
    Vec8_ d;
} Heads;
typedef struct {
    uint4 a;
    uint4 b;
    uint4 c;
    uint4 d;
} KvTile;
typedef struct {
    Heads sums;
    float4 maxima;
    float4 totals;
} Merged;

typedef struct {
    local uint *scratch; // a word for each work-item
    uint index;          // of the work-item in its work-group
    uint count;          // of work-items in the work-group
} roci_subgroup;
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)
ROCI_FN local float *roci_subgroup_put_f32(private const roci_subgroup *sg, float a) {
    local float *scratch = (local float *)sg->scratch;
    scratch[sg->index] = a;
    roci_barrier_workgroup();
    return scratch;
}
ROCI_FN uint roci_subgroup_lane(private const roci_subgroup *sg) {
    return sg->index % ROCI_SUBGROUP_SIZE;
}
ROCI_FN float roci_subgroup_shuffle_f32(private const roci_subgroup *sg, float a, uint lane) {
    local float *scratch = roci_subgroup_put_f32(sg, a);
    const uint from = sg->index - roci_subgroup_lane(sg) + lane;
    const float result = lane < ROCI_SUBGROUP_SIZE && from < sg->count ? scratch[from] : a;
    roci_barrier_workgroup();
    return result;
}
ROCI_FN float roci_subgroup_shuffle_xor_f32(private const roci_subgroup *sg, float a, uint mask) {
    return roci_subgroup_shuffle_f32(sg, a, roci_subgroup_lane(sg) ^ mask);
}
ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN ushort roci_narrow_f16(float a) {
    ushort bits;
    vstore_half_rte(a, 0, (private half *)&bits);
    return bits;
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
ROCI_FN float4 roci_subgroup_shuffle_xor_f32x4(private const roci_subgroup * a, float4 b, uint c) {
    return (float4)(roci_subgroup_shuffle_xor_f32(a, b.x, c), roci_subgroup_shuffle_xor_f32(a, b.y, c), roci_subgroup_shuffle_xor_f32(a, b.z, c), roci_subgroup_shuffle_xor_f32(a, b.w, c));
}
ROCI_FN float2 roci_subgroup_shuffle_xor_f32x2(private const roci_subgroup * a, float2 b, uint c) {
    return (float2)(roci_subgroup_shuffle_xor_f32(a, b.x, c), roci_subgroup_shuffle_xor_f32(a, b.y, c));
}
ROCI_FN float roci_component_of_float4(float4 v, uint i) {
    return i == 0u ? v.x : i == 1u ? v.y : i == 2u ? v.z : v.w;
}

ROCI_FN float load_one(uint at_1, private const Params *params, global const float *qkv) {
    float sum = 0.0f;
    uint part = 1u;
    const float _e3 = qkv[at_1];
    sum = _e3;
    while (true) {
        const uint _e7 = part;
        const uint _e10 = (*params).parts;
        if (!(_e7 < _e10)) {
            break;
        }
        {
            const float _e12 = sum;
            const uint _e14 = part;
            const uint _e17 = (*params).stride;
            const float _e21 = qkv[at_1 + (_e14 * _e17)];
            sum = _e12 + _e21;
        }
        const uint _e23 = part;
        part = _e23 + 1u;
    }
    const float _e26 = sum;
    return _e26;
}

ROCI_FN float4 load_four(uint at_2, private const Params *params, global const float *qkv) {
    const float _e1 = load_one(at_2, params, qkv);
    const float _e4 = load_one(at_2 + 1u, params, qkv);
    const float _e7 = load_one(at_2 + 2u, params, qkv);
    const float _e10 = load_one(at_2 + 3u, params, qkv);
    return (float4)(_e1, _e4, _e7, _e10);
}

ROCI_FN Vec8_ unpack_eight(uint4 words) {
    const float4 low = (float4)(roci_unpack2x16float(words.x), roci_unpack2x16float(words.y));
    return (Vec8_){.low = low, .high = ((float4)(roci_unpack2x16float(words.z), roci_unpack2x16float(words.w)))};
}

ROCI_FN uint4 pack_eight(Vec8_ v_2) {
    const uint2 low_1 = (uint2)(roci_pack2x16float(v_2.low.xy), roci_pack2x16float(v_2.low.zw));
    return (uint4)(low_1, (uint2)(roci_pack2x16float(v_2.high.xy), roci_pack2x16float(v_2.high.zw)));
}

ROCI_FN uint cache_row_of(uint block_1, uint table, uint kv_head, private const Params *params, global const uint *inputs) {
    const uint position_1 = block_1 * 4u;
    const uint _e8 = (*params).page;
    const uint page = inputs[table + roci_div_u32(position_1, _e8)];
    const uint _e15 = (*params).page;
    const uint _e19 = (*params).page;
    const uint _e24 = (*params).kv_heads;
    return (((page * _e15) + roci_mod_u32(position_1, _e19)) * _e24) + kv_head;
}

ROCI_FN uint4 offsets_of(uint row, uint block_2, uint last, uint chunk, private const Params *params) {
    const uint4 within = min((uint4)(0u, 1u, 2u, 3u), (uint4)((last - min(block_2 * 4u, last))));
    const uint _e18 = (*params).kv_heads;
    return ((((uint4)(row)) + (within * ((uint4)(_e18)))) * ((uint4)(16u))) + ((uint4)(chunk));
}

ROCI_FN KvTile load_keys(uint4 at_3, global uint4 *keys) {
    const uint4 _e4 = keys[at_3.x];
    const uint4 _e8 = keys[at_3.y];
    const uint4 _e12 = keys[at_3.z];
    const uint4 _e16 = keys[at_3.w];
    return (KvTile){.a = _e4, .b = _e8, .c = _e12, .d = _e16};
}

ROCI_FN KvTile load_values(uint4 at_4, global uint4 *values) {
    const uint4 _e4 = values[at_4.x];
    const uint4 _e8 = values[at_4.y];
    const uint4 _e12 = values[at_4.z];
    const uint4 _e16 = values[at_4.w];
    return (KvTile){.a = _e4, .b = _e8, .c = _e12, .d = _e16};
}

ROCI_FN float dot_eight(Vec8_ a, Vec8_ b) {
    return roci_dot_float4(a.low, b.low) + roci_dot_float4(a.high, b.high);
}

ROCI_FN float4 partial_dots(Vec8_ v_3, Heads queries) {
    const float _e3 = dot_eight(v_3, queries.a);
    const float _e5 = dot_eight(v_3, queries.b);
    const float _e7 = dot_eight(v_3, queries.c);
    const float _e9 = dot_eight(v_3, queries.d);
    return (float4)(_e3, _e5, _e7, _e9);
}

ROCI_FN uint rotary_position(uint position, uint token, uint pair_1, private const Params *params, global const uint *inputs) {
    const uint _e5 = (*params).flags;
    const uint offset = _e5 >> 16u;
    if (offset == 0u) {
        return position;
    }
    const uint _e13 = (*params).pairs;
    const uint _e18 = inputs[offset + pair_1];
    const uint _e21 = (*params).tokens;
    const uint _e26 = inputs[((offset + _e13) + (_e18 * _e21)) + token];
    return _e26;
}

ROCI_FN float sum_sixteen(float v_4, private const roci_subgroup *roci_sg) {
    float sum_1 = 0.0f;
    const float _e2 = roci_subgroup_shuffle_xor_f32(roci_sg, v_4, 1u);
    sum_1 = v_4 + _e2;
    const float _e5 = sum_1;
    const float _e6 = sum_1;
    const float _e8 = roci_subgroup_shuffle_xor_f32(roci_sg, _e6, 2u);
    sum_1 = _e5 + _e8;
    const float _e10 = sum_1;
    const float _e11 = sum_1;
    const float _e13 = roci_subgroup_shuffle_xor_f32(roci_sg, _e11, 4u);
    sum_1 = _e10 + _e13;
    const float _e15 = sum_1;
    const float _e16 = sum_1;
    const float _e18 = roci_subgroup_shuffle_xor_f32(roci_sg, _e16, 8u);
    return _e15 + _e18;
}

ROCI_FN float4 sum_team(float4 v_5, private const roci_subgroup *roci_sg) {
    float4 sum_2 = (float4)(0.0f);
    const float4 _e2 = roci_subgroup_shuffle_xor_f32x4(roci_sg, v_5, 1u);
    sum_2 = v_5 + _e2;
    const float4 _e5 = sum_2;
    const float4 _e6 = sum_2;
    const float4 _e8 = roci_subgroup_shuffle_xor_f32x4(roci_sg, _e6, 2u);
    sum_2 = _e5 + _e8;
    const float4 _e10 = sum_2;
    const float4 _e11 = sum_2;
    const float4 _e13 = roci_subgroup_shuffle_xor_f32x4(roci_sg, _e11, 4u);
    sum_2 = _e10 + _e13;
    const float4 _e15 = sum_2;
    const float4 _e16 = sum_2;
    const float4 _e18 = roci_subgroup_shuffle_xor_f32x4(roci_sg, _e16, 8u);
    sum_2 = _e15 + _e18;
    const float4 _e20 = sum_2;
    return _e20;
}

ROCI_FN float2 sum_scores(float4 a_1, float4 b_1, float4 c_3, float4 d, uint chunk_1, private const roci_subgroup *roci_sg) {
    float4 first = (float4)(0.0f);
    float4 second = (float4)(0.0f);
    const bool upper = (chunk_1 & 8u) != 0u;
    const float4 _e11 = roci_subgroup_shuffle_xor_f32x4(roci_sg, upper ? a_1 : c_3, 8u);
    first = (upper ? c_3 : a_1) + _e11;
    const float4 _e16 = roci_subgroup_shuffle_xor_f32x4(roci_sg, upper ? b_1 : d, 8u);
    second = (upper ? d : b_1) + _e16;
    const bool odd = (chunk_1 & 4u) != 0u;
    const float4 _e23 = first;
    const float4 _e24 = second;
    const float4 _e26 = second;
    const float4 _e27 = first;
    const float4 _e30 = roci_subgroup_shuffle_xor_f32x4(roci_sg, odd ? _e27 : _e26, 4u);
    first = (odd ? _e24 : _e23) + _e30;
    const bool last_two = (chunk_1 & 2u) != 0u;
    const bool is_odd = (chunk_1 & 1u) != 0u;
    const float4 _e40 = first;
    const float4 _e42 = first;
    const float4 _e45 = first;
    const float4 _e47 = first;
    const float2 _e51 = roci_subgroup_shuffle_xor_f32x2(roci_sg, last_two ? _e47.xy : _e45.zw, 2u);
    const float2 pair_2 = (last_two ? _e42.zw : _e40.xy) + _e51;
    const float _e60 = roci_subgroup_shuffle_xor_f32(roci_sg, is_odd ? pair_2.x : pair_2.y, 1u);
    const float score_1 = (is_odd ? pair_2.y : pair_2.x) + _e60;
    return (float2)(score_1, -3e38f);
}

ROCI_FN float soft_capped(float score, private const Params *params) {
    const float _e3 = (*params).soft_cap;
    if (_e3 > 0.0f) {
        const float _e8 = (*params).soft_cap;
        const float _e11 = (*params).soft_cap;
        return _e8 * tanh(fmin(fmax(score / _e11, -15.0f), 15.0f));
    }
    return score;
}

ROCI_FN float4 of_heads(float v_6, uint first_1, private const roci_subgroup *roci_sg) {
    const float _e2 = roci_subgroup_shuffle_f32(roci_sg, v_6, first_1);
    const float _e5 = roci_subgroup_shuffle_f32(roci_sg, v_6, first_1 + 1u);
    const float _e8 = roci_subgroup_shuffle_f32(roci_sg, v_6, first_1 + 2u);
    const float _e11 = roci_subgroup_shuffle_f32(roci_sg, v_6, first_1 + 3u);
    return (float4)(_e2, _e5, _e8, _e11);
}

ROCI_FN Vec8_ add_eight(Vec8_ sum_3, float weight, Vec8_ v_7) {
    return (Vec8_){.low = (sum_3.low + (weight * v_7.low)), .high = (sum_3.high + (weight * v_7.high))};
}

ROCI_FN Heads add_value(Heads sums_1, float4 weights, uint4 words_1) {
    const Vec8_ v_10 = unpack_eight(words_1);
    const Vec8_ _e6 = add_eight(sums_1.a, weights.x, v_10);
    const Vec8_ _e9 = add_eight(sums_1.b, weights.y, v_10);
    const Vec8_ _e12 = add_eight(sums_1.c, weights.z, v_10);
    const Vec8_ _e15 = add_eight(sums_1.d, weights.w, v_10);
    return (Heads){.a = _e6, .b = _e9, .c = _e12, .d = _e15};
}

ROCI_FN Vec8_ scaled(Vec8_ v_8, float factor) {
    return (Vec8_){.low = (v_8.low * factor), .high = (v_8.high * factor)};
}

ROCI_FN Heads scaled_heads(Heads sums_2, float4 factors) {
    const Vec8_ _e4 = scaled(sums_2.a, factors.x);
    const Vec8_ _e7 = scaled(sums_2.b, factors.y);
    const Vec8_ _e10 = scaled(sums_2.c, factors.z);
    const Vec8_ _e13 = scaled(sums_2.d, factors.w);
    return (Heads){.a = _e4, .b = _e7, .c = _e10, .d = _e13};
}

ROCI_FN Vec8_ sum_across(Vec8_ v_9, uint mask, private const roci_subgroup *roci_sg) {
    const float4 _e4 = roci_subgroup_shuffle_xor_f32x4(roci_sg, v_9.low, mask);
    const float4 _e8 = roci_subgroup_shuffle_xor_f32x4(roci_sg, v_9.high, mask);
    return (Vec8_){.low = (v_9.low + _e4), .high = (v_9.high + _e8)};
}

ROCI_FN Merged merged(Merged own, uint mask_1, private const roci_subgroup *roci_sg) {
    const float4 _e4 = roci_subgroup_shuffle_xor_f32x4(roci_sg, own.maxima, mask_1);
    const float4 maxima = fmax(own.maxima, _e4);
    const float4 factors_1 = exp(own.maxima - maxima);
    const Heads sums_3 = scaled_heads(own.sums, factors_1);
    const float4 totals_1 = own.totals * factors_1;
    const Vec8_ _e14 = sum_across(sums_3.a, mask_1, roci_sg);
    const Vec8_ _e16 = sum_across(sums_3.b, mask_1, roci_sg);
    const Vec8_ _e18 = sum_across(sums_3.c, mask_1, roci_sg);
    const Vec8_ _e20 = sum_across(sums_3.d, mask_1, roci_sg);
    const Heads all_1 = (Heads){.a = _e14, .b = _e16, .c = _e18, .d = _e20};
    const float4 _e22 = roci_subgroup_shuffle_xor_f32x4(roci_sg, totals_1, mask_1);
    return (Merged){.sums = all_1, .maxima = maxima, .totals = (totals_1 + _e22)};
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_decode_attention_subgroups_128(global const uint *inputs, global const float *norms, global const float2 *rotations, global const float *qkv, global uint4 *keys, global uint4 *values, global float *y, Params params) {
    local array512_float4_ rotated;
    local array4_float4_ subgroup_maxima;
    local array4_float4_ subgroup_totals;
    local uint roci_sg_scratch[128];
    const roci_subgroup roci_sg_value = {(local uint *)roci_sg_scratch, (uint)get_local_id(0), 128u};
    private const roci_subgroup *const roci_sg = &roci_sg_value;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    uint begin = 0u;
    bool local_ = false;
    bool local_1 = false;
    bool local_2 = false;
    uint block = 0u;
    uint4 at = (uint4)(0u);
    KvTile next_keys = {0};
    KvTile next_values = {0};
    uint next_row = 0u;
    Vec8_ new_value = (Vec8_){0};
    bool local_3 = false;
    bool local_4 = false;
    float mean = 0.0f;
    uint c = 0u;
    float norm_scale = 1.0f;
    float squares = 0.0f;
    uint c_1 = 0u;
    float squares_1 = 0.0f;
    uint c_2 = 0u;
    float query_scale = 0.0f;
    uint pair = 0u;
    uint i0_ = 0u;
    uint i1_ = 0u;
    bool local_5 = false;
    float2 v = (float2)(0.0f);
    float2 norm_weights = (float2)(0.0f);
    uint weights_at = 0u;
    bool local_6 = false;
    bool local_7 = false;
    float maximum = (-3e38f);
    float total = 0.0f;
    Heads sums = (Heads){0};
    bool local_8 = false;
    bool local_9 = false;
    bool local_10 = false;
    bool local_11 = false;
    uint step_ = 0u;
    float new_maximum = 0.0f;
    float2 scores = (float2)(0.0f);
    bool local_12 = false;
    bool local_13 = false;
    bool local_14 = false;
    Merged all_ = {0};
    float4 totals = (float4)(0.0f);
    uint i = 0u;
    float4 v_1 = (float4)(0.0f);
    uint to = 0u;
    uint i_1 = 0u;
    const uint token_1 = group.x;
    const uint _e5 = params.heads;
    const uint _e8 = params.kv_heads;
    const uint gqa_ratio = roci_div_u32(_e5, _e8);
    const uint groups = ((gqa_ratio + 4u) - 1u) / 4u;
    const uint kv_head_1 = roci_div_u32(group.y, groups);
    const uint first_head = (kv_head_1 * gqa_ratio) + (roci_mod_u32(group.y, groups) * 4u);
    const uint heads = min(gqa_ratio - (roci_mod_u32(group.y, groups) * 4u), 4u);
    const uint position_2 = inputs[token_1];
    const uint _e37 = params.tokens;
    const uint table_1 = inputs[_e37 + token_1];
    const uint team = lane / 16u;
    const uint chunk_2 = lane % 16u;
    const uint _e49 = params.window;
    if (_e49 != 0u) {
        const uint _e58 = params.window;
        local_ = (position_2 + 1u) > _e58;
    } else {
        local_ = false;
    }
    const bool _e61 = local_;
    if (_e61) {
        const uint _e66 = params.window;
        begin = (position_2 + 1u) - _e66;
    }
    const uint _e70 = params.chunk;
    if (_e70 != 0u) {
        const uint _e73 = begin;
        const uint _e76 = params.chunk;
        const uint _e82 = params.chunk;
        begin = max(_e73, roci_div_u32(position_2, max(_e76, 1u)) * _e82);
    }
    const uint _e87 = begin;
    const uint visible = (position_2 + 1u) - _e87;
    const uint _e91 = params.splits;
    const uint _e99 = params.splits;
    const uint keys_per_split = roci_div_u32((visible + (_e91 * 64u)) - 1u, _e99 * 64u) * 64u;
    const uint _e105 = begin;
    const uint start = _e105 + min(group.z * keys_per_split, visible);
    const uint _e111 = begin;
    const uint visible_end = min(start + keys_per_split, _e111 + visible);
    const uint _e116 = params.flags;
    const bool is_shared = (_e116 & 128u) != 0u;
    if (visible_end == (position_2 + 1u)) {
        local_1 = start < visible_end;
    } else {
        local_1 = false;
    }
    const bool _e128 = local_1;
    if (_e128) {
        local_2 = !is_shared;
    } else {
        local_2 = false;
    }
    const bool has_new_key = local_2;
    const uint end = has_new_key ? (visible_end - 1u) : visible_end;
    const uint last_1 = max(end, 1u) - 1u;
    const uint last_block = last_1 / 4u;
    const uint first_block = start / 4u;
    const uint steps = (start < end) ? (((last_block - min(first_block, last_block)) / 8u) + 1u) : 0u;
    block = min(first_block + team, last_block);
    const uint _e156 = block;
    const uint _e157 = cache_row_of(_e156, table_1, kv_head_1, &params, inputs);
    const uint _e158 = block;
    const uint4 _e159 = offsets_of(_e157, _e158, last_1, chunk_2, &params);
    at = _e159;
    const uint4 _e161 = at;
    const KvTile _e162 = load_keys(_e161, keys);
    next_keys = _e162;
    const uint4 _e164 = at;
    const KvTile _e165 = load_values(_e164, values);
    next_values = _e165;
    const uint _e170 = cache_row_of(min((first_block + team) + 8u, last_block), table_1, kv_head_1, &params, inputs);
    next_row = _e170;
    const uint _e174 = params.parts;
    const uint _e178 = params.stride;
    const uint base = (token_1 * _e174) * _e178;
    const uint _e182 = params.heads;
    const uint _e185 = params.kv_heads;
    const uint values_start = ((_e182 + _e185) * 128u) + (kv_head_1 * 128u);
    const uint value_start = base + (is_shared ? 0u : values_start);
    if (has_new_key) {
        const float4 _e200 = load_four(value_start + (chunk_2 * 8u), &params, qkv);
        const float4 _e206 = load_four((value_start + (chunk_2 * 8u)) + 4u, &params, qkv);
        new_value = (Vec8_){.low = _e200, .high = _e206};
    }
    const uint own_1 = min(lane / 16u, 4u);
    const uint own_lane = lane % 16u;
    const bool is_key = own_1 == 4u;
    const uint query_head = first_head + min(own_1, heads - 1u);
    const uint _e222 = params.heads;
    if (is_key) {
        local_3 = !is_shared;
    } else {
        local_3 = false;
    }
    const bool _e228 = local_3;
    const uint source = base + ((_e228 ? (_e222 + kv_head_1) : query_head) * 128u);
    const uint _e235 = params.flags;
    const bool is_normed = (_e235 & 1u) != 0u;
    if (is_normed) {
        const uint _e244 = params.flags;
        local_4 = (_e244 & 32u) != 0u;
    } else {
        local_4 = false;
    }
    const bool is_centered = local_4;
    const uint _e253 = params.flags;
    const bool is_after = (_e253 & 4u) != 0u;
    if (is_centered) {
        c = own_lane;
        while (true) {
            const uint _e261 = c;
            if (!(_e261 < 128u)) {
                break;
            }
            {
                const float _e264 = mean;
                const uint _e265 = c;
                const float _e267 = load_one(source + _e265, &params, qkv);
                mean = _e264 + _e267;
            }
            const uint _e269 = c;
            c = _e269 + 16u;
        }
        const float _e272 = mean;
        const float _e273 = sum_sixteen(_e272, roci_sg);
        mean = _e273 / 128.0f;
    }
    if (is_normed) {
        c_1 = own_lane;
        while (true) {
            const uint _e281 = c_1;
            if (!(_e281 < 128u)) {
                break;
            }
            {
                const uint _e284 = c_1;
                const float _e286 = load_one(source + _e284, &params, qkv);
                const float _e287 = mean;
                const float centered = _e286 - _e287;
                const float _e289 = squares;
                squares = _e289 + (centered * centered);
            }
            const uint _e292 = c_1;
            c_1 = _e292 + 16u;
        }
        const float _e295 = squares;
        const float _e296 = sum_sixteen(_e295, roci_sg);
        const float _e301 = params.epsilon;
        norm_scale = 1.0f / sqrt((_e296 / 128.0f) + _e301);
    }
    const uint _e308 = params.flags;
    if ((_e308 & 64u) != 0u) {
        c_2 = own_lane;
        while (true) {
            const uint _e316 = c_2;
            if (!(_e316 < 128u)) {
                break;
            }
            {
                const uint _e319 = c_2;
                const float v_11 = load_one(value_start + _e319, &params, qkv);
                const float _e322 = squares_1;
                squares_1 = _e322 + (v_11 * v_11);
            }
            const uint _e325 = c_2;
            c_2 = _e325 + 16u;
        }
        const Vec8_ _e328 = new_value;
        const float _e329 = squares_1;
        const float _e330 = sum_sixteen(_e329, roci_sg);
        const float _e335 = params.epsilon;
        const Vec8_ _e340 = scaled(_e328, 1.0f / sqrt((_e330 / 128.0f) + _e335));
        new_value = _e340;
    }
    const float _e343 = params.scale;
    query_scale = _e343;
    const uint _e347 = params.temperature_interval;
    if (_e347 != 0u) {
        const uint _e352 = params.temperature_offset;
        const uint _e356 = params.temperature_interval;
        const uint position_steps = roci_div_u32(position_2 + _e352, max(_e356, 1u));
        const float _e360 = query_scale;
        const float _e363 = params.temperature_scale;
        query_scale = _e360 * (1.0f + (_e363 * log((float)(position_steps + 1u))));
    }
    if ((lane / 16u) <= 4u) {
        pair = own_lane;
        while (true) {
            const uint _e377 = pair;
            if (!(_e377 < 64u)) {
                break;
            }
            {
                const uint _e381 = pair;
                i0_ = 2u * _e381;
                const uint _e384 = i0_;
                i1_ = _e384 + 1u;
                const uint _e388 = pair;
                const uint _e391 = params.pairs;
                if (_e388 < _e391) {
                    const uint _e397 = params.flags;
                    local_5 = (_e397 & 2u) == 0u;
                } else {
                    local_5 = false;
                }
                const bool _e403 = local_5;
                if (_e403) {
                    const uint _e404 = pair;
                    i0_ = _e404;
                    const uint _e405 = pair;
                    const uint _e408 = params.pairs;
                    i1_ = _e405 + _e408;
                }
                const uint _e410 = i0_;
                const float _e412 = load_one(source + _e410, &params, qkv);
                const uint _e413 = i1_;
                const float _e415 = load_one(source + _e413, &params, qkv);
                v = (float2)(_e412, _e415);
                norm_weights = (float2)(1.0f);
                if (is_normed) {
                    weights_at = is_key ? 128u : 0u;
                    const uint _e427 = params.flags;
                    if ((_e427 & 16u) != 0u) {
                        weights_at = source - base;
                    }
                    const float2 _e433 = v;
                    const float _e434 = mean;
                    v = _e433 - ((float2)(_e434));
                    const float _e437 = norm_scale;
                    const uint _e439 = weights_at;
                    const uint _e440 = i0_;
                    const float _e443 = norms[_e439 + _e440];
                    const uint _e445 = weights_at;
                    const uint _e446 = i1_;
                    const float _e449 = norms[_e445 + _e446];
                    norm_weights = _e437 * ((float2)(_e443, _e449));
                }
                const float2 _e452 = v;
                const float2 _e453 = norm_weights;
                v = _e452 * (is_after ? ((float2)(1.0f)) : _e453);
                const uint _e458 = pair;
                const uint _e461 = params.pairs;
                if (_e458 < _e461) {
                    const uint _e464 = pair;
                    const uint _e465 = rotary_position(position_2, token_1, _e464, &params, inputs);
                    const uint _e468 = params.pairs;
                    const uint _e470 = pair;
                    const float2 rotation = rotations[(_e465 * _e468) + _e470];
                    const float _e475 = v.x;
                    const float _e479 = v.y;
                    const float _e484 = v.x;
                    const float _e488 = v.y;
                    v = (float2)((_e475 * rotation.x) - (_e479 * rotation.y), (_e484 * rotation.y) + (_e488 * rotation.x));
                }
                const float2 _e493 = v;
                const float2 _e496 = norm_weights;
                const float _e498 = query_scale;
                v = _e493 * ((is_after ? _e496 : ((float2)(1.0f))) * (is_key ? 1.0f : _e498));
                const uint to_1 = own_1 * 32u;
                const uint _e506 = i0_;
                const uint _e511 = i0_;
                const float _e516 = v.x;
                ((local float *)&rotated.e[to_1 + (_e506 / 4u)])[_e511 % 4u] = _e516;
                const uint _e518 = i1_;
                const uint _e523 = i1_;
                const float _e528 = v.y;
                ((local float *)&rotated.e[to_1 + (_e518 / 4u)])[_e523 % 4u] = _e528;
            }
            const uint _e529 = pair;
            pair = _e529 + 16u;
        }
    }
    roci_barrier_workgroup();
    const uint own_at = 2u * chunk_2;
    const float4 _e537 = rotated.e[own_at];
    const float4 _e542 = rotated.e[own_at + 1u];
    const float4 _e547 = rotated.e[32u + own_at];
    const float4 _e553 = rotated.e[(32u + own_at) + 1u];
    const float4 _e559 = rotated.e[64u + own_at];
    const float4 _e566 = rotated.e[(64u + own_at) + 1u];
    const float4 _e572 = rotated.e[96u + own_at];
    const float4 _e579 = rotated.e[(96u + own_at) + 1u];
    const Heads queries_1 = (Heads){.a = ((Vec8_){.low = _e537, .high = _e542}), .b = ((Vec8_){.low = _e547, .high = _e553}), .c = ((Vec8_){.low = _e559, .high = _e566}), .d = ((Vec8_){.low = _e572, .high = _e579})};
    const float4 _e586 = rotated.e[128u + own_at];
    const float4 _e593 = rotated.e[(128u + own_at) + 1u];
    const Vec8_ new_key = (Vec8_){.low = _e586, .high = _e593};
    if (has_new_key) {
        local_6 = roci_mod_u32(group.y, groups) == 0u;
    } else {
        local_6 = false;
    }
    const bool _e602 = local_6;
    if (_e602) {
        local_7 = team == 0u;
    } else {
        local_7 = false;
    }
    const bool _e608 = local_7;
    if (_e608) {
        const uint _e611 = cache_row_of(position_2 / 4u, table_1, kv_head_1, &params, inputs);
        const uint _e616 = params.kv_heads;
        const uint row_1 = _e611 + ((position_2 % 4u) * _e616);
        const uint4 _e624 = pack_eight(new_key);
        keys[(row_1 * 16u) + chunk_2] = _e624;
        const Vec8_ _e630 = new_value;
        const uint4 _e631 = pack_eight(_e630);
        values[(row_1 * 16u) + chunk_2] = _e631;
    }
    const uint team_start = (lane % 32u) - chunk_2;
    const uint head = chunk_2 % 4u;
    const uint own_key = chunk_2 / 4u;
    const uint _e647 = params.flags;
    if ((_e647 & 8u) != 0u) {
        local_8 = group.z == 0u;
    } else {
        local_8 = false;
    }
    const bool _e658 = local_8;
    if (_e658) {
        local_9 = team == 0u;
    } else {
        local_9 = false;
    }
    const bool _e664 = local_9;
    if (_e664) {
        const uint _e668 = params.heads;
        const uint _e671 = params.kv_heads;
        const uint _e675 = params.flags;
        const uint norm_rows = ((_e675 & 16u) != 0u) ? (_e668 + _e671) : 2u;
        const uint sinks_at = is_normed ? (norm_rows * 128u) : 0u;
        const float _e692 = norms[(sinks_at + first_head) + min(head, heads - 1u)];
        maximum = _e692;
        total = (own_key == 0u) ? 1.0f : 0.0f;
    }
    const float4 _e698 = partial_dots(new_key, queries_1);
    const float4 new_scores = sum_team(_e698, roci_sg);
    if (has_new_key) {
        local_10 = team == 0u;
    } else {
        local_10 = false;
    }
    const bool _e705 = local_10;
    if (_e705) {
        const float score_2 = soft_capped(roci_component_of_float4(new_scores, head), &params);
        const float _e708 = maximum;
        const float new_maximum_1 = fmax(_e708, score_2);
        const float _e710 = total;
        const float _e711 = maximum;
        total = (_e710 * exp(_e711 - new_maximum_1)) + ((own_key == 0u) ? exp(score_2 - new_maximum_1) : 0.0f);
        maximum = new_maximum_1;
    }
    const float _e722 = maximum;
    const float4 first_maxima = of_heads(_e722, team_start, roci_sg);
    if (has_new_key) {
        local_11 = team == 0u;
    } else {
        local_11 = false;
    }
    const bool _e729 = local_11;
    if (_e729) {
        const float _e731 = soft_capped(new_scores.x, &params);
        const float _e733 = soft_capped(new_scores.y, &params);
        const float _e735 = soft_capped(new_scores.z, &params);
        const float _e737 = soft_capped(new_scores.w, &params);
        const float4 capped = (float4)(_e731, _e733, _e735, _e737);
        const float4 weights_1 = exp(capped - first_maxima);
        const Vec8_ _e741 = new_value;
        const Vec8_ _e743 = scaled(_e741, weights_1.x);
        const Vec8_ _e744 = new_value;
        const Vec8_ _e746 = scaled(_e744, weights_1.y);
        const Vec8_ _e747 = new_value;
        const Vec8_ _e749 = scaled(_e747, weights_1.z);
        const Vec8_ _e750 = new_value;
        const Vec8_ _e752 = scaled(_e750, weights_1.w);
        sums = (Heads){.a = _e743, .b = _e746, .c = _e749, .d = _e752};
    }
    while (true) {
        const uint _e756 = step_;
        if (!(_e756 < steps)) {
            break;
        }
        {
            const KvTile current_keys = next_keys;
            const KvTile current_values = next_values;
            const uint _e761 = step_;
            const uint own_block = (first_block + team) + (_e761 * 8u);
            block = min(own_block + 8u, last_block);
            const uint _e766 = next_row;
            const uint _e767 = block;
            const uint4 _e768 = offsets_of(_e766, _e767, last_1, chunk_2, &params);
            at = _e768;
            const uint4 _e769 = at;
            const KvTile _e770 = load_keys(_e769, keys);
            next_keys = _e770;
            const uint4 _e771 = at;
            const KvTile _e772 = load_values(_e771, values);
            next_values = _e772;
            const uint _e776 = cache_row_of(min(own_block + 16u, last_block), table_1, kv_head_1, &params, inputs);
            next_row = _e776;
            const Vec8_ _e778 = unpack_eight(current_keys.a);
            const float4 _e779 = partial_dots(_e778, queries_1);
            const Vec8_ _e781 = unpack_eight(current_keys.b);
            const float4 _e782 = partial_dots(_e781, queries_1);
            const Vec8_ _e784 = unpack_eight(current_keys.c);
            const float4 _e785 = partial_dots(_e784, queries_1);
            const Vec8_ _e787 = unpack_eight(current_keys.d);
            const float4 _e788 = partial_dots(_e787, queries_1);
            const float2 parts = sum_scores(_e779, _e782, _e785, _e788, chunk_2, roci_sg);
            const float _e790 = maximum;
            new_maximum = _e790;
            scores = (float2)((-3e38f));
            const uint own_2 = (own_block * 4u) + own_key;
            const float _e800 = soft_capped(parts.x, &params);
            if (own_2 >= start) {
                local_12 = own_2 < end;
            } else {
                local_12 = false;
            }
            const bool _e806 = local_12;
            scores.x = _e806 ? _e800 : (-3e38f);
            const float _e809 = new_maximum;
            const float _e811 = scores.x;
            new_maximum = fmax(_e809, _e811);
            const float _e813 = new_maximum;
            const float _e814 = new_maximum;
            const float _e816 = roci_subgroup_shuffle_xor_f32(roci_sg, _e814, 8u);
            new_maximum = fmax(_e813, _e816);
            const float _e818 = new_maximum;
            const float _e819 = new_maximum;
            const float _e821 = roci_subgroup_shuffle_xor_f32(roci_sg, _e819, 4u);
            new_maximum = fmax(_e818, _e821);
            const float _e823 = maximum;
            const float _e824 = new_maximum;
            const float factor_1 = exp(_e823 - _e824);
            const float _e827 = new_maximum;
            maximum = _e827;
            const float2 _e829 = scores;
            const float _e830 = maximum;
            const float2 _e834 = scores;
            const float2 weights_2 = (_e834 > ((float2)((-3e38f)))) ? exp(_e829 - ((float2)(_e830))) : (float2)(0.0f);
            const float _e839 = total;
            total = (_e839 * factor_1) + (weights_2.x + weights_2.y);
            const Heads _e845 = sums;
            const float4 _e846 = of_heads(factor_1, team_start, roci_sg);
            const Heads _e847 = scaled_heads(_e845, _e846);
            sums = _e847;
            const Heads _e848 = sums;
            const float4 _e850 = of_heads(weights_2.x, team_start, roci_sg);
            const Heads _e852 = add_value(_e848, _e850, current_values.a);
            sums = _e852;
            const Heads _e853 = sums;
            const float4 _e857 = of_heads(weights_2.x, team_start + 4u, roci_sg);
            const Heads _e859 = add_value(_e853, _e857, current_values.b);
            sums = _e859;
            const Heads _e860 = sums;
            const float4 _e864 = of_heads(weights_2.x, team_start + 8u, roci_sg);
            const Heads _e866 = add_value(_e860, _e864, current_values.c);
            sums = _e866;
            const Heads _e867 = sums;
            const float4 _e871 = of_heads(weights_2.x, team_start + 12u, roci_sg);
            const Heads _e873 = add_value(_e867, _e871, current_values.d);
            sums = _e873;
        }
        const uint _e874 = step_;
        step_ = _e874 + 1u;
    }
    const float _e877 = total;
    const float _e878 = total;
    const float _e880 = roci_subgroup_shuffle_xor_f32(roci_sg, _e878, 4u);
    total = _e877 + _e880;
    const float _e882 = total;
    const float _e883 = total;
    const float _e885 = roci_subgroup_shuffle_xor_f32(roci_sg, _e883, 8u);
    total = _e882 + _e885;
    const Heads _e887 = sums;
    const float _e888 = maximum;
    const float4 _e889 = of_heads(_e888, team_start, roci_sg);
    const float _e890 = total;
    const float4 _e891 = of_heads(_e890, team_start, roci_sg);
    all_ = (Merged){.sums = _e887, .maxima = _e889, .totals = _e891};
    const Merged _e894 = all_;
    const Merged _e896 = merged(_e894, 16u, roci_sg);
    all_ = _e896;
    const uint subgroup = lane / 32u;
    if ((lane % 32u) == 0u) {
        const float4 _e906 = all_.maxima;
        subgroup_maxima.e[subgroup] = _e906;
        const float4 _e910 = all_.totals;
        subgroup_totals.e[subgroup] = _e910;
    }
    roci_barrier_workgroup();
    const float4 _e913 = subgroup_maxima.e[0];
    const float4 _e916 = subgroup_maxima.e[1];
    const float4 _e920 = subgroup_maxima.e[2];
    const float4 _e923 = subgroup_maxima.e[3];
    const float4 maxima_1 = fmax(fmax(_e913, _e916), fmax(_e920, _e923));
    const float4 _e927 = all_.maxima;
    const float4 factors_2 = exp(_e927 - maxima_1);
    if ((lane % 32u) < 16u) {
        const uint to_2 = ((subgroup * 4u) * 32u) + own_at;
        const float4 _e942 = all_.sums.a.low;
        rotated.e[to_2] = _e942 * factors_2.x;
        const float4 _e952 = all_.sums.a.high;
        rotated.e[to_2 + 1u] = _e952 * factors_2.x;
        const float4 _e961 = all_.sums.b.low;
        rotated.e[to_2 + 32u] = _e961 * factors_2.y;
        const float4 _e972 = all_.sums.b.high;
        rotated.e[(to_2 + 32u) + 1u] = _e972 * factors_2.y;
        const float4 _e982 = all_.sums.c.low;
        rotated.e[to_2 + 64u] = _e982 * factors_2.z;
        const float4 _e994 = all_.sums.c.high;
        rotated.e[(to_2 + 64u) + 1u] = _e994 * factors_2.z;
        const float4 _e1004 = all_.sums.d.low;
        rotated.e[to_2 + 96u] = _e1004 * factors_2.w;
        const float4 _e1016 = all_.sums.d.high;
        rotated.e[(to_2 + 96u) + 1u] = _e1016 * factors_2.w;
    }
    while (true) {
        const uint _e1023 = i;
        if (!(_e1023 < 4u)) {
            break;
        }
        {
            const float4 _e1026 = totals;
            const uint _e1028 = i;
            const float4 _e1030 = subgroup_totals.e[_e1028];
            const uint _e1032 = i;
            const float4 _e1034 = subgroup_maxima.e[_e1032];
            totals = _e1026 + (_e1030 * exp(_e1034 - maxima_1));
        }
        const uint _e1039 = i;
        i = _e1039 + 1u;
    }
    roci_barrier_workgroup();
    const uint out_head = lane / 32u;
    const uint column = lane % 32u;
    if (out_head >= heads) {
        return;
    }
    const uint source_at = (out_head * 32u) + column;
    const float4 _e1049 = rotated.e[source_at];
    const float4 _e1054 = rotated.e[source_at + 128u];
    const float4 _e1060 = rotated.e[source_at + 256u];
    const float4 _e1065 = rotated.e[source_at + 384u];
    v_1 = (_e1049 + _e1054) + (_e1060 + _e1065);
    const uint _e1071 = params.y_stride;
    to = (token_1 * _e1071) + ((first_head + out_head) * 128u);
    const uint _e1080 = params.splits;
    if (_e1080 == 1u) {
        const float4 _e1083 = v_1;
        const float _e1085 = ((private float *)&totals)[out_head];
        v_1 = _e1083 / ((float4)(_e1085));
        const uint _e1090 = params.packed;
        if (_e1090 != 0u) {
            const float4 _e1093 = v_1;
            v_1 = fmin(fmax(_e1093, (float4)((-65504.0f))), (float4)(65504.0f));
            const uint _e1100 = to;
            const float4 _e1107 = v_1;
            y[(_e1100 / 2u) + (column * 2u)] = as_float(roci_pack2x16float(_e1107.xy));
            const uint _e1112 = to;
            const float4 _e1121 = v_1;
            y[((_e1112 / 2u) + (column * 2u)) + 1u] = as_float(roci_pack2x16float(_e1121.zw));
            return;
        }
    } else {
        const uint _e1127 = params.heads;
        const uint _e1133 = params.splits;
        to = (((((token_1 * _e1127) + first_head) + out_head) * _e1133) + group.z) * 130u;
        if (column == 0u) {
            const uint _e1142 = to;
            y[_e1142 + 128u] = roci_component_of_float4(maxima_1, out_head);
            const uint _e1148 = to;
            const float _e1155 = ((private float *)&totals)[out_head];
            y[(_e1148 + 128u) + 1u] = _e1155;
        }
    }
    while (true) {
        const uint _e1158 = i_1;
        if (!(_e1158 < 4u)) {
            break;
        }
        {
            const uint _e1162 = to;
            const uint _e1166 = i_1;
            const uint _e1169 = i_1;
            const float _e1171 = ((private float *)&v_1)[_e1169];
            y[(_e1162 + (column * 4u)) + _e1166] = _e1171;
        }
        const uint _e1172 = i_1;
        i_1 = _e1172 + 1u;
    }
}
