// Written from WGSL; do not edit.

typedef struct {
    uint count;
    uint offset;
    uint value;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void fill(global uint *target_words, Params params) {
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
            const uint _e12 = params.offset;
            const uint _e13 = i;
            const uint _e18 = params.value;
            target_words[_e12 + _e13] = _e18;
        }
        const uint _e19 = i;
        i = _e19 + (groups.x * 256u);
    }
}
