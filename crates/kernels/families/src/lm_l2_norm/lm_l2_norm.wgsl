// L2 norm of rows. One workgroup per row, striding over the rows: rows are heads, of 64 to 256
// columns.

struct Params {
    rows: u32,
    columns: u32,
    x_stride: u32,
    y_stride: u32,
    epsilon: f32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn lm_l2_norm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var row = group.x; row < params.rows; row += groups.x) {
        let base = row * params.x_stride;
        var square_sum = 0.0;
        for (var c = lane; c < params.columns; c += 64u) {
            let v = x[base + c];
            square_sum += v * v;
        }
        sums[lane] = square_sum;
        workgroupBarrier();
        for (var step = 32u; step > 0u; step = step / 2u) {
            if lane < step {
                sums[lane] += sums[lane + step];
            }
            workgroupBarrier();
        }
        let scale = 1.0 / max(sqrt(sums[0]), params.epsilon);
        let y_base = row * params.y_stride;
        for (var c = lane; c < params.columns; c += 64u) {
            y[y_base + c] = x[base + c] * scale;
        }
        workgroupBarrier();
    }
}
