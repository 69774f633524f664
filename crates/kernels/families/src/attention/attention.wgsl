// Flash attention: y = softmax(q * k^T * scale + mask) * v for each batch and head, without writing
// the scores to memory.
//
// A workgroup of 256 computes 32 rows. It iterates over the keys in blocks of 64 with an online
// softmax: per row it keeps the running maximum score, the running sum of exponentials, and the
// weighted sums of values, which it rescales when the maximum grows. An invocation handles four
// rows (`rows`, one of eight groups), and for each row two keys, then two columns of every 64
// (`pair`, one of 32). Queries, keys and values pass through workgroup memory in steps of 16 along
// the summed dimension. Needs no subgroups.

const MASK = 1u;
const STRICT = 2u;
const CAUSAL = 4u;

struct Params {
    batch: u32,
    heads: u32,
    gqa_ratio: u32,
    rows: u32,
    keys: u32,
    size: u32,
    width: u32,
    past: u32,
    q: array<u32, 3>,
    k: array<u32, 3>,
    v: array<u32, 3>,
    y: array<u32, 3>,
    mask: array<u32, 4>,
    scale: f32,
    flags: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read> mask: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const ROWS = 32u;
const KEYS = 64u;
const COLUMNS = 64u;
const DEPTH = 16u;
// Pitch in groups of four rows, padded by one against bank conflicts.
const ROW_PITCH = 9u;
// Pitch in pairs of keys or columns, padded by one.
const PAIR_PITCH = 33u;
// Lowest score: a finite stand-in for minus infinity, whose differences would be NaN.
const LOWEST = -3.4028234e38;

// Four rows of one column of the queries; later the row maxima of some keys.
var<workgroup> q_tile: array<vec4<f32>, 144>;
// Two keys of one column of the keys; later two columns of one key's values.
var<workgroup> pairs: array<vec2<f32>, 528>;
// Scores, then weights: four rows of one key.
var<workgroup> weights: array<vec4<f32>, 576>;

// Four rows of one column of the queries; zero out of bounds.
fn load_q(start: u32, row: u32, column: u32) -> vec4<f32> {
    let at = start + row * params.q[2] + column;
    var four = vec4<f32>();
    if column >= params.size {
        return four;
    }
    if row < params.rows {
        four.x = q[at];
    }
    if row + 1u < params.rows {
        four.y = q[at + params.q[2]];
    }
    if row + 2u < params.rows {
        four.z = q[at + 2u * params.q[2]];
    }
    if row + 3u < params.rows {
        four.w = q[at + 3u * params.q[2]];
    }
    return four;
}

// Two keys of one column of the keys; zero out of bounds.
fn load_k(start: u32, key: u32, column: u32) -> vec2<f32> {
    let at = start + key * params.k[2] + column;
    var two = vec2<f32>();
    if column >= params.size {
        return two;
    }
    if key < params.keys {
        two.x = k[at];
    }
    if key + 1u < params.keys {
        two.y = k[at + params.k[2]];
    }
    return two;
}

// Two columns of one key's values; zero out of bounds.
fn load_v(start: u32, key: u32, column: u32) -> vec2<f32> {
    let at = start + key * params.v[2] + column;
    var two = vec2<f32>();
    if key >= params.keys {
        return two;
    }
    if column < params.width {
        two.x = v[at];
    }
    if column + 1u < params.width {
        two.y = v[at + 1u];
    }
    return two;
}

// The score of a dot product: scaled and masked.
fn score(product: f32, start: u32, row: u32, key: u32) -> f32 {
    // A variable, because WGSL has no constant for infinity.
    var minus_infinity = 0xff800000u;
    let is_masked = (params.flags & CAUSAL) != 0u && key > row + params.past;
    if key >= params.keys || is_masked || row >= params.rows {
        return bitcast<f32>(minus_infinity);
    }
    if (params.flags & MASK) != 0u {
        return product * params.scale + mask[start + row * params.mask[2] + key * params.mask[3]];
    }
    return product * params.scale;
}

// Scores of four rows with one key.
fn scores(products: vec4<f32>, start: u32, row: u32, key: u32) -> vec4<f32> {
    return vec4<f32>(
        score(products.x, start, row, key),
        score(products.y, start, row + 1u, key),
        score(products.z, start, row + 2u, key),
        score(products.w, start, row + 3u, key),
    );
}

// Accumulates the weighted values of sixteen keys into two columns of four rows.
fn add_values(left: ptr<function, vec4<f32>>, right: ptr<function, vec4<f32>>, first: u32, rows: u32, pair: u32) {
    for (var i = 0u; i < DEPTH; i += 4u) {
        for (var j = 0u; j < 4u; j += 1u) {
            let weight = weights[(first + i + j) * ROW_PITCH + rows];
            let value = pairs[(i + j) * PAIR_PITCH + pair];
            *left += weight * value.x;
            *right += weight * value.y;
        }
    }
}

fn store(start: u32, row: u32, column: u32, four: vec4<f32>) {
    if column >= params.width {
        return;
    }
    let at = start + row * params.y[2] + column;
    if row < params.rows {
        y[at] = four.x;
    }
    if row + 1u < params.rows {
        y[at + params.y[2]] = four.y;
    }
    if row + 2u < params.rows {
        y[at + 2u * params.y[2]] = four.z;
    }
    if row + 3u < params.rows {
        y[at + 3u * params.y[2]] = four.w;
    }
}

@compute @workgroup_size(256)
fn attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let rows = lane / 32u;
    let pair = lane % 32u;
    let head = group.y / params.gqa_ratio;
    let start_q = group.z * params.q[0] + group.y * params.q[1];
    let start_k = group.z * params.k[0] + head * params.k[1];
    let start_v = group.z * params.v[0] + head * params.v[1];
    let start_mask = group.z * params.mask[0] + group.y * params.mask[1];
    let row = group.x * ROWS + rows * 4u;
    // What this invocation loads in each step: one column of some rows or of some pairs of keys;
    // for the values, vec4s of columns.
    let load_column = lane % DEPTH;
    let load_row = lane / DEPTH;

    var running_max = vec4<f32>(LOWEST);
    var sum = vec4<f32>();
    var left0 = vec4<f32>();
    var right0 = vec4<f32>();
    var left1 = vec4<f32>();
    var right1 = vec4<f32>();
    var left2 = vec4<f32>();
    var right2 = vec4<f32>();
    var left3 = vec4<f32>();
    var right3 = vec4<f32>();

    // No row of this workgroup attends to keys past those of its last row.
    var end = params.keys;
    if (params.flags & CAUSAL) != 0u {
        end = min(end, (group.x + 1u) * ROWS + params.past);
    }
    for (var first = 0u; first < end; first += KEYS) {
        var products0 = vec4<f32>();
        var products1 = vec4<f32>();
        for (var d = 0u; d < params.size; d += DEPTH) {
            if load_row < 8u {
                q_tile[load_column * ROW_PITCH + load_row] = load_q(start_q, group.x * ROWS + load_row * 4u, d + load_column);
            }
            pairs[load_column * PAIR_PITCH + load_row] = load_k(start_k, first + load_row * 2u, d + load_column);
            pairs[load_column * PAIR_PITCH + load_row + 16u] = load_k(start_k, first + load_row * 2u + 32u, d + load_column);
            workgroupBarrier();
            for (var i = 0u; i < DEPTH; i += 4u) {
                for (var j = 0u; j < 4u; j += 1u) {
                    let four = q_tile[(i + j) * ROW_PITCH + rows];
                    let two = pairs[(i + j) * PAIR_PITCH + pair];
                    products0 += four * two.x;
                    products1 += four * two.y;
                }
            }
            workgroupBarrier();
        }

        let key = pair * 2u;
        let scores0 = scores(products0, start_mask, row, first + key);
        let scores1 = scores(products1, start_mask, row, first + key + 1u);
        weights[key * ROW_PITCH + rows] = scores0;
        weights[(key + 1u) * ROW_PITCH + rows] = scores1;
        workgroupBarrier();
        // The maximum of eight keys each, then of those.
        if lane < 64u {
            var key_max = vec4<f32>(LOWEST);
            for (var i = 0u; i < 8u; i += 1u) {
                key_max = max(key_max, weights[(lane % 8u * 8u + i) * ROW_PITCH + lane / 8u]);
            }
            q_tile[lane] = key_max;
        }
        workgroupBarrier();
        var new_max = running_max;
        for (var i = 0u; i < 8u; i += 1u) {
            new_max = max(new_max, q_tile[rows * 8u + i]);
        }
        let weights0 = exp(scores0 - new_max);
        let weights1 = exp(scores1 - new_max);
        weights[key * ROW_PITCH + rows] = weights0;
        weights[(key + 1u) * ROW_PITCH + rows] = weights1;
        let rescale = exp(running_max - new_max);
        running_max = new_max;
        sum = sum * rescale + weights0 + weights1;
        left0 *= rescale;
        right0 *= rescale;
        left1 *= rescale;
        right1 *= rescale;
        left2 *= rescale;
        right2 *= rescale;
        left3 *= rescale;
        right3 *= rescale;

        let key_count = min(KEYS, params.keys - first);
        for (var first_column = 0u; first_column < params.width; first_column += COLUMNS) {
            for (var next = 0u; next < key_count; next += DEPTH) {
                workgroupBarrier();
                let to = load_row * PAIR_PITCH + load_column * 2u;
                pairs[to] = load_v(start_v, first + next + load_row, first_column + load_column * 4u);
                pairs[to + 1u] = load_v(start_v, first + next + load_row, first_column + load_column * 4u + 2u);
                workgroupBarrier();
                switch first_column / COLUMNS {
                    case 0u: { add_values(&left0, &right0, next, rows, pair); }
                    case 1u: { add_values(&left1, &right1, next, rows, pair); }
                    case 2u: { add_values(&left2, &right2, next, rows, pair); }
                    default: { add_values(&left3, &right3, next, rows, pair); }
                }
            }
        }
        workgroupBarrier();
    }

    // Each invocation holds the sums of its own keys.
    weights[lane] = sum;
    workgroupBarrier();
    var total = vec4<f32>();
    for (var i = 0u; i < 32u; i += 1u) {
        total += weights[rows * 32u + i];
    }
    // A row without visible keys gives NaN if `STRICT` is set, otherwise zero.
    var empty_row_bits = 0u;
    if (params.flags & STRICT) != 0u {
        empty_row_bits = 0x7fc00000u;
    }
    // Tests the bits, because compilers may assume that the operands of comparisons are not NaN.
    let has_keys = bitcast<vec4<u32>>(total) != vec4<u32>();
    let empty_row = vec4<f32>(bitcast<f32>(empty_row_bits));
    let inverse_sum = 1.0 / total;
    let start_y = group.z * params.y[0] + group.y * params.y[1];
    let at = pair * 2u;
    store(start_y, row, at, select(empty_row, left0 * inverse_sum, has_keys));
    store(start_y, row, at + 1u, select(empty_row, right0 * inverse_sum, has_keys));
    store(start_y, row, at + COLUMNS, select(empty_row, left1 * inverse_sum, has_keys));
    store(start_y, row, at + COLUMNS + 1u, select(empty_row, right1 * inverse_sum, has_keys));
    store(start_y, row, at + 2u * COLUMNS, select(empty_row, left2 * inverse_sum, has_keys));
    store(start_y, row, at + 2u * COLUMNS + 1u, select(empty_row, right2 * inverse_sum, has_keys));
    store(start_y, row, at + 3u * COLUMNS, select(empty_row, left3 * inverse_sum, has_keys));
    store(start_y, row, at + 3u * COLUMNS + 1u, select(empty_row, right3 * inverse_sum, has_keys));
}
