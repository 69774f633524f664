// Written from WGSL; do not edit.
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
    uint page;
    float epsilon;
} Params;
typedef struct { float e[512]; } array512_float;
typedef struct { float e[64]; } array64_float;

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN uint roci_pack4xI8(int4 a) {
    return as_uint((char4)((char)a.x, (char)a.y, (char)a.z, (char)a.w));
}

ROCI_FN int4 roci_f32_to_i32x4(float4 a) {
    return (int4)(roci_f32_to_i32(a.x), roci_f32_to_i32(a.y), roci_f32_to_i32(a.z), roci_f32_to_i32(a.w));
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void lm_heads_q8(global const uint *inputs, global const float *norms, global const float2 *rotations, global float *qkv, global uint *keys, global uint *values, Params params) {
    local array512_float head;
    local array64_float sums;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint base = 0u;
    uint i = 0u;
    bool local_ = false;
    float mine = 0.0f;
    uint i_1 = 0u;
    uint step_ = 32u;
    uint i_2 = 0u;
    uint i_3 = 0u;
    float2 turn = (float2)(0.0f);
    uint one = 0u;
    uint other = 0u;
    uint i_4 = 0u;
    uint number = 0u;
    uint i_5 = 0u;
    uint block = 0u;
    float most = 0.0f;
    uint i_6 = 0u;
    uint i_7 = 0u;
    const uint token = group.y;
    const uint index = group.x;
    const uint _e6 = params.heads;
    const bool is_query = index < _e6;
    const uint _e10 = params.heads;
    const uint _e13 = params.kv_heads;
    const bool is_value = index >= (_e10 + _e13);
    const uint _e18 = params.key_length;
    const uint _e21 = params.value_length;
    const uint own = is_value ? _e21 : _e18;
    const uint _e25 = params.stride;
    const uint _e29 = params.key_length;
    base = (token * _e25) + (index * _e29);
    if (is_value) {
        const uint _e35 = params.heads;
        const uint _e38 = params.kv_heads;
        const uint _e42 = params.key_length;
        const uint keys_end = (_e35 + _e38) * _e42;
        const uint _e46 = params.stride;
        const uint _e51 = params.heads;
        const uint _e55 = params.kv_heads;
        const uint _e59 = params.value_length;
        base = ((token * _e46) + keys_end) + (((index - _e51) - _e55) * _e59);
    }
    const uint position = inputs[token];
    const uint _e68 = params.tokens;
    const uint table = inputs[_e68 + token];
    const uint _e75 = params.pairs;
    const uint _e79 = params.pairs;
    const float2 first_turn = rotations[(position * _e75) + __builtin_elementwise_min(lane, __builtin_elementwise_max(_e79, 1u) - 1u)];
    i = lane;
    while (true) {
        const uint _e89 = i;
        if (!(_e89 < own)) {
            break;
        }
        {
            const uint _e92 = i;
            const uint _e95 = base;
            const uint _e96 = i;
            const float _e99 = qkv[_e95 + _e96];
            head.e[_e92] = _e99;
        }
        const uint _e100 = i;
        i = _e100 + 64u;
    }
    roci_barrier_workgroup();
    const uint _e105 = params.flags;
    if ((_e105 & 1u) != 0u) {
        local_ = !is_value;
    } else {
        local_ = false;
    }
    const bool _e114 = local_;
    if (_e114) {
        i_1 = lane;
        while (true) {
            const uint _e118 = i_1;
            if (!(_e118 < own)) {
                break;
            }
            {
                const float _e120 = mine;
                const uint _e122 = i_1;
                const float _e124 = head.e[_e122];
                const uint _e126 = i_1;
                const float _e128 = head.e[_e126];
                mine = _e120 + (_e124 * _e128);
            }
            const uint _e131 = i_1;
            i_1 = _e131 + 64u;
        }
        const float _e136 = mine;
        sums.e[lane] = _e136;
        roci_barrier_workgroup();
        while (true) {
            const uint _e139 = step_;
            if (!(_e139 > 0u)) {
                break;
            }
            {
                const uint _e142 = step_;
                if (lane < _e142) {
                    const float _e146 = sums.e[lane];
                    const uint _e148 = step_;
                    const float _e151 = sums.e[lane + _e148];
                    sums.e[lane] = _e146 + _e151;
                }
                roci_barrier_workgroup();
            }
            const uint _e153 = step_;
            step_ = _e153 / 2u;
        }
        const float _e158 = sums.e[0];
        const float _e163 = params.epsilon;
        const float scale = 1.0f / __builtin_elementwise_sqrt((_e158 / ((float)own)) + _e163);
        const uint _e170 = params.key_length;
        const uint factors = is_query ? 0u : _e170;
        i_2 = lane;
        while (true) {
            const uint _e174 = i_2;
            if (!(_e174 < own)) {
                break;
            }
            {
                const uint _e177 = i_2;
                const uint _e180 = i_2;
                const float _e182 = head.e[_e180];
                const uint _e185 = i_2;
                const float _e188 = norms[factors + _e185];
                head.e[_e177] = (_e182 * scale) * _e188;
            }
            const uint _e190 = i_2;
            i_2 = _e190 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (!is_value) {
        i_3 = lane;
        while (true) {
            const uint _e195 = i_3;
            const uint _e198 = params.pairs;
            if (!(_e195 < _e198)) {
                break;
            }
            {
                turn = first_turn;
                const uint _e201 = i_3;
                if (_e201 >= 64u) {
                    const uint _e207 = params.pairs;
                    const uint _e209 = i_3;
                    const float2 _e212 = rotations[(position * _e207) + _e209];
                    turn = _e212;
                }
                const uint _e213 = i_3;
                one = _e213;
                const uint _e215 = i_3;
                const uint _e218 = params.pairs;
                other = _e215 + _e218;
                const uint _e223 = params.flags;
                if ((_e223 & 2u) != 0u) {
                    const uint _e229 = i_3;
                    one = 2u * _e229;
                    const uint _e231 = one;
                    other = _e231 + 1u;
                }
                const uint _e235 = one;
                const float a = head.e[_e235];
                const uint _e239 = other;
                const float b = head.e[_e239];
                const uint _e243 = one;
                const float _e246 = turn.x;
                const float _e249 = turn.y;
                head.e[_e243] = (a * _e246) - (b * _e249);
                const uint _e253 = other;
                const float _e256 = turn.y;
                const float _e259 = turn.x;
                head.e[_e253] = (a * _e256) + (b * _e259);
            }
            const uint _e262 = i_3;
            i_3 = _e262 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (is_query) {
        i_4 = lane;
        while (true) {
            const uint _e266 = i_4;
            if (!(_e266 < own)) {
                break;
            }
            {
                const uint _e269 = base;
                const uint _e270 = i_4;
                const uint _e274 = i_4;
                const float _e276 = head.e[_e274];
                qkv[_e269 + _e270] = _e276;
            }
            const uint _e277 = i_4;
            i_4 = _e277 + 64u;
        }
        return;
    } else {
        const uint _e283 = params.page;
        const uint page = inputs[table + roci_div_u32(position, _e283)];
        const uint _e290 = params.heads;
        number = index - _e290;
        if (is_value) {
            const uint _e293 = number;
            const uint _e296 = params.kv_heads;
            number = _e293 - _e296;
        }
        const uint _e300 = params.page;
        const uint _e304 = params.page;
        const uint _e309 = params.kv_heads;
        const uint _e311 = number;
        const uint line = (((page * _e300) + roci_mod_u32(position, _e304)) * _e309) + _e311;
        const uint words = (own / 4u) + (own / 32u);
        block = lane;
        while (true) {
            const uint _e319 = block;
            if (!(_e319 < (own / 32u))) {
                break;
            }
            {
                most = 0.0f;
                i_6 = 0u;
                while (true) {
                    const uint _e327 = i_6;
                    if (!(_e327 < 32u)) {
                        break;
                    }
                    {
                        const float _e330 = most;
                        const uint _e332 = block;
                        const uint _e335 = i_6;
                        const float _e338 = head.e[(_e332 * 32u) + _e335];
                        most = __builtin_elementwise_maxnum(_e330, __builtin_elementwise_abs(_e338));
                    }
                    const uint _e341 = i_6;
                    i_6 = _e341 + 1u;
                }
                const float _e344 = most;
                const float scale_1 = _e344 / 127.0f;
                const float inverse = (scale_1 > 0.0f) ? (1.0f / scale_1) : 0.0f;
                i_7 = 0u;
                while (true) {
                    const uint _e355 = i_7;
                    if (!(_e355 < 8u)) {
                        break;
                    }
                    {
                        const uint _e358 = block;
                        const uint _e361 = i_7;
                        const uint at = (_e358 * 32u) + (_e361 * 4u);
                        const float _e367 = head.e[at];
                        const float _e372 = head.e[at + 1u];
                        const float _e377 = head.e[at + 2u];
                        const float _e382 = head.e[at + 3u];
                        const float4 four = (float4)(_e367, _e372, _e377, _e382);
                        const uint word = roci_pack4xI8(roci_f32_to_i32x4(__builtin_elementwise_roundeven(four * inverse)));
                        if (is_value) {
                            const uint _e390 = block;
                            const uint _e394 = i_7;
                            values[((line * words) + (_e390 * 8u)) + _e394] = word;
                        } else {
                            const uint _e399 = block;
                            const uint _e403 = i_7;
                            keys[((line * words) + (_e399 * 8u)) + _e403] = word;
                        }
                    }
                    const uint _e406 = i_7;
                    i_7 = _e406 + 1u;
                }
                if (is_value) {
                    const uint _e414 = block;
                    values[((line * words) + (own / 4u)) + _e414] = as_uint(scale_1);
                } else {
                    const uint _e423 = block;
                    keys[((line * words) + (own / 4u)) + _e423] = as_uint(scale_1);
                }
            }
            const uint _e427 = block;
            block = _e427 + 64u;
        }
        return;
    }
}
