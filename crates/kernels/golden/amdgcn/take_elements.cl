// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[5]; } array5_uint;
typedef struct {
    uint count;
    array5_uint shape;
    array5_uint strides;
    uint axis;
    uint axis_stride;
} Params;

ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}

ROCI_FN uint found(uint index, uint size) {
    return (index >= 2147483648u) ? (index + size) : index;
}

ROCI_FN uint held(uint index_1, uint size_1) {
    const uint at_1 = found(index_1, size_1);
    return (at_1 >= 2147483648u) ? 0u : __builtin_elementwise_min(at_1, size_1 - 1u);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void take_elements(global const uint *x, global const uint *index_2, global uint *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint p = 0u;
    uint rest = 0u;
    uint at = 0u;
    uint dimension = 0u;
    p = id.x;
    while (true) {
        const uint _e4 = p;
        const uint _e7 = params.count;
        if (!(_e4 < _e7)) {
            break;
        }
        {
            const uint _e9 = p;
            rest = _e9;
            const uint _e12 = p;
            const uint _e14 = index_2[_e12];
            const uint _e17 = params.axis;
            const uint _e18 = held(_e14, _e17);
            const uint _e21 = params.axis_stride;
            at = _e18 * _e21;
            dimension = 4u;
            while (true) {
                const uint _e26 = dimension;
                if (!(_e26 > 0u)) {
                    break;
                }
                {
                    const uint _e31 = dimension;
                    const uint size_2 = params.shape.e[_e31];
                    const uint _e34 = at;
                    const uint _e35 = rest;
                    const uint _e39 = dimension;
                    const uint _e41 = params.strides.e[_e39];
                    at = _e34 + (roci_mod_u32(_e35, size_2) * _e41);
                    const uint _e44 = rest;
                    rest = roci_div_u32(_e44, size_2);
                }
                const uint _e46 = dimension;
                dimension = _e46 - 1u;
            }
            const uint _e50 = p;
            const uint _e53 = at;
            const uint _e54 = rest;
            const uint _e58 = params.strides.e[0];
            const uint _e62 = x[_e53 + (_e54 * _e58)];
            y[_e50] = _e62;
        }
        const uint _e63 = p;
        p = _e63 + (groups.x * 256u);
    }
}
