// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[5]; } array5_uint;
typedef struct {
    uint batches;
    uint count;
    uint slice;
    uint depth;
    array5_uint sizes;
    array5_uint strides;
    uint batch_stride;
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
    const uint at_1 = found(index_1, size_1);
    return (at_1 >= 2147483648u) ? 0u : min(at_1, size_1 - 1u);
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void take_nd(global const uint *x, global const uint *index_2, global uint *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
    uint output = 0u;
    uint at = 0u;
    uint d = 0u;
    const uint _e4 = params.batches;
    const uint _e7 = params.count;
    const uint _e11 = params.slice;
    const uint outputs = (_e4 * _e7) * _e11;
    const uint _e15 = params.depth;
    const uint depth = min(_e15, 5u);
    output = id.x;
    while (true) {
        const uint _e20 = output;
        if (!(_e20 < outputs)) {
            break;
        }
        {
            const uint _e22 = output;
            const uint _e25 = params.slice;
            const uint entry = roci_div_u32(_e22, _e25);
            const uint _e29 = params.count;
            const uint _e33 = params.batch_stride;
            const uint _e35 = output;
            const uint _e38 = params.slice;
            at = (roci_div_u32(entry, _e29) * _e33) + roci_mod_u32(_e35, _e38);
            d = 0u;
            while (true) {
                const uint _e44 = d;
                if (!(_e44 < depth)) {
                    break;
                }
                {
                    const uint _e46 = at;
                    const uint _e49 = d;
                    const uint _e52 = index_2[(entry * depth) + _e49];
                    const uint _e55 = d;
                    const uint _e57 = params.sizes.e[_e55];
                    const uint _e58 = held(_e52, _e57);
                    const uint _e61 = d;
                    const uint _e63 = params.strides.e[_e61];
                    at = _e46 + (_e58 * _e63);
                }
                const uint _e66 = d;
                d = _e66 + 1u;
            }
            const uint _e70 = output;
            const uint _e73 = at;
            const uint _e75 = x[_e73];
            y[_e70] = _e75;
        }
        const uint _e76 = output;
        output = _e76 + (groups.x * 256u);
    }
}
