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

// exp2(y * log2(x)) with the logarithm in two floats, since its error is multiplied by up to 128.
ROCI_FN float roci_pow_positive(float x, float y) {
    const bool tiny = x < 1.17549435e-38f;
    const float scaled = tiny ? x * 16777216.0f : x;
    // x = m * 2^e with m between the roots of 1/2 and 2.
    const int bits = as_int(scaled) - 0x3f3504f3;
    const float e = (float)((bits >> 23) - (tiny ? 24 : 0));
    const float m = as_float((bits & 0x007fffff) + 0x3f3504f3);
    // log(m) = 2 * (s + s^3/3 + ...) with s = (m - 1) / (m + 1).
    const float below = m - 1.0f;
    const float above = m + 1.0f;
    const float s = below / above;
    const float s_low = (__builtin_fmaf(-s, above, below) - s * (m - (above - 1.0f))) / above;
    const float z = s * s;
    float p = __builtin_fmaf(z, 0.2222222222f, 0.2857142857f);
    p = __builtin_fmaf(z, p, 0.4f);
    p = __builtin_fmaf(z, p, 0.6666666667f);
    const float log_low = __builtin_fmaf(s * z, p, 2.0f * s_low);
    const float log_high = 2.0f * s + log_low;
    const float log_rest = log_low - (log_high - 2.0f * s);
    // Times 1/ln(2) in two floats, plus e.
    const float product = log_high * 1.44269504088896341f;
    const float product_rest = __builtin_fmaf(log_high, 1.44269504088896341f, -product) +
                               __builtin_fmaf(log_high, 1.925963033e-8f, log_rest * 1.44269504088896341f);
    const float high = e + product;
    const float virtual_product = high - e;
    const float low = (e - (high - virtual_product)) + (product - virtual_product) + product_rest;
    const float power = __builtin_fminf(__builtin_fmaxf(y * high, -300.0f), 300.0f);
    const float power_low = __builtin_fmaf(y, high, -(y * high)) + y * low;
    const float whole = __builtin_roundevenf(power);
    // Beyond the range of f32 the rest does not matter, and may not be a number.
    const float rest = __builtin_fabsf(y * high) > 300.0f ? 0.0f : (power - whole) + power_low;
    return __builtin_ldexpf(__builtin_elementwise_exp2(rest), (int)whole);
}
ROCI_FN float roci_pow(float x, float y) {
    if (y == 0.0f || x == 1.0f) {
        return 1.0f;
    }
    const float size = __builtin_fabsf(x);
    const float infinity = as_float(0x7f800000u);
    float result = roci_pow_positive(size, y);
    if (size == 0.0f || size == infinity) {
        result = (size == 0.0f) == (y > 0.0f) ? 0.0f : infinity;
    }
    if (as_int(x) >= 0) {
        return result;
    }
    // A negative base has whole powers alone.
    const bool odd = __builtin_fabsf(y) < 16777216.0f && ((int)y & 1) != 0;
    result = odd ? -result : result;
    return size == 0.0f || __builtin_roundevenf(y) == y ? result : as_float(0x7fc00000u);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}

ROCI_FN roci_uint3 roci_store_uint3(uint3 v) {
    return (roci_uint3){v.x, v.y, v.z};
}

ROCI_FN float integer_power(float base, uint exponent) {
    float result = 1.0f;
    uint i_1 = 0u;
    while (true) {
        const uint _e6 = i_1;
        if (!(_e6 < exponent)) {
            break;
        }
        {
            const float _e8 = result;
            result = _e8 * base;
        }
        const uint _e10 = i_1;
        i_1 = _e10 + 1u;
    }
    const float _e13 = result;
    return _e13;
}

ROCI_FN float root(float sum, private const Params *params) {
    bool local_ = false;
    bool local_1 = false;
    const uint _e3 = (*params).norm;
    if (!(_e3 == 1u)) {
        local_ = sum == 0.0f;
    } else {
        local_ = true;
    }
    const bool _e12 = local_;
    if (!_e12) {
        local_1 = (as_uint(sum) & 2147483647u) >= 2139095040u;
    } else {
        local_1 = true;
    }
    const bool _e22 = local_1;
    if (_e22) {
        return sum;
    }
    const uint _e25 = (*params).norm;
    if (_e25 == 2u) {
        return __builtin_elementwise_sqrt(sum);
    }
    const uint _e31 = (*params).norm;
    const float n = (float)_e31;
    const float estimate = roci_pow(sum, 1.0f / n);
    const uint _e38 = (*params).norm;
    const float _e41 = integer_power(estimate, _e38 - 1u);
    return estimate - ((estimate - (sum / _e41)) / n);
}

ROCI_FN State initial_state(void) {
    uint lowest = 4286578688u;
    bool local_2 = false;
    const uint _e2 = lowest;
    local_2 = false;
    const bool _e7 = local_2;
    return (State){.value = (_e7 ? as_float(_e2) : 0.0f), .coordinates = roci_store_uint3((uint3)(0u)), .count = 0u};
}

ROCI_FN State accumulate(State old, float v, uint3 coordinates, private const Params *params) {
    State next = {0};
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    next = old;
    const uint _e5 = next.count;
    next.count = _e5 + 1u;
    const float _e9 = next.value;
    const uint _e13 = (*params).norm;
    const float _e14 = integer_power(__builtin_elementwise_abs(v), _e13);
    next.value = _e9 + _e14;
    const State _e16 = next;
    return _e16;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void pool_lp(global const float *x, global uint *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
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
                                    const float v_1 = x[(start + (((i0_ * _e181) + i1_) * _e187)) + i2_];
                                    const State _e193 = state;
                                    const State _e195 = accumulate(_e193, v_1, (uint3)(i0_, i1_, i2_), &params);
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
            const float _e209 = state.value;
            const float _e210 = root(_e209, &params);
            y[_e206] = as_uint(_e210);
        }
        const uint _e212 = i;
        i = _e212 + (groups.x * 256u);
    }
}
