// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct {
    uint count;
} Params;

ROCI_FN ushort roci_narrow_f16(float a) {
    ushort bits;
    vstore_half_rte(a, 0, (private half *)&bits);
    return bits;
}
ROCI_FN float roci_widen_f16(ushort bits) {
    return vload_half(0, (private const half *)&bits);
}
ROCI_FN float roci_quantize_f16(float a) {
    return roci_widen_f16(roci_narrow_f16(a));
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void narrow_f16(global const float *x, global ushort *y, Params params) {
    const uint3 id = (uint3)((uint)get_global_id(0), (uint)get_global_id(1), (uint)get_global_id(2));
    const uint3 groups = (uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2));
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
            const float _e15 = x[_e13];
            y[_e10] = roci_narrow_f16(roci_quantize_f16(_e15));
        }
        const uint _e17 = i;
        i = _e17 + (groups.x * 256u);
    }
}
