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
    apart: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> index: array<u32>;
@group(0) @binding(1) var<storage, read> updates: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn scatter_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let apart = params.apart != 0u;
    let walks = params.lines * select(1u, params.steps, apart);
    for (var walk = id.x; walk < walks; walk += groups.x * 256u) {
        let first = walk / params.lines;
        let behind = select(params.steps, first + 1u, apart);
        var rest = walk % params.lines;
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
        for (var step = first; step < behind; step += 1u) {
            let at = update + step * params.step_stride;
            let place = found(index[at], params.axis);
            if place < params.axis {
                let to = line + place * params.axis_stride;
                y[to] = combined(y[to], updates[at], params.combine, params.numbers);
            }
        }
    }
}
