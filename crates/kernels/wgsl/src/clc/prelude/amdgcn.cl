What clang alone gives for amdgcn.

//: roci_fmin
#define roci_fmin __builtin_fminf
//: roci_fmax
#define roci_fmax __builtin_fmaxf
//: roci_floor
#define roci_floor __builtin_floorf
//: roci_barrier_workgroup
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
//: roci_barrier_storage
ROCI_FN void roci_barrier_storage(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "global");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "global");
}
//: roci_barrier_all
ROCI_FN void roci_barrier_all(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
//: roci_memory_barrier_workgroup
#define roci_memory_barrier_workgroup() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup", "local")
//: roci_memory_barrier_storage
#define roci_memory_barrier_storage() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup", "global")
//: roci_memory_barrier_all
#define roci_memory_barrier_all() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup")
//: roci_widen_f16
ROCI_FN float roci_widen_f16(ushort bits) {
    return (float)as_half(bits);
}
//: roci_narrow_f16
ROCI_FN ushort roci_narrow_f16(float a) {
    return as_ushort((half)a);
}
//: roci_count_ones_$S for i32 u32
ROCI_FN $T roci_count_ones_$S($T a) {
    return ($T)__builtin_popcount((uint)a);
}
//: roci_count_ones_$S for i64 u64
ROCI_FN $T roci_count_ones_$S($T a) {
    return ($T)__builtin_popcountl((ulong)a);
}
//: roci_leading_zeros_$S for i32 u32
ROCI_FN $T roci_leading_zeros_$S($T a) {
    return a == 0 ? 32 : ($T)__builtin_clz((uint)a);
}
//: roci_leading_zeros_$S for i64 u64
ROCI_FN $T roci_leading_zeros_$S($T a) {
    return a == 0 ? 64 : ($T)__builtin_clzl((ulong)a);
}
//: roci_reverse_bits_$S for i32 u32
ROCI_FN $T roci_reverse_bits_$S($T a) {
    return ($T)__builtin_bitreverse32((uint)a);
}
//: roci_reverse_bits_$S for i64 u64
ROCI_FN $T roci_reverse_bits_$S($T a) {
    return ($T)__builtin_bitreverse64((ulong)a);
}
//: roci_frexp_fraction
ROCI_FN float roci_frexp_fraction(float a) {
    return __builtin_amdgcn_frexp_mantf(a);
}
//: roci_frexp_exponent
ROCI_FN int roci_frexp_exponent(float a) {
    return __builtin_amdgcn_frexp_expf(a);
}
//: roci_native_dot4_i8
ROCI_FN int roci_native_dot4_i8(uint a, uint b) {
#if __has_builtin(__builtin_amdgcn_sudot4)
    return __builtin_amdgcn_sudot4(true, (int)a, true, (int)b, 0, false);
#elif __has_builtin(__builtin_amdgcn_sdot4)
    return __builtin_amdgcn_sdot4((int)a, (int)b, 0, false);
#else
    return roci_dot4_i8(a, b);
#endif
}
//: roci_native_dot4_u8
ROCI_FN uint roci_native_dot4_u8(uint a, uint b) {
#if __has_builtin(__builtin_amdgcn_udot4)
    return __builtin_amdgcn_udot4(a, b, 0u, false);
#else
    return roci_dot4_u8(a, b);
#endif
}
//: roci_compare_exchange_$S_global for i32 u32 i64 u64
ROCI_FN $T roci_compare_exchange_$S_global(volatile global $T *p, $T expected, $T a) {
    __scoped_atomic_compare_exchange_n(p, &expected, a, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __MEMORY_SCOPE_DEVICE);
    return expected;
}
//: roci_compare_exchange_$S_local for i32 u32 i64 u64
ROCI_FN $T roci_compare_exchange_$S_local(volatile local $T *p, $T expected, $T a) {
    __scoped_atomic_compare_exchange_n(p, &expected, a, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __MEMORY_SCOPE_WRKGRP);
    return expected;
}
//: roci_lane
ROCI_FN uint roci_lane(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}
