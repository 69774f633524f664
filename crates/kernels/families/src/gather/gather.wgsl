// y[o, j, i] = x[o, index[j], i], in 32-bit words.

struct Params {
    outer: u32,
    axis: u32,
    inner: u32,
    count: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn gather(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let outputs = params.outer * params.count * params.inner;
    for (var output = id.x; output < outputs; output += groups.x * 256u) {
        let line = output / params.inner;
        let at = clamped_index(index[line % params.count], params.axis);
        y[output] = x[(line / params.count * params.axis + at) * params.inner + output % params.inner];
    }
}
