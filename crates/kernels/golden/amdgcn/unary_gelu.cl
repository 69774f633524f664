// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
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
    const float bounded = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_3, -104.0f), 89.0f);
    const float n_1 = __builtin_elementwise_roundeven(bounded * 1.442695f);
    const float r = (bounded - (n_1 * 0.6933594f)) + (n_1 * 0.00021219444f);
    const float _e14 = exponential_rest(r);
    const float value = scaled(1.0f + (r + ((r * r) * _e14)), roci_f32_to_i32(n_1));
    const bool _e21 = is_nan(v_3);
    return _e21 ? v_3 : value;
}

ROCI_FN float erfc_positive(float z) {
    float p = 0.14804605f;
    const float t = 1.0f / (1.0f + (0.5f * z));
    const float _e9 = p;
    p = (_e9 * t) - 0.6975366f;
    const float _e13 = p;
    p = (_e13 * t) + 1.1953276f;
    const float _e17 = p;
    p = (_e17 * t) - 0.7464699f;
    const float _e21 = p;
    p = (_e21 * t) - 0.039866325f;
    const float _e25 = p;
    p = (_e25 * t) - 0.019507999f;
    const float _e29 = p;
    p = (_e29 * t) + 0.041395962f;
    const float _e33 = p;
    p = (_e33 * t) + 0.38528362f;
    const float _e37 = p;
    p = (_e37 * t) + 0.99878246f;
    const float _e41 = p;
    p = (_e41 * t) - 1.2654549f;
    const float _e45 = p;
    const float _e48 = exponential(_e45 - (z * z));
    return t * _e48;
}

ROCI_FN float gelu(float v_4) {
    const float bounded_1 = (v_4 < (-20.0f)) ? (-20.0f) : v_4;
    const float _e8 = erfc_positive(__builtin_elementwise_abs(bounded_1) * 0.70710677f);
    const float tail = 0.5f * _e8;
    return bounded_1 * ((v_4 < 0.0f) ? tail : (1.0f - tail));
}

ROCI_FN float apply(float v_5) {
    const float _e1 = gelu(v_5);
    return _e1;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_gelu(global const float *x, global float *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
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
