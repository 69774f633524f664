Two values of a collective operation as one.

//: roci_combine_add_$S for i32 u32 i64 u64
ROCI_FN $T roci_combine_add_$S($T x, $T y) {
    return ($T)(($U)x + ($U)y);
}
//: roci_combine_add_$S for f32
ROCI_FN $T roci_combine_add_$S($T x, $T y) {
    return x + y;
}
//: roci_combine_mul_$S for i32 u32 i64 u64
ROCI_FN $T roci_combine_mul_$S($T x, $T y) {
    return ($T)(($U)x * ($U)y);
}
//: roci_combine_mul_$S for f32
ROCI_FN $T roci_combine_mul_$S($T x, $T y) {
    return x * y;
}
//: roci_combine_min_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_combine_min_$S($T x, $T y) {
    return y < x ? y : x;
}
//: roci_combine_max_$S for i32 u32 f32 i64 u64
ROCI_FN $T roci_combine_max_$S($T x, $T y) {
    return y > x ? y : x;
}
//: roci_combine_and_$S for i32 u32 i64 u64
ROCI_FN $T roci_combine_and_$S($T x, $T y) {
    return x & y;
}
//: roci_combine_or_$S for i32 u32 i64 u64
ROCI_FN $T roci_combine_or_$S($T x, $T y) {
    return x | y;
}
//: roci_combine_xor_$S for i32 u32 i64 u64
ROCI_FN $T roci_combine_xor_$S($T x, $T y) {
    return x ^ y;
}
