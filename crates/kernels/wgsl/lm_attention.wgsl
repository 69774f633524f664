// Queries against the keys and values in the pages of their texts, with a softmax that is carried along, so that scores are never written.
//
// A workgroup of 128 has up to eight rows: tokens of one text times the heads of queries that share a head of keys. It takes 32 keys at a
// time: four invocations share the dot products of a key with all rows, then each invocation adds up one word of the values.

override CACHE: u32;

struct Params {
    tokens: u32,
    blocks: u32,
    block: u32,
    heads: u32,
    kv_heads: u32,
    key_length: u32,
    value_length: u32,
    q_stride: u32,
    y_stride: u32,
    page: u32,
    splits: u32,
    scale: f32,
    soft_cap: f32,
    window: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<u32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const ROWS = 8u;
const KEYS = 32u;
const LEAST = -3.0e38;

// Queries of the rows, `key_length` apart; later sums of values.
var<workgroup> pool: array<f32, 2048>;
// Parts of dot products: row, key, one of four.
var<workgroup> parts: array<f32, 1024>;
// Weights of the keys at hand: row, key.
var<workgroup> weights: array<f32, 256>;
// What sums so far are multiplied by, for each row; the greatest score so far; the sum of weights; where the row's token stands.
var<workgroup> factors: array<f32, 8>;
var<workgroup> greatest: array<f32, 8>;
var<workgroup> totals: array<f32, 8>;
var<workgroup> places: array<u32, 8>;
var<workgroup> lines: array<u32, 32>;

// Two neighbouring numbers of a line of keys, by the number of the pair.
fn key_pair(line: u32, pair: u32) -> vec2<f32> {
    if CACHE == 0u {
        return unpack2x16float(keys[line * (params.key_length / 2u) + pair]);
    }
    let start = line * (params.key_length / 4u + params.key_length / 32u);
    let scale = bitcast<f32>(keys[start + params.key_length / 4u + pair / 16u]);
    let four = vec4<f32>(unpack4xI8(keys[start + pair / 2u])) * scale;
    return select(four.xy, four.zw, pair % 2u == 1u);
}

fn value_pair(line: u32, pair: u32) -> vec2<f32> {
    if CACHE == 0u {
        return unpack2x16float(values[line * (params.value_length / 2u) + pair]);
    }
    let start = line * (params.value_length / 4u + params.value_length / 32u);
    let scale = bitcast<f32>(values[start + params.value_length / 4u + pair / 16u]);
    let four = vec4<f32>(unpack4xI8(values[start + pair / 2u])) * scale;
    return select(four.xy, four.zw, pair % 2u == 1u);
}

@compute @workgroup_size(128)
fn lm_attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let shared_by = params.heads / params.kv_heads;
    // Long heads have fewer rows, so that their queries fit.
    let most = select(ROWS, ROWS / 2u, params.key_length > 256u);
    let groups = (params.block * shared_by + most - 1u) / most;
    let block = group.x / groups;
    let first_token = inputs[2u * params.tokens + 2u * block];
    let count = inputs[2u * params.tokens + 2u * block + 1u];
    let first_row = group.x % groups * most;
    let rows = min(count * shared_by - min(first_row, count * shared_by), most);
    let table = inputs[params.tokens + first_token];

    // The keys that any row of this workgroup sees, and the share of them that is its own.
    let last_position = inputs[first_token + (first_row + max(rows, 1u) - 1u) / shared_by];
    let first_position = inputs[first_token + first_row / shared_by];
    var begin = 0u;
    if params.window != 0u && first_position + 1u > params.window {
        begin = first_position + 1u - params.window;
    }
    let seen = last_position + 1u - begin;
    let each = (seen + params.splits * KEYS - 1u) / (params.splits * KEYS) * KEYS;
    let start = begin + min(group.z * each, seen);
    let end = min(start + each, begin + seen);

    if lane < ROWS {
        greatest[lane] = LEAST;
        totals[lane] = 0.0;
        places[lane] = inputs[first_token + min((first_row + lane) / shared_by, count - 1u)];
    }
    for (var i = lane; i < most * params.key_length; i += 128u) {
        let row = first_row + min(i / params.key_length, max(rows, 1u) - 1u);
        let at = (first_token + row / shared_by) * params.q_stride + (group.y * shared_by + row % shared_by) * params.key_length;
        pool[i] = q[at + i % params.key_length] * params.scale;
    }
    let pairs = params.value_length / 2u;
    let teams = max(128u / pairs, 1u);
    let team = lane / pairs;
    // Heads longer than the workgroup has pairs take a second word for each invocation.
    var sums = array<vec2<f32>, 8>();
    var more = array<vec2<f32>, 8>();
    for (var first = start; first < end; first += KEYS) {
        workgroupBarrier();
        if lane < KEYS {
            let position = min(first + lane, end - 1u);
            let page = inputs[table + position / params.page];
            lines[lane] = (page * params.page + position % params.page) * params.kv_heads + group.y;
        }
        workgroupBarrier();
        let line = lines[lane / 4u];
        var dots = array<f32, 8>();
        for (var pair = lane % 4u; pair < params.key_length / 2u; pair += 4u) {
            let k = key_pair(line, pair);
            for (var r = 0u; r < ROWS; r += 1u) {
                let at = min(r, most - 1u) * params.key_length + pair * 2u;
                dots[r] += k.x * pool[at] + k.y * pool[at + 1u];
            }
        }
        for (var r = 0u; r < ROWS; r += 1u) {
            parts[r * 128u + lane] = dots[r];
        }
        workgroupBarrier();
        for (var i = lane; i < ROWS * KEYS; i += 128u) {
            let r = i / KEYS;
            let base = r * 128u + i % KEYS * 4u;
            var score = (parts[base] + parts[base + 1u]) + (parts[base + 2u] + parts[base + 3u]);
            if params.soft_cap > 0.0 {
                // Limited, since some drivers' tanh overflows.
                score = params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
            }
            let position = first + i % KEYS;
            var sees = position < end && position <= places[r] && r < rows;
            if params.window != 0u {
                sees = sees && position + params.window > places[r];
            }
            weights[i] = select(LEAST, score, sees);
        }
        workgroupBarrier();
        if lane < ROWS {
            var top = greatest[lane];
            for (var k = 0u; k < KEYS; k += 1u) {
                top = max(top, weights[lane * KEYS + k]);
            }
            factors[lane] = exp(greatest[lane] - top);
            greatest[lane] = top;
        }
        workgroupBarrier();
        for (var i = lane; i < ROWS * KEYS; i += 128u) {
            let score = weights[i];
            weights[i] = select(0.0, exp(score - greatest[i / KEYS]), score > LEAST);
        }
        workgroupBarrier();
        if lane < ROWS {
            var total = totals[lane] * factors[lane];
            for (var k = 0u; k < KEYS; k += 1u) {
                total += weights[lane * KEYS + k];
            }
            totals[lane] = total;
        }
        for (var r = 0u; r < ROWS; r += 1u) {
            sums[r] *= factors[r];
            more[r] *= factors[r];
        }
        if team < teams {
            let pair = lane % pairs;
            for (var k = team; k < KEYS; k += teams) {
                let v = value_pair(lines[k], pair);
                for (var r = 0u; r < ROWS; r += 1u) {
                    sums[r] += weights[r * KEYS + k] * v;
                }
                if pairs > 128u && pair + 128u < pairs {
                    let w = value_pair(lines[k], pair + 128u);
                    for (var r = 0u; r < ROWS; r += 1u) {
                        more[r] += weights[r * KEYS + k] * w;
                    }
                }
            }
        }
    }

    // What several teams summed meets in workgroup memory, four rows at a time.
    for (var half = 0u; half < 2u; half += 1u) {
        workgroupBarrier();
        for (var i = 0u; i < 4u; i += 1u) {
            let r = half * 4u + i;
            pool[i * 512u + lane * 2u] = sums[r].x;
            pool[i * 512u + lane * 2u + 1u] = sums[r].y;
            pool[i * 512u + 256u + lane * 2u] = more[r].x;
            pool[i * 512u + 257u + lane * 2u] = more[r].y;
        }
        workgroupBarrier();
        for (var i = lane; i < 4u * params.value_length; i += 128u) {
            let r = half * 4u + i / params.value_length;
            let d = i % params.value_length;
            if r < rows {
                let base = i / params.value_length * 512u + d;
                var sum = pool[base];
                if pairs <= 128u {
                    for (var t = 1u; t < teams; t += 1u) {
                        sum += pool[base + t * params.value_length];
                    }
                }
                let row = first_row + r;
                let token = first_token + row / shared_by;
                let head = group.y * shared_by + row % shared_by;
                if params.splits == 1u {
                    y[token * params.y_stride + head * params.value_length + d] = sum / totals[r];
                } else {
                    let at = ((token * params.heads + head) * params.splits + group.z) * (params.value_length + 2u);
                    y[at + d] = sum;
                    if d == 0u {
                        y[at + params.value_length] = greatest[r];
                        y[at + params.value_length + 1u] = totals[r];
                    }
                }
            }
        }
    }
}
