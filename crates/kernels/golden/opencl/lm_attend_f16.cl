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
typedef struct { float4 e[32]; } array32_float4_;
typedef struct { float e[128]; } array128_float;
typedef struct { uint e[128]; } array128_uint;

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
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

ROCI_FN float4 four_of(uint at_1, global const float *qkv) {
    const float _e3 = qkv[at_1];
    const float _e8 = qkv[at_1 + 1u];
    const float _e13 = qkv[at_1 + 2u];
    const float _e18 = qkv[at_1 + 3u];
    return (float4)(_e3, _e8, _e13, _e18);
}

ROCI_FN float4 value_four(uint line, uint four, private const Params *params, global uint2 *values) {
    const uint _e5 = (*params).value_length;
    const uint2 two = values[(line * (_e5 / 4u)) + four];
    return (float4)(roci_unpack2x16float(two.x), roci_unpack2x16float(two.y));
}

ROCI_FN float4 value_of(uint key, uint first_1, uint position, uint d, float4 own, private const Params *params, global uint2 *values, local array128_uint *lines) {
    const uint _e7 = (*lines).e[key];
    const float4 _e8 = value_four(_e7, d, params, values);
    return ((first_1 + key) >= position) ? own : _e8;
}

ROCI_FN float4 weights_of(uint4 safe, uint4 keys, local array128_float *weights) {
    const float _e5 = (*weights).e[safe.x];
    const float _e9 = (*weights).e[safe.y];
    const float _e13 = (*weights).e[safe.z];
    const float _e17 = (*weights).e[safe.w];
    const float4 four_2 = (float4)(_e5, _e9, _e13, _e17);
    return (keys < ((uint4)(128u))) ? four_2 : (float4)(0.0f);
}

ROCI_FN void keep(uint line_1, uint value_at, uint lane_1, private const Params *params, global const float *qkv, global uint2 *keys_1, global uint2 *values, local array128_float4_ *turned) {
    uint i_4 = 0u;
    uint i_5 = 0u;
    i_4 = lane_1;
    while (true) {
        const uint _e4 = i_4;
        const uint _e7 = (*params).key_length;
        if (!(_e4 < (_e7 / 4u))) {
            break;
        }
        {
            const uint _e13 = i_4;
            const float4 v_1 = (*turned).e[64u + _e13];
            const uint _e20 = (*params).key_length;
            const uint _e24 = i_4;
            keys_1[(line_1 * (_e20 / 4u)) + _e24] = (uint2)(roci_pack2x16float(v_1.xy), roci_pack2x16float(v_1.zw));
        }
        const uint _e32 = i_4;
        i_4 = _e32 + 128u;
    }
    i_5 = lane_1;
    while (true) {
        const uint _e36 = i_5;
        const uint _e39 = (*params).value_length;
        if (!(_e36 < (_e39 / 4u))) {
            break;
        }
        {
            const uint _e43 = i_5;
            const uint source = value_at + (_e43 * 4u);
            const float _e49 = qkv[source];
            const float _e54 = qkv[source + 1u];
            const uint low = roci_pack2x16float((float2)(_e49, _e54));
            const uint _e60 = (*params).value_length;
            const uint _e64 = i_5;
            const float _e71 = qkv[source + 2u];
            const float _e76 = qkv[source + 3u];
            values[(line_1 * (_e60 / 4u)) + _e64] = (uint2)(low, roci_pack2x16float((float2)(_e71, _e76)));
        }
        const uint _e80 = i_5;
        i_5 = _e80 + 128u;
    }
}

ROCI_FN float4 key_four(uint line_2, uint four_1, private const Params *params, global uint2 *keys_1) {
    const uint _e5 = (*params).key_length;
    const uint2 two_1 = keys_1[(line_2 * (_e5 / 4u)) + four_1];
    return (float4)(roci_unpack2x16float(two_1.x), roci_unpack2x16float(two_1.y));
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_attend_f16(global const uint *inputs, global const float *norms, global const float2 *rotations, global const float *qkv, global uint2 *keys_1, global uint2 *values, global float *y, Params params) {
    local array128_float4_ turned;
    local array32_float4_ scores;
    local array128_float weights;
    local array128_uint lines;
    local array128_float4_ sums;
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
    bool local_2 = false;
    bool local_3 = false;
    float4 sum = (float4)(0.0f);
    float total = 0.0f;
    float greatest = (-3e38f);
    uint first = 0u;
    float score = 0.0f;
    uint i_1 = 0u;
    uint i_2 = 0u;
    float4 tops = (float4)(0.0f);
    uint i_3 = 0u;
    uint k = 0u;
    uint t = 1u;
    uint at = 0u;
    const uint token = group.x;
    const uint _e5 = params.heads;
    const uint _e8 = params.kv_heads;
    const uint shared_by = roci_div_u32(_e5, _e8);
    const uint kv_head = roci_div_u32(group.y, shared_by);
    const uint position_1 = inputs[token];
    const uint _e18 = params.tokens;
    const uint table = inputs[_e18 + token];
    const uint _e26 = params.window;
    if (_e26 != 0u) {
        const uint _e35 = params.window;
        local_ = (position_1 + 1u) > _e35;
    } else {
        local_ = false;
    }
    const bool _e38 = local_;
    if (_e38) {
        const uint _e43 = params.window;
        begin = (position_1 + 1u) - _e43;
    }
    const uint _e47 = begin;
    const uint seen = (position_1 + 1u) - _e47;
    const uint _e51 = params.splits;
    const uint _e59 = params.splits;
    const uint each = roci_div_u32((seen + (_e51 * 128u)) - 1u, _e59 * 128u) * 128u;
    const uint _e65 = begin;
    const uint start = _e65 + min(group.z * each, seen);
    const uint _e71 = begin;
    const uint end = min(start + each, _e71 + seen);
    const uint _e76 = params.stride;
    const uint base = token * _e76;
    const uint half_lane = lane % 64u;
    const bool is_key = lane >= 64u;
    const uint _e85 = params.heads;
    const uint _e90 = params.key_length;
    const uint source_1 = base + ((is_key ? (_e85 + kv_head) : group.y) * _e90);
    const uint _e97 = params.flags;
    if ((_e97 & 1u) != 0u) {
        c = half_lane;
        while (true) {
            const uint _e105 = c;
            const uint _e108 = params.key_length;
            if (!(_e105 < _e108)) {
                break;
            }
            {
                const float _e110 = squares;
                const uint _e112 = c;
                const float _e115 = qkv[source_1 + _e112];
                const uint _e117 = c;
                const float _e120 = qkv[source_1 + _e117];
                squares = _e110 + (_e115 * _e120);
            }
            const uint _e123 = c;
            c = _e123 + 64u;
        }
        const float _e128 = squares;
        totals.e[lane] = _e128;
        roci_barrier_workgroup();
        squares = 0.0f;
        while (true) {
            const uint _e132 = i;
            if (!(_e132 < 64u)) {
                break;
            }
            {
                const float _e135 = squares;
                const uint _e139 = i;
                const float _e142 = totals.e[(lane & 64u) + _e139];
                squares = _e135 + _e142;
            }
            const uint _e144 = i;
            i = _e144 + 1u;
        }
        const float _e147 = squares;
        const uint _e150 = params.key_length;
        const float _e155 = params.epsilon;
        factor = 1.0f / sqrt((_e147 / ((float)_e150)) + _e155);
    }
    pair = half_lane;
    while (true) {
        const uint _e161 = pair;
        const uint _e164 = params.key_length;
        if (!(_e161 < (_e164 / 2u))) {
            break;
        }
        {
            const uint _e169 = pair;
            one = 2u * _e169;
            const uint _e172 = one;
            other = _e172 + 1u;
            const uint _e176 = pair;
            const uint _e179 = params.pairs;
            if (_e176 < _e179) {
                const uint _e185 = params.flags;
                local_1 = (_e185 & 2u) == 0u;
            } else {
                local_1 = false;
            }
            const bool _e191 = local_1;
            if (_e191) {
                const uint _e192 = pair;
                one = _e192;
                const uint _e193 = pair;
                const uint _e196 = params.pairs;
                other = _e193 + _e196;
            }
            const uint _e199 = one;
            const float _e202 = qkv[source_1 + _e199];
            const uint _e204 = other;
            const float _e207 = qkv[source_1 + _e204];
            v = (float2)(_e202, _e207);
            const uint _e212 = params.flags;
            if ((_e212 & 1u) != 0u) {
                const uint _e220 = params.key_length;
                const uint weights_at = is_key ? _e220 : 0u;
                const float2 _e222 = v;
                const float _e223 = factor;
                const uint _e225 = one;
                const float _e228 = norms[weights_at + _e225];
                const uint _e230 = other;
                const float _e233 = norms[weights_at + _e230];
                v = _e222 * (_e223 * ((float2)(_e228, _e233)));
            }
            const uint _e237 = pair;
            const uint _e240 = params.pairs;
            if (_e237 < _e240) {
                const uint _e245 = params.pairs;
                const uint _e247 = pair;
                const float2 turn = rotations[(position_1 * _e245) + _e247];
                const float _e252 = v.x;
                const float _e256 = v.y;
                const float _e261 = v.x;
                const float _e265 = v.y;
                v = (float2)((_e252 * turn.x) - (_e256 * turn.y), (_e261 * turn.y) + (_e265 * turn.x));
            }
            const float2 _e270 = v;
            const float _e273 = params.scale;
            v = _e270 * (is_key ? 1.0f : _e273);
            const uint to = lane & 64u;
            const uint _e280 = one;
            const uint _e285 = one;
            const float _e290 = v.x;
            ((local float *)&turned.e[to + (_e280 / 4u)])[_e285 % 4u] = _e290;
            const uint _e292 = other;
            const uint _e297 = other;
            const float _e302 = v.y;
            ((local float *)&turned.e[to + (_e292 / 4u)])[_e297 % 4u] = _e302;
        }
        const uint _e303 = pair;
        pair = _e303 + 64u;
    }
    const uint _e308 = params.value_length;
    const uint value_fours = _e308 / 4u;
    const uint teams = roci_div_u32(128u, value_fours);
    const uint team = roci_div_u32(lane, value_fours);
    const uint d_1 = roci_mod_u32(lane, value_fours);
    const uint _e317 = params.heads;
    const uint _e320 = params.kv_heads;
    const uint _e324 = params.key_length;
    const uint _e329 = params.value_length;
    const uint value_at_1 = (base + ((_e317 + _e320) * _e324)) + (kv_head * _e329);
    const float4 own_value = four_of(value_at_1 + (d_1 * 4u), qkv);
    roci_barrier_workgroup();
    if (end == (position_1 + 1u)) {
        local_2 = roci_mod_u32(group.y, shared_by) == 0u;
    } else {
        local_2 = false;
    }
    const bool _e346 = local_2;
    if (_e346) {
        local_3 = start < end;
    } else {
        local_3 = false;
    }
    const bool _e351 = local_3;
    if (_e351) {
        const uint _e355 = params.page;
        const uint page = inputs[table + roci_div_u32(position_1, _e355)];
        const uint _e362 = params.page;
        const uint _e366 = params.page;
        const uint _e371 = params.kv_heads;
        const uint line_3 = (((page * _e362) + roci_mod_u32(position_1, _e366)) * _e371) + kv_head;
        keep(line_3, value_at_1, lane, &params, qkv, keys_1, values, &turned);
    }
    const uint _e376 = params.key_length;
    const uint key_fours = _e376 / 4u;
    first = start;
    while (true) {
        const uint _e386 = first;
        if (!(_e386 < end)) {
            break;
        }
        {
            const uint _e389 = first;
            const uint count = min(128u, end - _e389);
            const uint _e392 = first;
            const uint own_1 = min(_e392 + lane, end - 1u);
            const uint _e400 = params.page;
            const uint page_1 = inputs[table + roci_div_u32(own_1, _e400)];
            const uint _e407 = params.page;
            const uint _e411 = params.page;
            const uint _e416 = params.kv_heads;
            const uint line_4 = (((page_1 * _e407) + roci_mod_u32(own_1, _e411)) * _e416) + kv_head;
            score = 0.0f;
            if (own_1 == position_1) {
                i_1 = 0u;
                while (true) {
                    const uint _e424 = i_1;
                    if (!(_e424 < key_fours)) {
                        break;
                    }
                    {
                        const float _e426 = score;
                        const uint _e429 = i_1;
                        const float4 _e432 = turned.e[64u + _e429];
                        const uint _e434 = i_1;
                        const float4 _e436 = turned.e[_e434];
                        score = _e426 + roci_dot_float4(_e432, _e436);
                    }
                    const uint _e439 = i_1;
                    i_1 = _e439 + 1u;
                }
            } else {
                i_2 = 0u;
                while (true) {
                    const uint _e444 = i_2;
                    if (!(_e444 < key_fours)) {
                        break;
                    }
                    {
                        const uint _e446 = i_2;
                        const float4 k0_ = key_four(line_4, _e446, &params, keys_1);
                        const uint _e448 = i_2;
                        const float4 k1_ = key_four(line_4, _e448 + 1u, &params, keys_1);
                        const uint _e452 = i_2;
                        const float4 k2_ = key_four(line_4, _e452 + 2u, &params, keys_1);
                        const uint _e456 = i_2;
                        const float4 k3_ = key_four(line_4, _e456 + 3u, &params, keys_1);
                        const uint _e460 = i_2;
                        const float4 k4_ = key_four(line_4, _e460 + 4u, &params, keys_1);
                        const uint _e464 = i_2;
                        const float4 k5_ = key_four(line_4, _e464 + 5u, &params, keys_1);
                        const uint _e468 = i_2;
                        const float4 k6_ = key_four(line_4, _e468 + 6u, &params, keys_1);
                        const uint _e472 = i_2;
                        const float4 k7_ = key_four(line_4, _e472 + 7u, &params, keys_1);
                        const float _e476 = score;
                        const uint _e478 = i_2;
                        const float4 _e480 = turned.e[_e478];
                        const uint _e483 = i_2;
                        const float4 _e487 = turned.e[_e483 + 1u];
                        const uint _e491 = i_2;
                        const float4 _e495 = turned.e[_e491 + 2u];
                        const uint _e498 = i_2;
                        const float4 _e502 = turned.e[_e498 + 3u];
                        score = _e476 + ((roci_dot_float4(k0_, _e480) + roci_dot_float4(k1_, _e487)) + (roci_dot_float4(k2_, _e495) + roci_dot_float4(k3_, _e502)));
                        const float _e507 = score;
                        const uint _e509 = i_2;
                        const float4 _e513 = turned.e[_e509 + 4u];
                        const uint _e516 = i_2;
                        const float4 _e520 = turned.e[_e516 + 5u];
                        const uint _e524 = i_2;
                        const float4 _e528 = turned.e[_e524 + 6u];
                        const uint _e531 = i_2;
                        const float4 _e535 = turned.e[_e531 + 7u];
                        score = _e507 + ((roci_dot_float4(k4_, _e513) + roci_dot_float4(k5_, _e520)) + (roci_dot_float4(k6_, _e528) + roci_dot_float4(k7_, _e535)));
                    }
                    const uint _e540 = i_2;
                    i_2 = _e540 + 8u;
                }
            }
            const float _e545 = params.soft_cap;
            if (_e545 > 0.0f) {
                const float _e550 = params.soft_cap;
                const float _e551 = score;
                const float _e554 = params.soft_cap;
                score = _e550 * tanh(fmin(fmax(_e551 / _e554, -15.0f), 15.0f));
            }
            lines.e[lane] = (own_1 == position_1) ? 0u : line_4;
            const float _e573 = score;
            ((local float *)&scores.e[lane / 4u])[lane % 4u] = (lane < count) ? _e573 : (-3e38f);
            roci_barrier_workgroup();
            const float _e577 = greatest;
            tops = (float4)(_e577);
            i_3 = 0u;
            while (true) {
                const uint _e582 = i_3;
                if (!(_e582 < 32u)) {
                    break;
                }
                {
                    const float4 _e585 = tops;
                    const uint _e587 = i_3;
                    const float4 _e589 = scores.e[_e587];
                    const uint _e591 = i_3;
                    const float4 _e595 = scores.e[_e591 + 1u];
                    const uint _e599 = i_3;
                    const float4 _e603 = scores.e[_e599 + 2u];
                    const uint _e605 = i_3;
                    const float4 _e609 = scores.e[_e605 + 3u];
                    tops = fmax(fmax(_e585, fmax(_e589, _e595)), fmax(_e603, _e609));
                }
                const uint _e612 = i_3;
                i_3 = _e612 + 4u;
            }
            const float _e616 = tops.x;
            const float _e618 = tops.y;
            const float _e621 = tops.z;
            const float _e623 = tops.w;
            const float top = fmax(fmax(_e616, _e618), fmax(_e621, _e623));
            const float _e626 = greatest;
            const float carried = exp(_e626 - top);
            greatest = top;
            const float4 _e629 = sum;
            sum = _e629 * carried;
            const float _e631 = total;
            total = _e631 * carried;
            const float _e635 = score;
            weights.e[lane] = (lane < count) ? exp(_e635 - top) : 0.0f;
            roci_barrier_workgroup();
            if (team < teams) {
                k = team;
                while (true) {
                    const uint _e643 = k;
                    if (!(_e643 < count)) {
                        break;
                    }
                    {
                        const uint _e645 = k;
                        const uint _e646 = k;
                        const uint _e648 = k;
                        const uint _e652 = k;
                        const uint4 near = (uint4)(_e645, _e646 + teams, _e648 + (2u * teams), _e652 + (3u * teams));
                        const uint4 far = near + ((uint4)((4u * teams)));
                        const uint4 safe_1 = min(near, (uint4)(127u));
                        const uint4 last = min(far, (uint4)(127u));
                        const uint _e668 = first;
                        const float4 v0_ = value_of(safe_1.x, _e668, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e671 = first;
                        const float4 v1_ = value_of(safe_1.y, _e671, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e674 = first;
                        const float4 v2_ = value_of(safe_1.z, _e674, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e677 = first;
                        const float4 v3_ = value_of(safe_1.w, _e677, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e680 = first;
                        const float4 v4_ = value_of(last.x, _e680, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e683 = first;
                        const float4 v5_ = value_of(last.y, _e683, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e686 = first;
                        const float4 v6_ = value_of(last.z, _e686, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e689 = first;
                        const float4 v7_ = value_of(last.w, _e689, position_1, d_1, own_value, &params, values, &lines);
                        const float4 w = weights_of(safe_1, near, &weights);
                        const float4 more = weights_of(last, far, &weights);
                        const float4 _e693 = sum;
                        sum = _e693 + (((w.x * v0_) + (w.y * v1_)) + ((w.z * v2_) + (w.w * v3_)));
                        const float4 _e706 = sum;
                        sum = _e706 + (((more.x * v4_) + (more.y * v5_)) + ((more.z * v6_) + (more.w * v7_)));
                        const float _e719 = total;
                        total = _e719 + (((w.x + w.y) + (w.z + w.w)) + ((more.x + more.y) + (more.z + more.w)));
                    }
                    const uint _e736 = k;
                    k = _e736 + (8u * teams);
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e740 = first;
        first = _e740 + 128u;
    }
    const float4 _e745 = sum;
    sums.e[lane] = _e745;
    const float _e748 = total;
    totals.e[lane] = _e748;
    roci_barrier_workgroup();
    if (team == 0u) {
        while (true) {
            const uint _e753 = t;
            if (!(_e753 < teams)) {
                break;
            }
            {
                const float4 _e755 = sum;
                const uint _e757 = t;
                const float4 _e761 = sums.e[(_e757 * value_fours) + d_1];
                sum = _e755 + _e761;
                const float _e763 = total;
                const uint _e765 = t;
                const float _e769 = totals.e[(_e765 * value_fours) + d_1];
                total = _e763 + _e769;
            }
            const uint _e771 = t;
            t = _e771 + 1u;
        }
        const uint _e776 = params.y_stride;
        const uint _e781 = params.value_length;
        at = (token * _e776) + (group.y * _e781);
        const uint _e787 = params.splits;
        if (_e787 == 1u) {
            const float4 _e790 = sum;
            const float _e791 = total;
            sum = _e790 / ((float4)(_e791));
        } else {
            const uint _e796 = params.heads;
            const uint _e802 = params.splits;
            const uint _e808 = params.value_length;
            at = ((((token * _e796) + group.y) * _e802) + group.z) * (_e808 + 2u);
            if (d_1 == 0u) {
                const uint _e815 = at;
                const uint _e818 = params.value_length;
                const float _e821 = greatest;
                y[_e815 + _e818] = _e821;
                const uint _e823 = at;
                const uint _e826 = params.value_length;
                const float _e831 = total;
                y[(_e823 + _e826) + 1u] = _e831;
            }
        }
        const uint _e833 = at;
        const float _e839 = sum.x;
        y[_e833 + (d_1 * 4u)] = _e839;
        const uint _e841 = at;
        const float _e849 = sum.y;
        y[(_e841 + (d_1 * 4u)) + 1u] = _e849;
        const uint _e851 = at;
        const float _e859 = sum.z;
        y[(_e851 + (d_1 * 4u)) + 2u] = _e859;
        const uint _e861 = at;
        const float _e869 = sum.w;
        y[(_e861 + (d_1 * 4u)) + 3u] = _e869;
        return;
    } else {
        return;
    }
}
