// Weights in the compact formats of `params::WeightFormat`, whose codes have a fractional number of
// bytes per 32 columns; appended to the source of the kernels that use it.
//
// `expand_half` turns the words of half a group into sixteen bytes in order. `lm_compact_units.wgsl`
// and `lm_grid_units.wgsl` load these words. Formats with a grid have it at the start of `scales`: a
// word with four bytes per entry for IQ3 types, two 16-bit entries per word for the others.
// `lm_grid_global.wgsl` looks entries up there, `lm_grid_workgroup.wgsl` in workgroup memory.

override FORMAT: u32;

const Q5_0 = 11u;
const Q5_1 = 12u;
const Q5_K = 13u;
const Q6_K = 14u;
const Q2_K = 15u;
const Q3_K = 16u;
const TQ2_0 = 17u;
const Q2_0 = 18u;
const Q1_0 = 19u;
const IQ1_S = 20u;
const IQ1_M = 21u;
const IQ2_XXS = 22u;
const IQ2_XS = 23u;
const IQ2_S = 24u;
const IQ3_XXS = 25u;
const IQ3_S = 26u;

// Nibbles are indices into a table.
fn has_codebook() -> bool {
    return false;
}

// Weights have an offset in addition to the scale.
override HAS_OFFSET: bool = FORMAT < IQ2_XXS;

fn has_offset() -> bool {
    return HAS_OFFSET;
}

// The halves of a group have separate scales.
fn has_half_scales() -> bool {
    return FORMAT == Q6_K || FORMAT == Q2_K || FORMAT == Q3_K || FORMAT == IQ1_M || FORMAT == IQ2_XS || FORMAT == IQ2_S;
}

// Words of the grid.
fn grid_size() -> u32 {
    if FORMAT == IQ1_S || FORMAT == IQ1_M {
        return 1024u;
    }
    if FORMAT == IQ2_S || FORMAT == IQ3_S {
        return 512u;
    }
    if FORMAT == IQ2_XS || FORMAT == IQ3_XXS {
        return 256u;
    }
    if FORMAT == IQ2_XXS {
        return 128u;
    }
    return 0u;
}

// The 16-bit number at index `at` after the grid, in the low half of a word; the high half is
// undefined.
fn half_word(at: u32) -> u32 {
    return scales[grid_size() + at / 2u] >> (at % 2u * 16u);
}

fn grid_entry(index: u32) -> u32 {
    return (scales[index / 2u] >> (index % 2u * 16u)) & 0xffffu;
}

// Four bits as four bytes.
fn spread_bits(bits: u32) -> u32 {
    return ((bits & 15u) * 0x00204081u) & 0x01010101u;
}

// Four 2-bit codes as four bytes.
fn spread_pairs(digits: u32) -> u32 {
    let halves = ((digits & 0xffu) | (digits << 12u)) & 0x000f000fu;
    return (halves | (halves << 6u)) & 0x03030303u;
}

// Negates the bytes with a one in `ones`. All bytes are positive, so no byte carries. Products of 32
// bits, here with 255, are slow on AMD's chips.
fn with_signs(magnitudes: u32, ones: u32) -> u32 {
    return (magnitudes ^ ((ones << 8u) - ones)) + ones;
}

// Eight bits as eight bytes: seven bits, and bit 24 of `last`, whose bits 0, 8 and 16 are zero. A
// product makes copies of the seven bits that do not overlap.
fn spread_eight(seven: u32, last: u32) -> vec2<u32> {
    let copies = seven * 0x00204081u;
    return vec2<u32>(copies, (copies >> 4u) | last) & vec2<u32>(0x01010101u);
}

// Eight signs.
fn all_signs(signs: u32) -> vec2<u32> {
    return spread_eight(signs & 127u, signs << 17u);
}

// Eight signs from seven stored ones: the number of negative signs is even.
fn even_signs(signs: u32) -> vec2<u32> {
    let seven = signs & 127u;
    return spread_eight(seven, countOneBits(seven) << 24u);
}

// The magnitudes 8, 25 and 43 for four digits, one per byte.
fn iq2_magnitudes(digits: u32) -> u32 {
    return ((digits * 35u + 0x10101010u) >> 1u) & 0x7f7f7f7fu;
}

// Sixteen values of two grid entries of eight.
fn iq2_words(first: vec2<u32>, second: vec2<u32>, signs: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        with_signs(first.x, signs.x),
        with_signs(first.y, signs.y),
        with_signs(second.x, signs.z),
        with_signs(second.y, signs.w),
    );
}

// Eight values from -9 to 9, plus nine: a grid entry of -1, 0 and 1 in eighths, plus or minus one
// eighth.
fn iq1_words(entry: u32, minus: bool) -> vec2<u32> {
    let step = select(0x02020202u, 0u, minus);
    return vec2<u32>(spread_pairs(entry) * 8u + step, spread_pairs(entry >> 8u) * 8u + step);
}

// The sixteen bytes of half a group.
fn expand_half(raw: vec4<u32>) -> vec4<u32> {
    let shifts = vec4<u32>(0u, 2u, 4u, 6u);
    if FORMAT == Q5_0 || FORMAT == Q5_1 || FORMAT == Q5_K {
        let low = vec4<u32>(raw.x, raw.y, raw.x >> 4u, raw.y >> 4u) & vec4<u32>(0x0f0f0f0fu);
        let high = vec4<u32>(
            spread_bits(raw.z), spread_bits(raw.z >> 4u), spread_bits(raw.z >> 8u), spread_bits(raw.z >> 12u),
        );
        return low | (high << vec4<u32>(4u));
    }
    if FORMAT == Q6_K {
        let low = vec4<u32>(raw.x, raw.y, raw.x >> 4u, raw.y >> 4u) & vec4<u32>(0x0f0f0f0fu);
        return low | (((vec4<u32>(raw.z) >> shifts) & vec4<u32>(0x03030303u)) << vec4<u32>(4u));
    }
    if FORMAT == Q3_K {
        let high = vec4<u32>(
            spread_bits(raw.y), spread_bits(raw.y >> 4u), spread_bits(raw.y >> 8u), spread_bits(raw.y >> 12u),
        );
        return ((vec4<u32>(raw.x) >> shifts) & vec4<u32>(0x03030303u)) | (high << vec4<u32>(2u));
    }
    if FORMAT == Q1_0 {
        return vec4<u32>(
            spread_bits(raw.x), spread_bits(raw.x >> 4u), spread_bits(raw.x >> 8u), spread_bits(raw.x >> 12u),
        );
    }
    if FORMAT == IQ1_S {
        let first = iq1_words(grid_entry((raw.x & 0xffu) | ((raw.y & 7u) << 8u)), raw.z != 0u);
        let second = iq1_words(grid_entry(((raw.x >> 8u) & 0xffu) | ((raw.y & 56u) << 5u)), raw.z != 0u);
        return vec4<u32>(first, second);
    }
    if FORMAT == IQ1_M {
        let first = iq1_words(grid_entry((raw.x & 0xffu) | ((raw.y & 7u) << 8u)), (raw.y & 8u) != 0u);
        let second = iq1_words(grid_entry(((raw.x >> 8u) & 0xffu) | ((raw.y & 112u) << 4u)), (raw.y & 128u) != 0u);
        return vec4<u32>(first, second);
    }
    if FORMAT == IQ2_XXS {
        let signs = vec4<u32>(even_signs(raw.x >> 16u), even_signs(raw.x >> 23u));
        return iq2_words(iq2_entry(raw.x & 0xffu), iq2_entry((raw.x >> 8u) & 0xffu), signs);
    }
    if FORMAT == IQ2_XS {
        let signs = vec4<u32>(even_signs(raw.x >> 9u), even_signs(raw.x >> 25u));
        return iq2_words(iq2_entry(raw.x & 511u), iq2_entry((raw.x >> 16u) & 511u), signs);
    }
    if FORMAT == IQ2_S {
        let first = iq2_entry((raw.x & 0xffu) | ((raw.y & 3u) << 8u));
        let second = iq2_entry(((raw.x >> 8u) & 0xffu) | ((raw.y & 12u) << 6u));
        return iq2_words(first, second, vec4<u32>(all_signs(raw.x >> 16u), all_signs(raw.x >> 24u)));
    }
    if FORMAT >= IQ3_XXS {
        var signs = vec4<u32>(even_signs(raw.y), even_signs(raw.y >> 7u));
        var high = vec4<u32>();
        if FORMAT == IQ3_S {
            signs = vec4<u32>(all_signs(raw.y), all_signs(raw.y >> 8u));
            high = ((vec4<u32>(raw.z) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u)) << vec4<u32>(8u);
        }
        let at = ((vec4<u32>(raw.x) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu)) | high;
        return vec4<u32>(
            with_signs(iq3_entry(at.x), signs.x),
            with_signs(iq3_entry(at.y), signs.y),
            with_signs(iq3_entry(at.z), signs.z),
            with_signs(iq3_entry(at.w), signs.w),
        );
    }
    return (vec4<u32>(raw.x) >> shifts) & vec4<u32>(0x03030303u);
}

// Four adjacent codes, of an expanded word.
fn decode_codes(chunk: u32, word: u32, next: u32, following: vec2<u32>) -> vec4<f32> {
    return vec4<f32>(unpack4xI8(word));
}

// The words with the scales and offsets of a group; `group` counts groups of the whole matrix.
// Separate from decoding them, so that the loads can stay in flight.
fn scale_words(group: u32) -> vec2<u32> {
    let block = group / 8u;
    let within = group % 8u;
    if FORMAT == Q5_0 {
        return vec2<u32>(half_word(group), 0u);
    }
    if FORMAT == Q2_0 {
        return vec2<u32>(half_word(group / 2u), 0u);
    }
    if FORMAT == Q1_0 {
        return vec2<u32>(half_word(group / 4u), 0u);
    }
    if FORMAT == Q5_1 {
        return vec2<u32>(scales[group], 0u);
    }
    if FORMAT == Q5_K || FORMAT == Q2_K {
        let own = half_word(block * 10u + 2u + within);
        return vec2<u32>(scales[block * 5u], own);
    }
    if FORMAT == Q6_K {
        return vec2<u32>(half_word(block * 9u), half_word(block * 9u + 1u + within));
    }
    if FORMAT == Q3_K {
        let low = (half_word(block * 7u + 1u + within / 2u) >> (within % 2u * 8u)) & 0xffu;
        let high = (half_word(block * 7u + 5u + within / 4u) >> (within % 4u * 4u)) & 15u;
        return vec2<u32>(half_word(block * 7u), low | (high << 8u));
    }
    if FORMAT == IQ1_S || FORMAT == IQ2_S {
        return vec2<u32>(half_word(block * 9u), half_word(block * 9u + 1u + within));
    }
    if FORMAT == IQ1_M {
        // Six bits per group, 48 bits in all.
        let low = (half_word(block * 12u + 1u) & 0xffffu) | (half_word(block * 12u + 2u) << 16u);
        let high = half_word(block * 12u + 3u) & 0xffffu;
        let bit = within * 6u;
        var own = low >> (bit & 31u);
        if within == 5u {
            own |= high << 2u;
        } else if within > 5u {
            own = high >> (bit & 31u);
        }
        return vec2<u32>(half_word(block * 12u), own);
    }
    if FORMAT == IQ2_XXS || FORMAT == IQ3_XXS {
        return grid_scale_words(group);
    }
    if FORMAT == IQ2_XS {
        return vec2<u32>(half_word(block * 5u), half_word(block * 5u + 1u + within / 2u) >> (within % 2u * 8u));
    }
    if FORMAT == IQ3_S {
        return vec2<u32>(half_word(block * 7u), half_word(block * 7u + 5u + within / 4u) >> (within % 4u * 4u));
    }
    return vec2<u32>(half_word(block), 0u);
}

// Scale and offset of half a group.
fn decode_scale(words: vec2<u32>, half: u32) -> vec2<f32> {
    if FORMAT == Q5_1 {
        return unpack2x16float(words.x);
    }
    if FORMAT == Q5_K {
        let scale_offset = unpack2x16float(words.x);
        return vec2<f32>(scale_offset.x * f32(words.y & 0xffu), -scale_offset.y * f32((words.y >> 8u) & 0xffu));
    }
    if FORMAT == Q2_K {
        let scale_offset = unpack2x16float(words.x);
        let own = words.y >> (half * 8u);
        return vec2<f32>(scale_offset.x * f32(own & 15u), -scale_offset.y * f32((own >> 4u) & 15u));
    }
    let scale = unpack2x16float(words.x).x;
    if FORMAT == Q5_0 {
        return vec2<f32>(scale, -16.0 * scale);
    }
    if FORMAT == TQ2_0 || FORMAT == Q2_0 {
        return vec2<f32>(scale, -scale);
    }
    if FORMAT == Q1_0 {
        return vec2<f32>(2.0 * scale, -scale);
    }
    if FORMAT == Q6_K {
        let own = scale * f32(bitcast<i32>(words.y << (24u - half * 8u)) >> 24u);
        return vec2<f32>(own, -32.0 * own);
    }
    if FORMAT == Q3_K {
        let bits = ((words.y >> (half * 4u)) & 15u) | (((words.y >> (8u + half * 2u)) & 3u) << 4u);
        let own = scale * (f32(bits) - 32.0);
        return vec2<f32>(own, -4.0 * own);
    }
    if FORMAT == IQ1_S {
        let own = scale * f32(2u * ((words.y >> 12u) & 7u) + 1u) * 0.125;
        return vec2<f32>(own, -9.0 * own);
    }
    if FORMAT == IQ1_M {
        let own = scale * f32(2u * ((words.y >> (half * 3u)) & 7u) + 1u) * 0.125;
        return vec2<f32>(own, -9.0 * own);
    }
    if FORMAT == IQ2_S {
        return vec2<f32>(scale * (0.125 + 0.25 * f32((words.y >> (8u + half * 4u)) & 15u)), 0.0);
    }
    if FORMAT == IQ2_XS {
        return vec2<f32>(scale * (0.125 + 0.25 * f32((words.y >> (half * 4u)) & 15u)), 0.0);
    }
    if FORMAT == IQ2_XXS {
        return vec2<f32>(scale * (0.125 + 0.25 * f32(words.y & 15u)), 0.0);
    }
    if FORMAT == IQ3_XXS {
        return vec2<f32>(scale * (0.25 + 0.5 * f32(words.y & 15u)), 0.0);
    }
    return vec2<f32>(scale * f32(1u + 2u * (words.y & 15u)), 0.0);
}

fn load_scale(group: u32, half: u32) -> vec2<f32> {
    return decode_scale(scale_words(group), half);
}
