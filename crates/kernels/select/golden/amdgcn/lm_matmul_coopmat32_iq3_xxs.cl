// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint rows;
    uint columns;
    uint tokens;
    uint x_stride;
    uint y_stride;
    uint y_offset;
    uint flags;
    uint experts;
    uint sharing;
    uint model_columns;
    float epsilon;
} Params;
typedef struct { half4 e[576]; } array576_half4_;
typedef struct { half4 e[2304]; } array2304_half4_;
typedef struct { float4 e[1024]; } array1024_float4_;
typedef struct {
    half4 a;
    half4 b;
    half4 c;
    half4 d;
} XElements;
typedef struct {
    uint4 a;
    uint4 b;
    uint4 scales;
} WElements;

ROCI_FN ushort roci_narrow_f16(float a) {
    return as_ushort((half)a);
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
ROCI_FN float roci_widen_f16(ushort bits) {
    return (float)as_half(bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN uint roci_count_ones_u32(uint a) {
    return (uint)__builtin_popcount((uint)a);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
ROCI_FN uint roci_lane(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}
ROCI_FN half16 roci_wmma_load_b_f16_local_columns(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[lane * stride + i];
    }
    return v;
}
ROCI_FN half16 roci_wmma_load_a_f16_local_rows(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[lane * stride + i];
    }
    return v;
}
ROCI_FN float8 roci_wmma_multiply_add_f32(half16 a, half16 b, float8 c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
ROCI_FN void roci_wmma_store_c_f32_local_rows(local float *p, uint stride, float8 v) {
    const uint lane = roci_lane();
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        p[(2u * i + lane / 16u) * stride + lane % 16u] = v[i];
    }
}

ROCI_FN float roci_component_of_float4(float4 v, uint i) {
    return i == 0u ? v.x : i == 1u ? v.y : i == 2u ? v.z : v.w;
}

ROCI_FN XElements load_x(uint row, uint next_row, uint step_1, uint lane_1, private const Params *params, global const half4 *x) {
    XElements elements = {0};
    const uint column = (step_1 * 16u) + ((lane_1 % 8u) * 2u);
    const uint _e14 = (*params).columns;
    if (column < (_e14 / 4u)) {
        const uint _e20 = (*params).x_stride;
        const uint at_1 = (row * (_e20 / 4u)) + column;
        const half4 _e28 = x[at_1];
        elements.a = _e28;
        const half4 _e34 = x[at_1 + 1u];
        elements.b = _e34;
    }
    const XElements _e35 = elements;
    return _e35;
}

ROCI_FN void store_x(XElements elements_1, uint lane_2, local array576_half4_ *x_tile) {
    const uint to_1 = ((lane_2 / 8u) * 18u) + ((lane_2 % 8u) * 2u);
    (*x_tile).e[to_1] = elements_1.a.xzyw;
    (*x_tile).e[to_1 + 1u] = elements_1.b.xzyw;
}

ROCI_FN uint tile_token(uint tile, uint place, private const Params *params, global const uint *tiles) {
    const uint _e4 = (*params).experts;
    if (_e4 == 0u) {
        return (tile * 32u) + place;
    }
    const uint _e17 = tiles[((tile * 33u) + 1u) + place];
    return _e17;
}

ROCI_FN float gated_unit(uint row_1, uint first_row, float2 sums, private const Params *params, global const float *bias) {
    float2 v = (float2)(0.0f);
    float gate = 0.0f;
    float up = 0.0f;
    float z = 0.0f;
    v = sums;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v;
        const float _e15 = bias[first_row + row_1];
        const float _e21 = bias[(first_row + row_1) + 1u];
        v = _e11 + ((float2)(_e15, _e21));
    }
    const float _e25 = v.x;
    gate = _e25;
    const float _e28 = v.y;
    up = _e28;
    const float _e30 = gate;
    z = _e30;
    const uint _e34 = (*params).flags;
    if ((_e34 & 12u) == 12u) {
        const float _e39 = gate;
        gate = __builtin_elementwise_minnum(_e39, 7.0f);
        const float _e42 = gate;
        z = 1.702f * _e42;
        const float _e45 = up;
        up = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e45, -7.0f), 7.0f) + 1.0f;
    } else {
        const uint _e53 = (*params).flags;
        if ((_e53 & 4u) == 0u) {
            const float _e58 = gate;
            const float _e59 = gate;
            const float _e62 = gate;
            const float _e64 = gate;
            z = 1.5957692f * (_e58 + (((0.044715f * _e59) * _e62) * _e64));
        }
    }
    const float _e69 = gate;
    const float _e70 = z;
    const float _e76 = up;
    return (_e69 / (1.0f + __builtin_elementwise_exp(-_e70))) * _e76;
}

ROCI_FN void epilogue_gated(uint token, uint row_2, uint first_row_1, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    const uint _e7 = (*params).y_stride;
    const uint _e11 = (*params).y_offset;
    const float _e17 = gated_unit(row_2, first_row_1, sums_1, params, bias);
    y[((token * _e7) + _e11) + (row_2 / 2u)] = _e17;
}

ROCI_FN void epilogue(uint token_1, uint row_3, uint first_row_2, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_1 = 0.0f;
    const uint _e6 = (*params).y_stride;
    const uint _e10 = (*params).y_offset;
    const uint at_2 = ((token_1 * _e6) + _e10) + row_3;
    v_1 = sum;
    const uint _e16 = (*params).flags;
    if ((_e16 & 2u) != 0u) {
        const float _e21 = v_1;
        const float _e25 = bias[first_row_2 + row_3];
        v_1 = _e21 + _e25;
    }
    const uint _e29 = (*params).flags;
    if ((_e29 & 1u) != 0u) {
        const float _e34 = v_1;
        const float _e37 = y[at_2];
        v_1 = _e34 + _e37;
    }
    const float _e41 = v_1;
    y[at_2] = _e41;
}

ROCI_FN void epilogue_vec4_(uint token_2, uint row_4, uint first_row_3, float4 sums_2, private const Params *params, global const float *bias, global float *y) {
    float2 pair = (float2)(0.0f);
    uint i = 0u;
    const uint _e6 = (*params).flags;
    if ((_e6 & 32u) != 0u) {
        const float _e12 = gated_unit(row_4, first_row_3, sums_2.xy, params, bias);
        pair = (float2)(_e12, 0.0f);
        const uint _e20 = (*params).rows;
        if ((row_4 + 2u) < _e20) {
            const float _e26 = gated_unit(row_4 + 2u, first_row_3, sums_2.zw, params, bias);
            pair.y = _e26;
        }
        const float2 _e27 = pair;
        const uint word_2 = roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e27, (float2)((-65504.0f))), (float2)(65504.0f)));
        const uint _e37 = (*params).y_stride;
        const uint _e41 = (*params).y_offset;
        y[((token_2 * _e37) + _e41) + (row_4 / 4u)] = as_float(word_2);
        return;
    }
    const uint _e50 = (*params).flags;
    if ((_e50 & 12u) != 0u) {
        epilogue_gated(token_2, row_4, first_row_3, sums_2.xy, params, bias, y);
        const uint _e60 = (*params).rows;
        if ((row_4 + 2u) < _e60) {
            epilogue_gated(token_2, row_4 + 2u, first_row_3, sums_2.zw, params, bias, y);
        }
        return;
    }
    while (true) {
        const uint _e67 = i;
        if (!(_e67 < 4u)) {
            break;
        }
        {
            const uint _e70 = i;
            const uint _e74 = (*params).rows;
            if ((row_4 + _e70) < _e74) {
                const uint _e76 = i;
                const uint _e78 = i;
                epilogue(token_2, row_4 + _e76, first_row_3, roci_component_of_float4(sums_2, _e78), params, bias, y);
            }
        }
        const uint _e80 = i;
        i = _e80 + 1u;
    }
}

ROCI_FN void reduce_and_store(uint3 group_1, uint first_place, uint matrix, uint lane_3, private const Params *params, global const float *bias, global const uint *tiles, global float *y, local array1024_float4_ *result) {
    uint unit = 0u;
    bool local_ = false;
    unit = lane_3;
    while (true) {
        const uint _e5 = unit;
        if (!(_e5 < 512u)) {
            break;
        }
        {
            const uint _e8 = unit;
            const uint place_2 = _e8 / 32u;
            const uint _e11 = unit;
            const uint vec = _e11 % 32u;
            const uint at_3 = ((((vec / 8u) * 128u) + (((vec / 4u) % 2u) * 64u)) + (place_2 * 4u)) + (vec % 4u);
            const uint token_3 = tile_token(group_1.x, first_place + place_2, params, tiles);
            const uint row_6 = (group_1.y * 128u) + (vec * 4u);
            const uint _e42 = (*params).tokens;
            if (token_3 < _e42) {
                const uint _e48 = (*params).rows;
                local_ = row_6 < _e48;
            } else {
                local_ = false;
            }
            const bool _e51 = local_;
            if (_e51) {
                const float4 _e54 = (*result).e[at_3];
                const float4 _e59 = (*result).e[at_3 + 512u];
                const float4 sums_3 = _e54 + _e59;
                const uint _e63 = (*params).sharing;
                const uint _e67 = (*params).experts;
                const uint splits = (_e67 != 0u) ? 1u : _e63;
                epilogue_vec4_((token_3 * splits) + group_1.z, row_6, matrix, sums_3, params, bias, y);
            }
        }
        const uint _e74 = unit;
        unit = _e74 + 256u;
    }
}

ROCI_FN uint tile_first_row(uint tile_1, private const Params *params, global const uint *tiles) {
    const uint _e3 = (*params).experts;
    if (_e3 == 0u) {
        return 0u;
    }
    const uint _e11 = tiles[tile_1 * 33u];
    const uint _e14 = (*params).experts;
    const uint _e20 = (*params).rows;
    return __builtin_elementwise_min(_e11, _e14 - 1u) * _e20;
}

ROCI_FN uint tile_x_row(uint tile_2, uint place_1, private const Params *params, global const uint *tiles) {
    const uint _e2 = tile_token(tile_2, place_1, params, tiles);
    const uint _e5 = (*params).tokens;
    const uint token_4 = __builtin_elementwise_min(_e2, _e5 - 1u);
    const uint _e11 = (*params).experts;
    if (_e11 == 0u) {
        return token_4;
    }
    const uint _e16 = (*params).sharing;
    return roci_div_u32(token_4, _e16);
}

ROCI_FN bool has_byte_codes(void) {
    return true;
}

ROCI_FN uint group_index(uint matrix_1, uint row_5, uint group_2, private const Params *params) {
    const uint _e5 = (*params).columns;
    const uint groups = _e5 / 32u;
    const uint _e10 = (*params).rows;
    return ((matrix_1 + __builtin_elementwise_min(row_5, _e10 - 1u)) * groups) + __builtin_elementwise_min(group_2, groups - 1u);
}

ROCI_FN uint grid_size(void) {
    bool local_1 = false;
    bool local_2 = false;
    bool local_3 = false;
    local_1 = false;
    const bool _e3 = local_1;
    if (_e3) {
        return 1024u;
    }
    local_2 = false;
    const bool _e8 = local_2;
    if (_e8) {
        return 512u;
    }
    local_3 = true;
    const bool _e13 = local_3;
    if (_e13) {
        return 256u;
    }
    return 0u;
}

ROCI_FN uint half_word(uint at, global const uint *scales) {
    const uint _e2 = grid_size();
    const uint _e7 = scales[_e2 + (at / 2u)];
    return _e7 >> (((at % 2u) * 16u) & 31u);
}

ROCI_FN uint4 load_unit(uint unit_1, global const uint *codes) {
    bool local_4 = false;
    bool local_5 = false;
    const uint group_5 = unit_1 / 2u;
    const uint half_1 = unit_1 % 2u;
    local_4 = false;
    const bool _e8 = local_4;
    if (!_e8) {
        local_5 = false;
    } else {
        local_5 = true;
    }
    const bool _e14 = local_5;
    if (_e14) {
        const uint at_4 = group_5 * 5u;
        const uint low = at_4 + (half_1 * 2u);
        const uint _e22 = codes[low];
        const uint _e27 = codes[low + 1u];
        const uint _e32 = codes[at_4 + 4u];
        return (uint4)(_e22, _e27, _e32 >> ((half_1 * 16u) & 31u), 0u);
    }
    const uint _e43 = codes[(group_5 * 3u) + half_1];
    const uint _e50 = codes[(group_5 * 3u) + 2u];
    return (uint4)(_e43, _e50 >> ((half_1 * 14u) & 31u), 0u, 0u);
}

ROCI_FN uint2 grid_scale_words(uint group_3, global const uint *codes, global const uint *scales) {
    const uint _e3 = half_word(group_3 / 8u, scales);
    const uint _e10 = codes[(group_3 * 3u) + 2u];
    return (uint2)(_e3, _e10 >> 28u);
}

ROCI_FN uint2 scale_words(uint group_4, global const uint *codes, global const uint *scales) {
    bool local_6 = false;
    bool local_7 = false;
    uint own = 0u;
    bool local_8 = false;
    const uint block = group_4 / 8u;
    const uint within = group_4 % 8u;
    local_6 = false;
    const bool _e8 = local_6;
    if (_e8) {
        const uint own_1 = half_word(((block * 10u) + 2u) + within, scales);
        const uint _e19 = scales[block * 5u];
        return (uint2)(_e19, own_1);
    }
    local_7 = false;
    const bool _e24 = local_7;
    if (_e24) {
        const uint _e27 = half_word(block * 9u, scales);
        const uint _e33 = half_word(((block * 9u) + 1u) + within, scales);
        return (uint2)(_e27, _e33);
    }
    local_8 = true;
    const bool _e38 = local_8;
    if (_e38) {
        const uint2 _e39 = grid_scale_words(group_4, codes, scales);
        return _e39;
    }
    const uint _e40 = half_word(block, scales);
    return (uint2)(_e40, 0u);
}

ROCI_FN WElements load_w(uint matrix_2, uint first, uint step_2, uint lane_4, private const Params *params, global const uint *codes, global const uint *scales) {
    WElements elements_2 = {0};
    const bool _e5 = has_byte_codes();
    if (_e5) {
        const uint group0_ = group_index(matrix_2, first + (lane_4 / 4u), (step_2 * 2u) + ((lane_4 % 4u) / 2u), params);
        const uint group1_ = group_index(matrix_2, (first + 64u) + (lane_4 / 4u), (step_2 * 2u) + ((lane_4 % 4u) / 2u), params);
        const uint4 _e36 = load_unit((group0_ * 2u) + (lane_4 % 2u), codes);
        elements_2.a = _e36;
        const uint4 _e43 = load_unit((group1_ * 2u) + (lane_4 % 2u), codes);
        elements_2.b = _e43;
        const uint2 _e45 = scale_words(group0_, codes, scales);
        const uint2 _e46 = scale_words(group1_, codes, scales);
        elements_2.scales = (uint4)(_e45, _e46);
    } else {
        const uint at_5 = group_index(matrix_2, first + (lane_4 / 2u), (step_2 * 2u) + (lane_4 % 2u), params);
        const uint4 _e58 = load_unit(at_5, codes);
        elements_2.a = _e58;
        const uint2 _e60 = scale_words(at_5, codes, scales);
        elements_2.scales = (uint4)(_e60, 0u, 0u);
    }
    const WElements _e64 = elements_2;
    return _e64;
}

ROCI_FN bool has_codebook(void) {
    return false;
}

ROCI_FN float4 decode_codes(uint chunk, uint word, uint next, uint2 following) {
    return __builtin_convertvector(roci_unpack4xI8(word), float4);
}

ROCI_FN half2 bytes_plus_8_(uint bytes) {
    return __builtin_convertvector(roci_unpack2x16float((bytes & 16711935u) | 1207977984u), half2);
}

ROCI_FN half4 dequantize(uint chunk_1, uint word_1, float2 s) {
    uint bytes_1 = 0u;
    half zero = (half)8.0625f;
    float offset = 0.0f;
    const bool _e3 = has_codebook();
    if (_e3) {
        const float4 _e5 = decode_codes(chunk_1, word_1, word_1, (uint2)(0u));
        return __builtin_convertvector((_e5 * s.x), half4).xzyw;
    }
    bytes_1 = (word_1 >> (((chunk_1 / 4u) * 4u) & 31u)) & 252645135u;
    offset = s.y + (8.0f * s.x);
    const bool _e26 = has_byte_codes();
    if (_e26) {
        bytes_1 = word_1 ^ 2155905152u;
        zero = (half)9.0f;
        offset = s.y;
    }
    const uint _e31 = bytes_1;
    const half2 _e32 = bytes_plus_8_(_e31);
    const uint _e33 = bytes_1;
    const half2 _e36 = bytes_plus_8_(_e33 >> 8u);
    const half _e38 = zero;
    const half4 centered = ((half4)(_e32, _e36)) - ((half4)(_e38));
    const float _e46 = offset;
    return __builtin_elementwise_fma(centered, (half4)(((half)(128.0f * s.x))), (half4)(((half)_e46)));
}

ROCI_FN void store_half_group(uint4 unswizzled, uint first_chunk, float2 s_1, uint to, uint odd, local array2304_half4_ *w_tile) {
    const uint4 words_1 = (odd != 0u) ? unswizzled.yxwz : unswizzled;
    const half4 _e13 = dequantize(first_chunk, words_1.x, s_1);
    (*w_tile).e[to + odd] = _e13;
    const half4 _e20 = dequantize(first_chunk, words_1.y, s_1);
    (*w_tile).e[(to + 1u) - odd] = _e20;
    const half4 _e27 = dequantize(first_chunk, words_1.z, s_1);
    (*w_tile).e[(to + 2u) + odd] = _e27;
    const half4 _e34 = dequantize(first_chunk, words_1.w, s_1);
    (*w_tile).e[(to + 3u) - odd] = _e34;
}

ROCI_FN uint spread_bits(uint bits) {
    return ((bits & 15u) * 2113665u) & 16843009u;
}

ROCI_FN uint2 spread_eight(uint seven, uint last) {
    const uint copies = seven * 2113665u;
    return ((uint2)(copies, (copies >> 4u) | last)) & ((uint2)(16843009u));
}

ROCI_FN uint2 even_signs(uint signs) {
    const uint seven_1 = signs & 127u;
    const uint2 _e6 = spread_eight(seven_1, roci_count_ones_u32(seven_1) << 24u);
    return _e6;
}

ROCI_FN uint with_signs(uint magnitudes, uint ones) {
    return (magnitudes ^ ((ones << 8u) - ones)) + ones;
}

ROCI_FN uint iq3_entry(uint index, global const uint *scales) {
    const uint _e3 = scales[index];
    return _e3;
}

ROCI_FN uint4 expand_half(uint4 raw, global const uint *scales) {
    bool local_9 = false;
    bool local_10 = false;
    uint4 signs_1 = (uint4)(0u);
    uint4 high = (uint4)(0u);
    local_9 = false;
    const bool _e9 = local_9;
    if (!_e9) {
        local_10 = false;
    } else {
        local_10 = true;
    }
    const bool _e15 = local_10;
    if (_e15) {
        const uint4 low_1 = ((uint4)(raw.x, raw.y, raw.x >> 4u, raw.y >> 4u)) & ((uint4)(252645135u));
        const uint _e29 = spread_bits(raw.z);
        const uint _e33 = spread_bits(raw.z >> 4u);
        const uint _e37 = spread_bits(raw.z >> 8u);
        const uint _e41 = spread_bits(raw.z >> 12u);
        const uint4 high_1 = (uint4)(_e29, _e33, _e37, _e41);
        return low_1 | (high_1 << ((uint4)(4u)));
    }
    const uint2 _e48 = even_signs(raw.y);
    const uint2 _e52 = even_signs(raw.y >> 7u);
    signs_1 = (uint4)(_e48, _e52);
    const uint4 _e68 = high;
    const uint4 at_6 = ((((uint4)(raw.x)) >> (((uint4)(0u, 8u, 16u, 24u)) & 31u)) & ((uint4)(255u))) | _e68;
    const uint _e71 = iq3_entry(at_6.x, scales);
    const uint _e73 = signs_1.x;
    const uint _e74 = with_signs(_e71, _e73);
    const uint _e76 = iq3_entry(at_6.y, scales);
    const uint _e78 = signs_1.y;
    const uint _e79 = with_signs(_e76, _e78);
    const uint _e81 = iq3_entry(at_6.z, scales);
    const uint _e83 = signs_1.z;
    const uint _e84 = with_signs(_e81, _e83);
    const uint _e86 = iq3_entry(at_6.w, scales);
    const uint _e88 = signs_1.w;
    const uint _e89 = with_signs(_e86, _e88);
    return (uint4)(_e74, _e79, _e84, _e89);
}

ROCI_FN uint4 expand_unit(uint4 raw_1, global const uint *scales) {
    const uint4 _e1 = expand_half(raw_1, scales);
    return _e1;
}

ROCI_FN float2 decode_scale(uint2 words, uint half_) {
    bool local_11 = false;
    const float scale = roci_unpack2x16float(words.x).x;
    local_11 = false;
    const bool _e8 = local_11;
    if (_e8) {
        return (float2)(scale, -scale);
    }
    return (float2)(scale * (0.25f + (0.5f * ((float)(words.y & 15u)))), 0.0f);
}

ROCI_FN void store_w(WElements elements_3, uint lane_5, global const uint *scales, local array2304_half4_ *w_tile) {
    const bool _e2 = has_byte_codes();
    if (_e2) {
        const uint to_2 = ((lane_5 / 4u) * 18u) + ((lane_5 % 4u) * 4u);
        const uint odd_1 = (lane_5 / 4u) % 2u;
        const uint4 scales_1 = elements_3.scales;
        const uint4 _e18 = expand_unit(elements_3.a, scales);
        const float2 _e23 = decode_scale(scales_1.xy, lane_5 % 2u);
        store_half_group(_e18, 0u, _e23, to_2, odd_1, w_tile);
        const uint4 _e25 = expand_unit(elements_3.b, scales);
        const float2 _e30 = decode_scale(scales_1.zw, lane_5 % 2u);
        store_half_group(_e25, 0u, _e30, to_2 + 1152u, odd_1, w_tile);
        return;
    } else {
        const uint to_3 = ((lane_5 / 2u) * 18u) + ((lane_5 % 2u) * 8u);
        const uint odd_2 = (lane_5 / 8u) % 2u;
        const float2 _e51 = decode_scale(elements_3.scales.xy, 0u);
        store_half_group(elements_3.a, 0u, _e51, to_3, odd_2, w_tile);
        const float2 _e57 = decode_scale(elements_3.scales.xy, 1u);
        store_half_group(elements_3.a, 4u, _e57, to_3 + 4u, odd_2, w_tile);
        return;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_matmul_coopmat32_iq3_xxs(global const uint *codes, global const uint *scales, global const half4 *x, global const float *bias, global const uint *tiles, global float *y, Params params) {
    local array576_half4_ x_tile;
    local array2304_half4_ w_tile;
    local array1024_float4_ result;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint end = 0u;
    uint next_x_row = 0u;
    float8 s00_ = (float8)(0);
    float8 s01_ = (float8)(0);
    float8 s10_ = (float8)(0);
    float8 s11_ = (float8)(0);
    WElements w_next = {0};
    XElements x_next = {0};
    uint step_ = 0u;
    const uint _e4 = params.columns;
    const uint steps = (_e4 + 63u) / 64u;
    const uint _e11 = params.sharing;
    const uint _e15 = params.experts;
    const uint splits_1 = (_e15 != 0u) ? 1u : _e11;
    const uint steps_per_split = roci_div_u32((steps + splits_1) - 1u, splits_1);
    const uint first_step = __builtin_elementwise_min(group.z * steps_per_split, steps);
    end = __builtin_elementwise_min(first_step + steps_per_split, steps);
    const uint _e31 = params.experts;
    if (_e31 != 0u) {
        const uint _e34 = end;
        const uint _e42 = tiles[(group.x * 33u) + 1u];
        const uint _e45 = params.tokens;
        end = (_e42 < _e45) ? _e34 : first_step;
    }
    const uint matrix_3 = tile_first_row(group.x, &params, tiles);
    const uint x_row = tile_x_row(group.x, lane / 8u, &params, tiles);
    next_x_row = x_row;
    const uint first_row_4 = group.y * 128u;
    const uint subgroup = lane / 32u;
    const uint x_start = (subgroup / 4u) * 8u;
    const uint w_start = (((subgroup % 4u) * 2u) * 288u) + x_start;
    const uint _e79 = end;
    const uint last_1 = __builtin_elementwise_max(_e79, 1u) - 1u;
    const WElements _e85 = load_w(matrix_3, first_row_4, __builtin_elementwise_min(first_step, last_1), lane, &params, codes, scales);
    w_next = _e85;
    const uint _e87 = next_x_row;
    const XElements _e89 = load_x(x_row, _e87, __builtin_elementwise_min(first_step, last_1), lane, &params, x);
    x_next = _e89;
    step_ = first_step;
    while (true) {
        const uint _e92 = step_;
        const uint _e93 = end;
        if (!(_e92 < _e93)) {
            break;
        }
        {
            roci_barrier_workgroup();
            const WElements _e95 = w_next;
            store_w(_e95, lane, scales, &w_tile);
            const XElements _e96 = x_next;
            store_x(_e96, lane, &x_tile);
            const uint _e97 = step_;
            const WElements _e101 = load_w(matrix_3, first_row_4, __builtin_elementwise_min(_e97 + 1u, last_1), lane, &params, codes, scales);
            w_next = _e101;
            const uint _e102 = next_x_row;
            const uint _e103 = step_;
            const XElements _e107 = load_x(x_row, _e102, __builtin_elementwise_min(_e103 + 1u, last_1), lane, &params, x);
            x_next = _e107;
            roci_barrier_workgroup();
            const half16 w00_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start], 18u * 4u);
            const half16 w01_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 4u], 18u * 4u);
            const half16 w10_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 288u], 18u * 4u);
            const half16 w11_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(w_start + 288u) + 4u], 18u * 4u);
            const half16 x00_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start], 18u * 4u);
            const half16 x01_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 4u], 18u * 4u);
            const float8 _e142 = s00_;
            s00_ = roci_wmma_multiply_add_f32(x00_, w00_, _e142);
            const float8 _e144 = s01_;
            s01_ = roci_wmma_multiply_add_f32(x00_, w10_, _e144);
            const float8 _e146 = s00_;
            s00_ = roci_wmma_multiply_add_f32(x01_, w01_, _e146);
            const float8 _e148 = s01_;
            s01_ = roci_wmma_multiply_add_f32(x01_, w11_, _e148);
            const half16 x10_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 288u], 18u * 4u);
            const half16 x11_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(x_start + 288u) + 4u], 18u * 4u);
            const float8 _e164 = s10_;
            s10_ = roci_wmma_multiply_add_f32(x10_, w00_, _e164);
            const float8 _e166 = s11_;
            s11_ = roci_wmma_multiply_add_f32(x10_, w10_, _e166);
            const float8 _e168 = s10_;
            s10_ = roci_wmma_multiply_add_f32(x11_, w01_, _e168);
            const float8 _e170 = s11_;
            s11_ = roci_wmma_multiply_add_f32(x11_, w11_, _e170);
        }
        const uint _e172 = step_;
        step_ = _e172 + 1u;
    }
    const uint to_4 = subgroup * 128u;
    const float8 _e177 = s00_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_4], 4u * 4u, _e177);
    const float8 _e181 = s01_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_4 + 64u], 4u * 4u, _e181);
    roci_barrier_workgroup();
    reduce_and_store(group, 0u, matrix_3, lane, &params, bias, tiles, y, &result);
    roci_barrier_workgroup();
    const float8 _e188 = s10_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_4], 4u * 4u, _e188);
    const float8 _e192 = s11_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_4 + 64u], 4u * 4u, _e192);
    roci_barrier_workgroup();
    reduce_and_store(group, 16u, matrix_3, lane, &params, bias, tiles, y, &result);
}
