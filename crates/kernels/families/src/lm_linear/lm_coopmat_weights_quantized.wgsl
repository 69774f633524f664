// Quantized weights that are dequantized to f16, for `lm_matmul_coopmat.wgsl`; appended to its
// source.

alias Codes = vec4<u32>;

// One or two vec4s of words, of rows 64 apart; an invocation loads 32 weights either way.
struct Group {
    a: vec4<u32>,
    b: vec4<u32>,
    scales: vec4<f32>,
}

fn group_at(row: u32, group: u32) -> u32 {
    return min(row, params.rows - 1u) * (params.columns / 32u) + group;
}

fn fetch_w(first: u32, group: u32, lane: u32) -> Group {
    var it: Group;
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let near = group_at(first + lane / 2u, group);
        let far = group_at(first + 64u + lane / 2u, group);
        it.a = codes[near * 2u + lane % 2u];
        it.b = codes[far * 2u + lane % 2u];
        it.scales = vec4<f32>(scale_of(near, lane % 2u), scale_of(far, lane % 2u));
    } else {
        let at = group_at(first + lane, group);
        it.a = codes[at];
        it.scales = vec4<f32>(scale_of(at, 0u), scale_of(at, 1u));
    }
    return it;
}

fn four_of(chunk: u32, word: u32, s: vec2<f32>) -> vec4<f16> {
    return vec4<f16>(codes_of(chunk, word, word, vec2<u32>()) * s.x + s.y);
}

// Four words with four codes each, half a group.
fn put_sixteen(it: vec4<u32>, first: u32, s: vec2<f32>, to: u32) {
    w_tile[to] = four_of(first, it.x, s);
    w_tile[to + 1u] = four_of(first, it.y, s);
    w_tile[to + 2u] = four_of(first, it.z, s);
    w_tile[to + 3u] = four_of(first, it.w, s);
}

// The same, but odd invocations store the words of each pair in swapped order, to avoid bank
// conflicts. 8-bit formats have no registers left for that on some chips.
fn put_in_turn(it: vec4<u32>, first: u32, s: vec2<f32>, to: u32, odd: u32) {
    let words = select(it, it.yxwz, odd != 0u);
    w_tile[to + odd] = four_of(first, words.x, s);
    w_tile[to + 1u - odd] = four_of(first, words.y, s);
    w_tile[to + 2u + odd] = four_of(first, words.z, s);
    w_tile[to + 3u - odd] = four_of(first, words.w, s);
}

fn put_w(it: Group, base: u32, lane: u32) {
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let to = base + lane / 2u * PITCH + lane % 2u * 4u;
        put_sixteen(it.a, 0u, it.scales.xy, to);
        put_sixteen(it.b, 0u, it.scales.zw, to + 640u);
    } else {
        let to = base + lane * PITCH;
        put_in_turn(it.a, 0u, it.scales.xy, to, lane / 8u % 2u);
        put_in_turn(it.a, 4u, it.scales.zw, to + 4u, lane / 8u % 2u);
    }
}
