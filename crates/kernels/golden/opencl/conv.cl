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

ROCI_FN uint position(uint d, uint o, uint k, private const Params *params) {
    bool local_ = false;
    const uint _e28 = (*params).stride.e[d];
    const uint _e33 = (*params).dilation.e[d];
    const int _e40 = (*params).pad.e[d];
    return (uint)((int)((uint)((int)((o * _e28) + (k * _e33))) - (uint)_e40));
}

ROCI_FN void finish(uint at, uint channel, float sum_1, private const Params *params, global const float *bias, global float *y) {
    float v = 0.0f;
    bool local_1 = false;
    v = sum_1;
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
        local_1 = (as_uint(_e37) & 2147483647u) <= 2139095040u;
    } else {
        local_1 = false;
    }
    const bool _e44 = local_1;
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
    float sum = 0.0f;
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
    const uint _e46 = params.batch;
    const uint _e49 = params.out_channels;
    const uint _e54 = params.output.e[0];
    const uint _e59 = params.output.e[1];
    const uint _e64 = params.output.e[2];
    const uint count = (((_e46 * _e49) * _e54) * _e59) * _e64;
    i = id.x;
    while (true) {
        const uint _e68 = i;
        if (!(_e68 < count)) {
            break;
        }
        {
            const uint _e70 = i;
            const uint _e74 = params.output.e[2];
            const uint o2_ = roci_mod_u32(_e70, _e74);
            const uint _e76 = i;
            const uint _e80 = params.output.e[2];
            rest = roci_div_u32(_e76, _e80);
            const uint _e83 = rest;
            const uint _e87 = params.output.e[1];
            const uint o1_ = roci_mod_u32(_e83, _e87);
            const uint _e89 = rest;
            const uint _e93 = params.output.e[1];
            rest = roci_div_u32(_e89, _e93);
            const uint _e95 = rest;
            const uint _e99 = params.output.e[0];
            const uint o0_ = roci_mod_u32(_e95, _e99);
            const uint _e101 = rest;
            const uint _e105 = params.output.e[0];
            rest = roci_div_u32(_e101, _e105);
            const uint _e107 = rest;
            const uint _e110 = params.out_channels;
            const uint m = roci_mod_u32(_e107, _e110);
            const uint _e112 = rest;
            const uint _e115 = params.out_channels;
            const uint batch = roci_div_u32(_e112, _e115);
            const uint first = roci_div_u32(m, out_group) * in_group;
            const uint _e121 = params.in_channels;
            const uint start_x = ((batch * _e121) + first) * plane;
            const uint start_w = (false ? ((first * out_group) + roci_mod_u32(m, out_group)) : (m * in_group)) * taps;
            const uint step_w = false ? (out_group * taps) : taps;
            sum = 0.0f;
            k0_ = 0u;
            while (true) {
                const uint _e139 = k0_;
                const uint _e143 = params.kernel_.e[0];
                if (!(_e139 < _e143)) {
                    break;
                }
                {
                    const uint _e146 = k0_;
                    const uint i0_ = position(0u, o0_, _e146, &params);
                    const uint _e151 = params.input.e[0];
                    if (i0_ >= _e151) {
                        goto next;
                    }
                    k1_ = 0u;
                    while (true) {
                        const uint _e155 = k1_;
                        const uint _e159 = params.kernel_.e[1];
                        if (!(_e155 < _e159)) {
                            break;
                        }
                        {
                            const uint _e162 = k1_;
                            const uint i1_ = position(1u, o1_, _e162, &params);
                            const uint _e167 = params.input.e[1];
                            if (i1_ >= _e167) {
                                goto next_1;
                            }
                            k2_ = 0u;
                            while (true) {
                                const uint _e171 = k2_;
                                const uint _e175 = params.kernel_.e[2];
                                if (!(_e171 < _e175)) {
                                    break;
                                }
                                {
                                    const uint _e178 = k2_;
                                    const uint i2_ = position(2u, o2_, _e178, &params);
                                    const uint _e183 = params.input.e[2];
                                    if (i2_ >= _e183) {
                                        goto next_2;
                                    }
                                    const uint _e188 = params.input.e[1];
                                    const uint _e194 = params.input.e[2];
                                    at_x = (start_x + (((i0_ * _e188) + i1_) * _e194)) + i2_;
                                    const uint _e199 = k0_;
                                    const uint _e203 = params.kernel_.e[1];
                                    const uint _e205 = k1_;
                                    const uint _e210 = params.kernel_.e[2];
                                    const uint _e213 = k2_;
                                    at_w = (start_w + (((_e199 * _e203) + _e205) * _e210)) + _e213;
                                    c = 0u;
                                    while (true) {
                                        const uint _e218 = c;
                                        if (!(_e218 < in_group)) {
                                            break;
                                        }
                                        {
                                            const float _e220 = sum;
                                            const uint _e222 = at_x;
                                            const float _e224 = x[_e222];
                                            const uint _e226 = at_w;
                                            const float _e228 = w[_e226];
                                            sum = _e220 + (_e224 * _e228);
                                            const uint _e232 = at_x;
                                            at_x = _e232 + plane;
                                            const uint _e234 = at_w;
                                            at_w = _e234 + step_w;
                                        }
                                        const uint _e236 = c;
                                        c = _e236 + 1u;
                                    }
                                }
                            next_2:;
                                const uint _e239 = k2_;
                                k2_ = _e239 + 1u;
                            }
                        }
                    next_1:;
                        const uint _e242 = k1_;
                        k1_ = _e242 + 1u;
                    }
                }
            next:;
                const uint _e245 = k0_;
                k0_ = _e245 + 1u;
            }
            const uint _e248 = i;
            const float _e249 = sum;
            finish(_e248, m, _e249, &params, bias, y);
        }
        const uint _e250 = i;
        i = _e250 + (groups.x * 256u);
    }
}
