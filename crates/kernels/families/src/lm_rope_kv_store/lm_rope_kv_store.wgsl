// Normalizes and rotates query and key heads, and stores keys and values in the KV cache. One
// workgroup per head of some tokens: query heads first, then key heads, then value heads unless
// values are a part of the keys. Partial sums of a product are added on the fly.

override CACHE: u32;

struct Params {
    tokens: u32,
    heads: u32,
    kv_heads: u32,
    key_length: u32,
    value_length: u32,
    pairs: u32,
    flags: u32,
    stride: u32,
    page: u32,
    epsilon: f32,
    used: u32,
    part_stride: u32,
    temperature_scale: f32,
    temperature_interval: u32,
    temperature_offset: u32,
}

const NORMS = 1u;
const INTERLEAVED = 2u;
const AFTER_ROPE = 4u;
const EACH_HEAD = 16u;
const CENTERED = 32u;
const VALUE_NORMS = 64u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> rotations: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> parts: array<f32>;
@group(0) @binding(4) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(5) var<storage, read_write> keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> values: array<u32>;

// Loads of several tokens in flight saturate memory, one token per component. Equals
// `LmRopeKvStore::TOKENS_PER_GROUP`.
const TOKENS_PER_GROUP = 4u;

var<workgroup> head: array<vec4<f32>, 576>;
var<workgroup> sums: array<vec4<f32>, 64>;

// Cosines (x) and sines (y) of a pair, one per token.
struct Rotation {
    x: vec4<f32>,
    y: vec4<f32>,
}

// Positions that rotate a pair: those of the tokens in their sequences, or those of the pair's
// section.
fn rotary_positions(position: vec4<u32>, token: vec4<u32>, pair: u32) -> vec4<u32> {
    let offset = params.flags >> 16u;
    if offset == 0u {
        return position;
    }
    let at = token + vec4<u32>(offset + params.pairs + inputs[offset + pair] * params.tokens);
    return vec4<u32>(inputs[at.x], inputs[at.y], inputs[at.z], inputs[at.w]);
}

fn load_rotation(position: vec4<u32>, pair: u32) -> Rotation {
    let a = rotations[position.x * params.pairs + pair];
    let b = rotations[position.y * params.pairs + pair];
    let c = rotations[position.z * params.pairs + pair];
    let d = rotations[position.w * params.pairs + pair];
    return Rotation(vec4<f32>(a.x, b.x, c.x, d.x), vec4<f32>(a.y, b.y, c.y, d.y));
}

// Sum of the partial sums of a product.
fn sum_partials(offsets: vec4<u32>) -> vec4<f32> {
    var sum = vec4<f32>();
    for (var part = 0u; part < params.used; part += 1u) {
        let at = offsets + vec4<u32>(part * params.part_stride);
        sum += vec4<f32>(parts[at.x], parts[at.y], parts[at.z], parts[at.w]);
    }
    return sum;
}

// Attention temperature: the factors of queries at these positions.
fn temperature(position: vec4<u32>) -> vec4<f32> {
    if params.temperature_interval == 0u {
        return vec4<f32>(1.0);
    }
    // Avoids a division by zero in kernels that are specialized to this constant.
    let interval = max(params.temperature_interval, 1u);
    let steps = (position + vec4<u32>(params.temperature_offset)) / vec4<u32>(interval);
    return vec4<f32>(1.0) + params.temperature_scale * log(vec4<f32>(steps + vec4<u32>(1u)));
}

// Component-wise sum of `value` over all invocations.
fn workgroup_sum(lane: u32, value: vec4<f32>) -> vec4<f32> {
    sums[lane] = value;
    workgroupBarrier();
    for (var step = 32u; step > 0u; step = step / 2u) {
        if lane < step {
            sums[lane] += sums[lane + step];
        }
        workgroupBarrier();
    }
    return sums[0];
}

fn component(v: vec4<u32>, i: u32) -> u32 {
    return select(select(v.x, v.y, i == 1u), select(v.z, v.w, i == 3u), i >= 2u);
}

@compute @workgroup_size(64)
fn lm_rope_kv_store(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group.y * TOKENS_PER_GROUP;
    let index = group.x;
    let is_query = index < params.heads;
    let is_value = index >= params.heads + params.kv_heads;
    let head_length = select(params.key_length, params.value_length, is_value);
    var offset = index * params.key_length;
    if is_value {
        let keys_end = (params.heads + params.kv_heads) * params.key_length;
        offset = keys_end + (index - params.heads - params.kv_heads) * params.value_length;
    }
    // Tokens past the end are clamped to the last, and only its first copy is stored.
    let token = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.tokens - 1u));
    let count = min(params.tokens - first, TOKENS_PER_GROUP);
    let base = token * params.stride + vec4<u32>(offset);

    // Issues loads that are used later.
    let position = vec4<u32>(inputs[token.x], inputs[token.y], inputs[token.z], inputs[token.w]);
    if params.used == 0u {
        for (var i = lane; i < head_length; i += 64u) {
            head[i] = vec4<f32>(qkv[base.x + i], qkv[base.y + i], qkv[base.z + i], qkv[base.w + i]);
        }
    } else {
        for (var i = lane; i < head_length; i += 64u) {
            head[i] = sum_partials(token * (params.used * params.part_stride) + vec4<u32>(offset + i));
        }
    }
    let first_pair = min(lane, max(params.pairs, 1u) - 1u);
    let first_rotation = load_rotation(rotary_positions(position, token, first_pair), first_pair);
    workgroupBarrier();
    var norm_start = select(params.key_length, 0u, is_query);
    if (params.flags & EACH_HEAD) != 0u {
        norm_start = offset;
    }
    if (params.flags & select(NORMS, VALUE_NORMS, is_value)) != 0u {
        if (params.flags & CENTERED) != 0u && !is_value {
            var sum = vec4<f32>();
            for (var i = lane; i < head_length; i += 64u) {
                sum += head[i];
            }
            let mean = workgroup_sum(lane, sum) / f32(head_length);
            workgroupBarrier();
            for (var i = lane; i < head_length; i += 64u) {
                head[i] -= mean;
            }
        }
        var square_sums = vec4<f32>();
        for (var i = lane; i < head_length; i += 64u) {
            square_sums += head[i] * head[i];
        }
        let scale = 1.0 / sqrt(workgroup_sum(lane, square_sums) / f32(head_length) + params.epsilon);
        for (var i = lane; i < head_length; i += 64u) {
            head[i] *= scale;
            if (params.flags & AFTER_ROPE) == 0u && !is_value {
                head[i] *= norms[norm_start + i];
            }
        }
        workgroupBarrier();
    }
    if !is_value {
        for (var i = lane; i < params.pairs; i += 64u) {
            var rotation = first_rotation;
            if i >= 64u {
                rotation = load_rotation(rotary_positions(position, token, i), i);
            }
            var i0 = i;
            var i1 = i + params.pairs;
            if (params.flags & INTERLEAVED) != 0u {
                i0 = 2u * i;
                i1 = i0 + 1u;
            }
            let a = head[i0];
            let b = head[i1];
            head[i0] = a * rotation.x - b * rotation.y;
            head[i1] = a * rotation.y + b * rotation.x;
        }
        workgroupBarrier();
        // Rotation keeps the mean square, so only the weights are applied after it.
        if (params.flags & (NORMS | AFTER_ROPE)) == (NORMS | AFTER_ROPE) {
            for (var i = lane; i < head_length; i += 64u) {
                head[i] *= norms[norm_start + i];
            }
            workgroupBarrier();
        }
    }

    if is_query {
        let factor = temperature(position);
        for (var i = lane; i < head_length; i += 64u) {
            let v = head[i] * factor;
            qkv[base.x + i] = v.x;
            if count > 1u {
                qkv[base.y + i] = v.y;
            }
            if count > 2u {
                qkv[base.z + i] = v.z;
            }
            if count > 3u {
                qkv[base.w + i] = v.w;
            }
        }
        return;
    }
    var kv_head = index - params.heads;
    if is_value {
        kv_head = kv_head - params.kv_heads;
    }
    // Tokens are interleaved over the invocations, to use all 64.
    let stores_per_token = select(head_length / 32u, head_length / 2u, CACHE == 0u);
    for (var i = lane; i < stores_per_token * count; i += 64u) {
        let t = i / stores_per_token;
        let at = component(position, t);
        let table = inputs[params.tokens + component(token, t)];
        let cache_row = (inputs[table + at / params.page] * params.page + at % params.page) * params.kv_heads + kv_head;
        if CACHE == 0u {
            let pair = i % stores_per_token;
            let word = pack2x16float(vec2<f32>(head[2u * pair][t], head[2u * pair + 1u][t]));
            if is_value {
                values[cache_row * stores_per_token + pair] = word;
            } else {
                keys[cache_row * stores_per_token + pair] = word;
            }
        } else {
            // Per 32 elements eight words of bytes, then a scale.
            let words = head_length / 4u + head_length / 32u;
            let block = i % stores_per_token;
            var max_abs = 0.0;
            for (var j = 0u; j < 32u; j += 1u) {
                max_abs = max(max_abs, abs(head[block * 32u + j][t]));
            }
            let scale = max_abs / 127.0;
            let inverse = select(0.0, 1.0 / scale, scale > 0.0);
            for (var j = 0u; j < 8u; j += 1u) {
                let e = block * 32u + j * 4u;
                let v = vec4<f32>(head[e][t], head[e + 1u][t], head[e + 2u][t], head[e + 3u][t]);
                let word = pack4xI8(vec4<i32>(round(v * inverse)));
                if is_value {
                    values[cache_row * words + block * 8u + j] = word;
                } else {
                    keys[cache_row * words + block * 8u + j] = word;
                }
            }
            if is_value {
                values[cache_row * words + head_length / 4u + block] = bitcast<u32>(scale);
            } else {
                keys[cache_row * words + head_length / 4u + block] = bitcast<u32>(scale);
            }
        }
    }
}
