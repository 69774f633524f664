// Stores to the KV cache in f16, eight elements in four words, for `lm_decode_attention.wgsl`;
// appended to its source.

alias Kept = vec4<u32>;

fn key_at(line: u32, part: u32) -> vec4<u32> {
    return keys[line * (params.key_length / 8u) + part];
}

fn value_at(line: u32, part: u32) -> vec4<u32> {
    return values[line * (params.value_length / 8u) + part];
}

fn eight_of(kept: vec4<u32>) -> Eight {
    let low = vec4<f32>(unpack2x16float(kept.x), unpack2x16float(kept.y));
    return Eight(low, vec4<f32>(unpack2x16float(kept.z), unpack2x16float(kept.w)));
}

fn kept_of(low: vec4<f32>, high: vec4<f32>) -> vec4<u32> {
    let near = vec2<u32>(pack2x16float(low.xy), pack2x16float(low.zw));
    return vec4<u32>(near, vec2<u32>(pack2x16float(high.xy), pack2x16float(high.zw)));
}

// Stores a key head from `turned` and a value head from `qkv`.
fn keep(line: u32, value_from: u32, lane: u32) {
    if lane < params.key_length / 8u {
        keys[line * (params.key_length / 8u) + lane] = kept_of(turned[64u + lane * 2u], turned[65u + lane * 2u]);
    }
    if lane < params.value_length / 8u {
        let source = value_from + lane * 8u;
        values[line * (params.value_length / 8u) + lane] = kept_of(four_of(source), four_of(source + 4u));
    }
}
