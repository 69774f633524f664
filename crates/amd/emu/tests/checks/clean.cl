// Code that compilers generate from ordinary sources: unused undefined values, waits of every kind,
// barriers in loops. Buffers are zeroed; scalar arguments are 16.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define LANE ((uint)__builtin_amdgcn_workitem_id_x())
#define ITEM ((uint)__builtin_amdgcn_workgroup_id_x() * 128u + LANE)
#define BARRIER()                                                                                                      \
    do {                                                                                                               \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                         \
        __builtin_amdgcn_s_barrier();                                                                                  \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");                                                         \
    } while (0)
#define GROUP __attribute__((reqd_work_group_size(128, 1, 1)))
typedef half half2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));

kernel GROUP void scaled_sum(global float *y, global const float *x, float a, uint n) {
    if (ITEM < n * 10)
        y[ITEM] = a * x[ITEM] + y[ITEM];
}

kernel GROUP void tiled_sums(global float *out, global const float *in) {
    local float tile[128];
    for (uint i = 0; i < 3; i++) {
        tile[LANE] = in[ITEM + 128 * i];
        BARRIER();
        float sum = 0;
        for (uint j = 0; j < 16; j++)
            sum += tile[(LANE * 16 + j) & 127];
        out[ITEM + i] = sum;
        BARRIER();
    }
}

kernel GROUP void tree_sum(global uint *out, global const uint *in) {
    local uint sums[128];
    sums[LANE] = in[ITEM];
    BARRIER();
    for (uint size = 64; size > 0; size /= 2) {
        if (LANE < size)
            sums[LANE] += sums[LANE + size];
        BARRIER();
    }
    if (LANE == 0)
        out[ITEM] = sums[0];
}

kernel GROUP void lanes_sum(global uint *out, global const uint *in) {
    uint value = in[ITEM];
    value += __builtin_amdgcn_update_dpp(0, value, 0x111, 0xf, 0xf, true);
    value += __builtin_amdgcn_update_dpp(0, value, 0x112, 0xf, 0xf, true);
    value += __builtin_amdgcn_ds_swizzle(value, 0x401f);
    value += __builtin_amdgcn_ds_bpermute(4 * (LANE ^ 3), value);
    value += __builtin_amdgcn_readfirstlane(value);
    out[ITEM] = value + __builtin_amdgcn_mbcnt_lo(~0u, 0);
}

kernel GROUP void private_array(global uint *out, global const uint *in) {
    uint values[16];
    for (uint i = 0; i < 16; i++)
        values[i] = in[ITEM] * i;
    for (uint i = 0; i < 8; i++)
        values[(in[ITEM + i] + i) & 15] += 3;
    out[ITEM] = values[in[ITEM] & 15];
}

kernel GROUP void half_set_array(global uint *out, uint n) {
    uint values[16];
    for (uint i = 0; i < 8; i++)
        values[i] = i;
    out[ITEM] = values[LANE & (n - 9)];
}

__attribute__((noinline)) float polynomial(float x, global const float *in, int n) {
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * x + in[i];
    return sum;
}

kernel GROUP void calls(global float *out, global const float *in, int n) {
    out[ITEM] = polynomial(in[ITEM], in, n) + polynomial(in[ITEM] + 1.0f, in + 1, n / 2);
}

kernel GROUP void breaks_and_flags(global int *out, global const int *in, int n) {
    int found = -1;
    bool seen = false, other;
    for (int i = 0; i < n; i++) {
        int value = in[ITEM + i] + i;
        if (value == (int)(LANE & 7)) {
            found = i;
            other = value & 1;
            seen = true;
            break;
        }
        if (value > 100)
            continue;
        seen = seen || value == 3;
    }
    out[ITEM] = found + (seen ? 1 : 0) + (seen && found >= 0 && other ? 2 : 0);
}

kernel GROUP void switches(global int *out, global const int *in) {
    int v = in[ITEM] + LANE, r;
    switch (v & 7) {
    case 0: r = v * 3; break;
    case 1: r = v - 9; break;
    case 2: r = v / 3; break;
    case 3: r = __builtin_popcount(v); break;
    case 4: r = __builtin_clz(v | 1); break;
    default: r = v << 2;
    }
    out[ITEM] = r;
}

kernel GROUP void wide_numbers(global long *out, global const long *in, global double *real) {
    long a = in[ITEM] + ITEM + 1, b = in[ITEM] + 7;
    out[ITEM] = a * b + a / b + (a >> (b & 63)) + a % b;
    real[ITEM] = (double)a / (double)b + 0.5;
}

kernel GROUP void small_numbers(global uchar *out, global const uchar *in, global ushort *words, global const short *more) {
    uchar bytes[4] = {in[ITEM], in[ITEM + 1], 3, 4};
    short sum = more[ITEM];
    for (uint i = 0; i < 4; i++)
        sum += bytes[(i + LANE) & 3];
    words[ITEM] = (ushort)(sum * 3);
    out[ITEM] = (uchar)(bytes[LANE & 3] + (sum >> 2));
}

kernel GROUP void halves(global half2 *out, global const half2 *in, global float *sums) {
    half2 value = in[ITEM] * (half)2.0f + (half)1.0f;
    out[ITEM] = value;
    sums[ITEM] = (float)value.x * (float)value.y + (float)in[ITEM + 1].y;
}

kernel GROUP void bytes_in_lds(global uint *out, global const uchar *in) {
    local uchar letters[512];
    local uint counts[16];
    if (LANE < 16)
        counts[LANE] = 0;
    for (uint i = 0; i < 4; i++)
        letters[4 * LANE + i] = in[4 * ITEM + i];
    BARRIER();
    for (uint i = 0; i < 4; i++)
        __scoped_atomic_fetch_add(&counts[letters[(4 * LANE + 64 * i) & 511] & 15], 1, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
    BARRIER();
    if (LANE < 16)
        out[ITEM] = counts[LANE];
}

kernel GROUP void any_memory(global float *out, global const float *in, int n) {
    local float shared[128];
    float own[4] = {1, 2, 3, 4};
    shared[LANE] = in[ITEM];
    BARRIER();
    generic const float *from = n == 3 ? (generic const float *)in : n == 16 ? (generic const float *)shared : own;
    generic float *mine = LANE & 1 ? (generic float *)own : (generic float *)&shared[LANE];
    float sum = from[LANE & 3];
    BARRIER();
    *mine = sum;
    out[ITEM] = sum + *mine + own[n & 3];
}

kernel GROUP void quadruples(global float4 *out, global const float4 *in, global const uint *index) {
    float4 value = in[index[ITEM] & 63];
    float4 other = in[(index[ITEM] + 1) & 63];
    out[ITEM] = value * other + value.wzyx;
}

kernel GROUP void atomics(global uint *out, global ulong *wide, global const uint *in) {
    uint old = __scoped_atomic_fetch_add(&out[in[ITEM] & 15], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_max(&wide[old & 15], (ulong)ITEM, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    uint expected = 0;
    __scoped_atomic_compare_exchange_n(&out[16 + (LANE & 3)], &expected, ITEM, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    out[1024 + ITEM] = expected + old;
}

kernel GROUP void quotients(global float *out, global const float *in) {
    float x = in[ITEM] + 1.5f + LANE;
    out[ITEM] = x / (in[ITEM + 1] + 3.0f) + __builtin_sqrtf(x) + __builtin_amdgcn_exp2f(x * 0.1f) + __builtin_fmodf(x, 3.0f);
}

// Additions without an instruction on the chip: clang generates a compare-and-swap loop.
kernel GROUP void shared_sums(global double *out, global const float *in) {
    local double sums[4];
    if (LANE < 4)
        sums[LANE] = 0;
    BARRIER();
    __scoped_atomic_fetch_add(&sums[LANE & 3], (double)in[ITEM], __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    BARRIER();
    out[ITEM] = sums[LANE & 3];
}
