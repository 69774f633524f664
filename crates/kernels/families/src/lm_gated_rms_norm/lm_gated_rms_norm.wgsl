// RMS norm or layer norm of heads, times a weight per element, with a gate as a factor of its results
// or of its inputs. One workgroup per head of a token, striding over the heads.

struct Params {
    tokens: u32,
    heads: u32,
    length: u32,
    x_stride: u32,
    gates_stride: u32,
    gates_offset: u32,
    y_stride: u32,
    epsilon: f32,
    flags: u32,
}

const GATE_FIRST = 1u;
const EACH_HEAD = 2u;
const UNNORMED = 4u;
const SIGMOID = 8u;
const LINEAR = 16u;
const UNGATED = 32u;
const CENTERED = 64u;
const BIAS = 128u;
const ADDEND = 256u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

// Sums of differences to the pivot, and of their squares.
var<workgroup> sums: array<vec2<f32>, 64>;

fn load_gate(at: u32) -> f32 {
    if (params.flags & UNGATED) != 0u {
        return 1.0;
    }
    let v = gates[at];
    if (params.flags & LINEAR) != 0u {
        return v;
    }
    return select(v, 1.0, (params.flags & SIGMOID) != 0u) / (1.0 + exp(-v));
}

fn load_x(at: u32, gate: u32) -> f32 {
    if (params.flags & GATE_FIRST) != 0u {
        return x[at] * load_gate(gate);
    }
    return x[at];
}

@compute @workgroup_size(64)
fn lm_gated_rms_norm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var index = group.x; index < params.tokens * params.heads; index += groups.x) {
        let token = index / params.heads;
        let column = index % params.heads * params.length;
        let x_base = token * params.x_stride + column;
        let gates_base = token * params.gates_stride + params.gates_offset + column;
        let y_base = token * params.y_stride + column;
        // One reduction for mean and variance. Differences to an element are about as large as those
        // to the mean, so that little of them cancels out.
        var pivot = 0.0;
        if (params.flags & CENTERED) != 0u {
            pivot = load_x(x_base, gates_base);
        }
        var sum = vec2<f32>();
        for (var c = lane; c < params.length; c += 64u) {
            let v = load_x(x_base + c, gates_base + c) - pivot;
            sum += vec2<f32>(v, v * v);
        }
        sums[lane] = sum;
        workgroupBarrier();
        for (var step = 32u; step > 0u; step = step / 2u) {
            if lane < step {
                sums[lane] += sums[lane + step];
            }
            workgroupBarrier();
        }
        let means = sums[0] / f32(params.length);
        var mean = 0.0;
        var variance = means.y;
        if (params.flags & CENTERED) != 0u {
            mean = pivot + means.x;
            variance = max(means.y - means.x * means.x, 0.0);
        }
        let scale = 1.0 / sqrt(variance + params.epsilon);
        let all = params.heads * params.length;
        let each_head = (params.flags & EACH_HEAD) != 0u;
        let weights_base = select(0u, column, each_head);
        let biases_base = select(params.length, all, each_head) + weights_base;
        for (var c = lane; c < params.length; c += 64u) {
            var v = load_x(x_base + c, gates_base + c);
            if (params.flags & UNNORMED) == 0u {
                v = (v - mean) * scale * weight[weights_base + c];
                if (params.flags & BIAS) != 0u {
                    v += weight[biases_base + c];
                }
            }
            if (params.flags & ADDEND) != 0u {
                v += x[x_base + all + c];
            }
            if (params.flags & GATE_FIRST) == 0u {
                v *= load_gate(gates_base + c);
            }
            y[y_base + c] = v;
        }
        workgroupBarrier();
    }
}
