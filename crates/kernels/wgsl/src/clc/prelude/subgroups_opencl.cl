Sub-groups of the OpenCL extensions.

//: roci_subgroup_barrier
#define roci_subgroup_barrier() sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
//: roci_subgroup_all
ROCI_FN bool roci_subgroup_all(bool a) {
    return sub_group_all(a) != 0;
}
//: roci_subgroup_any
ROCI_FN bool roci_subgroup_any(bool a) {
    return sub_group_any(a) != 0;
}
//: roci_subgroup_ballot
#define roci_subgroup_ballot(a) sub_group_ballot(a)
//: roci_subgroup_shuffle_$S for i32 u32 f32 i64 u64
#define roci_subgroup_shuffle_$S sub_group_shuffle
//: roci_subgroup_shuffle_xor_$S for i32 u32 f32 i64 u64
#define roci_subgroup_shuffle_xor_$S sub_group_shuffle_xor
//: roci_subgroup_shuffle_up_$S for i32 u32 f32 i64 u64
#define roci_subgroup_shuffle_up_$S sub_group_shuffle_up
//: roci_subgroup_shuffle_down_$S for i32 u32 f32 i64 u64
#define roci_subgroup_shuffle_down_$S sub_group_shuffle_down
//: roci_subgroup_broadcast_$S for i32 u32 f32 i64 u64
#define roci_subgroup_broadcast_$S sub_group_broadcast
//: roci_subgroup_broadcast_first_$S for i32 u32 f32 i64 u64
#define roci_subgroup_broadcast_first_$S sub_group_broadcast_first
//: roci_subgroup_quad_broadcast_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_subgroup_quad_broadcast_$S($T a, uint lane) {
    return sub_group_shuffle(a, (get_sub_group_local_id() & ~3u) | lane);
}
//: roci_subgroup_add_$S for i32 u32 f32 i64 u64
#define roci_subgroup_add_$S sub_group_reduce_add
//: roci_subgroup_inclusive_add_$S for i32 u32 f32 i64 u64
#define roci_subgroup_inclusive_add_$S sub_group_scan_inclusive_add
//: roci_subgroup_exclusive_add_$S for i32 u32 f32 i64 u64
#define roci_subgroup_exclusive_add_$S sub_group_scan_exclusive_add
//: roci_subgroup_mul_$S for i32 u32 f32 i64 u64
#define roci_subgroup_mul_$S sub_group_non_uniform_reduce_mul
//: roci_subgroup_inclusive_mul_$S for i32 u32 f32 i64 u64
#define roci_subgroup_inclusive_mul_$S sub_group_non_uniform_scan_inclusive_mul
//: roci_subgroup_exclusive_mul_$S for i32 u32 f32 i64 u64
#define roci_subgroup_exclusive_mul_$S sub_group_non_uniform_scan_exclusive_mul
//: roci_subgroup_min_$S for i32 u32 f32 i64 u64
#define roci_subgroup_min_$S sub_group_reduce_min
//: roci_subgroup_max_$S for i32 u32 f32 i64 u64
#define roci_subgroup_max_$S sub_group_reduce_max
//: roci_subgroup_and_$S for i32 u32 i64 u64
#define roci_subgroup_and_$S sub_group_non_uniform_reduce_and
//: roci_subgroup_or_$S for i32 u32 i64 u64
#define roci_subgroup_or_$S sub_group_non_uniform_reduce_or
//: roci_subgroup_xor_$S for i32 u32 i64 u64
#define roci_subgroup_xor_$S sub_group_non_uniform_reduce_xor
