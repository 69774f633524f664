Sub-groups as waves. The size is that of the wave: 32 on RDNA, 64 on gfx9.

//: roci_active
// One bit for each work-item of the wave that is here.
ROCI_FN ulong roci_active(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_ballot_w64(true);
#else
    return __builtin_amdgcn_ballot_w32(true);
#endif
}
//: roci_whole_wave
ROCI_FN bool roci_whole_wave(void) {
    return roci_active() == (ROCI_SUBGROUP_SIZE > 32u ? ~0ul : 0xfffffffful);
}
//: roci_subgroup_barrier
ROCI_FN void roci_subgroup_barrier(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
//: roci_subgroup_ballot
ROCI_FN uint4 roci_subgroup_ballot(bool a) {
#if ROCI_SUBGROUP_SIZE > 32
    const ulong bits = __builtin_amdgcn_ballot_w64(a);
    return (uint4)((uint)bits, (uint)(bits >> 32), 0u, 0u);
#else
    return (uint4)(__builtin_amdgcn_ballot_w32(a), 0u, 0u, 0u);
#endif
}
//: roci_subgroup_all
ROCI_FN bool roci_subgroup_all(bool a) {
    const uint4 bits = roci_subgroup_ballot(!a);
    return (bits.x | bits.y) == 0;
}
//: roci_subgroup_any
ROCI_FN bool roci_subgroup_any(bool a) {
    const uint4 bits = roci_subgroup_ballot(a);
    return (bits.x | bits.y) != 0;
}
//: roci_subgroup_shuffle_$S for i32 u32 f32
ROCI_FN $T roci_subgroup_shuffle_$S($T a, uint lane) {
    return as_$T(__builtin_amdgcn_ds_bpermute((int)(lane * 4u), as_int(a)));
}
//: roci_subgroup_shuffle_$S for i64 u64
ROCI_FN $T roci_subgroup_shuffle_$S($T a, uint lane) {
    const int2 words = as_int2(a);
    return as_$T((int2)(__builtin_amdgcn_ds_bpermute((int)(lane * 4u), words.x),
                        __builtin_amdgcn_ds_bpermute((int)(lane * 4u), words.y)));
}
//: roci_read_lane_$S for i32 u32 f32
ROCI_FN $T roci_read_lane_$S($T a, uint lane) {
    return as_$T(__builtin_amdgcn_readlane(as_int(a), (int)lane));
}
//: roci_read_lane_$S for i64 u64
ROCI_FN $T roci_read_lane_$S($T a, uint lane) {
    const int2 words = as_int2(a);
    return as_$T((int2)(__builtin_amdgcn_readlane(words.x, (int)lane), __builtin_amdgcn_readlane(words.y, (int)lane)));
}
//: roci_subgroup_broadcast_$S for i32 u32 f32 i64 u64
#define roci_subgroup_broadcast_$S roci_read_lane_$S
//: roci_subgroup_broadcast_first_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_broadcast_first_$S($T a) {
    return roci_read_lane_$S(a, (uint)__builtin_ctzl(roci_active()));
}
//: roci_subgroup_shuffle_xor_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_xor_$S($T a, uint mask) {
    return roci_subgroup_shuffle_$S(a, roci_lane() ^ mask);
}
//: roci_subgroup_shuffle_down_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_down_$S($T a, uint delta) {
    return roci_subgroup_shuffle_$S(a, roci_lane() + delta);
}
//: roci_subgroup_shuffle_up_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_up_$S($T a, uint delta) {
    return roci_subgroup_shuffle_$S(a, roci_lane() - delta);
}
//: roci_subgroup_quad_broadcast_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_quad_broadcast_$S($T a, uint lane) {
    return roci_subgroup_shuffle_$S(a, (roci_lane() & ~3u) | lane);
}
//: ROCI_SWAP
// A lane's partner under a fixed pattern: within a row of 16 by data-parallel primitives, beyond it by a swizzle.
#define ROCI_SWAP(a, control) __builtin_amdgcn_update_dpp(0, (a), (control), 0xf, 0xf, true)
//: ROCI_SWAP_ROWS
#define ROCI_SWAP_ROWS(a) __builtin_amdgcn_ds_swizzle((a), 0x401f)
//: roci_subgroup_$O_any_$S for i32 u32 f32 i64 u64 over add mul min max
//: roci_subgroup_$O_any_$S for i32 u32 i64 u64 over and or xor
// Some work-items are missing: one after the other.
ROCI_FN $T roci_subgroup_$O_any_$S($T a) {
    ulong left = roci_active();
    $T result = roci_read_lane_$S(a, (uint)__builtin_ctzl(left));
    for (left &= left - 1; left != 0; left &= left - 1) {
        result = roci_combine_$O_$S(result, roci_read_lane_$S(a, (uint)__builtin_ctzl(left)));
    }
    return result;
}
//: roci_subgroup_$O_$S for i32 u32 f32 over add mul min max
//: roci_subgroup_$O_$S for i32 u32 over and or xor
ROCI_FN $T roci_subgroup_$O_$S($T a) {
    if (!roci_whole_wave()) {
        return roci_subgroup_$O_any_$S(a);
    }
    // Partners at distance 1, 2, then halves and wholes of a row mirrored, which are all alike by then.
    a = roci_combine_$O_$S(a, as_$T(ROCI_SWAP(as_int(a), 0xb1)));
    a = roci_combine_$O_$S(a, as_$T(ROCI_SWAP(as_int(a), 0x4e)));
    a = roci_combine_$O_$S(a, as_$T(ROCI_SWAP(as_int(a), 0x141)));
    a = roci_combine_$O_$S(a, as_$T(ROCI_SWAP(as_int(a), 0x140)));
    a = roci_combine_$O_$S(a, as_$T(ROCI_SWAP_ROWS(as_int(a))));
#if ROCI_SUBGROUP_SIZE > 32
    a = roci_combine_$O_$S(roci_read_lane_$S(a, 0u), roci_read_lane_$S(a, 32u));
#endif
    return a;
}
//: roci_subgroup_$O_$S for i64 u64 over add mul min max and or xor
#define roci_subgroup_$O_$S roci_subgroup_$O_any_$S
//: roci_subgroup_inclusive_$O_$S for i32 u32 f32 i64 u64 over add=0 mul=1
ROCI_FN $T roci_subgroup_inclusive_$O_$S($T a) {
    const uint lane = roci_lane();
    // Work-items that are not here must not count.
    const ulong active = roci_active();
    if (!roci_whole_wave()) {
        $T result = ($T)$V;
        for (ulong left = active; left != 0; left &= left - 1) {
            const uint from = (uint)__builtin_ctzl(left);
            const $T other = roci_read_lane_$S(a, from);
            result = from <= lane ? roci_combine_$O_$S(result, other) : result;
        }
        return result;
    }
    for (uint distance = 1u; distance < ROCI_SUBGROUP_SIZE; distance *= 2u) {
        const $T other = roci_subgroup_shuffle_$S(a, lane - distance);
        a = lane >= distance ? roci_combine_$O_$S(other, a) : a;
    }
    return a;
}
//: roci_subgroup_exclusive_$O_$S for i32 u32 f32 i64 u64 over add=0 mul=1
ROCI_FN $T roci_subgroup_exclusive_$O_$S($T a) {
    const uint lane = roci_lane();
    const ulong before = roci_active() & ((1ul << lane) - 1ul);
    const $T sum = roci_subgroup_inclusive_$O_$S(a);
    const uint from = before == 0 ? lane : 63u - (uint)__builtin_clzl(before);
    const $T other = roci_subgroup_shuffle_$S(sum, from);
    return before == 0 ? ($T)$V : other;
}
