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
    sinks: u32,
    chunk: u32,
    own: u32,
    after: u32,
    alibi_heads: u32,
    alibi: f32,
    values_in_keys: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<CacheWord>;
@group(0) @binding(3) var<storage, read> values: array<CacheWord>;
@group(0) @binding(4) var<storage, read> sinks: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

const ROWS = 16u;
const KEYS = 64u;
// Pitch of rows of weights: one more than there are keys, to avoid bank conflicts.
const PITCH = 65u;
const LOWEST = -3.0e38;

// Queries of the rows, `key_length` apart.
var<workgroup> queries: array<vec4<f32>, 576>;
// Scores of the current keys, then their weights: row, key.
var<workgroup> weights: array<f32, 1040>;
// Per row, eight partial maxima of the scores, and eight partial sums of their exponentials.
var<workgroup> score_max: array<f32, 128>;
var<workgroup> exp_sums: array<f32, 128>;
// Per row: factor to rescale the sums so far; running maximum; running sum of weights; position of
// the row's token, and the last position that it sees; slope of ALiBi.
var<workgroup> rescale: array<f32, 16>;
var<workgroup> row_max: array<f32, 16>;
var<workgroup> row_sum: array<f32, 16>;
var<workgroup> row_position: array<u32, 16>;
var<workgroup> row_last: array<u32, 16>;
var<workgroup> row_slope: array<f32, 16>;
// Rows of the current keys in the KV cache.
var<workgroup> cache_rows: array<u32, 64>;

// ALiBi: slope of a query head, subtracted from the score per position of distance.
fn slope(head: u32) -> f32 {
    let exponent = select(
        0.5 * f32(2u * (head - min(head, params.alibi_heads)) + 1u),
        f32(head + 1u),
        head < params.alibi_heads,
    );
    return exp(-0.6931472 * params.alibi * exponent);
}

// Elements of a row of `values`, and the first of them that is a part of a value.
fn value_pitch() -> u32 {
    return select(params.value_length, params.key_length, params.values_in_keys != 0u);
}

fn value_start() -> u32 {
    return value_pitch() - params.value_length;
}

// A soft-capped score, or the lowest value if the key is masked for the row.
fn masked_score(score: f32, row: u32, rows: u32, position: u32, end: u32) -> f32 {
    var capped = score;
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        capped = params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
    }
    if params.alibi_heads != 0u {
        capped -= row_slope[row] * abs(f32(position) - f32(row_position[row]));
    }
    var is_visible = position < end && position <= row_last[row] && row < rows;
    if params.window != 0u {
        is_visible = is_visible && position + params.window > row_position[row];
    }
    if params.chunk != 0u {
        // Avoids a division by zero in kernels that are specialized to this constant.
        let chunk = max(params.chunk, 1u);
        is_visible = is_visible && position / chunk == row_position[row] / chunk;
    }
    return select(LOWEST, capped, is_visible);
}

fn store_output(row: u32, d: u32, sum: vec4<f32>, first_token: u32, first_row: u32, group: vec3<u32>) {
    let gqa_ratio = params.heads / params.kv_heads;
    let token = first_token + (first_row + row) / gqa_ratio;
    let head = group.y * gqa_ratio + (first_row + row) % gqa_ratio;
    var at = token * params.y_stride + head * params.value_length;
    var v = sum;
    if params.splits == 1u {
        v = sum / row_sum[row];
    } else {
        at = ((token * params.heads + head) * params.splits + group.z) * (params.value_length + 2u);
        if d == 0u {
            y[at + params.value_length] = row_max[row];
            y[at + params.value_length + 1u] = row_sum[row];
        }
    }
    y[at + d * 4u] = v.x;
    y[at + d * 4u + 1u] = v.y;
    y[at + d * 4u + 2u] = v.z;
    y[at + d * 4u + 3u] = v.w;
}

@compute @workgroup_size(128)
fn lm_attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let gqa_ratio = params.heads / params.kv_heads;
    // With longer heads, a workgroup handles fewer rows, so that their queries fit in workgroup
    // memory.
    let head_length = max(params.key_length, params.value_length);
    let max_rows = select(select(4u, 8u, head_length <= 256u), ROWS, head_length <= 128u);
    let groups_per_block = (params.block * gqa_ratio + max_rows - 1u) / max_rows;
    let block = group.x / groups_per_block;
    let first_token = inputs[2u * params.tokens + 2u * block];
    let count = inputs[2u * params.tokens + 2u * block + 1u];
    let first_row = group.x % groups_per_block * max_rows;
    let rows = min(count * gqa_ratio - min(first_row, count * gqa_ratio), max_rows);
    let table = inputs[params.tokens + first_token];

    // The keys that any row of this workgroup attends to, and the range of them in this split.
    let start_row = min(first_row, count * gqa_ratio - 1u);
    let last_token = first_token + (start_row + max(rows, 1u) - 1u) / gqa_ratio;
    var last_position = inputs[last_token];
    if params.window != 0u {
        last_position = min(last_position, inputs[params.own + last_token] + params.after);
    }
    let first_position = inputs[params.own + first_token + start_row / gqa_ratio];
    var begin = 0u;
    if params.window != 0u && first_position + 1u > params.window {
        begin = first_position + 1u - params.window;
    }
    if params.chunk != 0u {
        begin = max(begin, first_position / max(params.chunk, 1u) * params.chunk);
    }
    let visible = last_position + 1u - begin;
    let keys_per_split = (visible + params.splits * KEYS - 1u) / (params.splits * KEYS) * KEYS;
    let start = begin + min(group.z * keys_per_split, visible);
    let end = select(start, min(start + keys_per_split, begin + visible), rows > 0u);

    if lane < ROWS {
        row_max[lane] = LOWEST;
        row_sum[lane] = 0.0;
        // An attention sink is a key whose value is zero.
        if params.sinks != 0u && group.z == 0u {
            row_max[lane] = sinks[group.y * gqa_ratio + (first_row + lane) % gqa_ratio];
            row_sum[lane] = 1.0;
        }
        let token = first_token + min((first_row + lane) / gqa_ratio, count - 1u);
        row_position[lane] = inputs[params.own + token];
        row_last[lane] = inputs[token];
        if params.window != 0u {
            row_last[lane] = min(inputs[token], row_position[lane] + params.after);
        }
        row_slope[lane] = slope(group.y * gqa_ratio + (first_row + lane) % gqa_ratio);
    }
    let key_vec4s = params.key_length / 4u;
    for (var i = lane; i < max_rows * key_vec4s; i += 128u) {
        let row = first_row + min(i / key_vec4s, max(rows, 1u) - 1u);
        let source = (first_token + min(row / gqa_ratio, count - 1u)) * params.q_stride
            + (group.y * gqa_ratio + row % gqa_ratio) * params.key_length + i % key_vec4s * 4u;
        queries[i] = vec4<f32>(q[source], q[source + 1u], q[source + 2u], q[source + 3u]) * params.scale;
    }
    // Scores of two rows and four keys, 16 apart.
    let q_row = lane / 16u * 2u;
    let key = lane % 16u;
    let query0 = min(q_row, max_rows - 1u) * key_vec4s;
    let query1 = min(q_row + 1u, max_rows - 1u) * key_vec4s;
    // Four elements of the sums of some rows.
    let value_vec4s = params.value_length / 4u;
    let teams = 128u / value_vec4s;
    let team = lane / value_vec4s;
    let d = lane % value_vec4s;
    let rows_per_team = (max_rows + teams - 1u) / teams;
    let row0 = team * rows_per_team;
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var first = start; first < end; first += KEYS) {
        workgroupBarrier();
        if lane < KEYS {
            let position = min(first + lane, end - 1u);
            let page = inputs[table + position / params.page];
            cache_rows[lane] = (page * params.page + position % params.page) * params.kv_heads + group.y;
        }
        workgroupBarrier();
        if q_row < max_rows {
            let cache_row0 = cache_rows[key];
            let cache_row1 = cache_rows[key + 16u];
            let cache_row2 = cache_rows[key + 32u];
            let cache_row3 = cache_rows[key + 48u];
            var dots0 = vec4<f32>();
            var dots1 = vec4<f32>();
            for (var i = 0u; i < key_vec4s; i += 1u) {
                let k0 = load_key(cache_row0, i);
                let k1 = load_key(cache_row1, i);
                let k2 = load_key(cache_row2, i);
                let k3 = load_key(cache_row3, i);
                let a = queries[query0 + i];
                let b = queries[query1 + i];
                dots0 += vec4<f32>(dot(k0, a), dot(k1, a), dot(k2, a), dot(k3, a));
                dots1 += vec4<f32>(dot(k0, b), dot(k1, b), dot(k2, b), dot(k3, b));
            }
            for (var i = 0u; i < 4u; i += 1u) {
                let position = first + key + i * 16u;
                weights[q_row * PITCH + key + i * 16u] = masked_score(dots0[i], q_row, rows, position, end);
                weights[(q_row + 1u) * PITCH + key + i * 16u] = masked_score(dots1[i], q_row + 1u, rows, position, end);
            }
        }
        workgroupBarrier();
        // Eight invocations per row, eight keys each.
        let row = lane / 8u;
        let source = row * PITCH + lane % 8u;
        if row < max_rows {
            var new_max = weights[source];
            for (var k = 8u; k < KEYS; k += 8u) {
                new_max = max(new_max, weights[source + k]);
            }
            score_max[lane] = new_max;
        }
        workgroupBarrier();
        if row < max_rows {
            var new_max = row_max[row];
            for (var i = 0u; i < 8u; i += 1u) {
                new_max = max(new_max, score_max[row * 8u + i]);
            }
            var exp_sum = 0.0;
            for (var k = 0u; k < KEYS; k += 8u) {
                let score = weights[source + k];
                let weight = select(0.0, exp(score - new_max), score > LOWEST);
                weights[source + k] = weight;
                exp_sum += weight;
            }
            exp_sums[lane] = exp_sum;
        }
        workgroupBarrier();
        if lane < max_rows {
            var new_max = row_max[lane];
            var exp_sum = 0.0;
            for (var i = 0u; i < 8u; i += 1u) {
                new_max = max(new_max, score_max[lane * 8u + i]);
                exp_sum += exp_sums[lane * 8u + i];
            }
            let factor = exp(row_max[lane] - new_max);
            rescale[lane] = factor;
            row_max[lane] = new_max;
            row_sum[lane] = row_sum[lane] * factor + exp_sum;
        }
        workgroupBarrier();
        if row0 < max_rows {
            let row1 = min(row0 + 1u, max_rows - 1u);
            let row2 = min(row0 + 2u, max_rows - 1u);
            let row3 = min(row0 + 3u, max_rows - 1u);
            sum0 *= rescale[row0];
            sum1 *= rescale[row1];
            sum2 *= rescale[row2];
            sum3 *= rescale[row3];
            for (var k = 0u; k < min(KEYS, end - first); k += 1u) {
                let v = load_value(cache_rows[k], d);
                sum0 += weights[row0 * PITCH + k] * v;
                sum1 += weights[row1 * PITCH + k] * v;
                sum2 += weights[row2 * PITCH + k] * v;
                sum3 += weights[row3 * PITCH + k] * v;
            }
        }
    }
    // A split without keys writes zeros, because its rows are otherwise uninitialized.
    workgroupBarrier();
    let row_end = min(min(row0 + rows_per_team, max_rows), rows);
    if row0 < row_end {
        store_output(row0, d, sum0, first_token, first_row, group);
    }
    if row0 + 1u < row_end {
        store_output(row0 + 1u, d, sum1, first_token, first_row, group);
    }
    if row0 + 2u < row_end {
        store_output(row0 + 2u, d, sum2, first_token, first_row, group);
    }
    if row0 + 3u < row_end {
        store_output(row0 + 3u, d, sum3, first_token, first_row, group);
    }
}
