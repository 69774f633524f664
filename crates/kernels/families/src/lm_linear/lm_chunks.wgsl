// Single vec4s of weights, for kernels whose `codes` binding has words; appended to their source.
// `lm_weights_compact.wgsl` has the chunks of the other formats.

// Four adjacent codes of a group; `chunk` selects one of eight.
fn load_chunk(group: u32, chunk: u32) -> vec4<f32> {
    if FORMAT == F32 {
        let at = group * 32u + chunk * 4u;
        return decode_codes(chunk, codes[at], codes[at + 1u], vec2<u32>(codes[at + 2u], codes[at + 3u]));
    }
    if FORMAT == F16 || FORMAT == BF16 {
        let at = group * 16u + chunk * 2u;
        return decode_codes(chunk, codes[at], codes[at + 1u], vec2<u32>());
    }
    let at = select(group * 4u + chunk % 4u, group * 8u + chunk, FORMAT == Q8);
    return decode_codes(chunk, codes[at], 0u, vec2<u32>());
}
