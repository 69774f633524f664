Cooperative matrices on WMMA in wave32. Lane l holds row l of A, column l of B (both repeated in the upper half of the
wave), and of C column l, the even rows in the lower half of the wave and the odd rows in the upper.

//: roci_wmma_multiply_add_f32
ROCI_FN float8 roci_wmma_multiply_add_f32(half16 a, half16 b, float8 c) {
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c);
}
//: roci_wmma_multiply_add_f16
ROCI_FN half8 roci_wmma_multiply_add_f16(half16 a, half16 b, half8 c) {
    half16 wide = (half16)(0);
    wide.even = c;
    return __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(a, b, wide, false).even;
}
//: roci_wmma_load_a_f16_$O_rows over global local
//: roci_wmma_load_b_f16_$O_columns over global local
ROCI_FN half16 $N($O const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[lane * stride + i];
    }
    return v;
}
//: roci_wmma_load_a_f16_$O_columns over global local
//: roci_wmma_load_b_f16_$O_rows over global local
ROCI_FN half16 $N($O const half *p, uint stride) {
    const uint lane = roci_lane() % 16u;
    half16 v;
#pragma unroll
    for (uint i = 0; i < 16u; i++) {
        v[i] = p[i * stride + lane];
    }
    return v;
}
//: roci_wmma_load_c_$S_$O_rows for f32 f16 over global local
ROCI_FN $T8 $N($O const $T *p, uint stride) {
    const uint lane = roci_lane();
    $T8 v;
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        v[i] = p[(2u * i + lane / 16u) * stride + lane % 16u];
    }
    return v;
}
//: roci_wmma_store_c_$S_$O_rows for f32 f16 over global local
ROCI_FN void $N($O $T *p, uint stride, $T8 v) {
    const uint lane = roci_lane();
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        p[(2u * i + lane / 16u) * stride + lane % 16u] = v[i];
    }
}
//: roci_wmma_load_c_$S_$O_columns for f32 f16 over global local
ROCI_FN $T8 $N($O const $T *p, uint stride) {
    const uint lane = roci_lane();
    $T8 v;
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        v[i] = p[lane % 16u * stride + 2u * i + lane / 16u];
    }
    return v;
}
//: roci_wmma_store_c_$S_$O_columns for f32 f16 over global local
ROCI_FN void $N($O $T *p, uint stride, $T8 v) {
    const uint lane = roci_lane();
#pragma unroll
    for (uint i = 0; i < 8u; i++) {
        p[lane % 16u * stride + 2u * i + lane / 16u] = v[i];
    }
}
