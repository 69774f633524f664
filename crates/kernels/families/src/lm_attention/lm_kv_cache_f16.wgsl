// KV cache in f16, four elements in two words; appended to the source of the kernels that use it.

alias Kept = vec2<u32>;

fn key_four(line: u32, four: u32) -> vec4<f32> {
    let two = keys[line * (params.key_length / 4u) + four];
    return vec4<f32>(unpack2x16float(two.x), unpack2x16float(two.y));
}

fn value_four(line: u32, four: u32) -> vec4<f32> {
    let two = values[line * (params.value_length / 4u) + four];
    return vec4<f32>(unpack2x16float(two.x), unpack2x16float(two.y));
}
