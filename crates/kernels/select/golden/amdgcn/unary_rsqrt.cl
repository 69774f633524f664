// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

ROCI_FN float roci_inverse_sqrt(float a) {
    return 1.0f / __builtin_sqrtf(a);
}

ROCI_FN float apply(float v) {
    return roci_inverse_sqrt(v);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void unary_rsqrt(global const float *x, global float *y, Params params) {
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
