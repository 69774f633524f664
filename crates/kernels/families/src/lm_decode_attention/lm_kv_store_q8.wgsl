// Stores to the KV cache in q8_0: four signed bytes per word, and a scale per 32 elements after the
// bytes of a row, for `lm_decode_attention.wgsl`; appended to its source.

alias Kept = u32;

fn key_at(line: u32, part: u32) -> vec4<u32> {
    let start = line * (params.key_length / 4u + params.key_length / 32u);
    let at = start + part * 2u;
    return vec4<u32>(keys[at], keys[at + 1u], keys[start + params.key_length / 4u + part / 4u], 0u);
}

fn value_at(line: u32, part: u32) -> vec4<u32> {
    let start = line * (params.value_length / 4u + params.value_length / 32u);
    let at = start + part * 2u;
    return vec4<u32>(values[at], values[at + 1u], values[start + params.value_length / 4u + part / 4u], 0u);
}

fn eight_of(kept: vec4<u32>) -> Eight {
    let scale = bitcast<f32>(kept.z);
    return Eight(vec4<f32>(unpack4xI8(kept.x)) * scale, vec4<f32>(unpack4xI8(kept.y)) * scale);
}

// Stores a key head from `turned` and a value head from `qkv`; an invocation stores 32 elements.
fn keep(line: u32, value_from: u32, lane: u32) {
    if lane < params.key_length / 32u {
        var most = 0.0;
        for (var i = 0u; i < 8u; i += 1u) {
            let v = abs(turned[64u + lane * 8u + i]);
            most = max(most, max(max(v.x, v.y), max(v.z, v.w)));
        }
        let start = line * (params.key_length / 4u + params.key_length / 32u);
        let scale = most / 127.0;
        let inverse = select(0.0, 1.0 / scale, scale > 0.0);
        for (var i = 0u; i < 8u; i += 1u) {
            keys[start + lane * 8u + i] = pack4xI8(vec4<i32>(round(turned[64u + lane * 8u + i] * inverse)));
        }
        keys[start + params.key_length / 4u + lane] = bitcast<u32>(scale);
    }
    let block = lane - params.key_length / 32u;
    if lane >= params.key_length / 32u && block < params.value_length / 32u {
        let source = value_from + block * 32u;
        var most = 0.0;
        for (var i = 0u; i < 32u; i += 1u) {
            most = max(most, abs(qkv[source + i]));
        }
        let start = line * (params.value_length / 4u + params.value_length / 32u);
        let scale = most / 127.0;
        let inverse = select(0.0, 1.0 / scale, scale > 0.0);
        for (var i = 0u; i < 8u; i += 1u) {
            let at = source + i * 4u;
            let v = vec4<f32>(qkv[at], qkv[at + 1u], qkv[at + 2u], qkv[at + 3u]);
            values[start + block * 8u + i] = pack4xI8(vec4<i32>(round(v * inverse)));
        }
        values[start + params.value_length / 4u + block] = bitcast<u32>(scale);
    }
}
