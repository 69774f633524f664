// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

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

ROCI_FN float apply(float v) {
    return roci_cos(v);
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
