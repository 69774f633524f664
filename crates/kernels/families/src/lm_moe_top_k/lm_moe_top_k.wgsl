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
// Lower bound of the sum that weights are divided by: the smallest normal f16.
const LOWEST_SUM = 6.1035156e-5;

// Weights; or scores, if only their order matters.
var<workgroup> scores: array<f32, 1024>;
var<workgroup> group_scores: array<f32, 1024>;

// Values that rank the experts.
fn rank(expert: u32) -> f32 {
    if (params.flags & BIAS) != 0u {
        return scores[expert] + bias[expert];
    }
    return scores[expert];
}

@compute @workgroup_size(64)
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
        for (var i = lane; i < params.experts; i += 64u) {
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
            for (var i = lane; i < params.experts; i += 64u) {
                scores[i] = exp(scores[i] - max_score) / total;
            }
            workgroupBarrier();
        }
        if params.groups != 0u {
            // Avoids a division by zero in kernels that are specialized to this constant.
            let size = params.experts / max(params.groups, 1u);
            for (var at = lane; at < params.groups; at += 64u) {
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
            for (var i = lane; i < params.experts; i += 64u) {
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
        if lane == 0u {
            var max_score = LOWEST;
            var total = 0.0;
            for (var slot = 0u; slot < params.used; slot += 1u) {
                var best = 0u;
                for (var i = 1u; i < params.experts; i += 1u) {
                    if rank(i) > rank(best) {
                        best = i;
                    }
                }
                var weight = scores[best];
                if is_order_enough {
                    // The first is the maximum of all. The division cancels the common factor of
                    // the others.
                    if slot == 0u {
                        max_score = weight;
                    }
                    weight = exp(weight - max_score);
                }
                total += weight;
                selected[token * params.used + slot] = best;
                weights[token * params.used + slot] = weight;
                scores[best] = LOWEST;
            }
            var factor = params.scale;
            if (params.flags & NORMALIZED) != 0u {
                factor = params.scale / max(total, LOWEST_SUM);
            }
            for (var slot = 0u; slot < params.used; slot += 1u) {
                let at = token * params.used + slot;
                weights[at] *= factor;
                if (params.flags & SCALES) != 0u {
                    weights[at] *= bias[params.experts + selected[at]];
                }
            }
        }
        workgroupBarrier();
    }
}
