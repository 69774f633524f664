// Combines the splits of attention (split-K): rescales their sums of values by their maxima and
// sums of weights. One workgroup per head of a token.

struct Params {
    tokens: u32,
    heads: u32,
    value_length: u32,
    splits: u32,
    y_stride: u32,
    packed: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

// An element of the result; `start` is the first split of its head.
fn combine(start: u32, d: u32, global_max: f32) -> f32 {
    let pitch = params.value_length + 2u;
    var sum = 0.0;
    for (var split = 0u; split < params.splits; split += 1u) {
        let base = start + split * pitch;
        sum += exp(x[base + params.value_length] - global_max) * x[base + d];
    }
    return sum;
}

@compute @workgroup_size(64)
fn lm_combine_splits(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let pitch = params.value_length + 2u;
    let start = (group.y * params.heads + group.x) * params.splits * pitch;
    var global_max = -3.0e38;
    for (var split = 0u; split < params.splits; split += 1u) {
        global_max = max(global_max, x[start + split * pitch + params.value_length]);
    }
    var total = 0.0;
    for (var split = 0u; split < params.splits; split += 1u) {
        let at = start + split * pitch + params.value_length;
        total += exp(x[at] - global_max) * x[at + 1u];
    }
    let scale = 1.0 / total;
    let to = group.y * params.y_stride + group.x * params.value_length;
    if params.packed != 0u {
        for (var d = 2u * lane; d < params.value_length; d += 128u) {
            let pair = vec2<f32>(combine(start, d, global_max), combine(start, d + 1u, global_max)) * scale;
            y[(to + d) / 2u] = bitcast<f32>(pack2x16float(clamp(pair, vec2<f32>(-65504.0), vec2<f32>(65504.0))));
        }
        return;
    }
    for (var d = lane; d < params.value_length; d += 64u) {
        y[to + d] = combine(start, d, global_max) * scale;
    }
}
