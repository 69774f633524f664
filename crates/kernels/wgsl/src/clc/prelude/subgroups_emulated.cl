Sub-groups in work-group memory. Every work-item of the work-group must come along.

//: roci_subgroup
typedef struct {
    local uint *scratch; // a word for each work-item
    uint index;          // of the work-item in its work-group
    uint count;          // of work-items in the work-group
} roci_subgroup;
//: roci_subgroup_barrier
#define roci_subgroup_barrier() roci_barrier_all()
//: roci_subgroup_lane
ROCI_FN uint roci_subgroup_lane(private const roci_subgroup *sg) {
    return sg->index % ROCI_SUBGROUP_SIZE;
}
//: roci_subgroup_last
// One past the last work-item of the sub-group; the last sub-group may be partial.
ROCI_FN uint roci_subgroup_last(private const roci_subgroup *sg) {
    const uint last = sg->index - roci_subgroup_lane(sg) + ROCI_SUBGROUP_SIZE;
    return last < sg->count ? last : sg->count;
}
//: roci_subgroup_put_$S for i32 u32 f32 i64 u64
ROCI_FN local $T *roci_subgroup_put_$S(private const roci_subgroup *sg, $T a) {
    local $T *scratch = (local $T *)sg->scratch;
    scratch[sg->index] = a;
    roci_barrier_workgroup();
    return scratch;
}
//: roci_subgroup_shuffle_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_$S(private const roci_subgroup *sg, $T a, uint lane) {
    local $T *scratch = roci_subgroup_put_$S(sg, a);
    const uint from = sg->index - roci_subgroup_lane(sg) + lane;
    const $T result = lane < ROCI_SUBGROUP_SIZE && from < sg->count ? scratch[from] : a;
    roci_barrier_workgroup();
    return result;
}
//: roci_subgroup_broadcast_$S for i32 u32 f32 i64 u64
#define roci_subgroup_broadcast_$S roci_subgroup_shuffle_$S
//: roci_subgroup_broadcast_first_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_broadcast_first_$S(private const roci_subgroup *sg, $T a) {
    return roci_subgroup_shuffle_$S(sg, a, 0u);
}
//: roci_subgroup_shuffle_xor_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_xor_$S(private const roci_subgroup *sg, $T a, uint mask) {
    return roci_subgroup_shuffle_$S(sg, a, roci_subgroup_lane(sg) ^ mask);
}
//: roci_subgroup_shuffle_down_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_down_$S(private const roci_subgroup *sg, $T a, uint delta) {
    return roci_subgroup_shuffle_$S(sg, a, roci_subgroup_lane(sg) + delta);
}
//: roci_subgroup_shuffle_up_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_shuffle_up_$S(private const roci_subgroup *sg, $T a, uint delta) {
    return roci_subgroup_shuffle_$S(sg, a, roci_subgroup_lane(sg) - delta);
}
//: roci_subgroup_quad_broadcast_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_quad_broadcast_$S(private const roci_subgroup *sg, $T a, uint lane) {
    return roci_subgroup_shuffle_$S(sg, a, (roci_subgroup_lane(sg) & ~3u) | lane);
}
//: roci_subgroup_ballot
ROCI_FN uint4 roci_subgroup_ballot(private const roci_subgroup *sg, bool a) {
    local uint *scratch = roci_subgroup_put_u32(sg, a);
    uint words[4] = {0, 0, 0, 0};
    const uint first = sg->index - roci_subgroup_lane(sg);
    for (uint i = first; i < roci_subgroup_last(sg); i++) {
        words[((i - first) / 32u) & 3u] |= scratch[i] << ((i - first) % 32u);
    }
    roci_barrier_workgroup();
    return (uint4)(words[0], words[1], words[2], words[3]);
}
//: roci_subgroup_all
ROCI_FN bool roci_subgroup_all(private const roci_subgroup *sg, bool a) {
    return roci_subgroup_and_u32(sg, a) != 0;
}
//: roci_subgroup_any
ROCI_FN bool roci_subgroup_any(private const roci_subgroup *sg, bool a) {
    return roci_subgroup_or_u32(sg, a) != 0;
}
//: roci_subgroup_$O_$S for i32 u32 f32 i64 u64 over add mul min max
//: roci_subgroup_$O_$S for i32 u32 i64 u64 over and or xor
ROCI_FN $T roci_subgroup_$O_$S(private const roci_subgroup *sg, $T a) {
    local $T *scratch = roci_subgroup_put_$S(sg, a);
    const uint lane = roci_subgroup_lane(sg);
    for (uint reach = ROCI_SUBGROUP_SIZE / 2u; reach > 0u; reach /= 2u) {
        if (lane < reach && sg->index + reach < roci_subgroup_last(sg)) {
            scratch[sg->index] = roci_combine_$O_$S(scratch[sg->index], scratch[sg->index + reach]);
        }
        roci_barrier_workgroup();
    }
    const $T result = scratch[sg->index - lane];
    roci_barrier_workgroup();
    return result;
}
//: roci_subgroup_exclusive_$O_$S for i32 u32 f32 i64 u64 over add=0 mul=1
ROCI_FN $T roci_subgroup_exclusive_$O_$S(private const roci_subgroup *sg, $T a) {
    local $T *scratch = roci_subgroup_put_$S(sg, a);
    $T result = ($T)$V;
    for (uint i = sg->index - roci_subgroup_lane(sg); i < sg->index; i++) {
        result = roci_combine_$O_$S(result, scratch[i]);
    }
    roci_barrier_workgroup();
    return result;
}
//: roci_subgroup_inclusive_$O_$S for i32 u32 f32 i64 u64 over add mul
ROCI_FN $T roci_subgroup_inclusive_$O_$S(private const roci_subgroup *sg, $T a) {
    return roci_combine_$O_$S(roci_subgroup_exclusive_$O_$S(sg, a), a);
}
