// Written from WGSL; do not edit.

typedef struct {
    uint tokens;
    uint columns;
    uint used;
    uint x_stride;
    uint y_stride;
    uint add;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_mix(global const float *x, global const float *shares, global float *y, Params params) {
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint c = 0u;
    float sum = 0.0f;
    uint s = 0u;
    c = (group.x * 256u) + lane;
    while (true) {
        const uint _e8 = c;
        const uint _e11 = params.columns;
        if (!(_e8 < _e11)) {
            break;
        }
        {
            sum = 0.0f;
            s = 0u;
            while (true) {
                const uint _e17 = s;
                const uint _e20 = params.used;
                if (!(_e17 < _e20)) {
                    break;
                }
                {
                    const uint _e25 = params.used;
                    const uint _e27 = s;
                    const uint pair = (group.y * _e25) + _e27;
                    const float _e29 = sum;
                    const float _e32 = shares[pair];
                    const uint _e36 = params.x_stride;
                    const uint _e38 = c;
                    const float _e41 = x[(pair * _e36) + _e38];
                    sum = _e29 + (_e32 * _e41);
                }
                const uint _e44 = s;
                s = _e44 + 1u;
            }
            const uint _e50 = params.y_stride;
            const uint _e52 = c;
            const uint at = (group.y * _e50) + _e52;
            const uint _e56 = params.add;
            if (_e56 != 0u) {
                const float _e59 = sum;
                const float _e62 = y[at];
                sum = _e59 + _e62;
            }
            const float _e66 = sum;
            y[at] = _e66;
        }
        const uint _e67 = c;
        c = _e67 + (groups.x * 256u);
    }
}
