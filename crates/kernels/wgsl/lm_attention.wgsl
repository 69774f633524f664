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

// Parts of dot products: row, key, one of four. Later sums of values.
var<workgroup> parts: array<f32, 1024>;
// Weights of the keys at hand: row, key.
var<workgroup> weights: array<f32, 256>;
// What sums so far are multiplied by, for each row; the greatest score so far; the sum of weights.
var<workgroup> factors: array<f32, 8>;
var<workgroup> greatest: array<f32, 8>;
var<workgroup> totals: array<f32, 8>;
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
    let groups = (params.block * shared_by + ROWS - 1u) / ROWS;
    let block = group.x / groups;
    let first_token = inputs[2u * params.tokens + 2u * block];
    let count = inputs[2u * params.tokens + 2u * block + 1u];
    let first_row = group.x % groups * ROWS;
    let rows = min(count * shared_by - min(first_row, count * shared_by), ROWS);
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
        let key = lane / 4u;
        let line = lines[key];
        var dots = array<f32, 8>();
        for (var pair = lane % 4u; pair < params.key_length / 2u; pair += 4u) {
            let k = key_pair(line, pair);
            for (var r = 0u; r < ROWS; r += 1u) {
                if r < rows {
                    let row = first_row + r;
                    let at = (first_token + row / shared_by) * params.q_stride
                        + (group.y * shared_by + row % shared_by) * params.key_length
                        + pair * 2u;
                    dots[r] += k.x * q[at] + k.y * q[at + 1u];
                }
            }
        }
        for (var r = 0u; r < ROWS; r += 1u) {
            parts[r * 128u + lane] = dots[r];
        }
        workgroupBarrier();
        for (var i = lane; i < ROWS * KEYS; i += 128u) {
            let r = i / KEYS;
            let base = r * 128u + i % KEYS * 4u;
            var score = ((parts[base] + parts[base + 1u]) + (parts[base + 2u] + parts[base + 3u])) * params.scale;
            if params.soft_cap > 0.0 {
                // Limited, since some drivers' tanh overflows.
                score = params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
            }
            let position = first + i % KEYS;
            let own = inputs[first_token + min((first_row + r) / shared_by, count - 1u)];
            var sees = position < end && position <= own && r < rows;
            if params.window != 0u {
                sees = sees && position + params.window > own;
            }
            weights[i] = select(LEAST, score, sees);
        }
        workgroupBarrier();
        if lane < ROWS {
            var most = greatest[lane];
            for (var k = 0u; k < KEYS; k += 1u) {
                most = max(most, weights[lane * KEYS + k]);
            }
            factors[lane] = exp(greatest[lane] - most);
            greatest[lane] = most;
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
            for (var k = team; k < KEYS; k += teams) {
                let pair = lane % pairs;
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

    workgroupBarrier();
    // What several teams summed meets in workgroup memory, two rows at a time.
    for (var r = 0u; r < ROWS; r += 1u) {
        parts[lane * 2u] = sums[r].x;
        parts[lane * 2u + 1u] = sums[r].y;
        parts[256u + lane * 2u] = more[r].x;
        parts[257u + lane * 2u] = more[r].y;
        workgroupBarrier();
        if r < rows {
            let row = first_row + r;
            let token = first_token + row / shared_by;
            let head = group.y * shared_by + row % shared_by;
            for (var d = lane; d < params.value_length; d += 128u) {
                var sum = 0.0;
                if pairs > 128u {
                    sum = parts[d];
                } else {
                    for (var t = 0u; t < teams; t += 1u) {
                        sum += parts[t * params.value_length + d];
                    }
                }
                if params.splits == 1u {
                    y[token * params.y_stride + head * params.value_length + d] = sum / totals[r];
                } else {
                    let part = (token * params.heads + head) * params.splits + group.z;
                    y[part * (params.value_length + 2u) + d] = sum;
                }
            }
            if params.splits > 1u && lane == 0u {
                let part = (token * params.heads + head) * params.splits + group.z;
                let at = part * (params.value_length + 2u) + params.value_length;
                y[at] = greatest[r];
                y[at + 1u] = totals[r];
            }
        }
        workgroupBarrier();
    }
}
