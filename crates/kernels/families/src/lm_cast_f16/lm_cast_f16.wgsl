// Converts f32 to f16, two per word, for products on matrix units. Values out of range saturate.

struct Params {
    words: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn lm_cast_f16(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var i = group.x * 256u + lane; i < params.words; i += groups.x * 256u) {
        y[i] = pack2x16float(clamp(x[i], vec2<f32>(-65504.0), vec2<f32>(65504.0)));
    }
}
