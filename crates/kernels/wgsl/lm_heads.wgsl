// Heads of queries and keys are normed and turned, and keys and values written to their pages. A workgroup a head of a token: first the
// heads of queries, then those of keys, then those of values.

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
}

const NORMS = 1u;
const NEIGHBOURS = 2u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> norms: array<f32>;
@group(0) @binding(2) var<storage, read> rotations: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read_write> qkv: array<f32>;
@group(0) @binding(4) var<storage, read_write> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> values: array<u32>;

var<workgroup> head: array<f32, 512>;
var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn lm_heads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let token = group.y;
    let index = group.x;
    let is_query = index < params.heads;
    let is_value = index >= params.heads + params.kv_heads;
    let own = select(params.key_length, params.value_length, is_value);
    var base = token * params.stride + index * params.key_length;
    if is_value {
        let keys_end = (params.heads + params.kv_heads) * params.key_length;
        base = token * params.stride + keys_end + (index - params.heads - params.kv_heads) * params.value_length;
    }

    // What is read later begins its way now.
    let position = inputs[token];
    let table = inputs[params.tokens + token];
    let first_turn = rotations[position * params.pairs + min(lane, max(params.pairs, 1u) - 1u)];
    for (var i = lane; i < own; i += 64u) {
        head[i] = qkv[base + i];
    }
    workgroupBarrier();
    if (params.flags & NORMS) != 0u && !is_value {
        var mine = 0.0;
        for (var i = lane; i < own; i += 64u) {
            mine += head[i] * head[i];
        }
        sums[lane] = mine;
        workgroupBarrier();
        for (var step = 32u; step > 0u; step = step / 2u) {
            if lane < step {
                sums[lane] += sums[lane + step];
            }
            workgroupBarrier();
        }
        let scale = 1.0 / sqrt(sums[0] / f32(own) + params.epsilon);
        let factors = select(params.key_length, 0u, is_query);
        for (var i = lane; i < own; i += 64u) {
            head[i] = head[i] * scale * norms[factors + i];
        }
        workgroupBarrier();
    }
    if !is_value {
        for (var i = lane; i < params.pairs; i += 64u) {
            var turn = first_turn;
            if i >= 64u {
                turn = rotations[position * params.pairs + i];
            }
            var one = i;
            var other = i + params.pairs;
            if (params.flags & NEIGHBOURS) != 0u {
                one = 2u * i;
                other = one + 1u;
            }
            let a = head[one];
            let b = head[other];
            head[one] = a * turn.x - b * turn.y;
            head[other] = a * turn.y + b * turn.x;
        }
        workgroupBarrier();
    }

    if is_query {
        for (var i = lane; i < own; i += 64u) {
            qkv[base + i] = head[i];
        }
    } else {
        let page = inputs[table + position / params.page];
        var number = index - params.heads;
        if is_value {
            number = number - params.kv_heads;
        }
        let line = (page * params.page + position % params.page) * params.kv_heads + number;
        if CACHE == 0u {
            for (var i = lane; i < own / 2u; i += 64u) {
                let word = pack2x16float(vec2<f32>(head[2u * i], head[2u * i + 1u]));
                if is_value {
                    values[line * (own / 2u) + i] = word;
                } else {
                    keys[line * (own / 2u) + i] = word;
                }
            }
        } else {
            // Eight words of bytes for each 32 numbers, then a scale for each.
            let words = own / 4u + own / 32u;
            for (var block = lane; block < own / 32u; block += 64u) {
                var most = 0.0;
                for (var i = 0u; i < 32u; i += 1u) {
                    most = max(most, abs(head[block * 32u + i]));
                }
                let scale = most / 127.0;
                let inverse = select(0.0, 1.0 / scale, scale > 0.0);
                for (var i = 0u; i < 8u; i += 1u) {
                    let at = block * 32u + i * 4u;
                    let four = vec4<f32>(head[at], head[at + 1u], head[at + 2u], head[at + 3u]);
                    let word = pack4xI8(vec4<i32>(round(four * inverse)));
                    if is_value {
                        values[line * words + block * 8u + i] = word;
                    } else {
                        keys[line * words + block * 8u + i] = word;
                    }
                }
                if is_value {
                    values[line * words + own / 4u + block] = bitcast<u32>(scale);
                } else {
                    keys[line * words + own / 4u + block] = bitcast<u32>(scale);
                }
            }
        }
    }
}
