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
    i = lane;
    while (true) {
        const uint _e63 = i;
        if (!(_e63 < own)) {
            break;
        }
        {
            const uint _e66 = i;
            const uint _e69 = base;
            const uint _e70 = i;
            const float _e73 = qkv[_e69 + _e70];
            head.e[_e66] = _e73;
        }
        const uint _e74 = i;
        i = _e74 + 64u;
    }
    roci_barrier_workgroup();
    const uint _e79 = params.flags;
    if ((_e79 & 1u) != 0u) {
        local_ = !is_value;
    } else {
        local_ = false;
    }
    const bool _e88 = local_;
    if (_e88) {
        i_1 = lane;
        while (true) {
            const uint _e92 = i_1;
            if (!(_e92 < own)) {
                break;
            }
            {
                const float _e94 = mine;
                const uint _e96 = i_1;
                const float _e98 = head.e[_e96];
                const uint _e100 = i_1;
                const float _e102 = head.e[_e100];
                mine = _e94 + (_e98 * _e102);
            }
            const uint _e105 = i_1;
            i_1 = _e105 + 64u;
        }
        const float _e110 = mine;
        sums.e[lane] = _e110;
        roci_barrier_workgroup();
        while (true) {
            const uint _e113 = step_;
            if (!(_e113 > 0u)) {
                break;
            }
            {
                const uint _e116 = step_;
                if (lane < _e116) {
                    const float _e120 = sums.e[lane];
                    const uint _e122 = step_;
                    const float _e125 = sums.e[lane + _e122];
                    sums.e[lane] = _e120 + _e125;
                }
                roci_barrier_workgroup();
            }
            const uint _e127 = step_;
            step_ = _e127 / 2u;
        }
        const float _e132 = sums.e[0];
        const float _e137 = params.epsilon;
        const float scale = 1.0f / __builtin_elementwise_sqrt((_e132 / ((float)own)) + _e137);
        const uint _e144 = params.key_length;
        const uint factors = is_query ? 0u : _e144;
        i_2 = lane;
        while (true) {
            const uint _e148 = i_2;
            if (!(_e148 < own)) {
                break;
            }
            {
                const uint _e151 = i_2;
                const uint _e154 = i_2;
                const float _e156 = head.e[_e154];
                const uint _e159 = i_2;
                const float _e162 = norms[factors + _e159];
                head.e[_e151] = (_e156 * scale) * _e162;
            }
            const uint _e164 = i_2;
            i_2 = _e164 + 64u;
        }
        roci_barrier_workgroup();
    }
    const uint position = inputs[token];
    if (!is_value) {
        i_3 = lane;
        while (true) {
            const uint _e172 = i_3;
            const uint _e175 = params.pairs;
            if (!(_e172 < _e175)) {
                break;
            }
            {
                const uint _e180 = params.pairs;
                const uint _e182 = i_3;
                const float2 turn = rotations[(position * _e180) + _e182];
                const uint _e186 = i_3;
                one = _e186;
                const uint _e188 = i_3;
                const uint _e191 = params.pairs;
                other = _e188 + _e191;
                const uint _e196 = params.flags;
                if ((_e196 & 2u) != 0u) {
                    const uint _e202 = i_3;
                    one = 2u * _e202;
                    const uint _e204 = one;
                    other = _e204 + 1u;
                }
                const uint _e208 = one;
                const float a = head.e[_e208];
                const uint _e212 = other;
                const float b = head.e[_e212];
                const uint _e216 = one;
                head.e[_e216] = (a * turn.x) - (b * turn.y);
                const uint _e224 = other;
                head.e[_e224] = (a * turn.y) + (b * turn.x);
            }
            const uint _e231 = i_3;
            i_3 = _e231 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (is_query) {
        i_4 = lane;
        while (true) {
            const uint _e235 = i_4;
            if (!(_e235 < own)) {
                break;
            }
            {
                const uint _e238 = base;
                const uint _e239 = i_4;
                const uint _e243 = i_4;
                const float _e245 = head.e[_e243];
                qkv[_e238 + _e239] = _e245;
            }
            const uint _e246 = i_4;
            i_4 = _e246 + 64u;
        }
        return;
    } else {
        const uint _e253 = params.tokens;
        const uint _e256 = inputs[_e253 + token];
        const uint _e259 = params.page;
        const uint page = inputs[_e256 + roci_div_u32(position, _e259)];
        const uint _e266 = params.heads;
        number = index - _e266;
        if (is_value) {
            const uint _e269 = number;
            const uint _e272 = params.kv_heads;
            number = _e269 - _e272;
        }
        const uint _e276 = params.page;
        const uint _e280 = params.page;
        const uint _e285 = params.kv_heads;
        const uint _e287 = number;
        const uint line = (((page * _e276) + roci_mod_u32(position, _e280)) * _e285) + _e287;
        const uint words = (own / 4u) + (own / 32u);
        block = lane;
        while (true) {
            const uint _e295 = block;
            if (!(_e295 < (own / 32u))) {
                break;
            }
            {
                most = 0.0f;
                i_6 = 0u;
                while (true) {
                    const uint _e303 = i_6;
                    if (!(_e303 < 32u)) {
                        break;
                    }
                    {
                        const float _e306 = most;
                        const uint _e308 = block;
                        const uint _e311 = i_6;
                        const float _e314 = head.e[(_e308 * 32u) + _e311];
                        most = __builtin_elementwise_maxnum(_e306, __builtin_elementwise_abs(_e314));
                    }
                    const uint _e317 = i_6;
                    i_6 = _e317 + 1u;
                }
                const float _e320 = most;
                const float scale_1 = _e320 / 127.0f;
                const float inverse = (scale_1 > 0.0f) ? (1.0f / scale_1) : 0.0f;
                i_7 = 0u;
                while (true) {
                    const uint _e331 = i_7;
                    if (!(_e331 < 8u)) {
                        break;
                    }
                    {
                        const uint _e334 = block;
                        const uint _e337 = i_7;
                        const uint at = (_e334 * 32u) + (_e337 * 4u);
                        const float _e343 = head.e[at];
                        const float _e348 = head.e[at + 1u];
                        const float _e353 = head.e[at + 2u];
                        const float _e358 = head.e[at + 3u];
                        const float4 four = (float4)(_e343, _e348, _e353, _e358);
                        const uint word = roci_pack4xI8(roci_f32_to_i32x4(__builtin_elementwise_roundeven(four * inverse)));
                        if (is_value) {
                            const uint _e366 = block;
                            const uint _e370 = i_7;
                            values[((line * words) + (_e366 * 8u)) + _e370] = word;
                        } else {
                            const uint _e375 = block;
                            const uint _e379 = i_7;
                            keys[((line * words) + (_e375 * 8u)) + _e379] = word;
                        }
                    }
                    const uint _e382 = i_7;
                    i_7 = _e382 + 1u;
                }
                if (is_value) {
                    const uint _e390 = block;
                    values[((line * words) + (own / 4u)) + _e390] = as_uint(scale_1);
                } else {
                    const uint _e399 = block;
                    keys[((line * words) + (own / 4u)) + _e399] = as_uint(scale_1);
                }
            }
            const uint _e403 = block;
            block = _e403 + 64u;
        }
        return;
    }
}
