// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[4]; } array4_uint;
typedef struct {
    uint lines;
    array4_uint shape;
    array4_uint strides;
    array4_uint update_strides;
    uint axis;
    uint axis_stride;
    uint steps;
    uint step_stride;
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

ROCI_FN uint combined(uint old, uint update_1, uint combine, uint numbers_3) {
    switch (combine) {
    case 1u: {
        if (numbers_3 == 0u) {
            return as_uint(as_float(old) + as_float(update_1));
        }
        return old + update_1;
    }
    case 2u: {
        if (numbers_3 == 0u) {
            return as_uint(as_float(old) * as_float(update_1));
        }
        return old * update_1;
    }
    case 3u: {
        const uint _e18 = falling(update_1, numbers_3);
        const uint _e19 = falling(old, numbers_3);
        return (_e18 > _e19) ? update_1 : old;
    }
    case 4u: {
        const uint _e22 = rising(update_1, numbers_3);
        const uint _e23 = rising(old, numbers_3);
        return (_e22 > _e23) ? update_1 : old;
    }
    default: {
        return update_1;
    }
    }
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scatter_elements(global const uint *index_1, global const uint *updates, global uint *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint walk = 0u;
    uint rest = 0u;
    uint line = 0u;
    uint update = 0u;
    uint dimension = 0u;
    uint step_ = 0u;
    const uint _e4 = params.apart;
    const bool apart = _e4 != 0u;
    const uint _e9 = params.lines;
    const uint _e13 = params.steps;
    const uint walks = _e9 * (apart ? _e13 : 1u);
    walk = id.x;
    while (true) {
        const uint _e18 = walk;
        if (!(_e18 < walks)) {
            break;
        }
        {
            const uint _e20 = walk;
            const uint _e23 = params.lines;
            const uint first = roci_div_u32(_e20, _e23);
            const uint _e27 = params.steps;
            const uint behind = apart ? (first + 1u) : _e27;
            const uint _e31 = walk;
            const uint _e34 = params.lines;
            rest = roci_mod_u32(_e31, _e34);
            line = 0u;
            update = 0u;
            dimension = 3u;
            while (true) {
                const uint _e43 = dimension;
                if (!(_e43 > 0u)) {
                    break;
                }
                {
                    const uint _e48 = dimension;
                    const uint size_1 = params.shape.e[_e48];
                    const uint _e51 = line;
                    const uint _e52 = rest;
                    const uint _e56 = dimension;
                    const uint _e58 = params.strides.e[_e56];
                    line = _e51 + (roci_mod_u32(_e52, size_1) * _e58);
                    const uint _e61 = update;
                    const uint _e62 = rest;
                    const uint _e66 = dimension;
                    const uint _e68 = params.update_strides.e[_e66];
                    update = _e61 + (roci_mod_u32(_e62, size_1) * _e68);
                    const uint _e71 = rest;
                    rest = roci_div_u32(_e71, size_1);
                }
                const uint _e73 = dimension;
                dimension = _e73 - 1u;
            }
            const uint _e76 = line;
            const uint _e77 = rest;
            const uint _e81 = params.strides.e[0];
            line = _e76 + (_e77 * _e81);
            const uint _e84 = update;
            const uint _e85 = rest;
            const uint _e89 = params.update_strides.e[0];
            update = _e84 + (_e85 * _e89);
            step_ = first;
            while (true) {
                const uint _e93 = step_;
                if (!(_e93 < behind)) {
                    break;
                }
                {
                    const uint _e95 = update;
                    const uint _e96 = step_;
                    const uint _e99 = params.step_stride;
                    const uint at = _e95 + (_e96 * _e99);
                    const uint _e104 = index_1[at];
                    const uint _e107 = params.axis;
                    const uint place = found(_e104, _e107);
                    const uint _e111 = params.axis;
                    if (place < _e111) {
                        const uint _e113 = line;
                        const uint _e116 = params.axis_stride;
                        const uint to = _e113 + (place * _e116);
                        const uint _e123 = y[to];
                        const uint _e126 = updates[at];
                        const uint _e129 = params.combine;
                        const uint _e132 = params.numbers;
                        const uint _e133 = combined(_e123, _e126, _e129, _e132);
                        y[to] = _e133;
                    }
                }
                const uint _e134 = step_;
                step_ = _e134 + 1u;
            }
        }
        const uint _e137 = walk;
        walk = _e137 + (groups.x * 256u);
    }
}
