// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[5]; } array5_uint;
typedef struct {
    uint count;
    uint slice;
    uint depth;
    array5_uint sizes;
    array5_uint strides;
    uint combine;
    uint numbers;
    uint apart;
} Params;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}

ROCI_FN uint found(uint index, uint size) {
    return (index >= 2147483648u) ? (index + size) : index;
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

ROCI_FN uint falling(uint word_1, uint numbers_1) {
    const uint _e3 = ordered(word_1, numbers_1, 0u);
    return ~_e3;
}

ROCI_FN uint rising(uint word_2, uint numbers_2) {
    const uint _e3 = ordered(word_2, numbers_2, 4294967295u);
    return _e3;
}

ROCI_FN uint combined(uint old, uint update, uint combine, uint numbers_3) {
    switch (combine) {
    case 1u: {
        if (numbers_3 == 0u) {
            return as_uint(as_float(old) + as_float(update));
        }
        return old + update;
    }
    case 2u: {
        if (numbers_3 == 0u) {
            return as_uint(as_float(old) * as_float(update));
        }
        return old * update;
    }
    case 3u: {
        const uint _e18 = falling(update, numbers_3);
        const uint _e19 = falling(old, numbers_3);
        return (_e18 > _e19) ? update : old;
    }
    case 4u: {
        const uint _e22 = rising(update, numbers_3);
        const uint _e23 = rising(old, numbers_3);
        return (_e22 > _e23) ? update : old;
    }
    default: {
        return update;
    }
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scatter_nd(global const uint *index_1, global const uint *updates, global uint *y, Params params) {
    const uint3 id = (uint3)(__builtin_amdgcn_workgroup_id_x() * 256u + __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint3 groups = (uint3)(__builtin_amdgcn_grid_size_x() / 256u, __builtin_amdgcn_grid_size_y() / 1u, __builtin_amdgcn_grid_size_z() / 1u);
    uint walk = 0u;
    uint n = 0u;
    uint to = 0u;
    bool inside = false;
    uint d = 0u;
    bool local_ = false;
    const uint _e4 = params.apart;
    const bool apart = _e4 != 0u;
    const uint _e9 = params.depth;
    const uint depth = __builtin_elementwise_min(_e9, 5u);
    const uint _e14 = params.slice;
    const uint _e18 = params.count;
    const uint walks = _e14 * (apart ? _e18 : 1u);
    walk = id.x;
    while (true) {
        const uint _e23 = walk;
        if (!(_e23 < walks)) {
            break;
        }
        {
            const uint _e25 = walk;
            const uint _e28 = params.slice;
            const uint first = roci_div_u32(_e25, _e28);
            const uint _e32 = params.count;
            const uint behind = apart ? (first + 1u) : _e32;
            const uint _e36 = walk;
            const uint _e39 = params.slice;
            const uint i = roci_mod_u32(_e36, _e39);
            n = first;
            while (true) {
                const uint _e42 = n;
                if (!(_e42 < behind)) {
                    break;
                }
                {
                    to = i;
                    inside = true;
                    d = 0u;
                    while (true) {
                        const uint _e49 = d;
                        if (!(_e49 < depth)) {
                            break;
                        }
                        {
                            const uint _e52 = n;
                            const uint _e54 = d;
                            const uint _e57 = index_1[(_e52 * depth) + _e54];
                            const uint _e60 = d;
                            const uint _e62 = params.sizes.e[_e60];
                            const uint place = found(_e57, _e62);
                            const bool _e64 = inside;
                            if (_e64) {
                                const uint _e69 = d;
                                const uint _e71 = params.sizes.e[_e69];
                                local_ = place < _e71;
                            } else {
                                local_ = false;
                            }
                            const bool _e74 = local_;
                            inside = _e74;
                            const uint _e75 = to;
                            const uint _e78 = d;
                            const uint _e80 = params.strides.e[_e78];
                            to = _e75 + (place * _e80);
                        }
                        const uint _e83 = d;
                        d = _e83 + 1u;
                    }
                    const bool _e86 = inside;
                    if (_e86) {
                        const uint _e88 = to;
                        const uint _e91 = to;
                        const uint _e93 = y[_e91];
                        const uint _e95 = n;
                        const uint _e98 = params.slice;
                        const uint _e102 = updates[(_e95 * _e98) + i];
                        const uint _e105 = params.combine;
                        const uint _e108 = params.numbers;
                        const uint _e109 = combined(_e93, _e102, _e105, _e108);
                        y[_e88] = _e109;
                    }
                }
                const uint _e110 = n;
                n = _e110 + 1u;
            }
        }
        const uint _e113 = walk;
        walk = _e113 + (groups.x * 256u);
    }
}
