// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

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
typedef struct { half4 e[1536]; } array1536_half4_;
typedef struct { half4 e[2112]; } array2112_half4_;
typedef struct { float4 e[512]; } array512_float4_;

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
ROCI_FN half16 roci_wmma_load_b_f16_local_rows(local const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[i * stride + lane];
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

ROCI_FN void store_c(uint start, uint row, uint four, uint lane_1, private const Params *params, global half4 *c, local array512_float4_ *result) {
    uint half_ = 0u;
    bool local_ = false;
    const uint source = ((lane_1 / 32u) * 64u) + (lane_1 % 32u);
    while (true) {
        const uint _e13 = half_;
        if (!(_e13 < 2u)) {
            break;
        }
        {
            const uint _e21 = half_;
            const uint at = (row + ((lane_1 % 32u) / 4u)) + (_e21 * 8u);
            const uint column = four + (lane_1 % 4u);
            const uint _e30 = (*params).m;
            if (at < _e30) {
                const uint _e38 = (*params).n;
                local_ = (column * 4u) < _e38;
            } else {
                local_ = false;
            }
            const bool _e41 = local_;
            if (_e41) {
                const uint _e45 = (*params).ldc;
                const uint _e53 = half_;
                const float4 _e58 = (*result).e[source + (_e53 * 32u)];
                c[(start + (at * (_e45 / 4u))) + column] = __builtin_convertvector(_e58, half4);
            }
        }
        const uint _e60 = half_;
        half_ = _e60 + 1u;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void matmul_matrix_f16(global const half4 *a, global const half4 *b, global half4 *c, Params params) {
    local array1536_half4_ a_tile;
    local array2112_half4_ b_tile;
    local array512_float4_ result;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint a_near = 0u;
    uint a_far = 0u;
    uint b_at = 0u;
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
    half4 a0_ = (half4)((half)0.0f);
    half4 a1_ = (half4)((half)0.0f);
    half4 b0_ = (half4)((half)0.0f);
    half4 b1_ = (half4)((half)0.0f);
    half4 b2_ = (half4)((half)0.0f);
    half4 b3_ = (half4)((half)0.0f);
    uint k = 0u;
    uint pair = 0u;
    const uint _e5 = params.batch_a;
    const uint start_a = group.z * (_e5 / 4u);
    const uint _e12 = params.batch_b;
    const uint start_b = group.z * (_e12 / 4u);
    const uint _e18 = params.lda;
    const uint lda = _e18 / 4u;
    const uint _e23 = params.ldb;
    const uint ldb = _e23 / 4u;
    const uint _e28 = params.m;
    const uint last_row = _e28 - 1u;
    const uint a_row = (group.y * 128u) + (lane / 4u);
    a_near = (start_a + (__builtin_elementwise_min(a_row, last_row) * lda)) + (lane % 4u);
    a_far = (start_a + (__builtin_elementwise_min(a_row + 64u, last_row) * lda)) + (lane % 4u);
    const uint a_to = ((lane / 4u) * 6u) + (lane % 4u);
    const uint _e68 = params.n;
    const uint b_four = __builtin_elementwise_min((group.x * 64u) + (lane % 64u), (_e68 / 4u) - 1u);
    b_at = (start_b + ((lane / 64u) * ldb)) + b_four;
    const uint b_to = ((lane / 64u) * 66u) + (lane % 64u);
    const uint rows = (lane / 128u) * 64u;
    const uint columns = ((lane / 32u) % 4u) * 16u;
    const uint a_from = rows * 6u;
    const uint _e132 = a_near;
    const half4 _e134 = a[_e132];
    a0_ = _e134;
    const uint _e137 = a_far;
    const half4 _e139 = a[_e137];
    a1_ = _e139;
    const uint _e142 = b_at;
    const half4 _e144 = b[_e142];
    b0_ = _e144;
    const uint _e147 = b_at;
    const half4 _e152 = b[_e147 + (4u * ldb)];
    b1_ = _e152;
    const uint _e155 = b_at;
    const half4 _e160 = b[_e155 + (8u * ldb)];
    b2_ = _e160;
    const uint _e163 = b_at;
    const half4 _e168 = b[_e163 + (12u * ldb)];
    b3_ = _e168;
    const half4 _e172 = a0_;
    a_tile.e[a_to] = _e172;
    const half4 _e177 = a1_;
    a_tile.e[a_to + 384u] = _e177;
    const half4 _e180 = b0_;
    b_tile.e[b_to] = _e180;
    const half4 _e185 = b1_;
    b_tile.e[b_to + 264u] = _e185;
    const half4 _e190 = b2_;
    b_tile.e[b_to + 528u] = _e190;
    const half4 _e195 = b3_;
    b_tile.e[b_to + 792u] = _e195;
    roci_barrier_workgroup();
    while (true) {
        const uint _e198 = k;
        const uint _e201 = params.k;
        if (!(_e198 < _e201)) {
            break;
        }
        {
            pair = 0u;
            while (true) {
                const uint _e205 = pair;
                if (!(_e205 < 2u)) {
                    break;
                }
                {
                    const uint _e208 = a_near;
                    a_near = _e208 + 4u;
                    const uint _e211 = a_far;
                    a_far = _e211 + 4u;
                    const uint _e214 = b_at;
                    b_at = _e214 + (16u * ldb);
                    const uint _e219 = a_near;
                    const half4 _e221 = a[_e219];
                    a0_ = _e221;
                    const uint _e223 = a_far;
                    const half4 _e225 = a[_e223];
                    a1_ = _e225;
                    const uint _e227 = b_at;
                    const half4 _e229 = b[_e227];
                    b0_ = _e229;
                    const uint _e231 = b_at;
                    const half4 _e236 = b[_e231 + (4u * ldb)];
                    b1_ = _e236;
                    const uint _e238 = b_at;
                    const half4 _e243 = b[_e238 + (8u * ldb)];
                    b2_ = _e243;
                    const uint _e245 = b_at;
                    const half4 _e250 = b[_e245 + (12u * ldb)];
                    b3_ = _e250;
                    {
                        const half16 x0_ = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[a_from], 6u * 4u);
                        const half16 x1_ = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[a_from + 96u], 6u * 4u);
                        const half16 x2_ = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[a_from + 192u], 6u * 4u);
                        const half16 x3_ = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[a_from + 288u], 6u * 4u);
                        const half16 y0_ = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[columns], 66u * 4u);
                        const half16 y1_ = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[columns + 4u], 66u * 4u);
                        const half16 y2_ = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[columns + 8u], 66u * 4u);
                        const half16 y3_ = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[columns + 12u], 66u * 4u);
                        const float8 _e295 = s00_;
                        s00_ = roci_wmma_multiply_add_f32(x0_, y0_, _e295);
                        const float8 _e297 = s10_;
                        s10_ = roci_wmma_multiply_add_f32(x1_, y0_, _e297);
                        const float8 _e299 = s20_;
                        s20_ = roci_wmma_multiply_add_f32(x2_, y0_, _e299);
                        const float8 _e301 = s30_;
                        s30_ = roci_wmma_multiply_add_f32(x3_, y0_, _e301);
                        const float8 _e303 = s01_;
                        s01_ = roci_wmma_multiply_add_f32(x0_, y1_, _e303);
                        const float8 _e305 = s11_;
                        s11_ = roci_wmma_multiply_add_f32(x1_, y1_, _e305);
                        const float8 _e307 = s21_;
                        s21_ = roci_wmma_multiply_add_f32(x2_, y1_, _e307);
                        const float8 _e309 = s31_;
                        s31_ = roci_wmma_multiply_add_f32(x3_, y1_, _e309);
                        const float8 _e311 = s02_;
                        s02_ = roci_wmma_multiply_add_f32(x0_, y2_, _e311);
                        const float8 _e313 = s12_;
                        s12_ = roci_wmma_multiply_add_f32(x1_, y2_, _e313);
                        const float8 _e315 = s22_;
                        s22_ = roci_wmma_multiply_add_f32(x2_, y2_, _e315);
                        const float8 _e317 = s32_;
                        s32_ = roci_wmma_multiply_add_f32(x3_, y2_, _e317);
                        const float8 _e319 = s03_;
                        s03_ = roci_wmma_multiply_add_f32(x0_, y3_, _e319);
                        const float8 _e321 = s13_;
                        s13_ = roci_wmma_multiply_add_f32(x1_, y3_, _e321);
                        const float8 _e323 = s23_;
                        s23_ = roci_wmma_multiply_add_f32(x2_, y3_, _e323);
                        const float8 _e325 = s33_;
                        s33_ = roci_wmma_multiply_add_f32(x3_, y3_, _e325);
                    }
                    const half4 _e331 = a0_;
                    a_tile.e[768u + a_to] = _e331;
                    const half4 _e338 = a1_;
                    a_tile.e[(768u + a_to) + 384u] = _e338;
                    const half4 _e343 = b0_;
                    b_tile.e[1056u + b_to] = _e343;
                    const half4 _e350 = b1_;
                    b_tile.e[(1056u + b_to) + 264u] = _e350;
                    const half4 _e357 = b2_;
                    b_tile.e[(1056u + b_to) + 528u] = _e357;
                    const half4 _e364 = b3_;
                    b_tile.e[(1056u + b_to) + 792u] = _e364;
                    roci_barrier_workgroup();
                    const uint _e367 = k;
                    const uint _e368 = pair;
                    const uint _e378 = params.k;
                    const uint ahead = ((_e367 + (((_e368 + 1u) * 2u) * 16u)) < _e378) ? 16u : 0u;
                    const uint _e381 = a_near;
                    a_near = _e381 + (ahead / 4u);
                    const uint _e385 = a_far;
                    a_far = _e385 + (ahead / 4u);
                    const uint _e389 = b_at;
                    b_at = _e389 + (ahead * ldb);
                    const uint _e393 = a_near;
                    const half4 _e395 = a[_e393];
                    a0_ = _e395;
                    const uint _e397 = a_far;
                    const half4 _e399 = a[_e397];
                    a1_ = _e399;
                    const uint _e401 = b_at;
                    const half4 _e403 = b[_e401];
                    b0_ = _e403;
                    const uint _e405 = b_at;
                    const half4 _e410 = b[_e405 + (4u * ldb)];
                    b1_ = _e410;
                    const uint _e412 = b_at;
                    const half4 _e417 = b[_e412 + (8u * ldb)];
                    b2_ = _e417;
                    const uint _e419 = b_at;
                    const half4 _e424 = b[_e419 + (12u * ldb)];
                    b3_ = _e424;
                    {
                        const half16 x0_1 = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[768u + a_from], 6u * 4u);
                        const half16 x1_1 = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[(768u + a_from) + 96u], 6u * 4u);
                        const half16 x2_1 = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[(768u + a_from) + 192u], 6u * 4u);
                        const half16 x3_1 = roci_wmma_load_a_f16_local_rows((local half *)&a_tile.e[(768u + a_from) + 288u], 6u * 4u);
                        const half16 y0_1 = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[1056u + columns], 66u * 4u);
                        const half16 y1_1 = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[(1056u + columns) + 4u], 66u * 4u);
                        const half16 y2_1 = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[(1056u + columns) + 8u], 66u * 4u);
                        const half16 y3_1 = roci_wmma_load_b_f16_local_rows((local half *)&b_tile.e[(1056u + columns) + 12u], 66u * 4u);
                        const float8 _e485 = s00_;
                        s00_ = roci_wmma_multiply_add_f32(x0_1, y0_1, _e485);
                        const float8 _e487 = s10_;
                        s10_ = roci_wmma_multiply_add_f32(x1_1, y0_1, _e487);
                        const float8 _e489 = s20_;
                        s20_ = roci_wmma_multiply_add_f32(x2_1, y0_1, _e489);
                        const float8 _e491 = s30_;
                        s30_ = roci_wmma_multiply_add_f32(x3_1, y0_1, _e491);
                        const float8 _e493 = s01_;
                        s01_ = roci_wmma_multiply_add_f32(x0_1, y1_1, _e493);
                        const float8 _e495 = s11_;
                        s11_ = roci_wmma_multiply_add_f32(x1_1, y1_1, _e495);
                        const float8 _e497 = s21_;
                        s21_ = roci_wmma_multiply_add_f32(x2_1, y1_1, _e497);
                        const float8 _e499 = s31_;
                        s31_ = roci_wmma_multiply_add_f32(x3_1, y1_1, _e499);
                        const float8 _e501 = s02_;
                        s02_ = roci_wmma_multiply_add_f32(x0_1, y2_1, _e501);
                        const float8 _e503 = s12_;
                        s12_ = roci_wmma_multiply_add_f32(x1_1, y2_1, _e503);
                        const float8 _e505 = s22_;
                        s22_ = roci_wmma_multiply_add_f32(x2_1, y2_1, _e505);
                        const float8 _e507 = s32_;
                        s32_ = roci_wmma_multiply_add_f32(x3_1, y2_1, _e507);
                        const float8 _e509 = s03_;
                        s03_ = roci_wmma_multiply_add_f32(x0_1, y3_1, _e509);
                        const float8 _e511 = s13_;
                        s13_ = roci_wmma_multiply_add_f32(x1_1, y3_1, _e511);
                        const float8 _e513 = s23_;
                        s23_ = roci_wmma_multiply_add_f32(x2_1, y3_1, _e513);
                        const float8 _e515 = s33_;
                        s33_ = roci_wmma_multiply_add_f32(x3_1, y3_1, _e515);
                    }
                    const half4 _e519 = a0_;
                    a_tile.e[a_to] = _e519;
                    const half4 _e524 = a1_;
                    a_tile.e[a_to + 384u] = _e524;
                    const half4 _e527 = b0_;
                    b_tile.e[b_to] = _e527;
                    const half4 _e532 = b1_;
                    b_tile.e[b_to + 264u] = _e532;
                    const half4 _e537 = b2_;
                    b_tile.e[b_to + 528u] = _e537;
                    const half4 _e542 = b3_;
                    b_tile.e[b_to + 792u] = _e542;
                    roci_barrier_workgroup();
                }
                const uint _e543 = pair;
                pair = _e543 + 1u;
            }
        }
        const uint _e546 = k;
        k = _e546 + 64u;
    }
    const uint _e552 = params.batch_c;
    const uint start_c = group.z * (_e552 / 4u);
    const uint row_1 = (group.y * 128u) + rows;
    const uint four_1 = (group.x * 64u) + columns;
    const uint to = (lane / 32u) * 64u;
    const float8 _e568 = s00_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e568);
    roci_barrier_workgroup();
    store_c(start_c, row_1, four_1, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e572 = s01_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e572);
    roci_barrier_workgroup();
    store_c(start_c, row_1, four_1 + 4u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e578 = s02_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e578);
    roci_barrier_workgroup();
    store_c(start_c, row_1, four_1 + 8u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e584 = s03_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e584);
    roci_barrier_workgroup();
    store_c(start_c, row_1, four_1 + 12u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e590 = s10_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e590);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 16u, four_1, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e596 = s11_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e596);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 16u, four_1 + 4u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e604 = s12_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e604);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 16u, four_1 + 8u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e612 = s13_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e612);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 16u, four_1 + 12u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e620 = s20_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e620);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 32u, four_1, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e626 = s21_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e626);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 32u, four_1 + 4u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e634 = s22_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e634);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 32u, four_1 + 8u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e642 = s23_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e642);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 32u, four_1 + 12u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e650 = s30_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e650);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 48u, four_1, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e656 = s31_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e656);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 48u, four_1 + 4u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e664 = s32_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e664);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 48u, four_1 + 8u, lane, &params, c, &result);
    roci_barrier_workgroup();
    const float8 _e672 = s33_;
    roci_wmma_store_c_f32_local_rows((local float *)&result.e[to], 4u * 4u, _e672);
    roci_barrier_workgroup();
    store_c(start_c, row_1 + 48u, four_1 + 12u, lane, &params, c, &result);
    roci_barrier_workgroup();
}
