// y[i] = f(x[i]); the override picks f.

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

// The complementary error function for z >= 0, as t * exp(polynomial(t) - z * z) with t = 1 / (1 + z / 2). The
// polynomial interpolates at Chebyshev nodes; its relative error is below 2e-7 up to z = 10, where the value itself is
// below the smallest f32.
fn erfc_positive(z: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * z);
    var p = 0.148046046;
    p = p * t - 0.697536588;
    p = p * t + 1.19532764;
    p = p * t - 0.746469915;
    p = p * t - 0.0398663245;
    p = p * t - 0.0195079986;
    p = p * t + 0.0413959622;
    p = p * t + 0.385283619;
    p = p * t + 0.998782456;
    p = p * t - 1.26545489;
    return t * exp(p - z * z);
}

// x * (1 + erf(x / sqrt 2)) / 2, with the tail taken by itself so that negative x keeps its relative precision.
fn gelu(v: f32) -> f32 {
    let tail = 0.5 * erfc_positive(abs(v) * 0.70710678);
    return v * select(1.0 - tail, tail, v < 0.0);
}

fn apply(v: f32) -> f32 {
    switch OP {
        case NEG: { return -v; }
        case ABS: { return abs(v); }
        case EXP: { return exp(v); }
        case LOG: { return log(v); }
        case SQRT: { return sqrt(v); }
        case RSQRT: { return inverseSqrt(v); }
        // Not max(): a NaN must stay one.
        case RELU: { return select(v, 0.0, v < 0.0); }
        case SIGMOID: { return 1.0 / (1.0 + exp(-v)); }
        // Some drivers compute tanh by exponentials that overflow; beyond 10 the result is one to the last bit.
        case TANH: { return select(tanh(v), sign(v), abs(v) > 10.0); }
        case GELU: { return gelu(v); }
        case SILU: { return v / (1.0 + exp(-v)); }
        case SIN: { return sin(v); }
        case COS: { return cos(v); }
        default: { return v; }
    }
}

@compute @workgroup_size(256)
fn unary(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        y[i] = apply(x[i]);
    }
}
