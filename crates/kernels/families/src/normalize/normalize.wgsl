// y[r, c] = (x[r, c] - mean of row) / sqrt(variance of row + epsilon). One workgroup per row,
// striding over the rows.

struct Params {
    rows: u32,
    columns: u32,
    epsilon: f32,
    centered: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn normalize_rows(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var row = group.x; row < params.rows; row += groups.x) {
        let start = row * params.columns;
        let moments = row_moments(start, lane);
        for (var c = lane; c < params.columns; c += 256u) {
            y[start + c] = ((x[start + c] - moments.mean) - moments.correction) * moments.inverse_std;
        }
    }
}
