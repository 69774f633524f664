// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
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
typedef struct { float e[2048]; } array2048_float;
typedef struct { float e[1024]; } array1024_float;
typedef struct { float e[256]; } array256_float;
typedef struct { float e[8]; } array8_float;
typedef struct { uint e[8]; } array8_uint;
typedef struct { uint e[32]; } array32_uint;
typedef struct { float2 e[8]; } array8_float2_;

ROCI_FN float roci_widen_f16(ushort bits) {
    return (float)as_half(bits);
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
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
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
    local array2048_float pool;
    local array1024_float parts;
    local array256_float weights;
    local array8_float factors;
    local array8_float greatest;
    local array8_float totals;
    local array8_uint places;
    local array32_uint lines;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint begin = 0u;
    bool local_ = false;
    uint i = 0u;
    array8_float2_ sums = (array8_float2_){0};
    array8_float2_ more = (array8_float2_){0};
    uint first = 0u;
    array8_float dots = {0};
    uint pair = 0u;
    uint r = 0u;
    uint r_1 = 0u;
    uint i_1 = 0u;
    float score = 0.0f;
    bool local_1 = false;
    bool local_2 = false;
    bool sees = false;
    bool local_3 = false;
    float top = 0.0f;
    uint k = 0u;
    uint i_2 = 0u;
    float total = 0.0f;
    uint k_1 = 0u;
    uint r_2 = 0u;
    uint k_2 = 0u;
    uint r_3 = 0u;
    bool local_4 = false;
    uint r_4 = 0u;
    uint half_ = 0u;
    uint i_3 = 0u;
    uint i_4 = 0u;
    float sum = 0.0f;
    uint t = 0u;
    const uint _e4 = params.heads;
    const uint _e7 = params.kv_heads;
    const uint shared_by = roci_div_u32(_e4, _e7);
    const uint _e13 = params.key_length;
    const uint most = (_e13 > 256u) ? 4u : 8u;
    const uint _e19 = params.block;
    const uint groups = roci_div_u32(((_e19 * shared_by) + most) - 1u, most);
    const uint block = roci_div_u32(group.x, groups);
    const uint _e31 = params.tokens;
    const uint first_token = inputs[(2u * _e31) + (2u * block)];
    const uint _e42 = params.tokens;
    const uint count = inputs[((2u * _e42) + (2u * block)) + 1u];
    const uint first_row = roci_mod_u32(group.x, groups) * most;
    const uint rows = __builtin_elementwise_min((count * shared_by) - __builtin_elementwise_min(first_row, count * shared_by), most);
    const uint _e62 = params.tokens;
    const uint table = inputs[_e62 + first_token];
    const uint last_position = inputs[first_token + roci_div_u32((first_row + __builtin_elementwise_max(rows, 1u)) - 1u, shared_by)];
    const uint first_position = inputs[first_token + roci_div_u32(first_row, shared_by)];
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
        begin = (first_position + 1u) - _e102;
    }
    const uint _e106 = begin;
    const uint seen = (last_position + 1u) - _e106;
    const uint _e110 = params.splits;
    const uint _e118 = params.splits;
    const uint each = roci_div_u32((seen + (_e110 * 32u)) - 1u, _e118 * 32u) * 32u;
    const uint _e124 = begin;
    const uint start = _e124 + __builtin_elementwise_min(group.z * each, seen);
    const uint _e130 = begin;
    const uint end = __builtin_elementwise_min(start + each, _e130 + seen);
    if (lane < 8u) {
        greatest.e[lane] = -3e38f;
        totals.e[lane] = 0.0f;
        const uint _e151 = inputs[first_token + __builtin_elementwise_min(roci_div_u32(first_row + lane, shared_by), count - 1u)];
        places.e[lane] = _e151;
    }
    i = lane;
    while (true) {
        const uint _e153 = i;
        const uint _e156 = params.key_length;
        if (!(_e153 < (most * _e156))) {
            break;
        }
        {
            const uint _e159 = i;
            const uint _e162 = params.key_length;
            const uint row = first_row + __builtin_elementwise_min(roci_div_u32(_e159, _e162), __builtin_elementwise_max(rows, 1u) - 1u);
            const uint _e174 = params.q_stride;
            const uint _e182 = params.key_length;
            const uint at = ((first_token + roci_div_u32(row, shared_by)) * _e174) + (((group.y * shared_by) + roci_mod_u32(row, shared_by)) * _e182);
            const uint _e186 = i;
            const uint _e189 = i;
            const uint _e192 = params.key_length;
            const float _e196 = q[at + roci_mod_u32(_e189, _e192)];
            const float _e199 = params.scale;
            pool.e[_e186] = _e196 * _e199;
        }
        const uint _e201 = i;
        i = _e201 + 128u;
    }
    const uint _e206 = params.value_length;
    const uint pairs = _e206 / 2u;
    const uint teams = __builtin_elementwise_max(roci_div_u32(128u, pairs), 1u);
    const uint team = roci_div_u32(lane, pairs);
    first = start;
    while (true) {
        const uint _e219 = first;
        if (!(_e219 < end)) {
            break;
        }
        {
            roci_barrier_workgroup();
            if (lane < 32u) {
                const uint _e223 = first;
                const uint position = __builtin_elementwise_min(_e223 + lane, end - 1u);
                const uint _e231 = params.page;
                const uint page = inputs[table + roci_div_u32(position, _e231)];
                const uint _e240 = params.page;
                const uint _e244 = params.page;
                const uint _e249 = params.kv_heads;
                lines.e[lane] = (((page * _e240) + roci_mod_u32(position, _e244)) * _e249) + group.y;
            }
            roci_barrier_workgroup();
            const uint line_2 = lines.e[lane / 4u];
            dots = (array8_float){0};
            pair = lane % 4u;
            while (true) {
                const uint _e263 = pair;
                const uint _e266 = params.key_length;
                if (!(_e263 < (_e266 / 2u))) {
                    break;
                }
                {
                    const uint _e270 = pair;
                    const float2 k_3 = key_pair(line_2, _e270, &params, keys);
                    r = 0u;
                    while (true) {
                        const uint _e274 = r;
                        if (!(_e274 < 8u)) {
                            break;
                        }
                        {
                            const uint _e277 = r;
                            const uint _e283 = params.key_length;
                            const uint _e285 = pair;
                            const uint at_1 = (__builtin_elementwise_min(_e277, most - 1u) * _e283) + (_e285 * 2u);
                            const uint _e289 = r;
                            const float _e291 = dots.e[_e289];
                            const float _e295 = pool.e[at_1];
                            const float _e302 = pool.e[at_1 + 1u];
                            dots.e[_e289] = _e291 + ((k_3.x * _e295) + (k_3.y * _e302));
                        }
                        const uint _e306 = r;
                        r = _e306 + 1u;
                    }
                }
                const uint _e309 = pair;
                pair = _e309 + 4u;
            }
            r_1 = 0u;
            while (true) {
                const uint _e314 = r_1;
                if (!(_e314 < 8u)) {
                    break;
                }
                {
                    const uint _e318 = r_1;
                    const uint _e323 = r_1;
                    const float _e325 = dots.e[_e323];
                    parts.e[(_e318 * 128u) + lane] = _e325;
                }
                const uint _e326 = r_1;
                r_1 = _e326 + 1u;
            }
            roci_barrier_workgroup();
            i_1 = lane;
            while (true) {
                const uint _e330 = i_1;
                if (!(_e330 < 256u)) {
                    break;
                }
                {
                    const uint _e333 = i_1;
                    const uint r_5 = _e333 / 32u;
                    const uint _e338 = i_1;
                    const uint base = (r_5 * 128u) + ((_e338 % 32u) * 4u);
                    const float _e346 = parts.e[base];
                    const float _e351 = parts.e[base + 1u];
                    const float _e357 = parts.e[base + 2u];
                    const float _e362 = parts.e[base + 3u];
                    score = (_e346 + _e351) + (_e357 + _e362);
                    const float _e368 = params.soft_cap;
                    if (_e368 > 0.0f) {
                        const float _e373 = params.soft_cap;
                        const float _e374 = score;
                        const float _e377 = params.soft_cap;
                        score = _e373 * roci_tanh(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e374 / _e377, -15.0f), 15.0f));
                    }
                    const uint _e384 = first;
                    const uint _e385 = i_1;
                    const uint position_1 = _e384 + (_e385 % 32u);
                    if (position_1 < end) {
                        const uint _e394 = places.e[r_5];
                        local_1 = position_1 <= _e394;
                    } else {
                        local_1 = false;
                    }
                    const bool _e397 = local_1;
                    if (_e397) {
                        local_2 = r_5 < rows;
                    } else {
                        local_2 = false;
                    }
                    const bool _e402 = local_2;
                    sees = _e402;
                    const uint _e406 = params.window;
                    if (_e406 != 0u) {
                        const bool _e409 = sees;
                        if (_e409) {
                            const uint _e414 = params.window;
                            const uint _e418 = places.e[r_5];
                            local_3 = (position_1 + _e414) > _e418;
                        } else {
                            local_3 = false;
                        }
                        const bool _e421 = local_3;
                        sees = _e421;
                    }
                    const uint _e423 = i_1;
                    const float _e425 = score;
                    const bool _e426 = sees;
                    weights.e[_e423] = _e426 ? _e425 : (-3e38f);
                }
                const uint _e429 = i_1;
                i_1 = _e429 + 128u;
            }
            roci_barrier_workgroup();
            if (lane < 8u) {
                const float _e436 = greatest.e[lane];
                top = _e436;
                k = 0u;
                while (true) {
                    const uint _e440 = k;
                    if (!(_e440 < 32u)) {
                        break;
                    }
                    {
                        const float _e443 = top;
                        const uint _e447 = k;
                        const float _e450 = weights.e[(lane * 32u) + _e447];
                        top = __builtin_elementwise_maxnum(_e443, _e450);
                    }
                    const uint _e452 = k;
                    k = _e452 + 1u;
                }
                const float _e459 = greatest.e[lane];
                const float _e460 = top;
                factors.e[lane] = __builtin_elementwise_exp(_e459 - _e460);
                const float _e465 = top;
                greatest.e[lane] = _e465;
            }
            roci_barrier_workgroup();
            i_2 = lane;
            while (true) {
                const uint _e467 = i_2;
                if (!(_e467 < 256u)) {
                    break;
                }
                {
                    const uint _e471 = i_2;
                    const float score_1 = weights.e[_e471];
                    const uint _e475 = i_2;
                    const uint _e478 = i_2;
                    const float _e482 = greatest.e[_e478 / 32u];
                    weights.e[_e475] = (score_1 > (-3e38f)) ? __builtin_elementwise_exp(score_1 - _e482) : 0.0f;
                }
                const uint _e489 = i_2;
                i_2 = _e489 + 128u;
            }
            roci_barrier_workgroup();
            if (lane < 8u) {
                const float _e496 = totals.e[lane];
                const float _e499 = factors.e[lane];
                total = _e496 * _e499;
                k_1 = 0u;
                while (true) {
                    const uint _e504 = k_1;
                    if (!(_e504 < 32u)) {
                        break;
                    }
                    {
                        const float _e507 = total;
                        const uint _e511 = k_1;
                        const float _e514 = weights.e[(lane * 32u) + _e511];
                        total = _e507 + _e514;
                    }
                    const uint _e516 = k_1;
                    k_1 = _e516 + 1u;
                }
                const float _e521 = total;
                totals.e[lane] = _e521;
            }
            r_2 = 0u;
            while (true) {
                const uint _e524 = r_2;
                if (!(_e524 < 8u)) {
                    break;
                }
                {
                    const uint _e527 = r_2;
                    const float2 _e529 = sums.e[_e527];
                    const uint _e531 = r_2;
                    const float _e533 = factors.e[_e531];
                    sums.e[_e527] = _e529 * _e533;
                    const uint _e535 = r_2;
                    const float2 _e537 = more.e[_e535];
                    const uint _e539 = r_2;
                    const float _e541 = factors.e[_e539];
                    more.e[_e535] = _e537 * _e541;
                }
                const uint _e543 = r_2;
                r_2 = _e543 + 1u;
            }
            if (team < teams) {
                const uint pair_3 = roci_mod_u32(lane, pairs);
                k_2 = team;
                while (true) {
                    const uint _e549 = k_2;
                    if (!(_e549 < 32u)) {
                        break;
                    }
                    {
                        const uint _e553 = k_2;
                        const uint _e555 = lines.e[_e553];
                        const float2 v = value_pair(_e555, pair_3, &params, values);
                        r_3 = 0u;
                        while (true) {
                            const uint _e559 = r_3;
                            if (!(_e559 < 8u)) {
                                break;
                            }
                            {
                                const uint _e562 = r_3;
                                const float2 _e564 = sums.e[_e562];
                                const uint _e566 = r_3;
                                const uint _e569 = k_2;
                                const float _e572 = weights.e[(_e566 * 32u) + _e569];
                                sums.e[_e562] = _e564 + (_e572 * v);
                            }
                            const uint _e575 = r_3;
                            r_3 = _e575 + 1u;
                        }
                        if (pairs > 128u) {
                            local_4 = (pair_3 + 128u) < pairs;
                        } else {
                            local_4 = false;
                        }
                        const bool _e586 = local_4;
                        if (_e586) {
                            const uint _e588 = k_2;
                            const uint _e590 = lines.e[_e588];
                            const float2 w = value_pair(_e590, pair_3 + 128u, &params, values);
                            r_4 = 0u;
                            while (true) {
                                const uint _e596 = r_4;
                                if (!(_e596 < 8u)) {
                                    break;
                                }
                                {
                                    const uint _e599 = r_4;
                                    const float2 _e601 = more.e[_e599];
                                    const uint _e603 = r_4;
                                    const uint _e606 = k_2;
                                    const float _e609 = weights.e[(_e603 * 32u) + _e606];
                                    more.e[_e599] = _e601 + (_e609 * w);
                                }
                                const uint _e612 = r_4;
                                r_4 = _e612 + 1u;
                            }
                        }
                    }
                    const uint _e615 = k_2;
                    k_2 = _e615 + teams;
                }
            }
        }
        const uint _e617 = first;
        first = _e617 + 32u;
    }
    while (true) {
        const uint _e622 = half_;
        if (!(_e622 < 2u)) {
            break;
        }
        {
            roci_barrier_workgroup();
            i_3 = 0u;
            while (true) {
                const uint _e627 = i_3;
                if (!(_e627 < 4u)) {
                    break;
                }
                {
                    const uint _e630 = half_;
                    const uint _e633 = i_3;
                    const uint r_6 = (_e630 * 4u) + _e633;
                    const uint _e636 = i_3;
                    const float _e645 = sums.e[r_6].x;
                    pool.e[(_e636 * 512u) + (lane * 2u)] = _e645;
                    const uint _e647 = i_3;
                    const float _e658 = sums.e[r_6].y;
                    pool.e[((_e647 * 512u) + (lane * 2u)) + 1u] = _e658;
                    const uint _e660 = i_3;
                    const float _e671 = more.e[r_6].x;
                    pool.e[((_e660 * 512u) + 256u) + (lane * 2u)] = _e671;
                    const uint _e673 = i_3;
                    const float _e684 = more.e[r_6].y;
                    pool.e[((_e673 * 512u) + 257u) + (lane * 2u)] = _e684;
                }
                const uint _e685 = i_3;
                i_3 = _e685 + 1u;
            }
            roci_barrier_workgroup();
            i_4 = lane;
            while (true) {
                const uint _e689 = i_4;
                const uint _e693 = params.value_length;
                if (!(_e689 < (4u * _e693))) {
                    break;
                }
                {
                    const uint _e696 = half_;
                    const uint _e699 = i_4;
                    const uint _e702 = params.value_length;
                    const uint r_7 = (_e696 * 4u) + roci_div_u32(_e699, _e702);
                    const uint _e705 = i_4;
                    const uint _e708 = params.value_length;
                    const uint d = roci_mod_u32(_e705, _e708);
                    if (r_7 < rows) {
                        const uint _e711 = i_4;
                        const uint _e714 = params.value_length;
                        const uint base_1 = (roci_div_u32(_e711, _e714) * 512u) + d;
                        const float _e721 = pool.e[base_1];
                        sum = _e721;
                        if (pairs <= 128u) {
                            t = 1u;
                            while (true) {
                                const uint _e727 = t;
                                if (!(_e727 < teams)) {
                                    break;
                                }
                                {
                                    const float _e729 = sum;
                                    const uint _e731 = t;
                                    const uint _e734 = params.value_length;
                                    const float _e738 = pool.e[base_1 + (_e731 * _e734)];
                                    sum = _e729 + _e738;
                                }
                                const uint _e740 = t;
                                t = _e740 + 1u;
                            }
                        }
                        const uint row_1 = first_row + r_7;
                        const uint token = first_token + roci_div_u32(row_1, shared_by);
                        const uint head = (group.y * shared_by) + roci_mod_u32(row_1, shared_by);
                        const uint _e752 = params.splits;
                        if (_e752 == 1u) {
                            const uint _e758 = params.y_stride;
                            const uint _e762 = params.value_length;
                            const float _e767 = sum;
                            const float _e770 = totals.e[r_7];
                            y[((token * _e758) + (head * _e762)) + d] = _e767 / _e770;
                        } else {
                            const uint _e774 = params.heads;
                            const uint _e779 = params.splits;
                            const uint _e785 = params.value_length;
                            const uint at_2 = ((((token * _e774) + head) * _e779) + group.z) * (_e785 + 2u);
                            const float _e792 = sum;
                            y[at_2 + d] = _e792;
                            if (d == 0u) {
                                const uint _e798 = params.value_length;
                                const float _e803 = greatest.e[r_7];
                                y[at_2 + _e798] = _e803;
                                const uint _e807 = params.value_length;
                                const float _e814 = totals.e[r_7];
                                y[(at_2 + _e807) + 1u] = _e814;
                            }
                        }
                    }
                }
                const uint _e815 = i_4;
                i_4 = _e815 + 128u;
            }
        }
        const uint _e818 = half_;
        half_ = _e818 + 1u;
    }
}
