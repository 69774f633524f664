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

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
ROCI_FN uint roci_pack4xI8(int4 a) {
    return as_uint((char4)((char)a.x, (char)a.y, (char)a.z, (char)a.w));
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
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

ROCI_FN int4 roci_f32_to_i32x4(float4 a) {
    return (int4)(roci_f32_to_i32(a.x), roci_f32_to_i32(a.y), roci_f32_to_i32(a.z), roci_f32_to_i32(a.w));
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

ROCI_FN float4 value_four(uint line, uint four, private const Params *params, global uint *values) {
    const uint _e4 = (*params).value_length;
    const uint _e9 = (*params).value_length;
    const uint start = line * ((_e4 / 4u) + (_e9 / 32u));
    const uint _e17 = values[start + four];
    const uint _e23 = (*params).value_length;
    const uint _e31 = values[(start + (_e23 / 4u)) + (four / 8u)];
    return __builtin_convertvector(roci_unpack4xI8(_e17), float4) * as_float(_e31);
}

ROCI_FN float4 value_of(uint key, uint first_1, uint position, uint d, float4 own, private const Params *params, global uint *values, local array128_uint *lines) {
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

ROCI_FN void keep(uint line_1, uint value_at, uint lane_1, private const Params *params, global const float *qkv, global uint *keys_1, global uint *values, local array128_float4_ *turned) {
    float most = 0.0f;
    uint i_5 = 0u;
    uint i_6 = 0u;
    bool local_4 = false;
    float most_1 = 0.0f;
    uint i_7 = 0u;
    uint i_8 = 0u;
    const uint _e5 = (*params).key_length;
    if (lane_1 < (_e5 / 32u)) {
        while (true) {
            const uint _e13 = i_5;
            if (!(_e13 < 8u)) {
                break;
            }
            {
                const uint _e21 = i_5;
                const float4 _e24 = (*turned).e[(64u + (lane_1 * 8u)) + _e21];
                const float4 v_1 = __builtin_elementwise_abs(_e24);
                const float _e26 = most;
                most = __builtin_elementwise_maxnum(_e26, __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(v_1.x, v_1.y), __builtin_elementwise_maxnum(v_1.z, v_1.w)));
            }
            const uint _e35 = i_5;
            i_5 = _e35 + 1u;
        }
        const uint _e40 = (*params).key_length;
        const uint _e45 = (*params).key_length;
        const uint start_1 = line_1 * ((_e40 / 4u) + (_e45 / 32u));
        const float _e50 = most;
        const float scale = _e50 / 127.0f;
        const float inverse = (scale > 0.0f) ? (1.0f / scale) : 0.0f;
        while (true) {
            const uint _e61 = i_6;
            if (!(_e61 < 8u)) {
                break;
            }
            {
                const uint _e68 = i_6;
                const uint _e76 = i_6;
                const float4 _e79 = (*turned).e[(64u + (lane_1 * 8u)) + _e76];
                keys_1[(start_1 + (lane_1 * 8u)) + _e68] = roci_pack4xI8(roci_f32_to_i32x4(__builtin_elementwise_roundeven(_e79 * inverse)));
            }
            const uint _e84 = i_6;
            i_6 = _e84 + 1u;
        }
        const uint _e90 = (*params).key_length;
        keys_1[(start_1 + (_e90 / 4u)) + lane_1] = as_uint(scale);
    }
    const uint _e99 = (*params).key_length;
    const uint block = lane_1 - (_e99 / 32u);
    const uint _e105 = (*params).key_length;
    if (lane_1 >= (_e105 / 32u)) {
        const uint _e113 = (*params).value_length;
        local_4 = block < (_e113 / 32u);
    } else {
        local_4 = false;
    }
    const bool _e118 = local_4;
    if (_e118) {
        const uint source = value_at + (block * 32u);
        while (true) {
            const uint _e126 = i_7;
            if (!(_e126 < 32u)) {
                break;
            }
            {
                const float _e129 = most_1;
                const uint _e131 = i_7;
                const float _e134 = qkv[source + _e131];
                most_1 = __builtin_elementwise_maxnum(_e129, __builtin_elementwise_abs(_e134));
            }
            const uint _e137 = i_7;
            i_7 = _e137 + 1u;
        }
        const uint _e142 = (*params).value_length;
        const uint _e147 = (*params).value_length;
        const uint start_2 = line_1 * ((_e142 / 4u) + (_e147 / 32u));
        const float _e152 = most_1;
        const float scale_1 = _e152 / 127.0f;
        const float inverse_1 = (scale_1 > 0.0f) ? (1.0f / scale_1) : 0.0f;
        while (true) {
            const uint _e163 = i_8;
            if (!(_e163 < 8u)) {
                break;
            }
            {
                const uint _e166 = i_8;
                const uint at_2 = source + (_e166 * 4u);
                const float _e172 = qkv[at_2];
                const float _e177 = qkv[at_2 + 1u];
                const float _e182 = qkv[at_2 + 2u];
                const float _e187 = qkv[at_2 + 3u];
                const float4 v_2 = (float4)(_e172, _e177, _e182, _e187);
                const uint _e193 = i_8;
                values[(start_2 + (block * 8u)) + _e193] = roci_pack4xI8(roci_f32_to_i32x4(__builtin_elementwise_roundeven(v_2 * inverse_1)));
            }
            const uint _e200 = i_8;
            i_8 = _e200 + 1u;
        }
        const uint _e206 = (*params).value_length;
        values[(start_2 + (_e206 / 4u)) + block] = as_uint(scale_1);
        return;
    } else {
        return;
    }
}

ROCI_FN float4 key_four(uint line_2, uint four_1, private const Params *params, global uint *keys_1) {
    const uint _e4 = (*params).key_length;
    const uint _e9 = (*params).key_length;
    const uint start_3 = line_2 * ((_e4 / 4u) + (_e9 / 32u));
    const uint _e17 = keys_1[start_3 + four_1];
    const uint _e23 = (*params).key_length;
    const uint _e31 = keys_1[(start_3 + (_e23 / 4u)) + (four_1 / 8u)];
    return __builtin_convertvector(roci_unpack4xI8(_e17), float4) * as_float(_e31);
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_attend_q8(global const uint *inputs, global const float *norms, global const float2 *rotations, global const float *qkv, global uint *keys_1, global uint *values, global float *y, Params params) {
    local array128_float4_ turned;
    local array32_float4_ scores;
    local array128_float weights;
    local array128_uint lines;
    local array128_float4_ sums;
    local array128_float totals;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
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
    uint done = 0u;
    uint i_2 = 0u;
    uint i_3 = 0u;
    float4 tops = (float4)(0.0f);
    uint i_4 = 0u;
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
    const uint start_4 = _e65 + __builtin_elementwise_min(group.z * each, seen);
    const uint _e71 = begin;
    const uint end = __builtin_elementwise_min(start_4 + each, _e71 + seen);
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
        factor = 1.0f / __builtin_elementwise_sqrt((_e147 / ((float)_e150)) + _e155);
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
        local_3 = start_4 < end;
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
    first = start_4;
    while (true) {
        const uint _e386 = first;
        if (!(_e386 < end)) {
            break;
        }
        {
            const uint _e389 = first;
            const uint count = __builtin_elementwise_min(128u, end - _e389);
            const uint _e392 = first;
            const uint own_1 = __builtin_elementwise_min(_e392 + lane, end - 1u);
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
                done = 0u;
                i_2 = 0u;
                while (true) {
                    const uint _e446 = i_2;
                    if (!((_e446 + 16u) <= key_fours)) {
                        break;
                    }
                    {
                        const uint _e450 = i_2;
                        const float4 k0_ = key_four(line_4, _e450, &params, keys_1);
                        const uint _e452 = i_2;
                        const float4 k1_ = key_four(line_4, _e452 + 1u, &params, keys_1);
                        const uint _e456 = i_2;
                        const float4 k2_ = key_four(line_4, _e456 + 2u, &params, keys_1);
                        const uint _e460 = i_2;
                        const float4 k3_ = key_four(line_4, _e460 + 3u, &params, keys_1);
                        const uint _e464 = i_2;
                        const float4 k4_ = key_four(line_4, _e464 + 4u, &params, keys_1);
                        const uint _e468 = i_2;
                        const float4 k5_ = key_four(line_4, _e468 + 5u, &params, keys_1);
                        const uint _e472 = i_2;
                        const float4 k6_ = key_four(line_4, _e472 + 6u, &params, keys_1);
                        const uint _e476 = i_2;
                        const float4 k7_ = key_four(line_4, _e476 + 7u, &params, keys_1);
                        const uint _e480 = i_2;
                        const float4 k8_ = key_four(line_4, _e480 + 8u, &params, keys_1);
                        const uint _e484 = i_2;
                        const float4 k9_ = key_four(line_4, _e484 + 9u, &params, keys_1);
                        const uint _e488 = i_2;
                        const float4 k10_ = key_four(line_4, _e488 + 10u, &params, keys_1);
                        const uint _e492 = i_2;
                        const float4 k11_ = key_four(line_4, _e492 + 11u, &params, keys_1);
                        const uint _e496 = i_2;
                        const float4 k12_ = key_four(line_4, _e496 + 12u, &params, keys_1);
                        const uint _e500 = i_2;
                        const float4 k13_ = key_four(line_4, _e500 + 13u, &params, keys_1);
                        const uint _e504 = i_2;
                        const float4 k14_ = key_four(line_4, _e504 + 14u, &params, keys_1);
                        const uint _e508 = i_2;
                        const float4 k15_ = key_four(line_4, _e508 + 15u, &params, keys_1);
                        const float _e512 = score;
                        const uint _e514 = i_2;
                        const float4 _e516 = turned.e[_e514];
                        const uint _e519 = i_2;
                        const float4 _e523 = turned.e[_e519 + 1u];
                        const uint _e527 = i_2;
                        const float4 _e531 = turned.e[_e527 + 2u];
                        const uint _e534 = i_2;
                        const float4 _e538 = turned.e[_e534 + 3u];
                        score = _e512 + ((roci_dot_float4(k0_, _e516) + roci_dot_float4(k1_, _e523)) + (roci_dot_float4(k2_, _e531) + roci_dot_float4(k3_, _e538)));
                        const float _e543 = score;
                        const uint _e545 = i_2;
                        const float4 _e549 = turned.e[_e545 + 4u];
                        const uint _e552 = i_2;
                        const float4 _e556 = turned.e[_e552 + 5u];
                        const uint _e560 = i_2;
                        const float4 _e564 = turned.e[_e560 + 6u];
                        const uint _e567 = i_2;
                        const float4 _e571 = turned.e[_e567 + 7u];
                        score = _e543 + ((roci_dot_float4(k4_, _e549) + roci_dot_float4(k5_, _e556)) + (roci_dot_float4(k6_, _e564) + roci_dot_float4(k7_, _e571)));
                        const float _e576 = score;
                        const uint _e578 = i_2;
                        const float4 _e582 = turned.e[_e578 + 8u];
                        const uint _e585 = i_2;
                        const float4 _e589 = turned.e[_e585 + 9u];
                        const uint _e593 = i_2;
                        const float4 _e597 = turned.e[_e593 + 10u];
                        const uint _e600 = i_2;
                        const float4 _e604 = turned.e[_e600 + 11u];
                        score = _e576 + ((roci_dot_float4(k8_, _e582) + roci_dot_float4(k9_, _e589)) + (roci_dot_float4(k10_, _e597) + roci_dot_float4(k11_, _e604)));
                        const float _e609 = score;
                        const uint _e611 = i_2;
                        const float4 _e615 = turned.e[_e611 + 12u];
                        const uint _e618 = i_2;
                        const float4 _e622 = turned.e[_e618 + 13u];
                        const uint _e626 = i_2;
                        const float4 _e630 = turned.e[_e626 + 14u];
                        const uint _e633 = i_2;
                        const float4 _e637 = turned.e[_e633 + 15u];
                        score = _e609 + ((roci_dot_float4(k12_, _e615) + roci_dot_float4(k13_, _e622)) + (roci_dot_float4(k14_, _e630) + roci_dot_float4(k15_, _e637)));
                        const uint _e642 = i_2;
                        done = _e642 + 16u;
                    }
                    const uint _e645 = i_2;
                    i_2 = _e645 + 16u;
                }
                const uint _e648 = done;
                i_3 = _e648;
                while (true) {
                    const uint _e650 = i_3;
                    if (!(_e650 < key_fours)) {
                        break;
                    }
                    {
                        const uint _e652 = i_3;
                        const float4 k0_1 = key_four(line_4, _e652, &params, keys_1);
                        const uint _e654 = i_3;
                        const float4 k1_1 = key_four(line_4, _e654 + 1u, &params, keys_1);
                        const uint _e658 = i_3;
                        const float4 k2_1 = key_four(line_4, _e658 + 2u, &params, keys_1);
                        const uint _e662 = i_3;
                        const float4 k3_1 = key_four(line_4, _e662 + 3u, &params, keys_1);
                        const uint _e666 = i_3;
                        const float4 k4_1 = key_four(line_4, _e666 + 4u, &params, keys_1);
                        const uint _e670 = i_3;
                        const float4 k5_1 = key_four(line_4, _e670 + 5u, &params, keys_1);
                        const uint _e674 = i_3;
                        const float4 k6_1 = key_four(line_4, _e674 + 6u, &params, keys_1);
                        const uint _e678 = i_3;
                        const float4 k7_1 = key_four(line_4, _e678 + 7u, &params, keys_1);
                        const float _e682 = score;
                        const uint _e684 = i_3;
                        const float4 _e686 = turned.e[_e684];
                        const uint _e689 = i_3;
                        const float4 _e693 = turned.e[_e689 + 1u];
                        const uint _e697 = i_3;
                        const float4 _e701 = turned.e[_e697 + 2u];
                        const uint _e704 = i_3;
                        const float4 _e708 = turned.e[_e704 + 3u];
                        score = _e682 + ((roci_dot_float4(k0_1, _e686) + roci_dot_float4(k1_1, _e693)) + (roci_dot_float4(k2_1, _e701) + roci_dot_float4(k3_1, _e708)));
                        const float _e713 = score;
                        const uint _e715 = i_3;
                        const float4 _e719 = turned.e[_e715 + 4u];
                        const uint _e722 = i_3;
                        const float4 _e726 = turned.e[_e722 + 5u];
                        const uint _e730 = i_3;
                        const float4 _e734 = turned.e[_e730 + 6u];
                        const uint _e737 = i_3;
                        const float4 _e741 = turned.e[_e737 + 7u];
                        score = _e713 + ((roci_dot_float4(k4_1, _e719) + roci_dot_float4(k5_1, _e726)) + (roci_dot_float4(k6_1, _e734) + roci_dot_float4(k7_1, _e741)));
                    }
                    const uint _e746 = i_3;
                    i_3 = _e746 + 8u;
                }
            }
            const float _e751 = params.soft_cap;
            if (_e751 > 0.0f) {
                const float _e756 = params.soft_cap;
                const float _e757 = score;
                const float _e760 = params.soft_cap;
                score = _e756 * roci_tanh(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e757 / _e760, -15.0f), 15.0f));
            }
            lines.e[lane] = (own_1 == position_1) ? 0u : line_4;
            const float _e779 = score;
            ((local float *)&scores.e[lane / 4u])[lane % 4u] = (lane < count) ? _e779 : (-3e38f);
            roci_barrier_workgroup();
            const float _e783 = greatest;
            tops = (float4)(_e783);
            i_4 = 0u;
            while (true) {
                const uint _e788 = i_4;
                if (!(_e788 < 32u)) {
                    break;
                }
                {
                    const float4 _e791 = tops;
                    const uint _e793 = i_4;
                    const float4 _e795 = scores.e[_e793];
                    const uint _e797 = i_4;
                    const float4 _e801 = scores.e[_e797 + 1u];
                    const uint _e805 = i_4;
                    const float4 _e809 = scores.e[_e805 + 2u];
                    const uint _e811 = i_4;
                    const float4 _e815 = scores.e[_e811 + 3u];
                    tops = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e791, __builtin_elementwise_maxnum(_e795, _e801)), __builtin_elementwise_maxnum(_e809, _e815));
                }
                const uint _e818 = i_4;
                i_4 = _e818 + 4u;
            }
            const float _e822 = tops.x;
            const float _e824 = tops.y;
            const float _e827 = tops.z;
            const float _e829 = tops.w;
            const float top = __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(_e822, _e824), __builtin_elementwise_maxnum(_e827, _e829));
            const float _e832 = greatest;
            const float carried = __builtin_elementwise_exp(_e832 - top);
            greatest = top;
            const float4 _e835 = sum;
            sum = _e835 * carried;
            const float _e837 = total;
            total = _e837 * carried;
            const float _e841 = score;
            weights.e[lane] = (lane < count) ? __builtin_elementwise_exp(_e841 - top) : 0.0f;
            roci_barrier_workgroup();
            if (team < teams) {
                k = team;
                while (true) {
                    const uint _e849 = k;
                    if (!(_e849 < count)) {
                        break;
                    }
                    {
                        const uint _e851 = k;
                        const uint _e852 = k;
                        const uint _e854 = k;
                        const uint _e858 = k;
                        const uint4 near = (uint4)(_e851, _e852 + teams, _e854 + (2u * teams), _e858 + (3u * teams));
                        const uint4 far = near + ((uint4)((4u * teams)));
                        const uint4 safe_1 = __builtin_elementwise_min(near, (uint4)(127u));
                        const uint4 last = __builtin_elementwise_min(far, (uint4)(127u));
                        const uint _e874 = first;
                        const float4 v0_ = value_of(safe_1.x, _e874, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e877 = first;
                        const float4 v1_ = value_of(safe_1.y, _e877, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e880 = first;
                        const float4 v2_ = value_of(safe_1.z, _e880, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e883 = first;
                        const float4 v3_ = value_of(safe_1.w, _e883, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e886 = first;
                        const float4 v4_ = value_of(last.x, _e886, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e889 = first;
                        const float4 v5_ = value_of(last.y, _e889, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e892 = first;
                        const float4 v6_ = value_of(last.z, _e892, position_1, d_1, own_value, &params, values, &lines);
                        const uint _e895 = first;
                        const float4 v7_ = value_of(last.w, _e895, position_1, d_1, own_value, &params, values, &lines);
                        const float4 w = weights_of(safe_1, near, &weights);
                        const float4 more = weights_of(last, far, &weights);
                        const float4 _e899 = sum;
                        sum = _e899 + (((w.x * v0_) + (w.y * v1_)) + ((w.z * v2_) + (w.w * v3_)));
                        const float4 _e912 = sum;
                        sum = _e912 + (((more.x * v4_) + (more.y * v5_)) + ((more.z * v6_) + (more.w * v7_)));
                        const float _e925 = total;
                        total = _e925 + (((w.x + w.y) + (w.z + w.w)) + ((more.x + more.y) + (more.z + more.w)));
                    }
                    const uint _e942 = k;
                    k = _e942 + (8u * teams);
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e946 = first;
        first = _e946 + 128u;
    }
    const float4 _e951 = sum;
    sums.e[lane] = _e951;
    const float _e954 = total;
    totals.e[lane] = _e954;
    roci_barrier_workgroup();
    if (team == 0u) {
        while (true) {
            const uint _e959 = t;
            if (!(_e959 < teams)) {
                break;
            }
            {
                const float4 _e961 = sum;
                const uint _e963 = t;
                const float4 _e967 = sums.e[(_e963 * value_fours) + d_1];
                sum = _e961 + _e967;
                const float _e969 = total;
                const uint _e971 = t;
                const float _e975 = totals.e[(_e971 * value_fours) + d_1];
                total = _e969 + _e975;
            }
            const uint _e977 = t;
            t = _e977 + 1u;
        }
        const uint _e982 = params.y_stride;
        const uint _e987 = params.value_length;
        at = (token * _e982) + (group.y * _e987);
        const uint _e993 = params.splits;
        if (_e993 == 1u) {
            const float4 _e996 = sum;
            const float _e997 = total;
            sum = _e996 / ((float4)(_e997));
        } else {
            const uint _e1002 = params.heads;
            const uint _e1008 = params.splits;
            const uint _e1014 = params.value_length;
            at = ((((token * _e1002) + group.y) * _e1008) + group.z) * (_e1014 + 2u);
            if (d_1 == 0u) {
                const uint _e1021 = at;
                const uint _e1024 = params.value_length;
                const float _e1027 = greatest;
                y[_e1021 + _e1024] = _e1027;
                const uint _e1029 = at;
                const uint _e1032 = params.value_length;
                const float _e1037 = total;
                y[(_e1029 + _e1032) + 1u] = _e1037;
            }
        }
        const uint _e1039 = at;
        const float _e1045 = sum.x;
        y[_e1039 + (d_1 * 4u)] = _e1045;
        const uint _e1047 = at;
        const float _e1055 = sum.y;
        y[(_e1047 + (d_1 * 4u)) + 1u] = _e1055;
        const uint _e1057 = at;
        const float _e1065 = sum.z;
        y[(_e1057 + (d_1 * 4u)) + 2u] = _e1065;
        const uint _e1067 = at;
        const float _e1075 = sum.w;
        y[(_e1067 + (d_1 * 4u)) + 3u] = _e1075;
        return;
    } else {
        return;
    }
}
