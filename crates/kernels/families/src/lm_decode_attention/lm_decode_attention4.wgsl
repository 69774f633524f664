// `lm_decode_attention.wgsl` for up to four query heads of a KV head at once, so that they share
// what is read of long contexts.
//
// A workgroup of 128 handles four query heads and one split of the keys. A team of invocations
// processes one key at a time, eight elements per invocation, and four keys per step. Each team has
// its own maxima of the scores. Vectors of four have an element per query head. The keys and values
// of the next step are loaded during the whole current one.

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

const HEADS = 4u;
const KEYS_PER_TEAM = 4u;
const LOWEST = -3.0e38;
// Where the rotated key starts.
const ROTATED_KEY = 256u;

// The rotated queries, 64 apart, and the rotated key. Then each invocation's contributions to the
// scores of a key, padded by one per key against bank conflicts. Then the sums of values, 256 vec4s
// per query head.
var<workgroup> rotated: array<vec4<f32>, 576>;
// Rows of keys in the KV cache: of the current step and at least the next one, in a ring.
var<workgroup> cache_rows: array<u32, 128>;
var<workgroup> scores: array<vec4<f32>, 128>;
var<workgroup> team_maxima: array<vec4<f32>, 16>;
var<workgroup> team_totals: array<vec4<f32>, 16>;
// Per invocation: the sum of its elements of a head, of their squares, and of those of the value.
var<workgroup> totals: array<f32, 128>;
var<workgroup> square_totals: array<f32, 128>;
var<workgroup> value_totals: array<f32, 128>;

// Eight elements.
struct Vec8 {
    low: vec4<f32>,
    high: vec4<f32>,
}

// An invocation's eight elements of each of four keys or values, in the format of the cache.
struct KvTile {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

fn load_keys(first: u32, teams: u32, chunk: u32) -> KvTile {
    return KvTile(
        load_key(cache_rows[first % 128u], chunk),
        load_key(cache_rows[(first + teams) % 128u], chunk),
        load_key(cache_rows[(first + 2u * teams) % 128u], chunk),
        load_key(cache_rows[(first + 3u * teams) % 128u], chunk),
    );
}

fn load_values(first: u32, teams: u32, chunk: u32) -> KvTile {
    return KvTile(
        load_value(cache_rows[first % 128u], chunk),
        load_value(cache_rows[(first + teams) % 128u], chunk),
        load_value(cache_rows[(first + 2u * teams) % 128u], chunk),
        load_value(cache_rows[(first + 3u * teams) % 128u], chunk),
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

// Eight elements of each query head.
struct Heads {
    a: Vec8,
    b: Vec8,
    c: Vec8,
    d: Vec8,
}

fn load_query(head: u32, chunk: u32) -> Vec8 {
    let at = head * 64u + chunk * 2u;
    return Vec8(rotated[at], rotated[at + 1u]);
}

fn dot_eight(a: Vec8, b: Vec8) -> f32 {
    return dot(a.low, b.low) + dot(a.high, b.high);
}

// An invocation's parts of the dot products of a key with the queries.
fn partial_dots(words: vec4<u32>, queries: Heads) -> vec4<f32> {
    let v = unpack_eight(words);
    return vec4<f32>(dot_eight(v, queries.a), dot_eight(v, queries.b), dot_eight(v, queries.c), dot_eight(v, queries.d));
}

// Row of a key in the KV cache. Keys past the end repeat the last one, which was written: weights
// of zero times NaN would be NaN.
fn cache_row_of(key: u32, last: u32, table: u32, kv_head: u32) -> u32 {
    let at = min(key, last);
    let page = inputs[table + at / params.page];
    return (page * params.page + at % params.page) * params.kv_heads + kv_head;
}

fn soft_capped(score: vec4<f32>) -> vec4<f32> {
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        return params.soft_cap * tanh(clamp(score / params.soft_cap, vec4<f32>(-15.0), vec4<f32>(15.0)));
    }
    return score;
}

// Sums of values and the sums of their weights.
struct WeightedSums {
    values: Heads,
    totals: vec4<f32>,
}

fn scale_and_add(sum: Vec8, factor: f32, weight: f32, v: Vec8) -> Vec8 {
    return Vec8(factor * sum.low + weight * v.low, factor * sum.high + weight * v.high);
}

fn add_scaled(sums: WeightedSums, factors: vec4<f32>, weights: vec4<f32>, v: Vec8) -> WeightedSums {
    let values = Heads(
        scale_and_add(sums.values.a, factors.x, weights.x, v),
        scale_and_add(sums.values.b, factors.y, weights.y, v),
        scale_and_add(sums.values.c, factors.z, weights.z, v),
        scale_and_add(sums.values.d, factors.w, weights.w, v),
    );
    return WeightedSums(values, factors * sums.totals + weights);
}

fn add_eight(sum: Vec8, weight: f32, v: Vec8) -> Vec8 {
    return Vec8(sum.low + weight * v.low, sum.high + weight * v.high);
}

fn add_value(sums: WeightedSums, weights: vec4<f32>, words: vec4<u32>) -> WeightedSums {
    let v = unpack_eight(words);
    let values = Heads(
        add_eight(sums.values.a, weights.x, v),
        add_eight(sums.values.b, weights.y, v),
        add_eight(sums.values.c, weights.z, v),
        add_eight(sums.values.d, weights.w, v),
    );
    return WeightedSums(values, sums.totals + weights);
}

// Weights of a key. A team may have no keys, and then its maxima are the lowest value too.
fn weights_of(key: u32, maxima: vec4<f32>) -> vec4<f32> {
    let score = scores[key];
    return select(vec4<f32>(), exp(score - maxima), score > vec4<f32>(LOWEST));
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
fn lm_decode_attention4(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let token = group.x;
    let gqa_ratio = params.heads / params.kv_heads;
    let groups = (gqa_ratio + HEADS - 1u) / HEADS;
    let kv_head = group.y / groups;
    let first_head = kv_head * gqa_ratio + group.y % groups * HEADS;
    let heads = min(gqa_ratio - group.y % groups * HEADS, HEADS);
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

    // Sixteen invocations load each head: the queries, then the key. With a shared KV cache a row
    // has only queries, and there is no new key.
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
    let own = min(lane / 16u, HEADS);
    let own_lane = lane % 16u;
    let is_key = own == HEADS;
    let query_head = first_head + min(own, heads - 1u);
    let source = base + select(query_head, params.heads + kv_head, is_key && !is_shared) * params.key_length;
    // Norms, with barriers outside of branches.
    let is_normed = (params.flags & NORMS) != 0u;
    var value_squares = 0.0;
    if (params.flags & VALUE_NORMS) != 0u {
        for (var c = own_lane; c < params.value_length; c += 16u) {
            let v = load_one(value_start + c);
            value_squares += v * v;
        }
    }
    var own_sum = 0.0;
    if is_normed && (params.flags & CENTERED) != 0u {
        for (var c = own_lane; c < params.key_length; c += 16u) {
            own_sum += load_one(source + c);
        }
    }
    value_totals[lane] = value_squares;
    totals[lane] = own_sum;
    workgroupBarrier();
    var value_scale = 1.0;
    if (params.flags & VALUE_NORMS) != 0u {
        var squares = 0.0;
        for (var i = 0u; i < 16u; i += 1u) {
            squares += value_totals[i];
        }
        value_scale = 1.0 / sqrt(squares / f32(params.value_length) + params.epsilon);
        new_value = Vec8(new_value.low * value_scale, new_value.high * value_scale);
    }
    var mean = 0.0;
    var own_squares = 0.0;
    if is_normed {
        for (var i = 0u; i < 16u; i += 1u) {
            mean += totals[lane / 16u * 16u + i];
        }
        mean /= f32(params.key_length);
        for (var c = own_lane; c < params.key_length; c += 16u) {
            let centered = load_one(source + c) - mean;
            own_squares += centered * centered;
        }
    }
    square_totals[lane] = own_squares;
    workgroupBarrier();
    var norm_scale = 1.0;
    if is_normed {
        var squares = 0.0;
        for (var i = 0u; i < 16u; i += 1u) {
            squares += square_totals[lane / 16u * 16u + i];
        }
        norm_scale = 1.0 / sqrt(squares / f32(params.key_length) + params.epsilon);
    }
    var query_scale = params.scale;
    if params.temperature_interval != 0u {
        let steps = (position + params.temperature_offset) / max(params.temperature_interval, 1u);
        query_scale *= 1.0 + params.temperature_scale * log(f32(steps + 1u));
    }
    let pairs_end = select(0u, params.key_length / 2u, lane / 16u <= HEADS);
    for (var pair = own_lane; pair < pairs_end; pair += 16u) {
        // Elements past the rotated pairs are copied unchanged.
        var i0 = 2u * pair;
        var i1 = i0 + 1u;
        if pair < params.pairs && (params.flags & INTERLEAVED) == 0u {
            i0 = pair;
            i1 = pair + params.pairs;
        }
        var v = vec2<f32>(load_one(source + i0), load_one(source + i1));
        var weights = vec2<f32>(1.0);
        if is_normed {
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
        let to = own * 64u;
        rotated[to + i0 / 4u][i0 % 4u] = v.x;
        rotated[to + i1 / 4u][i1 % 4u] = v.y;
    }
    workgroupBarrier();
    var next_keys = load_keys(team, teams, chunk);
    var next_values = load_values(team, teams, chunk);
    if has_new_key && group.y % groups == 0u {
        let page = inputs[table + position / params.page];
        let row = (page * params.page + position % params.page) * params.kv_heads + kv_head;
        store_key_value(row, value_start, value_scale, lane);
    }
    let queries = Heads(load_query(0u, chunk), load_query(1u, chunk), load_query(2u, chunk), load_query(3u, chunk));

    // The new key and the attention sinks, keys whose values are zero, belong to the first team. The
    // sinks belong to the first split.
    var sums = WeightedSums();
    var maxima = vec4<f32>(LOWEST);
    if (params.flags & SINKS) != 0u && group.z == 0u && team == 0u {
        let weights = select(2u, params.heads + params.kv_heads, (params.flags & EACH_HEAD) != 0u);
        let sinks_at = select(0u, weights * params.key_length, (params.flags & NORMS) != 0u) + first_head;
        let others = min(vec3<u32>(1u, 2u, 3u), vec3<u32>(heads - 1u)) + vec3<u32>(sinks_at);
        maxima = vec4<f32>(norms[sinks_at], norms[others.x], norms[others.y], norms[others.z]);
        sums.totals = vec4<f32>(1.0);
    }
    if has_new_key && team == 0u {
        var products = vec4<f32>();
        for (var i = 0u; i < params.key_length / 4u; i += 1u) {
            let key = rotated[ROTATED_KEY + i];
            products += vec4<f32>(
                dot(rotated[i], key),
                dot(rotated[64u + i], key),
                dot(rotated[128u + i], key),
                dot(rotated[192u + i], key),
            );
        }
        let score = soft_capped(products);
        let new_maxima = max(maxima, score);
        sums = add_scaled(sums, exp(maxima - new_maxima), exp(score - new_maxima), new_value);
        maxima = new_maxima;
    }
    workgroupBarrier();
    for (var first = start; first < end; first += keys_per_step) {
        let count = min(keys_per_step, end - first);
        let current_keys = next_keys;
        let current_values = next_values;
        let next_first = first - start + keys_per_step;
        next_keys = load_keys(next_first + team, teams, chunk);
        next_values = load_values(next_first + team, teams, chunk);
        if is_active {
            let pitch = lanes_per_key + 1u;
            let to = team * pitch + chunk;
            rotated[to] = partial_dots(current_keys.a, queries);
            rotated[to + teams * pitch] = partial_dots(current_keys.b, queries);
            rotated[to + 2u * teams * pitch] = partial_dots(current_keys.c, queries);
            rotated[to + 3u * teams * pitch] = partial_dots(current_keys.d, queries);
        }
        workgroupBarrier();
        var score = vec4<f32>(LOWEST);
        if lane < count {
            var sum = vec4<f32>();
            for (var i = 0u; i < lanes_per_key; i += 4u) {
                let at = lane * (lanes_per_key + 1u) + i;
                sum += (rotated[at] + rotated[at + 1u]) + (rotated[at + 2u] + rotated[at + 3u]);
            }
            score = soft_capped(sum);
        }
        scores[lane] = score;
        if lane < keys_per_step {
            let at = next_first + keys_per_step + lane;
            cache_rows[at % 128u] = cache_row_of(start + at, last, table, kv_head);
        }
        workgroupBarrier();
        var new_maxima = maxima;
        for (var i = 0u; i < KEYS_PER_TEAM; i += 1u) {
            new_maxima = max(new_maxima, scores[team + i * teams]);
        }
        let rescale = exp(maxima - new_maxima);
        maxima = new_maxima;
        sums = add_scaled(sums, rescale, weights_of(team, maxima), unpack_eight(current_values.a));
        sums = add_value(sums, weights_of(team + teams, maxima), current_values.b);
        sums = add_value(sums, weights_of(team + 2u * teams, maxima), current_values.c);
        sums = add_value(sums, weights_of(team + 3u * teams, maxima), current_values.d);
    }

    if is_active && chunk == 0u {
        team_maxima[team] = maxima;
        team_totals[team] = sums.totals;
    }
    workgroupBarrier();
    var global_maxima = team_maxima[0];
    for (var t = 1u; t < teams; t += 1u) {
        global_maxima = max(global_maxima, team_maxima[t]);
    }
    let factors = exp(maxima - global_maxima);
    let head = lane / lanes_per_key;
    var low = vec4<f32>();
    var high = vec4<f32>();
    // Two query heads at a time.
    rotated[lane] = factors.x * sums.values.a.low;
    rotated[128u + lane] = factors.x * sums.values.a.high;
    rotated[256u + lane] = factors.y * sums.values.b.low;
    rotated[384u + lane] = factors.y * sums.values.b.high;
    workgroupBarrier();
    if head < 2u {
        for (var t = 0u; t < teams; t += 1u) {
            low += rotated[head * 256u + t * lanes_per_key + chunk];
            high += rotated[head * 256u + 128u + t * lanes_per_key + chunk];
        }
    }
    workgroupBarrier();
    rotated[lane] = factors.z * sums.values.c.low;
    rotated[128u + lane] = factors.z * sums.values.c.high;
    rotated[256u + lane] = factors.w * sums.values.d.low;
    rotated[384u + lane] = factors.w * sums.values.d.high;
    workgroupBarrier();
    if head / 2u == 1u {
        for (var t = 0u; t < teams; t += 1u) {
            low += rotated[(head - 2u) * 256u + t * lanes_per_key + chunk];
            high += rotated[(head - 2u) * 256u + 128u + t * lanes_per_key + chunk];
        }
    }
    if head < heads {
        var total = 0.0;
        for (var t = 0u; t < teams; t += 1u) {
            total += team_totals[t][head] * exp(team_maxima[t][head] - global_maxima[head]);
        }
        var at = token * params.y_stride + (first_head + head) * params.value_length;
        if params.splits == 1u {
            low = low / total;
            high = high / total;
            if params.packed != 0u {
                low = clamp(low, vec4<f32>(-65504.0), vec4<f32>(65504.0));
                high = clamp(high, vec4<f32>(-65504.0), vec4<f32>(65504.0));
                let to = at / 2u + chunk * 4u;
                y[to] = bitcast<f32>(pack2x16float(low.xy));
                y[to + 1u] = bitcast<f32>(pack2x16float(low.zw));
                y[to + 2u] = bitcast<f32>(pack2x16float(high.xy));
                y[to + 3u] = bitcast<f32>(pack2x16float(high.zw));
                return;
            }
        } else {
            at = ((token * params.heads + first_head + head) * params.splits + group.z) * (params.value_length + 2u);
            if chunk == 0u {
                y[at + params.value_length] = global_maxima[head];
                y[at + params.value_length + 1u] = total;
            }
        }
        for (var i = 0u; i < 4u; i += 1u) {
            y[at + chunk * 8u + i] = low[i];
            y[at + chunk * 8u + 4u + i] = high[i];
        }
    }
}
