// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint outer;
    uint axis;
    uint inner;
} Params;
typedef struct { uint e[256]; } array256_uint;

ROCI_FN uint roci_lane(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
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
ROCI_FN uint roci_read_lane_u32(uint a, uint lane) {
    return as_uint(__builtin_amdgcn_readlane(as_int(a), (int)lane));
}
ROCI_FN uint roci_combine_mul_u32(uint x, uint y) {
    return (uint)((uint)x * (uint)y);
}
// Some work-items are missing: one after the other.
ROCI_FN uint roci_subgroup_mul_any_u32(uint a) {
    ulong left = roci_active();
    uint result = roci_read_lane_u32(a, (uint)__builtin_ctzl(left));
    for (left &= left - 1; left != 0; left &= left - 1) {
        result = roci_combine_mul_u32(result, roci_read_lane_u32(a, (uint)__builtin_ctzl(left)));
    }
    return result;
}
// A lane's partner under a fixed pattern: within a row of 16 by data-parallel primitives, beyond it by a swizzle.
#define ROCI_SWAP(a, control) __builtin_amdgcn_update_dpp(0, (a), (control), 0xf, 0xf, true)
#define ROCI_SWAP_ROWS(a) __builtin_amdgcn_ds_swizzle((a), 0x401f)
ROCI_FN uint roci_subgroup_mul_u32(uint a) {
    if (!roci_whole_wave()) {
        return roci_subgroup_mul_any_u32(a);
    }
    // Partners at distance 1, 2, then halves and wholes of a row mirrored, which are all alike by then.
    a = roci_combine_mul_u32(a, as_uint(ROCI_SWAP(as_int(a), 0xb1)));
    a = roci_combine_mul_u32(a, as_uint(ROCI_SWAP(as_int(a), 0x4e)));
    a = roci_combine_mul_u32(a, as_uint(ROCI_SWAP(as_int(a), 0x141)));
    a = roci_combine_mul_u32(a, as_uint(ROCI_SWAP(as_int(a), 0x140)));
    a = roci_combine_mul_u32(a, as_uint(ROCI_SWAP_ROWS(as_int(a))));
#if ROCI_SUBGROUP_SIZE > 32
    a = roci_combine_mul_u32(roci_read_lane_u32(a, 0u), roci_read_lane_u32(a, 32u));
#endif
    return a;
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
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
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    const uint subgroup = (__builtin_amdgcn_workitem_id_x()) / 32u;
    const uint subgroups = 8u;
    const uint subgroup_lane = roci_lane();
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
            const uint _e127 = roci_subgroup_mul_u32(_e126);
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
