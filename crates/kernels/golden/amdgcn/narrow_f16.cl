// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef struct {
    uint count;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void narrow_f16(global const float *x, global half *y, Params params) {
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
            y[_e10] = (half)_e15;
        }
        const uint _e17 = i;
        i = _e17 + (groups.x * 256u);
    }
}
