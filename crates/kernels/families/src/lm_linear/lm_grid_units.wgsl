// Units of a group of IQ2 and IQ3 types, for `lm_matvec.wgsl`; appended to its source.
//
// Units of half a group would load the words of the scales and of some codes twice.

// Codes are bytes only after `low_words` and `high_words`.
fn has_byte_codes() -> bool {
    return false;
}

fn load_unit(group: u32) -> vec4<u32> {
    var raw = load_codes(group);
    if FORMAT == IQ2_S {
        raw.z = half_word(group / 8u * 9u + 1u + group % 8u);
    }
    if FORMAT == IQ3_S {
        raw.w = half_word(group / 8u * 7u + 1u + group % 8u / 2u) >> (group % 2u * 8u);
    }
    return raw;
}

fn expand_unit(raw: vec4<u32>) -> vec4<u32> {
    return raw;
}

// The sixteen bytes of the first half of a group.
fn low_words(raw: vec4<u32>) -> vec4<u32> {
    return expand_half(vec4<u32>(raw.x, raw.z, raw.w, 0u));
}

// The sixteen bytes of the second half.
fn high_words(raw: vec4<u32>) -> vec4<u32> {
    if FORMAT == IQ3_XXS {
        return expand_half(vec4<u32>(raw.y, raw.z >> 14u, 0u, 0u));
    }
    if FORMAT == IQ3_S {
        return expand_half(vec4<u32>(raw.y, raw.z >> 16u, raw.w >> 4u, 0u));
    }
    return expand_half(vec4<u32>(raw.y, raw.z >> 4u, 0u, 0u));
}

// The word with the scale of eight groups, and by how many bits to shift it. `unit_scale_words` adds
// the bits that multiply it, which are between the codes.
fn grid_scale_words(group: u32) -> vec2<u32> {
    let block = group / 8u;
    return vec2<u32>(scales[grid_size() + block / 2u], block % 2u * 16u);
}

fn unit_scale_words(raw: vec4<u32>, words: vec2<u32>) -> vec2<u32> {
    if FORMAT == IQ2_XXS {
        return vec2<u32>(words.x >> words.y, (raw.x >> 30u) | ((raw.y >> 30u) << 2u));
    }
    if FORMAT == IQ3_XXS {
        return vec2<u32>(words.x >> words.y, raw.z >> 28u);
    }
    return words;
}

fn prepare_nibbles(lane: u32) {
}

fn low_nibbles(code: vec4<u32>) -> vec4<u32> {
    return low_words(code);
}

fn high_nibbles(code: vec4<u32>) -> vec4<u32> {
    return high_words(code);
}
