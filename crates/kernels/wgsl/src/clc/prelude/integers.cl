Integer functions with WGSL's results where C has none.

//: roci_div_$S for u16 u32 u64
ROCI_FN $T roci_div_$S($T a, $T b) {
    return b == 0 ? a : ($T)(a / b);
}
//: roci_mod_$S for u16 u32 u64
ROCI_FN $T roci_mod_$S($T a, $T b) {
    return b == 0 ? ($T)0 : ($T)(a % b);
}
//: roci_div_$S for i16 i32 i64
ROCI_FN $T roci_div_$S($T a, $T b) {
    // Dividing the lowest value by -1 overflows; so does negating it, and that wraps.
    return b == 0 ? a : b == -1 ? ($T)(-($U)a) : ($T)(a / b);
}
//: roci_mod_$S for i16 i32 i64
ROCI_FN $T roci_mod_$S($T a, $T b) {
    return b == 0 || b == -1 ? ($T)0 : ($T)(a % b);
}
//: roci_abs_$S for i16 i32 i64
ROCI_FN $T roci_abs_$S($T a) {
    return a < 0 ? ($T)(-($U)a) : a;
}
//: roci_sign_$S for i16 i32 i64
ROCI_FN $T roci_sign_$S($T a) {
    return ($T)((a > 0) - (a < 0));
}
//: roci_trailing_zeros_$S for i32 u32 i64 u64
ROCI_FN $T roci_trailing_zeros_$S($T a) {
    return roci_count_ones_$S(($T)(~($U)a & (($U)a - 1)));
}
//: roci_first_trailing_bit_$S for i32 u32 i64 u64
ROCI_FN $T roci_first_trailing_bit_$S($T a) {
    return a == 0 ? ($T)-1 : roci_trailing_zeros_$S(a);
}
//: roci_first_leading_bit_$S for u32 u64
ROCI_FN $T roci_first_leading_bit_$S($T a) {
    return a == 0 ? ($T)-1 : $W - 1 - roci_leading_zeros_$S(a);
}
//: roci_first_leading_bit_$S for i32 i64
ROCI_FN $T roci_first_leading_bit_$S($T a) {
    const $T bits = a < 0 ? ~a : a;
    return bits == 0 ? -1 : $W - 1 - roci_leading_zeros_$S(bits);
}
//: roci_extract_bits_$S for i32 u32
ROCI_FN $T roci_extract_bits_$S($T a, uint offset, uint count) {
    const uint start = offset < $W ? offset : $W;
    const uint length = count < $W - start ? count : $W - start;
    return length == 0 ? 0 : ($T)(($U)a << ($W - start - length)) >> ($W - length);
}
//: roci_insert_bits_$S for i32 u32
ROCI_FN $T roci_insert_bits_$S($T a, $T b, uint offset, uint count) {
    const uint start = offset < $W ? offset : $W;
    const uint length = count < $W - start ? count : $W - start;
    if (length == 0) {
        return a;
    }
    const uint mask = (0xffffffffu >> ($W - length)) << start;
    return ($T)(((uint)a & ~mask) | (((uint)b << start) & mask));
}
//: roci_dot4_i8
ROCI_FN __attribute__((unused)) int roci_dot4_i8(uint a, uint b) {
    const char4 x = as_char4(a);
    const char4 y = as_char4(b);
    return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
//: roci_dot4_u8
ROCI_FN __attribute__((unused)) uint roci_dot4_u8(uint a, uint b) {
    // By masks: NVIDIA's compiler (580.159) multiplies the bytes of a uchar4 as if they had a sign.
    return (a & 255u) * (b & 255u) + ((a >> 8) & 255u) * ((b >> 8) & 255u) + ((a >> 16) & 255u) * ((b >> 16) & 255u)
           + (a >> 24) * (b >> 24);
}
