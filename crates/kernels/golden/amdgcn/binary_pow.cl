// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[4]; } array4_uint;
typedef struct {
    uint count;
    array4_uint shape;
    array4_uint a_strides;
    array4_uint b_strides;
} Params;

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}

ROCI_FN float not_a_number(void) {
    uint bits = 2143289344u;
    const uint _e2 = bits;
    return as_float(_e2);
}

ROCI_FN float infinity(void) {
    uint bits_1 = 2139095040u;
    const uint _e2 = bits_1;
    return as_float(_e2);
}

ROCI_FN float head(float v) {
    return as_float(as_uint(v) & 4294963200u);
}

ROCI_FN float scaled(float v_1, int n) {
    const int lower = n / 2;
    return (v_1 * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float exponential_rest(float v_2) {
    return 0.5f + (v_2 * (0.16666669f + (v_2 * (0.041666668f + (v_2 * (0.008333019f + (v_2 * (0.0013888575f + (v_2 * (0.00020015593f + (v_2 * 2.4975792e-5f)))))))))));
}

ROCI_FN float power_of_positive(float x, float exponent) {
    uint bits_2 = 0u;
    int n_1 = 0;
    bool middle = false;
    bits_2 = as_uint(x);
    const uint _e6 = bits_2;
    if (_e6 < 8388608u) {
        const uint _e9 = bits_2;
        bits_2 = as_uint((float)_e9);
        n_1 = -149;
    }
    const int _e13 = n_1;
    const uint _e14 = bits_2;
    n_1 = (int)((uint)_e13 + (uint)((int)((uint)((int)(_e14 >> 23u)) - (uint)127)));
    const uint _e21 = bits_2;
    const uint fraction = _e21 & 8388607u;
    bits_2 = fraction | 1065353216u;
    if (fraction > 1885297u) {
        if (fraction < 6140887u) {
            middle = true;
        } else {
            const int _e33 = n_1;
            n_1 = (int)((uint)_e33 + (uint)1);
            const uint _e36 = bits_2;
            bits_2 = _e36 - 8388608u;
        }
    }
    const bool _e39 = middle;
    const float center = _e39 ? 1.5f : 1.0f;
    const uint _e43 = bits_2;
    const float m = as_float(_e43);
    const float difference = m - center;
    const float inverse = 1.0f / (m + center);
    const float s = difference * inverse;
    const float s_head = head(s);
    const uint _e51 = bits_2;
    const uint sum_bits = (((_e51 >> 1u) & 4294963200u) | 536870912u) + 4194304u;
    const bool _e62 = middle;
    const float sum_head = as_float(sum_bits + (_e62 ? 2097152u : 0u));
    const float sum_tail = m - (sum_head - center);
    const float s_tail = inverse * ((difference - (s_head * sum_head)) - (s_head * sum_tail));
    const float s2_ = s * s;
    const float series = ((s2_ * s2_) * (0.6f + (s2_ * (0.42857143f + (s2_ * (0.33333334f + (s2_ * (0.27272812f + (s2_ * (0.23066075f + (s2_ * 0.20697501f))))))))))) + (s_tail * (s_head + s));
    const float square = s_head * s_head;
    const float t_head = head((3.0f + square) + series);
    const float t_tail = series - ((t_head - 3.0f) - square);
    const float u = s_head * t_head;
    const float v_3 = (s_tail * t_head) + (t_tail * s);
    const float p_head = head(u + v_3);
    const float p_tail = v_3 - (p_head - u);
    const float z_head = 0.96191406f * p_head;
    const bool _e119 = middle;
    const float z_tail = (((-0.000117368574f) * p_head) + (p_tail * 0.9617967f)) + (_e119 ? 1.5632208e-6f : 0.0f);
    const bool _e124 = middle;
    const float d_head = _e124 ? 0.58496094f : 0.0f;
    const int _e128 = n_1;
    const float whole = (float)_e128;
    const float log_head = head(((z_head + z_tail) + d_head) + whole);
    const float log_tail = z_tail - (((log_head - whole) - d_head) - z_head);
    const float y_1 = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(exponent, -1000000000000.0f), 1000000000000.0f);
    const float y_head = head(y_1);
    const float tail = ((y_1 - y_head) * log_head) + (y_1 * log_tail);
    const float product = y_head * log_head;
    const float power_1 = tail + product;
    if (power_1 >= 128.0f) {
        const float _e150 = infinity();
        return _e150;
    }
    if (power_1 < (-150.0f)) {
        return 0.0f;
    }
    const float k = __builtin_elementwise_roundeven(power_1);
    const float rest = product - k;
    const float r_head = head(tail + rest);
    const float r_tail = tail - (r_head - rest);
    const float near = r_head * 0.69314575f;
    const float small = (r_tail * 0.6931472f) + (r_head * 1.4286065e-6f);
    const float r = near + small;
    const float _e169 = exponential_rest(r);
    const float _e175 = scaled(1.0f + (r + ((r * r) * _e169)), roci_f32_to_i32(k));
    return _e175;
}

ROCI_FN float power(float base, float exponent_1) {
    bool local_ = false;
    bool local_1 = false;
    bool local_2 = false;
    bool local_3 = false;
    bool local_4 = false;
    bool local_5 = false;
    float value = 0.0f;
    bool local_6 = false;
    bool local_7 = false;
    bool local_8 = false;
    const uint base_bits = as_uint(base);
    const uint exponent_bits = as_uint(exponent_1);
    const uint x_1 = base_bits & 2147483647u;
    const uint y_2 = exponent_bits & 2147483647u;
    if (!(y_2 == 0u)) {
        local_ = base_bits == 1065353216u;
    } else {
        local_ = true;
    }
    const bool _e16 = local_;
    if (_e16) {
        return 1.0f;
    }
    if (!(x_1 > 2139095040u)) {
        local_1 = y_2 > 2139095040u;
    } else {
        local_1 = true;
    }
    const bool _e26 = local_1;
    if (_e26) {
        const float _e27 = not_a_number();
        return _e27;
    }
    const bool negative = base_bits >= 2147483648u;
    const bool grows = exponent_bits < 2147483648u;
    if (!(y_2 >= 1266679808u)) {
        local_2 = exponent_1 == __builtin_elementwise_floor(exponent_1);
    } else {
        local_2 = true;
    }
    const bool whole_1 = local_2;
    if (y_2 < 1266679808u) {
        local_3 = whole_1;
    } else {
        local_3 = false;
    }
    const bool _e46 = local_3;
    if (_e46) {
        local_4 = (roci_f32_to_i32(exponent_1) & 1) != 0;
    } else {
        local_4 = false;
    }
    const bool odd = local_4;
    if (y_2 == 2139095040u) {
        const float one = (x_1 == 1065353216u) ? 1.0f : 0.0f;
        const float _e63 = infinity();
        if (x_1 != 1065353216u) {
            local_5 = (x_1 > 1065353216u) == grows;
        } else {
            local_5 = false;
        }
        const bool _e72 = local_5;
        return _e72 ? _e63 : one;
    }
    if (!(x_1 == 0u)) {
        local_6 = x_1 == 2139095040u;
    } else {
        local_6 = true;
    }
    const bool _e84 = local_6;
    if (_e84) {
        const float _e85 = infinity();
        value = ((x_1 != 0u) == grows) ? _e85 : 0.0f;
    } else {
        if (negative) {
            local_7 = !whole_1;
        } else {
            local_7 = false;
        }
        const bool _e95 = local_7;
        if (_e95) {
            const float _e96 = not_a_number();
            return _e96;
        } else {
            const float _e98 = power_of_positive(as_float(x_1), exponent_1);
            value = _e98;
        }
    }
    const float _e99 = value;
    const float _e100 = value;
    if (negative) {
        local_8 = odd;
    } else {
        local_8 = false;
    }
    const bool _e105 = local_8;
    return _e105 ? (-_e100) : _e99;
}

ROCI_FN float apply(float p, float q) {
    const float _e2 = power(p, q);
    return _e2;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void binary_pow(global const float *a, global const float *b, global float *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint i = 0u;
    i = id.x;
    while (true) {
        const uint _e4 = i;
        const uint _e7 = params.count;
        if (!(_e4 < _e7)) {
            break;
        }
        {
            const uint _e10 = i;
            const uint _e13 = i;
            const float _e15 = a[_e13];
            const uint _e17 = i;
            const float _e19 = b[_e17];
            const float _e20 = apply(_e15, _e19);
            y[_e10] = _e20;
        }
        const uint _e21 = i;
        i = _e21 + (groups.x * 256u);
    }
}
