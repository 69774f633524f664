What the OpenCL 1.2 library gives.

//: roci_fmin
#define roci_fmin fmin
//: roci_fmax
#define roci_fmax fmax
//: roci_floor
#define roci_floor floor
//: roci_barrier_workgroup
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)
//: roci_barrier_storage
#define roci_barrier_storage() barrier(CLK_GLOBAL_MEM_FENCE)
//: roci_barrier_all
#define roci_barrier_all() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
//: roci_memory_barrier_workgroup
#define roci_memory_barrier_workgroup() mem_fence(CLK_LOCAL_MEM_FENCE)
//: roci_memory_barrier_storage
#define roci_memory_barrier_storage() mem_fence(CLK_GLOBAL_MEM_FENCE)
//: roci_memory_barrier_all
#define roci_memory_barrier_all() mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
//: roci_widen_f16
ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
//: roci_narrow_f16
ROCI_FN ushort roci_narrow_f16(float a) {
    ushort bits;
    vstore_half_rte(a, 0, (private half *)&bits);
    return bits;
}
//: roci_count_ones_$S for i32 u32 i64 u64
#define roci_count_ones_$S popcount
//: roci_leading_zeros_$S for i32 u32 i64 u64
#define roci_leading_zeros_$S clz
//: roci_reverse_bits_$S for i32 u32
ROCI_FN $T roci_reverse_bits_$S($T a) {
    uint v = (uint)a;
    v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
    v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
    v = ((v >> 8) & 0x00ff00ffu) | ((v & 0x00ff00ffu) << 8);
    return ($T)((v >> 16) | (v << 16));
}
//: roci_reverse_bits_$S for i64 u64
ROCI_FN $T roci_reverse_bits_$S($T a) {
    const ulong low = roci_reverse_bits_u32((uint)a);
    return ($T)((low << 32) | roci_reverse_bits_u32((uint)((ulong)a >> 32)));
}
//: roci_frexp_fraction
ROCI_FN float roci_frexp_fraction(float a) {
    int exponent;
    return frexp(a, &exponent);
}
//: roci_frexp_exponent
ROCI_FN int roci_frexp_exponent(float a) {
    int exponent;
    frexp(a, &exponent);
    return exponent;
}
//: roci_native_dot4_i8
ROCI_FN int roci_native_dot4_i8(uint a, uint b) {
#ifdef __NV_CL_C_VERSION
    int sum;
    asm("dp4a.s32.s32 %0, %1, %2, 0;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return dot_4x8packed_ss_int(a, b);
#endif
}
//: roci_native_dot4_u8
ROCI_FN uint roci_native_dot4_u8(uint a, uint b) {
#ifdef __NV_CL_C_VERSION
    uint sum;
    asm("dp4a.u32.u32 %0, %1, %2, 0;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return dot_4x8packed_uu_uint(a, b);
#endif
}
//: roci_atomic_add_f32_global
ROCI_FN float roci_atomic_add_f32_global(volatile global float *p, float a) {
    uint seen = as_uint(*p);
    uint expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg((volatile global uint *)p, expected, as_uint(as_float(expected) + a));
    } while (seen != expected);
    return as_float(seen);
}
//: roci_atomic_add_f32_local
ROCI_FN float roci_atomic_add_f32_local(volatile local float *p, float a) {
    uint seen = as_uint(*p);
    uint expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg((volatile local uint *)p, expected, as_uint(as_float(expected) + a));
    } while (seen != expected);
    return as_float(seen);
}
