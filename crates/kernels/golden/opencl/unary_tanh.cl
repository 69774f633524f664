// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

#define roci_fmin fmin
#define roci_fmax fmax
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}

ROCI_FN float scaled(float v, int n) {
    const int lower = n / 2;
    return (v * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float exponential_rest(float v_1) {
    return 0.5f + (v_1 * (0.16666669f + (v_1 * (0.041666668f + (v_1 * (0.008333019f + (v_1 * (0.0013888575f + (v_1 * (0.00020015593f + (v_1 * 2.4975792e-5f)))))))))));
}

ROCI_FN bool is_nan(float v_2) {
    return (as_uint(v_2) & 2147483647u) > 2139095040u;
}

ROCI_FN float exponential(float v_3) {
    const float bounded = fmin(fmax(v_3, -104.0f), 89.0f);
    const float n_1 = rint(bounded * 1.442695f);
    const float r = (bounded - (n_1 * 0.6933594f)) + (n_1 * 0.00021219444f);
    const float _e14 = exponential_rest(r);
    const float value = scaled(1.0f + (r + ((r * r) * _e14)), roci_f32_to_i32(n_1));
    const bool _e21 = is_nan(v_3);
    return _e21 ? v_3 : value;
}

ROCI_FN float exponential_less_one(float v_4) {
    const float _e1 = exponential(v_4);
    const float _e5 = exponential_rest(v_4);
    return (fabs(v_4) < 0.5f) ? (v_4 + ((v_4 * v_4) * _e5)) : (_e1 - 1.0f);
}

ROCI_FN float with_sign(float magnitude, float v_5) {
    return as_float(as_uint(magnitude) | (as_uint(v_5) & 2147483648u));
}

ROCI_FN float tangent(float v_6) {
    const float t = exponential_less_one(2.0f * fmin(fabs(v_6), 10.0f));
    const float _e10 = with_sign(t / (t + 2.0f), v_6);
    const bool _e11 = is_nan(v_6);
    return _e11 ? v_6 : _e10;
}

ROCI_FN float apply(float v_7) {
    const float _e1 = tangent(v_7);
    return _e1;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_tanh(global const float *x, global float *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint i = 0u;
    i = id.x;
    while (true) {
        const uint _e4 = i;
        const uint _e7 = params.count;
        if (!(_e4 < _e7)) {
            break;
        }
        {
            const uint _e10 = i;
            const uint _e13 = i;
            const float _e15 = x[_e13];
            const float _e16 = apply(_e15);
            y[_e10] = _e16;
        }
        const uint _e17 = i;
        i = _e17 + (groups.x * 256u);
    }
}
