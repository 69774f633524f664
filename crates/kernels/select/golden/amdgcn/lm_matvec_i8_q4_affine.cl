// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
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
typedef struct { float2 e[128]; } array128_float2_;
typedef struct { float2 e[32]; } array32_float2_;
typedef struct { float4 e[4]; } array4_float4_;
typedef struct {
    uint4 row0_;
    uint4 row1_;
    uint2 scale0_;
    uint2 scale1_;
} TwoRows;
typedef struct { float4 e[192]; } array192_float4_;
typedef struct { uint4 e[384]; } array384_uint4_;

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
ROCI_FN float roci_widen_f16(ushort bits) {
    return (float)as_half(bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
ROCI_FN __attribute__((unused)) int roci_dot4_i8(uint a, uint b) {
    const char4 x = as_char4(a);
    const char4 y = as_char4(b);
    return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
ROCI_FN int roci_native_dot4_i8(uint a, uint b) {
#if __has_builtin(__builtin_amdgcn_sudot4)
    return __builtin_amdgcn_sudot4(true, (int)a, true, (int)b, 0, false);
#elif __has_builtin(__builtin_amdgcn_sdot4)
    return __builtin_amdgcn_sdot4((int)a, (int)b, 0, false);
#else
    return roci_dot4_i8(a, b);
#endif
}
ROCI_FN uint roci_pack4xI8(int4 a) {
    return as_uint((char4)((char)a.x, (char)a.y, (char)a.z, (char)a.w));
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
ROCI_FN int4 roci_f32_to_i32x4(float4 a) {
    return (int4)(roci_f32_to_i32(a.x), roci_f32_to_i32(a.y), roci_f32_to_i32(a.z), roci_f32_to_i32(a.w));
}

ROCI_FN uint group_of(uint unit) {
    return (unit * 8u) / 8u;
}

ROCI_FN uint4 load_unit(uint unit_1, global const uint4 *codes) {
    const uint4 _e3 = codes[unit_1];
    return _e3;
}

ROCI_FN uint2 scale_words(uint group_1, global const uint *scales) {
    bool local_7 = false;
    bool local_8 = false;
    bool local_9 = false;
    local_7 = false;
    const bool _e4 = local_7;
    if (!_e4) {
        local_8 = false;
    } else {
        local_8 = true;
    }
    const bool _e10 = local_8;
    if (_e10) {
        const uint _e15 = scales[group_1 / 2u];
        return (uint2)(_e15 >> (((group_1 % 2u) * 16u) & 31u), 0u);
    }
    local_9 = true;
    const bool _e26 = local_9;
    if (_e26) {
        const uint _e29 = scales[group_1];
        return (uint2)(_e29, 0u);
    }
    return (uint2)(0u);
}

ROCI_FN TwoRows load_rows(uint2 rows, uint at_1, uint end, global const uint4 *codes, global const uint *scales) {
    const uint2 unit_5 = rows + ((uint2)(__builtin_elementwise_min(at_1, end - 1u)));
    const uint4 _e9 = load_unit(unit_5.x, codes);
    const uint4 _e11 = load_unit(unit_5.y, codes);
    const uint _e13 = group_of(unit_5.x);
    const uint2 _e14 = scale_words(_e13, scales);
    const uint _e16 = group_of(unit_5.y);
    const uint2 _e17 = scale_words(_e16, scales);
    return (TwoRows){.row0_ = _e9, .row1_ = _e11, .scale0_ = _e14, .scale1_ = _e17};
}

ROCI_FN float masked_square(float4 v, uint i_1, uint count) {
    return (i_1 < count) ? roci_dot_float4(v, v) : 0.0f;
}

ROCI_FN float sum_components(float4 v_1) {
    return (v_1.x + v_1.y) + (v_1.z + v_1.w);
}

ROCI_FN uint4 expand_unit(uint4 raw) {
    return raw;
}

ROCI_FN uint2 unit_scale_words(uint4 raw_1, uint2 words) {
    return words;
}

ROCI_FN bool has_byte_codes(void) {
    return false;
}

ROCI_FN float4 scales_of_x(uint group_2, local array192_float4_ *group_scales) {
    const float4 _e3 = (*group_scales).e[group_2];
    return _e3;
}

ROCI_FN float2 decode_scale(uint2 words_1, uint half_) {
    bool local_10 = false;
    local_10 = false;
    const bool _e5 = local_10;
    if (_e5) {
        const float scale = roci_unpack2x16float(words_1.x).x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    return roci_unpack2x16float(words_1.x);
}

ROCI_FN int add_dot_i8_(int sum, uint4 a, uint4 b) {
    const int first_2 = (int)((uint)roci_native_dot4_i8(a.y, b.y) + (uint)((int)((uint)roci_native_dot4_i8(a.x, b.x) + (uint)sum)));
    return (int)((uint)roci_native_dot4_i8(a.w, b.w) + (uint)((int)((uint)roci_native_dot4_i8(a.z, b.z) + (uint)first_2)));
}

ROCI_FN bool has_offset(void) {
    return true;
}

ROCI_FN uint4 e2m1_magnitudes(uint4 code) {
    const uint4 ones = (uint4)(286331153u);
    const uint4 indices = code & ((uint4)(2004318071u));
    const uint4 upper = indices >> ((uint4)(2u));
    const uint4 odd = (indices & upper) & ones;
    const uint4 large = ((indices >> ((uint4)(1u))) & upper) & ones;
    return (indices + odd) + ((large + (large & odd)) << ((uint4)(1u)));
}

ROCI_FN uint4 e2m1_bytes(uint4 magnitudes, uint4 negative) {
    const uint4 mask = (uint4)(252645135u);
    const uint4 bias_1 = (uint4)(2155905152u);
    return (((magnitudes & mask) | bias_1) - ((negative & mask) * ((uint4)(2u)))) ^ bias_1;
}

ROCI_FN uint4 e2m1_negative(uint4 code_1, uint4 magnitudes_1) {
    return magnitudes_1 & (((code_1 >> ((uint4)(3u))) & ((uint4)(286331153u))) * ((uint4)(15u)));
}

ROCI_FN uint4 low_nibbles(uint4 code_2) {
    bool local_11 = false;
    local_11 = false;
    const bool _e4 = local_11;
    if (_e4) {
        const uint4 magnitudes_2 = e2m1_magnitudes(code_2);
        const uint4 _e6 = e2m1_negative(code_2, magnitudes_2);
        const uint4 _e7 = e2m1_bytes(magnitudes_2, _e6);
        return _e7;
    }
    return code_2 & ((uint4)(252645135u));
}

ROCI_FN bool has_half_scales(void) {
    return false;
}

ROCI_FN uint4 high_nibbles(uint4 code_3) {
    bool local_12 = false;
    local_12 = false;
    const bool _e4 = local_12;
    if (_e4) {
        const uint4 magnitudes_3 = e2m1_magnitudes(code_3);
        const uint4 negative_1 = e2m1_negative(code_3, magnitudes_3);
        const uint4 _e13 = e2m1_bytes(magnitudes_3 >> ((uint4)(4u)), negative_1 >> ((uint4)(4u)));
        return _e13;
    }
    return (code_3 >> ((uint4)(4u))) & ((uint4)(252645135u));
}

ROCI_FN float unit_dot(uint4 raw_2, uint2 words_2, uint unit_2, uint at_2, local array192_float4_ *group_scales, local array384_uint4_ *x_tile) {
    const uint4 code_4 = expand_unit(raw_2);
    const uint2 unit_words = unit_scale_words(raw_2, words_2);
    const bool _e6 = has_byte_codes();
    if (_e6) {
        const float4 x_group = scales_of_x(at_2 / 2u, group_scales);
        const float2 s = decode_scale(unit_words, unit_2 % 2u);
        const uint4 _e16 = (*x_tile).e[at_2];
        const int _e17 = add_dot_i8_(0, code_4, _e16);
        const float products = (float)_e17;
        const bool _e19 = has_offset();
        if (!_e19) {
            return (s.x * x_group.x) * products;
        }
        return ((s.x * x_group.x) * products) + (s.y * (((unit_2 % 2u) == 1u) ? x_group.z : x_group.y));
    }
    const float4 x_group_1 = scales_of_x((at_2 - (at_2 % 2u)) / 2u, group_scales);
    const uint4 low_x = (*x_tile).e[at_2];
    const uint4 high_x = (*x_tile).e[at_2 ^ 1u];
    const uint4 _e54 = low_nibbles(code_4);
    const int low = add_dot_i8_(0, _e54, low_x);
    const float2 s_1 = decode_scale(unit_words, 0u);
    const bool _e58 = has_half_scales();
    if (_e58) {
        const uint4 _e60 = high_nibbles(code_4);
        const int high = add_dot_i8_(0, _e60, high_x);
        const float2 _e67 = decode_scale(unit_words, 1u);
        return x_group_1.x * ((s_1.x * ((float)low)) + (_e67.x * ((float)high)));
    }
    const uint4 _e73 = high_nibbles(code_4);
    const int _e74 = add_dot_i8_(low, _e73, high_x);
    const float products_1 = (float)_e74;
    const bool _e76 = has_offset();
    if (!_e76) {
        return (s_1.x * x_group_1.x) * products_1;
    }
    return ((s_1.x * x_group_1.x) * products_1) + (s_1.y * (x_group_1.y + x_group_1.z));
}

ROCI_FN float2 two_row_dot(TwoRows pair, uint unit_3, uint at_3, local array192_float4_ *group_scales, local array384_uint4_ *x_tile) {
    const float _e5 = unit_dot(pair.row0_, pair.scale0_, unit_3, at_3, group_scales, x_tile);
    const float _e8 = unit_dot(pair.row1_, pair.scale1_, unit_3, at_3, group_scales, x_tile);
    return (float2)(_e5, _e8);
}

ROCI_FN uint2 row_offsets(uint tile_1, uint first_row_1, uint units, uint lane_1, private const Params *params) {
    const uint2 row_5 = ((uint2)((tile_1 + ((lane_1 / 32u) * 2u)))) + ((uint2)(0u, 1u));
    const uint _e17 = (*params).rows;
    return (((uint2)(first_row_1)) + __builtin_elementwise_min(row_5, (uint2)((_e17 - 1u)))) * ((uint2)(units));
}

ROCI_FN uint4 load_grid(uint lane_2) {
    return (uint4)(0u);
}

ROCI_FN void prepare_nibbles(uint lane_3) {
}

ROCI_FN float max_abs_of(float4 v_2) {
    const float4 a_1 = __builtin_elementwise_abs(v_2);
    return __builtin_elementwise_maxnum(__builtin_elementwise_maxnum(a_1.x, a_1.y), __builtin_elementwise_maxnum(a_1.z, a_1.w));
}

ROCI_FN void store_max_abs(float4 v_3, uint i_2, local array192_float4_ *max_abs) {
    const float _e9 = max_abs_of(v_3);
    ((local float *)&(*max_abs).e[i_2 / 4u])[i_2 % 4u] = _e9;
}

ROCI_FN uint x_tile_index(uint unit_4) {
    return (unit_4 * 2u) + ((unit_4 / 4u) % 2u);
}

ROCI_FN uint x_tile_index_of(uint four) {
    const uint _e3 = x_tile_index(four / 2u);
    return _e3 ^ (four % 2u);
}

ROCI_FN void quantize_and_store(float4 v_4, uint i_3, uint base, uint count_1, local array192_float4_ *group_scales, local array384_uint4_ *x_tile, local array192_float4_ *max_abs) {
    if (i_3 < count_1) {
        const float4 _e11 = (*max_abs).e[(i_3 / 8u) * 2u];
        const float _e12 = max_abs_of(_e11);
        const float4 _e21 = (*max_abs).e[((i_3 / 8u) * 2u) + 1u];
        const float _e22 = max_abs_of(_e21);
        const float group_max = __builtin_elementwise_maxnum(_e12, _e22);
        const float inverse = (group_max > 0.0f) ? (127.0f / group_max) : 0.0f;
        const uint word = roci_pack4xI8(roci_f32_to_i32x4(__builtin_elementwise_roundeven(v_4 * inverse)));
        const uint at_4 = base + i_3;
        const uint _e38 = x_tile_index_of(at_4 / 4u);
        ((local uint *)&(*x_tile).e[_e38])[at_4 % 4u] = word;
        if ((i_3 % 8u) == 0u) {
            ((local float *)&(*group_scales).e[at_4 / 8u])[0] = group_max / 127.0f;
            return;
        } else {
            return;
        }
    } else {
        return;
    }
}

ROCI_FN float load_x_part(uint row, uint first, uint base_1, uint count_2, uint lane_4, private const Params *params, global const float4 *x, global const float4 *norm, local array192_float4_ *group_scales, local array384_uint4_ *x_tile, local array192_float4_ *max_abs) {
    float4 v0_ = (float4)(0.0f);
    float4 v1_ = (float4)(0.0f);
    float4 v2_ = (float4)(0.0f);
    float4 v3_ = (float4)(0.0f);
    float4 v4_ = (float4)(0.0f);
    float4 v5_ = (float4)(0.0f);
    float squares = 0.0f;
    const uint last = (first + count_2) - 1u;
    const uint at0_ = __builtin_elementwise_min(first + lane_4, last);
    const uint at1_ = __builtin_elementwise_min((first + lane_4) + 128u, last);
    const uint at2_ = __builtin_elementwise_min((first + lane_4) + 256u, last);
    const uint at3_ = __builtin_elementwise_min((first + lane_4) + 384u, last);
    const uint at4_ = __builtin_elementwise_min((first + lane_4) + 512u, last);
    const uint at5_ = __builtin_elementwise_min((first + lane_4) + 640u, last);
    const float4 _e33 = x[row + at0_];
    v0_ = _e33;
    const float4 _e38 = x[row + at1_];
    v1_ = _e38;
    const float4 _e43 = x[row + at2_];
    v2_ = _e43;
    const float4 _e48 = x[row + at3_];
    v3_ = _e48;
    const float4 _e53 = x[row + at4_];
    v4_ = _e53;
    const float4 _e58 = x[row + at5_];
    v5_ = _e58;
    const uint _e64 = (*params).flags;
    if ((_e64 & 16u) != 0u) {
        const float4 n0_ = norm[at0_];
        const float4 n1_ = norm[at1_];
        const float4 n2_ = norm[at2_];
        const float4 n3_ = norm[at3_];
        const float4 n4_ = norm[at4_];
        const float4 n5_ = norm[at5_];
        const float _e87 = squares;
        const float4 _e88 = v0_;
        const float _e89 = masked_square(_e88, lane_4, count_2);
        const float4 _e90 = v1_;
        const float _e93 = masked_square(_e90, lane_4 + 128u, count_2);
        squares = _e87 + (_e89 + _e93);
        const float _e96 = squares;
        const float4 _e97 = v2_;
        const float _e100 = masked_square(_e97, lane_4 + 256u, count_2);
        const float4 _e101 = v3_;
        const float _e104 = masked_square(_e101, lane_4 + 384u, count_2);
        squares = _e96 + (_e100 + _e104);
        const float _e107 = squares;
        const float4 _e108 = v4_;
        const float _e111 = masked_square(_e108, lane_4 + 512u, count_2);
        const float4 _e112 = v5_;
        const float _e115 = masked_square(_e112, lane_4 + 640u, count_2);
        squares = _e107 + (_e111 + _e115);
        const float4 _e118 = v0_;
        v0_ = _e118 * n0_;
        const float4 _e120 = v1_;
        v1_ = _e120 * n1_;
        const float4 _e122 = v2_;
        v2_ = _e122 * n2_;
        const float4 _e124 = v3_;
        v3_ = _e124 * n3_;
        const float4 _e126 = v4_;
        v4_ = _e126 * n4_;
        const float4 _e128 = v5_;
        v5_ = _e128 * n5_;
    }
    prepare_nibbles(lane_4);
    roci_barrier_workgroup();
    const float4 _e130 = v0_;
    store_max_abs(_e130, lane_4, max_abs);
    const float4 _e131 = v1_;
    store_max_abs(_e131, lane_4 + 128u, max_abs);
    const float4 _e134 = v2_;
    store_max_abs(_e134, lane_4 + 256u, max_abs);
    const float4 _e137 = v3_;
    store_max_abs(_e137, lane_4 + 384u, max_abs);
    const float4 _e140 = v4_;
    store_max_abs(_e140, lane_4 + 512u, max_abs);
    const float4 _e143 = v5_;
    store_max_abs(_e143, lane_4 + 640u, max_abs);
    roci_barrier_workgroup();
    const float4 _e146 = v0_;
    quantize_and_store(_e146, lane_4, base_1, count_2, group_scales, x_tile, max_abs);
    const float4 _e147 = v1_;
    quantize_and_store(_e147, lane_4 + 128u, base_1, count_2, group_scales, x_tile, max_abs);
    const float4 _e150 = v2_;
    quantize_and_store(_e150, lane_4 + 256u, base_1, count_2, group_scales, x_tile, max_abs);
    const float4 _e153 = v3_;
    quantize_and_store(_e153, lane_4 + 384u, base_1, count_2, group_scales, x_tile, max_abs);
    const float4 _e156 = v4_;
    quantize_and_store(_e156, lane_4 + 512u, base_1, count_2, group_scales, x_tile, max_abs);
    const float4 _e159 = v5_;
    quantize_and_store(_e159, lane_4 + 640u, base_1, count_2, group_scales, x_tile, max_abs);
    const float _e162 = squares;
    return _e162;
}

ROCI_FN int sum_i8_(uint4 v_5) {
    return (int)((uint)((int)((uint)roci_native_dot4_i8(v_5.x, 16843009u) + (uint)roci_native_dot4_i8(v_5.y, 16843009u))) + (uint)((int)((uint)roci_native_dot4_i8(v_5.z, 16843009u) + (uint)roci_native_dot4_i8(v_5.w, 16843009u))));
}

ROCI_FN float load_x_tile(uint row_1, uint first_1, uint count_3, uint lane_5, private const Params *params, global const float4 *x, global const float4 *norm, local array192_float4_ *group_scales, local array384_uint4_ *x_tile, local array192_float4_ *max_abs) {
    float squares_1 = 0.0f;
    uint g = 0u;
    const float _e7 = load_x_part(row_1, first_1, 0u, __builtin_elementwise_min(count_3, 768u), lane_5, params, x, norm, group_scales, x_tile, max_abs);
    squares_1 = _e7;
    if (count_3 > 768u) {
        const float _e11 = squares_1;
        const float _e17 = load_x_part(row_1, first_1 + 768u, 768u, count_3 - 768u, lane_5, params, x, norm, group_scales, x_tile, max_abs);
        squares_1 = _e11 + _e17;
    }
    roci_barrier_workgroup();
    g = lane_5;
    while (true) {
        const uint _e20 = g;
        if (!(_e20 < (count_3 / 8u))) {
            break;
        }
        {
            const uint _e25 = g;
            const float scale_1 = (*group_scales).e[_e25].x;
            const uint _e30 = g;
            const uint _e33 = x_tile_index_of(_e30 * 2u);
            const uint4 _e35 = (*x_tile).e[_e33];
            const int low_1 = sum_i8_(_e35);
            const uint _e38 = g;
            const uint _e43 = x_tile_index_of((_e38 * 2u) + 1u);
            const uint4 _e45 = (*x_tile).e[_e43];
            const int high_1 = sum_i8_(_e45);
            const uint _e48 = g;
            (*group_scales).e[_e48] = (float4)(scale_1, scale_1 * ((float)low_1), scale_1 * ((float)high_1), 0.0f);
        }
        const uint _e56 = g;
        g = _e56 + 128u;
    }
    const float _e59 = squares_1;
    return _e59;
}

ROCI_FN void stage_grid(uint4 words_3, uint lane_6) {
}

ROCI_FN float gated_unit(uint row_2, uint first_row_2, float2 sums_1, private const Params *params, global const float *bias) {
    float2 v_6 = (float2)(0.0f);
    float gate = 0.0f;
    float up = 0.0f;
    float z = 0.0f;
    v_6 = sums_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v_6;
        const float _e15 = bias[first_row_2 + row_2];
        const float _e21 = bias[(first_row_2 + row_2) + 1u];
        v_6 = _e11 + ((float2)(_e15, _e21));
    }
    const float _e25 = v_6.x;
    gate = _e25;
    const float _e28 = v_6.y;
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

ROCI_FN void epilogue_gated(uint token, uint row_3, uint first_row_3, float2 sums_2, private const Params *params, global const float *bias, global float *y) {
    const uint _e7 = (*params).y_stride;
    const uint _e11 = (*params).y_offset;
    const float _e17 = gated_unit(row_3, first_row_3, sums_2, params, bias);
    y[((token * _e7) + _e11) + (row_3 / 2u)] = _e17;
}

ROCI_FN void epilogue(uint token_1, uint row_4, uint first_row_4, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v_7 = 0.0f;
    const uint _e6 = (*params).y_stride;
    const uint _e10 = (*params).y_offset;
    const uint at_5 = ((token_1 * _e6) + _e10) + row_4;
    v_7 = sum_1;
    const uint _e16 = (*params).flags;
    if ((_e16 & 2u) != 0u) {
        const float _e21 = v_7;
        const float _e25 = bias[first_row_4 + row_4];
        v_7 = _e21 + _e25;
    }
    const uint _e29 = (*params).flags;
    if ((_e29 & 1u) != 0u) {
        const float _e34 = v_7;
        const float _e37 = y[at_5];
        v_7 = _e34 + _e37;
    }
    const float _e41 = v_7;
    y[at_5] = _e41;
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_matvec_i8_q4_affine(global const uint4 *codes, global const uint *scales, global const float4 *x, global const float *bias, global const uint *experts, global const float4 *norm, global float *y, Params params) {
    local array128_float2_ partials;
    local array32_float2_ reduced;
    local array4_float4_ squares_2;
    local array192_float4_ group_scales;
    local array384_uint4_ x_tile;
    local array192_float4_ max_abs;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 128u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint first_row = 0u;
    float factor = 1.0f;
    uint2 next_rows = (uint2)(0u);
    TwoRows next0_ = {0};
    TwoRows next1_ = {0};
    uint tile = 0u;
    float2 sums = (float2)(0.0f);
    uint start = 0u;
    bool local_ = false;
    float square_sum = 0.0f;
    bool local_1 = false;
    bool local_2 = false;
    uint i = 0u;
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    uint at = 0u;
    bool local_6 = false;
    const uint token_2 = group.y;
    const uint _e6 = params.columns;
    const uint row_vec4s = _e6 / 4u;
    const uint units_1 = row_vec4s / 8u;
    const uint team_lane = lane % 32u;
    const uint _e17 = params.experts;
    if (_e17 != 0u) {
        const uint _e22 = experts[token_2];
        const uint _e25 = params.experts;
        const uint _e31 = params.rows;
        first_row = __builtin_elementwise_min(_e22, _e25 - 1u) * _e31;
    }
    const uint _e35 = params.tokens;
    const uint _e41 = params.sharing;
    const uint _e45 = params.x_stride;
    const uint x_row = roci_div_u32(__builtin_elementwise_min(token_2, _e35 - 1u), _e41) * (_e45 / 4u);
    const uint _e54 = first_row;
    const uint2 _e55 = row_offsets(group.x * 8u, _e54, units_1, lane, &params);
    next_rows = _e55;
    const uint2 _e57 = next_rows;
    const TwoRows _e58 = load_rows(_e57, team_lane, units_1, codes, scales);
    next0_ = _e58;
    const uint2 _e60 = next_rows;
    const TwoRows _e63 = load_rows(_e60, team_lane + 32u, units_1, codes, scales);
    next1_ = _e63;
    const uint4 grid = load_grid(lane);
    tile = group.x * 8u;
    while (true) {
        const uint _e70 = tile;
        const uint _e73 = params.rows;
        if (!(_e70 < _e73)) {
            break;
        }
        {
            const uint2 rows_1 = next_rows;
            const uint _e76 = tile;
            const uint _e81 = first_row;
            const uint2 _e82 = row_offsets(_e76 + (groups.x * 8u), _e81, units_1, lane, &params);
            next_rows = _e82;
            const uint _e83 = tile;
            const bool is_first = _e83 == (group.x * 8u);
            sums = (float2)(0.0f);
            start = 0u;
            while (true) {
                const uint _e92 = start;
                if (!(_e92 < row_vec4s)) {
                    break;
                }
                {
                    const uint _e94 = start;
                    const uint count_4 = __builtin_elementwise_min(row_vec4s - _e94, 1536u);
                    if (!is_first) {
                        local_ = row_vec4s > 1536u;
                    } else {
                        local_ = true;
                    }
                    const bool _e104 = local_;
                    if (_e104) {
                        const uint _e105 = start;
                        const float _e106 = load_x_tile(x_row, _e105, count_4, lane, &params, x, norm, &group_scales, &x_tile, &max_abs);
                        square_sum = _e106;
                        const uint _e110 = params.flags;
                        if ((_e110 & 16u) != 0u) {
                            local_1 = is_first;
                        } else {
                            local_1 = false;
                        }
                        const bool _e118 = local_1;
                        if (_e118) {
                            const uint _e121 = start;
                            local_2 = _e121 == 0u;
                        } else {
                            local_2 = false;
                        }
                        const bool _e125 = local_2;
                        if (_e125) {
                            i = count_4 + lane;
                            while (true) {
                                const uint _e128 = i;
                                if (!(_e128 < row_vec4s)) {
                                    break;
                                }
                                {
                                    const uint _e131 = i;
                                    const float4 v_8 = x[x_row + _e131];
                                    const float _e135 = square_sum;
                                    square_sum = _e135 + roci_dot_float4(v_8, v_8);
                                }
                                const uint _e138 = i;
                                i = _e138 + 128u;
                            }
                            const float _e144 = square_sum;
                            ((local float *)&partials.e[lane])[0] = _e144;
                        }
                        if (is_first) {
                            const uint _e147 = start;
                            local_3 = _e147 == 0u;
                        } else {
                            local_3 = false;
                        }
                        const bool _e151 = local_3;
                        if (_e151) {
                            stage_grid(grid, lane);
                        }
                        roci_barrier_workgroup();
                        const uint _e154 = params.flags;
                        if ((_e154 & 16u) != 0u) {
                            local_4 = is_first;
                        } else {
                            local_4 = false;
                        }
                        const bool _e162 = local_4;
                        if (_e162) {
                            const uint _e165 = start;
                            local_5 = _e165 == 0u;
                        } else {
                            local_5 = false;
                        }
                        const bool _e169 = local_5;
                        if (_e169) {
                            if (lane < 16u) {
                                const float _e175 = partials.e[lane].x;
                                const float _e181 = partials.e[lane + 16u].x;
                                const float _e188 = partials.e[lane + 32u].x;
                                const float _e194 = partials.e[lane + 48u].x;
                                const float low_2 = (_e175 + _e181) + (_e188 + _e194);
                                const float _e202 = partials.e[lane + 64u].x;
                                const float _e208 = partials.e[lane + 80u].x;
                                const float _e215 = partials.e[lane + 96u].x;
                                const float _e221 = partials.e[lane + 112u].x;
                                const float high_2 = (_e202 + _e208) + (_e215 + _e221);
                                ((local float *)&squares_2.e[lane / 4u])[lane % 4u] = low_2 + high_2;
                            }
                            roci_barrier_workgroup();
                        }
                    }
                    const uint _e232 = start;
                    const uint source = _e232 / 8u;
                    const uint end_1 = source + (count_4 / 8u);
                    at = source + team_lane;
                    while (true) {
                        const uint _e240 = at;
                        if (!(_e240 < end_1)) {
                            break;
                        }
                        {
                            const uint _e242 = at;
                            const bool same_rows = (_e242 + 64u) < units_1;
                            const uint2 _e246 = next_rows;
                            const uint2 load_from = same_rows ? rows_1 : _e246;
                            const uint _e248 = at;
                            const uint load_at = same_rows ? (_e248 + 64u) : team_lane;
                            const TwoRows current0_ = next0_;
                            const TwoRows _e253 = load_rows(load_from, load_at, units_1, codes, scales);
                            next0_ = _e253;
                            const float2 _e254 = sums;
                            const uint _e255 = at;
                            const uint _e256 = at;
                            const uint _e258 = x_tile_index(_e256 - source);
                            const float2 _e259 = two_row_dot(current0_, _e255, _e258, &group_scales, &x_tile);
                            sums = _e254 + _e259;
                            const TwoRows current1_ = next1_;
                            const TwoRows _e264 = load_rows(load_from, load_at + 32u, units_1, codes, scales);
                            next1_ = _e264;
                            const uint _e265 = at;
                            if ((_e265 + 32u) < end_1) {
                                const float2 _e269 = sums;
                                const uint _e270 = at;
                                const uint _e273 = at;
                                const uint _e277 = x_tile_index((_e273 + 32u) - source);
                                const float2 _e278 = two_row_dot(current1_, _e270 + 32u, _e277, &group_scales, &x_tile);
                                sums = _e269 + _e278;
                            }
                        }
                        const uint _e280 = at;
                        at = _e280 + 64u;
                    }
                    if (row_vec4s > 1536u) {
                        roci_barrier_workgroup();
                    }
                }
                const uint _e285 = start;
                start = _e285 + 1536u;
            }
            if (is_first) {
                const uint _e292 = params.flags;
                local_6 = (_e292 & 16u) != 0u;
            } else {
                local_6 = false;
            }
            const bool _e298 = local_6;
            if (_e298) {
                const float4 _e301 = squares_2.e[0];
                const float4 _e304 = squares_2.e[1];
                const float4 _e308 = squares_2.e[2];
                const float4 _e311 = squares_2.e[3];
                const float _e314 = sum_components((_e301 + _e304) + (_e308 + _e311));
                const uint _e317 = params.model_columns;
                const float mean = _e314 / ((float)_e317);
                const float _e322 = params.epsilon;
                factor = 1.0f / __builtin_elementwise_sqrt(mean + _e322);
            }
            const float2 _e329 = sums;
            partials.e[lane] = _e329;
            roci_barrier_workgroup();
            if (lane < 32u) {
                const uint at_6 = ((lane / 8u) * 32u) + (lane % 8u);
                const float2 _e343 = partials.e[at_6];
                const float2 _e348 = partials.e[at_6 + 8u];
                const float2 _e354 = partials.e[at_6 + 16u];
                const float2 _e359 = partials.e[at_6 + 24u];
                reduced.e[lane] = (_e343 + _e348) + (_e354 + _e359);
            }
            roci_barrier_workgroup();
            if (lane < 4u) {
                const uint at_7 = lane * 8u;
                const float2 _e368 = reduced.e[at_7];
                const float2 _e373 = reduced.e[at_7 + 1u];
                const float2 _e379 = reduced.e[at_7 + 2u];
                const float2 _e384 = reduced.e[at_7 + 3u];
                const float2 low_3 = (_e368 + _e373) + (_e379 + _e384);
                const float2 _e391 = reduced.e[at_7 + 4u];
                const float2 _e396 = reduced.e[at_7 + 5u];
                const float2 _e403 = reduced.e[at_7 + 6u];
                const float2 _e408 = reduced.e[at_7 + 7u];
                const float _e411 = factor;
                const float2 sum_2 = ((low_3 + (_e391 + _e396)) + (_e403 + _e408)) * _e411;
                const uint _e413 = tile;
                const uint first_3 = _e413 + (lane * 2u);
                const uint _e419 = params.rows;
                if (first_3 < _e419) {
                    const uint _e423 = params.flags;
                    if ((_e423 & 12u) != 0u) {
                        const uint _e428 = first_row;
                        epilogue_gated(token_2, first_3, _e428, sum_2, &params, bias, y);
                    } else {
                        const uint _e429 = first_row;
                        epilogue(token_2, first_3, _e429, sum_2.x, &params, bias, y);
                        const uint _e435 = params.rows;
                        if ((first_3 + 1u) < _e435) {
                            const uint _e439 = first_row;
                            epilogue(token_2, first_3 + 1u, _e439, sum_2.y, &params, bias, y);
                        }
                    }
                }
            }
        }
        const uint _e441 = tile;
        tile = _e441 + (groups.x * 8u);
    }
}
