// Quantized weights that are dequantized to f16, for `lm_matmul_coopmat.wgsl`; appended to its
// source.

// One or two vec4s of words, of rows 64 apart; an invocation loads 32 weights either way.
struct WElements {
    a: vec4<u32>,
    b: vec4<u32>,
    scales: vec4<f32>,
}

fn group_index(row: u32, group: u32) -> u32 {
    return min(row, params.rows - 1u) * (params.columns / 32u) + group;
}

fn load_w(first: u32, group: u32, lane: u32) -> WElements {
    var elements: WElements;
    if has_byte_codes() {
        let group0 = group_index(first + lane / 2u, group);
        let group1 = group_index(first + 64u + lane / 2u, group);
        elements.a = load_unit(group0 * 2u + lane % 2u);
        elements.b = load_unit(group1 * 2u + lane % 2u);
        elements.scales = vec4<f32>(load_scale(group0, lane % 2u), load_scale(group1, lane % 2u));
    } else {
        let at = group_index(first + lane, group);
        elements.a = load_unit(at);
        elements.scales = vec4<f32>(load_scale(at, 0u), load_scale(at, 1u));
    }
    return elements;
}

// Two bytes, in the low bits of the halves of a word, divided by 128, plus 8: with a byte in its
// mantissa, 0x4800 is that as f16.
fn bytes_plus_8(bytes: u32) -> vec2<f16> {
    return vec2<f16>(unpack2x16float((bytes & 0x00ff00ffu) | 0x48004800u));
}

// Four weights. Bytes are decoded in f16, which takes half of the registers: signed bytes become
// unsigned by flipping the sign bit, which adds 128, and scales are multiplied by 128. Rounding
// scales that are no f16 is about as small an error as rounding the weights.
fn dequantize(chunk: u32, word: u32, s: vec2<f32>) -> vec4<f16> {
    if has_byte_codes() {
        let bytes = word ^ 0x80808080u;
        let pairs = vec4<f16>(bytes_plus_8(bytes), bytes_plus_8(bytes >> 8u)) - vec4<f16>(9.0h);
        return fma(pairs.xzyw, vec4<f16>(f16(128.0 * s.x)), vec4<f16>(f16(s.y)));
    }
    return vec4<f16>(decode_codes(chunk, word, word, vec2<u32>()) * s.x + s.y);
}

// Stores four words with four codes each, half a group.
fn store_half_group(words: vec4<u32>, first_chunk: u32, s: vec2<f32>, to: u32) {
    w_tile[to] = dequantize(first_chunk, words.x, s);
    w_tile[to + 1u] = dequantize(first_chunk, words.y, s);
    w_tile[to + 2u] = dequantize(first_chunk, words.z, s);
    w_tile[to + 3u] = dequantize(first_chunk, words.w, s);
}

// The same, but odd invocations store the words of each pair in swapped order, to avoid bank
// conflicts. 8-bit formats have no registers left for that on some chips.
fn store_half_group_swizzled(unswizzled: vec4<u32>, first_chunk: u32, s: vec2<f32>, to: u32, odd: u32) {
    let words = select(unswizzled, unswizzled.yxwz, odd != 0u);
    w_tile[to + odd] = dequantize(first_chunk, words.x, s);
    w_tile[to + 1u - odd] = dequantize(first_chunk, words.y, s);
    w_tile[to + 2u + odd] = dequantize(first_chunk, words.z, s);
    w_tile[to + 3u - odd] = dequantize(first_chunk, words.w, s);
}

fn store_w(elements: WElements, base: u32, lane: u32) {
    if has_byte_codes() {
        let to = base + lane / 2u * PITCH + lane % 2u * 4u;
        store_half_group(expand_unit(elements.a), 0u, elements.scales.xy, to);
        store_half_group(expand_unit(elements.b), 0u, elements.scales.zw, to + 640u);
    } else {
        let to = base + lane * PITCH;
        store_half_group_swizzled(elements.a, 0u, elements.scales.xy, to, lane / 8u % 2u);
        store_half_group_swizzled(elements.a, 4u, elements.scales.zw, to + 4u, lane / 8u % 2u);
    }
}
