// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint outer;
    uint axis;
    uint inner;
    uint numbers;
    uint last;
} Params;
typedef struct { uint e[256]; } array256_uint;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN uint ordered(uint word, uint numbers, uint nan_) {
    if (numbers == 0u) {
        if ((word & 2147483647u) > 2139095040u) {
            return nan_;
        }
        if (word >= 2147483648u) {
            return (word == 2147483648u) ? 2147483648u : (~word);
        }
        return word | 2147483648u;
    }
    return (numbers == 1u) ? (word ^ 2147483648u) : word;
}

ROCI_FN uint falling(uint word_1, uint numbers_1) {
    const uint _e3 = ordered(word_1, numbers_1, 0u);
    return ~_e3;
}

ROCI_FN uint rank(uint word_2, private const Params *params) {
    const uint _e3 = (*params).numbers;
    const uint _e4 = falling(word_2, _e3);
    return _e4;
}

ROCI_FN bool goes_before(uint rank_1, uint place_2, uint best_rank, uint best_place, private const Params *params) {
    bool local_1 = false;
    bool local_2 = false;
    const uint _e8 = (*params).last;
    const bool earlier = (_e8 != 0u) ? (place_2 > best_place) : (place_2 < best_place);
    if (!(rank_1 > best_rank)) {
        if (rank_1 == best_rank) {
            local_2 = earlier;
        } else {
            local_2 = false;
        }
        const bool _e20 = local_2;
        local_1 = _e20;
    } else {
        local_1 = true;
    }
    const bool _e22 = local_1;
    return _e22;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void arg_min(global const uint *x, global uint *y, Params params) {
    local array256_uint ranks;
    local array256_uint places;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
    uint output = 0u;
    uint best = 0u;
    uint place = 0u;
    uint r = 0u;
    uint output_1 = 0u;
    uint place_1 = 0u;
    uint best_1 = 0u;
    uint r_1 = 0u;
    uint step_ = 0u;
    bool local_ = false;
    const uint _e5 = params.outer;
    const uint _e8 = params.inner;
    const uint outputs = _e5 * _e8;
    const uint _e12 = params.inner;
    if (_e12 >= 32u) {
        output = (group.x * 256u) + lane;
        while (true) {
            const uint _e20 = output;
            if (!(_e20 < outputs)) {
                break;
            }
            {
                const uint _e22 = output;
                const uint _e25 = params.inner;
                const uint _e29 = params.axis;
                const uint _e33 = params.inner;
                const uint _e35 = output;
                const uint _e38 = params.inner;
                const uint start = ((roci_div_u32(_e22, _e25) * _e29) * _e33) + roci_mod_u32(_e35, _e38);
                const uint _e43 = x[start];
                const uint _e44 = rank(_e43, &params);
                best = _e44;
                place = 0u;
                r = 1u;
                while (true) {
                    const uint _e50 = r;
                    const uint _e53 = params.axis;
                    if (!(_e50 < _e53)) {
                        break;
                    }
                    {
                        const uint _e56 = r;
                        const uint _e59 = params.inner;
                        const uint _e63 = x[start + (_e56 * _e59)];
                        const uint candidate = rank(_e63, &params);
                        const uint _e65 = r;
                        const uint _e66 = best;
                        const uint _e67 = place;
                        const bool _e68 = goes_before(candidate, _e65, _e66, _e67, &params);
                        if (_e68) {
                            best = candidate;
                            const uint _e69 = r;
                            place = _e69;
                        }
                    }
                    const uint _e70 = r;
                    r = _e70 + 1u;
                }
                const uint _e74 = output;
                const uint _e76 = place;
                y[_e74] = _e76;
            }
            const uint _e77 = output;
            output = _e77 + (groups.x * 256u);
        }
        return;
    }
    output_1 = group.x;
    while (true) {
        const uint _e84 = output_1;
        if (!(_e84 < outputs)) {
            break;
        }
        {
            const uint _e86 = output_1;
            const uint _e89 = params.inner;
            const uint _e93 = params.axis;
            const uint _e97 = params.inner;
            const uint _e99 = output_1;
            const uint _e102 = params.inner;
            const uint start_1 = ((roci_div_u32(_e86, _e89) * _e93) * _e97) + roci_mod_u32(_e99, _e102);
            const uint _e108 = params.axis;
            place_1 = (lane < _e108) ? lane : 0u;
            const uint _e113 = place_1;
            const uint _e116 = params.inner;
            const uint _e120 = x[start_1 + (_e113 * _e116)];
            const uint _e121 = rank(_e120, &params);
            best_1 = _e121;
            r_1 = lane + 256u;
            while (true) {
                const uint _e126 = r_1;
                const uint _e129 = params.axis;
                if (!(_e126 < _e129)) {
                    break;
                }
                {
                    const uint _e132 = r_1;
                    const uint _e135 = params.inner;
                    const uint _e139 = x[start_1 + (_e132 * _e135)];
                    const uint candidate_1 = rank(_e139, &params);
                    const uint _e141 = r_1;
                    const uint _e142 = best_1;
                    const uint _e143 = place_1;
                    const bool _e144 = goes_before(candidate_1, _e141, _e142, _e143, &params);
                    if (_e144) {
                        best_1 = candidate_1;
                        const uint _e145 = r_1;
                        place_1 = _e145;
                    }
                }
                const uint _e146 = r_1;
                r_1 = _e146 + 256u;
            }
            const uint _e151 = best_1;
            ranks.e[lane] = _e151;
            const uint _e154 = place_1;
            places.e[lane] = _e154;
            roci_barrier_workgroup();
            step_ = 128u;
            while (true) {
                const uint _e157 = step_;
                if (!(_e157 > 0u)) {
                    break;
                }
                {
                    const uint _e160 = step_;
                    if (lane < _e160) {
                        const uint _e165 = step_;
                        const uint _e168 = ranks.e[lane + _e165];
                        const uint _e170 = step_;
                        const uint _e173 = places.e[lane + _e170];
                        const uint _e176 = ranks.e[lane];
                        const uint _e179 = places.e[lane];
                        const bool _e180 = goes_before(_e168, _e173, _e176, _e179, &params);
                        local_ = _e180;
                    } else {
                        local_ = false;
                    }
                    const bool _e182 = local_;
                    if (_e182) {
                        const uint _e186 = step_;
                        const uint _e189 = ranks.e[lane + _e186];
                        ranks.e[lane] = _e189;
                        const uint _e193 = step_;
                        const uint _e196 = places.e[lane + _e193];
                        places.e[lane] = _e196;
                    }
                    roci_barrier_workgroup();
                }
                const uint _e197 = step_;
                step_ = _e197 / 2u;
            }
            if (lane == 0u) {
                const uint _e203 = output_1;
                const uint _e207 = places.e[0];
                y[_e203] = _e207;
            }
            roci_barrier_workgroup();
        }
        const uint _e208 = output_1;
        output_1 = _e208 + groups.x;
    }
}
