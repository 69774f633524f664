// x in f32, for `lm_matvec.wgsl`; appended to its source.

// Number of vec4s of x in workgroup memory.
const X_TILE_SIZE = 512u;
var<workgroup> x_tile: array<vec4<f32>, 512>;
// Offset of the vec4s of x for a unit of codes. They are swizzled to avoid bank conflicts.
fn x_tile_index(unit: u32) -> u32 {
    return unit * UNIT_VEC4S + (unit * UNIT_VEC4S / 8u) % UNIT_VEC4S;
}

// Stores a vec4 of x at its swizzled offset.
fn store_x(v: vec4<f32>, i: u32, count: u32) {
    if i < count {
        x_tile[x_tile_index(i / UNIT_VEC4S) ^ (i % UNIT_VEC4S)] = v;
    }
}

// Stages part of x in workgroup memory, multiplied by the norm weights if requested. Returns this
// invocation's sum of squares. All loads are issued together: one after the other would take most
// of the time of a small matrix.
fn load_x_tile(row: u32, first: u32, count: u32, lane: u32) -> f32 {
    let last = first + count - 1u;
    let at0 = min(first + lane, last);
    let at1 = min(first + lane + 128u, last);
    let at2 = min(first + lane + 256u, last);
    let at3 = min(first + lane + 384u, last);
    var v0 = x[row + at0];
    var v1 = x[row + at1];
    var v2 = x[row + at2];
    var v3 = x[row + at3];
    var squares = 0.0;
    if (params.flags & NORM) != 0u {
        let n0 = norm[at0];
        let n1 = norm[at1];
        let n2 = norm[at2];
        let n3 = norm[at3];
        squares += masked_square(v0, lane, count) + masked_square(v1, lane + 128u, count);
        squares += masked_square(v2, lane + 256u, count) + masked_square(v3, lane + 384u, count);
        v0 *= n0;
        v1 *= n1;
        v2 *= n2;
        v3 *= n3;
    }
    store_x(v0, lane, count);
    store_x(v1, lane + 128u, count);
    store_x(v2, lane + 256u, count);
    store_x(v3, lane + 384u, count);
    return squares;
}

// A unit of codes, `unit` of the row, times x.
fn unit_dot(raw: vec4<u32>, words: vec2<u32>, unit: u32, at: u32) -> f32 {
    let code = expand_unit(raw);
    let unit_words = unit_scale_words(raw, words);
    if has_byte_codes() {
        let a = x_tile[at];
        let b = x_tile[at ^ 1u];
        let c = x_tile[at ^ 2u];
        let d = x_tile[at ^ 3u];
        let products = (dot4(0u, code.x, a) + dot4(1u, code.y, b)) + (dot4(2u, code.z, c) + dot4(3u, code.w, d));
        let s = decode_scale(unit_words, unit % 2u);
        if !has_offset() {
            return s.x * products;
        }
        return s.x * products + s.y * sum_components((a + b) + (c + d));
    }
    let a = x_tile[at];
    let b = x_tile[at ^ 1u];
    let c = x_tile[at ^ 2u];
    let d = x_tile[at ^ 3u];
    let e = x_tile[at ^ 4u];
    let f = x_tile[at ^ 5u];
    let g = x_tile[at ^ 6u];
    let h = x_tile[at ^ 7u];
    let first = low_words(code);
    let second = high_words(code);
    let low = (dot4(0u, first.x, a) + dot4(1u, first.y, b)) + (dot4(2u, first.z, c) + dot4(3u, first.w, d));
    let high = (dot4(4u, second.x, e) + dot4(5u, second.y, f)) + (dot4(6u, second.z, g) + dot4(7u, second.w, h));
    let s = decode_scale(unit_words, 0u);
    if has_half_scales() {
        return s.x * low + decode_scale(unit_words, 1u).x * high;
    }
    if !has_offset() {
        return s.x * (low + high);
    }
    let low_total = sum_components((a + b) + (c + d));
    let high_total = sum_components((e + f) + (g + h));
    return s.x * (low + high) + s.y * (low_total + high_total);
}

fn dot4(chunk: u32, word: u32, v: vec4<f32>) -> f32 {
    return dot(decode_codes(chunk, word, word, vec2<u32>()), v);
}
