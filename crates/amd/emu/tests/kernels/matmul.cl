// Typical matrix products and a saxpy.
#define GROUP(axis) __builtin_amdgcn_workgroup_id_##axis()
#define ITEM(axis) __builtin_amdgcn_workitem_id_##axis()
#define BARRIER()                                        \
    do {                                                 \
        __asm__ volatile("s_waitcnt lgkmcnt(0)" ::: "memory"); \
        __builtin_amdgcn_s_barrier();                    \
        __asm__ volatile("" ::: "memory");               \
    } while (0)
#define SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
typedef float float4_ __attribute__((ext_vector_type(4)));

kernel SIZE(256, 1, 1) void saxpy(global float *restrict y, global const float *restrict x, float a, unsigned n) {
    unsigned i = GROUP(x) * 256u + ITEM(x);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

kernel SIZE(16, 16, 1) void matmul_naive(global float *restrict c, global const float *restrict a,
                                         global const float *restrict b, unsigned n, unsigned k) {
    unsigned column = GROUP(x) * 16u + ITEM(x), row = GROUP(y) * 16u + ITEM(y);
    float sum = 0;
    for (unsigned i = 0; i < k; i++)
        sum = __builtin_fmaf(a[row * k + i], b[i * n + column], sum);
    c[row * n + column] = sum;
}

kernel SIZE(16, 16, 1) void matmul_tiled(global float *restrict c, global const float *restrict a,
                                         global const float *restrict b, unsigned n, unsigned k) {
    local float as[16][17], bs[16][17];
    unsigned tx = ITEM(x), ty = ITEM(y), row = GROUP(y) * 16u + ty, column = GROUP(x) * 16u + tx;
    float sum = 0;
    for (unsigned start = 0; start < k; start += 16u) {
        as[ty][tx] = a[row * k + start + tx];
        bs[ty][tx] = b[(start + ty) * n + column];
        BARRIER();
#pragma unroll
        for (int i = 0; i < 16; i++)
            sum = __builtin_fmaf(as[ty][i], bs[i][tx], sum);
        BARRIER();
    }
    c[row * n + column] = sum;
}

// Each work-item computes a 4x4 tile, each workgroup a 64x64 tile.
kernel SIZE(256, 1, 1) void matmul_blocked(global float *restrict c, global const float *restrict a,
                                           global const float *restrict b, unsigned n, unsigned k) {
    local float as[16][64], bs[16][64];
    unsigned t = ITEM(x), tx = t & 15u, ty = t >> 4, top = GROUP(y) * 64u, left = GROUP(x) * 64u;
    float sums[4][4] = {{0}};
    for (unsigned start = 0; start < k; start += 16u) {
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            unsigned e = t + i * 256u;
            as[e & 15u][e >> 4] = a[(top + (e >> 4)) * k + start + (e & 15u)];
            bs[e >> 6][e & 63u] = b[(start + (e >> 6)) * n + left + (e & 63u)];
        }
        BARRIER();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float4_ x = *(local float4_ *)&as[i][ty * 4u], y = *(local float4_ *)&bs[i][tx * 4u];
#pragma unroll
            for (int row = 0; row < 4; row++)
#pragma unroll
                for (int column = 0; column < 4; column++)
                    sums[row][column] = __builtin_fmaf(x[row], y[column], sums[row][column]);
        }
        BARRIER();
    }
    for (int row = 0; row < 4; row++)
        *(global float4_ *)&c[(top + ty * 4u + row) * n + left + tx * 4u] =
            (float4_)(sums[row][0], sums[row][1], sums[row][2], sums[row][3]);
}

#ifdef __GFX11__
// f16 with f32 accumulation by matrix instructions: each wave computes a 32x32 tile. The second
// matrix is transposed.
typedef half half16_ __attribute__((ext_vector_type(16)));
typedef float float8_ __attribute__((ext_vector_type(8)));
kernel SIZE(32, 1, 1) void matmul_wmma(global float *restrict c, global const half *restrict a,
                                       global const half *restrict b, unsigned n, unsigned k) {
    unsigned lane = ITEM(x), line = lane & 15u, top = GROUP(y) * 32u, left = GROUP(x) * 32u;
    float8_ sums[2][2] = {{0}};
    for (unsigned start = 0; start < k; start += 16u) {
        half16_ x[2], y[2];
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            x[i] = *(global const half16_ *)&a[(top + 16u * i + line) * k + start];
            y[i] = *(global const half16_ *)&b[(left + 16u * i + line) * k + start];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            sums[i / 2][i % 2] = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x[i / 2], y[i % 2], sums[i / 2][i % 2]);
    }
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
#pragma unroll
        for (unsigned row = 0; row < 8; row++)
            c[(top + i / 2u * 16u + 2u * row + lane / 16u) * n + left + i % 2u * 16u + line] = sums[i / 2][i % 2][row];
}
#endif
