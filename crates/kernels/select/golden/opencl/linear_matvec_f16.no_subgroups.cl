// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
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
#define roci_fmin fmin
#define roci_fmax fmax
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
ROCI_FN float4 roci_subgroup_add_f32x4(private const roci_subgroup * a, float4 b) {
    return (float4)(roci_subgroup_add_f32(a, b.x), roci_subgroup_add_f32(a, b.y), roci_subgroup_add_f32(a, b.z), roci_subgroup_add_f32(a, b.w));
}

ROCI_FN float4 load_a(uint at, global const half *a) {
    const half _e3 = a[at];
    const half _e9 = a[at + 1u];
    const half _e15 = a[at + 2u];
    const half _e21 = a[at + 3u];
    return (float4)((float)_e3, (float)_e9, (float)_e15, (float)_e21);
}

ROCI_FN void epilogue(uint at_1, uint column_1, float sum_1, private const Params *params, global const float *bias, global float *y) {
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
        const bool not_nan = (as_uint(_e35) & 2147483647u) <= 2139095040u;
        const float _e41 = v;
        const float _e42 = v;
        const float _e45 = (*params).low;
        const float _e50 = (*params).high;
        v = not_nan ? fmin(fmax(_e42, _e45), _e50) : _e41;
    }
    const float _e56 = v;
    y[at_1] = _e56;
}

ROCI_FN bool has_activation(private const Params *params) {
    const uint _e2 = (*params).flags;
    return (_e2 & 24u) != 0u;
}

ROCI_FN float mul_pow2_(float v_1, int n) {
    const int lower = n / 2;
    return (v_1 * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float expm1_polynomial(float v_2) {
    return 0.5f + (v_2 * (0.16666669f + (v_2 * (0.041666668f + (v_2 * (0.008333019f + (v_2 * (0.0013888575f + (v_2 * (0.00020015593f + (v_2 * 2.4975792e-5f)))))))))));
}

ROCI_FN bool is_nan(float v_3) {
    return (as_uint(v_3) & 2147483647u) > 2139095040u;
}

ROCI_FN float precise_exp(float v_4) {
    const float bounded = fmin(fmax(v_4, -104.0f), 89.0f);
    const float n_1 = rint(bounded * 1.442695f);
    const float r = (bounded - (n_1 * 0.6933594f)) + (n_1 * 0.00021219444f);
    const float _e14 = expm1_polynomial(r);
    const float value = mul_pow2_(1.0f + (r + ((r * r) * _e14)), roci_f32_to_i32(n_1));
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
    const float _e48 = precise_exp(_e45 - (z * z));
    return t * _e48;
}

ROCI_FN float gelu(float v_5) {
    const float bounded_1 = (v_5 < (-20.0f)) ? (-20.0f) : v_5;
    const float _e8 = erfc_positive(fabs(bounded_1) * 0.70710677f);
    const float tail = 0.5f * _e8;
    return bounded_1 * ((v_5 < 0.0f) ? tail : (1.0f - tail));
}

ROCI_FN float activation(float v_6, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 8u) != 0u) {
        const float _e8 = gelu(v_6);
        return _e8;
    }
    return v_6 / (1.0f + exp(-v_6));
}

ROCI_FN float activate(float v_7, private const Params *params) {
    const float _e1 = activation(v_7, params);
    return _e1;
}

ROCI_FN void apply_activation(uint at_2, private const Params *params, global float *y) {
    const float _e5 = y[at_2];
    const float _e6 = activate(_e5, params);
    y[at_2] = _e6;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void linear_matvec_f16(global const half *a, global const float *x, global const float *bias, global float *y, Params params) {
    local array256_float4_ partials;
    local uint roci_sg_scratch[256];
    const roci_subgroup roci_sg_value = {(local uint *)roci_sg_scratch, (uint)get_local_id(0), 256u};
    private const roci_subgroup *const roci_sg = &roci_sg_value;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
    const uint subgroup = ((uint)get_local_id(0)) / 32u;
    const uint subgroups = 8u;
    const uint subgroup_lane = ((uint)get_local_id(0)) % 32u;
    uint row = 0u;
    float4 row_sums = (float4)(0.0f);
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
            const uint4 starts = min((uint4)(_e15, _e16 + 1u, _e19 + 2u, _e22 + 3u), (uint4)((_e28 - 1u))) * ((uint4)(_e35));
            row_sums = (float4)(0.0f);
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
                    const float _e73 = row_sums.x;
                    const uint _e75 = column;
                    const float4 _e77 = load_a(starts.x + _e75, a);
                    row_sums.x = _e73 + roci_dot_float4(_e77, v_8);
                    const float _e81 = row_sums.y;
                    const uint _e83 = column;
                    const float4 _e85 = load_a(starts.y + _e83, a);
                    row_sums.y = _e81 + roci_dot_float4(_e85, v_8);
                    const float _e89 = row_sums.z;
                    const uint _e91 = column;
                    const float4 _e93 = load_a(starts.z + _e91, a);
                    row_sums.z = _e89 + roci_dot_float4(_e93, v_8);
                    const float _e97 = row_sums.w;
                    const uint _e99 = column;
                    const float4 _e101 = load_a(starts.w + _e99, a);
                    row_sums.w = _e97 + roci_dot_float4(_e101, v_8);
                }
                const uint _e104 = column;
                column = _e104 + 1024u;
            }
            const uint _e109 = params.k;
            const uint column_2 = (_e109 & 4294967292u) + lane;
            const uint _e115 = params.k;
            if (column_2 < _e115) {
                const half _e121 = a[starts.x + column_2];
                const half _e127 = a[starts.y + column_2];
                const half _e133 = a[starts.z + column_2];
                const half _e139 = a[starts.w + column_2];
                const float4 last = (float4)((float)_e121, (float)_e127, (float)_e133, (float)_e139);
                const float4 _e142 = row_sums;
                const float _e145 = x[column_2];
                row_sums = _e142 + (last * _e145);
            }
            const float4 _e148 = row_sums;
            const float4 subgroup_sum = roci_subgroup_add_f32x4(roci_sg, _e148);
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
                epilogue(_e182 + lane, _e184 + lane, _e186, &params, bias, y);
                const bool _e187 = has_activation(&params);
                if (_e187) {
                    const uint _e188 = row;
                    apply_activation(_e188 + lane, &params, y);
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e190 = row;
        row = _e190 + (groups.x * 4u);
    }
}
