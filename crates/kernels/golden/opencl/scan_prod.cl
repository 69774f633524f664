// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint outer;
    uint axis;
    uint inner;
    uint numbers;
    uint exclusive;
    uint reverse;
} Params;
typedef struct { uint e[256]; } array256_uint;

ROCI_FN uint roci_div_u32(uint a, uint b) {
    return b == 0 ? a : (uint)(a / b);
}
ROCI_FN uint roci_mod_u32(uint a, uint b) {
    return b == 0 ? (uint)0 : (uint)(a % b);
}
#define roci_barrier_workgroup() barrier(CLK_LOCAL_MEM_FENCE)

ROCI_FN uint identity(private const Params *params) {
    const uint _e4 = (*params).numbers;
    return (_e4 == 0u) ? 1065353216u : 1u;
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

ROCI_FN uint fold(uint p, uint q, private const Params *params) {
    const uint _e5 = (*params).numbers;
    const uint _e6 = combined(p, q, 2u, _e5);
    return _e6;
}

ROCI_FN uint turned(uint step_1, private const Params *params) {
    const uint _e3 = (*params).axis;
    const uint _e9 = (*params).reverse;
    return (_e9 != 0u) ? ((_e3 - 1u) - step_1) : step_1;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan_prod(global const uint *x, global uint *y, Params params) {
    local array256_uint folds;
    const uint3 group = (uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    const uint lane = (uint)get_local_id(0);
    uint line = 0u;
    uint before = 0u;
    uint step_ = 0u;
    uint line_1 = 0u;
    uint carry = 0u;
    uint block = 0u;
    uint mine = 0u;
    uint reach = 0u;
    uint other = 0u;
    uint before_1 = 0u;
    const uint _e5 = params.outer;
    const uint _e8 = params.inner;
    const uint lines = _e5 * _e8;
    const uint _e12 = params.exclusive;
    const bool exclusive = _e12 != 0u;
    const uint _e17 = params.inner;
    if (_e17 >= 32u) {
        line = (group.x * 256u) + lane;
        while (true) {
            const uint _e25 = line;
            if (!(_e25 < lines)) {
                break;
            }
            {
                const uint _e27 = line;
                const uint _e30 = params.inner;
                const uint _e34 = params.axis;
                const uint _e38 = params.inner;
                const uint _e40 = line;
                const uint _e43 = params.inner;
                const uint start = ((roci_div_u32(_e27, _e30) * _e34) * _e38) + roci_mod_u32(_e40, _e43);
                const uint _e46 = identity(&params);
                before = _e46;
                step_ = 0u;
                while (true) {
                    const uint _e50 = step_;
                    const uint _e53 = params.axis;
                    if (!(_e50 < _e53)) {
                        break;
                    }
                    {
                        const uint _e55 = step_;
                        const uint _e56 = turned(_e55, &params);
                        const uint _e59 = params.inner;
                        const uint at = start + (_e56 * _e59);
                        const uint _e62 = before;
                        const uint _e65 = x[at];
                        const uint with_it = fold(_e62, _e65, &params);
                        const uint _e69 = before;
                        y[at] = exclusive ? _e69 : with_it;
                        before = with_it;
                    }
                    const uint _e71 = step_;
                    step_ = _e71 + 1u;
                }
            }
            const uint _e74 = line;
            line = _e74 + (groups.x * 256u);
        }
        return;
    }
    line_1 = group.x;
    while (true) {
        const uint _e81 = line_1;
        if (!(_e81 < lines)) {
            break;
        }
        {
            const uint _e83 = line_1;
            const uint _e86 = params.inner;
            const uint _e90 = params.axis;
            const uint _e94 = params.inner;
            const uint _e96 = line_1;
            const uint _e99 = params.inner;
            const uint start_1 = ((roci_div_u32(_e83, _e86) * _e90) * _e94) + roci_mod_u32(_e96, _e99);
            const uint _e102 = identity(&params);
            carry = _e102;
            block = 0u;
            while (true) {
                const uint _e106 = block;
                const uint _e109 = params.axis;
                if (!(_e106 < _e109)) {
                    break;
                }
                {
                    const uint _e111 = block;
                    const uint step_2 = _e111 + lane;
                    const uint _e113 = turned(step_2, &params);
                    const uint _e116 = params.inner;
                    const uint at_1 = start_1 + (_e113 * _e116);
                    const uint _e119 = identity(&params);
                    mine = _e119;
                    const uint _e123 = params.axis;
                    if (step_2 < _e123) {
                        const uint _e127 = x[at_1];
                        mine = _e127;
                    }
                    const uint _e130 = mine;
                    folds.e[lane] = _e130;
                    roci_barrier_workgroup();
                    reach = 1u;
                    while (true) {
                        const uint _e133 = reach;
                        if (!(_e133 < 256u)) {
                            break;
                        }
                        {
                            const uint _e136 = identity(&params);
                            other = _e136;
                            const uint _e138 = reach;
                            if (lane >= _e138) {
                                const uint _e141 = reach;
                                const uint _e144 = folds.e[lane - _e141];
                                other = _e144;
                            }
                            roci_barrier_workgroup();
                            const uint _e145 = other;
                            const uint _e146 = mine;
                            const uint _e147 = fold(_e145, _e146, &params);
                            mine = _e147;
                            const uint _e150 = mine;
                            folds.e[lane] = _e150;
                            roci_barrier_workgroup();
                        }
                        const uint _e151 = reach;
                        reach = _e151 * 2u;
                    }
                    const uint _e154 = carry;
                    before_1 = _e154;
                    if (lane > 0u) {
                        const uint _e158 = carry;
                        const uint _e163 = folds.e[lane - 1u];
                        const uint _e164 = fold(_e158, _e163, &params);
                        before_1 = _e164;
                    }
                    const uint _e167 = params.axis;
                    if (step_2 < _e167) {
                        const uint _e171 = carry;
                        const uint _e172 = mine;
                        const uint _e173 = fold(_e171, _e172, &params);
                        const uint _e174 = before_1;
                        y[at_1] = exclusive ? _e174 : _e173;
                    }
                    const uint _e176 = carry;
                    const uint _e179 = folds.e[255];
                    const uint _e180 = fold(_e176, _e179, &params);
                    carry = _e180;
                    roci_barrier_workgroup();
                }
                const uint _e181 = block;
                block = _e181 + 256u;
            }
        }
        const uint _e184 = line_1;
        line_1 = _e184 + groups.x;
    }
}
