// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint m;
    uint k;
    uint lda;
} Params;
typedef struct { float4 e[256]; } array256_float4_;

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
// A lane's partner under a fixed pattern: within a row of 16 by data-parallel primitives, beyond it by a swizzle.
#define ROCI_SWAP(a, control) __builtin_amdgcn_update_dpp(0, (a), (control), 0xf, 0xf, true)
#define ROCI_SWAP_ROWS(a) __builtin_amdgcn_ds_swizzle((a), 0x401f)
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
ROCI_FN uint roci_lane(void) {
#if ROCI_SUBGROUP_SIZE > 32
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
    return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
ROCI_FN float4 roci_subgroup_add_f32x4(float4 a) {
    return (float4)(roci_subgroup_add_f32(a.x), roci_subgroup_add_f32(a.y), roci_subgroup_add_f32(a.z), roci_subgroup_add_f32(a.w));
}

ROCI_FN float4 load_a(uint at, global const half *a) {
    const half _e3 = a[at];
    const half _e9 = a[at + 1u];
    const half _e15 = a[at + 2u];
    const half _e21 = a[at + 3u];
    return (float4)((float)_e3, (float)_e9, (float)_e15, (float)_e21);
}

ROCI_FN void finish(uint at_1, uint row_1, float sum_1, global float *y) {
    y[at_1] = sum_1;
}

ROCI_FN bool has_function(void) {
    return false;
}

ROCI_FN void apply_function(uint at_2) {
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void matvec_f16(global const half *a, global const float *x, global float *y, Params params) {
    local array256_float4_ partials;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    const uint subgroup = (__builtin_amdgcn_workitem_id_x()) / 32u;
    const uint subgroups = 8u;
    const uint subgroup_lane = roci_lane();
    uint row = 0u;
    float4 mine = (float4)(0.0f);
    uint column = 0u;
    bool local_ = false;
    float sum = 0.0f;
    uint i = 0u;
    row = group.x * 4u;
    while (true) {
        const uint _e10 = row;
        const uint _e13 = params.m;
        if (!(_e10 < _e13)) {
            break;
        }
        {
            const uint _e15 = row;
            const uint _e16 = row;
            const uint _e19 = row;
            const uint _e22 = row;
            const uint _e28 = params.m;
            const uint _e35 = params.lda;
            const uint4 starts = __builtin_elementwise_min((uint4)(_e15, _e16 + 1u, _e19 + 2u, _e22 + 3u), (uint4)((_e28 - 1u))) * ((uint4)(_e35));
            mine = (float4)(0.0f);
            column = lane * 4u;
            while (true) {
                const uint _e42 = column;
                const uint _e47 = params.k;
                if (!((_e42 + 3u) < _e47)) {
                    break;
                }
                {
                    const uint _e50 = column;
                    const float _e52 = x[_e50];
                    const uint _e54 = column;
                    const float _e58 = x[_e54 + 1u];
                    const uint _e60 = column;
                    const float _e64 = x[_e60 + 2u];
                    const uint _e66 = column;
                    const float _e70 = x[_e66 + 3u];
                    const float4 v = (float4)(_e52, _e58, _e64, _e70);
                    const float _e73 = mine.x;
                    const uint _e75 = column;
                    const float4 _e77 = load_a(starts.x + _e75, a);
                    mine.x = _e73 + roci_dot_float4(_e77, v);
                    const float _e81 = mine.y;
                    const uint _e83 = column;
                    const float4 _e85 = load_a(starts.y + _e83, a);
                    mine.y = _e81 + roci_dot_float4(_e85, v);
                    const float _e89 = mine.z;
                    const uint _e91 = column;
                    const float4 _e93 = load_a(starts.z + _e91, a);
                    mine.z = _e89 + roci_dot_float4(_e93, v);
                    const float _e97 = mine.w;
                    const uint _e99 = column;
                    const float4 _e101 = load_a(starts.w + _e99, a);
                    mine.w = _e97 + roci_dot_float4(_e101, v);
                }
                const uint _e104 = column;
                column = _e104 + 1024u;
            }
            const uint _e109 = params.k;
            const uint column_1 = (_e109 & 4294967292u) + lane;
            const uint _e115 = params.k;
            if (column_1 < _e115) {
                const half _e121 = a[starts.x + column_1];
                const half _e127 = a[starts.y + column_1];
                const half _e133 = a[starts.z + column_1];
                const half _e139 = a[starts.w + column_1];
                const float4 last = (float4)((float)_e121, (float)_e127, (float)_e133, (float)_e139);
                const float4 _e142 = mine;
                const float _e145 = x[column_1];
                mine = _e142 + (last * _e145);
            }
            const float4 _e148 = mine;
            const float4 subgroup_sum = roci_subgroup_add_f32x4(_e148);
            if (subgroup_lane == 0u) {
                partials.e[subgroup] = subgroup_sum;
            }
            roci_barrier_workgroup();
            if (lane < 4u) {
                const uint _e158 = row;
                const uint _e162 = params.m;
                local_ = (_e158 + lane) < _e162;
            } else {
                local_ = false;
            }
            const bool _e165 = local_;
            if (_e165) {
                sum = 0.0f;
                i = 0u;
                while (true) {
                    const uint _e170 = i;
                    if (!(_e170 < subgroups)) {
                        break;
                    }
                    {
                        const float _e172 = sum;
                        const uint _e174 = i;
                        const float _e177 = ((local float *)&partials.e[_e174])[lane];
                        sum = _e172 + _e177;
                    }
                    const uint _e179 = i;
                    i = _e179 + 1u;
                }
                const uint _e182 = row;
                const uint _e184 = row;
                const float _e186 = sum;
                finish(_e182 + lane, _e184 + lane, _e186, y);
                const bool _e187 = has_function();
                if (_e187) {
                    const uint _e188 = row;
                    apply_function(_e188 + lane);
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e190 = row;
        row = _e190 + (groups.x * 4u);
    }
}
