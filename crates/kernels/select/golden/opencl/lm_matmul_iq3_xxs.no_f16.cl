// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

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
typedef struct { float4 e[272]; } array272_float4_;

#define roci_count_ones_u32 popcount
ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
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
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float roci_component_of_float4(float4 v, uint i) {
    return i == 0u ? v.x : i == 1u ? v.y : i == 2u ? v.z : v.w;
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
    bool local_ = false;
    bool local_1 = false;
    uint4 signs_1 = (uint4)(0u);
    uint4 high = (uint4)(0u);
    local_ = false;
    const bool _e9 = local_;
    if (!_e9) {
        local_1 = false;
    } else {
        local_1 = true;
    }
    const bool _e15 = local_1;
    if (_e15) {
        const uint4 low = ((uint4)(raw.x, raw.y, raw.x >> 4u, raw.y >> 4u)) & ((uint4)(252645135u));
        const uint _e29 = spread_bits(raw.z);
        const uint _e33 = spread_bits(raw.z >> 4u);
        const uint _e37 = spread_bits(raw.z >> 8u);
        const uint _e41 = spread_bits(raw.z >> 12u);
        const uint4 high_1 = (uint4)(_e29, _e33, _e37, _e41);
        return low | (high_1 << ((uint4)(4u)));
    }
    const uint2 _e48 = even_signs(raw.y);
    const uint2 _e52 = even_signs(raw.y >> 7u);
    signs_1 = (uint4)(_e48, _e52);
    const uint4 _e68 = high;
    const uint4 at_1 = ((((uint4)(raw.x)) >> (((uint4)(0u, 8u, 16u, 24u)) & 31u)) & ((uint4)(255u))) | _e68;
    const uint _e71 = iq3_entry(at_1.x, scales);
    const uint _e73 = signs_1.x;
    const uint _e74 = with_signs(_e71, _e73);
    const uint _e76 = iq3_entry(at_1.y, scales);
    const uint _e78 = signs_1.y;
    const uint _e79 = with_signs(_e76, _e78);
    const uint _e81 = iq3_entry(at_1.z, scales);
    const uint _e83 = signs_1.z;
    const uint _e84 = with_signs(_e81, _e83);
    const uint _e86 = iq3_entry(at_1.w, scales);
    const uint _e88 = signs_1.w;
    const uint _e89 = with_signs(_e86, _e88);
    return (uint4)(_e74, _e79, _e84, _e89);
}

ROCI_FN uint4 expand_unit(uint4 raw_1, global const uint *scales) {
    const uint4 _e1 = expand_half(raw_1, scales);
    return _e1;
}

ROCI_FN uint grid_size(void) {
    bool local_2 = false;
    bool local_3 = false;
    bool local_4 = false;
    local_2 = false;
    const bool _e3 = local_2;
    if (_e3) {
        return 1024u;
    }
    local_3 = false;
    const bool _e8 = local_3;
    if (_e8) {
        return 512u;
    }
    local_4 = true;
    const bool _e13 = local_4;
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

ROCI_FN uint4 load_unit(uint unit, global const uint *codes) {
    bool local_5 = false;
    bool local_6 = false;
    const uint group_5 = unit / 2u;
    const uint half_2 = unit % 2u;
    local_5 = false;
    const bool _e8 = local_5;
    if (!_e8) {
        local_6 = false;
    } else {
        local_6 = true;
    }
    const bool _e14 = local_6;
    if (_e14) {
        const uint at_2 = group_5 * 5u;
        const uint low_1 = at_2 + (half_2 * 2u);
        const uint _e22 = codes[low_1];
        const uint _e27 = codes[low_1 + 1u];
        const uint _e32 = codes[at_2 + 4u];
        return (uint4)(_e22, _e27, _e32 >> ((half_2 * 16u) & 31u), 0u);
    }
    const uint _e43 = codes[(group_5 * 3u) + half_2];
    const uint _e50 = codes[(group_5 * 3u) + 2u];
    return (uint4)(_e43, _e50 >> ((half_2 * 14u) & 31u), 0u, 0u);
}

ROCI_FN float4 load_chunk(uint group_1, uint chunk, global const uint *codes, global const uint *scales) {
    const uint4 _e7 = load_unit((group_1 * 2u) + (chunk / 4u), codes);
    const uint4 unit_1 = expand_unit(_e7, scales);
    const uint2 pair = ((chunk & 2u) != 0u) ? unit_1.zw : unit_1.xy;
    return convert_float4(roci_unpack4xI8(((chunk & 1u) != 0u) ? pair.y : pair.x));
}

ROCI_FN float2 decode_scale(uint2 words, uint half_) {
    bool local_7 = false;
    const float scale = roci_unpack2x16float(words.x).x;
    local_7 = false;
    const bool _e8 = local_7;
    if (_e8) {
        return (float2)(scale, -scale);
    }
    return (float2)(scale * (0.25f + (0.5f * ((float)(words.y & 15u)))), 0.0f);
}

ROCI_FN uint2 grid_scale_words(uint group_2, global const uint *codes, global const uint *scales) {
    const uint _e3 = half_word(group_2 / 8u, scales);
    const uint _e10 = codes[(group_2 * 3u) + 2u];
    return (uint2)(_e3, _e10 >> 28u);
}

ROCI_FN uint2 scale_words(uint group_3, global const uint *codes, global const uint *scales) {
    bool local_8 = false;
    bool local_9 = false;
    uint own = 0u;
    bool local_10 = false;
    const uint block = group_3 / 8u;
    const uint within = group_3 % 8u;
    local_8 = false;
    const bool _e8 = local_8;
    if (_e8) {
        const uint own_1 = half_word(((block * 10u) + 2u) + within, scales);
        const uint _e19 = scales[block * 5u];
        return (uint2)(_e19, own_1);
    }
    local_9 = false;
    const bool _e24 = local_9;
    if (_e24) {
        const uint _e27 = half_word(block * 9u, scales);
        const uint _e33 = half_word(((block * 9u) + 1u) + within, scales);
        return (uint2)(_e27, _e33);
    }
    local_10 = true;
    const bool _e38 = local_10;
    if (_e38) {
        const uint2 _e39 = grid_scale_words(group_3, codes, scales);
        return _e39;
    }
    const uint _e40 = half_word(block, scales);
    return (uint2)(_e40, 0u);
}

ROCI_FN float2 load_scale(uint group_4, uint half_1, global const uint *codes, global const uint *scales) {
    const uint2 _e2 = scale_words(group_4, codes, scales);
    const float2 _e3 = decode_scale(_e2, half_1);
    return _e3;
}

ROCI_FN float4 load_weights(uint row, uint column, private const Params *params, global const uint *codes, global const uint *scales) {
    const uint _e4 = (*params).columns;
    const uint group_6 = (row * (_e4 / 32u)) + (column / 8u);
    const uint chunk_1 = column % 8u;
    const float4 v_2 = load_chunk(group_6, chunk_1, codes, scales);
    const float2 s = load_scale(group_6, chunk_1 / 4u, codes, scales);
    return (v_2 * s.x) + ((float4)(s.y));
}

ROCI_FN uint tile_first_row(uint tile, private const Params *params, global const uint *tiles) {
    const uint _e3 = (*params).experts;
    if (_e3 == 0u) {
        return 0u;
    }
    const uint _e11 = tiles[tile * 65u];
    const uint _e14 = (*params).experts;
    const uint _e20 = (*params).rows;
    return min(_e11, _e14 - 1u) * _e20;
}

ROCI_FN uint tile_token(uint tile_1, uint place, private const Params *params, global const uint *tiles) {
    const uint _e4 = (*params).experts;
    if (_e4 == 0u) {
        return (tile_1 * 64u) + place;
    }
    const uint _e17 = tiles[((tile_1 * 65u) + 1u) + place];
    return _e17;
}

ROCI_FN uint tile_x_row(uint tile_2, uint place_1, private const Params *params, global const uint *tiles) {
    const uint _e2 = tile_token(tile_2, place_1, params, tiles);
    const uint _e5 = (*params).tokens;
    const uint token_2 = min(_e2, _e5 - 1u);
    const uint _e11 = (*params).experts;
    if (_e11 == 0u) {
        return token_2;
    }
    const uint _e16 = (*params).sharing;
    return roci_div_u32(token_2, _e16);
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
        gate = fmin(_e39, 7.0f);
        const float _e42 = gate;
        z = 1.702f * _e42;
        const float _e45 = up;
        up = fmin(fmax(_e45, -7.0f), 7.0f) + 1.0f;
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
    return (_e69 / (1.0f + exp(-_e70))) * _e76;
}

ROCI_FN void epilogue_gated(uint token, uint row_2, uint first_row_1, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    const uint _e7 = (*params).y_stride;
    const uint _e11 = (*params).y_offset;
    const float _e17 = gated_unit(row_2, first_row_1, sums_1, params, bias);
    y[((token * _e7) + _e11) + (row_2 / 2u)] = _e17;
}

ROCI_FN void epilogue(uint token_1, uint row_3, uint first_row_2, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v_1 = 0.0f;
    const uint _e6 = (*params).y_stride;
    const uint _e10 = (*params).y_offset;
    const uint at_3 = ((token_1 * _e6) + _e10) + row_3;
    v_1 = sum_1;
    const uint _e16 = (*params).flags;
    if ((_e16 & 2u) != 0u) {
        const float _e21 = v_1;
        const float _e25 = bias[first_row_2 + row_3];
        v_1 = _e21 + _e25;
    }
    const uint _e29 = (*params).flags;
    if ((_e29 & 1u) != 0u) {
        const float _e34 = v_1;
        const float _e37 = y[at_3];
        v_1 = _e34 + _e37;
    }
    const float _e41 = v_1;
    y[at_3] = _e41;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_matmul_iq3_xxs(global const uint *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *tiles, global float *y, Params params) {
    local array272_float4_ x_tile;
    local array272_float4_ w_tile;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    uint columns = 0u;
    float4 sums0_ = (float4)(0.0f);
    float4 sums1_ = (float4)(0.0f);
    float4 sums2_ = (float4)(0.0f);
    float4 sums3_ = (float4)(0.0f);
    uint k = 0u;
    uint i = 0u;
    uint c = 0u;
    uint t = 0u;
    float4 sum = (float4)(0.0f);
    uint r = 0u;
    const uint matrix = tile_first_row(group.y, &params, tiles);
    const uint _e12 = params.rows;
    const uint row_4 = matrix + min((group.x * 64u) + (lane / 4u), _e12 - 1u);
    const uint _e19 = params.columns;
    columns = _e19;
    const uint _e23 = params.experts;
    if (_e23 != 0u) {
        const uint _e27 = columns;
        const uint _e35 = tiles[(group.y * 65u) + 1u];
        const uint _e38 = params.tokens;
        columns = (_e35 < _e38) ? _e27 : 0u;
    }
    const uint _e44 = tile_x_row(group.y, lane / 4u, &params, tiles);
    const uint _e47 = params.x_stride;
    const uint base = _e44 * (_e47 / 4u);
    const uint column_1 = (lane % 4u) * 4u;
    const uint tile_vec4_ = lane / 16u;
    const uint component = (lane / 4u) % 4u;
    const uint token_vec4_ = lane / 16u;
    const uint row_vec4_ = lane % 16u;
    while (true) {
        const uint _e75 = k;
        const uint _e76 = columns;
        if (!(_e75 < _e76)) {
            break;
        }
        {
            const uint _e78 = k;
            const uint at_4 = (_e78 / 4u) + (lane % 4u);
            const float4 v_3 = x[base + at_4];
            const float4 w = load_weights(row_4, at_4, &params, codes, scales);
            roci_barrier_workgroup();
            i = 0u;
            while (true) {
                const uint _e91 = i;
                if (!(_e91 < 4u)) {
                    break;
                }
                {
                    const uint _e95 = i;
                    const uint _e102 = i;
                    ((local float *)&x_tile.e[((column_1 + _e95) * 17u) + tile_vec4_])[component] = roci_component_of_float4(v_3, _e102);
                    const uint _e105 = i;
                    const uint _e112 = i;
                    ((local float *)&w_tile.e[((column_1 + _e105) * 17u) + tile_vec4_])[component] = roci_component_of_float4(w, _e112);
                }
                const uint _e114 = i;
                i = _e114 + 1u;
            }
            roci_barrier_workgroup();
            c = 0u;
            while (true) {
                const uint _e119 = c;
                if (!(_e119 < 16u)) {
                    break;
                }
                {
                    const uint _e123 = c;
                    const float4 a = x_tile.e[(_e123 * 17u) + token_vec4_];
                    const uint _e130 = c;
                    const float4 b = w_tile.e[(_e130 * 17u) + row_vec4_];
                    const float4 _e136 = sums0_;
                    sums0_ = _e136 + (a.x * b);
                    const float4 _e140 = sums1_;
                    sums1_ = _e140 + (a.y * b);
                    const float4 _e144 = sums2_;
                    sums2_ = _e144 + (a.z * b);
                    const float4 _e148 = sums3_;
                    sums3_ = _e148 + (a.w * b);
                }
                const uint _e152 = c;
                c = _e152 + 1u;
            }
        }
        const uint _e155 = k;
        k = _e155 + 16u;
    }
    const uint first = (group.x * 64u) + (row_vec4_ * 4u);
    while (true) {
        const uint _e166 = t;
        if (!(_e166 < 4u)) {
            break;
        }
        {
            const uint _e172 = t;
            const uint to = tile_token(group.y, (token_vec4_ * 4u) + _e172, &params, tiles);
            const uint _e177 = params.tokens;
            if (to < _e177) {
                const float4 _e179 = sums0_;
                sum = _e179;
                const uint _e181 = t;
                if (_e181 == 1u) {
                    const float4 _e184 = sums1_;
                    sum = _e184;
                } else {
                    const uint _e185 = t;
                    if (_e185 == 2u) {
                        const float4 _e188 = sums2_;
                        sum = _e188;
                    } else {
                        const uint _e189 = t;
                        if (_e189 == 3u) {
                            const float4 _e192 = sums3_;
                            sum = _e192;
                        }
                    }
                }
                const uint _e195 = params.flags;
                if ((_e195 & 12u) != 0u) {
                    const uint _e202 = params.rows;
                    if (first < _e202) {
                        const float4 _e204 = sum;
                        epilogue_gated(to, first, matrix, _e204.xy, &params, bias, y);
                    }
                    const uint _e210 = params.rows;
                    if ((first + 2u) < _e210) {
                        const float4 _e214 = sum;
                        epilogue_gated(to, first + 2u, matrix, _e214.zw, &params, bias, y);
                    }
                } else {
                    r = 0u;
                    while (true) {
                        const uint _e218 = r;
                        if (!(_e218 < 4u)) {
                            break;
                        }
                        {
                            const uint _e221 = r;
                            const uint _e225 = params.rows;
                            if ((first + _e221) < _e225) {
                                const uint _e227 = r;
                                const uint _e229 = r;
                                const float _e231 = ((private float *)&sum)[_e229];
                                epilogue(to, first + _e227, matrix, _e231, &params, bias, y);
                            }
                        }
                        const uint _e232 = r;
                        r = _e232 + 1u;
                    }
                }
            }
        }
        const uint _e235 = t;
        t = _e235 + 1u;
    }
}
