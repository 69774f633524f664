// Written from WGSL; do not edit.

typedef struct {
    uint count;
    uint source_offset;
    uint target_offset;
} Params;

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void copy(global const uint *source_words, global uint *target_words, Params params) {
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
            const uint _e12 = params.target_offset;
            const uint _e13 = i;
            const uint _e19 = params.source_offset;
            const uint _e20 = i;
            const uint _e23 = source_words[_e19 + _e20];
            target_words[_e12 + _e13] = _e23;
        }
        const uint _e24 = i;
        i = _e24 + (groups.x * 256u);
    }
}
