// Sum of the outputs of a token's experts, each multiplied by its router weight; or the weighted
// inputs of experts.

struct Params {
    tokens: u32,
    columns: u32,
    used: u32,
    x_stride: u32,
    y_stride: u32,
    add: u32,
    sharing: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn lm_moe_combine(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var c = group.x * 256u + lane; c < params.columns; c += groups.x * 256u) {
        var sum = 0.0;
        for (var slot = 0u; slot < params.used; slot += 1u) {
            let expert_row = group.y * params.used + slot;
            sum += weights[expert_row] * x[expert_row / params.sharing * params.x_stride + c];
        }
        let at = group.y * params.y_stride + c;
        if params.add != 0u {
            sum += y[at];
        }
        y[at] = sum;
    }
}
