// One token of each text: its heads are normed and turned, its key and value kept, and its queries held against all keys of its text. What
// `lm_heads` and `lm_attention` do for many tokens, in one dispatch.
//
// A workgroup of 128 has a head of queries and one of the splits of the keys: those of heads that share keys run side by side, and caches serve them. It
// takes 128 keys at a time: first an invocation has a key, then four neighbouring numbers of the sums, for some of the keys.

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
const NEIGHBOURS = 2u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> rotations: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> qkv: array<f32>;
@group(0) @binding(4) var<storage, read_write> keys: array<Kept>;
@group(0) @binding(5) var<storage, read_write> values: array<Kept>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

const KEYS = 128u;
const LEAST = -3.0e38;

// The query, and 64 fours behind it the key.
var<workgroup> turned: array<vec4<f32>, 128>;
// Scores of the keys at hand; then their weights.
var<workgroup> scores: array<vec4<f32>, 32>;
var<workgroup> weights: array<f32, 128>;
var<workgroup> lines: array<u32, 128>;
// What teams of invocations have: sums of values, sums of weights.
var<workgroup> sums: array<vec4<f32>, 128>;
var<workgroup> totals: array<f32, 128>;

fn four_of(at: u32) -> vec4<f32> {
    return vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
}

// Four numbers of the value of a key at hand: of the token's own, what `qkv` has; behind it nothing counts. There is always a line to read.
fn value_of(key: u32, first: u32, position: u32, d: u32, own: vec4<f32>) -> vec4<f32> {
    return select(value_four(lines[key], d), own, first + key >= position);
}

// The weights of four keys, none behind the last place.
fn weights_of(safe: vec4<u32>, keys: vec4<u32>) -> vec4<f32> {
    let four = vec4<f32>(weights[safe.x], weights[safe.y], weights[safe.z], weights[safe.w]);
    return select(vec4<f32>(), four, keys < vec4<u32>(KEYS));
}

@compute @workgroup_size(128)
fn lm_attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let token = group.x;
    let shared_by = params.heads / params.kv_heads;
    let kv_head = group.y / shared_by;
    let position = inputs[token];
    let table = inputs[params.tokens + token];

    // The keys that are seen, and the share of them that is this workgroup's own.
    var begin = 0u;
    if params.window != 0u && position + 1u > params.window {
        begin = position + 1u - params.window;
    }
    let seen = position + 1u - begin;
    let each = (seen + params.splits * KEYS - 1u) / (params.splits * KEYS) * KEYS;
    let start = begin + min(group.z * each, seen);
    let end = min(start + each, begin + seen);

    // The first half of the workgroup has the query, the second the key.
    let base = token * params.stride;
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
        // Behind the pairs that are turned are those that are not.
        var one = 2u * pair;
        var other = one + 1u;
        if pair < params.pairs && (params.flags & NEIGHBOURS) == 0u {
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
    let value_fours = params.value_length / 4u;
    let teams = 128u / value_fours;
    let team = lane / value_fours;
    let d = lane % value_fours;
    // What is kept is not read again here, which would take a barrier for all memory.
    let value_at = base + (params.heads + params.kv_heads) * params.key_length + kv_head * params.value_length;
    let own_value = four_of(value_at + d * 4u);
    workgroupBarrier();
    if end == position + 1u && group.y % shared_by == 0u && start < end {
        let page = inputs[table + position / params.page];
        let line = (page * params.page + position % params.page) * params.kv_heads + kv_head;
        keep(line, value_at, lane);
    }

    let key_fours = params.key_length / 4u;
    var sum = vec4<f32>();
    var total = 0.0;
    var greatest = LEAST;
    for (var first = start; first < end; first += KEYS) {
        let count = min(KEYS, end - first);
        let own = min(first + lane, end - 1u);
        let page = inputs[table + own / params.page];
        let line = (page * params.page + own % params.page) * params.kv_heads + kv_head;
        var score = 0.0;
        if own == position {
            for (var i = 0u; i < key_fours; i += 1u) {
                score += dot(turned[64u + i], turned[i]);
            }
        } else {
            // Many at a time, so that they are on their way together.
            var done = 0u;
            for (var i = 0u; i + 16u <= key_fours; i += 16u) {
                let k0 = key_four(line, i);
                let k1 = key_four(line, i + 1u);
                let k2 = key_four(line, i + 2u);
                let k3 = key_four(line, i + 3u);
                let k4 = key_four(line, i + 4u);
                let k5 = key_four(line, i + 5u);
                let k6 = key_four(line, i + 6u);
                let k7 = key_four(line, i + 7u);
                let k8 = key_four(line, i + 8u);
                let k9 = key_four(line, i + 9u);
                let k10 = key_four(line, i + 10u);
                let k11 = key_four(line, i + 11u);
                let k12 = key_four(line, i + 12u);
                let k13 = key_four(line, i + 13u);
                let k14 = key_four(line, i + 14u);
                let k15 = key_four(line, i + 15u);
                score += (dot(k0, turned[i]) + dot(k1, turned[i + 1u])) + (dot(k2, turned[i + 2u]) + dot(k3, turned[i + 3u]));
                score += (dot(k4, turned[i + 4u]) + dot(k5, turned[i + 5u])) + (dot(k6, turned[i + 6u]) + dot(k7, turned[i + 7u]));
                score += (dot(k8, turned[i + 8u]) + dot(k9, turned[i + 9u])) + (dot(k10, turned[i + 10u]) + dot(k11, turned[i + 11u]));
                score += (dot(k12, turned[i + 12u]) + dot(k13, turned[i + 13u])) + (dot(k14, turned[i + 14u]) + dot(k15, turned[i + 15u]));
                done = i + 16u;
            }
            for (var i = done; i < key_fours; i += 8u) {
                let k0 = key_four(line, i);
                let k1 = key_four(line, i + 1u);
                let k2 = key_four(line, i + 2u);
                let k3 = key_four(line, i + 3u);
                let k4 = key_four(line, i + 4u);
                let k5 = key_four(line, i + 5u);
                let k6 = key_four(line, i + 6u);
                let k7 = key_four(line, i + 7u);
                score += (dot(k0, turned[i]) + dot(k1, turned[i + 1u])) + (dot(k2, turned[i + 2u]) + dot(k3, turned[i + 3u]));
                score += (dot(k4, turned[i + 4u]) + dot(k5, turned[i + 5u])) + (dot(k6, turned[i + 6u]) + dot(k7, turned[i + 7u]));
            }
        }
        if params.soft_cap > 0.0 {
            // Limited, since some drivers' tanh overflows.
            score = params.soft_cap * tanh(clamp(score / params.soft_cap, -15.0, 15.0));
        }
        // The token's own line may be about to be written: one is read that is not.
        lines[lane] = select(line, 0u, own == position);
        scores[lane / 4u][lane % 4u] = select(LEAST, score, lane < count);
        workgroupBarrier();
        var tops = vec4<f32>(greatest);
        for (var i = 0u; i < 32u; i += 4u) {
            tops = max(max(tops, max(scores[i], scores[i + 1u])), max(scores[i + 2u], scores[i + 3u]));
        }
        let top = max(max(tops.x, tops.y), max(tops.z, tops.w));
        let carried = exp(greatest - top);
        greatest = top;
        sum *= carried;
        total *= carried;
        weights[lane] = select(0.0, exp(score - top), lane < count);
        workgroupBarrier();
        if team < teams {
            for (var k = team; k < count; k += 8u * teams) {
                let near = vec4<u32>(k, k + teams, k + 2u * teams, k + 3u * teams);
                let far = near + vec4<u32>(4u * teams);
                let safe = min(near, vec4<u32>(KEYS - 1u));
                let last = min(far, vec4<u32>(KEYS - 1u));
                let v0 = value_of(safe.x, first, position, d, own_value);
                let v1 = value_of(safe.y, first, position, d, own_value);
                let v2 = value_of(safe.z, first, position, d, own_value);
                let v3 = value_of(safe.w, first, position, d, own_value);
                let v4 = value_of(last.x, first, position, d, own_value);
                let v5 = value_of(last.y, first, position, d, own_value);
                let v6 = value_of(last.z, first, position, d, own_value);
                let v7 = value_of(last.w, first, position, d, own_value);
                let w = weights_of(safe, near);
                let more = weights_of(last, far);
                sum += (w.x * v0 + w.y * v1) + (w.z * v2 + w.w * v3);
                sum += (more.x * v4 + more.y * v5) + (more.z * v6 + more.w * v7);
                total += ((w.x + w.y) + (w.z + w.w)) + ((more.x + more.y) + (more.z + more.w));
            }
        }
        workgroupBarrier();
    }

    sums[lane] = sum;
    totals[lane] = total;
    workgroupBarrier();
    if team == 0u {
        for (var t = 1u; t < teams; t += 1u) {
            sum += sums[t * value_fours + d];
            total += totals[t * value_fours + d];
        }
        var at = token * params.y_stride + group.y * params.value_length;
        if params.splits == 1u {
            sum = sum / total;
        } else {
            at = ((token * params.heads + group.y) * params.splits + group.z) * (params.value_length + 2u);
            if d == 0u {
                y[at + params.value_length] = greatest;
                y[at + params.value_length + 1u] = total;
            }
        }
        y[at + d * 4u] = sum.x;
        y[at + d * 4u + 1u] = sum.y;
        y[at + d * 4u + 2u] = sum.z;
        y[at + d * 4u + 3u] = sum.w;
    }
}
