// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint m;
    uint n;
    uint k;
    uint lda;
    uint ldb;
    uint ldc;
    uint batches;
    uint batch_a;
    uint batch_b;
    uint batch_c;
    uint flags;
    float low;
    float high;
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
#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
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

ROCI_FN float4 load_a(uint at, global const float *a) {
    const float _e3 = a[at];
    const float _e9 = a[at + 1u];
    const float _e15 = a[at + 2u];
    const float _e21 = a[at + 3u];
    return (float4)(_e3, _e9, _e15, _e21);
}

ROCI_FN void finish(uint at_1, uint column_1, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v = 0.0f;
    v = sum_1;
    const uint _e6 = (*params).flags;
    if ((_e6 & 1u) != 0u) {
        const float _e11 = v;
        const float _e14 = bias[column_1];
        v = _e11 + _e14;
    }
    const uint _e18 = (*params).flags;
    if ((_e18 & 2u) != 0u) {
        const float _e23 = v;
        const float _e26 = y[at_1];
        v = _e23 + _e26;
    }
    const uint _e30 = (*params).flags;
    if ((_e30 & 4u) != 0u) {
        const float _e35 = v;
        const bool is_number = (as_uint(_e35) & 2147483647u) <= 2139095040u;
        const float _e41 = v;
        const float _e42 = v;
        const float _e45 = (*params).low;
        const float _e50 = (*params).high;
        v = is_number ? __builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e42, _e45), _e50) : _e41;
    }
    const float _e56 = v;
    y[at_1] = _e56;
}

ROCI_FN bool has_function(private const Params *params) {
    const uint _e2 = (*params).flags;
    return (_e2 & 24u) != 0u;
}

ROCI_FN float scaled(float v_1, int n) {
    const int lower = n / 2;
    return (v_1 * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float exponential_rest(float v_2) {
    return 0.5f + (v_2 * (0.16666669f + (v_2 * (0.041666668f + (v_2 * (0.008333019f + (v_2 * (0.0013888575f + (v_2 * (0.00020015593f + (v_2 * 2.4975792e-5f)))))))))));
}

ROCI_FN bool is_nan(float v_3) {
    return (as_uint(v_3) & 2147483647u) > 2139095040u;
}

ROCI_FN float exponential(float v_4) {
    const float bounded = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_4, -104.0f), 89.0f);
    const float n_1 = __builtin_elementwise_roundeven(bounded * 1.442695f);
    const float r = (bounded - (n_1 * 0.6933594f)) + (n_1 * 0.00021219444f);
    const float _e14 = exponential_rest(r);
    const float value = scaled(1.0f + (r + ((r * r) * _e14)), roci_f32_to_i32(n_1));
    const bool _e21 = is_nan(v_4);
    return _e21 ? v_4 : value;
}

ROCI_FN float erfc_positive(float z) {
    float p = 0.14804605f;
    const float t = 1.0f / (1.0f + (0.5f * z));
    const float _e9 = p;
    p = (_e9 * t) - 0.6975366f;
    const float _e13 = p;
    p = (_e13 * t) + 1.1953276f;
    const float _e17 = p;
    p = (_e17 * t) - 0.7464699f;
    const float _e21 = p;
    p = (_e21 * t) - 0.039866325f;
    const float _e25 = p;
    p = (_e25 * t) - 0.019507999f;
    const float _e29 = p;
    p = (_e29 * t) + 0.041395962f;
    const float _e33 = p;
    p = (_e33 * t) + 0.38528362f;
    const float _e37 = p;
    p = (_e37 * t) + 0.99878246f;
    const float _e41 = p;
    p = (_e41 * t) - 1.2654549f;
    const float _e45 = p;
    const float _e48 = exponential(_e45 - (z * z));
    return t * _e48;
}

ROCI_FN float gelu(float v_5) {
    const float bounded_1 = (v_5 < (-20.0f)) ? (-20.0f) : v_5;
    const float _e8 = erfc_positive(__builtin_elementwise_abs(bounded_1) * 0.70710677f);
    const float tail = 0.5f * _e8;
    return bounded_1 * ((v_5 < 0.0f) ? tail : (1.0f - tail));
}

ROCI_FN float function_of(float v_6, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 8u) != 0u) {
        const float _e8 = gelu(v_6);
        return _e8;
    }
    return v_6 / (1.0f + __builtin_elementwise_exp(-v_6));
}

ROCI_FN float each(float v_7, private const Params *params) {
    const float _e1 = function_of(v_7, params);
    return _e1;
}

ROCI_FN void apply_function(uint at_2, private const Params *params, global float *y) {
    const float _e5 = y[at_2];
    const float _e6 = each(_e5, params);
    y[at_2] = _e6;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void linear_row_f32(global const float *a, global const float *x, global const float *bias, global float *y, Params params) {
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
                    const float4 v_8 = (float4)(_e52, _e58, _e64, _e70);
                    const float _e73 = mine.x;
                    const uint _e75 = column;
                    const float4 _e77 = load_a(starts.x + _e75, a);
                    mine.x = _e73 + roci_dot_float4(_e77, v_8);
                    const float _e81 = mine.y;
                    const uint _e83 = column;
                    const float4 _e85 = load_a(starts.y + _e83, a);
                    mine.y = _e81 + roci_dot_float4(_e85, v_8);
                    const float _e89 = mine.z;
                    const uint _e91 = column;
                    const float4 _e93 = load_a(starts.z + _e91, a);
                    mine.z = _e89 + roci_dot_float4(_e93, v_8);
                    const float _e97 = mine.w;
                    const uint _e99 = column;
                    const float4 _e101 = load_a(starts.w + _e99, a);
                    mine.w = _e97 + roci_dot_float4(_e101, v_8);
                }
                const uint _e104 = column;
                column = _e104 + 1024u;
            }
            const uint _e109 = params.k;
            const uint column_2 = (_e109 & 4294967292u) + lane;
            const uint _e115 = params.k;
            if (column_2 < _e115) {
                const float _e121 = a[starts.x + column_2];
                const float _e127 = a[starts.y + column_2];
                const float _e133 = a[starts.z + column_2];
                const float _e139 = a[starts.w + column_2];
                const float4 last = (float4)(_e121, _e127, _e133, _e139);
                const float4 _e142 = mine;
                const float _e145 = x[column_2];
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
                finish(_e182 + lane, _e184 + lane, _e186, &params, bias, y);
                const bool _e187 = has_function(&params);
                if (_e187) {
                    const uint _e188 = row;
                    apply_function(_e188 + lane, &params, y);
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e190 = row;
        row = _e190 + (groups.x * 4u);
    }
}
