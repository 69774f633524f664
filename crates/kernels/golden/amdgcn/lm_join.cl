// Written from WGSL; do not edit.

typedef struct {
    uint tokens;
    uint heads;
    uint value_length;
    uint splits;
    uint y_stride;
} Params;

kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void lm_join(global const float *x, global float *y, Params params) {
    const uint3 group = (uint3)(__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z());
    const uint lane = __builtin_amdgcn_workitem_id_x();
    float most = (-3e38f);
    uint s = 0u;
    float total = 0.0f;
    uint s_1 = 0u;
    uint d = 0u;
    float sum = 0.0f;
    uint s_2 = 0u;
    const uint _e4 = params.value_length;
    const uint pitch = _e4 + 2u;
    const uint _e10 = params.heads;
    const uint _e16 = params.splits;
    const uint start = (((group.y * _e10) + group.x) * _e16) * pitch;
    while (true) {
        const uint _e23 = s;
        const uint _e26 = params.splits;
        if (!(_e23 < _e26)) {
            break;
        }
        {
            const float _e28 = most;
            const uint _e30 = s;
            const uint _e35 = params.value_length;
            const float _e38 = x[(start + (_e30 * pitch)) + _e35];
            most = __builtin_elementwise_maxnum(_e28, _e38);
        }
        const uint _e40 = s;
        s = _e40 + 1u;
    }
    while (true) {
        const uint _e47 = s_1;
        const uint _e50 = params.splits;
        if (!(_e47 < _e50)) {
            break;
        }
        {
            const uint _e52 = s_1;
            const uint _e57 = params.value_length;
            const uint at = (start + (_e52 * pitch)) + _e57;
            const float _e59 = total;
            const float _e62 = x[at];
            const float _e63 = most;
            const float _e70 = x[at + 1u];
            total = _e59 + (__builtin_elementwise_exp(_e62 - _e63) * _e70);
        }
        const uint _e73 = s_1;
        s_1 = _e73 + 1u;
    }
    const float _e76 = total;
    const float scale = 1.0f / _e76;
    d = lane;
    while (true) {
        const uint _e80 = d;
        const uint _e83 = params.value_length;
        if (!(_e80 < _e83)) {
            break;
        }
        {
            sum = 0.0f;
            s_2 = 0u;
            while (true) {
                const uint _e89 = s_2;
                const uint _e92 = params.splits;
                if (!(_e89 < _e92)) {
                    break;
                }
                {
                    const uint _e94 = s_2;
                    const uint base = start + (_e94 * pitch);
                    const float _e97 = sum;
                    const uint _e101 = params.value_length;
                    const float _e104 = x[base + _e101];
                    const float _e105 = most;
                    const uint _e109 = d;
                    const float _e112 = x[base + _e109];
                    sum = _e97 + (__builtin_elementwise_exp(_e104 - _e105) * _e112);
                }
                const uint _e115 = s_2;
                s_2 = _e115 + 1u;
            }
            const uint _e122 = params.y_stride;
            const uint _e127 = params.value_length;
            const uint _e130 = d;
            const float _e133 = sum;
            y[((group.y * _e122) + (group.x * _e127)) + _e130] = _e133 * scale;
        }
        const uint _e135 = d;
        d = _e135 + 64u;
    }
}
