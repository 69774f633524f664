// Gated linear unit: the activation of the first half of a row, times its second half. Without a
// gate a row has no second half.

struct Params {
    tokens: u32,
    width: u32,
    x_stride: u32,
    y_stride: u32,
    activation: u32,
    gated: u32,
}

const GELU = 1u;
const RELU_SQUARED = 2u;
const SWIGLU_OAI = 3u;
const SIGMOID = 4u;
const TANH = 5u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn lm_glu(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var c = group.x * 256u + lane; c < params.width; c += groups.x * 256u) {
        var v = x[group.y * params.x_stride + c];
        var up = 1.0;
        if params.gated != 0u {
            up = x[group.y * params.x_stride + params.width + c];
        }
        var z = v;
        if params.activation == GELU {
            z = 1.5957691216 * (v + 0.044715 * v * v * v);
        } else if params.activation == SWIGLU_OAI {
            v = min(v, 7.0);
            z = 1.702 * v;
            up = clamp(up, -7.0, 7.0) + 1.0;
        }
        var activated = v / (1.0 + exp(-z));
        if params.activation == RELU_SQUARED {
            activated = max(v, 0.0) * max(v, 0.0);
        } else if params.activation == SIGMOID {
            activated = 1.0 / (1.0 + exp(-v));
        } else if params.activation == TANH {
            // Clamped, because exp overflows on some drivers.
            activated = tanh(clamp(v, -15.0, 15.0));
        }
        y[group.y * params.y_stride + c] = activated * up;
    }
}
