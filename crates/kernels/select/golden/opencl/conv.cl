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

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN bool roci_any4(int4 v) {
    return (v.x | v.y | v.z | v.w) != 0;
}

ROCI_FN uint position(uint d, uint o, uint k, private const Params *params) {
    const uint _e6 = (*params).stride.e[d];
    const uint _e11 = (*params).dilation.e[d];
    const int _e18 = (*params).pad.e[d];
    return (uint)((int)((uint)((int)((o * _e6) + (k * _e11))) - (uint)_e18));
}

ROCI_FN void epilogue(uint at, uint channel, float sum, private const Params *params, global const float *bias, global float *y) {
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

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void conv(global const float *x, global const float *w, global const float *bias, global float *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint i = 0u;
    uint rest = 0u;
    float4 sums = (float4)(0.0f);
    uint k0_ = 0u;
    uint k1_ = 0u;
    uint k2_ = 0u;
    uint at_x = 0u;
    uint at_w = 0u;
    uint c = 0u;
    const uint _e4 = params.in_channels;
    const uint _e7 = params.groups;
    const uint in_group = roci_div_u32(_e4, _e7);
    const uint _e11 = params.out_channels;
    const uint _e14 = params.groups;
    const uint out_group = roci_div_u32(_e11, _e14);
    const uint _e19 = params.kernel_.e[0];
    const uint _e23 = params.kernel_.e[1];
    const uint _e28 = params.kernel_.e[2];
    const uint taps = (_e19 * _e23) * _e28;
    const uint _e33 = params.input.e[0];
    const uint _e37 = params.input.e[1];
    const uint _e42 = params.input.e[2];
    const uint plane = (_e33 * _e37) * _e42;
    const uint width = params.output.e[2];
    const uint strips = ((width + 4u) - 1u) / 4u;
    const uint _e56 = params.batch;
    const uint _e59 = params.out_channels;
    const uint _e64 = params.output.e[0];
    const uint _e69 = params.output.e[1];
    const uint count = (((_e56 * _e59) * _e64) * _e69) * strips;
    i = id.x;
    while (true) {
        const uint _e74 = i;
        if (!(_e74 < count)) {
            break;
        }
        {
            const uint _e76 = i;
            const uint row = roci_div_u32(_e76, strips);
            const uint _e78 = i;
            const uint o2_ = roci_mod_u32(_e78, strips) * 4u;
            const uint _e85 = params.output.e[1];
            const uint o1_ = roci_mod_u32(row, _e85);
            const uint _e90 = params.output.e[1];
            rest = roci_div_u32(row, _e90);
            const uint _e93 = rest;
            const uint _e97 = params.output.e[0];
            const uint o0_ = roci_mod_u32(_e93, _e97);
            const uint _e99 = rest;
            const uint _e103 = params.output.e[0];
            rest = roci_div_u32(_e99, _e103);
            const uint _e105 = rest;
            const uint _e108 = params.out_channels;
            const uint m = roci_mod_u32(_e105, _e108);
            const uint _e110 = rest;
            const uint _e113 = params.out_channels;
            const uint batch = roci_div_u32(_e110, _e113);
            const uint _e117 = params.in_channels;
            const uint start_x = ((batch * _e117) + (roci_div_u32(m, out_group) * in_group)) * plane;
            const uint start_w = (m * in_group) * taps;
            sums = (float4)(0.0f);
            k0_ = 0u;
            while (true) {
                const uint _e129 = k0_;
                const uint _e133 = params.kernel_.e[0];
                if (!(_e129 < _e133)) {
                    break;
                }
                {
                    const uint _e136 = k0_;
                    const uint i0_ = position(0u, o0_, _e136, &params);
                    const uint _e141 = params.input.e[0];
                    if (i0_ >= _e141) {
                        goto next;
                    }
                    k1_ = 0u;
                    while (true) {
                        const uint _e145 = k1_;
                        const uint _e149 = params.kernel_.e[1];
                        if (!(_e145 < _e149)) {
                            break;
                        }
                        {
                            const uint _e152 = k1_;
                            const uint i1_ = position(1u, o1_, _e152, &params);
                            const uint _e157 = params.input.e[1];
                            if (i1_ >= _e157) {
                                goto next_1;
                            }
                            k2_ = 0u;
                            while (true) {
                                const uint _e161 = k2_;
                                const uint _e165 = params.kernel_.e[2];
                                if (!(_e161 < _e165)) {
                                    break;
                                }
                                {
                                    const uint step_ = params.stride.e[2];
                                    const uint _e172 = k2_;
                                    const uint _e173 = position(2u, o2_, _e172, &params);
                                    const uint4 positions = ((uint4)(_e173)) + ((uint4)(0u, step_, 2u * step_, 3u * step_));
                                    const uint _e185 = params.input.e[2];
                                    const int4 inside = positions < ((uint4)(_e185));
                                    if (!roci_any4(inside)) {
                                        goto next_2;
                                    }
                                    const uint _e193 = params.input.e[2];
                                    const uint4 clamped = min(positions, (uint4)((_e193 - 1u)));
                                    const uint _e201 = params.input.e[1];
                                    const uint _e207 = params.input.e[2];
                                    at_x = start_x + (((i0_ * _e201) + i1_) * _e207);
                                    const uint _e211 = k0_;
                                    const uint _e215 = params.kernel_.e[1];
                                    const uint _e217 = k1_;
                                    const uint _e222 = params.kernel_.e[2];
                                    const uint _e225 = k2_;
                                    at_w = (start_w + (((_e211 * _e215) + _e217) * _e222)) + _e225;
                                    c = 0u;
                                    while (true) {
                                        const uint _e230 = c;
                                        if (!(_e230 < in_group)) {
                                            break;
                                        }
                                        {
                                            const uint _e233 = at_x;
                                            const float _e237 = x[_e233 + clamped.x];
                                            const uint _e239 = at_x;
                                            const float _e243 = x[_e239 + clamped.y];
                                            const uint _e245 = at_x;
                                            const float _e249 = x[_e245 + clamped.z];
                                            const uint _e251 = at_x;
                                            const float _e255 = x[_e251 + clamped.w];
                                            const float4 values = (float4)(_e237, _e243, _e249, _e255);
                                            const float4 _e257 = sums;
                                            const uint _e259 = at_w;
                                            const float _e261 = w[_e259];
                                            sums = _e257 + (_e261 * (inside ? values : (float4)(0.0f)));
                                            const uint _e267 = at_x;
                                            at_x = _e267 + plane;
                                            const uint _e269 = at_w;
                                            at_w = _e269 + taps;
                                        }
                                        const uint _e271 = c;
                                        c = _e271 + 1u;
                                    }
                                }
                            next_2:;
                                const uint _e274 = k2_;
                                k2_ = _e274 + 1u;
                            }
                        }
                    next_1:;
                        const uint _e277 = k1_;
                        k1_ = _e277 + 1u;
                    }
                }
            next:;
                const uint _e280 = k0_;
                k0_ = _e280 + 1u;
            }
            const uint at_1 = (row * width) + o2_;
            const float _e286 = sums.x;
            epilogue(at_1, m, _e286, &params, bias, y);
            if ((o2_ + 1u) < width) {
                const float _e293 = sums.y;
                epilogue(at_1 + 1u, m, _e293, &params, bias, y);
            }
            if ((o2_ + 2u) < width) {
                const float _e300 = sums.z;
                epilogue(at_1 + 2u, m, _e300, &params, bias, y);
            }
            if ((o2_ + 3u) < width) {
                const float _e307 = sums.w;
                epilogue(at_1 + 3u, m, _e307, &params, bias, y);
            }
        }
        const uint _e308 = i;
        i = _e308 + (groups.x * 256u);
    }
}
