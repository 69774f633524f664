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
// How many quarter turns an angle has, to the nearest.
ROCI_FN float roci_quarter_turns(float a) {
    return __builtin_roundevenf(a * 0.636619772367581f);
}
// What is left of an angle; a quarter turn in three parts keeps it exact far from zero.
ROCI_FN float roci_less_quarter_turns(float a, float turns) {
    float r = __builtin_fmaf(turns, -1.57079637050628662f, a);
    r = __builtin_fmaf(turns, 4.37113900018624283e-8f, r);
    return __builtin_fmaf(turns, 1.71512451e-15f, r);
}
ROCI_FN float roci_small_sin(float a) {
    const float z = a * a;
    float p = __builtin_fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f);
    p = __builtin_fmaf(z, p, -1.6666654611e-1f);
    return __builtin_fmaf(z * a, p, a);
}
ROCI_FN float roci_small_cos(float a) {
    const float z = a * a;
    float p = __builtin_fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
    p = __builtin_fmaf(z, p, 4.166664568298827e-2f);
    return __builtin_fmaf(z * z, p, __builtin_fmaf(z, -0.5f, 1.0f));
}
ROCI_FN float roci_cos(float a) {
    const float turns = roci_quarter_turns(a);
    const float r = roci_less_quarter_turns(a, turns);
    const int quadrant = (int)turns;
    const float v = (quadrant & 1) != 0 ? roci_small_sin(r) : roci_small_cos(r);
    return ((quadrant + 1) & 2) != 0 ? -v : v;
}

ROCI_FN float wave(float v, int quarters, float other) {
    const float turns = __builtin_elementwise_roundeven(v * 0.63661975f);
    const float r = ((v - (turns * 1.5703125f)) - (turns * 0.0004837513f)) - (turns * 7.54979e-8f);
    const float s = r * r;
    const float sine = r + ((r * s) * ((-0.16666655f) + (s * (0.008332161f - (s * 0.00019515296f)))));
    const float cosine = (1.0f - (0.5f * s)) + ((s * s) * (0.041666646f + (s * ((-0.0013887316f) + (s * 2.4433157e-5f)))));
    const int quarter = ((int)((uint)roci_f32_to_i32(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(turns, -8192.0f), 8192.0f)) + (uint)quarters)) & 3;
    const float value = ((quarter & 1) == 1) ? cosine : sine;
    return (__builtin_elementwise_abs(v) < 8192.0f) ? ((quarter >= 2) ? (-value) : value) : other;
}

ROCI_FN float apply(float v_1) {
    const float _e3 = wave(v_1, 1, roci_cos(v_1));
    return _e3;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_cos(global const float *x, global float *y, Params params) {
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
