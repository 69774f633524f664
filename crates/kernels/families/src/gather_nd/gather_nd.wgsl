// y[b, n, i] = x[b * batch_stride + strides * index[b, n, ..] + i], in 32-bit words.

struct Params {
    batches: u32,
    count: u32,
    slice: u32,
    depth: u32,
    sizes: array<u32, 5>,
    strides: array<u32, 5>,
    batch_stride: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn gather_nd(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let outputs = params.batches * params.count * params.slice;
    let depth = min(params.depth, 5u);
    for (var output = id.x; output < outputs; output += groups.x * 256u) {
        let entry = output / params.slice;
        var at = entry / params.count * params.batch_stride + output % params.slice;
        for (var d = 0u; d < depth; d += 1u) {
            at += clamped_index(index[entry * depth + d], params.sizes[d]) * params.strides[d];
        }
        y[output] = x[at];
    }
}
