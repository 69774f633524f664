// Top-k experts of each token by weight; ties go to the lower index. One workgroup per token.

struct Params {
    tokens: u32,
    experts: u32,
    used: u32,
    stride: u32,
    flags: u32,
    scale: f32,
    groups: u32,
    groups_used: u32,
}

const SIGMOID = 1u;
const NORMALIZED = 2u;
const BIAS = 4u;
const SCALES = 8u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> selected: array<u32>;
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;

const LOWEST = -3.0e38;
const BELOW_LOWEST = -3.3e38;
// Lower bound of the sum that weights are divided by: the smallest normal f16.
const LOWEST_SUM = 6.1035156e-5;

// Weights; or scores, if only their order matters.
var<workgroup> scores: array<f32, 1024>;
var<workgroup> group_scores: array<f32, 1024>;
// Values that rank the experts, padded to whole vec4s.
var<workgroup> ranking: array<vec4<f32>, 256>;
// Selected experts, best first.
var<workgroup> chosen: array<u32, 1024>;

fn rank(expert: u32) -> f32 {
    if (params.flags & BIAS) != 0u {
        return scores[expert] + bias[expert];
    }
    return scores[expert];
}

// How many of four experts come before another one: those with a higher value, or with the same
// value and a lower index.
fn count_better(others: vec4<f32>, first: u32, own: f32, expert: u32) -> u32 {
    let indices = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u);
    let is_earlier = (others == vec4<f32>(own)) & (indices < vec4<u32>(expert));
    let counts = select(vec4<u32>(), vec4<u32>(1u), (others > vec4<f32>(own)) | is_earlier);
    return (counts.x + counts.y) + (counts.z + counts.w);
}

@compute @workgroup_size(256)
fn lm_moe_top_k(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let is_sigmoid = (params.flags & SIGMOID) != 0u;
    // The softmax over the selected experts needs only their scores.
    let is_order_enough =
        !is_sigmoid && (params.flags & (NORMALIZED | BIAS)) == NORMALIZED && params.groups == 0u;
    for (var token = group.x; token < params.tokens; token += groups.x) {
        for (var i = lane; i < params.experts; i += 256u) {
            let score = x[token * params.stride + i];
            scores[i] = select(score, 1.0 / (1.0 + exp(-score)), is_sigmoid);
        }
        workgroupBarrier();
        if !is_sigmoid && !is_order_enough {
            var max_score = LOWEST;
            for (var i = 0u; i < params.experts; i += 1u) {
                max_score = max(max_score, scores[i]);
            }
            var total = 0.0;
            for (var i = 0u; i < params.experts; i += 1u) {
                total += exp(scores[i] - max_score);
            }
            workgroupBarrier();
            for (var i = lane; i < params.experts; i += 256u) {
                scores[i] = exp(scores[i] - max_score) / total;
            }
            workgroupBarrier();
        }
        if params.groups != 0u {
            // Avoids a division by zero in kernels that are specialized to this constant.
            let size = params.experts / max(params.groups, 1u);
            for (var at = lane; at < params.groups; at += 256u) {
                var first = LOWEST;
                var second = LOWEST;
                for (var i = at * size; i < (at + 1u) * size; i += 1u) {
                    let value = rank(i);
                    second = max(second, min(first, value));
                    first = max(first, value);
                }
                group_scores[at] = first + second;
            }
            workgroupBarrier();
            // A group is eligible if fewer than `groups_used` are better.
            for (var i = lane; i < params.experts; i += 256u) {
                let own = i / size;
                var better = 0u;
                for (var at = 0u; at < params.groups; at += 1u) {
                    let is_better = group_scores[at] > group_scores[own];
                    let is_earlier = group_scores[at] == group_scores[own] && at < own;
                    better += select(0u, 1u, is_better || is_earlier);
                }
                if better >= params.groups_used {
                    scores[i] = LOWEST;
                }
            }
            workgroupBarrier();
        }
        // An expert is selected if fewer than `used` come before it. NaN counts as the lowest value.
        let fours = (params.experts + 3u) / 4u;
        for (var i = lane; i < 4u * fours; i += 256u) {
            var value = BELOW_LOWEST;
            if i < params.experts {
                value = max(rank(i), LOWEST);
            }
            ranking[i / 4u][i % 4u] = value;
        }
        workgroupBarrier();
        for (var i = lane; i < params.experts; i += 256u) {
            let own = ranking[i / 4u][i % 4u];
            var better = 0u;
            for (var four = 0u; four < fours; four += 1u) {
                better += count_better(ranking[four], 4u * four, own, i);
            }
            if better < params.used {
                chosen[better] = i;
            }
        }
        workgroupBarrier();
        // The first score is the maximum of all. The division cancels the common factor of the
        // others.
        let max_score = scores[min(chosen[0], params.experts - 1u)];
        var total = 0.0;
        for (var slot = 0u; slot < params.used; slot += 1u) {
            let score = scores[min(chosen[slot], params.experts - 1u)];
            total += select(score, exp(score - max_score), is_order_enough);
        }
        var factor = params.scale;
        if (params.flags & NORMALIZED) != 0u {
            factor = params.scale / max(total, LOWEST_SUM);
        }
        for (var slot = lane; slot < params.used; slot += 256u) {
            let expert = min(chosen[slot], params.experts - 1u);
            let score = scores[expert];
            var weight = select(score, exp(score - max_score), is_order_enough) * factor;
            if (params.flags & SCALES) != 0u {
                weight *= bias[params.experts + expert];
            }
            selected[token * params.used + slot] = expert;
            weights[token * params.used + slot] = weight;
        }
        workgroupBarrier();
    }
}
