// Written from WGSL; do not edit.
#define ROCI_FN static inline __attribute__((always_inline))

typedef struct { uint e[4]; } array4_uint;
typedef struct {
    uint count;
    array4_uint shape;
    array4_uint a_strides;
    array4_uint b_strides;
} Params;

ROCI_FN float apply(float p, float q) {
    return p * q;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void binary_mul(global const float *a, global const float *b, global float *y, Params params) {
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
            const uint _e88 = i;
            const uint _e91 = i;
            const float _e93 = a[_e91];
            const uint _e95 = i;
            const float _e97 = b[_e95];
            const float _e98 = apply(_e93, _e97);
            y[_e88] = _e98;
        }
        const uint _e99 = i;
        i = _e99 + (groups.x * 256u);
    }
}
