// Top-k experts of each token by score; ties go to the lower index. One workgroup per token.

struct Params {
    tokens: u32,
    experts: u32,
    used: u32,
    stride: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> selected: array<u32>;
@group(0) @binding(2) var<storage, read_write> weights: array<f32>;

const LOWEST = -3.0e38;

var<workgroup> scores: array<f32, 1024>;

@compute @workgroup_size(64)
fn lm_moe_top_k(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var token = group.x; token < params.tokens; token += groups.x) {
        for (var i = lane; i < params.experts; i += 64u) {
            scores[i] = x[token * params.stride + i];
        }
        workgroupBarrier();
        if lane == 0u {
            var max_score = LOWEST;
            var total = 0.0;
            for (var slot = 0u; slot < params.used; slot += 1u) {
                var best = 0u;
                for (var i = 1u; i < params.experts; i += 1u) {
                    if scores[i] > scores[best] {
                        best = i;
                    }
                }
                // The first is the maximum of all. The common factor of the others cancels in the
                // division.
                if slot == 0u {
                    max_score = scores[best];
                }
                let weight = exp(scores[best] - max_score);
                total += weight;
                selected[token * params.used + slot] = best;
                weights[token * params.used + slot] = weight;
                scores[best] = LOWEST;
            }
            for (var slot = 0u; slot < params.used; slot += 1u) {
                weights[token * params.used + slot] = weights[token * params.used + slot] / total;
            }
        }
        workgroupBarrier();
    }
}
