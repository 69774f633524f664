// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint tokens;
    uint experts;
    uint used;
    uint stride;
} Params;
typedef struct { float e[1024]; } array1024_float;

ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void lm_route(global const float *x, global uint *chosen, global float *shares, Params params) {
    local array1024_float scores;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 64u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    uint token = 0u;
    uint i = 0u;
    float most = 0.0f;
    float total = 0.0f;
    uint s = 0u;
    uint best = 0u;
    uint i_1 = 0u;
    uint s_1 = 0u;
    token = group.x;
    while (true) {
        const uint _e5 = token;
        const uint _e8 = params.tokens;
        if (!(_e5 < _e8)) {
            break;
        }
        {
            i = lane;
            while (true) {
                const uint _e11 = i;
                const uint _e14 = params.experts;
                if (!(_e11 < _e14)) {
                    break;
                }
                {
                    const uint _e17 = i;
                    const uint _e20 = token;
                    const uint _e23 = params.stride;
                    const uint _e25 = i;
                    const float _e28 = x[(_e20 * _e23) + _e25];
                    scores.e[_e17] = _e28;
                }
                const uint _e29 = i;
                i = _e29 + 64u;
            }
            roci_barrier_workgroup();
            if (lane == 0u) {
                most = -3e38f;
                total = 0.0f;
                s = 0u;
                while (true) {
                    const uint _e40 = s;
                    const uint _e43 = params.used;
                    if (!(_e40 < _e43)) {
                        break;
                    }
                    {
                        best = 0u;
                        i_1 = 1u;
                        while (true) {
                            const uint _e49 = i_1;
                            const uint _e52 = params.experts;
                            if (!(_e49 < _e52)) {
                                break;
                            }
                            {
                                const uint _e55 = i_1;
                                const float _e57 = scores.e[_e55];
                                const uint _e59 = best;
                                const float _e61 = scores.e[_e59];
                                if (_e57 > _e61) {
                                    const uint _e63 = i_1;
                                    best = _e63;
                                }
                            }
                            const uint _e64 = i_1;
                            i_1 = _e64 + 1u;
                        }
                        const uint _e67 = s;
                        if (_e67 == 0u) {
                            const uint _e71 = best;
                            const float _e73 = scores.e[_e71];
                            most = _e73;
                        }
                        const uint _e75 = best;
                        const float _e77 = scores.e[_e75];
                        const float _e78 = most;
                        const float weight = __builtin_elementwise_exp(_e77 - _e78);
                        const float _e81 = total;
                        total = _e81 + weight;
                        const uint _e84 = token;
                        const uint _e87 = params.used;
                        const uint _e89 = s;
                        const uint _e92 = best;
                        chosen[(_e84 * _e87) + _e89] = _e92;
                        const uint _e94 = token;
                        const uint _e97 = params.used;
                        const uint _e99 = s;
                        shares[(_e94 * _e97) + _e99] = weight;
                        const uint _e103 = best;
                        scores.e[_e103] = -3e38f;
                    }
                    const uint _e106 = s;
                    s = _e106 + 1u;
                }
                s_1 = 0u;
                while (true) {
                    const uint _e111 = s_1;
                    const uint _e114 = params.used;
                    if (!(_e111 < _e114)) {
                        break;
                    }
                    {
                        const uint _e117 = token;
                        const uint _e120 = params.used;
                        const uint _e122 = s_1;
                        const uint _e126 = token;
                        const uint _e129 = params.used;
                        const uint _e131 = s_1;
                        const float _e134 = shares[(_e126 * _e129) + _e131];
                        const float _e135 = total;
                        shares[(_e117 * _e120) + _e122] = _e134 / _e135;
                    }
                    const uint _e137 = s_1;
                    s_1 = _e137 + 1u;
                }
            }
            roci_barrier_workgroup();
        }
        const uint _e140 = token;
        token = _e140 + groups.x;
    }
}
