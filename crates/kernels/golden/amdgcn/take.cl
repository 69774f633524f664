// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint outer;
    uint axis;
    uint inner;
    uint count;
} Params;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN uint found(uint index, uint size) {
    return (index >= 2147483648u) ? (index + size) : index;
}

ROCI_FN uint held(uint index_1, uint size_1) {
    const uint at = found(index_1, size_1);
    return (at >= 2147483648u) ? 0u : __builtin_elementwise_min(at, size_1 - 1u);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void take(global const uint *x, global const uint *index_2, global uint *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint output = 0u;
    const uint _e4 = params.outer;
    const uint _e7 = params.count;
    const uint _e11 = params.inner;
    const uint outputs = (_e4 * _e7) * _e11;
    output = id.x;
    while (true) {
        const uint _e15 = output;
        if (!(_e15 < outputs)) {
            break;
        }
        {
            const uint _e17 = output;
            const uint _e20 = params.inner;
            const uint line = roci_div_u32(_e17, _e20);
            const uint _e25 = params.count;
            const uint _e28 = index_2[roci_mod_u32(line, _e25)];
            const uint _e31 = params.axis;
            const uint at_1 = held(_e28, _e31);
            const uint _e34 = output;
            const uint _e39 = params.count;
            const uint _e43 = params.axis;
            const uint _e48 = params.inner;
            const uint _e50 = output;
            const uint _e53 = params.inner;
            const uint _e57 = x[(((roci_div_u32(line, _e39) * _e43) + at_1) * _e48) + roci_mod_u32(_e50, _e53)];
            y[_e34] = _e57;
        }
        const uint _e58 = output;
        output = _e58 + (groups.x * 256u);
    }
}
