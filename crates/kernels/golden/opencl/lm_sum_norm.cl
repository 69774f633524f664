// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint rows;
    uint columns;
    uint x_stride;
    uint used;
    uint part_stride;
    float epsilon;
} Params;
typedef struct { float e[256]; } array256_float;
typedef struct {
    float4 a;
    float4 b;
    float4 c;
    float4 d;
} Sixteen;

ROCI_FN ushort roci_narrow_f16(float a) {
    ushort bits;
    vstore_half_rte(a, 0, (private half *)&bits);
    return bits;
}
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN float roci_dot_float4(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

ROCI_FN uint4 places(uint at_2, uint last) {
    return min((uint4)(at_2, at_2 + 256u, at_2 + 512u, at_2 + 768u), (uint4)(last));
}

ROCI_FN Sixteen of_row(uint4 at_3, global float4 *x) {
    const float4 _e4 = x[at_3.x];
    const float4 _e8 = x[at_3.y];
    const float4 _e12 = x[at_3.z];
    const float4 _e16 = x[at_3.w];
    return (Sixteen){.a = _e4, .b = _e8, .c = _e12, .d = _e16};
}

ROCI_FN float square(float4 v, bool counts) {
    return counts ? roci_dot_float4(v, v) : 0.0f;
}

ROCI_FN uint2 half_of(float4 v_1, float4 factor, float scale) {
    const float4 largest = (float4)(65504.0f);
    const float4 it_1 = fmin(fmax((v_1 * scale) * factor, -largest), largest);
    return (uint2)(roci_pack2x16float(it_1.xy), roci_pack2x16float(it_1.zw));
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lm_sum_norm(global const float4 *parts, global const float4 *weight, global float4 *x, global uint2 *y, Params params) {
    local array256_float sums;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    float squares = 0.0f;
    uint at = 0u;
    Sixteen it = {0};
    uint i = 0u;
    uint step_ = 128u;
    uint at_1 = 0u;
    const uint _e5 = params.rows;
    const uint row = min(group.x, _e5 - 1u);
    const uint _e11 = params.columns;
    const uint fours = _e11 / 4u;
    const uint _e16 = params.x_stride;
    const uint base = row * (_e16 / 4u);
    at = lane;
    while (true) {
        const uint _e23 = at;
        if (!(_e23 < fours)) {
            break;
        }
        {
            const uint _e25 = at;
            const uint4 place = places(_e25, fours - 1u);
            const Sixteen _e31 = of_row(place + ((uint4)(base)), x);
            it = _e31;
            const uint _e33 = at;
            const uint _e34 = at;
            const uint _e37 = at;
            const uint _e40 = at;
            const int4 counts_1 = ((uint4)(_e33, _e34 + 256u, _e37 + 512u, _e40 + 768u)) < ((uint4)(fours));
            const uint _e48 = params.used;
            if (_e48 != 0u) {
                i = 0u;
                while (true) {
                    const uint _e53 = i;
                    const uint _e56 = params.used;
                    if (!(_e53 < _e56)) {
                        break;
                    }
                    {
                        const uint _e60 = params.used;
                        const uint _e62 = i;
                        const uint _e66 = params.part_stride;
                        const uint4 part = place + ((uint4)((((row * _e60) + _e62) * (_e66 / 4u))));
                        const float4 a = parts[part.x];
                        const float4 b = parts[part.y];
                        const float4 c = parts[part.z];
                        const float4 d = parts[part.w];
                        const float4 _e89 = it.a;
                        const float4 _e92 = it.b;
                        const float4 _e95 = it.c;
                        const float4 _e98 = it.d;
                        it = (Sixteen){.a = (_e89 + a), .b = (_e92 + b), .c = (_e95 + c), .d = (_e98 + d)};
                    }
                    const uint _e101 = i;
                    i = _e101 + 1u;
                }
                const uint _e105 = at;
                const float4 _e109 = it.a;
                x[base + _e105] = _e109;
                if (counts_1.y != 0) {
                    const uint _e112 = at;
                    const float4 _e118 = it.b;
                    x[(base + _e112) + 256u] = _e118;
                }
                if (counts_1.z != 0) {
                    const uint _e121 = at;
                    const float4 _e127 = it.c;
                    x[(base + _e121) + 512u] = _e127;
                }
                if (counts_1.w != 0) {
                    const uint _e130 = at;
                    const float4 _e136 = it.d;
                    x[(base + _e130) + 768u] = _e136;
                }
            }
            const float _e137 = squares;
            const float4 _e139 = it.a;
            const float _e141 = square(_e139, true);
            const float4 _e143 = it.b;
            const float _e145 = square(_e143, counts_1.y != 0);
            const float4 _e148 = it.c;
            const float _e150 = square(_e148, counts_1.z != 0);
            const float4 _e152 = it.d;
            const float _e154 = square(_e152, counts_1.w != 0);
            squares = _e137 + ((_e141 + _e145) + (_e150 + _e154));
        }
        const uint _e158 = at;
        at = _e158 + 1024u;
    }
    const float _e163 = squares;
    sums.e[lane] = _e163;
    roci_barrier_workgroup();
    while (true) {
        const uint _e166 = step_;
        if (!(_e166 > 0u)) {
            break;
        }
        {
            const uint _e169 = step_;
            if (lane < _e169) {
                const float _e173 = sums.e[lane];
                const uint _e175 = step_;
                const float _e178 = sums.e[lane + _e175];
                sums.e[lane] = _e173 + _e178;
            }
            roci_barrier_workgroup();
        }
        const uint _e180 = step_;
        step_ = _e180 / 2u;
    }
    const float _e185 = sums.e[0];
    const uint _e188 = params.columns;
    const float _e193 = params.epsilon;
    const float scale_1 = 1.0f / sqrt((_e185 / ((float)_e188)) + _e193);
    at_1 = lane;
    while (true) {
        const uint _e199 = at_1;
        if (!(_e199 < fours)) {
            break;
        }
        {
            const uint _e201 = at_1;
            const uint4 place_1 = places(_e201, fours - 1u);
            const Sixteen it_2 = of_row(place_1 + ((uint4)(base)), x);
            const float4 _e212 = weight[place_1.x];
            const uint2 near = half_of(it_2.a, _e212, scale_1);
            const float4 _e218 = weight[place_1.y];
            const uint2 b_1 = half_of(it_2.b, _e218, scale_1);
            const float4 _e224 = weight[place_1.z];
            const uint2 c_1 = half_of(it_2.c, _e224, scale_1);
            const float4 _e230 = weight[place_1.w];
            const uint2 d_1 = half_of(it_2.d, _e230, scale_1);
            const uint _e233 = at_1;
            y[base + _e233] = near;
            const uint _e236 = at_1;
            if ((_e236 + 256u) < fours) {
                const uint _e241 = at_1;
                y[(base + _e241) + 256u] = b_1;
            }
            const uint _e246 = at_1;
            if ((_e246 + 512u) < fours) {
                const uint _e251 = at_1;
                y[(base + _e251) + 512u] = c_1;
            }
            const uint _e256 = at_1;
            if ((_e256 + 768u) < fours) {
                const uint _e261 = at_1;
                y[(base + _e261) + 768u] = d_1;
            }
        }
        const uint _e266 = at_1;
        at_1 = _e266 + 1024u;
    }
}
