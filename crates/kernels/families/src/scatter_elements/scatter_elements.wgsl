// Combines each update with y[strides * line + axis_stride * index[update]], in 32-bit words.
//
// An invocation owns a line and applies its updates in order, so that the result is deterministic.
// If no two updates collide, an invocation applies one update.

struct Params {
    lines: u32,
    shape: array<u32, 4>,
    strides: array<u32, 4>,
    update_strides: array<u32, 4>,
    axis: u32,
    axis_stride: u32,
    steps: u32,
    step_stride: u32,
    combine: u32,
    numbers: u32,
    unique_indices: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> index: array<u32>;
@group(0) @binding(1) var<storage, read> updates: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn scatter_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let unique_indices = params.unique_indices != 0u;
    let items = params.lines * select(1u, params.steps, unique_indices);
    for (var item = id.x; item < items; item += groups.x * 256u) {
        let first = item / params.lines;
        let end = select(params.steps, first + 1u, unique_indices);
        var rest = item % params.lines;
        var line = 0u;
        var update = 0u;
        for (var dimension = 3u; dimension > 0u; dimension -= 1u) {
            let size = params.shape[dimension];
            line += rest % size * params.strides[dimension];
            update += rest % size * params.update_strides[dimension];
            rest = rest / size;
        }
        line += rest * params.strides[0];
        update += rest * params.update_strides[0];
        for (var step = first; step < end; step += 1u) {
            let at = update + step * params.step_stride;
            let target_index = resolve_index(index[at], params.axis);
            if target_index < params.axis {
                let to = line + target_index * params.axis_stride;
                y[to] = combine_words(y[to], updates[at], params.combine, params.numbers);
            }
        }
    }
}
