// Products of codes, for `lm_matvec4.wgsl`; appended to its source.

fn dot4(chunk: u32, word: u32, v: vec4<f32>) -> f32 {
    return dot(decode_codes(chunk, word, word, vec2<u32>()), v);
}

// Codes of a group times x: the sums over the first and the last 16 columns.
fn code_products(group: u32, v: XGroup) -> vec2<f32> {
    if has_byte_codes() {
        let p = expand_unit(load_unit(group * 2u));
        let q = expand_unit(load_unit(group * 2u + 1u));
        return vec2<f32>(
            (dot4(0u, p.x, v.a) + dot4(1u, p.y, v.b)) + (dot4(2u, p.z, v.c) + dot4(3u, p.w, v.d)),
            (dot4(4u, q.x, v.e) + dot4(5u, q.y, v.f)) + (dot4(6u, q.z, v.g) + dot4(7u, q.w, v.h)),
        );
    }
    let p = load_unit(group);
    return vec2<f32>(
        (dot4(0u, p.x, v.a) + dot4(1u, p.y, v.b)) + (dot4(2u, p.z, v.c) + dot4(3u, p.w, v.d)),
        (dot4(4u, p.x, v.e) + dot4(5u, p.y, v.f)) + (dot4(6u, p.z, v.g) + dot4(7u, p.w, v.h)),
    );
}
