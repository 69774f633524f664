// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint rows;
    uint columns;
} Params;
typedef struct { float e[256]; } array256_float;

typedef struct {
    local uint *scratch; // a word for each work-item
    uint index;          // of the work-item in its work-group
    uint count;          // of work-items in the work-group
} roci_subgroup;
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)
ROCI_FN local float *roci_subgroup_put_f32(private const roci_subgroup *sg, float a) {
    local float *scratch = (local float *)sg->scratch;
    scratch[sg->index] = a;
    roci_barrier_workgroup();
    return scratch;
}
ROCI_FN uint roci_subgroup_lane(private const roci_subgroup *sg) {
    return sg->index % ROCI_SUBGROUP_SIZE;
}
// One past the last work-item of the sub-group; the last sub-group may be partial.
ROCI_FN uint roci_subgroup_last(private const roci_subgroup *sg) {
    const uint last = sg->index - roci_subgroup_lane(sg) + ROCI_SUBGROUP_SIZE;
    return last < sg->count ? last : sg->count;
}
ROCI_FN float roci_combine_max_f32(float x, float y) {
    return y > x ? y : x;
}
ROCI_FN float roci_subgroup_max_f32(private const roci_subgroup *sg, float a) {
    local float *scratch = roci_subgroup_put_f32(sg, a);
    const uint lane = roci_subgroup_lane(sg);
    for (uint reach = ROCI_SUBGROUP_SIZE / 2u; reach > 0u; reach /= 2u) {
        if (lane < reach && sg->index + reach < roci_subgroup_last(sg)) {
            scratch[sg->index] = roci_combine_max_f32(scratch[sg->index], scratch[sg->index + reach]);
        }
        roci_barrier_workgroup();
    }
    const float result = scratch[sg->index - lane];
    roci_barrier_workgroup();
    return result;
}
ROCI_FN float roci_combine_add_f32(float x, float y) {
    return x + y;
}
ROCI_FN float roci_subgroup_add_f32(private const roci_subgroup *sg, float a) {
    local float *scratch = roci_subgroup_put_f32(sg, a);
    const uint lane = roci_subgroup_lane(sg);
    for (uint reach = ROCI_SUBGROUP_SIZE / 2u; reach > 0u; reach /= 2u) {
        if (lane < reach && sg->index + reach < roci_subgroup_last(sg)) {
            scratch[sg->index] = roci_combine_add_f32(scratch[sg->index], scratch[sg->index + reach]);
        }
        roci_barrier_workgroup();
    }
    const float result = scratch[sg->index - lane];
    roci_barrier_workgroup();
    return result;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void log_softmax(global const float *x, global float *y, Params params) {
    local array256_float partials;
    local uint roci_sg_scratch[256];
    const roci_subgroup roci_sg_value = {(local uint *)roci_sg_scratch, (uint)get_local_id(0), 256u};
    private const roci_subgroup *const roci_sg = &roci_sg_value;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
    const uint subgroup = ((uint)get_local_id(0)) / 32u;
    const uint subgroups = 8u;
    const uint subgroup_lane = ((uint)get_local_id(0)) % 32u;
    uint minus_infinity = 4286578688u;
    uint row = 0u;
    float local_max = 0.0f;
    uint c = 0u;
    float row_max = 0.0f;
    uint i = 0u;
    float sum = 0.0f;
    uint c_1 = 0u;
    float total = 0.0f;
    uint i_1 = 0u;
    uint c_2 = 0u;
    uint c_3 = 0u;
    row = group.x;
    while (true) {
        const uint _e10 = row;
        const uint _e13 = params.rows;
        if (!(_e10 < _e13)) {
            break;
        }
        {
            const uint _e15 = row;
            const uint _e18 = params.columns;
            const uint start = _e15 * _e18;
            const uint _e20 = minus_infinity;
            local_max = as_float(_e20);
            c = lane;
            while (true) {
                const uint _e24 = c;
                const uint _e27 = params.columns;
                if (!(_e24 < _e27)) {
                    break;
                }
                {
                    const float _e29 = local_max;
                    const uint _e31 = c;
                    const float _e34 = x[start + _e31];
                    local_max = fmax(_e29, _e34);
                }
                const uint _e36 = c;
                c = _e36 + 256u;
            }
            const float _e39 = local_max;
            const float subgroup_max = roci_subgroup_max_f32(roci_sg, _e39);
            if (subgroup_lane == 0u) {
                partials.e[subgroup] = subgroup_max;
            }
            roci_barrier_workgroup();
            const float _e47 = partials.e[0];
            row_max = _e47;
            i = 1u;
            while (true) {
                const uint _e51 = i;
                if (!(_e51 < subgroups)) {
                    break;
                }
                {
                    const float _e53 = row_max;
                    const uint _e55 = i;
                    const float _e57 = partials.e[_e55];
                    row_max = fmax(_e53, _e57);
                }
                const uint _e59 = i;
                i = _e59 + 1u;
            }
            roci_barrier_workgroup();
            sum = 0.0f;
            c_1 = lane;
            while (true) {
                const uint _e65 = c_1;
                const uint _e68 = params.columns;
                if (!(_e65 < _e68)) {
                    break;
                }
                {
                    const float _e70 = sum;
                    const uint _e72 = c_1;
                    const float _e75 = x[start + _e72];
                    const float _e76 = row_max;
                    sum = _e70 + exp(_e75 - _e76);
                }
                const uint _e80 = c_1;
                c_1 = _e80 + 256u;
            }
            const float _e83 = sum;
            const float subgroup_sum = roci_subgroup_add_f32(roci_sg, _e83);
            if (subgroup_lane == 0u) {
                partials.e[subgroup] = subgroup_sum;
            }
            roci_barrier_workgroup();
            const float _e91 = partials.e[0];
            total = _e91;
            i_1 = 1u;
            while (true) {
                const uint _e95 = i_1;
                if (!(_e95 < subgroups)) {
                    break;
                }
                {
                    const float _e97 = total;
                    const uint _e99 = i_1;
                    const float _e101 = partials.e[_e99];
                    total = _e97 + _e101;
                }
                const uint _e103 = i_1;
                i_1 = _e103 + 1u;
            }
            roci_barrier_workgroup();
            const float _e106 = total;
            const float log_sum = log(_e106);
            c_2 = lane;
            while (true) {
                const uint _e109 = c_2;
                const uint _e112 = params.columns;
                if (!(_e109 < _e112)) {
                    break;
                }
                {
                    const uint _e115 = c_2;
                    const uint _e119 = c_2;
                    const float _e122 = x[start + _e119];
                    const float _e123 = row_max;
                    y[start + _e115] = (_e122 - _e123) - log_sum;
                }
                const uint _e126 = c_2;
                c_2 = _e126 + 256u;
            }
        }
        const uint _e129 = row;
        row = _e129 + groups.x;
    }
}
