// Rows scaled to the L2 norm of other rows. One workgroup per row, striding over the rows.

struct Params {
    rows: u32,
    columns: u32,
    x_stride: u32,
    goal_stride: u32,
    y_stride: u32,
    epsilon: f32,
    add: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> goal: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

// Sums of squares of a row of `x` and of a row of `goal`.
var<workgroup> sums: array<vec2<f32>, 256>;

@compute @workgroup_size(256)
fn lm_l2_norm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var row = group.x; row < params.rows; row += groups.x) {
        let base = row * params.x_stride;
        var square_sums = vec2<f32>();
        for (var c = lane; c < params.columns; c += 256u) {
            let v = vec2<f32>(x[base + c], goal[row * params.goal_stride + c]);
            square_sums += v * v;
        }
        sums[lane] = square_sums;
        workgroupBarrier();
        for (var step = 128u; step > 0u; step = step / 2u) {
            if lane < step {
                sums[lane] += sums[lane + step];
            }
            workgroupBarrier();
        }
        let scale = sqrt(sums[0].y) / max(sqrt(sums[0].x), params.epsilon);
        let y_base = row * params.y_stride;
        for (var c = lane; c < params.columns; c += 256u) {
            var v = x[base + c] * scale;
            if params.add != 0u {
                v += y[y_base + c];
            }
            y[y_base + c] = v;
        }
        workgroupBarrier();
    }
}
