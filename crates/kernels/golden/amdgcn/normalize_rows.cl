// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint rows;
    uint columns;
    float epsilon;
    uint centred;
} Params;
typedef struct {
    float mean;
    float rest;
    float inverse;
} Moments;
typedef struct { float e[256]; } array256_float;

ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

ROCI_FN float total(float mine, uint lane_1, local array256_float *sums) {
    uint step_ = 128u;
    (*sums).e[lane_1] = mine;
    roci_barrier_workgroup();
    while (true) {
        const uint _e6 = step_;
        if (!(_e6 > 0u)) {
            break;
        }
        {
            const uint _e9 = step_;
            if (lane_1 < _e9) {
                const float _e13 = (*sums).e[lane_1];
                const uint _e15 = step_;
                const float _e18 = (*sums).e[lane_1 + _e15];
                (*sums).e[lane_1] = _e13 + _e18;
            }
            roci_barrier_workgroup();
        }
        const uint _e20 = step_;
        step_ = _e20 / 2u;
    }
    const float result = (*sums).e[0];
    roci_barrier_workgroup();
    return result;
}

ROCI_FN Moments moments_of(uint start, uint lane_2, private const Params *params, global const float *x, local array256_float *sums) {
    float mean = 0.0f;
    float sum = 0.0f;
    uint block = 0u;
    float part = 0.0f;
    uint c_1 = 0u;
    float sum_1 = 0.0f;
    float squares = 0.0f;
    uint block_1 = 0u;
    float part_1 = 0.0f;
    float square = 0.0f;
    uint c_2 = 0u;
    float rest = 0.0f;
    bool local_ = false;
    const uint _e6 = (*params).centred;
    if (_e6 != 0u) {
        block = lane_2;
        while (true) {
            const uint _e12 = block;
            const uint _e15 = (*params).columns;
            if (!(_e12 < _e15)) {
                break;
            }
            {
                part = 0.0f;
                const uint _e19 = block;
                c_1 = _e19;
                while (true) {
                    const uint _e21 = c_1;
                    const uint _e22 = block;
                    const uint _e27 = (*params).columns;
                    if (!(_e21 < __builtin_elementwise_min(_e22 + 8192u, _e27))) {
                        break;
                    }
                    {
                        const float _e30 = part;
                        const uint _e32 = c_1;
                        const float _e35 = x[start + _e32];
                        part = _e30 + _e35;
                    }
                    const uint _e37 = c_1;
                    c_1 = _e37 + 256u;
                }
                const float _e40 = sum;
                const float _e41 = part;
                sum = _e40 + _e41;
            }
            const uint _e43 = block;
            block = _e43 + 8192u;
        }
        const float _e46 = sum;
        const float _e47 = total(_e46, lane_2, sums);
        const uint _e50 = (*params).columns;
        mean = _e47 / ((float)_e50);
    }
    block_1 = lane_2;
    while (true) {
        const uint _e58 = block_1;
        const uint _e61 = (*params).columns;
        if (!(_e58 < _e61)) {
            break;
        }
        {
            part_1 = 0.0f;
            square = 0.0f;
            const uint _e67 = block_1;
            c_2 = _e67;
            while (true) {
                const uint _e69 = c_2;
                const uint _e70 = block_1;
                const uint _e75 = (*params).columns;
                if (!(_e69 < __builtin_elementwise_min(_e70 + 8192u, _e75))) {
                    break;
                }
                {
                    const uint _e79 = c_2;
                    const float _e82 = x[start + _e79];
                    const float _e83 = mean;
                    const float way = _e82 - _e83;
                    const float _e85 = part_1;
                    part_1 = _e85 + way;
                    const float _e87 = square;
                    square = _e87 + (way * way);
                }
                const uint _e90 = c_2;
                c_2 = _e90 + 256u;
            }
            const float _e93 = sum_1;
            const float _e94 = part_1;
            sum_1 = _e93 + _e94;
            const float _e96 = squares;
            const float _e97 = square;
            squares = _e96 + _e97;
        }
        const uint _e99 = block_1;
        block_1 = _e99 + 8192u;
    }
    const uint _e106 = (*params).centred;
    if (_e106 != 0u) {
        const float _e109 = sum_1;
        const float _e110 = total(_e109, lane_2, sums);
        const uint _e113 = (*params).columns;
        rest = _e110 / ((float)_e113);
    }
    const float _e116 = squares;
    const float _e117 = total(_e116, lane_2, sums);
    const uint _e120 = (*params).columns;
    const float _e123 = rest;
    const float _e124 = rest;
    const float variance = (_e117 / ((float)_e120)) - (_e123 * _e124);
    const uint bits = as_uint(variance);
    if (bits > 2147483648u) {
        local_ = bits <= 4286578688u;
    } else {
        local_ = false;
    }
    const bool _e135 = local_;
    const float held = _e135 ? 0.0f : variance;
    const float _e138 = mean;
    const float _e139 = rest;
    const float _e142 = (*params).epsilon;
    return (Moments){.mean = _e138, .rest = _e139, .inverse = (1.0f / __builtin_elementwise_sqrt(held + _e142))};
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void normalize_rows(global const float *x, global float *y, Params params) {
    local array256_float sums;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint row = 0u;
    uint c = 0u;
    row = group.x;
    while (true) {
        const uint _e5 = row;
        const uint _e8 = params.rows;
        if (!(_e5 < _e8)) {
            break;
        }
        {
            const uint _e10 = row;
            const uint _e13 = params.columns;
            const uint start_1 = _e10 * _e13;
            const Moments moments = moments_of(start_1, lane, &params, x, &sums);
            c = lane;
            while (true) {
                const uint _e17 = c;
                const uint _e20 = params.columns;
                if (!(_e17 < _e20)) {
                    break;
                }
                {
                    const uint _e23 = c;
                    const uint _e27 = c;
                    const float _e30 = x[start_1 + _e27];
                    y[start_1 + _e23] = ((_e30 - moments.mean) - moments.rest) * moments.inverse;
                }
                const uint _e37 = c;
                c = _e37 + 256u;
            }
        }
        const uint _e40 = row;
        row = _e40 + groups.x;
    }
}
