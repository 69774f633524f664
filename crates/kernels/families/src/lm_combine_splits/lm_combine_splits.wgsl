// Combines the splits of attention (split-K): rescales their sums of values by their maxima and
// sums of weights. One workgroup per 32 columns of a head of a token.
//
// Eight teams of 32 invocations add up every eighth split. The loads of the first 64 splits are
// issued before the factors are known.

struct Params {
    tokens: u32,
    heads: u32,
    value_length: u32,
    splits: u32,
    y_stride: u32,
    packed: u32,
}

const LANES = 256u;
const WIDTH = 32u;
const TEAMS = 8u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

// Per split: maximum of the scores, then the factor of its sums; sum of weights.
var<workgroup> factors: array<f32, 256>;
var<workgroup> totals: array<f32, 256>;
// Every sixteenth of them, reduced.
var<workgroup> maxima: array<f32, 16>;
var<workgroup> sixteenths: array<f32, 16>;
// A column per invocation of a team.
var<workgroup> sums: array<f32, 256>;

// A column of a split; the last split for those past the end.
fn load_split(start: u32, split: u32, column: u32) -> f32 {
    return x[start + min(split, params.splits - 1u) * (params.value_length + 2u) + column];
}

fn combined(lane: u32, total: f32) -> f32 {
    let low = (sums[lane] + sums[lane + 32u]) + (sums[lane + 64u] + sums[lane + 96u]);
    let high = (sums[lane + 128u] + sums[lane + 160u]) + (sums[lane + 192u] + sums[lane + 224u]);
    return (low + high) / total;
}

@compute @workgroup_size(256)
fn lm_combine_splits(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let start = (group.y * params.heads + group.x) * params.splits * (params.value_length + 2u);
    let own_max = load_split(start, lane, params.value_length);
    let own_total = load_split(start, lane, params.value_length + 1u);
    let team = lane / WIDTH;
    let first = group.z * WIDTH;
    let column = min(first + lane % WIDTH, params.value_length - 1u);
    let v0 = load_split(start, team, column);
    let v1 = load_split(start, team + TEAMS, column);
    let v2 = load_split(start, team + 2u * TEAMS, column);
    let v3 = load_split(start, team + 3u * TEAMS, column);
    let v4 = load_split(start, team + 4u * TEAMS, column);
    let v5 = load_split(start, team + 5u * TEAMS, column);
    let v6 = load_split(start, team + 6u * TEAMS, column);
    let v7 = load_split(start, team + 7u * TEAMS, column);
    factors[lane] = own_max;
    workgroupBarrier();
    if lane < 16u {
        var reduced = factors[lane];
        for (var split = lane + 16u; split < params.splits; split += 16u) {
            reduced = max(reduced, factors[split]);
        }
        maxima[lane] = reduced;
    }
    workgroupBarrier();
    var global_max = maxima[0];
    for (var i = 1u; i < 16u; i += 1u) {
        global_max = max(global_max, maxima[i]);
    }
    // Splits past the end have no weight.
    let factor = select(0.0, exp(own_max - global_max), lane < params.splits);
    factors[lane] = factor;
    totals[lane] = factor * own_total;
    workgroupBarrier();
    if lane < 16u {
        var reduced = totals[lane];
        for (var split = lane + 16u; split < params.splits; split += 16u) {
            reduced += totals[split];
        }
        sixteenths[lane] = reduced;
    }
    var sum = (factors[team] * v0 + factors[team + TEAMS] * v1) + (factors[team + 2u * TEAMS] * v2 + factors[team + 3u * TEAMS] * v3);
    sum += (factors[team + 4u * TEAMS] * v4 + factors[team + 5u * TEAMS] * v5) + (factors[team + 6u * TEAMS] * v6 + factors[team + 7u * TEAMS] * v7);
    for (var split = team + 8u * TEAMS; split < params.splits; split += TEAMS) {
        sum += factors[split] * load_split(start, split, column);
    }
    sums[lane] = sum;
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < 16u; i += 1u) {
        total += sixteenths[i];
    }
    if lane >= WIDTH || first + lane >= params.value_length {
        return;
    }
    let at = group.y * params.y_stride + group.x * params.value_length + first + lane;
    if params.packed == 0u {
        y[at] = combined(lane, total);
    } else if lane % 2u == 0u {
        let pair = vec2<f32>(combined(lane, total), combined(lane + 1u, total));
        y[at / 2u] = bitcast<f32>(pack2x16float(clamp(pair, vec2<f32>(-65504.0), vec2<f32>(65504.0))));
    }
}
