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
    float4 v = (float4)(0.0f);
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
                    const uint _e142 = c_1;
                    const uint4 at_1 = ((uint4)(_e142)) + ((uint4)(0u, 256u, 512u, 768u));
                    const uint4 near_1 = min(at_1, (uint4)(last));
                    const float _e156 = x[base + near_1.x];
                    const float _e161 = x[base + near_1.y];
                    const float _e166 = x[base + near_1.z];
                    const float _e171 = x[base + near_1.w];
                    v = (float4)(_e156, _e161, _e166, _e171);
                    const float4 _e174 = v;
                    const float _e178 = weight[near_1.x];
                    const float _e182 = weight[near_1.y];
                    const float _e186 = weight[near_1.z];
                    const float _e190 = weight[near_1.w];
                    v = _e174 * (scale * ((float4)(_e178, _e182, _e186, _e190)));
                    const uint _e196 = params.flags;
                    if ((_e196 & 1u) != 0u) {
                        const float4 _e201 = v;
                        const float _e206 = y[to + near_1.x];
                        const float _e211 = y[to + near_1.y];
                        const float _e216 = y[to + near_1.z];
                        const float _e221 = y[to + near_1.w];
                        v = _e201 + ((float4)(_e206, _e211, _e216, _e221));
                    }
                    const float _e229 = v.x;
                    y[to + at_1.x] = _e229;
                    if (at_1.y <= last) {
                        const float _e237 = v.y;
                        y[to + at_1.y] = _e237;
                    }
                    if (at_1.z <= last) {
                        const float _e245 = v.z;
                        y[to + at_1.z] = _e245;
                    }
                    if (at_1.w <= last) {
                        const float _e253 = v.w;
                        y[to + at_1.w] = _e253;
                    }
                }
                const uint _e254 = c_1;
                c_1 = _e254 + 1024u;
            }
            roci_barrier_workgroup();
        }
        const uint _e257 = row;
        row = _e257 + groups.x;
    }
}
