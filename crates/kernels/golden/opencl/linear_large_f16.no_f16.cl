// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint m;
    uint n;
    uint k;
    uint lda;
    uint ldb;
    uint ldc;
    uint batches;
    uint batch_a;
    uint batch_b;
    uint batch_c;
    uint flags;
    float low;
    float high;
} Params;
typedef struct { float4 e[264]; } array264_float4_;
typedef struct { float4 e[256]; } array256_float4_;
typedef struct { float4 e[16]; } array16_float4_;

ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
#define roci_fmin fmin
#define roci_fmax fmax
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float4 roci_widen_f16x4(ushort4 a) {
    return (float4)(roci_widen_f16(a.x), roci_widen_f16(a.y), roci_widen_f16(a.z), roci_widen_f16(a.w));
}

ROCI_FN void finish(uint at, uint column, float4 sum, private const Params *params, global const float4 *bias, global float4 *y) {
    float4 v = (float4)(0.0f);
    v = sum;
    const uint _e6 = (*params).flags;
    if ((_e6 & 1u) != 0u) {
        const float4 _e11 = v;
        const float4 _e14 = bias[column];
        v = _e11 + _e14;
    }
    const uint _e18 = (*params).flags;
    if ((_e18 & 2u) != 0u) {
        const float4 _e23 = v;
        const float4 _e26 = y[at];
        v = _e23 + _e26;
    }
    const uint _e30 = (*params).flags;
    if ((_e30 & 4u) != 0u) {
        const float4 _e35 = v;
        const int4 is_number = (as_uint4(_e35) & ((uint4)(2147483647u))) <= ((uint4)(2139095040u));
        const float4 _e43 = v;
        const float4 _e44 = v;
        const float _e47 = (*params).low;
        const float _e52 = (*params).high;
        v = is_number ? fmin(fmax(_e44, (float4)(_e47)), (float4)(_e52)) : _e43;
    }
    const float4 _e58 = v;
    y[at] = _e58;
}

ROCI_FN void store_c(uint start, uint row, uint four, float4 v_1, private const Params *params, global const float4 *bias, global float4 *y) {
    bool local_1 = false;
    const uint _e6 = (*params).m;
    if (row < _e6) {
        const uint _e14 = (*params).n;
        local_1 = (four * 4u) < _e14;
    } else {
        local_1 = false;
    }
    const bool _e17 = local_1;
    if (_e17) {
        const uint _e20 = (*params).ldc;
        finish((start + (row * (_e20 / 4u))) + four, four, v_1, params, bias, y);
        return;
    } else {
        return;
    }
}

ROCI_FN void multiply(private array16_float4_ *sums_1, uint k_1, uint rows, uint columns, local array264_float4_ *a_tile, local array256_float4_ *b_tile) {
    const float4 a_low = (*a_tile).e[(k_1 * 33u) + rows];
    const float4 a_high = (*a_tile).e[((k_1 * 33u) + rows) + 4u];
    const float4 b_low = (*b_tile).e[(k_1 * 32u) + columns];
    const float4 b_high = (*b_tile).e[((k_1 * 32u) + columns) + 8u];
    const float4 _e33 = (*sums_1).e[0];
    (*sums_1).e[0] = _e33 + (a_low.x * b_low);
    const float4 _e38 = (*sums_1).e[1];
    (*sums_1).e[1] = _e38 + (a_low.x * b_high);
    const float4 _e43 = (*sums_1).e[2];
    (*sums_1).e[2] = _e43 + (a_low.y * b_low);
    const float4 _e48 = (*sums_1).e[3];
    (*sums_1).e[3] = _e48 + (a_low.y * b_high);
    const float4 _e53 = (*sums_1).e[4];
    (*sums_1).e[4] = _e53 + (a_low.z * b_low);
    const float4 _e58 = (*sums_1).e[5];
    (*sums_1).e[5] = _e58 + (a_low.z * b_high);
    const float4 _e63 = (*sums_1).e[6];
    (*sums_1).e[6] = _e63 + (a_low.w * b_low);
    const float4 _e68 = (*sums_1).e[7];
    (*sums_1).e[7] = _e68 + (a_low.w * b_high);
    const float4 _e73 = (*sums_1).e[8];
    (*sums_1).e[8] = _e73 + (a_high.x * b_low);
    const float4 _e78 = (*sums_1).e[9];
    (*sums_1).e[9] = _e78 + (a_high.x * b_high);
    const float4 _e83 = (*sums_1).e[10];
    (*sums_1).e[10] = _e83 + (a_high.y * b_low);
    const float4 _e88 = (*sums_1).e[11];
    (*sums_1).e[11] = _e88 + (a_high.y * b_high);
    const float4 _e93 = (*sums_1).e[12];
    (*sums_1).e[12] = _e93 + (a_high.z * b_low);
    const float4 _e98 = (*sums_1).e[13];
    (*sums_1).e[13] = _e98 + (a_high.z * b_high);
    const float4 _e103 = (*sums_1).e[14];
    (*sums_1).e[14] = _e103 + (a_high.w * b_low);
    const float4 _e108 = (*sums_1).e[15];
    (*sums_1).e[15] = _e108 + (a_high.w * b_high);
}

ROCI_FN bool has_function(private const Params *params) {
    const uint _e2 = (*params).flags;
    return (_e2 & 24u) != 0u;
}

ROCI_FN float scaled(float v_2, int n) {
    const int lower = n / 2;
    return (v_2 * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float exponential_rest(float v_3) {
    return 0.5f + (v_3 * (0.16666669f + (v_3 * (0.041666668f + (v_3 * (0.008333019f + (v_3 * (0.0013888575f + (v_3 * (0.00020015593f + (v_3 * 2.4975792e-5f)))))))))));
}

ROCI_FN bool is_nan(float v_4) {
    return (as_uint(v_4) & 2147483647u) > 2139095040u;
}

ROCI_FN float exponential(float v_5) {
    const float bounded = fmin(fmax(v_5, -104.0f), 89.0f);
    const float n_1 = rint(bounded * 1.442695f);
    const float r = (bounded - (n_1 * 0.6933594f)) + (n_1 * 0.00021219444f);
    const float _e14 = exponential_rest(r);
    const float value = scaled(1.0f + (r + ((r * r) * _e14)), roci_f32_to_i32(n_1));
    const bool _e21 = is_nan(v_5);
    return _e21 ? v_5 : value;
}

ROCI_FN float erfc_positive(float z) {
    float p = 0.14804605f;
    const float t = 1.0f / (1.0f + (0.5f * z));
    const float _e9 = p;
    p = (_e9 * t) - 0.6975366f;
    const float _e13 = p;
    p = (_e13 * t) + 1.1953276f;
    const float _e17 = p;
    p = (_e17 * t) - 0.7464699f;
    const float _e21 = p;
    p = (_e21 * t) - 0.039866325f;
    const float _e25 = p;
    p = (_e25 * t) - 0.019507999f;
    const float _e29 = p;
    p = (_e29 * t) + 0.041395962f;
    const float _e33 = p;
    p = (_e33 * t) + 0.38528362f;
    const float _e37 = p;
    p = (_e37 * t) + 0.99878246f;
    const float _e41 = p;
    p = (_e41 * t) - 1.2654549f;
    const float _e45 = p;
    const float _e48 = exponential(_e45 - (z * z));
    return t * _e48;
}

ROCI_FN float gelu(float v_6) {
    const float bounded_1 = (v_6 < (-20.0f)) ? (-20.0f) : v_6;
    const float _e8 = erfc_positive(fabs(bounded_1) * 0.70710677f);
    const float tail = 0.5f * _e8;
    return bounded_1 * ((v_6 < 0.0f) ? tail : (1.0f - tail));
}

ROCI_FN float function_of(float v_7, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 8u) != 0u) {
        const float _e8 = gelu(v_7);
        return _e8;
    }
    return v_7 / (1.0f + exp(-v_7));
}

ROCI_FN float4 each(float4 v_8, private const Params *params) {
    const float _e2 = function_of(v_8.x, params);
    const float _e4 = function_of(v_8.y, params);
    const float _e6 = function_of(v_8.z, params);
    const float _e8 = function_of(v_8.w, params);
    return (float4)(_e2, _e4, _e6, _e8);
}

ROCI_FN void apply_function(uint at_1, private const Params *params, global float4 *y) {
    const float4 _e5 = y[at_1];
    const float4 _e6 = each(_e5, params);
    y[at_1] = _e6;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void linear_large_f16(global const float4 *a, global const ushort4 *b, global const float4 *bias, global float4 *y, Params params) {
    local array264_float4_ a_tile;
    local array256_float4_ b_tile;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    uint a_at = 0u;
    uint b_at = 0u;
    float4 next_a = (float4)(0.0f);
    float4 next_b = (float4)(0.0f);
    array16_float4_ sums = (array16_float4_){0};
    uint k = 0u;
    uint i = 0u;
    bool local_ = false;
    const uint _e5 = params.batch_a;
    const uint start_a = group.z * (_e5 / 4u);
    const uint _e12 = params.batch_b;
    const uint start_b = group.z * (_e12 / 4u);
    const uint _e18 = params.ldb;
    const uint ldb = _e18 / 4u;
    const uint a_row = lane / 2u;
    const uint a_four = lane % 2u;
    const uint _e31 = params.m;
    const uint _e37 = params.lda;
    a_at = (start_a + (min((group.y * 128u) + a_row, _e31 - 1u) * (_e37 / 4u))) + a_four;
    const uint _e56 = params.n;
    b_at = (start_b + ((lane / 32u) * ldb)) + min((group.x * 32u) + (lane % 32u), (_e56 / 4u) - 1u);
    const uint _e65 = a_at;
    const float4 _e67 = a[_e65];
    next_a = _e67;
    const uint _e71 = b_at;
    const float4 _e73 = roci_widen_f16x4(b[_e71]);
    next_b = _e73;
    const uint part = lane / 32u;
    const uint rows_1 = ((part / 2u) * 8u) + ((lane % 32u) / 8u);
    const uint columns_1 = ((part % 2u) * 16u) + (lane % 8u);
    while (true) {
        const uint _e98 = k;
        const uint _e101 = params.k;
        if (!(_e98 < _e101)) {
            break;
        }
        {
            const uint to = ((a_four * 4u) * 33u) + (a_row / 4u);
            const uint place = a_row % 4u;
            const float _e116 = next_a.x;
            ((local float *)&a_tile.e[to])[place] = _e116;
            const float _e123 = next_a.y;
            ((local float *)&a_tile.e[to + 33u])[place] = _e123;
            const float _e130 = next_a.z;
            ((local float *)&a_tile.e[to + 66u])[place] = _e130;
            const float _e137 = next_a.w;
            ((local float *)&a_tile.e[to + 99u])[place] = _e137;
            const float4 _e140 = next_b;
            b_tile.e[lane] = _e140;
            roci_barrier_workgroup();
            const uint _e141 = k;
            const uint _e146 = params.k;
            if ((_e141 + 8u) < _e146) {
                const uint _e148 = a_at;
                a_at = _e148 + 2u;
                const uint _e151 = b_at;
                b_at = _e151 + (8u * ldb);
                const uint _e156 = a_at;
                const float4 _e158 = a[_e156];
                next_a = _e158;
                const uint _e161 = b_at;
                const float4 _e163 = roci_widen_f16x4(b[_e161]);
                next_b = _e163;
            }
            multiply(&sums, 0u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 1u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 2u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 3u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 4u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 5u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 6u, rows_1, columns_1, &a_tile, &b_tile);
            multiply(&sums, 7u, rows_1, columns_1, &a_tile, &b_tile);
            roci_barrier_workgroup();
        }
        const uint _e173 = k;
        k = _e173 + 8u;
    }
    const uint _e179 = params.batch_c;
    const uint start_c = group.z * (_e179 / 4u);
    const uint row_1 = (group.y * 128u) + (rows_1 * 4u);
    const uint four_1 = (group.x * 32u) + columns_1;
    const float4 _e194 = sums.e[0];
    store_c(start_c, row_1, four_1, _e194, &params, bias, y);
    const float4 _e198 = sums.e[1];
    store_c(start_c, row_1, four_1 + 8u, _e198, &params, bias, y);
    const float4 _e202 = sums.e[2];
    store_c(start_c, row_1 + 1u, four_1, _e202, &params, bias, y);
    const float4 _e208 = sums.e[3];
    store_c(start_c, row_1 + 1u, four_1 + 8u, _e208, &params, bias, y);
    const float4 _e212 = sums.e[4];
    store_c(start_c, row_1 + 2u, four_1, _e212, &params, bias, y);
    const float4 _e218 = sums.e[5];
    store_c(start_c, row_1 + 2u, four_1 + 8u, _e218, &params, bias, y);
    const float4 _e222 = sums.e[6];
    store_c(start_c, row_1 + 3u, four_1, _e222, &params, bias, y);
    const float4 _e228 = sums.e[7];
    store_c(start_c, row_1 + 3u, four_1 + 8u, _e228, &params, bias, y);
    const float4 _e232 = sums.e[8];
    store_c(start_c, row_1 + 16u, four_1, _e232, &params, bias, y);
    const float4 _e238 = sums.e[9];
    store_c(start_c, row_1 + 16u, four_1 + 8u, _e238, &params, bias, y);
    const float4 _e242 = sums.e[10];
    store_c(start_c, row_1 + 17u, four_1, _e242, &params, bias, y);
    const float4 _e248 = sums.e[11];
    store_c(start_c, row_1 + 17u, four_1 + 8u, _e248, &params, bias, y);
    const float4 _e252 = sums.e[12];
    store_c(start_c, row_1 + 18u, four_1, _e252, &params, bias, y);
    const float4 _e258 = sums.e[13];
    store_c(start_c, row_1 + 18u, four_1 + 8u, _e258, &params, bias, y);
    const float4 _e262 = sums.e[14];
    store_c(start_c, row_1 + 19u, four_1, _e262, &params, bias, y);
    const float4 _e268 = sums.e[15];
    store_c(start_c, row_1 + 19u, four_1 + 8u, _e268, &params, bias, y);
    const bool _e269 = has_function(&params);
    if (_e269) {
        while (true) {
            const uint _e272 = i;
            if (!(_e272 < 16u)) {
                break;
            }
            {
                const uint _e275 = i;
                const uint _e281 = i;
                const uint of_row = (row_1 + ((_e275 / 8u) * 16u)) + ((_e281 / 2u) % 4u);
                const uint _e287 = i;
                const uint of_four = four_1 + ((_e287 % 2u) * 8u);
                const uint _e295 = params.m;
                if (of_row < _e295) {
                    const uint _e303 = params.n;
                    local_ = (of_four * 4u) < _e303;
                } else {
                    local_ = false;
                }
                const bool _e306 = local_;
                if (_e306) {
                    const uint _e309 = params.ldc;
                    apply_function((start_c + (of_row * (_e309 / 4u))) + of_four, &params, y);
                }
            }
            const uint _e315 = i;
            i = _e315 + 1u;
        }
        return;
    } else {
        return;
    }
}
