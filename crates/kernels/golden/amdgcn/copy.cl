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
            const uint _e27 = params.source_offset;
            const uint _e28 = i;
            const uint v0_ = source_words[_e27 + _e28];
            const uint _e35 = params.source_offset;
            const uint _e36 = i;
            const uint v1_ = source_words[(_e35 + _e36) + stride];
            const uint _e44 = params.source_offset;
            const uint _e45 = i;
            const uint v2_ = source_words[(_e44 + _e45) + (2u * stride)];
            const uint _e55 = params.source_offset;
            const uint _e56 = i;
            const uint v3_ = source_words[(_e55 + _e56) + (3u * stride)];
            const uint _e66 = params.target_offset;
            const uint _e67 = i;
            target_words[_e66 + _e67] = v0_;
            const uint _e73 = params.target_offset;
            const uint _e74 = i;
            target_words[(_e73 + _e74) + stride] = v1_;
            const uint _e81 = params.target_offset;
            const uint _e82 = i;
            target_words[(_e81 + _e82) + (2u * stride)] = v2_;
            const uint _e91 = params.target_offset;
            const uint _e92 = i;
            target_words[(_e91 + _e92) + (3u * stride)] = v3_;
        }
        const uint _e98 = i;
        i = _e98 + (4u * stride);
    }
    while (true) {
        const uint _e102 = i;
        const uint _e105 = params.count;
        if (!(_e102 < _e105)) {
            break;
        }
        {
            const uint _e110 = params.target_offset;
            const uint _e111 = i;
            const uint _e117 = params.source_offset;
            const uint _e118 = i;
            const uint _e121 = source_words[_e117 + _e118];
            target_words[_e110 + _e111] = _e121;
        }
        const uint _e122 = i;
        i = _e122 + stride;
    }
}
