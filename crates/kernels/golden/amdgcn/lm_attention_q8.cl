// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

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
typedef struct { float4 e[512]; } array512_float4_;
typedef struct { float e[1040]; } array1040_float;
typedef struct { float e[128]; } array128_float;
typedef struct { float e[16]; } array16_float;
typedef struct { uint e[16]; } array16_uint;
typedef struct { uint e[64]; } array64_uint;

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
ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

ROCI_FN float seen_score(float score, uint row, uint rows, uint position, uint end, private const Params *params, local array16_uint *places) {
    float capped = 0.0f;
    bool local_1 = false;
    bool local_2 = false;
    bool sees = false;
    bool local_3 = false;
    capped = score;
    const float _e8 = (*params).soft_cap;
    if (_e8 > 0.0f) {
        const float _e13 = (*params).soft_cap;
        const float _e16 = (*params).soft_cap;
        capped = _e13 * roci_tanh(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(score / _e16, -15.0f), 15.0f));
    }
    if (position < end) {
        const uint _e28 = (*places).e[row];
        local_1 = position <= _e28;
    } else {
        local_1 = false;
    }
    const bool _e31 = local_1;
    if (_e31) {
        local_2 = row < rows;
    } else {
        local_2 = false;
    }
    const bool _e36 = local_2;
    sees = _e36;
    const uint _e40 = (*params).window;
    if (_e40 != 0u) {
        const bool _e43 = sees;
        if (_e43) {
            const uint _e48 = (*params).window;
            const uint _e52 = (*places).e[row];
            local_3 = (position + _e48) > _e52;
        } else {
            local_3 = false;
        }
        const bool _e55 = local_3;
        sees = _e55;
    }
    const float _e56 = capped;
    const bool _e57 = sees;
    return _e57 ? _e56 : (-3e38f);
}

ROCI_FN void put(uint row_1, uint d, float4 sum, uint first_token, uint first_row, uint3 group_1, private const Params *params, global float *y, local array16_float *greatest, local array16_float *totals) {
    uint at = 0u;
    float4 v = (float4)(0.0f);
    const uint _e8 = (*params).heads;
    const uint _e11 = (*params).kv_heads;
    const uint shared_by = roci_div_u32(_e8, _e11);
    const uint token = first_token + roci_div_u32(first_row + row_1, shared_by);
    const uint head = (group_1.y * shared_by) + roci_mod_u32(first_row + row_1, shared_by);
    const uint _e23 = (*params).y_stride;
    const uint _e27 = (*params).value_length;
    at = (token * _e23) + (head * _e27);
    v = sum;
    const uint _e34 = (*params).splits;
    if (_e34 == 1u) {
        const float _e39 = (*totals).e[row_1];
        v = sum / ((float4)(_e39));
    } else {
        const uint _e44 = (*params).heads;
        const uint _e49 = (*params).splits;
        const uint _e55 = (*params).value_length;
        at = ((((token * _e44) + head) * _e49) + group_1.z) * (_e55 + 2u);
        if (d == 0u) {
            const uint _e62 = at;
            const uint _e65 = (*params).value_length;
            const float _e70 = (*greatest).e[row_1];
            y[_e62 + _e65] = _e70;
            const uint _e72 = at;
            const uint _e75 = (*params).value_length;
            const float _e82 = (*totals).e[row_1];
            y[(_e72 + _e75) + 1u] = _e82;
        }
    }
    const uint _e84 = at;
    const float _e90 = v.x;
    y[_e84 + (d * 4u)] = _e90;
    const uint _e92 = at;
    const float _e100 = v.y;
    y[(_e92 + (d * 4u)) + 1u] = _e100;
    const uint _e102 = at;
    const float _e110 = v.z;
    y[(_e102 + (d * 4u)) + 2u] = _e110;
    const uint _e112 = at;
    const float _e120 = v.w;
    y[(_e112 + (d * 4u)) + 3u] = _e120;
}

ROCI_FN float4 key_four(uint line, uint four, private const Params *params, global const uint *keys) {
    const uint _e4 = (*params).key_length;
    const uint _e9 = (*params).key_length;
    const uint start = line * ((_e4 / 4u) + (_e9 / 32u));
    const uint _e17 = keys[start + four];
    const uint _e23 = (*params).key_length;
    const uint _e31 = keys[(start + (_e23 / 4u)) + (four / 8u)];
    return __builtin_convertvector(roci_unpack4xI8(_e17), float4) * as_float(_e31);
}

ROCI_FN float4 value_four(uint line_1, uint four_1, private const Params *params, global const uint *values) {
    const uint _e4 = (*params).value_length;
    const uint _e9 = (*params).value_length;
    const uint start_1 = line_1 * ((_e4 / 4u) + (_e9 / 32u));
    const uint _e17 = values[start_1 + four_1];
    const uint _e23 = (*params).value_length;
    const uint _e31 = values[(start_1 + (_e23 / 4u)) + (four_1 / 8u)];
    return __builtin_convertvector(roci_unpack4xI8(_e17), float4) * as_float(_e31);
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_attention_q8(global const uint *inputs, global const float *q, global const uint *keys, global const uint *values, global float *y, Params params) {
    local array512_float4_ queries;
    local array1040_float weights;
    local array128_float tops;
    local array128_float adds;
    local array16_float factors;
    local array16_float greatest;
    local array16_float totals;
    local array16_uint places;
    local array64_uint lines;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint begin = 0u;
    bool local_ = false;
    uint i = 0u;
    float4 sum0_ = (float4)(0.0f);
    float4 sum1_ = (float4)(0.0f);
    float4 sum2_ = (float4)(0.0f);
    float4 sum3_ = (float4)(0.0f);
    uint first = 0u;
    float4 near_dots = (float4)(0.0f);
    float4 far_dots = (float4)(0.0f);
    uint i_1 = 0u;
    uint i_2 = 0u;
    float top = 0.0f;
    uint k = 0u;
    float top_1 = 0.0f;
    uint i_3 = 0u;
    float add = 0.0f;
    uint k_1 = 0u;
    float top_2 = 0.0f;
    float add_1 = 0.0f;
    uint i_4 = 0u;
    uint k_2 = 0u;
    const uint _e4 = params.heads;
    const uint _e7 = params.kv_heads;
    const uint shared_by_1 = roci_div_u32(_e4, _e7);
    const uint _e11 = params.key_length;
    const uint _e14 = params.value_length;
    const uint longest = __builtin_elementwise_max(_e11, _e14);
    const uint most = (longest <= 128u) ? 16u : ((longest <= 256u) ? 8u : 4u);
    const uint _e27 = params.block;
    const uint groups = roci_div_u32(((_e27 * shared_by_1) + most) - 1u, most);
    const uint block = roci_div_u32(group.x, groups);
    const uint _e39 = params.tokens;
    const uint first_token_1 = inputs[(2u * _e39) + (2u * block)];
    const uint _e50 = params.tokens;
    const uint count = inputs[((2u * _e50) + (2u * block)) + 1u];
    const uint first_row_1 = roci_mod_u32(group.x, groups) * most;
    const uint rows_1 = __builtin_elementwise_min((count * shared_by_1) - __builtin_elementwise_min(first_row_1, count * shared_by_1), most);
    const uint _e70 = params.tokens;
    const uint table = inputs[_e70 + first_token_1];
    const uint last_position = inputs[first_token_1 + roci_div_u32((__builtin_elementwise_min(first_row_1, (count * shared_by_1) - 1u) + __builtin_elementwise_max(rows_1, 1u)) - 1u, shared_by_1)];
    const uint first_position = inputs[first_token_1 + roci_div_u32(__builtin_elementwise_min(first_row_1, (count * shared_by_1) - 1u), shared_by_1)];
    const uint _e101 = params.window;
    if (_e101 != 0u) {
        const uint _e110 = params.window;
        local_ = (first_position + 1u) > _e110;
    } else {
        local_ = false;
    }
    const bool _e113 = local_;
    if (_e113) {
        const uint _e118 = params.window;
        begin = (first_position + 1u) - _e118;
    }
    const uint _e122 = begin;
    const uint seen = (last_position + 1u) - _e122;
    const uint _e126 = params.splits;
    const uint _e134 = params.splits;
    const uint each = roci_div_u32((seen + (_e126 * 64u)) - 1u, _e134 * 64u) * 64u;
    const uint _e140 = begin;
    const uint start_2 = _e140 + __builtin_elementwise_min(group.z * each, seen);
    const uint _e146 = begin;
    const uint end_1 = (rows_1 > 0u) ? __builtin_elementwise_min(start_2 + each, _e146 + seen) : start_2;
    if (lane < 16u) {
        greatest.e[lane] = -3e38f;
        totals.e[lane] = 0.0f;
        const uint _e170 = inputs[first_token_1 + __builtin_elementwise_min(roci_div_u32(first_row_1 + lane, shared_by_1), count - 1u)];
        places.e[lane] = _e170;
    }
    const uint _e173 = params.key_length;
    const uint key_fours = _e173 / 4u;
    i = lane;
    while (true) {
        const uint _e177 = i;
        if (!(_e177 < (most * key_fours))) {
            break;
        }
        {
            const uint _e180 = i;
            const uint row_2 = first_row_1 + __builtin_elementwise_min(roci_div_u32(_e180, key_fours), __builtin_elementwise_max(rows_1, 1u) - 1u);
            const uint _e195 = params.q_stride;
            const uint _e203 = params.key_length;
            const uint _e206 = i;
            const uint source = (((first_token_1 + __builtin_elementwise_min(roci_div_u32(row_2, shared_by_1), count - 1u)) * _e195) + (((group.y * shared_by_1) + roci_mod_u32(row_2, shared_by_1)) * _e203)) + (roci_mod_u32(_e206, key_fours) * 4u);
            const uint _e212 = i;
            const float _e216 = q[source];
            const float _e221 = q[source + 1u];
            const float _e226 = q[source + 2u];
            const float _e231 = q[source + 3u];
            const float _e235 = params.scale;
            queries.e[_e212] = ((float4)(_e216, _e221, _e226, _e231)) * _e235;
        }
        const uint _e237 = i;
        i = _e237 + 128u;
    }
    const uint near = (lane / 16u) * 2u;
    const uint key = lane % 16u;
    const uint near_row = __builtin_elementwise_min(near, most - 1u) * key_fours;
    const uint far_row = __builtin_elementwise_min(near + 1u, most - 1u) * key_fours;
    const uint _e258 = params.value_length;
    const uint value_fours = _e258 / 4u;
    const uint teams = roci_div_u32(128u, value_fours);
    const uint team = roci_div_u32(lane, value_fours);
    const uint d_1 = roci_mod_u32(lane, value_fours);
    const uint own = roci_div_u32((most + teams) - 1u, teams);
    const uint mine = team * own;
    first = start_2;
    while (true) {
        const uint _e279 = first;
        if (!(_e279 < end_1)) {
            break;
        }
        {
            roci_barrier_workgroup();
            if (lane < 64u) {
                const uint _e283 = first;
                const uint position_1 = __builtin_elementwise_min(_e283 + lane, end_1 - 1u);
                const uint _e291 = params.page;
                const uint page = inputs[table + roci_div_u32(position_1, _e291)];
                const uint _e300 = params.page;
                const uint _e304 = params.page;
                const uint _e309 = params.kv_heads;
                lines.e[lane] = (((page * _e300) + roci_mod_u32(position_1, _e304)) * _e309) + group.y;
            }
            roci_barrier_workgroup();
            if (near < most) {
                const uint line0_ = lines.e[key];
                const uint line1_ = lines.e[key + 16u];
                const uint line2_ = lines.e[key + 32u];
                const uint line3_ = lines.e[key + 48u];
                near_dots = (float4)(0.0f);
                far_dots = (float4)(0.0f);
                i_1 = 0u;
                while (true) {
                    const uint _e338 = i_1;
                    if (!(_e338 < key_fours)) {
                        break;
                    }
                    {
                        const uint _e340 = i_1;
                        const float4 k0_ = key_four(line0_, _e340, &params, keys);
                        const uint _e342 = i_1;
                        const float4 k1_ = key_four(line1_, _e342, &params, keys);
                        const uint _e344 = i_1;
                        const float4 k2_ = key_four(line2_, _e344, &params, keys);
                        const uint _e346 = i_1;
                        const float4 k3_ = key_four(line3_, _e346, &params, keys);
                        const uint _e349 = i_1;
                        const float4 a = queries.e[near_row + _e349];
                        const uint _e354 = i_1;
                        const float4 b = queries.e[far_row + _e354];
                        const float4 _e358 = near_dots;
                        near_dots = _e358 + ((float4)(roci_dot_float4(k0_, a), roci_dot_float4(k1_, a), roci_dot_float4(k2_, a), roci_dot_float4(k3_, a)));
                        const float4 _e365 = far_dots;
                        far_dots = _e365 + ((float4)(roci_dot_float4(k0_, b), roci_dot_float4(k1_, b), roci_dot_float4(k2_, b), roci_dot_float4(k3_, b)));
                    }
                    const uint _e372 = i_1;
                    i_1 = _e372 + 1u;
                }
                i_2 = 0u;
                while (true) {
                    const uint _e377 = i_2;
                    if (!(_e377 < 4u)) {
                        break;
                    }
                    {
                        const uint _e380 = first;
                        const uint _e382 = i_2;
                        const uint position_2 = (_e380 + key) + (_e382 * 16u);
                        const uint _e390 = i_2;
                        const uint _e395 = i_2;
                        const float _e397 = ((private float *)&near_dots)[_e395];
                        const float _e398 = seen_score(_e397, near, rows_1, position_2, end_1, &params, &places);
                        weights.e[((near * 65u) + key) + (_e390 * 16u)] = _e398;
                        const uint _e405 = i_2;
                        const uint _e410 = i_2;
                        const float _e412 = ((private float *)&far_dots)[_e410];
                        const float _e415 = seen_score(_e412, near + 1u, rows_1, position_2, end_1, &params, &places);
                        weights.e[(((near + 1u) * 65u) + key) + (_e405 * 16u)] = _e415;
                    }
                    const uint _e416 = i_2;
                    i_2 = _e416 + 1u;
                }
            }
            roci_barrier_workgroup();
            const uint row_3 = lane / 8u;
            const uint source_1 = (row_3 * 65u) + (lane % 8u);
            if (row_3 < most) {
                const float _e429 = weights.e[source_1];
                top = _e429;
                k = 8u;
                while (true) {
                    const uint _e433 = k;
                    if (!(_e433 < 64u)) {
                        break;
                    }
                    {
                        const float _e436 = top;
                        const uint _e438 = k;
                        const float _e441 = weights.e[source_1 + _e438];
                        top = __builtin_elementwise_maxnum(_e436, _e441);
                    }
                    const uint _e443 = k;
                    k = _e443 + 8u;
                }
                const float _e448 = top;
                tops.e[lane] = _e448;
            }
            roci_barrier_workgroup();
            if (row_3 < most) {
                const float _e452 = greatest.e[row_3];
                top_1 = _e452;
                i_3 = 0u;
                while (true) {
                    const uint _e456 = i_3;
                    if (!(_e456 < 8u)) {
                        break;
                    }
                    {
                        const float _e459 = top_1;
                        const uint _e463 = i_3;
                        const float _e466 = tops.e[(row_3 * 8u) + _e463];
                        top_1 = __builtin_elementwise_maxnum(_e459, _e466);
                    }
                    const uint _e468 = i_3;
                    i_3 = _e468 + 1u;
                }
                add = 0.0f;
                k_1 = 0u;
                while (true) {
                    const uint _e475 = k_1;
                    if (!(_e475 < 64u)) {
                        break;
                    }
                    {
                        const uint _e479 = k_1;
                        const float score_1 = weights.e[source_1 + _e479];
                        const float _e483 = top_1;
                        const float weight = (score_1 > (-3e38f)) ? __builtin_elementwise_exp(score_1 - _e483) : 0.0f;
                        const uint _e491 = k_1;
                        weights.e[source_1 + _e491] = weight;
                        const float _e494 = add;
                        add = _e494 + weight;
                    }
                    const uint _e496 = k_1;
                    k_1 = _e496 + 8u;
                }
                const float _e501 = add;
                adds.e[lane] = _e501;
            }
            roci_barrier_workgroup();
            if (lane < most) {
                const float _e505 = greatest.e[lane];
                top_2 = _e505;
                add_1 = 0.0f;
                i_4 = 0u;
                while (true) {
                    const uint _e511 = i_4;
                    if (!(_e511 < 8u)) {
                        break;
                    }
                    {
                        const float _e514 = top_2;
                        const uint _e518 = i_4;
                        const float _e521 = tops.e[(lane * 8u) + _e518];
                        top_2 = __builtin_elementwise_maxnum(_e514, _e521);
                        const float _e523 = add_1;
                        const uint _e527 = i_4;
                        const float _e530 = adds.e[(lane * 8u) + _e527];
                        add_1 = _e523 + _e530;
                    }
                    const uint _e532 = i_4;
                    i_4 = _e532 + 1u;
                }
                const float _e537 = greatest.e[lane];
                const float _e538 = top_2;
                const float factor = __builtin_elementwise_exp(_e537 - _e538);
                factors.e[lane] = factor;
                const float _e545 = top_2;
                greatest.e[lane] = _e545;
                const float _e550 = totals.e[lane];
                const float _e552 = add_1;
                totals.e[lane] = (_e550 * factor) + _e552;
            }
            roci_barrier_workgroup();
            if (mine < most) {
                const uint row1_ = __builtin_elementwise_min(mine + 1u, most - 1u);
                const uint row2_ = __builtin_elementwise_min(mine + 2u, most - 1u);
                const uint row3_ = __builtin_elementwise_min(mine + 3u, most - 1u);
                const float4 _e570 = sum0_;
                const float _e573 = factors.e[mine];
                sum0_ = _e570 * _e573;
                const float4 _e575 = sum1_;
                const float _e578 = factors.e[row1_];
                sum1_ = _e575 * _e578;
                const float4 _e580 = sum2_;
                const float _e583 = factors.e[row2_];
                sum2_ = _e580 * _e583;
                const float4 _e585 = sum3_;
                const float _e588 = factors.e[row3_];
                sum3_ = _e585 * _e588;
                k_2 = 0u;
                while (true) {
                    const uint _e592 = k_2;
                    const uint _e594 = first;
                    if (!(_e592 < __builtin_elementwise_min(64u, end_1 - _e594))) {
                        break;
                    }
                    {
                        const uint _e599 = k_2;
                        const uint _e601 = lines.e[_e599];
                        const float4 v_1 = value_four(_e601, d_1, &params, values);
                        const float4 _e603 = sum0_;
                        const uint _e607 = k_2;
                        const float _e610 = weights.e[(mine * 65u) + _e607];
                        sum0_ = _e603 + (_e610 * v_1);
                        const float4 _e613 = sum1_;
                        const uint _e617 = k_2;
                        const float _e620 = weights.e[(row1_ * 65u) + _e617];
                        sum1_ = _e613 + (_e620 * v_1);
                        const float4 _e623 = sum2_;
                        const uint _e627 = k_2;
                        const float _e630 = weights.e[(row2_ * 65u) + _e627];
                        sum2_ = _e623 + (_e630 * v_1);
                        const float4 _e633 = sum3_;
                        const uint _e637 = k_2;
                        const float _e640 = weights.e[(row3_ * 65u) + _e637];
                        sum3_ = _e633 + (_e640 * v_1);
                    }
                    const uint _e643 = k_2;
                    k_2 = _e643 + 1u;
                }
            }
        }
        const uint _e646 = first;
        first = _e646 + 64u;
    }
    roci_barrier_workgroup();
    const uint stop = __builtin_elementwise_min(__builtin_elementwise_min(mine + own, most), rows_1);
    if (mine < stop) {
        const float4 _e653 = sum0_;
        put(mine, d_1, _e653, first_token_1, first_row_1, group, &params, y, &greatest, &totals);
    }
    if ((mine + 1u) < stop) {
        const float4 _e659 = sum1_;
        put(mine + 1u, d_1, _e659, first_token_1, first_row_1, group, &params, y, &greatest, &totals);
    }
    if ((mine + 2u) < stop) {
        const float4 _e665 = sum2_;
        put(mine + 2u, d_1, _e665, first_token_1, first_row_1, group, &params, y, &greatest, &totals);
    }
    if ((mine + 3u) < stop) {
        const float4 _e671 = sum3_;
        put(mine + 3u, d_1, _e671, first_token_1, first_row_1, group, &params, y, &greatest, &totals);
        return;
    } else {
        return;
    }
}
