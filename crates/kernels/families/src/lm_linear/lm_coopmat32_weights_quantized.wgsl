// Quantized weights that are dequantized to f16, for `lm_matmul_coopmat32.wgsl`; appended to its
// source.

// 32 weights per invocation: a group, or half groups of rows 32 apart, with the words of their
// scales. Decoding them waits for the loads, so it is left to `store_w`.
struct WElements {
    a: vec4<u32>,
    b: vec4<u32>,
    scales: vec4<u32>,
}

// Rows and columns past the end are clamped: results of such rows are dropped, and x is zero in
// such columns.
fn group_index(row: u32, group: u32) -> u32 {
    let groups = params.columns / 32u;
    return min(row, params.rows - 1u) * groups + min(group, groups - 1u);
}

fn load_w(first: u32, step: u32, lane: u32) -> WElements {
    var elements: WElements;
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let group0 = group_index(first + lane / 8u, step * 4u + lane % 8u / 2u);
        let group1 = group_index(first + 32u + lane / 8u, step * 4u + lane % 8u / 2u);
        elements.a = codes[group0 * 2u + lane % 2u];
        elements.b = codes[group1 * 2u + lane % 2u];
        elements.scales = vec4<u32>(scale_words(group0), scale_words(group1));
    } else {
        let at = group_index(first + lane / 4u, step * 4u + lane % 4u);
        elements.a = codes[at];
        elements.scales = vec4<u32>(scale_words(at), 0u, 0u);
    }
    return elements;
}

// Scale and offset for codes plus the number that `bytes_plus` adds to them.
fn shifted(s: vec2<f32>) -> vec2<f32> {
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        return vec2<f32>(s.x, s.y - 1152.0 * s.x);
    }
    return vec2<f32>(s.x, s.y - 1024.0 * s.x);
}

// Two bytes, in the low bits of the halves of a word, plus 1024: with a byte in its mantissa,
// 0x6400 is that as f16. This is faster than a conversion of integers.
fn bytes_plus_1024(bytes: u32) -> vec2<f32> {
    return unpack2x16float((bytes & 0x00ff00ffu) | 0x64006400u);
}

// Four weights in the order 0, 2, 1, 3; `s` is `shifted`.
fn dequantize(chunk: u32, word: u32, s: vec2<f32>) -> vec2<u32> {
    if FORMAT == Q4_NL || FORMAT == Q4_E2M1 {
        let v = decode_codes(chunk, word, word, vec2<u32>()) * s.x;
        return vec2<u32>(pack2x16float(v.xz), pack2x16float(v.yw));
    }
    var bytes = (word >> (chunk / 4u * 4u)) & 0x0f0f0f0fu;
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        // Signed bytes plus 128.
        bytes = word ^ 0x80808080u;
    }
    let even = fma(bytes_plus_1024(bytes), vec2<f32>(s.x), vec2<f32>(s.y));
    let odd = fma(bytes_plus_1024(bytes >> 8u), vec2<f32>(s.x), vec2<f32>(s.y));
    return vec2<u32>(pack2x16float(even), pack2x16float(odd));
}

// Eight weights.
fn dequantize8(chunk: u32, words: vec2<u32>, s: vec2<f32>) -> vec4<u32> {
    return vec4<u32>(dequantize(chunk, words.x, s), dequantize(chunk, words.y, s));
}

// Half of the invocations store the second vectors first, to avoid bank conflicts.
fn store_w(elements: WElements, lane: u32) {
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let to = lane / 8u * PITCH + lane % 8u * 2u;
        let odd = lane / 4u % 2u;
        let s = shifted(decode_scale(elements.scales.xy, lane % 2u));
        let t = shifted(decode_scale(elements.scales.zw, lane % 2u));
        let a = select(elements.a, elements.a.zwxy, odd != 0u);
        let b = select(elements.b, elements.b.zwxy, odd != 0u);
        w_tile[to + odd] = dequantize8(0u, a.xy, s);
        w_tile[to + 1u - odd] = dequantize8(0u, a.zw, s);
        w_tile[to + 2u * SIXTEEN + odd] = dequantize8(0u, b.xy, t);
        w_tile[to + 2u * SIXTEEN + 1u - odd] = dequantize8(0u, b.zw, t);
    } else {
        let half = lane / 2u % 2u;
        let to = lane / 4u * PITCH + lane % 4u * 4u;
        let s = shifted(decode_scale(elements.scales.xy, half));
        let t = shifted(decode_scale(elements.scales.xy, 1u - half));
        w_tile[to + half * 2u] = dequantize8(half * 4u, elements.a.xy, s);
        w_tile[to + half * 2u + 1u] = dequantize8(half * 4u, elements.a.zw, s);
        w_tile[to + 2u - half * 2u] = dequantize8(4u - half * 4u, elements.a.xy, t);
        w_tile[to + 3u - half * 2u] = dequantize8(4u - half * 4u, elements.a.zw, t);
    }
}
