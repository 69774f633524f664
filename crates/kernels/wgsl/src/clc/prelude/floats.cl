Float functions that both dialects share. `roci_fmin` and `roci_fmax` come from the dialect.

//: roci_f32_to_$S for i16
ROCI_FN $T roci_f32_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, -32768.0f), 32767.0f);
}
//: roci_f32_to_$S for u16
ROCI_FN $T roci_f32_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, 0.0f), 65535.0f);
}
//: roci_f32_to_$S for i32
ROCI_FN $T roci_f32_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
//: roci_f32_to_$S for u32
ROCI_FN $T roci_f32_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, 0.0f), 4294967040.0f);
}
//: roci_f32_to_$S for i64
ROCI_FN $T roci_f32_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, -9223372036854775808.0f), 9223371487098961920.0f);
}
//: roci_f32_to_$S for u64
ROCI_FN $T roci_f32_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, 0.0f), 18446742974197923840.0f);
}
//: roci_f16_to_$S for i32 i64
ROCI_FN $T roci_f16_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, -65504.0f), 65504.0f);
}
//: roci_f16_to_$S for u16 u32 u64
ROCI_FN $T roci_f16_to_$S(float a) {
    return ($T)roci_fmin(roci_fmax(a, 0.0f), 65504.0f);
}
//: roci_f16_to_$S for i16
ROCI_FN $T roci_f16_to_$S(float a) {
    return roci_f32_to_i16(a);
}
//: roci_is_nan
ROCI_FN int roci_is_nan(float a) {
    return -((as_uint(a) & 0x7fffffffu) > 0x7f800000u);
}
//: roci_is_inf
ROCI_FN int roci_is_inf(float a) {
    return -((as_uint(a) & 0x7fffffffu) == 0x7f800000u);
}
//: roci_sign_f32
ROCI_FN float roci_sign_f32(float a) {
    return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a;
}
//: roci_radians
ROCI_FN float roci_radians(float a) {
    return a * 0.017453292519943295f;
}
//: roci_degrees
ROCI_FN float roci_degrees(float a) {
    return a * 57.29577951308232f;
}
//: roci_smooth_step
ROCI_FN float roci_smooth_step(float low, float high, float a) {
    const float t = roci_fmin(roci_fmax((a - low) / (high - low), 0.0f), 1.0f);
    return t * t * (3.0f - 2.0f * t);
}
//: roci_quantize_f16
ROCI_FN float roci_quantize_f16(float a) {
    return roci_widen_f16(roci_narrow_f16(a));
}
