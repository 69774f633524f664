// `lm_decode_attention.wgsl` for up to four query heads of a KV head at once, so that they share
// what is read of long contexts. The cache is f16; heads are `LENGTH` long, 64 or 128. Needs
// subgroups of at least 32.
//
// A workgroup of 128 handles four query heads and one split of the keys. A team of invocations
// processes four adjacent keys per step, eight elements of each per invocation, without barriers:
// the scores are summed, and the weights distributed, by shuffles. The keys and values of the next
// step are loaded during the whole current one. Vectors of four have an element per query head.

override LENGTH: u32;

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
@group(0) @binding(4) var<storage, read_write> keys: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> values: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const LANES = 128u;
const HEADS = 4u;
// Adjacent keys that a team processes per step.
const KEYS = 4u;
const LOWEST = -3.0e38;

// The rotated queries, then the rotated key; at the end the sums of values of each subgroup.
var<workgroup> rotated: array<vec4<f32>, 512>;
// Per subgroup.
var<workgroup> subgroup_maxima: array<vec4<f32>, 4>;
var<workgroup> subgroup_totals: array<vec4<f32>, 4>;

// Eight elements.
struct Vec8 {
    low: vec4<f32>,
    high: vec4<f32>,
}

// Eight elements of each query head.
struct Heads {
    a: Vec8,
    b: Vec8,
    c: Vec8,
    d: Vec8,
}

// An invocation's eight elements of each of four keys or values, in the format of the cache.
struct KvTile {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
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
    return vec4<f32>(load_one(at), load_one(at + 1u), load_one(at + 2u), load_one(at + 3u));
}

fn unpack_eight(words: vec4<u32>) -> Vec8 {
    let low = vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
    return Vec8(low, vec4<f32>(unpack2x16float(words.z), unpack2x16float(words.w)));
}

fn pack_eight(v: Vec8) -> vec4<u32> {
    let low = vec2<u32>(pack2x16float(v.low.xy), pack2x16float(v.low.zw));
    return vec4<u32>(low, vec2<u32>(pack2x16float(v.high.xy), pack2x16float(v.high.zw)));
}

// Row in the KV cache of the first of four adjacent keys.
fn cache_row_of(block: u32, table: u32, kv_head: u32) -> u32 {
    let position = block * KEYS;
    let page = inputs[table + position / params.page];
    return (page * params.page + position % params.page) * params.kv_heads + kv_head;
}

// Offsets of four adjacent keys in the KV cache. Keys past the last one that was written repeat it:
// weights of zero times NaN would be NaN.
fn offsets_of(row: u32, block: u32, last: u32, chunk: u32) -> vec4<u32> {
    let within = min(vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(last - min(block * KEYS, last)));
    return (vec4<u32>(row) + within * params.kv_heads) * (LENGTH / 8u) + vec4<u32>(chunk);
}

fn load_keys(at: vec4<u32>) -> KvTile {
    return KvTile(keys[at.x], keys[at.y], keys[at.z], keys[at.w]);
}

fn load_values(at: vec4<u32>) -> KvTile {
    return KvTile(values[at.x], values[at.y], values[at.z], values[at.w]);
}

fn dot_eight(a: Vec8, b: Vec8) -> f32 {
    return dot(a.low, b.low) + dot(a.high, b.high);
}

// An invocation's parts of the dot products of a key with the queries.
fn partial_dots(v: Vec8, queries: Heads) -> vec4<f32> {
    return vec4<f32>(dot_eight(v, queries.a), dot_eight(v, queries.b), dot_eight(v, queries.c), dot_eight(v, queries.d));
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

// Sum over sixteen adjacent invocations.
fn sum_sixteen(v: f32) -> f32 {
    var sum = v + subgroupShuffleXor(v, 1u);
    sum += subgroupShuffleXor(sum, 2u);
    sum += subgroupShuffleXor(sum, 4u);
    return sum + subgroupShuffleXor(sum, 8u);
}

// Sum over the invocations of a team.
fn sum_team(v: vec4<f32>) -> vec4<f32> {
    var sum = v + subgroupShuffleXor(v, 1u);
    sum += subgroupShuffleXor(sum, 2u);
    sum += subgroupShuffleXor(sum, 4u);
    if LENGTH > 64u {
        sum += subgroupShuffleXor(sum, 8u);
    }
    return sum;
}

// Sums the parts of a team's scores. Each invocation gets the scores of the query head `chunk % 4`:
// of the key `chunk / 4`, or with short heads of the keys `chunk / 4 * 2` and the next.
fn sum_scores(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, chunk: u32) -> vec2<f32> {
    let keys_bit = LENGTH / 16u;
    let upper = (chunk & keys_bit) != 0u;
    var first = select(a, c, upper) + subgroupShuffleXor(select(c, a, upper), keys_bit);
    var second = select(b, d, upper) + subgroupShuffleXor(select(d, b, upper), keys_bit);
    if LENGTH > 64u {
        let odd = (chunk & 4u) != 0u;
        first = select(first, second, odd) + subgroupShuffleXor(select(second, first, odd), 4u);
    }
    let last_two = (chunk & 2u) != 0u;
    let is_odd = (chunk & 1u) != 0u;
    let pair = select(first.xy, first.zw, last_two) + subgroupShuffleXor(select(first.zw, first.xy, last_two), 2u);
    let score = select(pair.x, pair.y, is_odd) + subgroupShuffleXor(select(pair.y, pair.x, is_odd), 1u);
    if LENGTH > 64u {
        return vec2<f32>(score, LOWEST);
    }
    let next = select(second.xy, second.zw, last_two) + subgroupShuffleXor(select(second.zw, second.xy, last_two), 2u);
    return vec2<f32>(score, select(next.x, next.y, is_odd) + subgroupShuffleXor(select(next.y, next.x, is_odd), 1u));
}

fn soft_capped(score: f32) -> f32 {
    if params.soft_cap > 0.0 {
        // Clamped, because tanh overflows on some drivers.
        return params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
    }
    return score;
}

// The values of a team's first four invocations of a group of four.
fn of_heads(v: f32, first: u32) -> vec4<f32> {
    return vec4<f32>(
        subgroupShuffle(v, first),
        subgroupShuffle(v, first + 1u),
        subgroupShuffle(v, first + 2u),
        subgroupShuffle(v, first + 3u),
    );
}

fn add_eight(sum: Vec8, weight: f32, v: Vec8) -> Vec8 {
    return Vec8(sum.low + weight * v.low, sum.high + weight * v.high);
}

fn add_value(sums: Heads, weights: vec4<f32>, words: vec4<u32>) -> Heads {
    let v = unpack_eight(words);
    return Heads(
        add_eight(sums.a, weights.x, v),
        add_eight(sums.b, weights.y, v),
        add_eight(sums.c, weights.z, v),
        add_eight(sums.d, weights.w, v),
    );
}

fn scaled(v: Vec8, factor: f32) -> Vec8 {
    return Vec8(v.low * factor, v.high * factor);
}

fn scaled_heads(sums: Heads, factors: vec4<f32>) -> Heads {
    return Heads(scaled(sums.a, factors.x), scaled(sums.b, factors.y), scaled(sums.c, factors.z), scaled(sums.d, factors.w));
}

fn sum_across(v: Vec8, mask: u32) -> Vec8 {
    return Vec8(v.low + subgroupShuffleXor(v.low, mask), v.high + subgroupShuffleXor(v.high, mask));
}

// Merged sums of a team and the one `mask` invocations apart.
struct Merged {
    sums: Heads,
    maxima: vec4<f32>,
    totals: vec4<f32>,
}

fn merged(own: Merged, mask: u32) -> Merged {
    let maxima = max(own.maxima, subgroupShuffleXor(own.maxima, mask));
    let factors = exp(own.maxima - maxima);
    let sums = scaled_heads(own.sums, factors);
    let totals = own.totals * factors;
    let all = Heads(sum_across(sums.a, mask), sum_across(sums.b, mask), sum_across(sums.c, mask), sum_across(sums.d, mask));
    return Merged(all, maxima, totals + subgroupShuffleXor(totals, mask));
}

@compute @workgroup_size(128)
fn lm_decode_attention_subgroups(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let token = group.x;
    let gqa_ratio = params.heads / params.kv_heads;
    let groups = (gqa_ratio + HEADS - 1u) / HEADS;
    let kv_head = group.y / groups;
    let first_head = kv_head * gqa_ratio + group.y % groups * HEADS;
    let heads = min(gqa_ratio - group.y % groups * HEADS, HEADS);
    let position = inputs[token];
    let table = inputs[params.tokens + token];
    let lanes_per_key = LENGTH / 8u;
    let teams = LANES / lanes_per_key;
    let team = lane / lanes_per_key;
    let chunk = lane % lanes_per_key;

    // The attention sink of the invocation's query head, a key whose value is zero.
    let team_start = lane % 32u - chunk;
    let head = chunk % HEADS;
    let own_key = chunk / HEADS;
    var sink = 0.0;
    if (params.flags & SINKS) != 0u {
        let norm_rows = select(2u, params.heads + params.kv_heads, (params.flags & EACH_HEAD) != 0u);
        let sinks_at = select(0u, norm_rows * LENGTH, (params.flags & NORMS) != 0u);
        sink = norms[sinks_at + first_head + min(head, heads - 1u)];
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
    let keys_per_split = (visible + params.splits * 64u - 1u) / (params.splits * 64u) * 64u;
    let start = begin + min(group.z * keys_per_split, visible);
    let visible_end = min(start + keys_per_split, begin + visible);
    // With a shared KV cache a row has only queries, and there is no new key. Otherwise the new
    // token's key is not read from the cache, to which it may be written concurrently.
    let is_shared = (params.flags & SHARED) != 0u;
    let has_new_key = visible_end == position + 1u && start < visible_end && !is_shared;
    let end = select(visible_end, visible_end - 1u, has_new_key);
    let last = max(end, 1u) - 1u;
    let last_block = last / KEYS;
    let first_block = start / KEYS;
    let steps = select(0u, (last_block - min(first_block, last_block)) / teams + 1u, start < end);
    var block = min(first_block + team, last_block);
    var at = offsets_of(cache_row_of(block, table, kv_head), block, last, chunk);
    var next_keys = load_keys(at);
    var next_values = load_values(at);
    var next_row = cache_row_of(min(first_block + team + teams, last_block), table, kv_head);

    // Sixteen invocations load each head: the queries, then the key.
    let base = token * params.parts * params.stride;
    let values_start = (params.heads + params.kv_heads) * LENGTH + kv_head * LENGTH;
    let value_start = base + select(values_start, 0u, is_shared);
    var new_value = Vec8();
    if has_new_key {
        new_value = Vec8(load_four(value_start + chunk * 8u), load_four(value_start + chunk * 8u + 4u));
    }
    let own = min(lane / 16u, HEADS);
    let own_lane = lane % 16u;
    let is_key = own == HEADS;
    let query_head = first_head + min(own, heads - 1u);
    let source = base + select(query_head, params.heads + kv_head, is_key && !is_shared) * LENGTH;
    let is_normed = (params.flags & NORMS) != 0u;
    let is_centered = is_normed && (params.flags & CENTERED) != 0u;
    // Rotation keeps the mean square, so only the weights can be applied after it.
    let is_after = (params.flags & AFTER_ROPE) != 0u;
    var mean = 0.0;
    if is_centered {
        for (var c = own_lane; c < LENGTH; c += 16u) {
            mean += load_one(source + c);
        }
        mean = sum_sixteen(mean) / f32(LENGTH);
    }
    var norm_scale = 1.0;
    if is_normed {
        var squares = 0.0;
        for (var c = own_lane; c < LENGTH; c += 16u) {
            let centered = load_one(source + c) - mean;
            squares += centered * centered;
        }
        norm_scale = 1.0 / sqrt(sum_sixteen(squares) / f32(LENGTH) + params.epsilon);
    }
    if (params.flags & VALUE_NORMS) != 0u {
        var squares = 0.0;
        for (var c = own_lane; c < LENGTH; c += 16u) {
            let v = load_one(value_start + c);
            squares += v * v;
        }
        new_value = scaled(new_value, 1.0 / sqrt(sum_sixteen(squares) / f32(LENGTH) + params.epsilon));
    }
    var query_scale = params.scale;
    if params.temperature_interval != 0u {
        let position_steps = (position + params.temperature_offset) / max(params.temperature_interval, 1u);
        query_scale *= 1.0 + params.temperature_scale * log(f32(position_steps + 1u));
    }
    if lane / 16u <= HEADS {
        for (var pair = own_lane; pair < LENGTH / 2u; pair += 16u) {
            // Elements past the rotated pairs are copied unchanged.
            var i0 = 2u * pair;
            var i1 = i0 + 1u;
            if pair < params.pairs && (params.flags & INTERLEAVED) == 0u {
                i0 = pair;
                i1 = pair + params.pairs;
            }
            var v = vec2<f32>(load_one(source + i0), load_one(source + i1));
            var norm_weights = vec2<f32>(1.0);
            if is_normed {
                var weights_at = select(0u, LENGTH, is_key);
                if (params.flags & EACH_HEAD) != 0u {
                    weights_at = source - base;
                }
                v -= vec2<f32>(mean);
                norm_weights = norm_scale * vec2<f32>(norms[weights_at + i0], norms[weights_at + i1]);
            }
            v *= select(norm_weights, vec2<f32>(1.0), is_after);
            if pair < params.pairs {
                let rotation = rotations[rotary_position(position, token, pair) * params.pairs + pair];
                v = vec2<f32>(v.x * rotation.x - v.y * rotation.y, v.x * rotation.y + v.y * rotation.x);
            }
            v *= select(vec2<f32>(1.0), norm_weights, is_after) * select(query_scale, 1.0, is_key);
            let to = own * (LENGTH / 4u);
            rotated[to + i0 / 4u][i0 % 4u] = v.x;
            rotated[to + i1 / 4u][i1 % 4u] = v.y;
        }
    }
    workgroupBarrier();
    let pitch = LENGTH / 4u;
    let own_at = 2u * chunk;
    let queries = Heads(
        Vec8(rotated[own_at], rotated[own_at + 1u]),
        Vec8(rotated[pitch + own_at], rotated[pitch + own_at + 1u]),
        Vec8(rotated[2u * pitch + own_at], rotated[2u * pitch + own_at + 1u]),
        Vec8(rotated[3u * pitch + own_at], rotated[3u * pitch + own_at + 1u]),
    );
    let new_key = Vec8(rotated[4u * pitch + own_at], rotated[4u * pitch + own_at + 1u]);
    if has_new_key && group.y % groups == 0u && team == 0u {
        let row = cache_row_of(position / KEYS, table, kv_head) + position % KEYS * params.kv_heads;
        keys[row * (LENGTH / 8u) + chunk] = pack_eight(new_key);
        values[row * (LENGTH / 8u) + chunk] = pack_eight(new_value);
    }

    // An invocation has the maximum of the scores of its query head, and its part of the sum of their
    // weights. The new key and the sinks belong to the first team, the sinks to the first split.
    var maximum = LOWEST;
    var total = 0.0;
    var sums = Heads();
    if (params.flags & SINKS) != 0u && group.z == 0u && team == 0u {
        maximum = sink;
        total = select(0.0, 1.0, own_key == 0u);
    }
    let new_scores = sum_team(partial_dots(new_key, queries));
    if has_new_key && team == 0u {
        let score = soft_capped(new_scores[head]);
        let new_maximum = max(maximum, score);
        total = total * exp(maximum - new_maximum) + select(0.0, exp(score - new_maximum), own_key == 0u);
        maximum = new_maximum;
    }
    let first_maxima = of_heads(maximum, team_start);
    if has_new_key && team == 0u {
        let capped = vec4<f32>(soft_capped(new_scores.x), soft_capped(new_scores.y), soft_capped(new_scores.z), soft_capped(new_scores.w));
        let weights = exp(capped - first_maxima);
        sums = Heads(scaled(new_value, weights.x), scaled(new_value, weights.y), scaled(new_value, weights.z), scaled(new_value, weights.w));
    }
    for (var step = 0u; step < steps; step += 1u) {
        let current_keys = next_keys;
        let current_values = next_values;
        // The keys of this step, before the block is clamped.
        let own_block = first_block + team + step * teams;
        block = min(own_block + teams, last_block);
        at = offsets_of(next_row, block, last, chunk);
        next_keys = load_keys(at);
        next_values = load_values(at);
        next_row = cache_row_of(min(own_block + 2u * teams, last_block), table, kv_head);
        let parts = sum_scores(
            partial_dots(unpack_eight(current_keys.a), queries),
            partial_dots(unpack_eight(current_keys.b), queries),
            partial_dots(unpack_eight(current_keys.c), queries),
            partial_dots(unpack_eight(current_keys.d), queries),
            chunk,
        );
        var new_maximum = maximum;
        var scores = vec2<f32>(LOWEST);
        if LENGTH > 64u {
            let own = own_block * KEYS + own_key;
            scores.x = select(LOWEST, soft_capped(parts.x), own >= start && own < end);
            new_maximum = max(new_maximum, scores.x);
            new_maximum = max(new_maximum, subgroupShuffleXor(new_maximum, 8u));
        } else {
            let own = own_block * KEYS + own_key * 2u;
            scores.x = select(LOWEST, soft_capped(parts.x), own >= start && own < end);
            scores.y = select(LOWEST, soft_capped(parts.y), own + 1u >= start && own + 1u < end);
            new_maximum = max(new_maximum, max(scores.x, scores.y));
        }
        new_maximum = max(new_maximum, subgroupShuffleXor(new_maximum, 4u));
        let factor = exp(maximum - new_maximum);
        maximum = new_maximum;
        let weights = select(vec2<f32>(), exp(scores - maximum), scores > vec2<f32>(LOWEST));
        total = total * factor + (weights.x + weights.y);
        sums = scaled_heads(sums, of_heads(factor, team_start));
        if LENGTH > 64u {
            sums = add_value(sums, of_heads(weights.x, team_start), current_values.a);
            sums = add_value(sums, of_heads(weights.x, team_start + 4u), current_values.b);
            sums = add_value(sums, of_heads(weights.x, team_start + 8u), current_values.c);
            sums = add_value(sums, of_heads(weights.x, team_start + 12u), current_values.d);
        } else {
            sums = add_value(sums, of_heads(weights.x, team_start), current_values.a);
            sums = add_value(sums, of_heads(weights.y, team_start), current_values.b);
            sums = add_value(sums, of_heads(weights.x, team_start + 4u), current_values.c);
            sums = add_value(sums, of_heads(weights.y, team_start + 4u), current_values.d);
        }
    }

    total += subgroupShuffleXor(total, 4u);
    if LENGTH > 64u {
        total += subgroupShuffleXor(total, 8u);
    }
    var all = Merged(sums, of_heads(maximum, team_start), of_heads(total, team_start));
    if LENGTH <= 64u {
        all = merged(all, 8u);
    }
    all = merged(all, 16u);
    let subgroup = lane / 32u;
    if lane % 32u == 0u {
        subgroup_maxima[subgroup] = all.maxima;
        subgroup_totals[subgroup] = all.totals;
    }
    workgroupBarrier();
    let maxima = max(max(subgroup_maxima[0], subgroup_maxima[1]), max(subgroup_maxima[2], subgroup_maxima[3]));
    let factors = exp(all.maxima - maxima);
    if lane % 32u < lanes_per_key {
        let to = subgroup * 4u * pitch + own_at;
        rotated[to] = all.sums.a.low * factors.x;
        rotated[to + 1u] = all.sums.a.high * factors.x;
        rotated[to + pitch] = all.sums.b.low * factors.y;
        rotated[to + pitch + 1u] = all.sums.b.high * factors.y;
        rotated[to + 2u * pitch] = all.sums.c.low * factors.z;
        rotated[to + 2u * pitch + 1u] = all.sums.c.high * factors.z;
        rotated[to + 3u * pitch] = all.sums.d.low * factors.w;
        rotated[to + 3u * pitch + 1u] = all.sums.d.high * factors.w;
    }
    var totals = vec4<f32>();
    for (var i = 0u; i < 4u; i += 1u) {
        totals += subgroup_totals[i] * exp(subgroup_maxima[i] - maxima);
    }
    workgroupBarrier();
    let out_head = lane / pitch;
    let column = lane % pitch;
    if out_head >= heads {
        return;
    }
    let source_at = out_head * pitch + column;
    var v = (rotated[source_at] + rotated[source_at + 4u * pitch]) + (rotated[source_at + 8u * pitch] + rotated[source_at + 12u * pitch]);
    var to = token * params.y_stride + (first_head + out_head) * LENGTH;
    if params.splits == 1u {
        v = v / totals[out_head];
        if params.packed != 0u {
            v = clamp(v, vec4<f32>(-65504.0), vec4<f32>(65504.0));
            y[to / 2u + column * 2u] = bitcast<f32>(pack2x16float(v.xy));
            y[to / 2u + column * 2u + 1u] = bitcast<f32>(pack2x16float(v.zw));
            return;
        }
    } else {
        to = ((token * params.heads + first_head + out_head) * params.splits + group.z) * (LENGTH + 2u);
        if column == 0u {
            y[to + LENGTH] = maxima[out_head];
            y[to + LENGTH + 1u] = totals[out_head];
        }
    }
    for (var i = 0u; i < 4u; i += 1u) {
        y[to + column * 4u + i] = v[i];
    }
}
