// KV cache in q8_0: four signed bytes per word, and a scale per 32 elements after the bytes of a
// row; appended to the source of the kernels that use it.

alias CacheWord = u32;

fn load_key(row: u32, four: u32) -> vec4<f32> {
    let start = row * (params.key_length / 4u + params.key_length / 32u);
    return vec4<f32>(unpack4xI8(keys[start + four])) * bitcast<f32>(keys[start + params.key_length / 4u + four / 8u]);
}

fn load_value(row: u32, four: u32) -> vec4<f32> {
    let pitch = value_pitch();
    let start = row * (pitch / 4u + pitch / 32u);
    let at = value_start() / 4u + four;
    return vec4<f32>(unpack4xI8(values[start + at])) * bitcast<f32>(values[start + pitch / 4u + at / 8u]);
}
