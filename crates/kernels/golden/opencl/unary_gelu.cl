// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

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
    return t * exp(_e45 - (z * z));
}

ROCI_FN float gelu(float v) {
    const float _e4 = erfc_positive(fabs(v) * 0.70710677f);
    const float tail = 0.5f * _e4;
    return v * ((v < 0.0f) ? tail : (1.0f - tail));
}

ROCI_FN float apply(float v_1) {
    const float _e1 = gelu(v_1);
    return _e1;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_gelu(global const float *x, global float *y, Params params) {
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
