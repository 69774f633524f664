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
} Params;
typedef struct { float e[1024]; } array1024_float;
typedef struct { float e[256]; } array256_float;
typedef struct { float e[8]; } array8_float;
typedef struct { uint e[32]; } array32_uint;
typedef struct { float2 e[8]; } array8_float2_;

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
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float2 key_pair(uint line, uint pair_1, private const Params *params, global const uint *keys) {
    const uint _e5 = (*params).key_length;
    const uint _e11 = keys[(line * (_e5 / 2u)) + pair_1];
    return roci_unpack2x16float(_e11);
}

ROCI_FN float2 value_pair(uint line_1, uint pair_2, private const Params *params, global const uint *values) {
    const uint _e5 = (*params).value_length;
    const uint _e11 = values[(line_1 * (_e5 / 2u)) + pair_2];
    return roci_unpack2x16float(_e11);
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_attention_f16(global const uint *inputs, global const float *q, global const uint *keys, global const uint *values, global float *y, Params params) {
    local array1024_float parts;
    local array256_float weights;
    local array8_float factors;
    local array8_float greatest;
    local array8_float totals;
    local array32_uint lines;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    uint begin = 0u;
    bool local_ = false;
    array8_float2_ sums = (array8_float2_){0};
    array8_float2_ more = (array8_float2_){0};
    uint first = 0u;
    array8_float dots = {0};
    uint pair = 0u;
    uint r = 0u;
    uint r_1 = 0u;
    uint i = 0u;
    float score = 0.0f;
    bool local_1 = false;
    bool local_2 = false;
    bool sees = false;
    bool local_3 = false;
    float most = 0.0f;
    uint k = 0u;
    uint i_1 = 0u;
    float total = 0.0f;
    uint k_1 = 0u;
    uint r_2 = 0u;
    uint k_2 = 0u;
    uint r_3 = 0u;
    bool local_4 = false;
    uint r_4 = 0u;
    uint r_5 = 0u;
    uint d = 0u;
    float sum = 0.0f;
    uint t = 0u;
    bool local_5 = false;
    const uint _e4 = params.heads;
    const uint _e7 = params.kv_heads;
    const uint shared_by = roci_div_u32(_e4, _e7);
    const uint _e11 = params.block;
    const uint groups = (((_e11 * shared_by) + 8u) - 1u) / 8u;
    const uint block = roci_div_u32(group.x, groups);
    const uint _e25 = params.tokens;
    const uint first_token = inputs[(2u * _e25) + (2u * block)];
    const uint _e36 = params.tokens;
    const uint count = inputs[((2u * _e36) + (2u * block)) + 1u];
    const uint first_row = roci_mod_u32(group.x, groups) * 8u;
    const uint rows = min((count * shared_by) - min(first_row, count * shared_by), 8u);
    const uint _e58 = params.tokens;
    const uint table = inputs[_e58 + first_token];
    const uint last_position = inputs[first_token + roci_div_u32((first_row + max(rows, 1u)) - 1u, shared_by)];
    const uint first_position = inputs[first_token + roci_div_u32(first_row, shared_by)];
    const uint _e81 = params.window;
    if (_e81 != 0u) {
        const uint _e90 = params.window;
        local_ = (first_position + 1u) > _e90;
    } else {
        local_ = false;
    }
    const bool _e93 = local_;
    if (_e93) {
        const uint _e98 = params.window;
        begin = (first_position + 1u) - _e98;
    }
    const uint _e102 = begin;
    const uint seen = (last_position + 1u) - _e102;
    const uint _e106 = params.splits;
    const uint _e114 = params.splits;
    const uint each = roci_div_u32((seen + (_e106 * 32u)) - 1u, _e114 * 32u) * 32u;
    const uint _e120 = begin;
    const uint start = _e120 + min(group.z * each, seen);
    const uint _e126 = begin;
    const uint end = min(start + each, _e126 + seen);
    if (lane < 8u) {
        greatest.e[lane] = -3e38f;
        totals.e[lane] = 0.0f;
    }
    const uint _e139 = params.value_length;
    const uint pairs = _e139 / 2u;
    const uint teams = max(roci_div_u32(128u, pairs), 1u);
    const uint team = roci_div_u32(lane, pairs);
    first = start;
    while (true) {
        const uint _e152 = first;
        if (!(_e152 < end)) {
            break;
        }
        {
            roci_barrier_workgroup();
            if (lane < 32u) {
                const uint _e156 = first;
                const uint position = min(_e156 + lane, end - 1u);
                const uint _e164 = params.page;
                const uint page = inputs[table + roci_div_u32(position, _e164)];
                const uint _e173 = params.page;
                const uint _e177 = params.page;
                const uint _e182 = params.kv_heads;
                lines.e[lane] = (((page * _e173) + roci_mod_u32(position, _e177)) * _e182) + group.y;
            }
            roci_barrier_workgroup();
            const uint key = lane / 4u;
            const uint line_2 = lines.e[key];
            dots = (array8_float){0};
            pair = lane % 4u;
            while (true) {
                const uint _e196 = pair;
                const uint _e199 = params.key_length;
                if (!(_e196 < (_e199 / 2u))) {
                    break;
                }
                {
                    const uint _e203 = pair;
                    const float2 k_3 = key_pair(line_2, _e203, &params, keys);
                    r = 0u;
                    while (true) {
                        const uint _e207 = r;
                        if (!(_e207 < 8u)) {
                            break;
                        }
                        {
                            const uint _e210 = r;
                            if (_e210 < rows) {
                                const uint _e212 = r;
                                const uint row = first_row + _e212;
                                const uint _e218 = params.q_stride;
                                const uint _e226 = params.key_length;
                                const uint _e229 = pair;
                                const uint at = (((first_token + roci_div_u32(row, shared_by)) * _e218) + (((group.y * shared_by) + roci_mod_u32(row, shared_by)) * _e226)) + (_e229 * 2u);
                                const uint _e233 = r;
                                const float _e235 = dots.e[_e233];
                                const float _e239 = q[at];
                                const float _e246 = q[at + 1u];
                                dots.e[_e233] = _e235 + ((k_3.x * _e239) + (k_3.y * _e246));
                            }
                        }
                        const uint _e250 = r;
                        r = _e250 + 1u;
                    }
                }
                const uint _e253 = pair;
                pair = _e253 + 4u;
            }
            r_1 = 0u;
            while (true) {
                const uint _e258 = r_1;
                if (!(_e258 < 8u)) {
                    break;
                }
                {
                    const uint _e262 = r_1;
                    const uint _e267 = r_1;
                    const float _e269 = dots.e[_e267];
                    parts.e[(_e262 * 128u) + lane] = _e269;
                }
                const uint _e270 = r_1;
                r_1 = _e270 + 1u;
            }
            roci_barrier_workgroup();
            i = lane;
            while (true) {
                const uint _e274 = i;
                if (!(_e274 < 256u)) {
                    break;
                }
                {
                    const uint _e277 = i;
                    const uint r_6 = _e277 / 32u;
                    const uint _e282 = i;
                    const uint base = (r_6 * 128u) + ((_e282 % 32u) * 4u);
                    const float _e290 = parts.e[base];
                    const float _e295 = parts.e[base + 1u];
                    const float _e301 = parts.e[base + 2u];
                    const float _e306 = parts.e[base + 3u];
                    const float _e311 = params.scale;
                    score = ((_e290 + _e295) + (_e301 + _e306)) * _e311;
                    const float _e316 = params.soft_cap;
                    if (_e316 > 0.0f) {
                        const float _e321 = params.soft_cap;
                        const float _e322 = score;
                        const float _e325 = params.soft_cap;
                        score = _e321 * tanh(fmin(fmax(_e322 / _e325, -15.0f), 15.0f));
                    }
                    const uint _e332 = first;
                    const uint _e333 = i;
                    const uint position_1 = _e332 + (_e333 % 32u);
                    const uint own = inputs[first_token + min(roci_div_u32(first_row + r_6, shared_by), count - 1u)];
                    if (position_1 < end) {
                        local_1 = position_1 <= own;
                    } else {
                        local_1 = false;
                    }
                    const bool _e351 = local_1;
                    if (_e351) {
                        local_2 = r_6 < rows;
                    } else {
                        local_2 = false;
                    }
                    const bool _e356 = local_2;
                    sees = _e356;
                    const uint _e360 = params.window;
                    if (_e360 != 0u) {
                        const bool _e363 = sees;
                        if (_e363) {
                            const uint _e368 = params.window;
                            local_3 = (position_1 + _e368) > own;
                        } else {
                            local_3 = false;
                        }
                        const bool _e372 = local_3;
                        sees = _e372;
                    }
                    const uint _e374 = i;
                    const float _e376 = score;
                    const bool _e377 = sees;
                    weights.e[_e374] = _e377 ? _e376 : (-3e38f);
                }
                const uint _e380 = i;
                i = _e380 + 128u;
            }
            roci_barrier_workgroup();
            if (lane < 8u) {
                const float _e387 = greatest.e[lane];
                most = _e387;
                k = 0u;
                while (true) {
                    const uint _e391 = k;
                    if (!(_e391 < 32u)) {
                        break;
                    }
                    {
                        const float _e394 = most;
                        const uint _e398 = k;
                        const float _e401 = weights.e[(lane * 32u) + _e398];
                        most = fmax(_e394, _e401);
                    }
                    const uint _e403 = k;
                    k = _e403 + 1u;
                }
                const float _e410 = greatest.e[lane];
                const float _e411 = most;
                factors.e[lane] = exp(_e410 - _e411);
                const float _e416 = most;
                greatest.e[lane] = _e416;
            }
            roci_barrier_workgroup();
            i_1 = lane;
            while (true) {
                const uint _e418 = i_1;
                if (!(_e418 < 256u)) {
                    break;
                }
                {
                    const uint _e422 = i_1;
                    const float score_1 = weights.e[_e422];
                    const uint _e426 = i_1;
                    const uint _e429 = i_1;
                    const float _e433 = greatest.e[_e429 / 32u];
                    weights.e[_e426] = (score_1 > (-3e38f)) ? exp(score_1 - _e433) : 0.0f;
                }
                const uint _e440 = i_1;
                i_1 = _e440 + 128u;
            }
            roci_barrier_workgroup();
            if (lane < 8u) {
                const float _e447 = totals.e[lane];
                const float _e450 = factors.e[lane];
                total = _e447 * _e450;
                k_1 = 0u;
                while (true) {
                    const uint _e455 = k_1;
                    if (!(_e455 < 32u)) {
                        break;
                    }
                    {
                        const float _e458 = total;
                        const uint _e462 = k_1;
                        const float _e465 = weights.e[(lane * 32u) + _e462];
                        total = _e458 + _e465;
                    }
                    const uint _e467 = k_1;
                    k_1 = _e467 + 1u;
                }
                const float _e472 = total;
                totals.e[lane] = _e472;
            }
            r_2 = 0u;
            while (true) {
                const uint _e475 = r_2;
                if (!(_e475 < 8u)) {
                    break;
                }
                {
                    const uint _e478 = r_2;
                    const float2 _e480 = sums.e[_e478];
                    const uint _e482 = r_2;
                    const float _e484 = factors.e[_e482];
                    sums.e[_e478] = _e480 * _e484;
                    const uint _e486 = r_2;
                    const float2 _e488 = more.e[_e486];
                    const uint _e490 = r_2;
                    const float _e492 = factors.e[_e490];
                    more.e[_e486] = _e488 * _e492;
                }
                const uint _e494 = r_2;
                r_2 = _e494 + 1u;
            }
            if (team < teams) {
                k_2 = team;
                while (true) {
                    const uint _e499 = k_2;
                    if (!(_e499 < 32u)) {
                        break;
                    }
                    {
                        const uint pair_3 = roci_mod_u32(lane, pairs);
                        const uint _e504 = k_2;
                        const uint _e506 = lines.e[_e504];
                        const float2 v = value_pair(_e506, pair_3, &params, values);
                        r_3 = 0u;
                        while (true) {
                            const uint _e510 = r_3;
                            if (!(_e510 < 8u)) {
                                break;
                            }
                            {
                                const uint _e513 = r_3;
                                const float2 _e515 = sums.e[_e513];
                                const uint _e517 = r_3;
                                const uint _e520 = k_2;
                                const float _e523 = weights.e[(_e517 * 32u) + _e520];
                                sums.e[_e513] = _e515 + (_e523 * v);
                            }
                            const uint _e526 = r_3;
                            r_3 = _e526 + 1u;
                        }
                        if (pairs > 128u) {
                            local_4 = (pair_3 + 128u) < pairs;
                        } else {
                            local_4 = false;
                        }
                        const bool _e537 = local_4;
                        if (_e537) {
                            const uint _e539 = k_2;
                            const uint _e541 = lines.e[_e539];
                            const float2 w = value_pair(_e541, pair_3 + 128u, &params, values);
                            r_4 = 0u;
                            while (true) {
                                const uint _e547 = r_4;
                                if (!(_e547 < 8u)) {
                                    break;
                                }
                                {
                                    const uint _e550 = r_4;
                                    const float2 _e552 = more.e[_e550];
                                    const uint _e554 = r_4;
                                    const uint _e557 = k_2;
                                    const float _e560 = weights.e[(_e554 * 32u) + _e557];
                                    more.e[_e550] = _e552 + (_e560 * w);
                                }
                                const uint _e563 = r_4;
                                r_4 = _e563 + 1u;
                            }
                        }
                    }
                    const uint _e566 = k_2;
                    k_2 = _e566 + teams;
                }
            }
        }
        const uint _e568 = first;
        first = _e568 + 32u;
    }
    roci_barrier_workgroup();
    while (true) {
        const uint _e573 = r_5;
        if (!(_e573 < 8u)) {
            break;
        }
        {
            const uint _e580 = r_5;
            const float _e583 = sums.e[_e580].x;
            parts.e[lane * 2u] = _e583;
            const uint _e590 = r_5;
            const float _e593 = sums.e[_e590].y;
            parts.e[(lane * 2u) + 1u] = _e593;
            const uint _e600 = r_5;
            const float _e603 = more.e[_e600].x;
            parts.e[256u + (lane * 2u)] = _e603;
            const uint _e610 = r_5;
            const float _e613 = more.e[_e610].y;
            parts.e[257u + (lane * 2u)] = _e613;
            roci_barrier_workgroup();
            const uint _e614 = r_5;
            if (_e614 < rows) {
                const uint _e616 = r_5;
                const uint row_1 = first_row + _e616;
                const uint token = first_token + roci_div_u32(row_1, shared_by);
                const uint head = (group.y * shared_by) + roci_mod_u32(row_1, shared_by);
                d = lane;
                while (true) {
                    const uint _e625 = d;
                    const uint _e628 = params.value_length;
                    if (!(_e625 < _e628)) {
                        break;
                    }
                    {
                        sum = 0.0f;
                        if (pairs > 128u) {
                            const uint _e635 = d;
                            const float _e637 = parts.e[_e635];
                            sum = _e637;
                        } else {
                            t = 0u;
                            while (true) {
                                const uint _e640 = t;
                                if (!(_e640 < teams)) {
                                    break;
                                }
                                {
                                    const float _e642 = sum;
                                    const uint _e644 = t;
                                    const uint _e647 = params.value_length;
                                    const uint _e649 = d;
                                    const float _e652 = parts.e[(_e644 * _e647) + _e649];
                                    sum = _e642 + _e652;
                                }
                                const uint _e654 = t;
                                t = _e654 + 1u;
                            }
                        }
                        const uint _e659 = params.splits;
                        if (_e659 == 1u) {
                            const uint _e665 = params.y_stride;
                            const uint _e669 = params.value_length;
                            const uint _e672 = d;
                            const float _e675 = sum;
                            const uint _e677 = r_5;
                            const float _e679 = totals.e[_e677];
                            y[((token * _e665) + (head * _e669)) + _e672] = _e675 / _e679;
                        } else {
                            const uint _e683 = params.heads;
                            const uint _e688 = params.splits;
                            const uint part = (((token * _e683) + head) * _e688) + group.z;
                            const uint _e695 = params.value_length;
                            const uint _e699 = d;
                            const float _e702 = sum;
                            y[(part * (_e695 + 2u)) + _e699] = _e702;
                        }
                    }
                    const uint _e703 = d;
                    d = _e703 + 128u;
                }
                const uint _e708 = params.splits;
                if (_e708 > 1u) {
                    local_5 = lane == 0u;
                } else {
                    local_5 = false;
                }
                const bool _e716 = local_5;
                if (_e716) {
                    const uint _e719 = params.heads;
                    const uint _e724 = params.splits;
                    const uint part_1 = (((token * _e719) + head) * _e724) + group.z;
                    const uint _e730 = params.value_length;
                    const uint _e736 = params.value_length;
                    const uint at_1 = (part_1 * (_e730 + 2u)) + _e736;
                    const uint _e741 = r_5;
                    const float _e743 = greatest.e[_e741];
                    y[at_1] = _e743;
                    const uint _e749 = r_5;
                    const float _e751 = totals.e[_e749];
                    y[at_1 + 1u] = _e751;
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e752 = r_5;
        r_5 = _e752 + 1u;
    }
}
