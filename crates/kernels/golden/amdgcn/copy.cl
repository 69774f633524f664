// Written from WGSL; do not edit.

typedef struct {
    uint count;
    uint source_offset;
    uint target_offset;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void copy(global const uint *source_words, global uint *target_words, Params params) {
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
            const uint _e12 = params.target_offset;
            const uint _e13 = i;
            const uint _e19 = params.source_offset;
            const uint _e20 = i;
            const uint _e23 = source_words[_e19 + _e20];
            target_words[_e12 + _e13] = _e23;
        }
        const uint _e24 = i;
        i = _e24 + (groups.x * 256u);
    }
}
