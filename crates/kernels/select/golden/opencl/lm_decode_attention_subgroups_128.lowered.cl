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
    float sink = 0.0f;
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
    const uint team_start = (lane % 32u) - chunk_2;
    const uint head = chunk_2 % 4u;
    const uint own_key = chunk_2 / 4u;
    const uint _e56 = params.flags;
    if ((_e56 & 8u) != 0u) {
        const uint _e64 = params.heads;
        const uint _e67 = params.kv_heads;
        const uint _e71 = params.flags;
        const uint norm_rows = ((_e71 & 16u) != 0u) ? (_e64 + _e67) : 2u;
        const uint _e82 = params.flags;
        const uint sinks_at = ((_e82 & 1u) != 0u) ? (norm_rows * 128u) : 0u;
        const float _e95 = norms[(sinks_at + first_head) + min(head, heads - 1u)];
        sink = _e95;
    }
    const uint _e100 = params.window;
    if (_e100 != 0u) {
        const uint _e109 = params.window;
        local_ = (position_2 + 1u) > _e109;
    } else {
        local_ = false;
    }
    const bool _e112 = local_;
    if (_e112) {
        const uint _e117 = params.window;
        begin = (position_2 + 1u) - _e117;
    }
    const uint _e121 = params.chunk;
    if (_e121 != 0u) {
        const uint _e124 = begin;
        const uint _e127 = params.chunk;
        const uint _e133 = params.chunk;
        begin = max(_e124, roci_div_u32(position_2, max(_e127, 1u)) * _e133);
    }
    const uint _e138 = begin;
    const uint visible = (position_2 + 1u) - _e138;
    const uint _e142 = params.splits;
    const uint _e150 = params.splits;
    const uint keys_per_split = roci_div_u32((visible + (_e142 * 64u)) - 1u, _e150 * 64u) * 64u;
    const uint _e156 = begin;
    const uint start = _e156 + min(group.z * keys_per_split, visible);
    const uint _e162 = begin;
    const uint visible_end = min(start + keys_per_split, _e162 + visible);
    const uint _e167 = params.flags;
    const bool is_shared = (_e167 & 128u) != 0u;
    if (visible_end == (position_2 + 1u)) {
        local_1 = start < visible_end;
    } else {
        local_1 = false;
    }
    const bool _e179 = local_1;
    if (_e179) {
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
    const uint _e207 = block;
    const uint _e208 = cache_row_of(_e207, table_1, kv_head_1, &params, inputs);
    const uint _e209 = block;
    const uint4 _e210 = offsets_of(_e208, _e209, last_1, chunk_2, &params);
    at = _e210;
    const uint4 _e212 = at;
    const KvTile _e213 = load_keys(_e212, keys);
    next_keys = _e213;
    const uint4 _e215 = at;
    const KvTile _e216 = load_values(_e215, values);
    next_values = _e216;
    const uint _e221 = cache_row_of(min((first_block + team) + 8u, last_block), table_1, kv_head_1, &params, inputs);
    next_row = _e221;
    const uint _e225 = params.parts;
    const uint _e229 = params.stride;
    const uint base = (token_1 * _e225) * _e229;
    const uint _e233 = params.heads;
    const uint _e236 = params.kv_heads;
    const uint values_start = ((_e233 + _e236) * 128u) + (kv_head_1 * 128u);
    const uint value_start = base + (is_shared ? 0u : values_start);
    if (has_new_key) {
        const float4 _e251 = load_four(value_start + (chunk_2 * 8u), &params, qkv);
        const float4 _e257 = load_four((value_start + (chunk_2 * 8u)) + 4u, &params, qkv);
        new_value = (Vec8_){.low = _e251, .high = _e257};
    }
    const uint own_1 = min(lane / 16u, 4u);
    const uint own_lane = lane % 16u;
    const bool is_key = own_1 == 4u;
    const uint query_head = first_head + min(own_1, heads - 1u);
    const uint _e273 = params.heads;
    if (is_key) {
        local_3 = !is_shared;
    } else {
        local_3 = false;
    }
    const bool _e279 = local_3;
    const uint source = base + ((_e279 ? (_e273 + kv_head_1) : query_head) * 128u);
    const uint _e286 = params.flags;
    const bool is_normed = (_e286 & 1u) != 0u;
    if (is_normed) {
        const uint _e295 = params.flags;
        local_4 = (_e295 & 32u) != 0u;
    } else {
        local_4 = false;
    }
    const bool is_centered = local_4;
    const uint _e304 = params.flags;
    const bool is_after = (_e304 & 4u) != 0u;
    if (is_centered) {
        c = own_lane;
        while (true) {
            const uint _e312 = c;
            if (!(_e312 < 128u)) {
                break;
            }
            {
                const float _e315 = mean;
                const uint _e316 = c;
                const float _e318 = load_one(source + _e316, &params, qkv);
                mean = _e315 + _e318;
            }
            const uint _e320 = c;
            c = _e320 + 16u;
        }
        const float _e323 = mean;
        const float _e324 = sum_sixteen(_e323, roci_sg);
        mean = _e324 / 128.0f;
    }
    if (is_normed) {
        c_1 = own_lane;
        while (true) {
            const uint _e332 = c_1;
            if (!(_e332 < 128u)) {
                break;
            }
            {
                const uint _e335 = c_1;
                const float _e337 = load_one(source + _e335, &params, qkv);
                const float _e338 = mean;
                const float centered = _e337 - _e338;
                const float _e340 = squares;
                squares = _e340 + (centered * centered);
            }
            const uint _e343 = c_1;
            c_1 = _e343 + 16u;
        }
        const float _e346 = squares;
        const float _e347 = sum_sixteen(_e346, roci_sg);
        const float _e352 = params.epsilon;
        norm_scale = 1.0f / sqrt((_e347 / 128.0f) + _e352);
    }
    const uint _e359 = params.flags;
    if ((_e359 & 64u) != 0u) {
        c_2 = own_lane;
        while (true) {
            const uint _e367 = c_2;
            if (!(_e367 < 128u)) {
                break;
            }
            {
                const uint _e370 = c_2;
                const float v_11 = load_one(value_start + _e370, &params, qkv);
                const float _e373 = squares_1;
                squares_1 = _e373 + (v_11 * v_11);
            }
            const uint _e376 = c_2;
            c_2 = _e376 + 16u;
        }
        const Vec8_ _e379 = new_value;
        const float _e380 = squares_1;
        const float _e381 = sum_sixteen(_e380, roci_sg);
        const float _e386 = params.epsilon;
        const Vec8_ _e391 = scaled(_e379, 1.0f / sqrt((_e381 / 128.0f) + _e386));
        new_value = _e391;
    }
    const float _e394 = params.scale;
    query_scale = _e394;
    const uint _e398 = params.temperature_interval;
    if (_e398 != 0u) {
        const uint _e403 = params.temperature_offset;
        const uint _e407 = params.temperature_interval;
        const uint position_steps = roci_div_u32(position_2 + _e403, max(_e407, 1u));
        const float _e411 = query_scale;
        const float _e414 = params.temperature_scale;
        query_scale = _e411 * (1.0f + (_e414 * log((float)(position_steps + 1u))));
    }
    if ((lane / 16u) <= 4u) {
        pair = own_lane;
        while (true) {
            const uint _e428 = pair;
            if (!(_e428 < 64u)) {
                break;
            }
            {
                const uint _e432 = pair;
                i0_ = 2u * _e432;
                const uint _e435 = i0_;
                i1_ = _e435 + 1u;
                const uint _e439 = pair;
                const uint _e442 = params.pairs;
                if (_e439 < _e442) {
                    const uint _e448 = params.flags;
                    local_5 = (_e448 & 2u) == 0u;
                } else {
                    local_5 = false;
                }
                const bool _e454 = local_5;
                if (_e454) {
                    const uint _e455 = pair;
                    i0_ = _e455;
                    const uint _e456 = pair;
                    const uint _e459 = params.pairs;
                    i1_ = _e456 + _e459;
                }
                const uint _e461 = i0_;
                const float _e463 = load_one(source + _e461, &params, qkv);
                const uint _e464 = i1_;
                const float _e466 = load_one(source + _e464, &params, qkv);
                v = (float2)(_e463, _e466);
                norm_weights = (float2)(1.0f);
                if (is_normed) {
                    weights_at = is_key ? 128u : 0u;
                    const uint _e478 = params.flags;
                    if ((_e478 & 16u) != 0u) {
                        weights_at = source - base;
                    }
                    const float2 _e484 = v;
                    const float _e485 = mean;
                    v = _e484 - ((float2)(_e485));
                    const float _e488 = norm_scale;
                    const uint _e490 = weights_at;
                    const uint _e491 = i0_;
                    const float _e494 = norms[_e490 + _e491];
                    const uint _e496 = weights_at;
                    const uint _e497 = i1_;
                    const float _e500 = norms[_e496 + _e497];
                    norm_weights = _e488 * ((float2)(_e494, _e500));
                }
                const float2 _e503 = v;
                const float2 _e504 = norm_weights;
                v = _e503 * (is_after ? ((float2)(1.0f)) : _e504);
                const uint _e509 = pair;
                const uint _e512 = params.pairs;
                if (_e509 < _e512) {
                    const uint _e515 = pair;
                    const uint _e516 = rotary_position(position_2, token_1, _e515, &params, inputs);
                    const uint _e519 = params.pairs;
                    const uint _e521 = pair;
                    const float2 rotation = rotations[(_e516 * _e519) + _e521];
                    const float _e526 = v.x;
                    const float _e530 = v.y;
                    const float _e535 = v.x;
                    const float _e539 = v.y;
                    v = (float2)((_e526 * rotation.x) - (_e530 * rotation.y), (_e535 * rotation.y) + (_e539 * rotation.x));
                }
                const float2 _e544 = v;
                const float2 _e547 = norm_weights;
                const float _e549 = query_scale;
                v = _e544 * ((is_after ? _e547 : ((float2)(1.0f))) * (is_key ? 1.0f : _e549));
                const uint to_1 = own_1 * 32u;
                const uint _e557 = i0_;
                const uint _e562 = i0_;
                const float _e567 = v.x;
                ((local float *)&rotated.e[to_1 + (_e557 / 4u)])[_e562 % 4u] = _e567;
                const uint _e569 = i1_;
                const uint _e574 = i1_;
                const float _e579 = v.y;
                ((local float *)&rotated.e[to_1 + (_e569 / 4u)])[_e574 % 4u] = _e579;
            }
            const uint _e580 = pair;
            pair = _e580 + 16u;
        }
    }
    roci_barrier_workgroup();
    const uint own_at = 2u * chunk_2;
    const float4 _e588 = rotated.e[own_at];
    const float4 _e593 = rotated.e[own_at + 1u];
    const float4 _e598 = rotated.e[32u + own_at];
    const float4 _e604 = rotated.e[(32u + own_at) + 1u];
    const float4 _e610 = rotated.e[64u + own_at];
    const float4 _e617 = rotated.e[(64u + own_at) + 1u];
    const float4 _e623 = rotated.e[96u + own_at];
    const float4 _e630 = rotated.e[(96u + own_at) + 1u];
    const Heads queries_1 = (Heads){.a = ((Vec8_){.low = _e588, .high = _e593}), .b = ((Vec8_){.low = _e598, .high = _e604}), .c = ((Vec8_){.low = _e610, .high = _e617}), .d = ((Vec8_){.low = _e623, .high = _e630})};
    const float4 _e637 = rotated.e[128u + own_at];
    const float4 _e644 = rotated.e[(128u + own_at) + 1u];
    const Vec8_ new_key = (Vec8_){.low = _e637, .high = _e644};
    if (has_new_key) {
        local_6 = roci_mod_u32(group.y, groups) == 0u;
    } else {
        local_6 = false;
    }
    const bool _e653 = local_6;
    if (_e653) {
        local_7 = team == 0u;
    } else {
        local_7 = false;
    }
    const bool _e659 = local_7;
    if (_e659) {
        const uint _e662 = cache_row_of(position_2 / 4u, table_1, kv_head_1, &params, inputs);
        const uint _e667 = params.kv_heads;
        const uint row_1 = _e662 + ((position_2 % 4u) * _e667);
        const uint4 _e675 = pack_eight(new_key);
        keys[(row_1 * 16u) + chunk_2] = _e675;
        const Vec8_ _e681 = new_value;
        const uint4 _e682 = pack_eight(_e681);
        values[(row_1 * 16u) + chunk_2] = _e682;
    }
    const uint _e691 = params.flags;
    if ((_e691 & 8u) != 0u) {
        local_8 = group.z == 0u;
    } else {
        local_8 = false;
    }
    const bool _e702 = local_8;
    if (_e702) {
        local_9 = team == 0u;
    } else {
        local_9 = false;
    }
    const bool _e708 = local_9;
    if (_e708) {
        const float _e709 = sink;
        maximum = _e709;
        total = (own_key == 0u) ? 1.0f : 0.0f;
    }
    const float4 _e715 = partial_dots(new_key, queries_1);
    const float4 new_scores = sum_team(_e715, roci_sg);
    if (has_new_key) {
        local_10 = team == 0u;
    } else {
        local_10 = false;
    }
    const bool _e722 = local_10;
    if (_e722) {
        const float score_2 = soft_capped(roci_component_of_float4(new_scores, head), &params);
        const float _e725 = maximum;
        const float new_maximum_1 = fmax(_e725, score_2);
        const float _e727 = total;
        const float _e728 = maximum;
        total = (_e727 * exp(_e728 - new_maximum_1)) + ((own_key == 0u) ? exp(score_2 - new_maximum_1) : 0.0f);
        maximum = new_maximum_1;
    }
    const float _e739 = maximum;
    const float4 first_maxima = of_heads(_e739, team_start, roci_sg);
    if (has_new_key) {
        local_11 = team == 0u;
    } else {
        local_11 = false;
    }
    const bool _e746 = local_11;
    if (_e746) {
        const float _e748 = soft_capped(new_scores.x, &params);
        const float _e750 = soft_capped(new_scores.y, &params);
        const float _e752 = soft_capped(new_scores.z, &params);
        const float _e754 = soft_capped(new_scores.w, &params);
        const float4 capped = (float4)(_e748, _e750, _e752, _e754);
        const float4 weights_1 = exp(capped - first_maxima);
        const Vec8_ _e758 = new_value;
        const Vec8_ _e760 = scaled(_e758, weights_1.x);
        const Vec8_ _e761 = new_value;
        const Vec8_ _e763 = scaled(_e761, weights_1.y);
        const Vec8_ _e764 = new_value;
        const Vec8_ _e766 = scaled(_e764, weights_1.z);
        const Vec8_ _e767 = new_value;
        const Vec8_ _e769 = scaled(_e767, weights_1.w);
        sums = (Heads){.a = _e760, .b = _e763, .c = _e766, .d = _e769};
    }
    while (true) {
        const uint _e773 = step_;
        if (!(_e773 < steps)) {
            break;
        }
        {
            const KvTile current_keys = next_keys;
            const KvTile current_values = next_values;
            const uint _e778 = step_;
            const uint own_block = (first_block + team) + (_e778 * 8u);
            block = min(own_block + 8u, last_block);
            const uint _e783 = next_row;
            const uint _e784 = block;
            const uint4 _e785 = offsets_of(_e783, _e784, last_1, chunk_2, &params);
            at = _e785;
            const uint4 _e786 = at;
            const KvTile _e787 = load_keys(_e786, keys);
            next_keys = _e787;
            const uint4 _e788 = at;
            const KvTile _e789 = load_values(_e788, values);
            next_values = _e789;
            const uint _e793 = cache_row_of(min(own_block + 16u, last_block), table_1, kv_head_1, &params, inputs);
            next_row = _e793;
            const Vec8_ _e795 = unpack_eight(current_keys.a);
            const float4 _e796 = partial_dots(_e795, queries_1);
            const Vec8_ _e798 = unpack_eight(current_keys.b);
            const float4 _e799 = partial_dots(_e798, queries_1);
            const Vec8_ _e801 = unpack_eight(current_keys.c);
            const float4 _e802 = partial_dots(_e801, queries_1);
            const Vec8_ _e804 = unpack_eight(current_keys.d);
            const float4 _e805 = partial_dots(_e804, queries_1);
            const float2 parts = sum_scores(_e796, _e799, _e802, _e805, chunk_2, roci_sg);
            const float _e807 = maximum;
            new_maximum = _e807;
            scores = (float2)((-3e38f));
            const uint own_2 = (own_block * 4u) + own_key;
            const float _e817 = soft_capped(parts.x, &params);
            if (own_2 >= start) {
                local_12 = own_2 < end;
            } else {
                local_12 = false;
            }
            const bool _e823 = local_12;
            scores.x = _e823 ? _e817 : (-3e38f);
            const float _e826 = new_maximum;
            const float _e828 = scores.x;
            new_maximum = fmax(_e826, _e828);
            const float _e830 = new_maximum;
            const float _e831 = new_maximum;
            const float _e833 = roci_subgroup_shuffle_xor_f32(roci_sg, _e831, 8u);
            new_maximum = fmax(_e830, _e833);
            const float _e835 = new_maximum;
            const float _e836 = new_maximum;
            const float _e838 = roci_subgroup_shuffle_xor_f32(roci_sg, _e836, 4u);
            new_maximum = fmax(_e835, _e838);
            const float _e840 = maximum;
            const float _e841 = new_maximum;
            const float factor_1 = exp(_e840 - _e841);
            const float _e844 = new_maximum;
            maximum = _e844;
            const float2 _e846 = scores;
            const float _e847 = maximum;
            const float2 _e851 = scores;
            const float2 weights_2 = (_e851 > ((float2)((-3e38f)))) ? exp(_e846 - ((float2)(_e847))) : (float2)(0.0f);
            const float _e856 = total;
            total = (_e856 * factor_1) + (weights_2.x + weights_2.y);
            const Heads _e862 = sums;
            const float4 _e863 = of_heads(factor_1, team_start, roci_sg);
            const Heads _e864 = scaled_heads(_e862, _e863);
            sums = _e864;
            const Heads _e865 = sums;
            const float4 _e867 = of_heads(weights_2.x, team_start, roci_sg);
            const Heads _e869 = add_value(_e865, _e867, current_values.a);
            sums = _e869;
            const Heads _e870 = sums;
            const float4 _e874 = of_heads(weights_2.x, team_start + 4u, roci_sg);
            const Heads _e876 = add_value(_e870, _e874, current_values.b);
            sums = _e876;
            const Heads _e877 = sums;
            const float4 _e881 = of_heads(weights_2.x, team_start + 8u, roci_sg);
            const Heads _e883 = add_value(_e877, _e881, current_values.c);
            sums = _e883;
            const Heads _e884 = sums;
            const float4 _e888 = of_heads(weights_2.x, team_start + 12u, roci_sg);
            const Heads _e890 = add_value(_e884, _e888, current_values.d);
            sums = _e890;
        }
        const uint _e891 = step_;
        step_ = _e891 + 1u;
    }
    const float _e894 = total;
    const float _e895 = total;
    const float _e897 = roci_subgroup_shuffle_xor_f32(roci_sg, _e895, 4u);
    total = _e894 + _e897;
    const float _e899 = total;
    const float _e900 = total;
    const float _e902 = roci_subgroup_shuffle_xor_f32(roci_sg, _e900, 8u);
    total = _e899 + _e902;
    const Heads _e904 = sums;
    const float _e905 = maximum;
    const float4 _e906 = of_heads(_e905, team_start, roci_sg);
    const float _e907 = total;
    const float4 _e908 = of_heads(_e907, team_start, roci_sg);
    all_ = (Merged){.sums = _e904, .maxima = _e906, .totals = _e908};
    const Merged _e911 = all_;
    const Merged _e913 = merged(_e911, 16u, roci_sg);
    all_ = _e913;
    const uint subgroup = lane / 32u;
    if ((lane % 32u) == 0u) {
        const float4 _e923 = all_.maxima;
        subgroup_maxima.e[subgroup] = _e923;
        const float4 _e927 = all_.totals;
        subgroup_totals.e[subgroup] = _e927;
    }
    roci_barrier_workgroup();
    const float4 _e930 = subgroup_maxima.e[0];
    const float4 _e933 = subgroup_maxima.e[1];
    const float4 _e937 = subgroup_maxima.e[2];
    const float4 _e940 = subgroup_maxima.e[3];
    const float4 maxima_1 = fmax(fmax(_e930, _e933), fmax(_e937, _e940));
    const float4 _e944 = all_.maxima;
    const float4 factors_2 = exp(_e944 - maxima_1);
    if ((lane % 32u) < 16u) {
        const uint to_2 = ((subgroup * 4u) * 32u) + own_at;
        const float4 _e959 = all_.sums.a.low;
        rotated.e[to_2] = _e959 * factors_2.x;
        const float4 _e969 = all_.sums.a.high;
        rotated.e[to_2 + 1u] = _e969 * factors_2.x;
        const float4 _e978 = all_.sums.b.low;
        rotated.e[to_2 + 32u] = _e978 * factors_2.y;
        const float4 _e989 = all_.sums.b.high;
        rotated.e[(to_2 + 32u) + 1u] = _e989 * factors_2.y;
        const float4 _e999 = all_.sums.c.low;
        rotated.e[to_2 + 64u] = _e999 * factors_2.z;
        const float4 _e1011 = all_.sums.c.high;
        rotated.e[(to_2 + 64u) + 1u] = _e1011 * factors_2.z;
        const float4 _e1021 = all_.sums.d.low;
        rotated.e[to_2 + 96u] = _e1021 * factors_2.w;
        const float4 _e1033 = all_.sums.d.high;
        rotated.e[(to_2 + 96u) + 1u] = _e1033 * factors_2.w;
    }
    while (true) {
        const uint _e1040 = i;
        if (!(_e1040 < 4u)) {
            break;
        }
        {
            const float4 _e1043 = totals;
            const uint _e1045 = i;
            const float4 _e1047 = subgroup_totals.e[_e1045];
            const uint _e1049 = i;
            const float4 _e1051 = subgroup_maxima.e[_e1049];
            totals = _e1043 + (_e1047 * exp(_e1051 - maxima_1));
        }
        const uint _e1056 = i;
        i = _e1056 + 1u;
    }
    roci_barrier_workgroup();
    const uint out_head = lane / 32u;
    const uint column = lane % 32u;
    if (out_head >= heads) {
        return;
    }
    const uint source_at = (out_head * 32u) + column;
    const float4 _e1066 = rotated.e[source_at];
    const float4 _e1071 = rotated.e[source_at + 128u];
    const float4 _e1077 = rotated.e[source_at + 256u];
    const float4 _e1082 = rotated.e[source_at + 384u];
    v_1 = (_e1066 + _e1071) + (_e1077 + _e1082);
    const uint _e1088 = params.y_stride;
    to = (token_1 * _e1088) + ((first_head + out_head) * 128u);
    const uint _e1097 = params.splits;
    if (_e1097 == 1u) {
        const float4 _e1100 = v_1;
        const float _e1102 = ((private float *)&totals)[out_head];
        v_1 = _e1100 / ((float4)(_e1102));
        const uint _e1107 = params.packed;
        if (_e1107 != 0u) {
            const float4 _e1110 = v_1;
            v_1 = fmin(fmax(_e1110, (float4)((-65504.0f))), (float4)(65504.0f));
            const uint _e1117 = to;
            const float4 _e1124 = v_1;
            y[(_e1117 / 2u) + (column * 2u)] = as_float(roci_pack2x16float(_e1124.xy));
            const uint _e1129 = to;
            const float4 _e1138 = v_1;
            y[((_e1129 / 2u) + (column * 2u)) + 1u] = as_float(roci_pack2x16float(_e1138.zw));
            return;
        }
    } else {
        const uint _e1144 = params.heads;
        const uint _e1150 = params.splits;
        to = (((((token_1 * _e1144) + first_head) + out_head) * _e1150) + group.z) * 130u;
        if (column == 0u) {
            const uint _e1159 = to;
            y[_e1159 + 128u] = roci_component_of_float4(maxima_1, out_head);
            const uint _e1165 = to;
            const float _e1172 = ((private float *)&totals)[out_head];
            y[(_e1165 + 128u) + 1u] = _e1172;
        }
    }
    while (true) {
        const uint _e1175 = i_1;
        if (!(_e1175 < 4u)) {
            break;
        }
        {
            const uint _e1179 = to;
            const uint _e1183 = i_1;
            const uint _e1186 = i_1;
            const float _e1188 = ((private float *)&v_1)[_e1186];
            y[(_e1179 + (column * 4u)) + _e1183] = _e1188;
        }
        const uint _e1189 = i_1;
        i_1 = _e1189 + 1u;
    }
}
