// Combines updates[n, i] with y[strides * index[n, ..] + i], in 32-bit words.
//
// An invocation owns an element of the slices and applies the updates in order, so that the result
// is deterministic. If no two updates collide, an invocation applies one element of them.

struct Params {
    count: u32,
    slice: u32,
    depth: u32,
    sizes: array<u32, 5>,
    strides: array<u32, 5>,
    combine: u32,
    numbers: u32,
    unique_indices: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> index: array<u32>;
@group(0) @binding(1) var<storage, read> updates: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn scatter_nd(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let unique_indices = params.unique_indices != 0u;
    let depth = min(params.depth, 5u);
    let items = params.slice * select(1u, params.count, unique_indices);
    for (var item = id.x; item < items; item += groups.x * 256u) {
        let first = item / params.slice;
        let end = select(params.count, first + 1u, unique_indices);
        let i = item % params.slice;
        for (var n = first; n < end; n += 1u) {
            var to = i;
            var inside = true;
            for (var d = 0u; d < depth; d += 1u) {
                let target_index = resolve_index(index[n * depth + d], params.sizes[d]);
                inside = inside && target_index < params.sizes[d];
                to += target_index * params.strides[d];
            }
            if inside {
                y[to] = combine_words(y[to], updates[n * params.slice + i], params.combine, params.numbers);
            }
        }
    }
}
