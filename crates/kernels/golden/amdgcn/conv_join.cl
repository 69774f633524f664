// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[3]; } array3_uint;
typedef struct { int e[3]; } array3_int;
typedef struct {
    uint batch;
    uint in_channels;
    uint out_channels;
    uint groups;
    array3_uint input;
    array3_uint output;
    array3_uint kernel_;
    array3_uint stride;
    array3_uint dilation;
    array3_int pad;
    uint flags;
    float low;
    float high;
    uint parts;
} Params;

ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}

ROCI_FN void finish(uint at, uint channel, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v = 0.0f;
    bool local_ = false;
    v = sum_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 1u) != 0u) {
        const float _e11 = v;
        const float _e14 = bias[channel];
        v = _e11 + _e14;
    }
    const uint _e18 = (*params).flags;
    if ((_e18 & 2u) != 0u) {
        const float _e23 = v;
        const float _e26 = y[at];
        v = _e23 + _e26;
    }
    const uint _e30 = (*params).flags;
    if ((_e30 & 4u) != 0u) {
        const float _e37 = v;
        local_ = (as_uint(_e37) & 2147483647u) <= 2139095040u;
    } else {
        local_ = false;
    }
    const bool _e44 = local_;
    if (_e44) {
        const float _e45 = v;
        const float _e48 = (*params).low;
        const float _e52 = (*params).high;
        v = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e45, _e48), _e52);
    }
    const float _e56 = v;
    y[at] = _e56;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void conv_join(global const float *x, global const float *bias, global float *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint i = 0u;
    float sum = 0.0f;
    uint part = 0u;
    const uint _e5 = params.output.e[0];
    const uint _e9 = params.output.e[1];
    const uint _e14 = params.output.e[2];
    const uint plane = (_e5 * _e9) * _e14;
    const uint _e18 = params.batch;
    const uint _e21 = params.out_channels;
    const uint count = (_e18 * _e21) * plane;
    i = id.x;
    while (true) {
        const uint _e26 = i;
        if (!(_e26 < count)) {
            break;
        }
        {
            sum = 0.0f;
            part = 0u;
            while (true) {
                const uint _e32 = part;
                const uint _e35 = params.parts;
                if (!(_e32 < _e35)) {
                    break;
                }
                {
                    const float _e37 = sum;
                    const uint _e39 = part;
                    const uint _e41 = i;
                    const float _e44 = x[(_e39 * count) + _e41];
                    sum = _e37 + _e44;
                }
                const uint _e46 = part;
                part = _e46 + 1u;
            }
            const uint _e49 = i;
            const uint _e50 = i;
            const uint _e54 = params.out_channels;
            const float _e56 = sum;
            finish(_e49, roci_mod_u32(roci_div_u32(_e50, plane), _e54), _e56, &params, bias, y);
        }
        const uint _e57 = i;
        i = _e57 + (groups.x * 256u);
    }
}
