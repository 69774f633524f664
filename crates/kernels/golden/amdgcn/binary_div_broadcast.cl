// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[4]; } array4_uint;
typedef struct {
    uint count;
    array4_uint shape;
    array4_uint a_strides;
    array4_uint b_strides;
} Params;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN float apply(float p, float q) {
    return p / q;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void binary_div_broadcast(global const float *a, global const float *b, global float *y, Params params) {
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
            const uint _e9 = i;
            const uint _e13 = params.shape.e[3];
            const uint rows = roci_div_u32(_e9, _e13);
            const uint _e15 = i;
            const uint _e19 = params.shape.e[3];
            const uint i3_ = roci_mod_u32(_e15, _e19);
            const uint _e24 = params.shape.e[2];
            const uint planes = roci_div_u32(rows, _e24);
            const uint _e29 = params.shape.e[2];
            const uint i2_ = roci_mod_u32(rows, _e29);
            const uint _e34 = params.shape.e[1];
            const uint i1_ = roci_mod_u32(planes, _e34);
            const uint _e39 = params.shape.e[1];
            const uint i0_ = roci_div_u32(planes, _e39);
            const uint _e44 = params.a_strides.e[0];
            const uint _e49 = params.a_strides.e[1];
            const uint _e55 = params.a_strides.e[2];
            const uint _e61 = params.a_strides.e[3];
            const uint at_a = (((i0_ * _e44) + (i1_ * _e49)) + (i2_ * _e55)) + (i3_ * _e61);
            const uint _e67 = params.b_strides.e[0];
            const uint _e72 = params.b_strides.e[1];
            const uint _e78 = params.b_strides.e[2];
            const uint _e84 = params.b_strides.e[3];
            const uint at_b = (((i0_ * _e67) + (i1_ * _e72)) + (i2_ * _e78)) + (i3_ * _e84);
            const uint _e88 = i;
            const float _e92 = a[at_a];
            const float _e95 = b[at_b];
            const float _e96 = apply(_e92, _e95);
            y[_e88] = _e96;
        }
        const uint _e97 = i;
        i = _e97 + (groups.x * 256u);
    }
}
