// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[5]; } array5_uint;
typedef struct { int e[5]; } array5_int;
typedef struct {
    uint count;
    uint source_offset;
    array5_uint shape;
    array5_int strides;
    uint target_offset;
    uint run;
    uint pitch;
} Params;

ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void arrange(global const uint *source_words, global uint *target_words, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint i = 0u;
    uint rest = 0u;
    int at = 0;
    uint axis = 0u;
    i = id.x;
    while (true) {
        const uint _e4 = i;
        const uint _e7 = params.count;
        if (!(_e4 < _e7)) {
            break;
        }
        {
            const uint _e9 = i;
            rest = _e9;
            const uint _e13 = params.source_offset;
            at = (int)_e13;
            axis = 4u;
            while (true) {
                const uint _e18 = axis;
                if (!(_e18 > 0u)) {
                    break;
                }
                {
                    const uint _e23 = axis;
                    const uint size = params.shape.e[_e23];
                    const int _e26 = at;
                    const uint _e27 = rest;
                    const uint _e32 = axis;
                    const int _e34 = params.strides.e[_e32];
                    at = (int)((uint)_e26 + (uint)((int)((uint)((int)roci_mod_u32(_e27, size)) * (uint)_e34)));
                    const uint _e37 = rest;
                    rest = roci_div_u32(_e37, size);
                }
                const uint _e39 = axis;
                axis = _e39 - 1u;
            }
            const int _e42 = at;
            const uint _e43 = rest;
            const int _e48 = params.strides.e[0];
            at = (int)((uint)_e42 + (uint)((int)((uint)((int)_e43) * (uint)_e48)));
            const uint _e54 = params.target_offset;
            const uint _e55 = i;
            const uint _e58 = params.run;
            const uint _e62 = params.pitch;
            const uint _e65 = i;
            const uint _e68 = params.run;
            const int _e73 = at;
            const uint _e76 = source_words[(uint)_e73];
            target_words[(_e54 + (roci_div_u32(_e55, _e58) * _e62)) + roci_mod_u32(_e65, _e68)] = _e76;
        }
        const uint _e77 = i;
        i = _e77 + (groups.x * 256u);
    }
}
