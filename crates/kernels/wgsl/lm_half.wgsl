// Numbers as 16-bit floats, two to a word, for products on matrix units. What is too large for them becomes the largest of them.

struct Params {
    words: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn lm_half(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var i = group.x * 256u + lane; i < params.words; i += groups.x * 256u) {
        y[i] = pack2x16float(clamp(x[i], vec2<f32>(-65504.0), vec2<f32>(65504.0)));
    }
}
