// Attention over the paged KV cache with an online softmax, so that scores are never written to
// memory.
//
// A workgroup of 128 handles up to 16 rows: tokens of one sequence times the query heads that share
// a KV head. It processes 64 keys at a time. An invocation first computes the scores of two rows
// and four keys, then four adjacent elements of the sums of up to four rows.

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
    packed: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<Kept>;
@group(0) @binding(3) var<storage, read> values: array<Kept>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const ROWS = 16u;
const KEYS = 64u;
// Pitch of rows of weights: one more than there are keys, to avoid bank conflicts.
const PITCH = 65u;
const LEAST = -3.0e38;

// Queries of the rows, `key_length` apart.
var<workgroup> queries: array<vec4<f32>, 512>;
// Scores of the current keys, then their weights: row, key.
var<workgroup> weights: array<f32, 1040>;
// Per row, eight partial maxima of the scores and partial sums of weights.
var<workgroup> tops: array<f32, 128>;
var<workgroup> adds: array<f32, 128>;
// Per row: factor to rescale the sums so far; running maximum; sum of weights; position of the
// row's token.
var<workgroup> factors: array<f32, 16>;
var<workgroup> greatest: array<f32, 16>;
var<workgroup> totals: array<f32, 16>;
var<workgroup> places: array<u32, 16>;
var<workgroup> lines: array<u32, 64>;

// The final score: soft-capped, or the lowest value if the row does not attend to the key.
fn seen_score(score: f32, row: u32, rows: u32, position: u32, end: u32) -> f32 {
    var capped = score;
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        capped = params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
    }
    var sees = position < end && position <= places[row] && row < rows;
    if params.window != 0u {
        sees = sees && position + params.window > places[row];
    }
    return select(LEAST, capped, sees);
}

fn put(row: u32, d: u32, sum: vec4<f32>, first_token: u32, first_row: u32, group: vec3<u32>) {
    let shared_by = params.heads / params.kv_heads;
    let token = first_token + (first_row + row) / shared_by;
    let head = group.y * shared_by + (first_row + row) % shared_by;
    var at = token * params.y_stride + head * params.value_length;
    var v = sum;
    if params.splits == 1u {
        v = sum / totals[row];
    } else {
        at = ((token * params.heads + head) * params.splits + group.z) * (params.value_length + 2u);
        if d == 0u {
            y[at + params.value_length] = greatest[row];
            y[at + params.value_length + 1u] = totals[row];
        }
    }
    y[at + d * 4u] = v.x;
    y[at + d * 4u + 1u] = v.y;
    y[at + d * 4u + 2u] = v.z;
    y[at + d * 4u + 3u] = v.w;
}

@compute @workgroup_size(128)
fn lm_attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let shared_by = params.heads / params.kv_heads;
    // With longer heads, a workgroup handles fewer rows, so that their queries fit in workgroup
    // memory.
    let longest = max(params.key_length, params.value_length);
    let most = select(select(4u, 8u, longest <= 256u), ROWS, longest <= 128u);
    let groups = (params.block * shared_by + most - 1u) / most;
    let block = group.x / groups;
    let first_token = inputs[2u * params.tokens + 2u * block];
    let count = inputs[2u * params.tokens + 2u * block + 1u];
    let first_row = group.x % groups * most;
    let rows = min(count * shared_by - min(first_row, count * shared_by), most);
    let table = inputs[params.tokens + first_token];

    // The keys that any row of this workgroup attends to, and the range of them in this split.
    let last_position = inputs[first_token + (min(first_row, count * shared_by - 1u) + max(rows, 1u) - 1u) / shared_by];
    let first_position = inputs[first_token + min(first_row, count * shared_by - 1u) / shared_by];
    var begin = 0u;
    if params.window != 0u && first_position + 1u > params.window {
        begin = first_position + 1u - params.window;
    }
    let seen = last_position + 1u - begin;
    let each = (seen + params.splits * KEYS - 1u) / (params.splits * KEYS) * KEYS;
    let start = begin + min(group.z * each, seen);
    let end = select(start, min(start + each, begin + seen), rows > 0u);

    if lane < ROWS {
        greatest[lane] = LEAST;
        totals[lane] = 0.0;
        places[lane] = inputs[first_token + min((first_row + lane) / shared_by, count - 1u)];
    }
    let key_fours = params.key_length / 4u;
    for (var i = lane; i < most * key_fours; i += 128u) {
        let row = first_row + min(i / key_fours, max(rows, 1u) - 1u);
        let source = (first_token + min(row / shared_by, count - 1u)) * params.q_stride
            + (group.y * shared_by + row % shared_by) * params.key_length + i % key_fours * 4u;
        queries[i] = vec4<f32>(q[source], q[source + 1u], q[source + 2u], q[source + 3u]) * params.scale;
    }
    // Two rows and four keys, 16 apart.
    let near = lane / 16u * 2u;
    let key = lane % 16u;
    let near_row = min(near, most - 1u) * key_fours;
    let far_row = min(near + 1u, most - 1u) * key_fours;
    // Four elements of the sums of some rows.
    let value_fours = params.value_length / 4u;
    let teams = 128u / value_fours;
    let team = lane / value_fours;
    let d = lane % value_fours;
    let own = (most + teams - 1u) / teams;
    let mine = team * own;
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var first = start; first < end; first += KEYS) {
        workgroupBarrier();
        if lane < KEYS {
            let position = min(first + lane, end - 1u);
            let page = inputs[table + position / params.page];
            lines[lane] = (page * params.page + position % params.page) * params.kv_heads + group.y;
        }
        workgroupBarrier();
        if near < most {
            let line0 = lines[key];
            let line1 = lines[key + 16u];
            let line2 = lines[key + 32u];
            let line3 = lines[key + 48u];
            var near_dots = vec4<f32>();
            var far_dots = vec4<f32>();
            for (var i = 0u; i < key_fours; i += 1u) {
                let k0 = key_four(line0, i);
                let k1 = key_four(line1, i);
                let k2 = key_four(line2, i);
                let k3 = key_four(line3, i);
                let a = queries[near_row + i];
                let b = queries[far_row + i];
                near_dots += vec4<f32>(dot(k0, a), dot(k1, a), dot(k2, a), dot(k3, a));
                far_dots += vec4<f32>(dot(k0, b), dot(k1, b), dot(k2, b), dot(k3, b));
            }
            for (var i = 0u; i < 4u; i += 1u) {
                let position = first + key + i * 16u;
                weights[near * PITCH + key + i * 16u] = seen_score(near_dots[i], near, rows, position, end);
                weights[(near + 1u) * PITCH + key + i * 16u] = seen_score(far_dots[i], near + 1u, rows, position, end);
            }
        }
        workgroupBarrier();
        // Eight invocations per row, eight keys each.
        let row = lane / 8u;
        let source = row * PITCH + lane % 8u;
        if row < most {
            var top = weights[source];
            for (var k = 8u; k < KEYS; k += 8u) {
                top = max(top, weights[source + k]);
            }
            tops[lane] = top;
        }
        workgroupBarrier();
        if row < most {
            var top = greatest[row];
            for (var i = 0u; i < 8u; i += 1u) {
                top = max(top, tops[row * 8u + i]);
            }
            var add = 0.0;
            for (var k = 0u; k < KEYS; k += 8u) {
                let score = weights[source + k];
                let weight = select(0.0, exp(score - top), score > LEAST);
                weights[source + k] = weight;
                add += weight;
            }
            adds[lane] = add;
        }
        workgroupBarrier();
        if lane < most {
            var top = greatest[lane];
            var add = 0.0;
            for (var i = 0u; i < 8u; i += 1u) {
                top = max(top, tops[lane * 8u + i]);
                add += adds[lane * 8u + i];
            }
            let factor = exp(greatest[lane] - top);
            factors[lane] = factor;
            greatest[lane] = top;
            totals[lane] = totals[lane] * factor + add;
        }
        workgroupBarrier();
        if mine < most {
            let row1 = min(mine + 1u, most - 1u);
            let row2 = min(mine + 2u, most - 1u);
            let row3 = min(mine + 3u, most - 1u);
            sum0 *= factors[mine];
            sum1 *= factors[row1];
            sum2 *= factors[row2];
            sum3 *= factors[row3];
            for (var k = 0u; k < min(KEYS, end - first); k += 1u) {
                let v = value_four(lines[k], d);
                sum0 += weights[mine * PITCH + k] * v;
                sum1 += weights[row1 * PITCH + k] * v;
                sum2 += weights[row2 * PITCH + k] * v;
                sum3 += weights[row3 * PITCH + k] * v;
            }
        }
    }
    // A split without keys writes zeros, because its rows are otherwise uninitialized.
    workgroupBarrier();
    let stop = min(min(mine + own, most), rows);
    if mine < stop {
        put(mine, d, sum0, first_token, first_row, group);
    }
    if mine + 1u < stop {
        put(mine + 1u, d, sum1, first_token, first_row, group);
    }
    if mine + 2u < stop {
        put(mine + 2u, d, sum2, first_token, first_row, group);
    }
    if mine + 3u < stop {
        put(mine + 3u, d, sum3, first_token, first_row, group);
    }
}
