// x quantized to q8 (signed bytes, one scale per 32), for `lm_matvec.wgsl` on devices with packed
// 8-bit dot products; appended to its source.

// Number of vec4s of x in workgroup memory.
const X_TILE_SIZE = 1536u;
var<workgroup> x_tile: array<vec4<u32>, 384>;
// Per group of 32: the scale, and the scaled sums of its halves; only the scale for weights without
// offsets.
var<workgroup> group_scales: array<vec4<f32>, 192>;
var<workgroup> plain_scales: array<f32, 192>;
var<workgroup> max_abs: array<vec4<f32>, 192>;
// Offset of the words of x for a unit of codes, in uvec4s. Those of 32-column units are swizzled to
// avoid bank conflicts.
fn x_tile_index(unit: u32) -> u32 {
    if UNIT_VEC4S == 8u {
        return unit * 2u + unit / 4u % 2u;
    }
    return unit;
}

fn max_abs_of(v: vec4<f32>) -> f32 {
    let a = abs(v);
    return max(max(a.x, a.y), max(a.z, a.w));
}

// Maximum magnitude of a vec4 of x.
fn store_max_abs(v: vec4<f32>, i: u32) {
    max_abs[i / 4u][i % 4u] = max_abs_of(v);
}

// Quantizes a vec4 of x by the maximum of its group of 32 and stores it.
fn quantize_and_store(v: vec4<f32>, i: u32, base: u32, count: u32) {
    if i < count {
        let group_max = max(max_abs_of(max_abs[i / 8u * 2u]), max_abs_of(max_abs[i / 8u * 2u + 1u]));
        let inverse = select(0.0, 127.0 / group_max, group_max > 0.0);
        let word = pack4xI8(vec4<i32>(round(v * inverse)));
        let at = base + i;
        // Words of a group are consecutive; a unit of 32 columns has two uvec4s.
        x_tile[x_tile_index_of(at / 4u)][at % 4u] = word;
        if i % 8u == 0u {
            if HAS_OFFSET {
                group_scales[at / 8u].x = group_max / 127.0;
            } else {
                plain_scales[at / 8u] = group_max / 127.0;
            }
        }
    }
}

// Offset of a uvec4.
fn x_tile_index_of(four: u32) -> u32 {
    if UNIT_VEC4S == 8u {
        return x_tile_index(four / 2u) ^ (four % 2u);
    }
    return four;
}

// Stages 768 vec4s of x in workgroup memory.
fn load_x_part(row: u32, first: u32, base: u32, count: u32, lane: u32) -> f32 {
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
        squares += masked_square(v0, lane, count) + masked_square(v1, lane + 128u, count);
        squares += masked_square(v2, lane + 256u, count) + masked_square(v3, lane + 384u, count);
        squares += masked_square(v4, lane + 512u, count) + masked_square(v5, lane + 640u, count);
        v0 *= n0;
        v1 *= n1;
        v2 *= n2;
        v3 *= n3;
        v4 *= n4;
        v5 *= n5;
    }
    prepare_nibbles(lane);
    workgroupBarrier();
    store_max_abs(v0, lane);
    store_max_abs(v1, lane + 128u);
    store_max_abs(v2, lane + 256u);
    store_max_abs(v3, lane + 384u);
    store_max_abs(v4, lane + 512u);
    store_max_abs(v5, lane + 640u);
    workgroupBarrier();
    quantize_and_store(v0, lane, base, count);
    quantize_and_store(v1, lane + 128u, base, count);
    quantize_and_store(v2, lane + 256u, base, count);
    quantize_and_store(v3, lane + 384u, base, count);
    quantize_and_store(v4, lane + 512u, base, count);
    quantize_and_store(v5, lane + 640u, base, count);
    return squares;
}

fn sum_i8(v: vec4<u32>) -> i32 {
    let ones = 0x01010101u;
    return (dot4I8Packed(v.x, ones) + dot4I8Packed(v.y, ones)) + (dot4I8Packed(v.z, ones) + dot4I8Packed(v.w, ones));
}

fn load_x_tile(row: u32, first: u32, count: u32, lane: u32) -> f32 {
    var squares = load_x_part(row, first, 0u, min(count, 768u), lane);
    if count > 768u {
        squares += load_x_part(row, first + 768u, 768u, count - 768u, lane);
    }
    if HAS_OFFSET {
        workgroupBarrier();
        for (var g = lane; g < count / 8u; g += 128u) {
            let scale = group_scales[g].x;
            let low = sum_i8(x_tile[x_tile_index_of(g * 2u)]);
            let high = sum_i8(x_tile[x_tile_index_of(g * 2u + 1u)]);
            group_scales[g] = vec4<f32>(scale, scale * f32(low), scale * f32(high), 0.0);
        }
    }
    return squares;
}

// The scale and the scaled sums of a group of x.
fn scales_of_x(group: u32) -> vec4<f32> {
    if HAS_OFFSET {
        return group_scales[group];
    }
    return vec4<f32>(plain_scales[group], 0.0, 0.0, 0.0);
}

// Adds sixteen products to `sum`. Each packed dot product has an operand for the sum of the others.
fn add_dot_i8(sum: i32, a: vec4<u32>, b: vec4<u32>) -> i32 {
    let first = dot4I8Packed(a.y, b.y) + (dot4I8Packed(a.x, b.x) + sum);
    return dot4I8Packed(a.w, b.w) + (dot4I8Packed(a.z, b.z) + first);
}

// A unit of codes, `unit` of the row, times x.
fn unit_dot(raw: vec4<u32>, words: vec2<u32>, unit: u32, at: u32) -> f32 {
    let code = expand_unit(raw);
    let unit_words = unit_scale_words(raw, words);
    if has_byte_codes() {
        let x_group = scales_of_x(at / 2u);
        let s = decode_scale(unit_words, unit % 2u);
        let products = f32(add_dot_i8(0i, code, x_tile[at]));
        if !has_offset() {
            return s.x * x_group.x * products;
        }
        return s.x * x_group.x * products + s.y * select(x_group.y, x_group.z, unit % 2u == 1u);
    }
    let x_group = scales_of_x((at - at % 2u) / 2u);
    let low_x = x_tile[at];
    let high_x = x_tile[at ^ 1u];
    let low = add_dot_i8(0i, low_nibbles(code), low_x);
    let s = decode_scale(unit_words, 0u);
    if has_half_scales() {
        let high = add_dot_i8(0i, high_nibbles(code), high_x);
        return x_group.x * (s.x * f32(low) + decode_scale(unit_words, 1u).x * f32(high));
    }
    let products = f32(add_dot_i8(low, high_nibbles(code), high_x));
    if !has_offset() {
        return s.x * x_group.x * products;
    }
    return s.x * x_group.x * products + s.y * (x_group.y + x_group.z);
}
