// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint outer;
    uint axis;
    uint inner;
} Params;
typedef struct { float e[256]; } array256_float;

typedef struct {
    local uint *scratch; // a word for each work-item
    uint index;          // of the work-item in its work-group
    uint count;          // of work-items in the work-group
} roci_subgroup;
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
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

ROCI_FN float identity(void) {
    uint minus_infinity = 4286578688u;
    const uint _e2 = minus_infinity;
    return false ? as_float(_e2) : 0.0f;
}

ROCI_FN float fold(float p, float q) {
    return p + q;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce_sum(global const float *x, global float *y, Params params) {
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
    uint output = 0u;
    float result = 0.0f;
    uint r = 0u;
    uint output_1 = 0u;
    float mine = 0.0f;
    uint r_1 = 0u;
    float folded = 0.0f;
    float result_1 = 0.0f;
    uint i = 0u;
    const uint _e8 = params.outer;
    const uint _e11 = params.inner;
    const uint outputs = _e8 * _e11;
    const uint _e15 = params.inner;
    if (_e15 >= 32u) {
        output = (group.x * 256u) + lane;
        while (true) {
            const uint _e23 = output;
            if (!(_e23 < outputs)) {
                break;
            }
            {
                const uint _e25 = output;
                const uint _e28 = params.inner;
                const uint _e32 = params.axis;
                const uint _e36 = params.inner;
                const uint _e38 = output;
                const uint _e41 = params.inner;
                const uint start = ((roci_div_u32(_e25, _e28) * _e32) * _e36) + roci_mod_u32(_e38, _e41);
                const float _e44 = identity();
                result = _e44;
                r = 0u;
                while (true) {
                    const uint _e48 = r;
                    const uint _e51 = params.axis;
                    if (!(_e48 < _e51)) {
                        break;
                    }
                    {
                        const float _e53 = result;
                        const uint _e55 = r;
                        const uint _e58 = params.inner;
                        const float _e62 = x[start + (_e55 * _e58)];
                        const float _e63 = fold(_e53, _e62);
                        result = _e63;
                    }
                    const uint _e64 = r;
                    r = _e64 + 1u;
                }
                const uint _e68 = output;
                const float _e70 = result;
                y[_e68] = _e70;
            }
            const uint _e71 = output;
            output = _e71 + (groups.x * 256u);
        }
        return;
    }
    output_1 = group.x;
    while (true) {
        const uint _e78 = output_1;
        if (!(_e78 < outputs)) {
            break;
        }
        {
            const uint _e80 = output_1;
            const uint _e83 = params.inner;
            const uint _e87 = params.axis;
            const uint _e91 = params.inner;
            const uint _e93 = output_1;
            const uint _e96 = params.inner;
            const uint start_1 = ((roci_div_u32(_e80, _e83) * _e87) * _e91) + roci_mod_u32(_e93, _e96);
            const float _e99 = identity();
            mine = _e99;
            r_1 = lane;
            while (true) {
                const uint _e102 = r_1;
                const uint _e105 = params.axis;
                if (!(_e102 < _e105)) {
                    break;
                }
                {
                    const float _e107 = mine;
                    const uint _e109 = r_1;
                    const uint _e112 = params.inner;
                    const float _e116 = x[start_1 + (_e109 * _e112)];
                    const float _e117 = fold(_e107, _e116);
                    mine = _e117;
                }
                const uint _e118 = r_1;
                r_1 = _e118 + 256u;
            }
            folded = 0.0f;
            const float _e123 = mine;
            const float _e124 = roci_subgroup_add_f32(roci_sg, _e123);
            folded = _e124;
            if (subgroup_lane == 0u) {
                const float _e129 = folded;
                partials.e[subgroup] = _e129;
            }
            roci_barrier_workgroup();
            if (lane == 0u) {
                const float _e134 = partials.e[0];
                result_1 = _e134;
                i = 1u;
                while (true) {
                    const uint _e138 = i;
                    if (!(_e138 < subgroups)) {
                        break;
                    }
                    {
                        const float _e140 = result_1;
                        const uint _e142 = i;
                        const float _e144 = partials.e[_e142];
                        const float _e145 = fold(_e140, _e144);
                        result_1 = _e145;
                    }
                    const uint _e146 = i;
                    i = _e146 + 1u;
                }
                const uint _e150 = output_1;
                const float _e152 = result_1;
                y[_e150] = _e152;
            }
            roci_barrier_workgroup();
        }
        const uint _e153 = output_1;
        output_1 = _e153 + groups.x;
    }
}
