// mean[r] = mean of row r of x, inverse[r] = 1 / sqrt(variance of row + epsilon). One workgroup per
// row, striding over the rows.

struct Params {
    rows: u32,
    columns: u32,
    epsilon: f32,
    centered: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> mean: array<f32>;
@group(0) @binding(2) var<storage, read_write> inverse: array<f32>;

@compute @workgroup_size(256)
fn moments(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var row = group.x; row < params.rows; row += groups.x) {
        let result = row_moments(row * params.columns, lane);
        if lane == 0u {
            mean[row] = result.mean + result.correction;
            inverse[row] = result.inverse_std;
        }
    }
}
