// The selective scan of state spaces. The state of a head is a matrix with a row per value. Each token
// decays it, adds the product of its values and its input vector, and reads it with its output vector.
// In Mamba 2 a head has one step and one decay. In Mamba 1 there is a single head, each row has a step,
// each element of a row has a decay, and the vectors are behind the steps.
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
    vectors_offset: u32,
}

// Mamba 1.
override EACH_ROW: bool;

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

struct Token {
    input: Elements,
    output: Elements,
    value: f32,
    step: f32,
    decay: f32,
}

fn row_length() -> u32 {
    return params.state;
}

// Four elements of the vector at `start` of `steps`; zeros past its end.
fn load_behind_steps(start: u32, column: u32) -> vec4<f32> {
    if column >= params.state {
        return vec4<f32>();
    }
    let at = start + column;
    return vec4<f32>(steps[at], steps[at + 1u], steps[at + 2u], steps[at + 3u]);
}

fn load_elements_behind_steps(start: u32, column: u32) -> Elements {
    let step = 4u * params.lanes;
    return Elements(
        load_behind_steps(start, column),
        load_behind_steps(start, column + step),
        load_behind_steps(start, column + 2u * step),
        load_behind_steps(start, column + 3u * step),
    );
}

// Four exponents of decays for a step of one; zeros past the end of the row.
fn load_rate(start: u32, column: u32) -> vec4<f32> {
    if column >= params.state {
        return vec4<f32>();
    }
    let at = start + column;
    return vec4<f32>(heads[at], heads[at + 1u], heads[at + 2u], heads[at + 3u]);
}

fn load_token(token: u32, head: u32, row: u32, column: u32) -> Token {
    let start = token * params.x_stride;
    let value = start + head * params.length + row;
    if EACH_ROW {
        let at = token * params.steps_stride;
        let input = at + params.vectors_offset;
        return Token(
            load_elements_behind_steps(input, column),
            load_elements_behind_steps(input + params.state, column),
            x[value / 4u][value % 4u],
            softplus(steps[at + params.steps_offset + row] + heads[row]),
            0.0,
        );
    }
    let group = head / (params.heads / params.groups);
    let input = start + params.heads * params.length + group * params.state;
    let output = input + params.groups * params.state;
    let step = softplus(steps[token * params.steps_stride + params.steps_offset + head] + heads[head]);
    return Token(
        load_elements(input, column),
        load_elements(output, column),
        x[value / 4u][value % 4u],
        step,
        exp(heads[params.heads + head] * step),
    );
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
        state = load_row(start, column);
    }
    let value_row = min(row, params.length - 1u);
    var skip = 0.0;
    var rates: Elements;
    if EACH_ROW {
        let start = params.length + value_row * params.state;
        rates.a = load_rate(start, column);
        rates.b = load_rate(start, column + step);
        rates.c = load_rate(start, column + 2u * step);
        rates.d = load_rate(start, column + 3u * step);
        skip = heads[params.length * (params.state + 1u) + value_row];
    } else {
        skip = heads[2u * params.heads + head];
    }
    var token = load_token(first_token, head, value_row, column);
    for (var t = 0u; t < tokens; t += 1u) {
        // Loaded before the barrier, to be available after this token.
        var next = token;
        if t + 1u < tokens {
            next = load_token(first_token + t + 1u, head, value_row, column);
        }
        let base = t % 2u * 128u;
        let change = token.step * token.value;
        var decay = vec4<f32>(token.decay);
        if EACH_ROW {
            decay = exp(rates.a * token.step);
        }
        state.a = decay * state.a + change * token.input.a;
        if EACH_ROW {
            decay = exp(rates.b * token.step);
        }
        state.b = decay * state.b + change * token.input.b;
        if EACH_ROW {
            decay = exp(rates.c * token.step);
        }
        state.c = decay * state.c + change * token.input.c;
        if EACH_ROW {
            decay = exp(rates.d * token.step);
        }
        state.d = decay * state.d + change * token.input.d;
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
        store_row(start, column, state);
    }
}
