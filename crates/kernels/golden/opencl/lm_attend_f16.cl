// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))

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
} Params;
typedef struct { float4 e[128]; } array128_float4_;
typedef struct { uint e[128]; } array128_uint;
typedef struct { float e[1152]; } array1152_float;
typedef struct { float4 e[32]; } array32_float4_;
typedef struct { float4 e[256]; } array256_float4_;
typedef struct { float e[128]; } array128_float;
typedef struct {
    float4 low;
    float4 high;
} Eight;
typedef struct {
    uint4 a;
    uint4 b;
    uint4 c;
    uint4 d;
    uint4 e;
    uint4 f;
    uint4 g;
    uint4 h;
} Held;
typedef struct {
    float4 low;
    float4 high;
    float total;
    uchar _pad_end[12];
} Sum;

ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN ushort roci_narrow_f16(float a) {
    ushort bits;
    vstore_half_rte(a, 0, (private half *)&bits);
    return bits;
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

ROCI_FN uint4 key_at(uint line, uint part, private const Params *params, global uint4 *keys) {
    const uint _e5 = (*params).key_length;
    const uint4 _e11 = keys[(line * (_e5 / 8u)) + part];
    return _e11;
}

ROCI_FN Held hold_keys(uint first_1, uint teams, uint part_1, private const Params *params, global uint4 *keys, local array128_uint *lines) {
    const uint _e5 = (*lines).e[first_1];
    const uint4 _e6 = key_at(_e5, part_1, params, keys);
    const uint _e10 = (*lines).e[first_1 + teams];
    const uint4 _e11 = key_at(_e10, part_1, params, keys);
    const uint _e17 = (*lines).e[first_1 + (2u * teams)];
    const uint4 _e18 = key_at(_e17, part_1, params, keys);
    const uint _e24 = (*lines).e[first_1 + (3u * teams)];
    const uint4 _e25 = key_at(_e24, part_1, params, keys);
    const uint _e31 = (*lines).e[first_1 + (4u * teams)];
    const uint4 _e32 = key_at(_e31, part_1, params, keys);
    const uint _e38 = (*lines).e[first_1 + (5u * teams)];
    const uint4 _e39 = key_at(_e38, part_1, params, keys);
    const uint _e45 = (*lines).e[first_1 + (6u * teams)];
    const uint4 _e46 = key_at(_e45, part_1, params, keys);
    const uint _e52 = (*lines).e[first_1 + (7u * teams)];
    const uint4 _e53 = key_at(_e52, part_1, params, keys);
    return (Held){.a = _e6, .b = _e11, .c = _e18, .d = _e25, .e = _e32, .f = _e39, .g = _e46, .h = _e53};
}

ROCI_FN uint4 value_at(uint line_1, uint part_2, private const Params *params, global uint4 *values) {
    const uint _e5 = (*params).value_length;
    const uint4 _e11 = values[(line_1 * (_e5 / 8u)) + part_2];
    return _e11;
}

ROCI_FN Held hold_values(uint first_2, uint teams_1, uint part_3, private const Params *params, global uint4 *values, local array128_uint *lines) {
    const uint _e5 = (*lines).e[first_2];
    const uint4 _e6 = value_at(_e5, part_3, params, values);
    const uint _e10 = (*lines).e[first_2 + teams_1];
    const uint4 _e11 = value_at(_e10, part_3, params, values);
    const uint _e17 = (*lines).e[first_2 + (2u * teams_1)];
    const uint4 _e18 = value_at(_e17, part_3, params, values);
    const uint _e24 = (*lines).e[first_2 + (3u * teams_1)];
    const uint4 _e25 = value_at(_e24, part_3, params, values);
    const uint _e31 = (*lines).e[first_2 + (4u * teams_1)];
    const uint4 _e32 = value_at(_e31, part_3, params, values);
    const uint _e38 = (*lines).e[first_2 + (5u * teams_1)];
    const uint4 _e39 = value_at(_e38, part_3, params, values);
    const uint _e45 = (*lines).e[first_2 + (6u * teams_1)];
    const uint4 _e46 = value_at(_e45, part_3, params, values);
    const uint _e52 = (*lines).e[first_2 + (7u * teams_1)];
    const uint4 _e53 = value_at(_e52, part_3, params, values);
    return (Held){.a = _e6, .b = _e11, .c = _e18, .d = _e25, .e = _e32, .f = _e39, .g = _e46, .h = _e53};
}

ROCI_FN float4 four_of(uint at_1, global const float *qkv) {
    const float _e3 = qkv[at_1];
    const float _e8 = qkv[at_1 + 1u];
    const float _e13 = qkv[at_1 + 2u];
    const float _e18 = qkv[at_1 + 3u];
    return (float4)(_e3, _e8, _e13, _e18);
}

ROCI_FN Eight eight_of(uint4 kept) {
    const float4 low_1 = (float4)(roci_unpack2x16float(kept.x), roci_unpack2x16float(kept.y));
    return (Eight){.low = low_1, .high = ((float4)(roci_unpack2x16float(kept.z), roci_unpack2x16float(kept.w)))};
}

ROCI_FN float part_of(uint4 kept_1, bool is_own, Eight own, Eight query) {
    const Eight it = eight_of(kept_1);
    return roci_dot_float4(is_own ? own.low : it.low, query.low) + roci_dot_float4(is_own ? own.high : it.high, query.high);
}

ROCI_FN uint line_of(uint key, uint last, uint position, uint table, uint kv_head, private const Params *params, global const uint *inputs) {
    const uint at_2 = min(key, last);
    const uint _e9 = (*params).page;
    const uint page = inputs[table + roci_div_u32(at_2, _e9)];
    const uint _e16 = (*params).page;
    const uint _e20 = (*params).page;
    const uint _e25 = (*params).kv_heads;
    const uint line_3 = (((page * _e16) + roci_mod_u32(at_2, _e20)) * _e25) + kv_head;
    return (at_2 == position) ? 0u : line_3;
}

ROCI_FN Sum add_value(Sum sum_1, float weight, uint4 kept_2, bool is_own_1, Eight own_1) {
    const Eight it_1 = eight_of(kept_2);
    const float4 low_2 = sum_1.low + (weight * (is_own_1 ? own_1.low : it_1.low));
    const float4 high_1 = sum_1.high + (weight * (is_own_1 ? own_1.high : it_1.high));
    return (Sum){.low = low_2, .high = high_1, .total = (sum_1.total + weight)};
}

ROCI_FN float score_at(uint key_1, local array32_float4_ *scores) {
    const float _e8 = ((local float *)&(*scores).e[key_1 / 4u])[key_1 % 4u];
    return _e8;
}

ROCI_FN uint4 kept_of(float4 low, float4 high) {
    const uint2 near = (uint2)(roci_pack2x16float(low.xy), roci_pack2x16float(low.zw));
    return (uint4)(near, (uint2)(roci_pack2x16float(high.xy), roci_pack2x16float(high.zw)));
}

ROCI_FN void keep(uint line_2, uint value_from, uint lane_1, private const Params *params, global const float *qkv, global uint4 *keys, global uint4 *values, local array128_float4_ *turned) {
    const uint _e5 = (*params).key_length;
    if (lane_1 < (_e5 / 8u)) {
        const uint _e12 = (*params).key_length;
        const float4 _e24 = (*turned).e[64u + (lane_1 * 2u)];
        const float4 _e31 = (*turned).e[65u + (lane_1 * 2u)];
        const uint4 _e32 = kept_of(_e24, _e31);
        keys[(line_2 * (_e12 / 8u)) + lane_1] = _e32;
    }
    const uint _e35 = (*params).value_length;
    if (lane_1 < (_e35 / 8u)) {
        const uint source = value_from + (lane_1 * 8u);
        const uint _e45 = (*params).value_length;
        const float4 _e51 = four_of(source, qkv);
        const float4 _e54 = four_of(source + 4u, qkv);
        const uint4 _e55 = kept_of(_e51, _e54);
        values[(line_2 * (_e45 / 8u)) + lane_1] = _e55;
        return;
    } else {
        return;
    }
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_attend_f16(global const uint *inputs, global const float *norms, global const float2 *rotations, global const float *qkv, global uint4 *keys, global uint4 *values, global float *y, Params params) {
    local array128_float4_ turned;
    local array128_uint lines;
    local array1152_float partials;
    local array32_float4_ scores;
    local array256_float4_ sums;
    local array128_float totals;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    uint begin = 0u;
    bool local_ = false;
    float factor = 1.0f;
    float squares = 0.0f;
    uint c = 0u;
    uint i = 0u;
    uint pair = 0u;
    uint one = 0u;
    uint other = 0u;
    bool local_1 = false;
    float2 v = (float2)(0.0f);
    Held keys_held = {0};
    Held values_held = {0};
    bool local_2 = false;
    bool local_3 = false;
    Sum sum = ((Sum){.low = (float4)(0.0f), .high = (float4)(0.0f), .total = 0.0f});
    float greatest = (-3e38f);
    uint first = 0u;
    float score = 0.0f;
    uint i_1 = 0u;
    float4 tops = (float4)(0.0f);
    uint i_2 = 0u;
    uint t = 1u;
    uint at = 0u;
    uint i_3 = 0u;
    const uint token = group.x;
    const uint _e5 = params.heads;
    const uint _e8 = params.kv_heads;
    const uint shared_by = roci_div_u32(_e5, _e8);
    const uint kv_head_1 = roci_div_u32(group.y, shared_by);
    const uint position_1 = inputs[token];
    const uint _e18 = params.tokens;
    const uint table_1 = inputs[_e18 + token];
    const uint _e24 = params.key_length;
    const uint parts = _e24 / 8u;
    const uint teams_2 = min(roci_div_u32(128u, parts), 16u);
    const uint chunk = 8u * teams_2;
    const uint team = min(roci_div_u32(lane, parts), teams_2 - 1u);
    const uint part_4 = roci_mod_u32(lane, parts);
    const bool counts = lane < (teams_2 * parts);
    const uint _e44 = params.window;
    if (_e44 != 0u) {
        const uint _e53 = params.window;
        local_ = (position_1 + 1u) > _e53;
    } else {
        local_ = false;
    }
    const bool _e56 = local_;
    if (_e56) {
        const uint _e61 = params.window;
        begin = (position_1 + 1u) - _e61;
    }
    const uint _e65 = begin;
    const uint seen = (position_1 + 1u) - _e65;
    const uint _e69 = params.splits;
    const uint _e77 = params.splits;
    const uint each = roci_div_u32((seen + (_e69 * 128u)) - 1u, _e77 * 128u) * 128u;
    const uint _e83 = begin;
    const uint start = _e83 + min(group.z * each, seen);
    const uint _e89 = begin;
    const uint end = min(start + each, _e89 + seen);
    const uint last_1 = max(end, 1u) - 1u;
    const uint _e98 = params.stride;
    const uint base = token * _e98;
    const uint _e102 = params.heads;
    const uint _e105 = params.kv_heads;
    const uint _e109 = params.key_length;
    const uint _e114 = params.value_length;
    const uint value_from_1 = (base + ((_e102 + _e105) * _e109)) + (kv_head_1 * _e114);
    const float4 _e120 = four_of(value_from_1 + (part_4 * 8u), qkv);
    const float4 _e126 = four_of((value_from_1 + (part_4 * 8u)) + 4u, qkv);
    const Eight own_value = (Eight){.low = _e120, .high = _e126};
    const uint _e131 = line_of(start + lane, last_1, position_1, table_1, kv_head_1, &params, inputs);
    lines.e[lane] = _e131;
    const uint half_lane = lane % 64u;
    const bool is_key = lane >= 64u;
    const uint _e139 = params.heads;
    const uint _e144 = params.key_length;
    const uint source_1 = base + ((is_key ? (_e139 + kv_head_1) : group.y) * _e144);
    const uint _e151 = params.flags;
    if ((_e151 & 1u) != 0u) {
        c = half_lane;
        while (true) {
            const uint _e159 = c;
            const uint _e162 = params.key_length;
            if (!(_e159 < _e162)) {
                break;
            }
            {
                const float _e164 = squares;
                const uint _e166 = c;
                const float _e169 = qkv[source_1 + _e166];
                const uint _e171 = c;
                const float _e174 = qkv[source_1 + _e171];
                squares = _e164 + (_e169 * _e174);
            }
            const uint _e177 = c;
            c = _e177 + 64u;
        }
        const float _e182 = squares;
        totals.e[lane] = _e182;
        roci_barrier_workgroup();
        squares = 0.0f;
        while (true) {
            const uint _e186 = i;
            if (!(_e186 < 64u)) {
                break;
            }
            {
                const float _e189 = squares;
                const uint _e193 = i;
                const float _e196 = totals.e[(lane & 64u) + _e193];
                squares = _e189 + _e196;
            }
            const uint _e198 = i;
            i = _e198 + 1u;
        }
        const float _e201 = squares;
        const uint _e204 = params.key_length;
        const float _e209 = params.epsilon;
        factor = 1.0f / sqrt((_e201 / ((float)_e204)) + _e209);
    }
    pair = half_lane;
    while (true) {
        const uint _e215 = pair;
        const uint _e218 = params.key_length;
        if (!(_e215 < (_e218 / 2u))) {
            break;
        }
        {
            const uint _e223 = pair;
            one = 2u * _e223;
            const uint _e226 = one;
            other = _e226 + 1u;
            const uint _e230 = pair;
            const uint _e233 = params.pairs;
            if (_e230 < _e233) {
                const uint _e239 = params.flags;
                local_1 = (_e239 & 2u) == 0u;
            } else {
                local_1 = false;
            }
            const bool _e245 = local_1;
            if (_e245) {
                const uint _e246 = pair;
                one = _e246;
                const uint _e247 = pair;
                const uint _e250 = params.pairs;
                other = _e247 + _e250;
            }
            const uint _e253 = one;
            const float _e256 = qkv[source_1 + _e253];
            const uint _e258 = other;
            const float _e261 = qkv[source_1 + _e258];
            v = (float2)(_e256, _e261);
            const uint _e266 = params.flags;
            if ((_e266 & 1u) != 0u) {
                const uint _e274 = params.key_length;
                const uint weights_at = is_key ? _e274 : 0u;
                const float2 _e276 = v;
                const float _e277 = factor;
                const uint _e279 = one;
                const float _e282 = norms[weights_at + _e279];
                const uint _e284 = other;
                const float _e287 = norms[weights_at + _e284];
                v = _e276 * (_e277 * ((float2)(_e282, _e287)));
            }
            const uint _e291 = pair;
            const uint _e294 = params.pairs;
            if (_e291 < _e294) {
                const uint _e299 = params.pairs;
                const uint _e301 = pair;
                const float2 turn = rotations[(position_1 * _e299) + _e301];
                const float _e306 = v.x;
                const float _e310 = v.y;
                const float _e315 = v.x;
                const float _e319 = v.y;
                v = (float2)((_e306 * turn.x) - (_e310 * turn.y), (_e315 * turn.y) + (_e319 * turn.x));
            }
            const float2 _e324 = v;
            const float _e327 = params.scale;
            v = _e324 * (is_key ? 1.0f : _e327);
            const uint to = lane & 64u;
            const uint _e334 = one;
            const uint _e339 = one;
            const float _e344 = v.x;
            ((local float *)&turned.e[to + (_e334 / 4u)])[_e339 % 4u] = _e344;
            const uint _e346 = other;
            const uint _e351 = other;
            const float _e356 = v.y;
            ((local float *)&turned.e[to + (_e346 / 4u)])[_e351 % 4u] = _e356;
        }
        const uint _e357 = pair;
        pair = _e357 + 64u;
    }
    roci_barrier_workgroup();
    const Held _e360 = hold_keys(team, teams_2, part_4, &params, keys, &lines);
    keys_held = _e360;
    const Held _e362 = hold_values(team, teams_2, part_4, &params, values, &lines);
    values_held = _e362;
    if (end == (position_1 + 1u)) {
        local_2 = roci_mod_u32(group.y, shared_by) == 0u;
    } else {
        local_2 = false;
    }
    const bool _e374 = local_2;
    if (_e374) {
        local_3 = start < end;
    } else {
        local_3 = false;
    }
    const bool _e379 = local_3;
    if (_e379) {
        const uint _e383 = params.page;
        const uint page_1 = inputs[table_1 + roci_div_u32(position_1, _e383)];
        const uint _e390 = params.page;
        const uint _e394 = params.page;
        const uint _e399 = params.kv_heads;
        const uint line_4 = (((page_1 * _e390) + roci_mod_u32(position_1, _e394)) * _e399) + kv_head_1;
        keep(line_4, value_from_1, lane, &params, qkv, keys, values, &turned);
    }
    const float4 _e406 = turned.e[part_4 * 2u];
    const float4 _e413 = turned.e[(part_4 * 2u) + 1u];
    const Eight query_1 = (Eight){.low = _e406, .high = _e413};
    const float4 _e421 = turned.e[64u + (part_4 * 2u)];
    const float4 _e430 = turned.e[(64u + (part_4 * 2u)) + 1u];
    const Eight own_key = (Eight){.low = _e421, .high = _e430};
    first = start;
    while (true) {
        const uint _e440 = first;
        if (!(_e440 < end)) {
            break;
        }
        {
            const uint _e442 = first;
            const uint count = min(chunk, end - _e442);
            const uint _e445 = first;
            const uint own_2 = position_1 - _e445;
            if (counts) {
                const uint pitch = parts + 1u;
                const uint to_1 = (team * pitch) + part_4;
                const uint4 _e454 = keys_held.a;
                const float _e456 = part_of(_e454, own_2 == team, own_key, query_1);
                partials.e[to_1] = _e456;
                const uint4 _e462 = keys_held.b;
                const float _e465 = part_of(_e462, own_2 == (team + teams_2), own_key, query_1);
                partials.e[to_1 + (teams_2 * pitch)] = _e465;
                const uint4 _e473 = keys_held.c;
                const float _e478 = part_of(_e473, own_2 == (team + (2u * teams_2)), own_key, query_1);
                partials.e[to_1 + ((2u * teams_2) * pitch)] = _e478;
                const uint4 _e486 = keys_held.d;
                const float _e491 = part_of(_e486, own_2 == (team + (3u * teams_2)), own_key, query_1);
                partials.e[to_1 + ((3u * teams_2) * pitch)] = _e491;
                const uint4 _e499 = keys_held.e;
                const float _e504 = part_of(_e499, own_2 == (team + (4u * teams_2)), own_key, query_1);
                partials.e[to_1 + ((4u * teams_2) * pitch)] = _e504;
                const uint4 _e512 = keys_held.f;
                const float _e517 = part_of(_e512, own_2 == (team + (5u * teams_2)), own_key, query_1);
                partials.e[to_1 + ((5u * teams_2) * pitch)] = _e517;
                const uint4 _e525 = keys_held.g;
                const float _e530 = part_of(_e525, own_2 == (team + (6u * teams_2)), own_key, query_1);
                partials.e[to_1 + ((6u * teams_2) * pitch)] = _e530;
                const uint4 _e538 = keys_held.h;
                const float _e543 = part_of(_e538, own_2 == (team + (7u * teams_2)), own_key, query_1);
                partials.e[to_1 + ((7u * teams_2) * pitch)] = _e543;
            }
            roci_barrier_workgroup();
            score = 0.0f;
            if (lane < count) {
                i_1 = 0u;
                while (true) {
                    const uint _e549 = i_1;
                    if (!(_e549 < parts)) {
                        break;
                    }
                    {
                        const uint _e554 = i_1;
                        const uint at_3 = (lane * (parts + 1u)) + _e554;
                        const float _e556 = score;
                        const float _e559 = partials.e[at_3];
                        const float _e564 = partials.e[at_3 + 1u];
                        const float _e570 = partials.e[at_3 + 2u];
                        const float _e575 = partials.e[at_3 + 3u];
                        score = _e556 + ((_e559 + _e564) + (_e570 + _e575));
                    }
                    const uint _e579 = i_1;
                    i_1 = _e579 + 4u;
                }
                const float _e584 = params.soft_cap;
                if (_e584 > 0.0f) {
                    const float _e589 = params.soft_cap;
                    const float _e590 = score;
                    const float _e593 = params.soft_cap;
                    score = _e589 * tanh(fmin(fmax(_e590 / _e593, -15.0f), 15.0f));
                }
            }
            const float _e607 = score;
            ((local float *)&scores.e[lane / 4u])[lane % 4u] = (lane < count) ? _e607 : (-3e38f);
            const uint _e613 = first;
            const uint _e616 = line_of((_e613 + chunk) + lane, last_1, position_1, table_1, kv_head_1, &params, inputs);
            lines.e[lane] = _e616;
            roci_barrier_workgroup();
            const Held values_now = values_held;
            const Held _e618 = hold_keys(team, teams_2, part_4, &params, keys, &lines);
            keys_held = _e618;
            const Held _e619 = hold_values(team, teams_2, part_4, &params, values, &lines);
            values_held = _e619;
            const float _e620 = greatest;
            tops = (float4)(_e620);
            i_2 = 0u;
            while (true) {
                const uint _e625 = i_2;
                if (!(_e625 < (chunk / 4u))) {
                    break;
                }
                {
                    const float4 _e629 = tops;
                    const uint _e631 = i_2;
                    const float4 _e633 = scores.e[_e631];
                    const uint _e635 = i_2;
                    const float4 _e639 = scores.e[_e635 + 1u];
                    tops = fmax(_e629, fmax(_e633, _e639));
                }
                const uint _e642 = i_2;
                i_2 = _e642 + 2u;
            }
            const float _e646 = tops.x;
            const float _e648 = tops.y;
            const float _e651 = tops.z;
            const float _e653 = tops.w;
            const float top = fmax(fmax(_e646, _e648), fmax(_e651, _e653));
            const float _e656 = greatest;
            const float carried = exp(_e656 - top);
            greatest = top;
            const float4 _e660 = sum.low;
            const float4 _e663 = sum.high;
            const float _e666 = sum.total;
            sum = (Sum){.low = (_e660 * carried), .high = (_e663 * carried), .total = (_e666 * carried)};
            const Sum _e669 = sum;
            const float _e670 = score_at(team, &scores);
            const Sum _e675 = add_value(_e669, exp(_e670 - top), values_now.a, own_2 == team, own_value);
            sum = _e675;
            const Sum _e676 = sum;
            const float _e678 = score_at(team + teams_2, &scores);
            const Sum _e684 = add_value(_e676, exp(_e678 - top), values_now.b, own_2 == (team + teams_2), own_value);
            sum = _e684;
            const Sum _e685 = sum;
            const float _e689 = score_at(team + (2u * teams_2), &scores);
            const Sum _e697 = add_value(_e685, exp(_e689 - top), values_now.c, own_2 == (team + (2u * teams_2)), own_value);
            sum = _e697;
            const Sum _e698 = sum;
            const float _e702 = score_at(team + (3u * teams_2), &scores);
            const Sum _e710 = add_value(_e698, exp(_e702 - top), values_now.d, own_2 == (team + (3u * teams_2)), own_value);
            sum = _e710;
            const Sum _e711 = sum;
            const float _e715 = score_at(team + (4u * teams_2), &scores);
            const Sum _e723 = add_value(_e711, exp(_e715 - top), values_now.e, own_2 == (team + (4u * teams_2)), own_value);
            sum = _e723;
            const Sum _e724 = sum;
            const float _e728 = score_at(team + (5u * teams_2), &scores);
            const Sum _e736 = add_value(_e724, exp(_e728 - top), values_now.f, own_2 == (team + (5u * teams_2)), own_value);
            sum = _e736;
            const Sum _e737 = sum;
            const float _e741 = score_at(team + (6u * teams_2), &scores);
            const Sum _e749 = add_value(_e737, exp(_e741 - top), values_now.g, own_2 == (team + (6u * teams_2)), own_value);
            sum = _e749;
            const Sum _e750 = sum;
            const float _e754 = score_at(team + (7u * teams_2), &scores);
            const Sum _e762 = add_value(_e750, exp(_e754 - top), values_now.h, own_2 == (team + (7u * teams_2)), own_value);
            sum = _e762;
        }
        const uint _e763 = first;
        first = _e763 + chunk;
    }
    const float4 _e768 = sum.low;
    sums.e[lane] = _e768;
    const float4 _e774 = sum.high;
    sums.e[128u + lane] = _e774;
    const float _e778 = sum.total;
    totals.e[lane] = _e778;
    roci_barrier_workgroup();
    if (lane < parts) {
        while (true) {
            const uint _e782 = t;
            if (!(_e782 < teams_2)) {
                break;
            }
            {
                const float4 _e785 = sum.low;
                const uint _e787 = t;
                const float4 _e791 = sums.e[(_e787 * parts) + lane];
                sum.low = _e785 + _e791;
                const float4 _e794 = sum.high;
                const uint _e797 = t;
                const float4 _e802 = sums.e[(128u + (_e797 * parts)) + lane];
                sum.high = _e794 + _e802;
                const float _e805 = sum.total;
                const uint _e807 = t;
                const float _e811 = totals.e[(_e807 * parts) + lane];
                sum.total = _e805 + _e811;
            }
            const uint _e813 = t;
            t = _e813 + 1u;
        }
        const uint _e818 = params.y_stride;
        const uint _e823 = params.value_length;
        at = (token * _e818) + (group.y * _e823);
        const uint _e829 = params.splits;
        if (_e829 == 1u) {
            const float4 _e834 = sum.low;
            const float _e836 = sum.total;
            sum.low = _e834 / ((float4)(_e836));
            const float4 _e841 = sum.high;
            const float _e843 = sum.total;
            sum.high = _e841 / ((float4)(_e843));
        } else {
            const uint _e848 = params.heads;
            const uint _e854 = params.splits;
            const uint _e860 = params.value_length;
            at = ((((token * _e848) + group.y) * _e854) + group.z) * (_e860 + 2u);
            if (lane == 0u) {
                const uint _e867 = at;
                const uint _e870 = params.value_length;
                const float _e873 = greatest;
                y[_e867 + _e870] = _e873;
                const uint _e875 = at;
                const uint _e878 = params.value_length;
                const float _e884 = sum.total;
                y[(_e875 + _e878) + 1u] = _e884;
            }
        }
        while (true) {
            const uint _e887 = i_3;
            if (!(_e887 < 4u)) {
                break;
            }
            {
                const uint _e891 = at;
                const uint _e895 = i_3;
                const uint _e899 = i_3;
                const float _e901 = ((private float *)&sum.low)[_e899];
                y[(_e891 + (lane * 8u)) + _e895] = _e901;
                const uint _e903 = at;
                const uint _e909 = i_3;
                const uint _e913 = i_3;
                const float _e915 = ((private float *)&sum.high)[_e913];
                y[((_e903 + (lane * 8u)) + 4u) + _e909] = _e915;
            }
            const uint _e916 = i_3;
            i_3 = _e916 + 1u;
        }
        return;
    } else {
        return;
    }
}
