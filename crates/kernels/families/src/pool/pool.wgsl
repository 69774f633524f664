// y[p, o] = one result for the window of x[p, o * stride - pad + k * dilation], in up to three
// dimensions; the override selects the function.

override OP: u32;

const MAX = 0u;
const MAX_INDEX = 1u;
const AVERAGE = 2u;
const LP = 3u;

const COUNT_PAD = 1u;
const COLUMN_MAJOR = 2u;

struct Params {
    planes: u32,
    input: array<u32, 3>,
    output: array<u32, 3>,
    kernel: array<u32, 3>,
    stride: array<u32, 3>,
    dilation: array<u32, 3>,
    pad: array<i32, 3>,
    pad_end: array<i32, 3>,
    flags: u32,
    norm: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

fn is_nan(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u;
}

fn integer_power(base: f32, exponent: u32) -> f32 {
    var result = 1.0;
    for (var i = 0u; i < exponent; i += 1u) {
        result *= base;
    }
    return result;
}

// The p-th root of a sum of powers. pow() is too inaccurate on some drivers, so a Newton step
// follows.
fn root(sum: f32) -> f32 {
    if params.norm == 1u || sum == 0.0 || (bitcast<u32>(sum) & 0x7fffffffu) >= 0x7f800000u {
        return sum;
    }
    if params.norm == 2u {
        return sqrt(sum);
    }
    let n = f32(params.norm);
    let estimate = pow(sum, 1.0 / n);
    return estimate - (estimate - sum / integer_power(estimate, params.norm - 1u)) / n;
}

// Length along `d` of a window that starts at `start`, clipped to the padded input.
fn window_length(d: u32, start: i32) -> u32 {
    let end = i32(params.input[d]) + params.pad_end[d];
    let step = i32(params.dilation[d]);
    let steps = max(end - start + step - 1, 0) / step;
    return min(params.kernel[d], u32(steps));
}

// State of a window: its sum or maximum, the index of the maximum, and the number of elements
// inside x.
struct State {
    value: f32,
    coordinates: vec3<u32>,
    count: u32,
}

fn initial_state() -> State {
    // Minus infinity, for which WGSL has no constant.
    var lowest = 0xff800000u;
    return State(select(0.0, bitcast<f32>(lowest), OP == MAX || OP == MAX_INDEX), vec3<u32>(), 0u);
}

fn accumulate(old: State, v: f32, coordinates: vec3<u32>) -> State {
    var next = old;
    next.count += 1u;
    switch OP {
        case AVERAGE: { next.value += v; }
        case LP: { next.value += integer_power(abs(v), params.norm); }
        default: {
            // The first NaN is the maximum.
            if !is_nan(old.value) && (old.count == 0u || v > old.value || is_nan(v)) {
                next.value = v;
                next.coordinates = coordinates;
            }
        }
    }
    return next;
}

// The average of a window that starts at `start`.
fn average(state: State, start: vec3<i32>) -> f32 {
    if state.count == 0u {
        return 0.0;
    }
    if (params.flags & COUNT_PAD) != 0u {
        return state.value / f32(window_length(0u, start.x) * window_length(1u, start.y) * window_length(2u, start.z));
    }
    return state.value / f32(state.count);
}

fn flat_index(coordinates: vec3<u32>) -> u32 {
    if (params.flags & COLUMN_MAJOR) != 0u {
        return coordinates.x + params.input[0] * (coordinates.y + params.input[1] * coordinates.z);
    }
    return (coordinates.x * params.input[1] + coordinates.y) * params.input[2] + coordinates.z;
}

@compute @workgroup_size(256)
fn pool(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let plane = params.input[0] * params.input[1] * params.input[2];
    let count = params.planes * params.output[0] * params.output[1] * params.output[2];
    for (var i = id.x; i < count; i += groups.x * 256u) {
        let o2 = i % params.output[2];
        var rest = i / params.output[2];
        let o1 = rest % params.output[1];
        rest = rest / params.output[1];
        let o0 = rest % params.output[0];
        let start = rest / params.output[0] * plane;
        let s0 = i32(o0 * params.stride[0]) - params.pad[0];
        let s1 = i32(o1 * params.stride[1]) - params.pad[1];
        let s2 = i32(o2 * params.stride[2]) - params.pad[2];
        var state = initial_state();
        for (var k0 = 0u; k0 < params.kernel[0]; k0 += 1u) {
            // Negative coordinates wrap to values past the end.
            let i0 = u32(s0 + i32(k0 * params.dilation[0]));
            if i0 >= params.input[0] {
                continue;
            }
            for (var k1 = 0u; k1 < params.kernel[1]; k1 += 1u) {
                let i1 = u32(s1 + i32(k1 * params.dilation[1]));
                if i1 >= params.input[1] {
                    continue;
                }
                for (var k2 = 0u; k2 < params.kernel[2]; k2 += 1u) {
                    let i2 = u32(s2 + i32(k2 * params.dilation[2]));
                    if i2 >= params.input[2] {
                        continue;
                    }
                    let v = x[start + (i0 * params.input[1] + i1) * params.input[2] + i2];
                    state = accumulate(state, v, vec3<u32>(i0, i1, i2));
                }
            }
        }
        switch OP {
            case MAX: { y[i] = bitcast<u32>(state.value); }
            case MAX_INDEX: { y[i] = start + flat_index(state.coordinates); }
            case AVERAGE: { y[i] = bitcast<u32>(average(state, vec3<i32>(s0, s1, s2))); }
            default: { y[i] = bitcast<u32>(root(state.value)); }
        }
    }
}
