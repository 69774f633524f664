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
    uint page;
    float epsilon;
    uint used;
    uint part_stride;
} Params;
typedef struct { float4 e[512]; } array512_float4_;
typedef struct { float4 e[64]; } array64_float4_;
typedef struct {
    float4 x;
    float4 y;
} Turn;

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
ROCI_FN ushort roci_narrow_f16(float a) {
    return as_ushort((half)a);
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
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

ROCI_FN float4 sum_of(uint4 from_part, private const Params *params, global const float *parts) {
    float4 sum = (float4)(0.0f);
    uint part = 0u;
    while (true) {
        const uint _e5 = part;
        const uint _e8 = (*params).used;
        if (!(_e5 < _e8)) {
            break;
        }
        {
            const uint _e10 = part;
            const uint _e13 = (*params).part_stride;
            const uint4 at = from_part + ((uint4)((_e10 * _e13)));
            const float4 _e17 = sum;
            const float _e21 = parts[at.x];
            const float _e25 = parts[at.y];
            const float _e29 = parts[at.z];
            const float _e33 = parts[at.w];
            sum = _e17 + ((float4)(_e21, _e25, _e29, _e33));
        }
        const uint _e36 = part;
        part = _e36 + 1u;
    }
    const float4 _e39 = sum;
    return _e39;
}

ROCI_FN uint of_four(uint4 v, uint i_7) {
    return (i_7 >= 2u) ? ((i_7 == 3u) ? v.w : v.z) : ((i_7 == 1u) ? v.y : v.x);
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void lm_heads_f16(global const uint *inputs, global const float *norms, global const float2 *rotations, global const float *parts, global float *qkv, global uint *keys, global uint *values, Params params) {
    local array512_float4_ head;
    local array64_float4_ sums;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint offset = 0u;
    uint i = 0u;
    uint i_1 = 0u;
    bool local_ = false;
    float4 mine = (float4)(0.0f);
    uint i_2 = 0u;
    uint step_ = 32u;
    uint i_3 = 0u;
    uint i_4 = 0u;
    Turn turn = {0};
    uint one = 0u;
    uint other = 0u;
    uint i_5 = 0u;
    uint number = 0u;
    uint i_6 = 0u;
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
    const uint _e100 = params.used;
    if (_e100 == 0u) {
        i = lane;
        while (true) {
            const uint _e104 = i;
            if (!(_e104 < own)) {
                break;
            }
            {
                const uint _e107 = i;
                const uint _e111 = i;
                const float _e114 = qkv[base.x + _e111];
                const uint _e117 = i;
                const float _e120 = qkv[base.y + _e117];
                const uint _e123 = i;
                const float _e126 = qkv[base.z + _e123];
                const uint _e129 = i;
                const float _e132 = qkv[base.w + _e129];
                head.e[_e107] = (float4)(_e114, _e120, _e126, _e132);
            }
            const uint _e134 = i;
            i = _e134 + 64u;
        }
    } else {
        i_1 = lane;
        while (true) {
            const uint _e138 = i_1;
            if (!(_e138 < own)) {
                break;
            }
            {
                const uint _e141 = i_1;
                const uint _e145 = params.used;
                const uint _e148 = params.part_stride;
                const uint _e151 = offset;
                const uint _e152 = i_1;
                const float4 _e156 = sum_of((token * ((uint4)((_e145 * _e148)))) + ((uint4)((_e151 + _e152))), &params, parts);
                head.e[_e141] = _e156;
            }
            const uint _e157 = i_1;
            i_1 = _e157 + 64u;
        }
    }
    const uint _e162 = params.pairs;
    const Turn first_turn = turn_of(position_1, __builtin_elementwise_min(lane, __builtin_elementwise_max(_e162, 1u) - 1u), &params, rotations);
    roci_barrier_workgroup();
    const uint _e171 = params.flags;
    if ((_e171 & 1u) != 0u) {
        local_ = !is_value;
    } else {
        local_ = false;
    }
    const bool _e180 = local_;
    if (_e180) {
        i_2 = lane;
        while (true) {
            const uint _e184 = i_2;
            if (!(_e184 < own)) {
                break;
            }
            {
                const float4 _e186 = mine;
                const uint _e188 = i_2;
                const float4 _e190 = head.e[_e188];
                const uint _e192 = i_2;
                const float4 _e194 = head.e[_e192];
                mine = _e186 + (_e190 * _e194);
            }
            const uint _e197 = i_2;
            i_2 = _e197 + 64u;
        }
        const float4 _e202 = mine;
        sums.e[lane] = _e202;
        roci_barrier_workgroup();
        while (true) {
            const uint _e205 = step_;
            if (!(_e205 > 0u)) {
                break;
            }
            {
                const uint _e208 = step_;
                if (lane < _e208) {
                    const float4 _e212 = sums.e[lane];
                    const uint _e214 = step_;
                    const float4 _e217 = sums.e[lane + _e214];
                    sums.e[lane] = _e212 + _e217;
                }
                roci_barrier_workgroup();
            }
            const uint _e219 = step_;
            step_ = _e219 / 2u;
        }
        const float4 _e224 = sums.e[0];
        const float _e230 = params.epsilon;
        const float4 scale = ((float4)(1.0f)) / __builtin_elementwise_sqrt((_e224 / ((float4)(((float)own)))) + ((float4)(_e230)));
        const uint _e239 = params.key_length;
        const uint factors = is_query ? 0u : _e239;
        i_3 = lane;
        while (true) {
            const uint _e243 = i_3;
            if (!(_e243 < own)) {
                break;
            }
            {
                const uint _e246 = i_3;
                const uint _e249 = i_3;
                const float4 _e251 = head.e[_e249];
                const uint _e254 = i_3;
                const float _e257 = norms[factors + _e254];
                head.e[_e246] = (_e251 * scale) * _e257;
            }
            const uint _e259 = i_3;
            i_3 = _e259 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (!is_value) {
        i_4 = lane;
        while (true) {
            const uint _e264 = i_4;
            const uint _e267 = params.pairs;
            if (!(_e264 < _e267)) {
                break;
            }
            {
                turn = first_turn;
                const uint _e270 = i_4;
                if (_e270 >= 64u) {
                    const uint _e273 = i_4;
                    const Turn _e274 = turn_of(position_1, _e273, &params, rotations);
                    turn = _e274;
                }
                const uint _e275 = i_4;
                one = _e275;
                const uint _e277 = i_4;
                const uint _e280 = params.pairs;
                other = _e277 + _e280;
                const uint _e285 = params.flags;
                if ((_e285 & 2u) != 0u) {
                    const uint _e291 = i_4;
                    one = 2u * _e291;
                    const uint _e293 = one;
                    other = _e293 + 1u;
                }
                const uint _e297 = one;
                const float4 a_1 = head.e[_e297];
                const uint _e301 = other;
                const float4 b_1 = head.e[_e301];
                const uint _e305 = one;
                const float4 _e308 = turn.x;
                const float4 _e311 = turn.y;
                head.e[_e305] = (a_1 * _e308) - (b_1 * _e311);
                const uint _e315 = other;
                const float4 _e318 = turn.y;
                const float4 _e321 = turn.x;
                head.e[_e315] = (a_1 * _e318) + (b_1 * _e321);
            }
            const uint _e324 = i_4;
            i_4 = _e324 + 64u;
        }
        roci_barrier_workgroup();
    }
    if (is_query) {
        i_5 = lane;
        while (true) {
            const uint _e328 = i_5;
            if (!(_e328 < own)) {
                break;
            }
            {
                const uint _e331 = i_5;
                const float4 v_1 = head.e[_e331];
                const uint _e336 = i_5;
                qkv[base.x + _e336] = v_1.x;
                if (count > 1u) {
                    const uint _e344 = i_5;
                    qkv[base.y + _e344] = v_1.y;
                }
                if (count > 2u) {
                    const uint _e352 = i_5;
                    qkv[base.z + _e352] = v_1.z;
                }
                if (count > 3u) {
                    const uint _e360 = i_5;
                    qkv[base.w + _e360] = v_1.w;
                }
            }
            const uint _e364 = i_5;
            i_5 = _e364 + 64u;
        }
        return;
    }
    const uint _e369 = params.heads;
    number = index - _e369;
    if (is_value) {
        const uint _e372 = number;
        const uint _e375 = params.kv_heads;
        number = _e372 - _e375;
    }
    const uint length_ = true ? (own / 2u) : (own / 32u);
    i_6 = lane;
    while (true) {
        const uint _e384 = i_6;
        if (!(_e384 < (length_ * count))) {
            break;
        }
        {
            const uint _e387 = i_6;
            const uint turn_1 = roci_div_u32(_e387, length_);
            const uint at_1 = of_four(position_1, turn_1);
            const uint _e393 = params.tokens;
            const uint _e394 = of_four(token, turn_1);
            const uint table = inputs[_e393 + _e394];
            const uint _e401 = params.page;
            const uint _e405 = inputs[table + roci_div_u32(at_1, _e401)];
            const uint _e408 = params.page;
            const uint _e412 = params.page;
            const uint _e417 = params.kv_heads;
            const uint _e419 = number;
            const uint line = (((_e405 * _e408) + roci_mod_u32(at_1, _e412)) * _e417) + _e419;
            const uint _e421 = i_6;
            const uint from_pair = roci_mod_u32(_e421, length_);
            const float _e428 = ((local float *)&head.e[2u * from_pair])[turn_1];
            const float _e436 = ((local float *)&head.e[(2u * from_pair) + 1u])[turn_1];
            const uint word = roci_pack2x16float((float2)(_e428, _e436));
            if (is_value) {
                values[(line * length_) + from_pair] = word;
            } else {
                keys[(line * length_) + from_pair] = word;
            }
        }
        const uint _e447 = i_6;
        i_6 = _e447 + 64u;
    }
}
