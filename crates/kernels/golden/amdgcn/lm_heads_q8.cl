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
typedef struct { float4 e[512]; } array512_float4_;
typedef struct { float4 e[64]; } array64_float4_;
typedef struct {
    float4 x;
    float4 y;
} Turn;

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

ROCI_FN Turn turn_of(uint4 position, uint pair, private const Params *params, global const float2 *rotations) {
    const uint _e6 = (*params).pairs;
    const float2 a = rotations[(position.x * _e6) + pair];
    const uint _e15 = (*params).pairs;
    const float2 b = rotations[(position.y * _e15) + pair];
    const uint _e24 = (*params).pairs;
    const float2 c = rotations[(position.z * _e24) + pair];
    const uint _e33 = (*params).pairs;
    const float2 d = rotations[(position.w * _e33) + pair];
    return (Turn){.x = ((float4)(a.x, b.x, c.x, d.x)), .y = ((float4)(a.y, b.y, c.y, d.y))};
}

ROCI_FN uint of_four(uint4 v, uint i_6) {
    return (i_6 >= 2u) ? ((i_6 == 3u) ? v.w : v.z) : ((i_6 == 1u) ? v.y : v.x);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void lm_heads_q8(global const uint *inputs, global const float *norms, global const float2 *rotations, global float *qkv, global uint *keys, global uint *values, Params params) {
    local array512_float4_ head;
    local array64_float4_ sums;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint offset = 0u;
    uint i = 0u;
    bool local_ = false;
    float4 mine = (float4)(0.0f);
    uint i_1 = 0u;
    uint step_ = 32u;
    uint i_2 = 0u;
    uint i_3 = 0u;
    Turn turn = {0};
    uint one = 0u;
    uint other = 0u;
    uint i_4 = 0u;
    uint number = 0u;
    uint i_5 = 0u;
    float most = 0.0f;
    uint j = 0u;
    uint j_1 = 0u;
    const uint first = group.y * 4u;
    const uint index = group.x;
    const uint _e8 = params.heads;
    const bool is_query = index < _e8;
    const uint _e12 = params.heads;
    const uint _e15 = params.kv_heads;
    const bool is_value = index >= (_e12 + _e15);
    const uint _e20 = params.key_length;
    const uint _e23 = params.value_length;
    const uint own = is_value ? _e23 : _e20;
    const uint _e27 = params.key_length;
    offset = index * _e27;
    if (is_value) {
        const uint _e32 = params.heads;
        const uint _e35 = params.kv_heads;
        const uint _e39 = params.key_length;
        const uint keys_end = (_e32 + _e35) * _e39;
        const uint _e43 = params.heads;
        const uint _e47 = params.kv_heads;
        const uint _e51 = params.value_length;
        offset = keys_end + (((index - _e43) - _e47) * _e51);
    }
    const uint _e63 = params.tokens;
    const uint4 token = __builtin_elementwise_min(((uint4)(first)) + ((uint4)(0u, 1u, 2u, 3u)), (uint4)((_e63 - 1u)));
    const uint _e70 = params.tokens;
    const uint count = __builtin_elementwise_min(_e70 - first, 4u);
    const uint _e76 = params.stride;
    const uint _e78 = offset;
    const uint4 base = (token * ((uint4)(_e76))) + ((uint4)(_e78));
    const uint _e84 = inputs[token.x];
    const uint _e88 = inputs[token.y];
    const uint _e92 = inputs[token.z];
    const uint _e96 = inputs[token.w];
    const uint4 position_1 = (uint4)(_e84, _e88, _e92, _e96);
    i = lane;
    while (true) {
        const uint _e99 = i;
        if (!(_e99 < own)) {
            break;
        }
        {
            const uint _e102 = i;
            const uint _e106 = i;
            const float _e109 = qkv[base.x + _e106];
            const uint _e112 = i;
            const float _e115 = qkv[base.y + _e112];
            const uint _e118 = i;
            const float _e121 = qkv[base.z + _e118];
            const uint _e124 = i;
            const float _e127 = qkv[base.w + _e124];
            head.e[_e102] = (float4)(_e109, _e115, _e121, _e127);
        }
        const uint _e129 = i;
        i = _e129 + 64u;
    }
    const uint _e134 = params.pairs;
    const Turn first_turn = turn_of(position_1, __builtin_elementwise_min(lane, __builtin_elementwise_max(_e134, 1u) - 1u), &params, rotations);
    roci_barrier_workgroup();
    const uint _e143 = params.flags;
    if ((_e143 & 1u) != 0u) {
        local_ = !is_value;
    } else {
        local_ = false;
    }
    const bool _e152 = local_;
    if (_e152) {
        i_1 = lane;
        while (true) {
            const uint _e156 = i_1;
            if (!(_e156 < own)) {
                break;
            }
            {
                const float4 _e158 = mine;
                const uint _e160 = i_1;
                const float4 _e162 = head.e[_e160];
                const uint _e164 = i_1;
                const float4 _e166 = head.e[_e164];
                mine = _e158 + (_e162 * _e166);
            }
            const uint _e169 = i_1;
            i_1 = _e169 + 64u;
        }
        const float4 _e174 = mine;
        sums.e[lane] = _e174;
        roci_barrier_workgroup();
        while (true) {
            const uint _e177 = step_;
            if (!(_e177 > 0u)) {
                break;
            }
            {
                const uint _e180 = step_;
                if (lane < _e180) {
                    const float4 _e184 = sums.e[lane];
                    const uint _e186 = step_;
                    const float4 _e189 = sums.e[lane + _e186];
                    sums.e[lane] = _e184 + _e189;
                }
                roci_barrier_workgroup();
            }
            const uint _e191 = step_;
            step_ = _e191 / 2u;
        }
        const float4 _e196 = sums.e[0];
        const float _e202 = params.epsilon;
        const float4 scale = ((float4)(1.0f)) / __builtin_elementwise_sqrt((_e196 / ((float4)(((float)own)))) + ((float4)(_e202)));
        const uint _e211 = params.key_length;
        const uint factors = is_query ? 0u : _e211;
        i_2 = lane;
        while (true) {
            const uint _e215 = i_2;
            if (!(_e215 < own)) {
                break;
            }
            {
                const uint _e218 = i_2;
                const uint _e221 = i_2;
                const float4 _e223 = head.e[_e221];
                const uint _e226 = i_2;
                const float _e229 = norms[factors + _e226];
                head.e[_e218] = (_e223 * scale) * _e229;
            }
            const uint _e231 = i_2;
            i_2 = _e231 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (!is_value) {
        i_3 = lane;
        while (true) {
            const uint _e236 = i_3;
            const uint _e239 = params.pairs;
            if (!(_e236 < _e239)) {
                break;
            }
            {
                turn = first_turn;
                const uint _e242 = i_3;
                if (_e242 >= 64u) {
                    const uint _e245 = i_3;
                    const Turn _e246 = turn_of(position_1, _e245, &params, rotations);
                    turn = _e246;
                }
                const uint _e247 = i_3;
                one = _e247;
                const uint _e249 = i_3;
                const uint _e252 = params.pairs;
                other = _e249 + _e252;
                const uint _e257 = params.flags;
                if ((_e257 & 2u) != 0u) {
                    const uint _e263 = i_3;
                    one = 2u * _e263;
                    const uint _e265 = one;
                    other = _e265 + 1u;
                }
                const uint _e269 = one;
                const float4 a_1 = head.e[_e269];
                const uint _e273 = other;
                const float4 b_1 = head.e[_e273];
                const uint _e277 = one;
                const float4 _e280 = turn.x;
                const float4 _e283 = turn.y;
                head.e[_e277] = (a_1 * _e280) - (b_1 * _e283);
                const uint _e287 = other;
                const float4 _e290 = turn.y;
                const float4 _e293 = turn.x;
                head.e[_e287] = (a_1 * _e290) + (b_1 * _e293);
            }
            const uint _e296 = i_3;
            i_3 = _e296 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (is_query) {
        i_4 = lane;
        while (true) {
            const uint _e300 = i_4;
            if (!(_e300 < own)) {
                break;
            }
            {
                const uint _e303 = i_4;
                const float4 v_1 = head.e[_e303];
                const uint _e308 = i_4;
                qkv[base.x + _e308] = v_1.x;
                if (count > 1u) {
                    const uint _e316 = i_4;
                    qkv[base.y + _e316] = v_1.y;
                }
                if (count > 2u) {
                    const uint _e324 = i_4;
                    qkv[base.z + _e324] = v_1.z;
                }
                if (count > 3u) {
                    const uint _e332 = i_4;
                    qkv[base.w + _e332] = v_1.w;
                }
            }
            const uint _e336 = i_4;
            i_4 = _e336 + 64u;
        }
        return;
    }
    const uint _e341 = params.heads;
    number = index - _e341;
    if (is_value) {
        const uint _e344 = number;
        const uint _e347 = params.kv_heads;
        number = _e344 - _e347;
    }
    const uint length_ = false ? (own / 2u) : (own / 32u);
    i_5 = lane;
    while (true) {
        const uint _e356 = i_5;
        if (!(_e356 < (length_ * count))) {
            break;
        }
        {
            const uint _e359 = i_5;
            const uint turn_1 = roci_div_u32(_e359, length_);
            const uint at = of_four(position_1, turn_1);
            const uint _e365 = params.tokens;
            const uint _e366 = of_four(token, turn_1);
            const uint table = inputs[_e365 + _e366];
            const uint _e373 = params.page;
            const uint _e377 = inputs[table + roci_div_u32(at, _e373)];
            const uint _e380 = params.page;
            const uint _e384 = params.page;
            const uint _e389 = params.kv_heads;
            const uint _e391 = number;
            const uint line = (((_e377 * _e380) + roci_mod_u32(at, _e384)) * _e389) + _e391;
            const uint words = (own / 4u) + (own / 32u);
            const uint _e398 = i_5;
            const uint block = roci_mod_u32(_e398, length_);
            most = 0.0f;
            j = 0u;
            while (true) {
                const uint _e404 = j;
                if (!(_e404 < 32u)) {
                    break;
                }
                {
                    const float _e407 = most;
                    const uint _e411 = j;
                    const float _e415 = ((local float *)&head.e[(block * 32u) + _e411])[turn_1];
                    most = __builtin_elementwise_maxnum(_e407, __builtin_elementwise_abs(_e415));
                }
                const uint _e418 = j;
                j = _e418 + 1u;
            }
            const float _e421 = most;
            const float scale_1 = _e421 / 127.0f;
            const float inverse = (scale_1 > 0.0f) ? (1.0f / scale_1) : 0.0f;
            j_1 = 0u;
            while (true) {
                const uint _e432 = j_1;
                if (!(_e432 < 8u)) {
                    break;
                }
                {
                    const uint _e437 = j_1;
                    const uint four = (block * 32u) + (_e437 * 4u);
                    const float _e444 = ((local float *)&head.e[four])[turn_1];
                    const float _e450 = ((local float *)&head.e[four + 1u])[turn_1];
                    const float _e456 = ((local float *)&head.e[four + 2u])[turn_1];
                    const float _e462 = ((local float *)&head.e[four + 3u])[turn_1];
                    const float4 v_2 = (float4)(_e444, _e450, _e456, _e462);
                    const uint word = roci_pack4xI8(roci_f32_to_i32x4(__builtin_elementwise_roundeven(v_2 * inverse)));
                    if (is_value) {
                        const uint _e473 = j_1;
                        values[((line * words) + (block * 8u)) + _e473] = word;
                    } else {
                        const uint _e481 = j_1;
                        keys[((line * words) + (block * 8u)) + _e481] = word;
                    }
                }
                const uint _e484 = j_1;
                j_1 = _e484 + 1u;
            }
            if (is_value) {
                values[((line * words) + (own / 4u)) + block] = as_uint(scale_1);
            } else {
                keys[((line * words) + (own / 4u)) + block] = as_uint(scale_1);
            }
        }
        const uint _e503 = i_5;
        i_5 = _e503 + 64u;
    }
}
