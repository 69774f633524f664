// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint rows;
    uint columns;
} Params;
typedef struct { float e[256]; } array256_float;

ROCI_FN uint roci_lane(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}
// One bit for each work-item of the wave that is here.
ROCI_FN ulong roci_active(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_ballot_w64(true);
#else
    return __builtin_amdgcn_ballot_w32(true);
#endif
}
ROCI_FN bool roci_whole_wave(void) {
    return roci_active() == (ROCI_SUBGROUP_SIZE > 32u ? ~0ul : 0xfffffffful);
}
ROCI_FN float roci_read_lane_f32(float a, uint lane) {
    return as_float(__builtin_amdgcn_readlane(as_int(a), (int)lane));
}
ROCI_FN float roci_combine_max_f32(float x, float y) {
    return y > x ? y : x;
}
// Some work-items are missing: one after the other.
ROCI_FN float roci_subgroup_max_any_f32(float a) {
    ulong left = roci_active();
    float result = roci_read_lane_f32(a, (uint)__builtin_ctzl(left));
    for (left &= left - 1; left != 0; left &= left - 1) {
        result = roci_combine_max_f32(result, roci_read_lane_f32(a, (uint)__builtin_ctzl(left)));
    }
    return result;
}
// A lane's partner under a fixed pattern: within a row of 16 by data-parallel primitives, beyond it by a swizzle.
#define ROCI_SWAP(a, control) __builtin_amdgcn_update_dpp(0, (a), (control), 0xf, 0xf, true)
#define ROCI_SWAP_ROWS(a) __builtin_amdgcn_ds_swizzle((a), 0x401f)
ROCI_FN float roci_subgroup_max_f32(float a) {
    if (!roci_whole_wave()) {
        return roci_subgroup_max_any_f32(a);
    }
    // Partners at distance 1, 2, then halves and wholes of a row mirrored, which are all alike by then.
    a = roci_combine_max_f32(a, as_float(ROCI_SWAP(as_int(a), 0xb1)));
    a = roci_combine_max_f32(a, as_float(ROCI_SWAP(as_int(a), 0x4e)));
    a = roci_combine_max_f32(a, as_float(ROCI_SWAP(as_int(a), 0x141)));
    a = roci_combine_max_f32(a, as_float(ROCI_SWAP(as_int(a), 0x140)));
    a = roci_combine_max_f32(a, as_float(ROCI_SWAP_ROWS(as_int(a))));
#if ROCI_SUBGROUP_SIZE > 32
    a = roci_combine_max_f32(roci_read_lane_f32(a, 0u), roci_read_lane_f32(a, 32u));
#endif
    return a;
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
ROCI_FN float roci_combine_add_f32(float x, float y) {
    return x + y;
}
// Some work-items are missing: one after the other.
ROCI_FN float roci_subgroup_add_any_f32(float a) {
    ulong left = roci_active();
    float result = roci_read_lane_f32(a, (uint)__builtin_ctzl(left));
    for (left &= left - 1; left != 0; left &= left - 1) {
        result = roci_combine_add_f32(result, roci_read_lane_f32(a, (uint)__builtin_ctzl(left)));
    }
    return result;
}
ROCI_FN float roci_subgroup_add_f32(float a) {
    if (!roci_whole_wave()) {
        return roci_subgroup_add_any_f32(a);
    }
    // Partners at distance 1, 2, then halves and wholes of a row mirrored, which are all alike by then.
    a = roci_combine_add_f32(a, as_float(ROCI_SWAP(as_int(a), 0xb1)));
    a = roci_combine_add_f32(a, as_float(ROCI_SWAP(as_int(a), 0x4e)));
    a = roci_combine_add_f32(a, as_float(ROCI_SWAP(as_int(a), 0x141)));
    a = roci_combine_add_f32(a, as_float(ROCI_SWAP(as_int(a), 0x140)));
    a = roci_combine_add_f32(a, as_float(ROCI_SWAP_ROWS(as_int(a))));
#if ROCI_SUBGROUP_SIZE > 32
    a = roci_combine_add_f32(roci_read_lane_f32(a, 0u), roci_read_lane_f32(a, 32u));
#endif
    return a;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void log_softmax(global const float *x, global float *y, Params params) {
    local array256_float partials;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    const uint subgroup = (__builtin_amdgcn_workitem_id_x()) / 32u;
    const uint subgroups = 8u;
    const uint subgroup_lane = roci_lane();
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
                    local_max = __builtin_elementwise_maxnum(_e29, _e34);
                }
                const uint _e36 = c;
                c = _e36 + 256u;
            }
            const float _e39 = local_max;
            const float subgroup_max = roci_subgroup_max_f32(_e39);
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
                    row_max = __builtin_elementwise_maxnum(_e53, _e57);
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
                    sum = _e70 + __builtin_elementwise_exp(_e75 - _e76);
                }
                const uint _e80 = c_1;
                c_1 = _e80 + 256u;
            }
            const float _e83 = sum;
            const float subgroup_sum = roci_subgroup_add_f32(_e83);
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
            const float log_sum = __builtin_elementwise_log(_e106);
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
