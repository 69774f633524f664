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

ROCI_FN float wave(float v, int quarters, float other) {
    const float turns = rint(v * 0.63661975f);
    const float r = ((v - (turns * 1.5703125f)) - (turns * 0.0004837513f)) - (turns * 7.54979e-8f);
    const float s = r * r;
    const float sine = r + ((r * s) * ((-0.16666655f) + (s * (0.008332161f - (s * 0.00019515296f)))));
    const float cosine = (1.0f - (0.5f * s)) + ((s * s) * (0.041666646f + (s * ((-0.0013887316f) + (s * 2.4433157e-5f)))));
    const int quarter = ((int)((uint)roci_f32_to_i32(fmin(fmax(turns, -8192.0f), 8192.0f)) + (uint)quarters)) & 3;
    const float value = ((quarter & 1) == 1) ? cosine : sine;
    return (fabs(v) < 8192.0f) ? ((quarter >= 2) ? (-value) : value) : other;
}

ROCI_FN float apply(float v_1) {
    const float _e3 = wave(v_1, 1, cos(v_1));
    return _e3;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_cos(global const float *x, global float *y, Params params) {
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
