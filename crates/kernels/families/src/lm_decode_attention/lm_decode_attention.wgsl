// Attention of single-token decode: normalizes and rotates the heads of one token per sequence,
// stores its key and value in the KV cache, and attends to all keys of its sequence. Fuses
// `lm_rope_kv_store` and `lm_attention` in one dispatch.
//
// A workgroup of 128 handles one query head and one split of the keys. Workgroups of heads that
// share a KV head run concurrently, so their reads hit the caches. A team of invocations processes
// one key at a time, eight elements per invocation, and eight keys per step. Values are loaded
// together with the keys, and the next step's are prefetched. Key and value heads have the same
// length. Partial sums of the product before are added on the fly.

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
    temperature_scale: f32,
    temperature_interval: u32,
    temperature_offset: u32,
    chunk: u32,
    parts: u32,
    packed: u32,
}

const NORMS = 1u;
const INTERLEAVED = 2u;
const AFTER_ROPE = 4u;
const SINKS = 8u;
const EACH_HEAD = 16u;
const CENTERED = 32u;
const VALUE_NORMS = 64u;
const SHARED = 128u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> rotations: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> qkv: array<f32>;
@group(0) @binding(4) var<storage, read_write> keys: array<CacheWord>;
@group(0) @binding(5) var<storage, read_write> values: array<CacheWord>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const KEYS_PER_TEAM = 8u;
const LOWEST = -3.0e38;
// Where the rotated key starts.
const ROTATED_KEY = 64u;

// The rotated query and key.
var<workgroup> rotated: array<vec4<f32>, 128>;
// Rows of the current keys in the KV cache.
var<workgroup> cache_rows: array<u32, 128>;
// Each invocation's contribution to the score of a key, padded by one per key against bank
// conflicts.
var<workgroup> partials: array<f32, 1152>;
var<workgroup> scores: array<vec4<f32>, 32>;
// Per invocation: sums of values, sums of weights.
var<workgroup> sums: array<vec4<f32>, 256>;
var<workgroup> totals: array<f32, 128>;

// Eight elements.
struct Vec8 {
    low: vec4<f32>,
    high: vec4<f32>,
}

// An invocation's eight elements of each of eight keys or values, in the format of the cache.
struct KvTile {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
    e: vec4<u32>,
    f: vec4<u32>,
    g: vec4<u32>,
    h: vec4<u32>,
}

fn load_keys(first: u32, teams: u32, chunk: u32) -> KvTile {
    return KvTile(
        load_key(cache_rows[first], chunk),
        load_key(cache_rows[first + teams], chunk),
        load_key(cache_rows[first + 2u * teams], chunk),
        load_key(cache_rows[first + 3u * teams], chunk),
        load_key(cache_rows[first + 4u * teams], chunk),
        load_key(cache_rows[first + 5u * teams], chunk),
        load_key(cache_rows[first + 6u * teams], chunk),
        load_key(cache_rows[first + 7u * teams], chunk),
    );
}

fn load_values(first: u32, teams: u32, chunk: u32) -> KvTile {
    return KvTile(
        load_value(cache_rows[first], chunk),
        load_value(cache_rows[first + teams], chunk),
        load_value(cache_rows[first + 2u * teams], chunk),
        load_value(cache_rows[first + 3u * teams], chunk),
        load_value(cache_rows[first + 4u * teams], chunk),
        load_value(cache_rows[first + 5u * teams], chunk),
        load_value(cache_rows[first + 6u * teams], chunk),
        load_value(cache_rows[first + 7u * teams], chunk),
    );
}

// An element of a token's row: the sum of its partial sums.
fn load_one(at: u32) -> f32 {
    var sum = qkv[at];
    for (var part = 1u; part < params.parts; part += 1u) {
        sum += qkv[at + part * params.stride];
    }
    return sum;
}

fn load_four(at: u32) -> vec4<f32> {
    var sum = vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
    for (var part = 1u; part < params.parts; part += 1u) {
        let next = at + part * params.stride;
        sum += vec4<f32>(qkv[next], qkv[next + 1u], qkv[next + 2u], qkv[next + 3u]);
    }
    return sum;
}

// An invocation's part of a dot product.
fn partial_dot(words: vec4<u32>, query: Vec8) -> f32 {
    let v = unpack_eight(words);
    return dot(v.low, query.low) + dot(v.high, query.high);
}

// Row of a key in the KV cache. Keys past the end repeat the last one, which was written: weights
// of zero times NaN would be NaN.
fn cache_row_of(key: u32, last: u32, table: u32, kv_head: u32) -> u32 {
    let at = min(key, last);
    let page = inputs[table + at / params.page];
    return (page * params.page + at % params.page) * params.kv_heads + kv_head;
}

fn soft_capped(score: f32) -> f32 {
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        return params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
    }
    return score;
}

// A sum of values and the sum of its weights.
struct WeightedSum {
    low: vec4<f32>,
    high: vec4<f32>,
    total: f32,
}

fn add_value(sum: WeightedSum, weight: f32, words: vec4<u32>) -> WeightedSum {
    let v = unpack_eight(words);
    return WeightedSum(sum.low + weight * v.low, sum.high + weight * v.high, sum.total + weight);
}

fn score_at(key: u32) -> f32 {
    return scores[key / 4u][key % 4u];
}

// The position that rotates a pair: the token's position in its sequence, or that of the pair's
// section.
fn rotary_position(position: u32, token: u32, pair: u32) -> u32 {
    let offset = params.flags >> 16u;
    if offset == 0u {
        return position;
    }
    return inputs[offset + params.pairs + inputs[offset + pair] * params.tokens + token];
}

@compute @workgroup_size(128)
fn lm_decode_attention(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let token = group.x;
    let gqa_ratio = params.heads / params.kv_heads;
    let kv_head = group.y / gqa_ratio;
    let position = inputs[token];
    let table = inputs[params.tokens + token];

    // Invocations per key and keys per step. Surplus invocations repeat the last team, and their
    // results are ignored.
    let lanes_per_key = params.key_length / 8u;
    let teams = min(128u / lanes_per_key, 16u);
    let keys_per_step = KEYS_PER_TEAM * teams;
    let team = min(lane / lanes_per_key, teams - 1u);
    let chunk = lane % lanes_per_key;
    let is_active = lane < teams * lanes_per_key;

    // The attention sink, a key whose value is zero.
    var sink = 0.0;
    if (params.flags & SINKS) != 0u {
        let weights = select(2u, params.heads + params.kv_heads, (params.flags & EACH_HEAD) != 0u);
        sink = norms[select(0u, weights * params.key_length, (params.flags & NORMS) != 0u) + group.y];
    }

    // The visible keys, and the range of them in this workgroup's split.
    var begin = 0u;
    if params.window != 0u && position + 1u > params.window {
        begin = position + 1u - params.window;
    }
    if params.chunk != 0u {
        // Avoids a division by zero in kernels that are specialized to this constant.
        begin = max(begin, position / max(params.chunk, 1u) * params.chunk);
    }
    let visible = position + 1u - begin;
    let keys_per_split = (visible + params.splits * 128u - 1u) / (params.splits * 128u) * 128u;
    let start = begin + min(group.z * keys_per_split, visible);
    let visible_end = min(start + keys_per_split, begin + visible);

    // The first half of the workgroup loads the query, the second half the key. With a shared KV
    // cache a row has only queries, and there is no new key.
    let is_shared = (params.flags & SHARED) != 0u;
    // The new token's key is not read from the cache, to which it may be written concurrently.
    let has_new_key = visible_end == position + 1u && start < visible_end && !is_shared;
    let end = select(visible_end, visible_end - 1u, has_new_key);
    let last = max(end, 1u) - 1u;
    let base = token * params.parts * params.stride;
    let values_start = (params.heads + params.kv_heads) * params.key_length + kv_head * params.value_length;
    let value_start = base + select(values_start, 0u, is_shared);
    var new_value = Vec8(load_four(value_start + chunk * 8u), load_four(value_start + chunk * 8u + 4u));
    cache_rows[lane] = cache_row_of(start + lane, last, table, kv_head);
    workgroupBarrier();
    // These loads are in flight while the query is prepared.
    var next_keys = load_keys(team, teams, chunk);
    var next_values = load_values(team, teams, chunk);
    let half_lane = lane % 64u;
    let is_key = lane >= 64u;
    let source = base + select(group.y, params.heads + kv_head, is_key && !is_shared) * params.key_length;
    var value_scale = 1.0;
    if (params.flags & VALUE_NORMS) != 0u {
        var squares = 0.0;
        for (var c = half_lane; c < params.value_length; c += 64u) {
            let v = load_one(value_start + c);
            squares += v * v;
        }
        partials[lane] = squares;
        workgroupBarrier();
        squares = 0.0;
        for (var i = 0u; i < 64u; i += 1u) {
            squares += partials[i];
        }
        value_scale = 1.0 / sqrt(squares / f32(params.value_length) + params.epsilon);
        new_value = Vec8(new_value.low * value_scale, new_value.high * value_scale);
    }
    var norm_scale = 1.0;
    var mean = 0.0;
    if (params.flags & NORMS) != 0u {
        if (params.flags & CENTERED) != 0u {
            var sum = 0.0;
            for (var c = half_lane; c < params.key_length; c += 64u) {
                sum += load_one(source + c);
            }
            totals[lane] = sum;
            workgroupBarrier();
            for (var i = 0u; i < 64u; i += 1u) {
                mean += totals[(lane & 64u) + i];
            }
            mean /= f32(params.key_length);
            workgroupBarrier();
        }
        var squares = 0.0;
        for (var c = half_lane; c < params.key_length; c += 64u) {
            let centered = load_one(source + c) - mean;
            squares += centered * centered;
        }
        totals[lane] = squares;
        workgroupBarrier();
        squares = 0.0;
        for (var i = 0u; i < 64u; i += 1u) {
            squares += totals[(lane & 64u) + i];
        }
        norm_scale = 1.0 / sqrt(squares / f32(params.key_length) + params.epsilon);
    }
    var query_scale = params.scale;
    if params.temperature_interval != 0u {
        let steps = (position + params.temperature_offset) / max(params.temperature_interval, 1u);
        query_scale *= 1.0 + params.temperature_scale * log(f32(steps + 1u));
    }
    for (var pair = half_lane; pair < params.key_length / 2u; pair += 64u) {
        // Elements past the rotated pairs are copied unchanged.
        var i0 = 2u * pair;
        var i1 = i0 + 1u;
        if pair < params.pairs && (params.flags & INTERLEAVED) == 0u {
            i0 = pair;
            i1 = pair + params.pairs;
        }
        var v = vec2<f32>(load_one(source + i0), load_one(source + i1));
        var weights = vec2<f32>(1.0);
        if (params.flags & NORMS) != 0u {
            var weights_at = select(0u, params.key_length, is_key);
            if (params.flags & EACH_HEAD) != 0u {
                weights_at = source - base;
            }
            v -= vec2<f32>(mean);
            weights = norm_scale * vec2<f32>(norms[weights_at + i0], norms[weights_at + i1]);
        }
        // Rotation keeps the mean square, so only the weights can be applied after it.
        let is_after = (params.flags & AFTER_ROPE) != 0u;
        v *= select(weights, vec2<f32>(1.0), is_after);
        if pair < params.pairs {
            let rotation = rotations[rotary_position(position, token, pair) * params.pairs + pair];
            v = vec2<f32>(v.x * rotation.x - v.y * rotation.y, v.x * rotation.y + v.y * rotation.x);
        }
        v *= select(vec2<f32>(1.0), weights, is_after) * select(query_scale, 1.0, is_key);
        let to = lane & 64u;
        rotated[to + i0 / 4u][i0 % 4u] = v.x;
        rotated[to + i1 / 4u][i1 % 4u] = v.y;
    }
    workgroupBarrier();
    if has_new_key && group.y % gqa_ratio == 0u {
        let page = inputs[table + position / params.page];
        let row = (page * params.page + position % params.page) * params.kv_heads + kv_head;
        store_key_value(row, value_start, value_scale, lane);
    }
    let query = Vec8(rotated[chunk * 2u], rotated[chunk * 2u + 1u]);

    // The new key and the sink belong to the first team, the sink to the first split.
    var sum = WeightedSum(vec4<f32>(), vec4<f32>(), 0.0);
    var running_max = LOWEST;
    if (params.flags & SINKS) != 0u && group.z == 0u {
        running_max = sink;
        sum.total = select(0.0, 1.0, team == 0u);
    }
    if has_new_key {
        var products = vec4<f32>();
        for (var i = 0u; i < params.key_length / 4u; i += 1u) {
            products += rotated[i] * rotated[ROTATED_KEY + i];
        }
        let score = soft_capped((products.x + products.y) + (products.z + products.w));
        let new_max = max(running_max, score);
        let weight = select(0.0, exp(score - new_max), team == 0u);
        sum.total = sum.total * exp(running_max - new_max) + weight;
        sum.low = weight * new_value.low;
        sum.high = weight * new_value.high;
        running_max = new_max;
    }
    for (var first = start; first < end; first += keys_per_step) {
        let count = min(keys_per_step, end - first);
        if is_active {
            let pitch = lanes_per_key + 1u;
            let to = team * pitch + chunk;
            partials[to] = partial_dot(next_keys.a, query);
            partials[to + teams * pitch] = partial_dot(next_keys.b, query);
            partials[to + 2u * teams * pitch] = partial_dot(next_keys.c, query);
            partials[to + 3u * teams * pitch] = partial_dot(next_keys.d, query);
            partials[to + 4u * teams * pitch] = partial_dot(next_keys.e, query);
            partials[to + 5u * teams * pitch] = partial_dot(next_keys.f, query);
            partials[to + 6u * teams * pitch] = partial_dot(next_keys.g, query);
            partials[to + 7u * teams * pitch] = partial_dot(next_keys.h, query);
        }
        workgroupBarrier();
        var score = 0.0;
        if lane < count {
            for (var i = 0u; i < lanes_per_key; i += 4u) {
                let at = lane * (lanes_per_key + 1u) + i;
                score += (partials[at] + partials[at + 1u]) + (partials[at + 2u] + partials[at + 3u]);
            }
            score = soft_capped(score);
        }
        scores[lane / 4u][lane % 4u] = select(LOWEST, score, lane < count);
        cache_rows[lane] = cache_row_of(first + keys_per_step + lane, last, table, kv_head);
        workgroupBarrier();
        let current = next_values;
        next_keys = load_keys(team, teams, chunk);
        next_values = load_values(team, teams, chunk);
        var step_max = vec4<f32>(running_max);
        for (var i = 0u; i < keys_per_step / 4u; i += 2u) {
            step_max = max(step_max, max(scores[i], scores[i + 1u]));
        }
        let new_max = max(max(step_max.x, step_max.y), max(step_max.z, step_max.w));
        let rescale = exp(running_max - new_max);
        running_max = new_max;
        sum = WeightedSum(sum.low * rescale, sum.high * rescale, sum.total * rescale);
        sum = add_value(sum, exp(score_at(team) - new_max), current.a);
        sum = add_value(sum, exp(score_at(team + teams) - new_max), current.b);
        sum = add_value(sum, exp(score_at(team + 2u * teams) - new_max), current.c);
        sum = add_value(sum, exp(score_at(team + 3u * teams) - new_max), current.d);
        sum = add_value(sum, exp(score_at(team + 4u * teams) - new_max), current.e);
        sum = add_value(sum, exp(score_at(team + 5u * teams) - new_max), current.f);
        sum = add_value(sum, exp(score_at(team + 6u * teams) - new_max), current.g);
        sum = add_value(sum, exp(score_at(team + 7u * teams) - new_max), current.h);
    }

    sums[lane] = sum.low;
    sums[128u + lane] = sum.high;
    totals[lane] = sum.total;
    workgroupBarrier();
    if lane < lanes_per_key {
        for (var t = 1u; t < teams; t += 1u) {
            sum.low += sums[t * lanes_per_key + lane];
            sum.high += sums[128u + t * lanes_per_key + lane];
            sum.total += totals[t * lanes_per_key + lane];
        }
        var at = token * params.y_stride + group.y * params.value_length;
        if params.splits == 1u {
            sum.low = sum.low / sum.total;
            sum.high = sum.high / sum.total;
            if params.packed != 0u {
                let low = clamp(sum.low, vec4<f32>(-65504.0), vec4<f32>(65504.0));
                let high = clamp(sum.high, vec4<f32>(-65504.0), vec4<f32>(65504.0));
                let to = at / 2u + lane * 4u;
                y[to] = bitcast<f32>(pack2x16float(low.xy));
                y[to + 1u] = bitcast<f32>(pack2x16float(low.zw));
                y[to + 2u] = bitcast<f32>(pack2x16float(high.xy));
                y[to + 3u] = bitcast<f32>(pack2x16float(high.zw));
                return;
            }
        } else {
            at = ((token * params.heads + group.y) * params.splits + group.z) * (params.value_length + 2u);
            if lane == 0u {
                y[at + params.value_length] = running_max;
                y[at + params.value_length + 1u] = sum.total;
            }
        }
        for (var i = 0u; i < 4u; i += 1u) {
            y[at + lane * 8u + i] = sum.low[i];
            y[at + lane * 8u + 4u + i] = sum.high[i];
        }
    }
}
