// The recurrence of RWKV. The state of a head is a matrix with a row per element of its values. Each
// token decays every column of the state by a factor of its own and adds the product of its value and
// its key. In RWKV 7 it also removes what the state returns for a removal key, at a rate per column.
// The token reads the state with its receptance.
//
// A workgroup of 128 keeps some rows of a head in registers while it goes through the tokens of one
// sequence. `lanes` adjacent invocations share a row, up to 16 elements each. One barrier per token
// is enough: what the token reads follows from products before the update.

struct Params {
    sequences: u32,
    first: u32,
    heads: u32,
    key_heads: u32,
    length: u32,
    lanes: u32,
    kind: u32,
    x_stride: u32,
    keys_offset: u32,
    values_offset: u32,
    decays_offset: u32,
    rates_offset: u32,
    mix_offset: u32,
    y_stride: u32,
    decay: f32,
    epsilon: f32,
    scale: f32,
}

const WKV7 = 0u;
const WKV6 = 1u;
const NO_STATE = 0xffffffffu;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> vectors: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> states: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

// One half of each array is for even tokens, the other for odd ones: an invocation may write the
// products of a token while others still read the products of the previous token.
// Products of parts of a row with the removal key (x) and with what reads it (y).
var<workgroup> row_dots: array<vec2<f32>, 256>;
// Products of parts of the removal key with itself (x), of the receptance with the removed part (y),
// with the key (z) and with the key of the bonus (w).
var<workgroup> head_dots: array<vec4<f32>, 256>;

// Four columns of a token.
struct Part {
    decay: vec4<f32>,
    key: vec4<f32>,
    removal_key: vec4<f32>,
    removed: vec4<f32>,
    reader: vec4<f32>,
    dots: vec4<f32>,
}

struct Token {
    a: Part,
    b: Part,
    c: Part,
    d: Part,
    value: f32,
}

fn row_length() -> u32 {
    return params.length;
}

fn sigmoid(v: vec4<f32>) -> vec4<f32> {
    return 1.0 / (1.0 + exp(-v));
}

fn load_part(start: u32, head: u32, key_head: u32, column: u32) -> Part {
    var part: Part;
    if column >= params.length {
        return part;
    }
    let own = head * params.length + column;
    let receptance = x[(start + own) / 4u];
    let decay = x[(start + params.decays_offset + own) / 4u];
    var key = x[(start + params.keys_offset + key_head * params.length + column) / 4u];
    var bonus_key = key;
    if params.kind == WKV7 {
        let all = params.heads * params.length;
        let rate = sigmoid(x[(start + params.rates_offset + own) / 4u]);
        part.decay = exp(params.decay * sigmoid(decay));
        part.removal_key = key * vectors[own / 4u];
        part.removed = part.removal_key * rate;
        key += (rate - 1.0) * key * vectors[(all + own) / 4u];
        bonus_key = key * vectors[(2u * all + own) / 4u];
    } else {
        part.decay = exp(-exp(decay));
        if params.kind == WKV6 {
            bonus_key = key * vectors[own / 4u];
        } else {
            key -= key * part.decay;
        }
    }
    part.key = key;
    part.reader = receptance;
    if params.kind != WKV6 {
        part.reader *= part.decay;
    }
    part.dots = vec4<f32>(
        dot(part.removal_key, part.removal_key),
        dot(receptance, part.removed),
        dot(receptance, key),
        dot(receptance, bonus_key),
    );
    return part;
}

fn load_token(token: u32, head: u32, row: u32, column: u32) -> Token {
    let start = token * params.x_stride;
    let step = 4u * params.lanes;
    let key_head = head / (params.heads / params.key_heads);
    let at = start + params.values_offset + key_head * params.length + row;
    var value = x[at / 4u][at % 4u];
    if params.mix_offset != 0u {
        let mix = start + params.mix_offset + head * params.length + row;
        let first = mix + params.heads * params.length;
        value += (x[first / 4u][first % 4u] - value) / (1.0 + exp(-x[mix / 4u][mix % 4u]));
    }
    return Token(
        load_part(start, head, key_head, column),
        load_part(start, head, key_head, column + step),
        load_part(start, head, key_head, column + 2u * step),
        load_part(start, head, key_head, column + 3u * step),
        value,
    );
}

fn updated(state: vec4<f32>, part: Part, change: f32, value: f32) -> vec4<f32> {
    return part.decay * state - change * part.removed + value * part.key;
}

@compute @workgroup_size(128)
fn lm_wkv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
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
    for (var t = 0u; t < tokens; t += 1u) {
        let token = load_token(first_token + t, head, value_row, column);
        let base = t % 2u * 128u;
        let removals = Elements(token.a.removal_key, token.b.removal_key, token.c.removal_key, token.d.removal_key);
        let readers = Elements(token.a.reader, token.b.reader, token.c.reader, token.d.reader);
        row_dots[base + lane] = vec2<f32>(dot_elements(state, removals), dot_elements(state, readers));
        if lane < params.lanes {
            head_dots[base + lane] = (token.a.dots + token.b.dots) + (token.c.dots + token.d.dots);
        }
        workgroupBarrier();
        var row_dot = vec2<f32>();
        var head_dot = vec4<f32>();
        for (var i = 0u; i < params.lanes; i += 1u) {
            row_dot += row_dots[base + lane - part + i];
            head_dot += head_dots[base + i];
        }
        // The removal key is normalized here, once for each of its two factors.
        let key_scale = 1.0 / max(sqrt(head_dot.x), params.epsilon);
        let change = row_dot.x * key_scale * key_scale;
        state.a = updated(state.a, token.a, change, token.value);
        state.b = updated(state.b, token.b, change, token.value);
        state.c = updated(state.c, token.c, change, token.value);
        state.d = updated(state.d, token.d, change, token.value);
        if part == 0u && is_row {
            var read = head_dot.z;
            if params.kind == WKV6 {
                read = head_dot.w;
            }
            let to = (first_token + t) * params.y_stride + head * params.length + row;
            y[to] = params.scale * (row_dot.y - change * head_dot.y + token.value * read);
            if params.kind == WKV7 {
                y[to + params.heads * params.length] = head_dot.w * token.value;
            }
        }
    }
    if is_row {
        let start = ((write_slot * params.heads + head) * params.length + row) * params.length;
        store_row(start, column, state);
    }
}
