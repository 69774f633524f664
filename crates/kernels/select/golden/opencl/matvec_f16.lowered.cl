// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))
#define ROCI_SUBGROUP_SIZE 32u

typedef struct {
    uint m;
    uint k;
    uint lda;
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
ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
ROCI_FN float4 roci_subgroup_add_f32x4(private const roci_subgroup * a, float4 b) {
    return (float4)(roci_subgroup_add_f32(a, b.x), roci_subgroup_add_f32(a, b.y), roci_subgroup_add_f32(a, b.z), roci_subgroup_add_f32(a, b.w));
}

ROCI_FN float4 load_a(uint at, global const ushort *a) {
    const float _e3 = roci_widen_f16(a[at]);
    const float _e9 = roci_widen_f16(a[at + 1u]);
    const float _e15 = roci_widen_f16(a[at + 2u]);
    const float _e21 = roci_widen_f16(a[at + 3u]);
    return (float4)(_e3, _e9, _e15, _e21);
}

ROCI_FN void epilogue(uint at_1, uint row_1, float sum_1, global float *y) {
    y[at_1] = sum_1;
}

ROCI_FN bool has_activation(void) {
    return false;
}

ROCI_FN void apply_activation(uint at_2) {
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void matvec_f16(global const ushort *a, global const float *x, global float *y, Params params) {
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
                    const float4 v = (float4)(_e52, _e58, _e64, _e70);
                    const float _e73 = row_sums.x;
                    const uint _e75 = column;
                    const float4 _e77 = load_a(starts.x + _e75, a);
                    row_sums.x = _e73 + roci_dot_float4(_e77, v);
                    const float _e81 = row_sums.y;
                    const uint _e83 = column;
                    const float4 _e85 = load_a(starts.y + _e83, a);
                    row_sums.y = _e81 + roci_dot_float4(_e85, v);
                    const float _e89 = row_sums.z;
                    const uint _e91 = column;
                    const float4 _e93 = load_a(starts.z + _e91, a);
                    row_sums.z = _e89 + roci_dot_float4(_e93, v);
                    const float _e97 = row_sums.w;
                    const uint _e99 = column;
                    const float4 _e101 = load_a(starts.w + _e99, a);
                    row_sums.w = _e97 + roci_dot_float4(_e101, v);
                }
                const uint _e104 = column;
                column = _e104 + 1024u;
            }
            const uint _e109 = params.k;
            const uint column_1 = (_e109 & 4294967292u) + lane;
            const uint _e115 = params.k;
            if (column_1 < _e115) {
                const float _e121 = roci_widen_f16(a[starts.x + column_1]);
                const float _e127 = roci_widen_f16(a[starts.y + column_1]);
                const float _e133 = roci_widen_f16(a[starts.z + column_1]);
                const float _e139 = roci_widen_f16(a[starts.w + column_1]);
                const float4 last = (float4)(_e121, _e127, _e133, _e139);
                const float4 _e142 = row_sums;
                const float _e145 = x[column_1];
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
                epilogue(_e182 + lane, _e184 + lane, _e186, y);
                const bool _e187 = has_activation();
                if (_e187) {
                    const uint _e188 = row;
                    apply_activation(_e188 + lane);
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e190 = row;
        row = _e190 + (groups.x * 4u);
    }
}
