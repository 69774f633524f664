// Gated linear unit: the activation of the first half of a row, times its second half.

struct Params {
    tokens: u32,
    width: u32,
    x_stride: u32,
    y_stride: u32,
    gelu: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn lm_glu(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var c = group.x * 256u + lane; c < params.width; c += groups.x * 256u) {
        let v = x[group.y * params.x_stride + c];
        var z = v;
        if params.gelu != 0u {
            z = 1.5957691216 * (v + 0.044715 * v * v * v);
        }
        y[group.y * params.y_stride + c] = v / (1.0 + exp(-z)) * x[group.y * params.x_stride + params.width + c];
    }
}
