// Attention of single-token decode: normalizes and rotates the heads of one token per sequence,
// stores its key and value in the KV cache, and attends to all keys of its sequence. Fuses
// `lm_rope_kv_store` and `lm_attention` in one dispatch.
//
// A workgroup of 128 handles one query head and one split of the keys. Workgroups of heads that
// share a KV head run concurrently, so their reads hit the caches. A team of invocations processes
// one key at a time, eight elements per invocation, and eight keys per step. Values are loaded
// together with the keys, and the next step's are prefetched. Key and value heads have the same
// length.

struct Params {
    tokens: u32,
    heads: u32,
    kv_heads: u32,
    key_length: u32,
    value_length: u32,
    pairs: u32,
    flags: u32,
    stride: u32,
    y_stride: u32,
    page: u32,
    splits: u32,
    scale: f32,
    soft_cap: f32,
    window: u32,
    epsilon: f32,
}

const NORMS = 1u;
const INTERLEAVED = 2u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> rotations: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> qkv: array<f32>;
@group(0) @binding(4) var<storage, read_write> keys: array<Kept>;
@group(0) @binding(5) var<storage, read_write> values: array<Kept>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const TOGETHER = 8u;
const LEAST = -3.0e38;

// The query; the key starts at vec4 64.
var<workgroup> turned: array<vec4<f32>, 128>;
// Row offsets of the current keys.
var<workgroup> lines: array<u32, 128>;
// Each invocation's contribution to the score of a key, padded by one per key against bank
// conflicts.
var<workgroup> partials: array<f32, 1152>;
var<workgroup> scores: array<vec4<f32>, 32>;
// Per invocation: sums of values, sums of weights.
var<workgroup> sums: array<vec4<f32>, 256>;
var<workgroup> totals: array<f32, 128>;

// Eight elements.
struct Eight {
    low: vec4<f32>,
    high: vec4<f32>,
}

// Eight keys or values, of which the invocation holds eight elements each, in the format of the
// cache.
struct Held {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
    e: vec4<u32>,
    f: vec4<u32>,
    g: vec4<u32>,
    h: vec4<u32>,
}

fn hold_keys(first: u32, teams: u32, part: u32) -> Held {
    return Held(
        key_at(lines[first], part),
        key_at(lines[first + teams], part),
        key_at(lines[first + 2u * teams], part),
        key_at(lines[first + 3u * teams], part),
        key_at(lines[first + 4u * teams], part),
        key_at(lines[first + 5u * teams], part),
        key_at(lines[first + 6u * teams], part),
        key_at(lines[first + 7u * teams], part),
    );
}

fn hold_values(first: u32, teams: u32, part: u32) -> Held {
    return Held(
        value_at(lines[first], part),
        value_at(lines[first + teams], part),
        value_at(lines[first + 2u * teams], part),
        value_at(lines[first + 3u * teams], part),
        value_at(lines[first + 4u * teams], part),
        value_at(lines[first + 5u * teams], part),
        value_at(lines[first + 6u * teams], part),
        value_at(lines[first + 7u * teams], part),
    );
}

fn four_of(at: u32) -> vec4<f32> {
    return vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
}

// An invocation's contribution to a score. The token's own key comes from workgroup memory.
fn part_of(kept: vec4<u32>, is_own: bool, own: Eight, query: Eight) -> f32 {
    let it = eight_of(kept);
    return dot(select(it.low, own.low, is_own), query.low) + dot(select(it.high, own.high, is_own), query.high);
}

// Row offset of a key. The token's own key may be written concurrently, so it gets the offset of
// another key.
fn line_of(key: u32, last: u32, position: u32, table: u32, kv_head: u32) -> u32 {
    let at = min(key, last);
    let page = inputs[table + at / params.page];
    let line = (page * params.page + at % params.page) * params.kv_heads + kv_head;
    return select(line, 0u, at == position);
}

// A sum of values and the sum of its weights.
struct Sum {
    low: vec4<f32>,
    high: vec4<f32>,
    total: f32,
}

fn add_value(sum: Sum, weight: f32, kept: vec4<u32>, is_own: bool, own: Eight) -> Sum {
    let it = eight_of(kept);
    let low = sum.low + weight * select(it.low, own.low, is_own);
    let high = sum.high + weight * select(it.high, own.high, is_own);
    return Sum(low, high, sum.total + weight);
}

fn score_at(key: u32) -> f32 {
    return scores[key / 4u][key % 4u];
}

@compute @workgroup_size(128)
fn lm_decode_attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let token = group.x;
    let shared_by = params.heads / params.kv_heads;
    let kv_head = group.y / shared_by;
    let position = inputs[token];
    let table = inputs[params.tokens + token];

    // Invocations per key and keys per step. Surplus invocations repeat the last team, and their
    // results are ignored.
    let parts = params.key_length / 8u;
    let teams = min(128u / parts, 16u);
    let chunk = TOGETHER * teams;
    let team = min(lane / parts, teams - 1u);
    let part = lane % parts;
    let counts = lane < teams * parts;

    // The visible keys, and the range of them in this workgroup's split.
    var begin = 0u;
    if params.window != 0u && position + 1u > params.window {
        begin = position + 1u - params.window;
    }
    let seen = position + 1u - begin;
    let each = (seen + params.splits * 128u - 1u) / (params.splits * 128u) * 128u;
    let start = begin + min(group.z * each, seen);
    let end = min(start + each, begin + seen);
    let last = max(end, 1u) - 1u;

    // The first half of the workgroup loads the query, the second half the key.
    let base = token * params.stride;
    let value_from = base + (params.heads + params.kv_heads) * params.key_length + kv_head * params.value_length;
    // Reading the stored key back would need a device-wide barrier.
    let own_value = Eight(four_of(value_from + part * 8u), four_of(value_from + part * 8u + 4u));
    lines[lane] = line_of(start + lane, last, position, table, kv_head);
    let half_lane = lane % 64u;
    let is_key = lane >= 64u;
    let source = base + select(group.y, params.heads + kv_head, is_key) * params.key_length;
    var factor = 1.0;
    if (params.flags & NORMS) != 0u {
        var squares = 0.0;
        for (var c = half_lane; c < params.key_length; c += 64u) {
            squares += qkv[source + c] * qkv[source + c];
        }
        totals[lane] = squares;
        workgroupBarrier();
        squares = 0.0;
        for (var i = 0u; i < 64u; i += 1u) {
            squares += totals[(lane & 64u) + i];
        }
        factor = 1.0 / sqrt(squares / f32(params.key_length) + params.epsilon);
    }
    for (var pair = half_lane; pair < params.key_length / 2u; pair += 64u) {
        // Elements past the rotated pairs are copied unchanged.
        var one = 2u * pair;
        var other = one + 1u;
        if pair < params.pairs && (params.flags & INTERLEAVED) == 0u {
            one = pair;
            other = pair + params.pairs;
        }
        var v = vec2<f32>(qkv[source + one], qkv[source + other]);
        if (params.flags & NORMS) != 0u {
            let weights_at = select(0u, params.key_length, is_key);
            v *= factor * vec2<f32>(norms[weights_at + one], norms[weights_at + other]);
        }
        if pair < params.pairs {
            let turn = rotations[position * params.pairs + pair];
            v = vec2<f32>(v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x);
        }
        v *= select(params.scale, 1.0, is_key);
        let to = lane & 64u;
        turned[to + one / 4u][one % 4u] = v.x;
        turned[to + other / 4u][other % 4u] = v.y;
    }
    workgroupBarrier();
    var keys_held = hold_keys(team, teams, part);
    var values_held = hold_values(team, teams, part);
    if end == position + 1u && group.y % shared_by == 0u && start < end {
        let page = inputs[table + position / params.page];
        let line = (page * params.page + position % params.page) * params.kv_heads + kv_head;
        keep(line, value_from, lane);
    }
    let query = Eight(turned[part * 2u], turned[part * 2u + 1u]);
    let own_key = Eight(turned[64u + part * 2u], turned[64u + part * 2u + 1u]);

    var sum = Sum(vec4<f32>(), vec4<f32>(), 0.0);
    var greatest = LEAST;
    for (var first = start; first < end; first += chunk) {
        let count = min(chunk, end - first);
        // Index of the token's own key among the current keys, if it is one of them.
        let own = position - first;
        if counts {
            let pitch = parts + 1u;
            let to = team * pitch + part;
            partials[to] = part_of(keys_held.a, own == team, own_key, query);
            partials[to + teams * pitch] = part_of(keys_held.b, own == team + teams, own_key, query);
            partials[to + 2u * teams * pitch] = part_of(keys_held.c, own == team + 2u * teams, own_key, query);
            partials[to + 3u * teams * pitch] = part_of(keys_held.d, own == team + 3u * teams, own_key, query);
            partials[to + 4u * teams * pitch] = part_of(keys_held.e, own == team + 4u * teams, own_key, query);
            partials[to + 5u * teams * pitch] = part_of(keys_held.f, own == team + 5u * teams, own_key, query);
            partials[to + 6u * teams * pitch] = part_of(keys_held.g, own == team + 6u * teams, own_key, query);
            partials[to + 7u * teams * pitch] = part_of(keys_held.h, own == team + 7u * teams, own_key, query);
        }
        workgroupBarrier();
        var score = 0.0;
        if lane < count {
            for (var i = 0u; i < parts; i += 4u) {
                let at = lane * (parts + 1u) + i;
                score += (partials[at] + partials[at + 1u]) + (partials[at + 2u] + partials[at + 3u]);
            }
            if params.soft_cap > 0.0 {
                // Clamped, because tanh overflows on some drivers.
                score = params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
            }
        }
        scores[lane / 4u][lane % 4u] = select(LEAST, score, lane < count);
        lines[lane] = line_of(first + chunk + lane, last, position, table, kv_head);
        workgroupBarrier();
        let values_now = values_held;
        keys_held = hold_keys(team, teams, part);
        values_held = hold_values(team, teams, part);
        var tops = vec4<f32>(greatest);
        for (var i = 0u; i < chunk / 4u; i += 2u) {
            tops = max(tops, max(scores[i], scores[i + 1u]));
        }
        let top = max(max(tops.x, tops.y), max(tops.z, tops.w));
        let carried = exp(greatest - top);
        greatest = top;
        sum = Sum(sum.low * carried, sum.high * carried, sum.total * carried);
        sum = add_value(sum, exp(score_at(team) - top), values_now.a, own == team, own_value);
        sum = add_value(sum, exp(score_at(team + teams) - top), values_now.b, own == team + teams, own_value);
        sum = add_value(sum, exp(score_at(team + 2u * teams) - top), values_now.c, own == team + 2u * teams, own_value);
        sum = add_value(sum, exp(score_at(team + 3u * teams) - top), values_now.d, own == team + 3u * teams, own_value);
        sum = add_value(sum, exp(score_at(team + 4u * teams) - top), values_now.e, own == team + 4u * teams, own_value);
        sum = add_value(sum, exp(score_at(team + 5u * teams) - top), values_now.f, own == team + 5u * teams, own_value);
        sum = add_value(sum, exp(score_at(team + 6u * teams) - top), values_now.g, own == team + 6u * teams, own_value);
        sum = add_value(sum, exp(score_at(team + 7u * teams) - top), values_now.h, own == team + 7u * teams, own_value);
    }

    sums[lane] = sum.low;
    sums[128u + lane] = sum.high;
    totals[lane] = sum.total;
    workgroupBarrier();
    if lane < parts {
        for (var t = 1u; t < teams; t += 1u) {
            sum.low += sums[t * parts + lane];
            sum.high += sums[128u + t * parts + lane];
            sum.total += totals[t * parts + lane];
        }
        var at = token * params.y_stride + group.y * params.value_length;
        if params.splits == 1u {
            sum.low = sum.low / sum.total;
            sum.high = sum.high / sum.total;
        } else {
            at = ((token * params.heads + group.y) * params.splits + group.z) * (params.value_length + 2u);
            if lane == 0u {
                y[at + params.value_length] = greatest;
                y[at + params.value_length + 1u] = sum.total;
            }
        }
        for (var i = 0u; i < 4u; i += 1u) {
            y[at + lane * 8u + i] = sum.low[i];
            y[at + lane * 8u + 4u + i] = sum.high[i];
        }
    }
}
