// The selective scan of a state space model (Mamba 2). The state of a head is a matrix with a row
// per value. Each token decays the state, adds the product of its values and its input vector, and
// reads the state with its output vector.
//
// A workgroup of 128 keeps some rows of a head in registers while it goes through the tokens of one
// sequence. `lanes` adjacent invocations share a row, up to 16 elements each.

struct Params {
    sequences: u32,
    first: u32,
    heads: u32,
    groups: u32,
    length: u32,
    state: u32,
    lanes: u32,
    x_stride: u32,
    steps_stride: u32,
    steps_offset: u32,
    y_stride: u32,
}

const NO_STATE = 0xffffffffu;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> steps: array<f32>;
@group(0) @binding(3) var<storage, read> heads: array<f32>;
@group(0) @binding(4) var<storage, read_write> states: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// Products of parts of a row with the output vector. One half is for even tokens, the other for odd
// ones: an invocation may write the products of a token while others still read those of the
// previous token.
var<workgroup> row_dots: array<f32, 256>;

// An invocation's elements of a vector, or of a row of the state.
struct Elements {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

struct Token {
    input: Elements,
    output: Elements,
    value: f32,
    step: f32,
    decay: f32,
}

fn dot_elements(p: Elements, q: Elements) -> f32 {
    return (dot(p.a, q.a) + dot(p.b, q.b)) + (dot(p.c, q.c) + dot(p.d, q.d));
}

// Four elements of the vector at `start`; zeros past its end.
fn load_x(start: u32, column: u32) -> vec4<f32> {
    if column >= params.state {
        return vec4<f32>();
    }
    return x[(start + column) / 4u];
}

fn load_elements(start: u32, column: u32) -> Elements {
    let step = 4u * params.lanes;
    return Elements(
        load_x(start, column),
        load_x(start, column + step),
        load_x(start, column + 2u * step),
        load_x(start, column + 3u * step),
    );
}

fn load_token(token: u32, head: u32, row: u32, column: u32) -> Token {
    let start = token * params.x_stride;
    let value = start + head * params.length + row;
    let group = head / (params.heads / params.groups);
    let input = start + params.heads * params.length + group * params.state;
    let output = input + params.groups * params.state;
    // The softplus of the step's score. A series replaces ln(1 + e) where 1 + e would be rounded.
    let score = steps[token * params.steps_stride + params.steps_offset + head] + heads[head];
    let e = exp(-abs(score));
    let step = max(score, 0.0) + select(log(1.0 + e), e * (1.0 - e * (0.5 - e / 3.0)), e < 0.01);
    return Token(
        load_elements(input, column),
        load_elements(output, column),
        x[value / 4u][value % 4u],
        step,
        exp(heads[params.heads + head] * step),
    );
}

fn load_state(start: u32, column: u32) -> vec4<f32> {
    if column >= params.state {
        return vec4<f32>();
    }
    return states[(start + column) / 4u];
}

fn store_state(start: u32, column: u32, v: vec4<f32>) {
    if column < params.state {
        states[(start + column) / 4u] = v;
    }
}

@compute @workgroup_size(128)
fn lm_ssm_scan(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y;
    let at = params.first + 4u * group.z;
    let first_token = inputs[at];
    let tokens = inputs[at + 1u];
    let read_slot = inputs[at + 2u];
    let write_slot = inputs[at + 3u];
    let part = lane % params.lanes;
    let row = (group.x * 128u + lane) / params.lanes;
    // Rows past the end are zero and are not stored.
    let is_row = row < params.length;
    let column = 4u * part;
    let step = 4u * params.lanes;

    var state: Elements;
    if is_row && read_slot != NO_STATE {
        let start = ((read_slot * params.heads + head) * params.length + row) * params.state;
        state.a = load_state(start, column);
        state.b = load_state(start, column + step);
        state.c = load_state(start, column + 2u * step);
        state.d = load_state(start, column + 3u * step);
    }
    let skip = heads[2u * params.heads + head];
    let value_row = min(row, params.length - 1u);
    var token = load_token(first_token, head, value_row, column);
    for (var t = 0u; t < tokens; t += 1u) {
        // Loaded before the barrier, to be available after this token.
        var next = token;
        if t + 1u < tokens {
            next = load_token(first_token + t + 1u, head, value_row, column);
        }
        let base = t % 2u * 128u;
        let change = token.step * token.value;
        state.a = token.decay * state.a + change * token.input.a;
        state.b = token.decay * state.b + change * token.input.b;
        state.c = token.decay * state.c + change * token.input.c;
        state.d = token.decay * state.d + change * token.input.d;
        row_dots[base + lane] = dot_elements(state, token.output);
        workgroupBarrier();
        if part == 0u && is_row {
            var sum = skip * token.value;
            for (var i = 0u; i < params.lanes; i += 1u) {
                sum += row_dots[base + lane + i];
            }
            y[(first_token + t) * params.y_stride + head * params.length + row] = sum;
        }
        token = next;
    }
    if is_row {
        let start = ((write_slot * params.heads + head) * params.length + row) * params.state;
        store_state(start, column, state.a);
        store_state(start, column + step, state.b);
        store_state(start, column + 2u * step, state.c);
        store_state(start, column + 3u * step, state.d);
    }
}
