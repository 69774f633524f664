// Stores to the KV cache in q8_0: four signed bytes per word, and a scale per 32 elements after the
// bytes of a row, for `lm_decode_attention*.wgsl`; appended to its source.

alias CacheWord = u32;

fn load_key(row: u32, chunk: u32) -> vec4<u32> {
    let start = row * (params.key_length / 4u + params.key_length / 32u);
    let at = start + chunk * 2u;
    return vec4<u32>(keys[at], keys[at + 1u], keys[start + params.key_length / 4u + chunk / 4u], 0u);
}

fn load_value(row: u32, chunk: u32) -> vec4<u32> {
    let start = row * (params.value_length / 4u + params.value_length / 32u);
    let at = start + chunk * 2u;
    return vec4<u32>(values[at], values[at + 1u], values[start + params.value_length / 4u + chunk / 4u], 0u);
}

fn unpack_eight(words: vec4<u32>) -> Vec8 {
    let scale = bitcast<f32>(words.z);
    return Vec8(vec4<f32>(unpack4xI8(words.x)) * scale, vec4<f32>(unpack4xI8(words.y)) * scale);
}

// Stores a key head from `rotated` and a value head from `qkv`, multiplied by
// `value_scale`; an invocation stores 32 elements.
fn store_key_value(row: u32, value_start: u32, value_scale: f32, lane: u32) {
    if lane < params.key_length / 32u {
        var max_abs = 0.0;
        for (var i = 0u; i < 8u; i += 1u) {
            let v = abs(rotated[ROTATED_KEY + lane * 8u + i]);
            max_abs = max(max_abs, max(max(v.x, v.y), max(v.z, v.w)));
        }
        let start = row * (params.key_length / 4u + params.key_length / 32u);
        let scale = max_abs / 127.0;
        let inverse = select(0.0, 1.0 / scale, scale > 0.0);
        for (var i = 0u; i < 8u; i += 1u) {
            keys[start + lane * 8u + i] = pack4xI8(vec4<i32>(round(rotated[ROTATED_KEY + lane * 8u + i] * inverse)));
        }
        keys[start + params.key_length / 4u + lane] = bitcast<u32>(scale);
    }
    let block = lane - params.key_length / 32u;
    if lane >= params.key_length / 32u && block < params.value_length / 32u {
        let source = value_start + block * 32u;
        var max_abs = 0.0;
        for (var i = 0u; i < 32u; i += 1u) {
            max_abs = max(max_abs, abs(value_scale * load_one(source + i)));
        }
        let start = row * (params.value_length / 4u + params.value_length / 32u);
        let scale = max_abs / 127.0;
        let inverse = select(0.0, 1.0 / scale, scale > 0.0);
        for (var i = 0u; i < 8u; i += 1u) {
            let v = value_scale * load_four(source + i * 4u);
            values[start + block * 8u + i] = pack4xI8(vec4<i32>(round(v * inverse)));
        }
        values[start + params.value_length / 4u + block] = bitcast<u32>(scale);
    }
}
