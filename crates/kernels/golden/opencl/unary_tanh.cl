// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

ROCI_FN float tangent(float v) {
    const float s = v * v;
    const float near = v + ((v * s) * ((-0.33333334f) + (s * (0.13333334f + (s * ((-0.053968254f) + (s * 0.021869488f)))))));
    const float far = (fabs(v) > 10.0f) ? sign(v) : tanh(v);
    return (fabs(v) < 0.25f) ? near : far;
}

ROCI_FN float apply(float v_1) {
    const float _e1 = tangent(v_1);
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
