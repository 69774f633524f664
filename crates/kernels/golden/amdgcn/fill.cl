// Written from WGSL; do not edit.

typedef struct {
    uint count;
    uint offset;
    uint value;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void fill(global uint *target_words, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint i = 0u;
    bool local_ = false;
    const uint stride = groups.x * 256u;
    i = id.x;
    while (true) {
        const uint _e7 = i;
        const uint _e10 = params.count;
        if (_e7 < _e10) {
            const uint _e16 = params.count;
            const uint _e17 = i;
            local_ = (_e16 - _e17) > (3u * stride);
        } else {
            local_ = false;
        }
        const bool _e23 = local_;
        if (!_e23) {
            break;
        }
        {
            const uint _e27 = params.offset;
            const uint _e28 = i;
            const uint _e33 = params.value;
            target_words[_e27 + _e28] = _e33;
            const uint _e37 = params.offset;
            const uint _e38 = i;
            const uint _e44 = params.value;
            target_words[(_e37 + _e38) + stride] = _e44;
            const uint _e48 = params.offset;
            const uint _e49 = i;
            const uint _e57 = params.value;
            target_words[(_e48 + _e49) + (2u * stride)] = _e57;
            const uint _e61 = params.offset;
            const uint _e62 = i;
            const uint _e70 = params.value;
            target_words[(_e61 + _e62) + (3u * stride)] = _e70;
        }
        const uint _e71 = i;
        i = _e71 + (4u * stride);
    }
    while (true) {
        const uint _e75 = i;
        const uint _e78 = params.count;
        if (!(_e75 < _e78)) {
            break;
        }
        {
            const uint _e83 = params.offset;
            const uint _e84 = i;
            const uint _e89 = params.value;
            target_words[_e83 + _e84] = _e89;
        }
        const uint _e90 = i;
        i = _e90 + stride;
    }
}
