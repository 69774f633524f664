// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint rows;
    uint columns;
    uint x_stride;
    uint y_stride;
    float epsilon;
    uint flags;
    uint first;
} Params;
typedef struct { float e[256]; } array256_float;

ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_norm(global const float *x, global const float *weight, global const uint *inputs, global float *y, Params params) {
    local array256_float sums;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint row = 0u;
    uint source = 0u;
    float mine = 0.0f;
    uint c = 0u;
    uint step_ = 0u;
    uint c_1 = 0u;
    float v = 0.0f;
    row = group.x;
    while (true) {
        const uint _e5 = row;
        const uint _e8 = params.rows;
        if (!(_e5 < _e8)) {
            break;
        }
        {
            const uint _e10 = row;
            source = _e10;
            const uint _e14 = params.flags;
            if ((_e14 & 2u) != 0u) {
                const uint _e22 = params.first;
                const uint _e23 = row;
                const uint _e26 = inputs[_e22 + _e23];
                source = _e26;
            }
            const uint _e27 = source;
            const uint _e30 = params.x_stride;
            const uint base = _e27 * _e30;
            mine = 0.0f;
            c = lane;
            while (true) {
                const uint _e35 = c;
                const uint _e38 = params.columns;
                if (!(_e35 < _e38)) {
                    break;
                }
                {
                    const uint _e41 = c;
                    const float v_1 = x[base + _e41];
                    const float _e45 = mine;
                    mine = _e45 + (v_1 * v_1);
                }
                const uint _e48 = c;
                c = _e48 + 256u;
            }
            const float _e53 = mine;
            sums.e[lane] = _e53;
            roci_barrier_workgroup();
            step_ = 128u;
            while (true) {
                const uint _e56 = step_;
                if (!(_e56 > 0u)) {
                    break;
                }
                {
                    const uint _e59 = step_;
                    if (lane < _e59) {
                        const float _e63 = sums.e[lane];
                        const uint _e65 = step_;
                        const float _e68 = sums.e[lane + _e65];
                        sums.e[lane] = _e63 + _e68;
                    }
                    roci_barrier_workgroup();
                }
                const uint _e70 = step_;
                step_ = _e70 / 2u;
            }
            const float _e75 = sums.e[0];
            const uint _e78 = params.columns;
            const float _e83 = params.epsilon;
            const float scale = 1.0f / __builtin_elementwise_sqrt((_e75 / ((float)_e78)) + _e83);
            const uint _e88 = row;
            const uint _e91 = params.y_stride;
            const uint to = _e88 * _e91;
            c_1 = lane;
            while (true) {
                const uint _e94 = c_1;
                const uint _e97 = params.columns;
                if (!(_e94 < _e97)) {
                    break;
                }
                {
                    const uint _e100 = c_1;
                    const float _e103 = x[base + _e100];
                    const uint _e106 = c_1;
                    const float _e108 = weight[_e106];
                    v = (_e103 * scale) * _e108;
                    const uint _e113 = params.flags;
                    if ((_e113 & 1u) != 0u) {
                        const float _e118 = v;
                        const uint _e120 = c_1;
                        const float _e123 = y[to + _e120];
                        v = _e118 + _e123;
                    }
                    const uint _e126 = c_1;
                    const float _e129 = v;
                    y[to + _e126] = _e129;
                }
                const uint _e130 = c_1;
                c_1 = _e130 + 256u;
            }
            roci_barrier_workgroup();
        }
        const uint _e133 = row;
        row = _e133 + groups.x;
    }
}
