// y[i] = f(a[...], b[...]) over a row-major output. The overrides select f and whether the inputs
// are strided. precise_pow() is in math.wgsl.

override OP: u32;
override BROADCAST: bool;

const ADD = 0u;
const SUB = 1u;
const MUL = 2u;
const DIV = 3u;
const MIN = 4u;
const MAX = 5u;
const POW = 6u;

struct Params {
    count: u32,
    shape: array<u32, 4>,
    a_strides: array<u32, 4>,
    b_strides: array<u32, 4>,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn apply(p: f32, q: f32) -> f32 {
    switch OP {
        case ADD: { return p + q; }
        case SUB: { return p - q; }
        case MUL: { return p * q; }
        case DIV: { return p / q; }
        case MIN: { return min(p, q); }
        case MAX: { return max(p, q); }
        case POW: { return precise_pow(p, q); }
        default: { return p; }
    }
}

@compute @workgroup_size(256)
fn binary(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        if BROADCAST {
            let rows = i / params.shape[3];
            let i3 = i % params.shape[3];
            let planes = rows / params.shape[2];
            let i2 = rows % params.shape[2];
            let i1 = planes % params.shape[1];
            let i0 = planes / params.shape[1];
            let at_a = i0 * params.a_strides[0] + i1 * params.a_strides[1] + i2 * params.a_strides[2]
                + i3 * params.a_strides[3];
            let at_b = i0 * params.b_strides[0] + i1 * params.b_strides[1] + i2 * params.b_strides[2]
                + i3 * params.b_strides[3];
            y[i] = apply(a[at_a], b[at_b]);
        } else {
            y[i] = apply(a[i], b[i]);
        }
    }
}
