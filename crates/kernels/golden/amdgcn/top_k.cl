// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint rows;
    uint columns;
    uint k;
    uint numbers;
    uint largest;
} Params;
typedef struct { uint e[256]; } array256_uint;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN void roci_barrier_workgroup(void) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

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

ROCI_FN uint rising(uint word_1, uint numbers_1) {
    const uint _e3 = ordered(word_1, numbers_1, 4294967295u);
    return _e3;
}

ROCI_FN uint rank(uint word_2, private const Params *params) {
    const uint _e3 = (*params).numbers;
    const uint up = rising(word_2, _e3);
    const uint _e8 = (*params).largest;
    return (_e8 != 0u) ? up : (~up);
}

ROCI_FN bool goes_before(uint rank_1, uint place_1, uint other_rank, uint other_place) {
    bool local_5 = false;
    bool local_6 = false;
    bool local_7 = false;
    bool local_8 = false;
    if (!(rank_1 > other_rank)) {
        if (rank_1 == other_rank) {
            local_6 = place_1 < other_place;
        } else {
            local_6 = false;
        }
        const bool _e13 = local_6;
        local_5 = _e13;
    } else {
        local_5 = true;
    }
    const bool better = local_5;
    if (place_1 != 4294967295u) {
        if (!(other_place == 4294967295u)) {
            local_8 = better;
        } else {
            local_8 = true;
        }
        const bool _e26 = local_8;
        local_7 = _e26;
    } else {
        local_7 = false;
    }
    const bool _e28 = local_7;
    return _e28;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void top_k(global const uint *x, global uint *values, global uint *indices, Params params) {
    local array256_uint ranks;
    local array256_uint places;
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    const uint lane = __builtin_amdgcn_workitem_id_x();
    bool local_ = false;
    uint element = 0u;
    uint before = 0u;
    uint c = 0u;
    uint row = 0u;
    uint last_rank = 0u;
    uint last_place = 0u;
    uint j = 0u;
    uint best = 0u;
    uint place = 0u;
    uint c_1 = 0u;
    bool local_1 = false;
    bool local_2 = false;
    uint step_ = 0u;
    bool local_3 = false;
    bool local_4 = false;
    const uint _e5 = params.k;
    if (_e5 > 32u) {
        const uint _e12 = params.k;
        const uint _e15 = params.columns;
        local_ = _e12 >= (_e15 / 8u);
    } else {
        local_ = false;
    }
    const bool _e20 = local_;
    if (_e20) {
        const uint _e23 = params.rows;
        const uint _e26 = params.columns;
        const uint elements = _e23 * _e26;
        element = (group.x * 256u) + lane;
        while (true) {
            const uint _e33 = element;
            if (!(_e33 < elements)) {
                break;
            }
            {
                const uint _e35 = element;
                const uint _e38 = params.columns;
                const uint row_1 = roci_div_u32(_e35, _e38);
                const uint _e42 = params.columns;
                const uint start = row_1 * _e42;
                const uint _e44 = element;
                const uint place_2 = _e44 - start;
                const uint _e47 = element;
                const uint word_3 = x[_e47];
                const uint mine = rank(word_3, &params);
                before = 0u;
                c = 0u;
                while (true) {
                    const uint _e55 = c;
                    const uint _e58 = params.columns;
                    if (!(_e55 < _e58)) {
                        break;
                    }
                    {
                        const uint _e60 = before;
                        const uint _e64 = c;
                        const uint _e67 = x[start + _e64];
                        const uint _e68 = rank(_e67, &params);
                        const uint _e69 = c;
                        const bool _e70 = goes_before(_e68, _e69, mine, place_2);
                        before = _e60 + (_e70 ? 1u : 0u);
                    }
                    const uint _e73 = c;
                    c = _e73 + 1u;
                }
                const uint _e76 = before;
                const uint _e79 = params.k;
                if (_e76 < _e79) {
                    const uint _e84 = params.k;
                    const uint _e86 = before;
                    values[(row_1 * _e84) + _e86] = word_3;
                    const uint _e92 = params.k;
                    const uint _e94 = before;
                    indices[(row_1 * _e92) + _e94] = place_2;
                }
            }
            const uint _e97 = element;
            element = _e97 + (groups.x * 256u);
        }
        return;
    }
    row = group.x;
    while (true) {
        const uint _e104 = row;
        const uint _e107 = params.rows;
        if (!(_e104 < _e107)) {
            break;
        }
        {
            const uint _e109 = row;
            const uint _e112 = params.columns;
            const uint start_1 = _e109 * _e112;
            last_rank = 0u;
            last_place = 4294967295u;
            j = 0u;
            while (true) {
                const uint _e120 = j;
                const uint _e123 = params.k;
                if (!(_e120 < _e123)) {
                    break;
                }
                {
                    best = 0u;
                    place = 4294967295u;
                    c_1 = lane;
                    while (true) {
                        const uint _e130 = c_1;
                        const uint _e133 = params.columns;
                        if (!(_e130 < _e133)) {
                            break;
                        }
                        {
                            const uint _e136 = c_1;
                            const uint _e139 = x[start_1 + _e136];
                            const uint candidate = rank(_e139, &params);
                            const uint _e141 = j;
                            if (!(_e141 == 0u)) {
                                const uint _e147 = last_rank;
                                const uint _e148 = last_place;
                                const uint _e149 = c_1;
                                const bool _e150 = goes_before(_e147, _e148, candidate, _e149);
                                local_1 = _e150;
                            } else {
                                local_1 = true;
                            }
                            const bool is_left = local_1;
                            if (is_left) {
                                const uint _e155 = c_1;
                                const uint _e156 = best;
                                const uint _e157 = place;
                                const bool _e158 = goes_before(candidate, _e155, _e156, _e157);
                                local_2 = _e158;
                            } else {
                                local_2 = false;
                            }
                            const bool _e160 = local_2;
                            if (_e160) {
                                best = candidate;
                                const uint _e161 = c_1;
                                place = _e161;
                            }
                        }
                        const uint _e162 = c_1;
                        c_1 = _e162 + 256u;
                    }
                    const uint _e167 = best;
                    ranks.e[lane] = _e167;
                    const uint _e170 = place;
                    places.e[lane] = _e170;
                    roci_barrier_workgroup();
                    step_ = 128u;
                    while (true) {
                        const uint _e173 = step_;
                        if (!(_e173 > 0u)) {
                            break;
                        }
                        {
                            const uint _e176 = step_;
                            if (lane < _e176) {
                                const uint _e181 = step_;
                                const uint _e184 = ranks.e[lane + _e181];
                                const uint _e186 = step_;
                                const uint _e189 = places.e[lane + _e186];
                                const uint _e192 = ranks.e[lane];
                                const uint _e195 = places.e[lane];
                                const bool _e196 = goes_before(_e184, _e189, _e192, _e195);
                                local_3 = _e196;
                            } else {
                                local_3 = false;
                            }
                            const bool _e198 = local_3;
                            if (_e198) {
                                const uint _e202 = step_;
                                const uint _e205 = ranks.e[lane + _e202];
                                ranks.e[lane] = _e205;
                                const uint _e209 = step_;
                                const uint _e212 = places.e[lane + _e209];
                                places.e[lane] = _e212;
                            }
                            roci_barrier_workgroup();
                        }
                        const uint _e213 = step_;
                        step_ = _e213 / 2u;
                    }
                    const uint _e218 = ranks.e[0];
                    last_rank = _e218;
                    const uint _e221 = places.e[0];
                    last_place = _e221;
                    roci_barrier_workgroup();
                    if (lane == 0u) {
                        const uint _e226 = last_place;
                        const uint _e229 = params.columns;
                        local_4 = _e226 < _e229;
                    } else {
                        local_4 = false;
                    }
                    const bool _e232 = local_4;
                    if (_e232) {
                        const uint _e234 = row;
                        const uint _e237 = params.k;
                        const uint _e239 = j;
                        const uint _e243 = last_place;
                        const uint _e246 = x[start_1 + _e243];
                        values[(_e234 * _e237) + _e239] = _e246;
                        const uint _e248 = row;
                        const uint _e251 = params.k;
                        const uint _e253 = j;
                        const uint _e256 = last_place;
                        indices[(_e248 * _e251) + _e253] = _e256;
                    }
                }
                const uint _e257 = j;
                j = _e257 + 1u;
            }
        }
        const uint _e260 = row;
        row = _e260 + groups.x;
    }
}
