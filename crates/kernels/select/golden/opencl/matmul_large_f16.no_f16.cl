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
} Params;
typedef struct { float4 e[264]; } array264_float4_;
typedef struct { float4 e[256]; } array256_float4_;
typedef struct { float4 e[16]; } array16_float4_;

ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN ushort roci_narrow_f16(float a) {
    ushort bits;
    vstore_half_rte(a, 0, (private half *)&bits);
    return bits;
}
ROCI_FN float roci_quantize_f16(float a) {
    return roci_widen_f16(roci_narrow_f16(a));
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float4 roci_quantize_f16x4(float4 a) {
    return (float4)(roci_quantize_f16(a.x), roci_quantize_f16(a.y), roci_quantize_f16(a.z), roci_quantize_f16(a.w));
}
ROCI_FN ushort4 roci_narrow_f16x4(float4 a) {
    return (ushort4)(roci_narrow_f16(a.x), roci_narrow_f16(a.y), roci_narrow_f16(a.z), roci_narrow_f16(a.w));
}
ROCI_FN float4 roci_widen_f16x4(ushort4 a) {
    return (float4)(roci_widen_f16(a.x), roci_widen_f16(a.y), roci_widen_f16(a.z), roci_widen_f16(a.w));
}

ROCI_FN void epilogue(uint at, uint column, float4 sum, global ushort4 *c) {
    c[at] = roci_narrow_f16x4(roci_quantize_f16x4(sum));
}

ROCI_FN void store_c(uint start, uint row, uint four, float4 v, private const Params *params, global ushort4 *c) {
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
        epilogue((start + (row * (_e20 / 4u))) + four, four, v, c);
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

ROCI_FN bool has_activation(void) {
    return false;
}

ROCI_FN void apply_activation(uint at_1) {
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void matmul_large_f16(global const ushort4 *a, global const ushort4 *b, global ushort4 *c, Params params) {
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
    const float4 _e67 = roci_widen_f16x4(a[_e65]);
    next_a = _e67;
    const uint _e71 = b_at;
    const float4 _e73 = roci_widen_f16x4(b[_e71]);
    next_b = _e73;
    const uint quadrant = lane / 32u;
    const uint rows_1 = ((quadrant / 2u) * 8u) + ((lane % 32u) / 8u);
    const uint columns_1 = ((quadrant % 2u) * 16u) + (lane % 8u);
    while (true) {
        const uint _e98 = k;
        const uint _e101 = params.k;
        if (!(_e98 < _e101)) {
            break;
        }
        {
            const uint to = ((a_four * 4u) * 33u) + (a_row / 4u);
            const uint component = a_row % 4u;
            const float _e116 = next_a.x;
            ((local float *)&a_tile.e[to])[component] = _e116;
            const float _e123 = next_a.y;
            ((local float *)&a_tile.e[to + 33u])[component] = _e123;
            const float _e130 = next_a.z;
            ((local float *)&a_tile.e[to + 66u])[component] = _e130;
            const float _e137 = next_a.w;
            ((local float *)&a_tile.e[to + 99u])[component] = _e137;
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
                const float4 _e158 = roci_widen_f16x4(a[_e156]);
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
    store_c(start_c, row_1, four_1, _e194, &params, c);
    const float4 _e198 = sums.e[1];
    store_c(start_c, row_1, four_1 + 8u, _e198, &params, c);
    const float4 _e202 = sums.e[2];
    store_c(start_c, row_1 + 1u, four_1, _e202, &params, c);
    const float4 _e208 = sums.e[3];
    store_c(start_c, row_1 + 1u, four_1 + 8u, _e208, &params, c);
    const float4 _e212 = sums.e[4];
    store_c(start_c, row_1 + 2u, four_1, _e212, &params, c);
    const float4 _e218 = sums.e[5];
    store_c(start_c, row_1 + 2u, four_1 + 8u, _e218, &params, c);
    const float4 _e222 = sums.e[6];
    store_c(start_c, row_1 + 3u, four_1, _e222, &params, c);
    const float4 _e228 = sums.e[7];
    store_c(start_c, row_1 + 3u, four_1 + 8u, _e228, &params, c);
    const float4 _e232 = sums.e[8];
    store_c(start_c, row_1 + 16u, four_1, _e232, &params, c);
    const float4 _e238 = sums.e[9];
    store_c(start_c, row_1 + 16u, four_1 + 8u, _e238, &params, c);
    const float4 _e242 = sums.e[10];
    store_c(start_c, row_1 + 17u, four_1, _e242, &params, c);
    const float4 _e248 = sums.e[11];
    store_c(start_c, row_1 + 17u, four_1 + 8u, _e248, &params, c);
    const float4 _e252 = sums.e[12];
    store_c(start_c, row_1 + 18u, four_1, _e252, &params, c);
    const float4 _e258 = sums.e[13];
    store_c(start_c, row_1 + 18u, four_1 + 8u, _e258, &params, c);
    const float4 _e262 = sums.e[14];
    store_c(start_c, row_1 + 19u, four_1, _e262, &params, c);
    const float4 _e268 = sums.e[15];
    store_c(start_c, row_1 + 19u, four_1 + 8u, _e268, &params, c);
    const bool _e269 = has_activation();
    if (_e269) {
        while (true) {
            const uint _e272 = i;
            if (!(_e272 < 16u)) {
                break;
            }
            {
                const uint _e275 = i;
                const uint _e281 = i;
                const uint c_row = (row_1 + ((_e275 / 8u) * 16u)) + ((_e281 / 2u) % 4u);
                const uint _e287 = i;
                const uint c_four = four_1 + ((_e287 % 2u) * 8u);
                const uint _e295 = params.m;
                if (c_row < _e295) {
                    const uint _e303 = params.n;
                    local_ = (c_four * 4u) < _e303;
                } else {
                    local_ = false;
                }
                const bool _e306 = local_;
                if (_e306) {
                    const uint _e309 = params.ldc;
                    apply_activation((start_c + (c_row * (_e309 / 4u))) + c_four);
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
