// RMS norm of heads, times a weight per element, with the SiLU of a gate as a factor of its results
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

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

var<workgroup> sums: array<f32, 64>;

fn silu(v: f32) -> f32 {
    return v / (1.0 + exp(-v));
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
        var square_sum = 0.0;
        for (var c = lane; c < params.length; c += 64u) {
            var v = x[x_base + c];
            if (params.flags & GATE_FIRST) != 0u {
                v *= silu(gates[gates_base + c]);
            }
            square_sum += v * v;
        }
        sums[lane] = square_sum;
        workgroupBarrier();
        for (var step = 32u; step > 0u; step = step / 2u) {
            if lane < step {
                sums[lane] += sums[lane + step];
            }
            workgroupBarrier();
        }
        let scale = 1.0 / sqrt(sums[0] / f32(params.length) + params.epsilon);
        let weights_base = select(0u, column, (params.flags & EACH_HEAD) != 0u);
        for (var c = lane; c < params.length; c += 64u) {
            var v = x[x_base + c] * silu(gates[gates_base + c]);
            if (params.flags & UNNORMED) == 0u {
                v *= scale * weight[weights_base + c];
            }
            y[y_base + c] = v;
        }
        workgroupBarrier();
    }
}
