// Weights of language models in the formats of `params::WeightFormat`; appended to the source of
// the kernels that use it.

override FORMAT: u32;

const F32 = 0u;
const F16 = 1u;
const BF16 = 2u;
const Q4 = 3u;
const Q4_AFFINE = 4u;
const Q4_AFFINE16 = 5u;
const Q4_NL = 6u;
const Q4_E2M1 = 7u;
const Q8 = 8u;
const Q8_AFFINE16 = 9u;
const Q4_SUPERBLOCK = 10u;
const Q8_AFFINE = 11u;

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
    if FORMAT == Q8 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        return vec4<f32>(unpack4xI8(word));
    }
    let nibbles = (word >> (chunk / 4u * 4u)) & 0x0f0f0f0fu;
    if FORMAT == Q4_NL {
        return lookup_i8(nibbles, 0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);
    }
    if FORMAT == Q4_E2M1 {
        return lookup_i8(nibbles, 0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu);
    }
    return vec4<f32>(unpack4xU8(nibbles));
}

// The words with the scales and offsets of a group; `group` counts groups of the whole matrix.
// Separate from decoding them, so that the loads can stay in flight.
fn scale_words(group: u32) -> vec2<u32> {
    if FORMAT == Q4 || FORMAT == Q8 {
        return vec2<u32>(scales[group / 2u] >> (group % 2u * 16u), 0u);
    }
    if FORMAT == Q4_AFFINE || FORMAT == Q4_NL || FORMAT == Q4_E2M1 {
        return vec2<u32>(scales[group], 0u);
    }
    if FORMAT == Q4_AFFINE16 || FORMAT == Q8_AFFINE16 || FORMAT == Q8_AFFINE {
        return vec2<u32>(scales[group * 2u], scales[group * 2u + 1u]);
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
    if FORMAT == Q4_AFFINE16 || FORMAT == Q8_AFFINE16 {
        return unpack2x16float(select(words.x, words.y, half == 1u));
    }
    if FORMAT == Q4_SUPERBLOCK {
        let scale_offset = unpack2x16float(words.x);
        return vec2<f32>(scale_offset.x * f32(words.y & 0xffu), -scale_offset.y * f32((words.y >> 8u) & 0xffu));
    }
    if FORMAT == Q8_AFFINE {
        return bitcast<vec2<f32>>(words);
    }
    if FORMAT == Q4_NL || FORMAT == Q4_E2M1 {
        return vec2<f32>(bitcast<f32>(words.x), 0.0);
    }
    return vec2<f32>(1.0, 0.0);
}

fn load_scale(group: u32, half: u32) -> vec2<f32> {
    return decode_scale(scale_words(group), half);
}
