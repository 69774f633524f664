// Weights of language models in the formats of `params::WeightFormat` whose codes take whole uvec4s
// per 32 columns; appended to the source of the kernels that use it. `lm_weights_compact.wgsl` has
// the other formats.

override FORMAT: u32;

const F32 = 0u;
const F16 = 1u;
const BF16 = 2u;
const Q4 = 3u;
const Q4_AFFINE = 4u;
const NVFP4 = 5u;
const Q4_NL = 6u;
const Q4_E2M1 = 7u;
const Q8 = 8u;
const IQ4_XS = 9u;
const Q4_SUPERBLOCK = 10u;

// Codes are bytes, otherwise floats or nibbles.
fn has_byte_codes() -> bool {
    return FORMAT == Q8;
}

// Nibbles are indices into a table.
fn has_codebook() -> bool {
    return FORMAT == Q4_NL || FORMAT == Q4_E2M1 || FORMAT == NVFP4 || FORMAT == IQ4_XS;
}

// Weights have an offset in addition to the scale.
override HAS_OFFSET: bool = FORMAT == Q4 || FORMAT == Q4_AFFINE || FORMAT == Q4_SUPERBLOCK;

fn has_offset() -> bool {
    return HAS_OFFSET;
}

// The halves of a group have separate scales.
fn has_half_scales() -> bool {
    return FORMAT == NVFP4;
}

// Looks up four indices in a table of sixteen signed bytes, four per word.
fn lookup_i8(indices: u32, w0: u32, w1: u32, w2: u32, w3: u32) -> vec4<f32> {
    let i = unpack4xU8(indices);
    let low = select(vec4<u32>(w0), vec4<u32>(w1), (i & vec4<u32>(4u)) != vec4<u32>());
    let high = select(vec4<u32>(w2), vec4<u32>(w3), (i & vec4<u32>(4u)) != vec4<u32>());
    let word = select(low, high, (i & vec4<u32>(8u)) != vec4<u32>());
    // Shifts the byte to the top and back down, to extend its sign.
    let top = word << (vec4<u32>(24u) - ((i & vec4<u32>(3u)) << vec4<u32>(3u)));
    return vec4<f32>(bitcast<vec4<i32>>(top) >> vec4<u32>(24u));
}

// Four adjacent codes: `chunk` selects one of eight in a group. `word` contains them, `next` is the
// following word for formats that need two, `following` the two after that for formats that need
// four.
fn decode_codes(chunk: u32, word: u32, next: u32, following: vec2<u32>) -> vec4<f32> {
    if FORMAT == F32 {
        return bitcast<vec4<f32>>(vec4<u32>(word, next, following.x, following.y));
    }
    if FORMAT == F16 {
        return vec4<f32>(unpack2x16float(word), unpack2x16float(next));
    }
    if FORMAT == BF16 {
        let mask = 0xffff0000u;
        return bitcast<vec4<f32>>(vec4<u32>(word << 16u, word & mask, next << 16u, next & mask));
    }
    if FORMAT == Q8 {
        return vec4<f32>(unpack4xI8(word));
    }
    let nibbles = (word >> (chunk / 4u * 4u)) & 0x0f0f0f0fu;
    if FORMAT == Q4_NL || FORMAT == IQ4_XS {
        return lookup_i8(nibbles, 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);
    }
    if FORMAT == Q4_E2M1 || FORMAT == NVFP4 {
        return lookup_i8(nibbles, 0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);
    }
    return vec4<f32>(unpack4xU8(nibbles));
}

// The words with the scales and offsets of a group; `group` counts groups of the whole matrix.
// Separate from decoding them, so that the loads can stay in flight.
fn scale_words(group: u32) -> vec2<u32> {
    if FORMAT == Q4 || FORMAT == Q8 || FORMAT == Q4_NL {
        return vec2<u32>(scales[group / 2u] >> (group % 2u * 16u), 0u);
    }
    if FORMAT == Q4_AFFINE || FORMAT == NVFP4 {
        return vec2<u32>(scales[group], 0u);
    }
    if FORMAT == Q4_E2M1 {
        return vec2<u32>((scales[group / 4u] >> (group % 4u * 8u)) & 0xffu, 0u);
    }
    if FORMAT == IQ4_XS {
        // Per eight groups: an f16 scale, the low four bits of eight scales, and their high two
        // bits.
        let start = group / 8u * 2u;
        let within = group % 8u;
        let first = scales[start];
        let second = scales[start + 1u];
        let low = select(first >> (16u + within * 4u), second >> ((within & 3u) * 4u), within > 3u) & 15u;
        return vec2<u32>(first, low | (((second >> (16u + within * 2u)) & 3u) << 4u));
    }
    if FORMAT == Q4_SUPERBLOCK {
        let start = group / 8u * 5u;
        return vec2<u32>(scales[start], scales[start + 1u + group % 8u / 2u] >> (group % 2u * 16u));
    }
    return vec2<u32>();
}

// Scale and offset of half a group.
fn decode_scale(words: vec2<u32>, half: u32) -> vec2<f32> {
    if FORMAT == Q4 || FORMAT == Q8 {
        let scale = unpack2x16float(words.x).x;
        return vec2<f32>(scale, select(0.0, -8.0 * scale, FORMAT == Q4));
    }
    if FORMAT == Q4_AFFINE {
        return unpack2x16float(words.x);
    }
    if FORMAT == NVFP4 {
        let both = unpack2x16float(words.x);
        return vec2<f32>(select(both.x, both.y, half == 1u), 0.0);
    }
    if FORMAT == Q4_SUPERBLOCK {
        let scale_offset = unpack2x16float(words.x);
        return vec2<f32>(scale_offset.x * f32(words.y & 0xffu), -scale_offset.y * f32((words.y >> 8u) & 0xffu));
    }
    if FORMAT == Q4_NL {
        return vec2<f32>(unpack2x16float(words.x).x, 0.0);
    }
    if FORMAT == Q4_E2M1 {
        // Half of 2^(exponent - 127); subnormal for the two smallest exponents.
        let bits = select((words.x - 1u) << 23u, 0x00200000u << words.x, words.x < 2u);
        return vec2<f32>(bitcast<f32>(bits), 0.0);
    }
    if FORMAT == IQ4_XS {
        return vec2<f32>(unpack2x16float(words.x).x * (f32(words.y) - 32.0), 0.0);
    }
    return vec2<f32>(1.0, 0.0);
}

fn load_scale(group: u32, half: u32) -> vec2<f32> {
    return decode_scale(scale_words(group), half);
}
