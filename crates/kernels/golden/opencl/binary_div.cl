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
    return p / q;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void binary_div(global const float *a, global const float *b, global float *y, Params params) {
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
            const float _e15 = a[_e13];
            const uint _e17 = i;
            const float _e19 = b[_e17];
            const float _e20 = apply(_e15, _e19);
            y[_e10] = _e20;
        }
        const uint _e21 = i;
        i = _e21 + (groups.x * 256u);
    }
}
