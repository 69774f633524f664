// Units of a uvec4 of codes, for kernels whose `codes` binding has that type; appended to their
// source. `lm_weights_compact.wgsl` has the units of the other formats.

alias Codes = vec4<u32>;

fn load_unit(unit: u32) -> vec4<u32> {
    return codes[unit];
}

fn expand_unit(raw: vec4<u32>) -> vec4<u32> {
    return raw;
}

// The words with the first and with the last 16 codes: nibbles of both are in the same ones.
fn low_words(code: vec4<u32>) -> vec4<u32> {
    return code;
}

fn high_words(code: vec4<u32>) -> vec4<u32> {
    return code;
}

fn unit_scale_words(raw: vec4<u32>, words: vec2<u32>) -> vec2<u32> {
    return words;
}
