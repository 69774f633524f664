// y[p] = x[strides * position of p in shape + axis_stride * index[p]], in 32-bit words.

struct Params {
    count: u32,
    shape: array<u32, 5>,
    strides: array<u32, 5>,
    axis: u32,
    axis_stride: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn gather_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var p = id.x; p < params.count; p += groups.x * 256u) {
        var rest = p;
        var at = clamped_index(index[p], params.axis) * params.axis_stride;
        for (var dimension = 4u; dimension > 0u; dimension -= 1u) {
            let size = params.shape[dimension];
            at += rest % size * params.strides[dimension];
            rest = rest / size;
        }
        y[p] = x[at + rest * params.strides[0]];
    }
}
