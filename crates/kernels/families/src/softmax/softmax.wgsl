// y[r, c] = exp(x[r, c] - max of row) / sum of row, or the logarithm of that. One workgroup per
// row, striding over the rows.

override LOGARITHM: u32;

struct Params {
    rows: u32,
    columns: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

// One value per subgroup; 256 suffice for subgroups of one invocation.
var<workgroup> partials: array<f32, 256>;

@compute @workgroup_size(256)
fn softmax(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    // A variable, because WGSL has no constant for infinity.
    var minus_infinity = 0xff800000u;
    for (var row = group.x; row < params.rows; row += groups.x) {
        let start = row * params.columns;

        var local_max = bitcast<f32>(minus_infinity);
        for (var c = lane; c < params.columns; c += 256u) {
            local_max = max(local_max, x[start + c]);
        }
        let subgroup_max = subgroupMax(local_max);
        if subgroup_lane == 0u {
            partials[subgroup] = subgroup_max;
        }
        workgroupBarrier();
        var row_max = partials[0];
        for (var i = 1u; i < subgroups; i += 1u) {
            row_max = max(row_max, partials[i]);
        }
        workgroupBarrier();

        var sum = 0.0;
        for (var c = lane; c < params.columns; c += 256u) {
            sum += exp(x[start + c] - row_max);
        }
        let subgroup_sum = subgroupAdd(sum);
        if subgroup_lane == 0u {
            partials[subgroup] = subgroup_sum;
        }
        workgroupBarrier();
        var total = partials[0];
        for (var i = 1u; i < subgroups; i += 1u) {
            total += partials[i];
        }
        workgroupBarrier();

        if LOGARITHM == 1u {
            let log_sum = log(total);
            for (var c = lane; c < params.columns; c += 256u) {
                y[start + c] = (x[start + c] - row_max) - log_sum;
            }
        } else {
            let scale = 1.0 / total;
            for (var c = lane; c < params.columns; c += 256u) {
                y[start + c] = exp(x[start + c] - row_max) * scale;
            }
        }
    }
}
