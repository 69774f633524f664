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

// Some drivers compute tanh by exponentials. They cancel near zero, where the first terms of the series are exact to the last
// bits, and they overflow beyond 10, where the result is one to the last bit.
fn tangent(v: f32) -> f32 {
    let s = v * v;
    let near = v + v * s * (-0.333333333 + s * (0.133333333 + s * (-0.0539682540 + s * 0.0218694885)));
    let far = select(tanh(v), sign(v), abs(v) > 10.0);
    return select(far, near, abs(v) < 0.25);
}

// Zero for numbers below zero. By their bits, since compilers make max() of a comparison, and that loses NaN.
fn rectified(v: f32) -> f32 {
    let bits = bitcast<u32>(v);
    return select(v, 0.0, bits > 0x80000000u && bits <= 0xff800000u);
}

// The sine of v plus `quarters` quarter turns. Vulkan's own may be off by 2^-11, so the angle is reduced to an eighth of a turn
// on either side, by pi / 2 in three parts, and polynomials do the rest. Beyond 8192 the reduction would lose digits: there
// `other` counts.
fn wave(v: f32, quarters: i32, other: f32) -> f32 {
    let turns = round(v * 0.636619772);
    let r = ((v - turns * 1.5703125) - turns * 0.00048375129699707031) - turns * 0.0000000754978995489188216;
    let s = r * r;
    let sine = r + r * s * (-0.16666654611 + s * (0.0083321608736 - s * 0.00019515295891));
    let cosine = 1.0 - 0.5 * s + s * s * (0.041666645683 + s * (-0.0013887316255 + s * 0.000024433157118));
    let quarter = (i32(clamp(turns, -8192.0, 8192.0)) + quarters) & 3;
    let value = select(sine, cosine, (quarter & 1) == 1);
    return select(other, select(value, -value, quarter >= 2), abs(v) < 8192.0);
}

fn apply(v: f32) -> f32 {
    switch OP {
        case NEG: { return -v; }
        case ABS: { return abs(v); }
        case EXP: { return exp(v); }
        case LOG: { return log(v); }
        case SQRT: { return sqrt(v); }
        case RSQRT: { return inverseSqrt(v); }
        case RELU: { return rectified(v); }
        case SIGMOID: { return 1.0 / (1.0 + exp(-v)); }
        case TANH: { return tangent(v); }
        case GELU: { return gelu(v); }
        case SILU: { return v / (1.0 + exp(-v)); }
        case SIN: { return wave(v, 0, sin(v)); }
        case COS: { return wave(v, 1, cos(v)); }
        default: { return v; }
    }
}

@compute @workgroup_size(256)
fn unary(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        y[i] = apply(x[i]);
    }
}
