// Stores to the KV cache in f16, eight elements in four words, for `lm_decode_attention*.wgsl`;
// appended to its source.

alias CacheWord = vec4<u32>;

fn load_key(row: u32, chunk: u32) -> vec4<u32> {
    return keys[row * (params.key_length / 8u) + chunk];
}

fn load_value(row: u32, chunk: u32) -> vec4<u32> {
    return values[row * (params.value_length / 8u) + chunk];
}

fn unpack_eight(words: vec4<u32>) -> Vec8 {
    let low = vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
    return Vec8(low, vec4<f32>(unpack2x16float(words.z), unpack2x16float(words.w)));
}

fn pack_eight(low: vec4<f32>, high: vec4<f32>) -> vec4<u32> {
    let low_words = vec2<u32>(pack2x16float(low.xy), pack2x16float(low.zw));
    return vec4<u32>(low_words, vec2<u32>(pack2x16float(high.xy), pack2x16float(high.zw)));
}

// Stores a key head from `rotated` and a value head from `qkv`, multiplied by
// `value_scale`.
fn store_key_value(row: u32, value_start: u32, value_scale: f32, lane: u32) {
    if lane < params.key_length / 8u {
        keys[row * (params.key_length / 8u) + lane] = pack_eight(rotated[ROTATED_KEY + lane * 2u], rotated[ROTATED_KEY + lane * 2u + 1u]);
    }
    if lane < params.value_length / 8u {
        let source = value_start + lane * 8u;
        let low = value_scale * load_four(source);
        values[row * (params.value_length / 8u) + lane] = pack_eight(low, value_scale * load_four(source + 4u));
    }
}
