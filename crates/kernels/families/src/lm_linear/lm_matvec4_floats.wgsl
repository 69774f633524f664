// Products of float weights, for `lm_matvec4.wgsl`; appended to its source.

fn decode_f32(words: vec4<u32>) -> vec4<f32> {
    return decode_codes(0u, words.x, words.y, words.zw);
}

fn dot8(words: vec4<u32>, v: vec4<f32>, w: vec4<f32>) -> f32 {
    return dot(decode_codes(0u, words.x, words.y, words.zw), v) + dot(decode_codes(0u, words.z, words.w, words.xy), w);
}

// Codes of a group times x: the sums over the first and the last 16 columns.
fn code_products(group: u32, v: XGroup) -> vec2<f32> {
    if FORMAT == F32 {
        let at = group * 8u;
        let first = (dot(decode_f32(codes[at]), v.a) + dot(decode_f32(codes[at + 1u]), v.b))
            + (dot(decode_f32(codes[at + 2u]), v.c) + dot(decode_f32(codes[at + 3u]), v.d));
        let second = (dot(decode_f32(codes[at + 4u]), v.e) + dot(decode_f32(codes[at + 5u]), v.f))
            + (dot(decode_f32(codes[at + 6u]), v.g) + dot(decode_f32(codes[at + 7u]), v.h));
        return vec2<f32>(first, second);
    }
    let at = group * 4u;
    let p = codes[at];
    let q = codes[at + 1u];
    let r = codes[at + 2u];
    let s = codes[at + 3u];
    return vec2<f32>(dot8(p, v.a, v.b) + dot8(q, v.c, v.d), dot8(r, v.e, v.f) + dot8(s, v.g, v.h));
}
