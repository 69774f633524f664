// y[i] = f(x[i]); the override selects f. Functions that WGSL lacks are in math.wgsl.

override OP: u32;

const NEG = 0u;
const ABS = 1u;
const EXP = 2u;
const LOG = 3u;
const SQRT = 4u;
const RSQRT = 5u;
const RELU = 6u;
const SIGMOID = 7u;
const TANH = 8u;
const GELU = 9u;
const SILU = 10u;
const SIN = 11u;
const COS = 12u;

struct Params {
    count: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

fn apply(v: f32) -> f32 {
    switch OP {
        case NEG: { return -v; }
        case ABS: { return abs(v); }
        case EXP: { return exp(v); }
        case LOG: { return log(v); }
        case SQRT: { return sqrt(v); }
        case RSQRT: { return inverseSqrt(v); }
        case RELU: { return relu(v); }
        case SIGMOID: { return sigmoid(v); }
        case TANH: { return precise_tanh(v); }
        case GELU: { return gelu(v); }
        case SILU: { return v / (1.0 + exp(-v)); }
        case SIN: { return shifted_sin(v, 0); }
        case COS: { return shifted_sin(v, 1); }
        default: { return v; }
    }
}

@compute @workgroup_size(256)
fn unary(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        y[i] = apply(x[i]);
    }
}
