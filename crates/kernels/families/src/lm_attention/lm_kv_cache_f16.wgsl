// KV cache in f16, four elements in two words; appended to the source of the kernels that use it.

alias CacheWord = vec2<u32>;

fn load_key(row: u32, four: u32) -> vec4<f32> {
    let words = keys[row * (params.key_length / 4u) + four];
    return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}

fn load_value(row: u32, four: u32) -> vec4<f32> {
    let words = values[(row * value_pitch() + value_start()) / 4u + four];
    return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}
