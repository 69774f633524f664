// Written from WGSL; do not edit.

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

#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_norm(global const float *x, global const float *weight, global const uint *inputs, global float *y, Params params) {
    local array256_float sums;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
    uint row = 0u;
    uint source = 0u;
    float4 mine = (float4)(0.0f);
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
            const uint _e34 = params.columns;
            const uint last = _e34 - 1u;
            mine = (float4)(0.0f);
            c = lane;
            while (true) {
                const uint _e40 = c;
                const uint _e43 = params.columns;
                if (!(_e40 < _e43)) {
                    break;
                }
                {
                    const uint _e45 = c;
                    const uint4 at = ((uint4)(_e45)) + ((uint4)(0u, 256u, 512u, 768u));
                    const uint4 near = min(at, (uint4)(last)) + ((uint4)(base));
                    const float _e60 = x[near.x];
                    const float _e64 = x[near.y];
                    const float _e68 = x[near.z];
                    const float _e72 = x[near.w];
                    const float4 v_1 = (float4)(_e60, _e64, _e68, _e72);
                    const float4 _e74 = mine;
                    mine = _e74 + ((at <= ((uint4)(last))) ? (v_1 * v_1) : (float4)(0.0f));
                }
                const uint _e81 = c;
                c = _e81 + 1024u;
            }
            const float _e87 = mine.x;
            const float _e89 = mine.y;
            const float _e92 = mine.z;
            const float _e94 = mine.w;
            sums.e[lane] = (_e87 + _e89) + (_e92 + _e94);
            roci_barrier_workgroup();
            step_ = 128u;
            while (true) {
                const uint _e99 = step_;
                if (!(_e99 > 0u)) {
                    break;
                }
                {
                    const uint _e102 = step_;
                    if (lane < _e102) {
                        const float _e106 = sums.e[lane];
                        const uint _e108 = step_;
                        const float _e111 = sums.e[lane + _e108];
                        sums.e[lane] = _e106 + _e111;
                    }
                    roci_barrier_workgroup();
                }
                const uint _e113 = step_;
                step_ = _e113 / 2u;
            }
            const float _e118 = sums.e[0];
            const uint _e121 = params.columns;
            const float _e126 = params.epsilon;
            const float scale = 1.0f / sqrt((_e118 / ((float)_e121)) + _e126);
            const uint _e131 = row;
            const uint _e134 = params.y_stride;
            const uint to = _e131 * _e134;
            c_1 = lane;
            while (true) {
                const uint _e137 = c_1;
                const uint _e140 = params.columns;
                if (!(_e137 < _e140)) {
                    break;
                }
                {
                    const uint _e143 = c_1;
                    const float _e146 = x[base + _e143];
                    const uint _e149 = c_1;
                    const float _e151 = weight[_e149];
                    v = (_e146 * scale) * _e151;
                    const uint _e156 = params.flags;
                    if ((_e156 & 1u) != 0u) {
                        const float _e161 = v;
                        const uint _e163 = c_1;
                        const float _e166 = y[to + _e163];
                        v = _e161 + _e166;
                    }
                    const uint _e169 = c_1;
                    const float _e172 = v;
                    y[to + _e169] = _e172;
                }
                const uint _e173 = c_1;
                c_1 = _e173 + 256u;
            }
            roci_barrier_workgroup();
        }
        const uint _e176 = row;
        row = _e176 + groups.x;
    }
}
