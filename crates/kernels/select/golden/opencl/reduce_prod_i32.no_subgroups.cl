// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint outer;
    uint axis;
    uint inner;
} Params;
typedef struct { uint e[256]; } array256_uint;

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
ROCI_FN local uint *roci_subgroup_put_u32(private const roci_subgroup *sg, uint a) {
    local uint *scratch = (local uint *)sg->scratch;
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
ROCI_FN uint roci_combine_mul_u32(uint x, uint y) {
    return (uint)((uint)x * (uint)y);
}
ROCI_FN uint roci_subgroup_mul_u32(private const roci_subgroup *sg, uint a) {
    local uint *scratch = roci_subgroup_put_u32(sg, a);
    const uint lane = roci_subgroup_lane(sg);
    for (uint reach = ROCI_SUBGROUP_SIZE / 2u; reach > 0u; reach /= 2u) {
        if (lane < reach && sg->index + reach < roci_subgroup_last(sg)) {
            scratch[sg->index] = roci_combine_mul_u32(scratch[sg->index], scratch[sg->index + reach]);
        }
        roci_barrier_workgroup();
    }
    const uint result = scratch[sg->index - lane];
    roci_barrier_workgroup();
    return result;
}

ROCI_FN uint identity(void) {
    return 1u;
}

ROCI_FN uint to_key(uint value) {
    return value;
}

ROCI_FN uint from_key(uint value_1) {
    return value_1;
}

ROCI_FN uint fold(uint p, uint q) {
    return p * q;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce_prod_i32(global const uint *x, global uint *y, Params params) {
    local array256_uint partials;
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
    uint result = 0u;
    uint r = 0u;
    uint output_1 = 0u;
    uint partial = 0u;
    uint r_1 = 0u;
    uint subgroup_result = 0u;
    uint result_1 = 0u;
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
                const uint _e44 = identity();
                result = _e44;
                r = 0u;
                while (true) {
                    const uint _e48 = r;
                    const uint _e51 = params.axis;
                    if (!(_e48 < _e51)) {
                        break;
                    }
                    {
                        const uint _e53 = result;
                        const uint _e55 = r;
                        const uint _e58 = params.inner;
                        const uint _e62 = x[start + (_e55 * _e58)];
                        const uint _e63 = to_key(_e62);
                        const uint _e64 = fold(_e53, _e63);
                        result = _e64;
                    }
                    const uint _e65 = r;
                    r = _e65 + 1u;
                }
                const uint _e69 = output;
                const uint _e71 = result;
                const uint _e72 = from_key(_e71);
                y[_e69] = _e72;
            }
            const uint _e73 = output;
            output = _e73 + (groups.x * 256u);
        }
        return;
    }
    output_1 = group.x;
    while (true) {
        const uint _e80 = output_1;
        if (!(_e80 < outputs)) {
            break;
        }
        {
            const uint _e82 = output_1;
            const uint _e85 = params.inner;
            const uint _e89 = params.axis;
            const uint _e93 = params.inner;
            const uint _e95 = output_1;
            const uint _e98 = params.inner;
            const uint start_1 = ((roci_div_u32(_e82, _e85) * _e89) * _e93) + roci_mod_u32(_e95, _e98);
            const uint _e101 = identity();
            partial = _e101;
            r_1 = lane;
            while (true) {
                const uint _e104 = r_1;
                const uint _e107 = params.axis;
                if (!(_e104 < _e107)) {
                    break;
                }
                {
                    const uint _e109 = partial;
                    const uint _e111 = r_1;
                    const uint _e114 = params.inner;
                    const uint _e118 = x[start_1 + (_e111 * _e114)];
                    const uint _e119 = to_key(_e118);
                    const uint _e120 = fold(_e109, _e119);
                    partial = _e120;
                }
                const uint _e121 = r_1;
                r_1 = _e121 + 256u;
            }
            subgroup_result = 0u;
            const uint _e126 = partial;
            const uint _e127 = roci_subgroup_mul_u32(roci_sg, _e126);
            subgroup_result = _e127;
            if (subgroup_lane == 0u) {
                const uint _e132 = subgroup_result;
                partials.e[subgroup] = _e132;
            }
            roci_barrier_workgroup();
            if (lane == 0u) {
                const uint _e137 = partials.e[0];
                result_1 = _e137;
                i = 1u;
                while (true) {
                    const uint _e141 = i;
                    if (!(_e141 < subgroups)) {
                        break;
                    }
                    {
                        const uint _e143 = result_1;
                        const uint _e145 = i;
                        const uint _e147 = partials.e[_e145];
                        const uint _e148 = fold(_e143, _e147);
                        result_1 = _e148;
                    }
                    const uint _e149 = i;
                    i = _e149 + 1u;
                }
                const uint _e153 = output_1;
                const uint _e155 = result_1;
                const uint _e156 = from_key(_e155);
                y[_e153] = _e156;
            }
            roci_barrier_workgroup();
        }
        const uint _e157 = output_1;
        output_1 = _e157 + groups.x;
    }
}
