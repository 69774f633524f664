// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[3]; } array3_uint;
typedef struct { int e[3]; } array3_int;
typedef struct {
    uint batch;
    uint in_channels;
    uint out_channels;
    uint groups;
    array3_uint input;
    array3_uint output;
    array3_uint kernel_;
    array3_uint stride;
    array3_uint dilation;
    array3_int pad;
    uint flags;
    float low;
    float high;
    uint parts;
} Params;
typedef struct { float4 e[272]; } array272_float4_;
typedef struct { float4 e[256]; } array256_float4_;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN uint4 roci_div_u32x4(uint4 a, uint4 b) {
    return (uint4)(roci_div_u32(a.x, b.x), roci_div_u32(a.y, b.y), roci_div_u32(a.z, b.z), roci_div_u32(a.w, b.w));
}
ROCI_FN uint4 roci_mod_u32x4(uint4 a, uint4 b) {
    return (uint4)(roci_mod_u32(a.x, b.x), roci_mod_u32(a.y, b.y), roci_mod_u32(a.z, b.z), roci_mod_u32(a.w, b.w));
}

ROCI_FN void finish(uint at, uint channel, float sum, private const Params *params, global const float *bias, global float *y) {
    float v = 0.0f;
    bool local_ = false;
    v = sum;
    const uint _e6 = (*params).flags;
    if ((_e6 & 1u) != 0u) {
        const float _e11 = v;
        const float _e14 = bias[channel];
        v = _e11 + _e14;
    }
    const uint _e18 = (*params).flags;
    if ((_e18 & 2u) != 0u) {
        const float _e23 = v;
        const float _e26 = y[at];
        v = _e23 + _e26;
    }
    const uint _e30 = (*params).flags;
    if ((_e30 & 4u) != 0u) {
        const float _e37 = v;
        local_ = (as_uint(_e37) & 2147483647u) <= 2139095040u;
    } else {
        local_ = false;
    }
    const bool _e44 = local_;
    if (_e44) {
        const float _e45 = v;
        const float _e48 = (*params).low;
        const float _e52 = (*params).high;
        v = fmin(fmax(_e45, _e48), _e52);
    }
    const float _e56 = v;
    y[at] = _e56;
}

ROCI_FN float4 load_a(uint start, uint row, uint rows, uint column, uint depth, uint end, global const float *w) {
    float4 v_1 = (float4)(0.0f);
    const uint at_1 = (start + (row * depth)) + column;
    if (column >= end) {
        const float4 _e12 = v_1;
        return _e12;
    }
    if (row < rows) {
        const float _e17 = w[at_1];
        v_1.x = _e17;
    }
    if ((row + 1u) < rows) {
        const float _e26 = w[at_1 + depth];
        v_1.y = _e26;
    }
    if ((row + 2u) < rows) {
        const float _e37 = w[at_1 + (2u * depth)];
        v_1.z = _e37;
    }
    if ((row + 3u) < rows) {
        const float _e48 = w[at_1 + (3u * depth)];
        v_1.w = _e48;
    }
    const float4 _e50 = v_1;
    return _e50;
}

ROCI_FN float load_x(uint plane, uint row_1, uint column_1, private const Params *params, global const float *x) {
    bool local_1 = false;
    const uint _e6 = (*params).input.e[1];
    if (row_1 < _e6) {
        const uint _e13 = (*params).input.e[2];
        local_1 = column_1 < _e13;
    } else {
        local_1 = false;
    }
    const bool _e16 = local_1;
    if (_e16) {
        const uint _e21 = (*params).input.e[2];
        const float _e26 = x[(plane + (row_1 * _e21)) + column_1];
        return _e26;
    }
    return 0.0f;
}

ROCI_FN float4 load_b(uint4 starts, uint4 rows_1, uint4 columns, uint k_1, uint end_1, private const Params *params, global const float *x) {
    if (k_1 >= end_1) {
        return (float4)(0.0f);
    }
    const uint across = (*params).kernel_.e[2];
    const uint _e14 = (*params).kernel_.e[1];
    const uint taps = _e14 * across;
    const uint tap = roci_mod_u32(k_1, taps);
    const uint _e21 = (*params).input.e[1];
    const uint _e25 = (*params).input.e[2];
    const uint4 planes = starts + ((uint4)((roci_div_u32(k_1, taps) * (_e21 * _e25))));
    const uint _e34 = (*params).dilation.e[1];
    const uint4 row_3 = rows_1 + ((uint4)((roci_div_u32(tap, across) * _e34)));
    const uint _e42 = (*params).dilation.e[2];
    const uint4 column_2 = columns + ((uint4)((roci_mod_u32(tap, across) * _e42)));
    const float _e49 = load_x(planes.x, row_3.x, column_2.x, params, x);
    const float _e53 = load_x(planes.y, row_3.y, column_2.y, params, x);
    const float _e57 = load_x(planes.z, row_3.z, column_2.z, params, x);
    const float _e61 = load_x(planes.w, row_3.w, column_2.w, params, x);
    return (float4)(_e49, _e53, _e57, _e61);
}

ROCI_FN void store(uint4 targets, uint pixel, uint pixels, uint row_2, uint rows_2, uint first, float4 sums, private const Params *params, global const float *bias, global float *y) {
    if (row_2 >= rows_2) {
        return;
    }
    const uint channel_1 = first + row_2;
    const uint _e12 = (*params).output.e[1];
    const uint _e16 = (*params).output.e[2];
    const uint4 at_2 = targets + ((uint4)((channel_1 * (_e12 * _e16))));
    if (pixel < pixels) {
        finish(at_2.x, channel_1, sums.x, params, bias, y);
    }
    if ((pixel + 1u) < pixels) {
        finish(at_2.y, channel_1, sums.y, params, bias, y);
    }
    if ((pixel + 2u) < pixels) {
        finish(at_2.z, channel_1, sums.z, params, bias, y);
    }
    if ((pixel + 3u) < pixels) {
        finish(at_2.w, channel_1, sums.w, params, bias, y);
        return;
    } else {
        return;
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void conv_tiled(global const float *x, global const float *w, global const float *bias, global float *y, Params params) {
    local array272_float4_ a_tile;
    local array256_float4_ b_tile;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint lane = (uint)get_local_id(0);
    float4 next_a = (float4)(0.0f);
    float4 next_b = (float4)(0.0f);
    float4 sum0_ = (float4)(0.0f);
    float4 sum1_ = (float4)(0.0f);
    float4 sum2_ = (float4)(0.0f);
    float4 sum3_ = (float4)(0.0f);
    uint k = 0u;
    uint i = 0u;
    uint j = 0u;
    const uint fast = lane % 16u;
    const uint slow = lane / 16u;
    const uint _e8 = params.in_channels;
    const uint _e11 = params.groups;
    const uint in_group = roci_div_u32(_e8, _e11);
    const uint _e15 = params.out_channels;
    const uint _e18 = params.groups;
    const uint rows_3 = roci_div_u32(_e15, _e18);
    const uint _e23 = params.kernel_.e[1];
    const uint _e28 = params.kernel_.e[2];
    const uint depth_1 = (in_group * _e23) * _e28;
    const uint row_4 = (group.y * 64u) + (slow * 4u);
    const uint _e40 = params.parts;
    const uint part = false ? roci_mod_u32(group.z, _e40) : 0u;
    const uint _e48 = params.parts;
    const uint of_channels = false ? roci_div_u32(group.z, _e48) : group.z;
    const uint start_w = (of_channels * rows_3) * depth_1;
    const uint _e56 = params.parts;
    const uint _e64 = params.parts;
    const uint span = false ? (roci_div_u32((depth_1 + (_e56 * 16u)) - 1u, _e64 * 16u) * 16u) : depth_1;
    const uint begin = part * span;
    const uint end_2 = min(depth_1, begin + span);
    const uint _e78 = params.output.e[1];
    const uint _e82 = params.output.e[2];
    const uint area = _e78 * _e82;
    const uint _e86 = params.batch;
    const uint pixels_1 = _e86 * area;
    const uint pixel_1 = (group.x * 64u) + (fast * 4u);
    const uint4 all_ = ((uint4)(pixel_1)) + ((uint4)(0u, 1u, 2u, 3u));
    const uint4 batch = roci_div_u32x4(all_, (uint4)(area));
    const uint4 within = roci_mod_u32x4(all_, (uint4)(area));
    const uint _e107 = params.in_channels;
    const uint _e115 = params.input.e[1];
    const uint _e119 = params.input.e[2];
    const uint4 starts_1 = ((batch * ((uint4)(_e107))) + ((uint4)((of_channels * in_group)))) * ((uint4)((_e115 * _e119)));
    const uint _e125 = params.output.e[2];
    const uint4 across_1 = (uint4)(_e125);
    const uint _e131 = params.stride.e[1];
    const int _e136 = params.pad.e[1];
    const uint4 top = (roci_div_u32x4(within, across_1) * ((uint4)(_e131))) - ((uint4)(as_uint(_e136)));
    const uint4 tops = (all_ < ((uint4)(pixels_1))) ? top : ((uint4)(2147483648u));
    const uint _e149 = params.stride.e[2];
    const int _e154 = params.pad.e[2];
    const uint4 lefts = (roci_mod_u32x4(within, across_1) * ((uint4)(_e149))) - ((uint4)(as_uint(_e154)));
    const float4 _e159 = load_a(start_w, row_4, rows_3, begin + fast, depth_1, end_2, w);
    next_a = _e159;
    const float4 _e162 = load_b(starts_1, tops, lefts, begin + slow, end_2, &params, x);
    next_b = _e162;
    k = begin;
    while (true) {
        const uint _e173 = k;
        if (!(_e173 < end_2)) {
            break;
        }
        {
            const float4 _e180 = next_a;
            a_tile.e[(fast * 17u) + slow] = _e180;
            const float4 _e186 = next_b;
            b_tile.e[(slow * 16u) + fast] = _e186;
            roci_barrier_workgroup();
            const uint _e187 = k;
            const float4 _e191 = load_a(start_w, row_4, rows_3, (_e187 + 16u) + fast, depth_1, end_2, w);
            next_a = _e191;
            const uint _e192 = k;
            const float4 _e196 = load_b(starts_1, tops, lefts, (_e192 + 16u) + slow, end_2, &params, x);
            next_b = _e196;
            i = 0u;
            while (true) {
                const uint _e199 = i;
                if (!(_e199 < 16u)) {
                    break;
                }
                {
                    j = 0u;
                    while (true) {
                        const uint _e204 = j;
                        if (!(_e204 < 4u)) {
                            break;
                        }
                        {
                            const uint _e208 = i;
                            const uint _e209 = j;
                            const float4 av = a_tile.e[((_e208 + _e209) * 17u) + slow];
                            const uint _e217 = i;
                            const uint _e218 = j;
                            const float4 bv = b_tile.e[((_e217 + _e218) * 16u) + fast];
                            const float4 _e225 = sum0_;
                            sum0_ = _e225 + (av.x * bv);
                            const float4 _e229 = sum1_;
                            sum1_ = _e229 + (av.y * bv);
                            const float4 _e233 = sum2_;
                            sum2_ = _e233 + (av.z * bv);
                            const float4 _e237 = sum3_;
                            sum3_ = _e237 + (av.w * bv);
                        }
                        const uint _e241 = j;
                        j = _e241 + 1u;
                    }
                }
                const uint _e244 = i;
                i = _e244 + 4u;
            }
            roci_barrier_workgroup();
        }
        const uint _e247 = k;
        k = _e247 + 16u;
    }
    const uint first_1 = of_channels * rows_3;
    const uint _e253 = params.batch;
    const uint _e259 = params.out_channels;
    const uint4 targets_1 = ((((uint4)((part * _e253))) + batch) * ((uint4)((_e259 * area)))) + within;
    const float4 _e263 = sum0_;
    store(targets_1, pixel_1, pixels_1, row_4, rows_3, first_1, _e263, &params, bias, y);
    const float4 _e266 = sum1_;
    store(targets_1, pixel_1, pixels_1, row_4 + 1u, rows_3, first_1, _e266, &params, bias, y);
    const float4 _e269 = sum2_;
    store(targets_1, pixel_1, pixels_1, row_4 + 2u, rows_3, first_1, _e269, &params, bias, y);
    const float4 _e272 = sum3_;
    store(targets_1, pixel_1, pixels_1, row_4 + 3u, rows_3, first_1, _e272, &params, bias, y);
}
