// Quantized weights that are dequantized to f16, for `lm_matmul_coopmat32.wgsl`; appended to its
// source.

// 32 weights per invocation, with the words of their scales: a group, or half groups of rows that
// are ROWS / 2 apart. Decoding waits for the loads, so `store_w` does it.
struct WElements {
    a: vec4<u32>,
    b: vec4<u32>,
    scales: vec4<u32>,
}

// Rows and columns past the end are clamped: results of such rows are dropped, and x is zero in
// such columns. `matrix` is the first row of the expert's matrix, or 0.
fn group_index(matrix: u32, row: u32, group: u32) -> u32 {
    let groups = params.columns / 32u;
    return (matrix + min(row, params.rows - 1u)) * groups + min(group, groups - 1u);
}

fn load_w(matrix: u32, first: u32, step: u32, lane: u32) -> WElements {
    var elements: WElements;
    if has_byte_codes() {
        let group0 = group_index(matrix, first + lane / 4u, step * 2u + lane % 4u / 2u);
        let group1 = group_index(matrix, first + ROWS / 2u + lane / 4u, step * 2u + lane % 4u / 2u);
        elements.a = load_unit(group0 * 2u + lane % 2u);
        elements.b = load_unit(group1 * 2u + lane % 2u);
        elements.scales = vec4<u32>(scale_words(group0), scale_words(group1));
    } else {
        let at = group_index(matrix, first + lane / 2u, step * 2u + lane % 2u);
        elements.a = load_unit(at);
        elements.scales = vec4<u32>(scale_words(at), 0u, 0u);
    }
    return elements;
}

// Converts the low bytes of both halves of a word to f16: byte / 128 + 8. The byte becomes the
// mantissa of 0x4800, which is faster than a conversion of integers.
fn bytes_plus_8(bytes: u32) -> vec2<f16> {
    return vec2<f16>(unpack2x16float((bytes & 0x00ff00ffu) | 0x48004800u));
}

// Four weights in the order 0, 2, 1, 3. Scales that f16 cannot represent are rounded. That error is
// about as small as the rounding of the weights: scales are multiplied by 128 so that they are not
// subnormal, and nibbles are centered so that offsets are small.
fn dequantize(chunk: u32, word: u32, s: vec2<f32>) -> vec4<f16> {
    if has_codebook() {
        return vec4<f16>(decode_codes(chunk, word, word, vec2<u32>()) * s.x).xzyw;
    }
    var bytes = (word >> (chunk / 4u * 4u)) & 0x0f0f0f0fu;
    var zero = 8.0625h;
    var offset = s.y + 8.0 * s.x;
    if has_byte_codes() {
        // Signed bytes become unsigned by flipping the sign bit, which adds 128.
        bytes = word ^ 0x80808080u;
        zero = 9.0h;
        offset = s.y;
    }
    let centered = vec4<f16>(bytes_plus_8(bytes), bytes_plus_8(bytes >> 8u)) - vec4<f16>(zero);
    return fma(centered, vec4<f16>(f16(128.0 * s.x)), vec4<f16>(f16(offset)));
}

// Stores four words with four codes each, half a group. Some invocations store the words of each
// pair in swapped order, to avoid bank conflicts.
fn store_half_group(unswizzled: vec4<u32>, first_chunk: u32, s: vec2<f32>, to: u32, odd: u32) {
    let words = select(unswizzled, unswizzled.yxwz, odd != 0u);
    w_tile[to + odd] = dequantize(first_chunk, words.x, s);
    w_tile[to + 1u - odd] = dequantize(first_chunk, words.y, s);
    w_tile[to + 2u + odd] = dequantize(first_chunk, words.z, s);
    w_tile[to + 3u - odd] = dequantize(first_chunk, words.w, s);
}

fn store_w(elements: WElements, lane: u32) {
    if has_byte_codes() {
        let to = lane / 4u * PITCH + lane % 4u * 4u;
        let odd = lane / 4u % 2u;
        let scales = elements.scales;
        store_half_group(expand_unit(elements.a), 0u, decode_scale(scales.xy, lane % 2u), to, odd);
        store_half_group(expand_unit(elements.b), 0u, decode_scale(scales.zw, lane % 2u), to + ROWS / 2u * PITCH, odd);
    } else {
        let to = lane / 2u * PITCH + lane % 2u * 8u;
        let odd = lane / 8u % 2u;
        store_half_group(elements.a, 0u, decode_scale(elements.scales.xy, 0u), to, odd);
        store_half_group(elements.a, 4u, decode_scale(elements.scales.xy, 1u), to + 4u, odd);
    }
}
