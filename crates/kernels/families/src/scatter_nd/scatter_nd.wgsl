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
    apart: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> index: array<u32>;
@group(0) @binding(1) var<storage, read> updates: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn scatter_nd(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let apart = params.apart != 0u;
    let depth = min(params.depth, 5u);
    let walks = params.slice * select(1u, params.count, apart);
    for (var walk = id.x; walk < walks; walk += groups.x * 256u) {
        let first = walk / params.slice;
        let behind = select(params.count, first + 1u, apart);
        let i = walk % params.slice;
        for (var n = first; n < behind; n += 1u) {
            var to = i;
            var inside = true;
            for (var d = 0u; d < depth; d += 1u) {
                let place = found(index[n * depth + d], params.sizes[d]);
                inside = inside && place < params.sizes[d];
                to += place * params.strides[d];
            }
            if inside {
                y[to] = combined(y[to], updates[n * params.slice + i], params.combine, params.numbers);
            }
        }
    }
}
