// x in f32, for `lm_matvec.wgsl`; appended to its source.

// Number of vec4s of x in workgroup memory.
const STAGED = 768u;
var<workgroup> staged: array<vec4<f32>, 768>;
// Offset of the vec4s of x for a unit of codes. They are swizzled to avoid bank conflicts.
fn place(unit: u32) -> u32 {
    return unit * FOURS + (unit * FOURS / 8u) % FOURS;
}

// Stores a vec4 of x at its swizzled offset.
fn put(v: vec4<f32>, i: u32, count: u32) {
    if i < count {
        staged[place(i / FOURS) ^ (i % FOURS)] = v;
    }
}

// Stages part of x in workgroup memory, multiplied by the norm weights if requested. Returns this
// invocation's sum of squares. All loads are issued together: one after the other would take most
// of the time of a small matrix.
fn stage(row: u32, first: u32, count: u32, lane: u32) -> f32 {
    let last = first + count - 1u;
    let at0 = min(first + lane, last);
    let at1 = min(first + lane + 128u, last);
    let at2 = min(first + lane + 256u, last);
    let at3 = min(first + lane + 384u, last);
    let at4 = min(first + lane + 512u, last);
    let at5 = min(first + lane + 640u, last);
    var v0 = x[row + at0];
    var v1 = x[row + at1];
    var v2 = x[row + at2];
    var v3 = x[row + at3];
    var v4 = x[row + at4];
    var v5 = x[row + at5];
    var squares = 0.0;
    if (params.flags & NORM) != 0u {
        let n0 = norm[at0];
        let n1 = norm[at1];
        let n2 = norm[at2];
        let n3 = norm[at3];
        let n4 = norm[at4];
        let n5 = norm[at5];
        squares += square(v0, lane, count) + square(v1, lane + 128u, count);
        squares += square(v2, lane + 256u, count) + square(v3, lane + 384u, count);
        squares += square(v4, lane + 512u, count) + square(v5, lane + 640u, count);
        v0 *= n0;
        v1 *= n1;
        v2 *= n2;
        v3 *= n3;
        v4 *= n4;
        v5 *= n5;
    }
    put(v0, lane, count);
    put(v1, lane + 128u, count);
    put(v2, lane + 256u, count);
    put(v3, lane + 384u, count);
    put(v4, lane + 512u, count);
    put(v5, lane + 640u, count);
    return squares;
}

// A uvec4 of codes, `unit` of the row, times x.
fn unit_of(code: vec4<u32>, words: vec2<u32>, unit: u32, at: u32) -> f32 {
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let a = staged[at];
        let b = staged[at ^ 1u];
        let c = staged[at ^ 2u];
        let d = staged[at ^ 3u];
        let products = (word_dot(0u, code.x, a) + word_dot(1u, code.y, b)) + (word_dot(2u, code.z, c) + word_dot(3u, code.w, d));
        let s = scale_from(words, unit % 2u);
        if FORMAT == Q8 {
            return s.x * products;
        }
        return s.x * products + s.y * total((a + b) + (c + d));
    }
    let a = staged[at];
    let b = staged[at ^ 1u];
    let c = staged[at ^ 2u];
    let d = staged[at ^ 3u];
    let e = staged[at ^ 4u];
    let f = staged[at ^ 5u];
    let g = staged[at ^ 6u];
    let h = staged[at ^ 7u];
    let low = (word_dot(0u, code.x, a) + word_dot(1u, code.y, b)) + (word_dot(2u, code.z, c) + word_dot(3u, code.w, d));
    let high = (word_dot(4u, code.x, e) + word_dot(5u, code.y, f)) + (word_dot(6u, code.z, g) + word_dot(7u, code.w, h));
    let s = scale_from(words, 0u);
    if FORMAT == Q4_NL || FORMAT == Q4_E2M1 {
        return s.x * (low + high);
    }
    let low_total = total((a + b) + (c + d));
    let high_total = total((e + f) + (g + h));
    if FORMAT == Q4_AFFINE16 {
        let t = scale_from(words, 1u);
        return (s.x * low + s.y * low_total) + (t.x * high + t.y * high_total);
    }
    return s.x * (low + high) + s.y * (low_total + high_total);
}

fn word_dot(chunk: u32, word: u32, v: vec4<f32>) -> f32 {
    return dot(codes_of(chunk, word, word, vec2<u32>()), v);
}
