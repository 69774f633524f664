// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint x, y, z; } roci_uint3;

typedef struct { uint e[3]; } array3_uint;
typedef struct { int e[3]; } array3_int;
typedef struct {
    uint planes;
    array3_uint input;
    array3_uint output;
    array3_uint kernel_;
    array3_uint stride;
    array3_uint dilation;
    array3_int pad;
    array3_int pad_end;
    uint flags;
    uint norm;
} Params;
typedef struct {
    float value;
    uchar _pad_1[12];
    roci_uint3 coordinates;
    uint count;
} State;

ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}

ROCI_FN roci_uint3 roci_store_uint3(uint3 v) {
    return (roci_uint3){v.x, v.y, v.z};
}
ROCI_FN uint3 roci_load_uint3(roci_uint3 v) {
    return (uint3)(v.x, v.y, v.z);
}

ROCI_FN bool is_nan(float v) {
    return (as_uint(v) & 2147483647u) > 2139095040u;
}

ROCI_FN State initial_state(void) {
    uint lowest = 4286578688u;
    bool local_ = false;
    const uint _e2 = lowest;
    local_ = true;
    const bool _e7 = local_;
    return (State){.value = (_e7 ? as_float(_e2) : 0.0f), .coordinates = roci_store_uint3((uint3)(0u)), .count = 0u};
}

ROCI_FN State accumulate(State old, float v_1, uint3 coordinates) {
    State next = {0};
    bool local_1 = false;
    bool local_2 = false;
    bool local_3 = false;
    next = old;
    const uint _e5 = next.count;
    next.count = _e5 + 1u;
    const bool _e9 = is_nan(old.value);
    if (!_e9) {
        if (!(old.count == 0u)) {
            local_2 = v_1 > old.value;
        } else {
            local_2 = true;
        }
        const bool _e22 = local_2;
        if (!_e22) {
            const bool _e26 = is_nan(v_1);
            local_3 = _e26;
        } else {
            local_3 = true;
        }
        const bool _e28 = local_3;
        local_1 = _e28;
    } else {
        local_1 = false;
    }
    const bool _e30 = local_1;
    if (_e30) {
        next.value = v_1;
        next.coordinates = roci_store_uint3(coordinates);
    }
    const State _e33 = next;
    return _e33;
}

ROCI_FN uint flat_index(uint3 coordinates_1, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 2u) != 0u) {
        const uint _e12 = (*params).input.e[0];
        const uint _e17 = (*params).input.e[1];
        return coordinates_1.x + (_e12 * (coordinates_1.y + (_e17 * coordinates_1.z)));
    }
    const uint _e27 = (*params).input.e[1];
    const uint _e34 = (*params).input.e[2];
    return (((coordinates_1.x * _e27) + coordinates_1.y) * _e34) + coordinates_1.z;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void pool_max_indices(global const float *x, global uint *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint i = 0u;
    uint rest = 0u;
    State state = {0};
    uint k0_ = 0u;
    uint k1_ = 0u;
    uint k2_ = 0u;
    const uint _e5 = params.input.e[0];
    const uint _e9 = params.input.e[1];
    const uint _e14 = params.input.e[2];
    const uint plane = (_e5 * _e9) * _e14;
    const uint _e18 = params.planes;
    const uint _e22 = params.output.e[0];
    const uint _e27 = params.output.e[1];
    const uint _e32 = params.output.e[2];
    const uint count = ((_e18 * _e22) * _e27) * _e32;
    i = id.x;
    while (true) {
        const uint _e36 = i;
        if (!(_e36 < count)) {
            break;
        }
        {
            const uint _e38 = i;
            const uint _e42 = params.output.e[2];
            const uint o2_ = roci_mod_u32(_e38, _e42);
            const uint _e44 = i;
            const uint _e48 = params.output.e[2];
            rest = roci_div_u32(_e44, _e48);
            const uint _e51 = rest;
            const uint _e55 = params.output.e[1];
            const uint o1_ = roci_mod_u32(_e51, _e55);
            const uint _e57 = rest;
            const uint _e61 = params.output.e[1];
            rest = roci_div_u32(_e57, _e61);
            const uint _e63 = rest;
            const uint _e67 = params.output.e[0];
            const uint o0_ = roci_mod_u32(_e63, _e67);
            const uint _e69 = rest;
            const uint _e73 = params.output.e[0];
            const uint start = roci_div_u32(_e69, _e73) * plane;
            const uint _e79 = params.stride.e[0];
            const int _e85 = params.pad.e[0];
            const int s0_ = (int)((uint)((int)(o0_ * _e79)) - (uint)_e85);
            const uint _e90 = params.stride.e[1];
            const int _e96 = params.pad.e[1];
            const int s1_ = (int)((uint)((int)(o1_ * _e90)) - (uint)_e96);
            const uint _e101 = params.stride.e[2];
            const int _e107 = params.pad.e[2];
            const int s2_ = (int)((uint)((int)(o2_ * _e101)) - (uint)_e107);
            const State _e109 = initial_state();
            state = _e109;
            k0_ = 0u;
            while (true) {
                const uint _e113 = k0_;
                const uint _e117 = params.kernel_.e[0];
                if (!(_e113 < _e117)) {
                    break;
                }
                {
                    const uint _e119 = k0_;
                    const uint _e123 = params.dilation.e[0];
                    const uint i0_ = (uint)((int)((uint)s0_ + (uint)((int)(_e119 * _e123))));
                    const uint _e131 = params.input.e[0];
                    if (i0_ >= _e131) {
                        goto next_1;
                    }
                    k1_ = 0u;
                    while (true) {
                        const uint _e135 = k1_;
                        const uint _e139 = params.kernel_.e[1];
                        if (!(_e135 < _e139)) {
                            break;
                        }
                        {
                            const uint _e141 = k1_;
                            const uint _e145 = params.dilation.e[1];
                            const uint i1_ = (uint)((int)((uint)s1_ + (uint)((int)(_e141 * _e145))));
                            const uint _e153 = params.input.e[1];
                            if (i1_ >= _e153) {
                                goto next_2;
                            }
                            k2_ = 0u;
                            while (true) {
                                const uint _e157 = k2_;
                                const uint _e161 = params.kernel_.e[2];
                                if (!(_e157 < _e161)) {
                                    break;
                                }
                                {
                                    const uint _e163 = k2_;
                                    const uint _e167 = params.dilation.e[2];
                                    const uint i2_ = (uint)((int)((uint)s2_ + (uint)((int)(_e163 * _e167))));
                                    const uint _e175 = params.input.e[2];
                                    if (i2_ >= _e175) {
                                        goto next_3;
                                    }
                                    const uint _e181 = params.input.e[1];
                                    const uint _e187 = params.input.e[2];
                                    const float v_2 = x[(start + (((i0_ * _e181) + i1_) * _e187)) + i2_];
                                    const State _e193 = state;
                                    const State _e195 = accumulate(_e193, v_2, (uint3)(i0_, i1_, i2_));
                                    state = _e195;
                                }
                            next_3:;
                                const uint _e196 = k2_;
                                k2_ = _e196 + 1u;
                            }
                        }
                    next_2:;
                        const uint _e199 = k1_;
                        k1_ = _e199 + 1u;
                    }
                }
            next_1:;
                const uint _e202 = k0_;
                k0_ = _e202 + 1u;
            }
            const uint _e206 = i;
            const uint3 _e209 = roci_load_uint3(state.coordinates);
            const uint _e210 = flat_index(_e209, &params);
            y[_e206] = start + _e210;
        }
        const uint _e212 = i;
        i = _e212 + (groups.x * 256u);
    }
}
