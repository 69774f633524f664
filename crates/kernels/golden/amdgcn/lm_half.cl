// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint words;
} Params;

ROCI_FN ushort roci_narrow_f16(float a) {
    return as_ushort((half)a);
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_half(global const float2 *x, global uint *y, Params params) {
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint i = 0u;
    i = (group.x * 256u) + lane;
    while (true) {
        const uint _e8 = i;
        const uint _e11 = params.words;
        if (!(_e8 < _e11)) {
            break;
        }
        {
            const uint _e14 = i;
            const uint _e17 = i;
            const float2 _e19 = x[_e17];
            y[_e14] = roci_pack2x16float(__builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e19, (float2)((-65504.0f))), (float2)(65504.0f)));
        }
        const uint _e26 = i;
        i = _e26 + (groups.x * 256u);
    }
}
