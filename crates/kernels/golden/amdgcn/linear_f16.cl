// Written from WGSL; do not edit.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define ROCI_FN static inline __attribute__((always_inline))

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
typedef struct { float4 e[272]; } array272_float4_;
typedef struct { float4 e[256]; } array256_float4_;

#define roci_fmin __builtin_fminf
#define roci_fmax __builtin_fmaxf
ROCI_FN int roci_f32_to_i32(float a) {
    return (int)roci_fmin(roci_fmax(a, -2147483648.0f), 2147483520.0f);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

ROCI_FN float4 load_a(uint start, uint row, uint column, private const Params *params, global const float *a) {
    float4 v = (float4)(0.0f);
    const uint _e5 = (*params).lda;
    const uint at_2 = (start + (row * _e5)) + column;
    const uint _e13 = (*params).k;
    if (column >= _e13) {
        const float4 _e15 = v;
        return _e15;
    }
    const uint _e20 = (*params).m;
    if ((row + 3u) < _e20) {
        const float _e24 = a[at_2];
        const uint _e29 = (*params).lda;
        const float _e32 = a[at_2 + _e29];
        const uint _e38 = (*params).lda;
        const float _e42 = a[at_2 + (2u * _e38)];
        const uint _e48 = (*params).lda;
        const float _e52 = a[at_2 + (3u * _e48)];
        return (float4)(_e24, _e32, _e42, _e52);
    }
    const uint _e57 = (*params).m;
    if (row < _e57) {
        const float _e62 = a[at_2];
        v.x = _e62;
    }
    const uint _e68 = (*params).m;
    if ((row + 1u) < _e68) {
        const uint _e74 = (*params).lda;
        const float _e77 = a[at_2 + _e74];
        v.y = _e77;
    }
    const uint _e83 = (*params).m;
    if ((row + 2u) < _e83) {
        const uint _e90 = (*params).lda;
        const float _e94 = a[at_2 + (2u * _e90)];
        v.z = _e94;
    }
    const float4 _e96 = v;
    return _e96;
}

ROCI_FN float4 load_b(uint start_1, uint row_1, uint column_1, private const Params *params, global const half *b) {
    float4 v_1 = (float4)(0.0f);
    const uint _e5 = (*params).ldb;
    const uint at_3 = (start_1 + (row_1 * _e5)) + column_1;
    const uint _e13 = (*params).k;
    if (row_1 >= _e13) {
        const float4 _e15 = v_1;
        return _e15;
    }
    const uint _e20 = (*params).n;
    if ((column_1 + 3u) < _e20) {
        const half _e24 = b[at_3];
        const half _e30 = b[at_3 + 1u];
        const half _e36 = b[at_3 + 2u];
        const half _e42 = b[at_3 + 3u];
        return (float4)((float)_e24, (float)_e30, (float)_e36, (float)_e42);
    }
    const uint _e47 = (*params).n;
    if (column_1 < _e47) {
        const half _e52 = b[at_3];
        v_1.x = (float)_e52;
    }
    const uint _e58 = (*params).n;
    if ((column_1 + 1u) < _e58) {
        const half _e65 = b[at_3 + 1u];
        v_1.y = (float)_e65;
    }
    const uint _e71 = (*params).n;
    if ((column_1 + 2u) < _e71) {
        const half _e78 = b[at_3 + 2u];
        v_1.z = (float)_e78;
    }
    const float4 _e80 = v_1;
    return _e80;
}

ROCI_FN void finish(uint at, uint column_2, float sum, private const Params *params, global const float *bias, global float *y) {
    float v_2 = 0.0f;
    v_2 = sum;
    const uint _e6 = (*params).flags;
    if ((_e6 & 1u) != 0u) {
        const float _e11 = v_2;
        const float _e14 = bias[column_2];
        v_2 = _e11 + _e14;
    }
    const uint _e18 = (*params).flags;
    if ((_e18 & 2u) != 0u) {
        const float _e23 = v_2;
        const float _e26 = y[at];
        v_2 = _e23 + _e26;
    }
    const uint _e30 = (*params).flags;
    if ((_e30 & 4u) != 0u) {
        const float _e35 = v_2;
        const bool is_number = (as_uint(_e35) & 2147483647u) <= 2139095040u;
        const float _e41 = v_2;
        const float _e42 = v_2;
        const float _e45 = (*params).low;
        const float _e50 = (*params).high;
        v_2 = is_number ? __builtin_elementwise_minnum(__builtin_elementwise_maxnum(_e42, _e45), _e50) : _e41;
    }
    const float _e56 = v_2;
    y[at] = _e56;
}

ROCI_FN void store_c(uint start_2, uint row_2, uint column_3, float4 v_3, private const Params *params, global const float *bias, global float *y) {
    const uint _e6 = (*params).m;
    if (row_2 >= _e6) {
        return;
    }
    const uint _e10 = (*params).ldc;
    const uint at_4 = (start_2 + (row_2 * _e10)) + column_3;
    const uint _e16 = (*params).n;
    if (column_3 < _e16) {
        finish(at_4, column_3, v_3.x, params, bias, y);
    }
    const uint _e23 = (*params).n;
    if ((column_3 + 1u) < _e23) {
        finish(at_4 + 1u, column_3 + 1u, v_3.y, params, bias, y);
    }
    const uint _e34 = (*params).n;
    if ((column_3 + 2u) < _e34) {
        finish(at_4 + 2u, column_3 + 2u, v_3.z, params, bias, y);
    }
    const uint _e45 = (*params).n;
    if ((column_3 + 3u) < _e45) {
        finish(at_4 + 3u, column_3 + 3u, v_3.w, params, bias, y);
        return;
    } else {
        return;
    }
}

ROCI_FN bool has_function(private const Params *params) {
    const uint _e2 = (*params).flags;
    return (_e2 & 24u) != 0u;
}

ROCI_FN float scaled(float v_4, int n) {
    const int lower = n / 2;
    return (v_4 * as_float(((uint)((int)((uint)lower + (uint)127))) << 23u)) * as_float(((uint)((int)((uint)((int)((uint)n - (uint)lower)) + (uint)127))) << 23u);
}

ROCI_FN float exponential_rest(float v_5) {
    return 0.5f + (v_5 * (0.16666669f + (v_5 * (0.041666668f + (v_5 * (0.008333019f + (v_5 * (0.0013888575f + (v_5 * (0.00020015593f + (v_5 * 2.4975792e-5f)))))))))));
}

ROCI_FN bool is_nan(float v_6) {
    return (as_uint(v_6) & 2147483647u) > 2139095040u;
}

ROCI_FN float exponential(float v_7) {
    const float bounded = __builtin_elementwise_minnum(__builtin_elementwise_maxnum(v_7, -104.0f), 89.0f);
    const float n_1 = __builtin_elementwise_roundeven(bounded * 1.442695f);
    const float r = (bounded - (n_1 * 0.6933594f)) + (n_1 * 0.00021219444f);
    const float _e14 = exponential_rest(r);
    const float value = scaled(1.0f + (r + ((r * r) * _e14)), roci_f32_to_i32(n_1));
    const bool _e21 = is_nan(v_7);
    return _e21 ? v_7 : value;
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
    const float _e48 = exponential(_e45 - (z * z));
    return t * _e48;
}

ROCI_FN float gelu(float v_8) {
    const float bounded_1 = (v_8 < (-20.0f)) ? (-20.0f) : v_8;
    const float _e8 = erfc_positive(__builtin_elementwise_abs(bounded_1) * 0.70710677f);
    const float tail = 0.5f * _e8;
    return bounded_1 * ((v_8 < 0.0f) ? tail : (1.0f - tail));
}

ROCI_FN float function_of(float v_9, private const Params *params) {
    const uint _e3 = (*params).flags;
    if ((_e3 & 8u) != 0u) {
        const float _e8 = gelu(v_9);
        return _e8;
    }
    return v_9 / (1.0f + __builtin_elementwise_exp(-v_9));
}

ROCI_FN float each(float v_10, private const Params *params) {
    const float _e1 = function_of(v_10, params);
    return _e1;
}

ROCI_FN void apply_function(uint at_1, private const Params *params, global float *y) {
    const float _e5 = y[at_1];
    const float _e6 = each(_e5, params);
    y[at_1] = _e6;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void linear_f16(global const float *a, global const half *b, global const float *bias, global float *y, Params params) {
    local array272_float4_ a_tile;
    local array256_float4_ b_tile;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    float4 next_a = (float4)(0.0f);
    float4 next_b = (float4)(0.0f);
    float4 sum0_ = (float4)(0.0f);
    float4 sum1_ = (float4)(0.0f);
    float4 sum2_ = (float4)(0.0f);
    float4 sum3_ = (float4)(0.0f);
    uint k = 0u;
    uint i = 0u;
    uint j = 0u;
    uint i_1 = 0u;
    bool local_ = false;
    const uint fast = lane % 16u;
    const uint slow = lane / 16u;
    const uint _e9 = params.batch_a;
    const uint start_a = group.z * _e9;
    const uint _e14 = params.batch_b;
    const uint start_b = group.z * _e14;
    const uint row_3 = (group.y * 64u) + (slow * 4u);
    const uint column_4 = (group.x * 64u) + (fast * 4u);
    const float4 _e28 = load_a(start_a, row_3, fast, &params, a);
    next_a = _e28;
    const float4 _e30 = load_b(start_b, slow, column_4, &params, b);
    next_b = _e30;
    while (true) {
        const uint _e42 = k;
        const uint _e45 = params.k;
        if (!(_e42 < _e45)) {
            break;
        }
        {
            const float4 _e52 = next_a;
            a_tile.e[(fast * 17u) + slow] = _e52;
            const float4 _e58 = next_b;
            b_tile.e[(slow * 16u) + fast] = _e58;
            roci_barrier_workgroup();
            const uint _e59 = k;
            const float4 _e63 = load_a(start_a, row_3, (_e59 + 16u) + fast, &params, a);
            next_a = _e63;
            const uint _e64 = k;
            const float4 _e68 = load_b(start_b, (_e64 + 16u) + slow, column_4, &params, b);
            next_b = _e68;
            i = 0u;
            while (true) {
                const uint _e71 = i;
                if (!(_e71 < 16u)) {
                    break;
                }
                {
                    j = 0u;
                    while (true) {
                        const uint _e76 = j;
                        if (!(_e76 < 4u)) {
                            break;
                        }
                        {
                            const uint _e80 = i;
                            const uint _e81 = j;
                            const float4 av = a_tile.e[((_e80 + _e81) * 17u) + slow];
                            const uint _e89 = i;
                            const uint _e90 = j;
                            const float4 bv = b_tile.e[((_e89 + _e90) * 16u) + fast];
                            const float4 _e97 = sum0_;
                            sum0_ = _e97 + (av.x * bv);
                            const float4 _e101 = sum1_;
                            sum1_ = _e101 + (av.y * bv);
                            const float4 _e105 = sum2_;
                            sum2_ = _e105 + (av.z * bv);
                            const float4 _e109 = sum3_;
                            sum3_ = _e109 + (av.w * bv);
                        }
                        const uint _e113 = j;
                        j = _e113 + 1u;
                    }
                }
                const uint _e116 = i;
                i = _e116 + 4u;
            }
            roci_barrier_workgroup();
        }
        const uint _e119 = k;
        k = _e119 + 16u;
    }
    const uint _e125 = params.batch_c;
    const uint start_c = group.z * _e125;
    const float4 _e127 = sum0_;
    store_c(start_c, row_3, column_4, _e127, &params, bias, y);
    const float4 _e130 = sum1_;
    store_c(start_c, row_3 + 1u, column_4, _e130, &params, bias, y);
    const float4 _e133 = sum2_;
    store_c(start_c, row_3 + 2u, column_4, _e133, &params, bias, y);
    const float4 _e136 = sum3_;
    store_c(start_c, row_3 + 3u, column_4, _e136, &params, bias, y);
    const bool _e137 = has_function(&params);
    if (_e137) {
        while (true) {
            const uint _e140 = i_1;
            if (!(_e140 < 16u)) {
                break;
            }
            {
                const uint _e143 = i_1;
                const uint of_row = row_3 + (_e143 / 4u);
                const uint _e147 = i_1;
                const uint of_column = column_4 + (_e147 % 4u);
                const uint _e153 = params.m;
                if (of_row < _e153) {
                    const uint _e159 = params.n;
                    local_ = of_column < _e159;
                } else {
                    local_ = false;
                }
                const bool _e162 = local_;
                if (_e162) {
                    const uint _e165 = params.ldc;
                    apply_function((start_c + (of_row * _e165)) + of_column, &params, y);
                }
            }
            const uint _e169 = i_1;
            i_1 = _e169 + 1u;
        }
        return;
    } else {
        return;
    }
}
