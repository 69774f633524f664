// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint outer;
    uint axis;
    uint inner;
    uint count;
    uint taps;
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

ROCI_FN uint held(uint index_1, uint size_1) {
    const uint at = found(index_1, size_1);
    return (at >= 2147483648u) ? 0u : min(at, size_1 - 1u);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void resample(global const float *x, global const uint *index_2, global const float *weight, global float *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint output = 0u;
    float sum = 0.0f;
    uint t = 0u;
    const uint _e4 = params.outer;
    const uint _e7 = params.count;
    const uint _e11 = params.inner;
    const uint outputs = (_e4 * _e7) * _e11;
    output = id.x;
    while (true) {
        const uint _e15 = output;
        if (!(_e15 < outputs)) {
            break;
        }
        {
            const uint _e17 = output;
            const uint _e20 = params.inner;
            const uint line = roci_div_u32(_e17, _e20);
            const uint _e24 = params.count;
            const uint _e28 = params.axis;
            const uint _e32 = params.inner;
            const uint _e34 = output;
            const uint _e37 = params.inner;
            const uint start = ((roci_div_u32(line, _e24) * _e28) * _e32) + roci_mod_u32(_e34, _e37);
            const uint _e42 = params.count;
            const uint _e46 = params.taps;
            const uint table = roci_mod_u32(line, _e42) * _e46;
            sum = 0.0f;
            t = table;
            while (true) {
                const uint _e51 = t;
                const uint _e54 = params.taps;
                if (!(_e51 < (table + _e54))) {
                    break;
                }
                {
                    const float _e57 = sum;
                    const uint _e59 = t;
                    const float _e61 = weight[_e59];
                    const uint _e64 = t;
                    const uint _e66 = index_2[_e64];
                    const uint _e69 = params.axis;
                    const uint _e70 = held(_e66, _e69);
                    const uint _e73 = params.inner;
                    const float _e77 = x[start + (_e70 * _e73)];
                    sum = _e57 + (_e61 * _e77);
                }
                const uint _e80 = t;
                t = _e80 + 1u;
            }
            const uint _e84 = output;
            const float _e86 = sum;
            y[_e84] = _e86;
        }
        const uint _e87 = output;
        output = _e87 + (groups.x * 256u);
    }
}
