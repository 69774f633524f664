// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint tokens;
    uint columns;
    uint rows;
    uint first;
    uint y_stride;
    float factor;
} Params;

ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
ROCI_FN uint4 roci_unpack4xU8(uint a) {
    const uchar4 v = as_uchar4(a);
    return (uint4)(v.x, v.y, v.z, v.w);
}

ROCI_FN float2 scale_from(uint2 words, uint half_) {
    bool local_ = false;
    bool local_1 = false;
    bool local_2 = false;
    local_ = true;
    const bool _e5 = local_;
    if (_e5) {
        const float scale = roci_unpack2x16float(words.x).x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    local_1 = false;
    const bool _e18 = local_1;
    if (_e18) {
        return roci_unpack2x16float((half_ == 1u) ? words.y : words.x);
    }
    local_2 = false;
    const bool _e28 = local_2;
    if (_e28) {
        return (float2)(as_float(words.x), 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN uint2 scale_words(uint group_1, global const uint *scales) {
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    bool local_6 = false;
    bool local_7 = false;
    local_3 = true;
    const bool _e4 = local_3;
    if (_e4) {
        const uint _e9 = scales[group_1 / 2u];
        return (uint2)(_e9 >> (((group_1 % 2u) * 16u) & 31u), 0u);
    }
    local_4 = false;
    const bool _e20 = local_4;
    if (!_e20) {
        local_5 = false;
    } else {
        local_5 = true;
    }
    const bool _e26 = local_5;
    if (_e26) {
        const uint _e29 = scales[group_1];
        return (uint2)(_e29, 0u);
    }
    local_6 = false;
    const bool _e35 = local_6;
    if (!_e35) {
        local_7 = false;
    } else {
        local_7 = true;
    }
    const bool _e41 = local_7;
    if (_e41) {
        const uint _e46 = scales[group_1 * 2u];
        const uint _e53 = scales[(group_1 * 2u) + 1u];
        return (uint2)(_e46, _e53);
    }
    return (uint2)(0u);
}

ROCI_FN float2 scale_of(uint group_2, uint half_1, global const uint *scales) {
    const uint2 _e2 = scale_words(group_2, scales);
    const float2 _e3 = scale_from(_e2, half_1);
    return _e3;
}

ROCI_FN float4 codes_of(uint chunk, uint word, uint next, uint2 rest) {
    bool local_8 = false;
    bool local_9 = false;
    local_8 = true;
    const bool _e8 = local_8;
    if (!_e8) {
        local_9 = false;
    } else {
        local_9 = true;
    }
    const bool _e14 = local_9;
    if (_e14) {
        return convert_float4(roci_unpack4xI8(word));
    }
    const uint nibbles = (word >> (((chunk / 4u) * 4u) & 31u)) & 252645135u;
    return convert_float4(roci_unpack4xU8(nibbles));
}

ROCI_FN float4 four_at(uint row, uint four, private const Params *params, global const uint *codes, global const uint *scales) {
    bool local_10 = false;
    const uint chunk_1 = four % 8u;
    const uint _e6 = (*params).columns;
    const uint group_3 = (row * (_e6 / 32u)) + (four / 8u);
    const float2 scale_1 = scale_of(group_3, 0u, scales);
    local_10 = false;
    const bool _e18 = local_10;
    if (_e18) {
        const uint at = (group_3 * 16u) + (chunk_1 * 2u);
        const uint _e27 = codes[at];
        const uint _e32 = codes[at + 1u];
        const float4 _e34 = codes_of(0u, _e27, _e32, (uint2)(0u));
        return _e34 * scale_1.x;
    }
    const uint at_1 = true ? ((group_3 * 8u) + chunk_1) : ((group_3 * 4u) + (chunk_1 % 4u));
    const uint _e49 = codes[at_1];
    const float4 _e52 = codes_of(chunk_1, _e49, 0u, (uint2)(0u));
    return (_e52 * scale_1.x) + ((float4)(scale_1.y));
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_embed_q8(global const uint *inputs, global const uint *codes, global const uint *scales, global float4 *y, Params params) {
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    float4 v = (float4)(0.0f);
    const uint four_1 = (group.x * 256u) + lane;
    const uint _e10 = params.y_stride;
    if ((four_1 * 4u) >= _e10) {
        return;
    }
    const uint _e18 = params.columns;
    if ((four_1 * 4u) < _e18) {
        const uint _e23 = params.first;
        const uint _e27 = inputs[_e23 + group.y];
        const uint _e30 = params.rows;
        const uint row_1 = min(_e27, _e30 - 1u);
        const float4 _e34 = four_at(row_1, four_1, &params, codes, scales);
        const float _e37 = params.factor;
        v = _e34 * _e37;
    }
    const uint _e43 = params.y_stride;
    const float4 _e49 = v;
    y[(group.y * (_e43 / 4u)) + four_1] = _e49;
}
