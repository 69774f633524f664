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
typedef struct { half4 e[2560]; } array2560_half4_;
typedef struct { float4 e[256]; } array256_float4_;
typedef struct {
    half4 a;
    half4 b;
    half4 c;
    half4 d;
    half4 e;
    half4 f;
    half4 g;
    half4 h;
} XElements;
typedef struct {
    half4 a;
    half4 b;
    half4 c;
    half4 d;
    half4 e;
    half4 f;
    half4 g;
    half4 h;
} WElements;

ROCI_FN ushort roci_narrow_f16(float a) {
    return as_ushort((half)a);
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
ROCI_FN float roci_widen_f16(ushort bits) {
    return (float)as_half(bits);
}
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN uint roci_f32_to_u32(float a) {
    return (uint)roci_fmin(roci_fmax(a, 0.0f), 4294967040.0f);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
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
ROCI_FN half16 roci_wmma_load_a_f16_local_rows(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[lane * stride + i];
    }
    return v;
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
ROCI_FN float8 roci_wmma_multiply_add_f32(half16 a, half16 b, float8 c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
ROCI_FN void roci_wmma_store_c_f32_global_rows(global float *p, uint stride, float8 v) {
    const uint lane = roci_lane();
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        p[(2u * i + lane / 16u) * stride + lane % 16u] = v[i];
    }
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

ROCI_FN XElements load_x(uint first, uint column, private const Params *params, global const half4 *x) {
    const uint _e4 = (*params).tokens;
    const uint last = _e4 - 1u;
    const uint _e9 = (*params).x_stride;
    const uint pitch = _e9 / 4u;
    const half4 _e17 = x[(__builtin_elementwise_min(first, last) * pitch) + column];
    const half4 _e25 = x[(__builtin_elementwise_min(first + 16u, last) * pitch) + column];
    const half4 _e33 = x[(__builtin_elementwise_min(first + 32u, last) * pitch) + column];
    const half4 _e41 = x[(__builtin_elementwise_min(first + 48u, last) * pitch) + column];
    const half4 _e49 = x[(__builtin_elementwise_min(first + 64u, last) * pitch) + column];
    const half4 _e57 = x[(__builtin_elementwise_min(first + 80u, last) * pitch) + column];
    const half4 _e65 = x[(__builtin_elementwise_min(first + 96u, last) * pitch) + column];
    const half4 _e73 = x[(__builtin_elementwise_min(first + 112u, last) * pitch) + column];
    return (XElements){.a = _e17, .b = _e25, .c = _e33, .d = _e41, .e = _e49, .f = _e57, .g = _e65, .h = _e73};
}

ROCI_FN void store_x(XElements elements, uint to, local array2560_half4_ *x_tile) {
    (*x_tile).e[to] = elements.a;
    (*x_tile).e[to + 160u] = elements.b;
    (*x_tile).e[to + 320u] = elements.c;
    (*x_tile).e[to + 480u] = elements.d;
    (*x_tile).e[to + 640u] = elements.e;
    (*x_tile).e[to + 800u] = elements.f;
    (*x_tile).e[to + 960u] = elements.g;
    (*x_tile).e[to + 1120u] = elements.h;
}

ROCI_FN uint swizzled_row(uint n) {
    return ((n & 8u) | ((n & 1u) << 2u)) | ((n >> 1u) & 3u);
}

ROCI_FN float gated_unit(uint row, uint first_row, float2 sums, private const Params *params, global const float *bias) {
    float2 v = (float2)(0.0f);
    float gate = 0.0f;
    float up = 0.0f;
    float z = 0.0f;
    v = sums;
    const uint _e6 = (*params).flags;
    if ((_e6 & 2u) != 0u) {
        const float2 _e11 = v;
        const float _e15 = bias[first_row + row];
        const float _e21 = bias[(first_row + row) + 1u];
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

ROCI_FN void epilogue_gated(uint token, uint row_1, uint first_row_1, float2 sums_1, private const Params *params, global const float *bias, global float *y) {
    const uint _e7 = (*params).y_stride;
    const uint _e11 = (*params).y_offset;
    const float _e17 = gated_unit(row_1, first_row_1, sums_1, params, bias);
    y[((token * _e7) + _e11) + (row_1 / 2u)] = _e17;
}

ROCI_FN void epilogue(uint token_1, uint row_2, uint first_row_2, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_1 = 0.0f;
    const uint _e6 = (*params).y_stride;
    const uint _e10 = (*params).y_offset;
    const uint at = ((token_1 * _e6) + _e10) + row_2;
    v_1 = sum;
    const uint _e16 = (*params).flags;
    if ((_e16 & 2u) != 0u) {
        const float _e21 = v_1;
        const float _e25 = bias[first_row_2 + row_2];
        v_1 = _e21 + _e25;
    }
    const uint _e29 = (*params).flags;
    if ((_e29 & 1u) != 0u) {
        const float _e34 = v_1;
        const float _e37 = y[at];
        v_1 = _e34 + _e37;
    }
    const float _e41 = v_1;
    y[at] = _e41;
}

ROCI_FN void epilogue_vec4_(uint token_2, uint row_3, uint first_row_3, float4 sums_2, private const Params *params, global const float *bias, global float *y) {
    float2 pair = (float2)(0.0f);
    uint i = 0u;
    const uint _e6 = (*params).flags;
    if ((_e6 & 32u) != 0u) {
        const float _e12 = gated_unit(row_3, first_row_3, sums_2.xy, params, bias);
        pair = (float2)(_e12, 0.0f);
        const uint _e20 = (*params).rows;
        if ((row_3 + 2u) < _e20) {
            const float _e26 = gated_unit(row_3 + 2u, first_row_3, sums_2.zw, params, bias);
            pair.y = _e26;
        }
        const float2 _e27 = pair;
        const uint word = roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e27, (float2)((-65504.0f))), (float2)(65504.0f)));
        const uint _e37 = (*params).y_stride;
        const uint _e41 = (*params).y_offset;
        y[((token_2 * _e37) + _e41) + (row_3 / 4u)] = as_float(word);
        return;
    }
    const uint _e50 = (*params).flags;
    if ((_e50 & 12u) != 0u) {
        epilogue_gated(token_2, row_3, first_row_3, sums_2.xy, params, bias, y);
        const uint _e60 = (*params).rows;
        if ((row_3 + 2u) < _e60) {
            epilogue_gated(token_2, row_3 + 2u, first_row_3, sums_2.zw, params, bias, y);
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
            if ((row_3 + _e70) < _e74) {
                const uint _e76 = i;
                const uint _e78 = i;
                epilogue(token_2, row_3 + _e76, first_row_3, roci_component_of_float4(sums_2, _e78), params, bias, y);
            }
        }
        const uint _e80 = i;
        i = _e80 + 1u;
    }
}

ROCI_FN void epilogue_matrix(uint token_3, uint row_4, uint split, uint source, uint lane_1, private const Params *params, global const float *bias, global float *y, local array256_float4_ *result) {
    uint half_ = 0u;
    bool local_2 = false;
    while (true) {
        const uint _e7 = half_;
        if (!(_e7 < 2u)) {
            break;
        }
        {
            const uint _e13 = half_;
            const uint at_1 = (token_3 + (lane_1 / 4u)) + (_e13 * 8u);
            const uint first_2 = row_4 + ((lane_1 % 4u) * 4u);
            const uint _e24 = (*params).tokens;
            if (at_1 < _e24) {
                const uint _e30 = (*params).rows;
                local_2 = first_2 < _e30;
            } else {
                local_2 = false;
            }
            const bool _e33 = local_2;
            if (_e33) {
                const uint _e36 = (*params).sharing;
                const uint _e41 = half_;
                const float4 _e47 = (*result).e[(source + (_e41 * 32u)) + lane_1];
                epilogue_vec4_((at_1 * _e36) + split, first_2, 0u, _e47, params, bias, y);
            }
        }
        const uint _e48 = half_;
        half_ = _e48 + 1u;
    }
}

ROCI_FN void store_w(WElements elements_1, uint base, uint lane_2, local array2560_half4_ *w_tile) {
    const uint _e5 = swizzled_row(lane_2 / 8u);
    const uint to_1 = (base + (_e5 * 10u)) + (lane_2 % 8u);
    (*w_tile).e[to_1] = elements_1.a;
    (*w_tile).e[to_1 + 160u] = elements_1.b;
    (*w_tile).e[to_1 + 320u] = elements_1.c;
    (*w_tile).e[to_1 + 480u] = elements_1.d;
    (*w_tile).e[to_1 + 640u] = elements_1.e;
    (*w_tile).e[to_1 + 800u] = elements_1.f;
    (*w_tile).e[to_1 + 960u] = elements_1.g;
    (*w_tile).e[to_1 + 1120u] = elements_1.h;
}

ROCI_FN float2 decode_scale(uint2 words, uint half_1) {
    bool local_3 = false;
    local_3 = false;
    const bool _e5 = local_3;
    if (_e5) {
        const float scale = roci_unpack2x16float(words.x).x;
        return (float2)(scale, false ? ((-8.0f) * scale) : 0.0f);
    }
    return (float2)(1.0f, 0.0f);
}

ROCI_FN uint2 scale_words(uint group_1, global const uint *scales) {
    bool local_4 = false;
    bool local_5 = false;
    bool local_6 = false;
    local_4 = false;
    const bool _e4 = local_4;
    if (!_e4) {
        local_5 = false;
    } else {
        local_5 = true;
    }
    const bool _e10 = local_5;
    if (_e10) {
        const uint _e15 = scales[group_1 / 2u];
        return (uint2)(_e15 >> (((group_1 % 2u) * 16u) & 31u), 0u);
    }
    local_6 = false;
    const bool _e26 = local_6;
    if (_e26) {
        const uint _e29 = scales[group_1];
        return (uint2)(_e29, 0u);
    }
    return (uint2)(0u);
}

ROCI_FN float2 load_scale(uint group_2, uint half_2, global const uint *scales) {
    const uint2 _e2 = scale_words(group_2, scales);
    const float2 _e3 = decode_scale(_e2, half_2);
    return _e3;
}

ROCI_FN half4 load_vec4_(uint row_5, uint group_3, uint column_1, private const Params *params, global const half4 *codes) {
    const uint _e6 = (*params).rows;
    const uint _e12 = (*params).columns;
    const half4 _e21 = codes[(((__builtin_elementwise_min(row_5, _e6 - 1u) * (_e12 / 32u)) + group_3) * 8u) + column_1];
    return _e21;
}

ROCI_FN WElements load_w(uint first_1, uint group_4, uint lane_3, private const Params *params, global const half4 *codes, global const uint *scales) {
    const uint _e5 = swizzled_row(lane_3 / 8u);
    const float2 _e9 = load_scale(0u, 0u, scales);
    const uint row_6 = (first_1 + _e5) + roci_f32_to_u32(_e9.y);
    const uint column_2 = lane_3 % 8u;
    const half4 _e15 = load_vec4_(row_6, group_4, column_2, params, codes);
    const half4 _e18 = load_vec4_(row_6 + 16u, group_4, column_2, params, codes);
    const half4 _e21 = load_vec4_(row_6 + 32u, group_4, column_2, params, codes);
    const half4 _e24 = load_vec4_(row_6 + 48u, group_4, column_2, params, codes);
    const half4 _e27 = load_vec4_(row_6 + 64u, group_4, column_2, params, codes);
    const half4 _e30 = load_vec4_(row_6 + 80u, group_4, column_2, params, codes);
    const half4 _e33 = load_vec4_(row_6 + 96u, group_4, column_2, params, codes);
    const half4 _e36 = load_vec4_(row_6 + 112u, group_4, column_2, params, codes);
    return (WElements){.a = _e15, .b = _e18, .c = _e21, .d = _e24, .e = _e27, .f = _e30, .g = _e33, .h = _e36};
}

kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void lm_matmul_coopmat_f16(global const half4 *codes, global const uint *scales, global const half4 *x, global const float *bias, global float *y, Params params) {
    local array2560_half4_ x_tile;
    local array2560_half4_ w_tile;
    local array256_float4_ result;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint w_group = 0u;
    uint x_column = 0u;
    float8 s00_ = (float8)(0);
    float8 s01_ = (float8)(0);
    float8 s02_ = (float8)(0);
    float8 s03_ = (float8)(0);
    float8 s10_ = (float8)(0);
    float8 s11_ = (float8)(0);
    float8 s12_ = (float8)(0);
    float8 s13_ = (float8)(0);
    float8 s20_ = (float8)(0);
    float8 s21_ = (float8)(0);
    float8 s22_ = (float8)(0);
    float8 s23_ = (float8)(0);
    float8 s30_ = (float8)(0);
    float8 s31_ = (float8)(0);
    float8 s32_ = (float8)(0);
    float8 s33_ = (float8)(0);
    uint k = 0u;
    bool local_ = false;
    bool local_1 = false;
    uint matrix = 0u;
    const uint _e4 = params.columns;
    const uint steps = _e4 / 64u;
    const uint _e9 = params.sharing;
    const uint _e15 = params.sharing;
    const uint steps_per_split = roci_div_u32((steps + _e9) - 1u, _e15);
    const uint first_step = __builtin_elementwise_min(group.z * steps_per_split, steps);
    const uint groups = (__builtin_elementwise_min(first_step + steps_per_split, steps) - first_step) * 2u;
    const uint w_row = group.y * 128u;
    w_group = first_step * 2u;
    const uint _e36 = swizzled_row(lane / 8u);
    const uint x_row = (group.x * 128u) + _e36;
    x_column = (first_step * 16u) + (lane % 8u);
    const uint _e46 = swizzled_row(lane / 8u);
    const uint x_target = (_e46 * 10u) + (lane % 8u);
    const uint first_token = (lane / 64u) * 64u;
    const uint first_row_4 = ((lane / 32u) % 2u) * 64u;
    const uint x_start = first_token * 10u;
    const uint w_start = first_row_4 * 10u;
    const uint _e98 = w_group;
    const WElements _e99 = load_w(w_row, _e98, lane, &params, codes, scales);
    store_w(_e99, 0u, lane, &w_tile);
    const uint _e101 = x_column;
    const XElements _e102 = load_x(x_row, _e101, &params, x);
    store_x(_e102, x_target, &x_tile);
    roci_barrier_workgroup();
    while (true) {
        const uint _e105 = k;
        if (!(_e105 < groups)) {
            break;
        }
        {
            const uint _e107 = w_group;
            w_group = _e107 + 1u;
            const uint _e110 = x_column;
            x_column = _e110 + 8u;
            const uint _e113 = w_group;
            const WElements w_next = load_w(w_row, _e113, lane, &params, codes, scales);
            const uint _e115 = x_column;
            const XElements x_next = load_x(x_row, _e115, &params, x);
            {
                const half16 x0_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 0u], 10u * 4u);
                const half16 x1_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 160u], 10u * 4u);
                const half16 x2_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 320u], 10u * 4u);
                const half16 x3_ = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 480u], 10u * 4u);
                const half16 w0_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 0u], 10u * 4u);
                const half16 w1_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 160u], 10u * 4u);
                const half16 w2_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 320u], 10u * 4u);
                const half16 w3_ = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 480u], 10u * 4u);
                const float8 _e165 = s00_;
                s00_ = roci_wmma_multiply_add_f32(x0_, w0_, _e165);
                const float8 _e167 = s10_;
                s10_ = roci_wmma_multiply_add_f32(x1_, w0_, _e167);
                const float8 _e169 = s20_;
                s20_ = roci_wmma_multiply_add_f32(x2_, w0_, _e169);
                const float8 _e171 = s30_;
                s30_ = roci_wmma_multiply_add_f32(x3_, w0_, _e171);
                const float8 _e173 = s01_;
                s01_ = roci_wmma_multiply_add_f32(x0_, w1_, _e173);
                const float8 _e175 = s11_;
                s11_ = roci_wmma_multiply_add_f32(x1_, w1_, _e175);
                const float8 _e177 = s21_;
                s21_ = roci_wmma_multiply_add_f32(x2_, w1_, _e177);
                const float8 _e179 = s31_;
                s31_ = roci_wmma_multiply_add_f32(x3_, w1_, _e179);
                const float8 _e181 = s02_;
                s02_ = roci_wmma_multiply_add_f32(x0_, w2_, _e181);
                const float8 _e183 = s12_;
                s12_ = roci_wmma_multiply_add_f32(x1_, w2_, _e183);
                const float8 _e185 = s22_;
                s22_ = roci_wmma_multiply_add_f32(x2_, w2_, _e185);
                const float8 _e187 = s32_;
                s32_ = roci_wmma_multiply_add_f32(x3_, w2_, _e187);
                const float8 _e189 = s03_;
                s03_ = roci_wmma_multiply_add_f32(x0_, w3_, _e189);
                const float8 _e191 = s13_;
                s13_ = roci_wmma_multiply_add_f32(x1_, w3_, _e191);
                const float8 _e193 = s23_;
                s23_ = roci_wmma_multiply_add_f32(x2_, w3_, _e193);
                const float8 _e195 = s33_;
                s33_ = roci_wmma_multiply_add_f32(x3_, w3_, _e195);
            }
            {
                const half16 x0_1 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 4u], 10u * 4u);
                const half16 x1_1 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 164u], 10u * 4u);
                const half16 x2_1 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 324u], 10u * 4u);
                const half16 x3_1 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[x_start + 484u], 10u * 4u);
                const half16 w0_1 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 4u], 10u * 4u);
                const half16 w1_1 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 164u], 10u * 4u);
                const half16 w2_1 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 324u], 10u * 4u);
                const half16 w3_1 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[w_start + 484u], 10u * 4u);
                const float8 _e245 = s00_;
                s00_ = roci_wmma_multiply_add_f32(x0_1, w0_1, _e245);
                const float8 _e247 = s10_;
                s10_ = roci_wmma_multiply_add_f32(x1_1, w0_1, _e247);
                const float8 _e249 = s20_;
                s20_ = roci_wmma_multiply_add_f32(x2_1, w0_1, _e249);
                const float8 _e251 = s30_;
                s30_ = roci_wmma_multiply_add_f32(x3_1, w0_1, _e251);
                const float8 _e253 = s01_;
                s01_ = roci_wmma_multiply_add_f32(x0_1, w1_1, _e253);
                const float8 _e255 = s11_;
                s11_ = roci_wmma_multiply_add_f32(x1_1, w1_1, _e255);
                const float8 _e257 = s21_;
                s21_ = roci_wmma_multiply_add_f32(x2_1, w1_1, _e257);
                const float8 _e259 = s31_;
                s31_ = roci_wmma_multiply_add_f32(x3_1, w1_1, _e259);
                const float8 _e261 = s02_;
                s02_ = roci_wmma_multiply_add_f32(x0_1, w2_1, _e261);
                const float8 _e263 = s12_;
                s12_ = roci_wmma_multiply_add_f32(x1_1, w2_1, _e263);
                const float8 _e265 = s22_;
                s22_ = roci_wmma_multiply_add_f32(x2_1, w2_1, _e265);
                const float8 _e267 = s32_;
                s32_ = roci_wmma_multiply_add_f32(x3_1, w2_1, _e267);
                const float8 _e269 = s03_;
                s03_ = roci_wmma_multiply_add_f32(x0_1, w3_1, _e269);
                const float8 _e271 = s13_;
                s13_ = roci_wmma_multiply_add_f32(x1_1, w3_1, _e271);
                const float8 _e273 = s23_;
                s23_ = roci_wmma_multiply_add_f32(x2_1, w3_1, _e273);
                const float8 _e275 = s33_;
                s33_ = roci_wmma_multiply_add_f32(x3_1, w3_1, _e275);
            }
            store_w(w_next, 1280u, lane, &w_tile);
            store_x(x_next, 1280u + x_target, &x_tile);
            roci_barrier_workgroup();
            const uint _e282 = k;
            const uint advance = ((_e282 + 2u) < groups) ? 1u : 0u;
            const uint _e287 = w_group;
            w_group = _e287 + advance;
            const uint _e289 = x_column;
            x_column = _e289 + (advance * 8u);
            const uint _e293 = w_group;
            const WElements w_following = load_w(w_row, _e293, lane, &params, codes, scales);
            const uint _e295 = x_column;
            const XElements x_following = load_x(x_row, _e295, &params, x);
            {
                const half16 x0_2 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 0u], 10u * 4u);
                const half16 x1_2 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 160u], 10u * 4u);
                const half16 x2_2 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 320u], 10u * 4u);
                const half16 x3_2 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 480u], 10u * 4u);
                const half16 w0_2 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 0u], 10u * 4u);
                const half16 w1_2 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 160u], 10u * 4u);
                const half16 w2_2 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 320u], 10u * 4u);
                const half16 w3_2 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 480u], 10u * 4u);
                const float8 _e361 = s00_;
                s00_ = roci_wmma_multiply_add_f32(x0_2, w0_2, _e361);
                const float8 _e363 = s10_;
                s10_ = roci_wmma_multiply_add_f32(x1_2, w0_2, _e363);
                const float8 _e365 = s20_;
                s20_ = roci_wmma_multiply_add_f32(x2_2, w0_2, _e365);
                const float8 _e367 = s30_;
                s30_ = roci_wmma_multiply_add_f32(x3_2, w0_2, _e367);
                const float8 _e369 = s01_;
                s01_ = roci_wmma_multiply_add_f32(x0_2, w1_2, _e369);
                const float8 _e371 = s11_;
                s11_ = roci_wmma_multiply_add_f32(x1_2, w1_2, _e371);
                const float8 _e373 = s21_;
                s21_ = roci_wmma_multiply_add_f32(x2_2, w1_2, _e373);
                const float8 _e375 = s31_;
                s31_ = roci_wmma_multiply_add_f32(x3_2, w1_2, _e375);
                const float8 _e377 = s02_;
                s02_ = roci_wmma_multiply_add_f32(x0_2, w2_2, _e377);
                const float8 _e379 = s12_;
                s12_ = roci_wmma_multiply_add_f32(x1_2, w2_2, _e379);
                const float8 _e381 = s22_;
                s22_ = roci_wmma_multiply_add_f32(x2_2, w2_2, _e381);
                const float8 _e383 = s32_;
                s32_ = roci_wmma_multiply_add_f32(x3_2, w2_2, _e383);
                const float8 _e385 = s03_;
                s03_ = roci_wmma_multiply_add_f32(x0_2, w3_2, _e385);
                const float8 _e387 = s13_;
                s13_ = roci_wmma_multiply_add_f32(x1_2, w3_2, _e387);
                const float8 _e389 = s23_;
                s23_ = roci_wmma_multiply_add_f32(x2_2, w3_2, _e389);
                const float8 _e391 = s33_;
                s33_ = roci_wmma_multiply_add_f32(x3_2, w3_2, _e391);
            }
            {
                const half16 x0_3 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 4u], 10u * 4u);
                const half16 x1_3 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 164u], 10u * 4u);
                const half16 x2_3 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 324u], 10u * 4u);
                const half16 x3_3 = roci_wmma_load_a_f16_local_rows((local half *)&x_tile.e[(1280u + x_start) + 484u], 10u * 4u);
                const half16 w0_3 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 4u], 10u * 4u);
                const half16 w1_3 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 164u], 10u * 4u);
                const half16 w2_3 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 324u], 10u * 4u);
                const half16 w3_3 = roci_wmma_load_b_f16_local_columns((local half *)&w_tile.e[(1280u + w_start) + 484u], 10u * 4u);
                const float8 _e457 = s00_;
                s00_ = roci_wmma_multiply_add_f32(x0_3, w0_3, _e457);
                const float8 _e459 = s10_;
                s10_ = roci_wmma_multiply_add_f32(x1_3, w0_3, _e459);
                const float8 _e461 = s20_;
                s20_ = roci_wmma_multiply_add_f32(x2_3, w0_3, _e461);
                const float8 _e463 = s30_;
                s30_ = roci_wmma_multiply_add_f32(x3_3, w0_3, _e463);
                const float8 _e465 = s01_;
                s01_ = roci_wmma_multiply_add_f32(x0_3, w1_3, _e465);
                const float8 _e467 = s11_;
                s11_ = roci_wmma_multiply_add_f32(x1_3, w1_3, _e467);
                const float8 _e469 = s21_;
                s21_ = roci_wmma_multiply_add_f32(x2_3, w1_3, _e469);
                const float8 _e471 = s31_;
                s31_ = roci_wmma_multiply_add_f32(x3_3, w1_3, _e471);
                const float8 _e473 = s02_;
                s02_ = roci_wmma_multiply_add_f32(x0_3, w2_3, _e473);
                const float8 _e475 = s12_;
                s12_ = roci_wmma_multiply_add_f32(x1_3, w2_3, _e475);
                const float8 _e477 = s22_;
                s22_ = roci_wmma_multiply_add_f32(x2_3, w2_3, _e477);
                const float8 _e479 = s32_;
                s32_ = roci_wmma_multiply_add_f32(x3_3, w2_3, _e479);
                const float8 _e481 = s03_;
                s03_ = roci_wmma_multiply_add_f32(x0_3, w3_3, _e481);
                const float8 _e483 = s13_;
                s13_ = roci_wmma_multiply_add_f32(x1_3, w3_3, _e483);
                const float8 _e485 = s23_;
                s23_ = roci_wmma_multiply_add_f32(x2_3, w3_3, _e485);
                const float8 _e487 = s33_;
                s33_ = roci_wmma_multiply_add_f32(x3_3, w3_3, _e487);
            }
            store_w(w_following, 0u, lane, &w_tile);
            store_x(x_following, x_target, &x_tile);
            roci_barrier_workgroup();
        }
        const uint _e490 = k;
        k = _e490 + 2u;
    }
    const uint token_4 = (group.x * 128u) + first_token;
    const uint row_7 = (group.y * 128u) + first_row_4;
    const uint _e503 = params.flags;
    if (_e503 == 0u) {
        const uint _e515 = params.tokens;
        local_ = ((group.x * 128u) + 128u) <= _e515;
    } else {
        local_ = false;
    }
    const bool _e518 = local_;
    if (_e518) {
        const uint _e528 = params.rows;
        local_1 = ((group.y * 128u) + 128u) <= _e528;
    } else {
        local_1 = false;
    }
    const bool _e531 = local_1;
    if (_e531) {
        const uint _e534 = params.sharing;
        const uint _e537 = params.y_stride;
        const uint pitch_1 = _e534 * _e537;
        const uint _e541 = params.sharing;
        const uint _e547 = params.y_stride;
        const uint _e551 = params.y_offset;
        const uint at00_ = ((((token_4 * _e541) + group.z) * _e547) + _e551) + row_7;
        const float8 _e554 = s00_;
        roci_wmma_store_c_f32_global_rows(&y[at00_], pitch_1, _e554);
        const uint at01_ = at00_ + 16u;
        const float8 _e559 = s01_;
        roci_wmma_store_c_f32_global_rows(&y[at01_], pitch_1, _e559);
        const uint at02_ = at00_ + 32u;
        const float8 _e564 = s02_;
        roci_wmma_store_c_f32_global_rows(&y[at02_], pitch_1, _e564);
        const uint at03_ = at00_ + 48u;
        const float8 _e569 = s03_;
        roci_wmma_store_c_f32_global_rows(&y[at03_], pitch_1, _e569);
        const uint at10_ = at00_ + (16u * pitch_1);
        const float8 _e575 = s10_;
        roci_wmma_store_c_f32_global_rows(&y[at10_], pitch_1, _e575);
        const uint at11_ = (at00_ + (16u * pitch_1)) + 16u;
        const float8 _e583 = s11_;
        roci_wmma_store_c_f32_global_rows(&y[at11_], pitch_1, _e583);
        const uint at12_ = (at00_ + (16u * pitch_1)) + 32u;
        const float8 _e591 = s12_;
        roci_wmma_store_c_f32_global_rows(&y[at12_], pitch_1, _e591);
        const uint at13_ = (at00_ + (16u * pitch_1)) + 48u;
        const float8 _e599 = s13_;
        roci_wmma_store_c_f32_global_rows(&y[at13_], pitch_1, _e599);
        const uint at20_ = at00_ + (32u * pitch_1);
        const float8 _e605 = s20_;
        roci_wmma_store_c_f32_global_rows(&y[at20_], pitch_1, _e605);
        const uint at21_ = (at00_ + (32u * pitch_1)) + 16u;
        const float8 _e613 = s21_;
        roci_wmma_store_c_f32_global_rows(&y[at21_], pitch_1, _e613);
        const uint at22_ = (at00_ + (32u * pitch_1)) + 32u;
        const float8 _e621 = s22_;
        roci_wmma_store_c_f32_global_rows(&y[at22_], pitch_1, _e621);
        const uint at23_ = (at00_ + (32u * pitch_1)) + 48u;
        const float8 _e629 = s23_;
        roci_wmma_store_c_f32_global_rows(&y[at23_], pitch_1, _e629);
        const uint at30_ = at00_ + (48u * pitch_1);
        const float8 _e635 = s30_;
        roci_wmma_store_c_f32_global_rows(&y[at30_], pitch_1, _e635);
        const uint at31_ = (at00_ + (48u * pitch_1)) + 16u;
        const float8 _e643 = s31_;
        roci_wmma_store_c_f32_global_rows(&y[at31_], pitch_1, _e643);
        const uint at32_ = (at00_ + (48u * pitch_1)) + 32u;
        const float8 _e651 = s32_;
        roci_wmma_store_c_f32_global_rows(&y[at32_], pitch_1, _e651);
        const uint at33_ = (at00_ + (48u * pitch_1)) + 48u;
        const float8 _e659 = s33_;
        roci_wmma_store_c_f32_global_rows(&y[at33_], pitch_1, _e659);
        return;
    }
    const uint to_2 = (lane / 32u) * 64u;
    while (true) {
        const uint _e668 = matrix;
        if (!(_e668 < 16u)) {
            break;
        }
        {
            const uint _e671 = matrix;
            switch (_e671) {
            case 0u: {
                const float8 _e672 = s00_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e672);
                break;
            }
            case 1u: {
                const float8 _e676 = s01_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e676);
                break;
            }
            case 2u: {
                const float8 _e680 = s02_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e680);
                break;
            }
            case 3u: {
                const float8 _e684 = s03_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e684);
                break;
            }
            case 4u: {
                const float8 _e688 = s10_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e688);
                break;
            }
            case 5u: {
                const float8 _e692 = s11_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e692);
                break;
            }
            case 6u: {
                const float8 _e696 = s12_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e696);
                break;
            }
            case 7u: {
                const float8 _e700 = s13_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e700);
                break;
            }
            case 8u: {
                const float8 _e704 = s20_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e704);
                break;
            }
            case 9u: {
                const float8 _e708 = s21_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e708);
                break;
            }
            case 10u: {
                const float8 _e712 = s22_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e712);
                break;
            }
            case 11u: {
                const float8 _e716 = s23_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e716);
                break;
            }
            case 12u: {
                const float8 _e720 = s30_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e720);
                break;
            }
            case 13u: {
                const float8 _e724 = s31_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e724);
                break;
            }
            case 14u: {
                const float8 _e728 = s32_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e728);
                break;
            }
            default: {
                const float8 _e732 = s33_;
                roci_wmma_store_c_f32_local_rows((local float *)&result.e[to_2], 4u * 4u, _e732);
                break;
            }
            }
            roci_barrier_workgroup();
            const uint _e736 = matrix;
            const uint _e742 = matrix;
            epilogue_matrix(token_4 + ((_e736 / 4u) * 16u), row_7 + ((_e742 % 4u) * 16u), group.z, to_2, lane % 32u, &params, bias, y, &result);
            roci_barrier_workgroup();
        }
        const uint _e751 = matrix;
        matrix = _e751 + 1u;
    }
}
