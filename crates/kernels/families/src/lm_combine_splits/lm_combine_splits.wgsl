// Combines the splits of attention (split-K): rescales their sums of values by their maxima and
// sums of weights. One workgroup per head of a token.
//
// Teams of invocations add up every n-th split, so that many loads are in flight.

struct Params {
    tokens: u32,
    heads: u32,
    value_length: u32,
    splits: u32,
    y_stride: u32,
    packed: u32,
}

const LANES = 256u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

// Per split: maximum of the scores, then the factor of its sums; sum of weights.
var<workgroup> maxima: array<f32, 256>;
var<workgroup> factors: array<f32, 256>;
var<workgroup> totals: array<f32, 256>;
// An element of the result per invocation of a team.
var<workgroup> sums: array<f32, 256>;

@compute @workgroup_size(256)
fn lm_combine_splits(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let pitch = params.value_length + 2u;
    let start = (group.y * params.heads + group.x) * params.splits * pitch;
    let own = start + min(lane, params.splits - 1u) * pitch + params.value_length;
    maxima[lane] = x[own];
    workgroupBarrier();
    var global_max = maxima[0];
    for (var split = 1u; split < params.splits; split += 1u) {
        global_max = max(global_max, maxima[split]);
    }
    let factor = exp(maxima[lane] - global_max);
    factors[lane] = factor;
    totals[lane] = factor * x[own + 1u];
    workgroupBarrier();
    var total = 0.0;
    for (var split = 0u; split < params.splits; split += 1u) {
        total += totals[split];
    }
    let scale = 1.0 / total;
    let to = group.y * params.y_stride + group.x * params.value_length;
    let width = min(params.value_length, LANES);
    let teams = LANES / width;
    let team = lane / width;
    for (var first = 0u; first < params.value_length; first += width) {
        let d = first + lane % width;
        var sum = 0.0;
        if team < teams && d < params.value_length {
            for (var split = team; split < params.splits; split += teams) {
                sum += factors[split] * x[start + split * pitch + d];
            }
        }
        sums[lane] = sum;
        workgroupBarrier();
        if lane < width && d < params.value_length {
            for (var other = 1u; other < teams; other += 1u) {
                sum += sums[other * width + lane];
            }
            sum *= scale;
            sums[lane] = sum;
            if params.packed == 0u {
                y[to + d] = sum;
            }
        }
        workgroupBarrier();
        if params.packed != 0u && lane % 2u == 0u && lane < width && d < params.value_length {
            let pair = clamp(vec2<f32>(sums[lane], sums[lane + 1u]), vec2<f32>(-65504.0), vec2<f32>(65504.0));
            y[(to + d) / 2u] = bitcast<f32>(pack2x16float(pair));
        }
        workgroupBarrier();
    }
}
