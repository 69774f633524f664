// Combines the splits of attention (split-K): rescales their sums of values by their maxima and
// sums of weights. One workgroup per head of a token.

struct Params {
    tokens: u32,
    heads: u32,
    value_length: u32,
    splits: u32,
    y_stride: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

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
    for (var d = lane; d < params.value_length; d += 64u) {
        var sum = 0.0;
        for (var split = 0u; split < params.splits; split += 1u) {
            let base = start + split * pitch;
            sum += exp(x[base + params.value_length] - global_max) * x[base + d];
        }
        y[group.y * params.y_stride + group.x * params.value_length + d] = sum * scale;
    }
}
