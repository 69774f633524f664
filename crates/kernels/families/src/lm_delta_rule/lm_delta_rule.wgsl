// The gated delta rule. The state of a head is a matrix with a row per element of its values. Each
// token decays the state, corrects the value that the state returns for the token's key, and reads
// the state with the token's query.
//
// A workgroup of 128 keeps some rows of a head in registers while it goes through the tokens of one
// sequence. `lanes` adjacent invocations share a row, up to 16 elements each. One barrier per token
// is enough: the product of the updated row with the query follows from products before the update.

struct Params {
    sequences: u32,
    first: u32,
    heads: u32,
    key_heads: u32,
    length: u32,
    tiled: u32,
    lanes: u32,
    x_stride: u32,
    scores_stride: u32,
    rates_offset: u32,
    decays_offset: u32,
    y_stride: u32,
    epsilon: f32,
    scale: f32,
}

const NO_STATE = 0xffffffffu;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> scores: array<f32>;
@group(0) @binding(3) var<storage, read> decays: array<f32>;
@group(0) @binding(4) var<storage, read_write> states: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// One half of each array is for even tokens, the other for odd ones: an invocation may write the
// products of a token while others still read the products of the previous token.
// Products of parts of a row with the key (x) and with the query (y).
var<workgroup> row_dots: array<vec2<f32>, 256>;
// Products of parts of key and query (x), of key and key (y), of query and query (z).
var<workgroup> head_dots: array<vec4<f32>, 256>;

struct Token {
    key: Elements,
    query: Elements,
    value: f32,
    decay_score: f32,
    rate_score: f32,
}

fn row_length() -> u32 {
    return params.length;
}

fn load_token(token: u32, head: u32, row: u32, column: u32) -> Token {
    var key_head = head / (params.heads / params.key_heads);
    if params.tiled != 0u {
        key_head = head % params.key_heads;
    }
    let query = token * params.x_stride + key_head * params.length;
    let key = query + params.key_heads * params.length;
    let value = token * params.x_stride + (2u * params.key_heads + head) * params.length + row;
    return Token(
        load_elements(key, column),
        load_elements(query, column),
        x[value / 4u][value % 4u],
        scores[token * params.scores_stride + params.decays_offset + head],
        scores[token * params.scores_stride + params.rates_offset + head],
    );
}

@compute @workgroup_size(128)
fn lm_delta_rule(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
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

    var state: Elements;
    if is_row && read_slot != NO_STATE {
        let start = ((read_slot * params.heads + head) * params.length + row) * params.length;
        state = load_row(start, column);
    }
    let value_row = min(row, params.length - 1u);
    let decay_bias = decays[head];
    let decay_factor = decays[params.heads + head];
    let last = first_token + max(tokens, 1u) - 1u;
    // Loads take longer than a token, so those of the next three are in flight. Nothing is computed
    // from them before: that would wait for them.
    var token = load_token(first_token, head, value_row, column);
    var next = load_token(min(first_token + 1u, last), head, value_row, column);
    var after_next = load_token(min(first_token + 2u, last), head, value_row, column);
    for (var t = 0u; t < tokens; t += 1u) {
        let third = load_token(min(first_token + t + 3u, last), head, value_row, column);
        let decay = exp(decay_factor * softplus(token.decay_score + decay_bias));
        let rate = 1.0 / (1.0 + exp(-token.rate_score));
        let base = t % 2u * 128u;
        row_dots[base + lane] = vec2<f32>(dot_elements(state, token.key), dot_elements(state, token.query));
        if lane < params.lanes {
            let key_query = dot_elements(token.key, token.query);
            let keys = dot_elements(token.key, token.key);
            head_dots[base + lane] = vec4<f32>(key_query, keys, dot_elements(token.query, token.query), 0.0);
        }
        workgroupBarrier();
        var row_dot = vec2<f32>();
        var head_dot = vec4<f32>();
        for (var i = 0u; i < params.lanes; i += 1u) {
            row_dot += row_dots[base + lane - part + i];
            head_dot += head_dots[base + i];
        }
        // Keys and queries are normalized here; `change` includes the scale of the key.
        let key_scale = 1.0 / sqrt(head_dot.y + params.epsilon);
        let query_scale = params.scale / sqrt(head_dot.z + params.epsilon);
        let recalled = decay * key_scale * row_dot.x;
        let change = rate * (token.value - recalled) * key_scale;
        state.a = decay * state.a + change * token.key.a;
        state.b = decay * state.b + change * token.key.b;
        state.c = decay * state.c + change * token.key.c;
        state.d = decay * state.d + change * token.key.d;
        if part == 0u && is_row {
            let sum = decay * row_dot.y + change * head_dot.x;
            y[(first_token + t) * params.y_stride + head * params.length + row] = query_scale * sum;
        }
        token = next;
        next = after_next;
        after_next = third;
    }
    if is_row {
        let start = ((write_slot * params.heads + head) * params.length + row) * params.length;
        store_row(start, column, state);
    }
}
