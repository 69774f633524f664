// Written from WGSL; do not edit.

typedef struct {
    uint tokens;
    uint width;
    uint x_stride;
    uint y_stride;
    uint gelu;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_gate(global const float *x, global float *y, Params params) {
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint c = 0u;
    float z = 0.0f;
    c = (group.x * 256u) + lane;
    while (true) {
        const uint _e8 = c;
        const uint _e11 = params.width;
        if (!(_e8 < _e11)) {
            break;
        }
        {
            const uint _e17 = params.x_stride;
            const uint _e19 = c;
            const float v = x[(group.y * _e17) + _e19];
            z = v;
            const uint _e26 = params.gelu;
            if (_e26 != 0u) {
                z = 1.5957692f * (v + (((0.044715f * v) * v) * v));
            }
            const uint _e40 = params.y_stride;
            const uint _e42 = c;
            const float _e45 = z;
            const uint _e55 = params.x_stride;
            const uint _e59 = params.width;
            const uint _e61 = c;
            const float _e64 = x[((group.y * _e55) + _e59) + _e61];
            y[(group.y * _e40) + _e42] = (v / (1.0f + __builtin_elementwise_exp(-_e45))) * _e64;
        }
        const uint _e66 = c;
        c = _e66 + (groups.x * 256u);
    }
}
