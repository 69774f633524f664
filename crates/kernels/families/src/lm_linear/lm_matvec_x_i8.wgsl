// x quantized to q8 (signed bytes, one scale per 32), for `lm_matvec.wgsl` on devices with packed
// 8-bit dot products; appended to its source.

// Number of vec4s of x in workgroup memory.
const STAGED = 1536u;
var<workgroup> staged: array<vec4<u32>, 384>;
// Per group of 32: the scale, and the scaled sums of its halves.
var<workgroup> about: array<vec4<f32>, 192>;
var<workgroup> most: array<vec4<f32>, 192>;
// Offset of the words of x for a unit of codes, in uvec4s. Those of 32-column units are swizzled to
// avoid bank conflicts.
fn place(unit: u32) -> u32 {
    if FOURS == 8u {
        return unit * 2u + unit / 4u % 2u;
    }
    return unit;
}

fn greatest(v: vec4<f32>) -> f32 {
    let a = abs(v);
    return max(max(a.x, a.y), max(a.z, a.w));
}

// Maximum magnitude of a vec4 of x.
fn tell(v: vec4<f32>, i: u32) {
    most[i / 4u][i % 4u] = greatest(v);
}

// Quantizes a vec4 of x by the maximum of its group of 32 and stores it.
fn put(v: vec4<f32>, i: u32, base: u32, count: u32) {
    if i < count {
        let top = max(greatest(most[i / 8u * 2u]), greatest(most[i / 8u * 2u + 1u]));
        let inverse = select(0.0, 127.0 / top, top > 0.0);
        let word = pack4xI8(vec4<i32>(round(v * inverse)));
        let at = base + i;
        // Words of a group are consecutive; a unit of 32 columns has two uvec4s.
        staged[place_of(at / 4u)][at % 4u] = word;
        if i % 8u == 0u {
            about[at / 8u].x = top / 127.0;
        }
    }
}

// Offset of a uvec4.
fn place_of(four: u32) -> u32 {
    if FOURS == 8u {
        return place(four / 2u) ^ (four % 2u);
    }
    return four;
}

// Stages 768 vec4s of x in workgroup memory.
fn stage_part(row: u32, first: u32, base: u32, count: u32, lane: u32) -> f32 {
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
    workgroupBarrier();
    tell(v0, lane);
    tell(v1, lane + 128u);
    tell(v2, lane + 256u);
    tell(v3, lane + 384u);
    tell(v4, lane + 512u);
    tell(v5, lane + 640u);
    workgroupBarrier();
    put(v0, lane, base, count);
    put(v1, lane + 128u, base, count);
    put(v2, lane + 256u, base, count);
    put(v3, lane + 384u, base, count);
    put(v4, lane + 512u, base, count);
    put(v5, lane + 640u, base, count);
    return squares;
}

fn sum_of(v: vec4<u32>) -> i32 {
    let ones = 0x01010101u;
    return (dot4I8Packed(v.x, ones) + dot4I8Packed(v.y, ones)) + (dot4I8Packed(v.z, ones) + dot4I8Packed(v.w, ones));
}

fn stage(row: u32, first: u32, count: u32, lane: u32) -> f32 {
    var squares = stage_part(row, first, 0u, min(count, 768u), lane);
    if count > 768u {
        squares += stage_part(row, first + 768u, 768u, count - 768u, lane);
    }
    workgroupBarrier();
    for (var g = lane; g < count / 8u; g += 128u) {
        let scale = about[g].x;
        let low = sum_of(staged[place_of(g * 2u)]);
        let high = sum_of(staged[place_of(g * 2u + 1u)]);
        about[g] = vec4<f32>(scale, scale * f32(low), scale * f32(high), 0.0);
    }
    return squares;
}

fn dot_of(a: vec4<u32>, b: vec4<u32>) -> f32 {
    return f32((dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y)) + (dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w)));
}

// A uvec4 of codes, `unit` of the row, times x.
fn unit_of(code: vec4<u32>, words: vec2<u32>, unit: u32, at: u32) -> f32 {
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        let it = about[at / 2u];
        let s = scale_from(words, unit % 2u);
        let products = dot_of(code, staged[at]);
        return s.x * it.x * products + s.y * select(it.y, it.z, unit % 2u == 1u);
    }
    let it = about[(at - at % 2u) / 2u];
    let mask = vec4<u32>(0x0f0f0f0fu);
    let low = dot_of(code & mask, staged[at]);
    let high = dot_of((code >> vec4<u32>(4u)) & mask, staged[at ^ 1u]);
    let s = scale_from(words, 0u);
    if FORMAT == Q4_AFFINE16 {
        let t = scale_from(words, 1u);
        return it.x * (s.x * low + t.x * high) + (s.y * it.y + t.y * it.z);
    }
    return s.x * it.x * (low + high) + s.y * (it.y + it.z);
}
