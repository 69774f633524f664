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

ROCI_FN int roci_mod_i32(int a, int b) {
    return b == 0 || b == -1 ? (int)0 : (int)(a % b);
}
ROCI_FN int roci_div_i32(int a, int b) {
    // Dividing the lowest value by -1 overflows; so does negating it, and that wraps.
    return b == 0 ? a : b == -1 ? (int)(-(uint)a) : (int)(a / b);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN uint position(uint d, uint o, uint k, private const Params *params) {
    bool local_ = false;
    const int _e7 = (*params).pad.e[d];
    const uint _e12 = (*params).dilation.e[d];
    const int at_1 = (int)((uint)((int)((uint)((int)o) + (uint)_e7)) - (uint)((int)(k * _e12)));
    const uint _e19 = (*params).stride.e[d];
    const int step_ = (int)_e19;
    const uint _e24 = (*params).input.e[d];
    if (at_1 >= 0) {
        local_ = roci_mod_i32(at_1, step_) == 0;
    } else {
        local_ = false;
    }
    const bool _e35 = local_;
    return _e35 ? ((uint)roci_div_i32(at_1, step_)) : _e24;
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
        v = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e45, _e48), _e52);
    }
    const float _e56 = v;
    y[at] = _e56;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void conv_transpose(global const float *x, global const float *w, global const float *bias, global float *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
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
            const uint start_w = ((first * out_group) + roci_mod_u32(m, out_group)) * taps;
            const uint step_w = out_group * taps;
            sum = 0.0f;
            k0_ = 0u;
            while (true) {
                const uint _e134 = k0_;
                const uint _e138 = params.kernel_.e[0];
                if (!(_e134 < _e138)) {
                    break;
                }
                {
                    const uint _e141 = k0_;
                    const uint i0_ = position(0u, o0_, _e141, &params);
                    const uint _e146 = params.input.e[0];
                    if (i0_ >= _e146) {
                        goto next;
                    }
                    k1_ = 0u;
                    while (true) {
                        const uint _e150 = k1_;
                        const uint _e154 = params.kernel_.e[1];
                        if (!(_e150 < _e154)) {
                            break;
                        }
                        {
                            const uint _e157 = k1_;
                            const uint i1_ = position(1u, o1_, _e157, &params);
                            const uint _e162 = params.input.e[1];
                            if (i1_ >= _e162) {
                                goto next_1;
                            }
                            k2_ = 0u;
                            while (true) {
                                const uint _e166 = k2_;
                                const uint _e170 = params.kernel_.e[2];
                                if (!(_e166 < _e170)) {
                                    break;
                                }
                                {
                                    const uint _e173 = k2_;
                                    const uint i2_ = position(2u, o2_, _e173, &params);
                                    const uint _e178 = params.input.e[2];
                                    if (i2_ >= _e178) {
                                        goto next_2;
                                    }
                                    const uint _e183 = params.input.e[1];
                                    const uint _e189 = params.input.e[2];
                                    at_x = (start_x + (((i0_ * _e183) + i1_) * _e189)) + i2_;
                                    const uint _e194 = k0_;
                                    const uint _e198 = params.kernel_.e[1];
                                    const uint _e200 = k1_;
                                    const uint _e205 = params.kernel_.e[2];
                                    const uint _e208 = k2_;
                                    at_w = (start_w + (((_e194 * _e198) + _e200) * _e205)) + _e208;
                                    c = 0u;
                                    while (true) {
                                        const uint _e213 = c;
                                        if (!(_e213 < in_group)) {
                                            break;
                                        }
                                        {
                                            const float _e215 = sum;
                                            const uint _e217 = at_x;
                                            const float _e219 = x[_e217];
                                            const uint _e221 = at_w;
                                            const float _e223 = w[_e221];
                                            sum = _e215 + (_e219 * _e223);
                                            const uint _e226 = at_x;
                                            at_x = _e226 + plane;
                                            const uint _e228 = at_w;
                                            at_w = _e228 + step_w;
                                        }
                                        const uint _e230 = c;
                                        c = _e230 + 1u;
                                    }
                                }
                            next_2:;
                                const uint _e233 = k2_;
                                k2_ = _e233 + 1u;
                            }
                        }
                    next_1:;
                        const uint _e236 = k1_;
                        k1_ = _e236 + 1u;
                    }
                }
            next:;
                const uint _e239 = k0_;
                k0_ = _e239 + 1u;
            }
            const uint _e242 = i;
            const float _e243 = sum;
            finish(_e242, m, _e243, &params, bias, y);
        }
        const uint _e244 = i;
        i = _e244 + (groups.x * 256u);
    }
}
