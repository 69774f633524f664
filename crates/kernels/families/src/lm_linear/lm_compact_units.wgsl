// Units of half a group of the formats of `lm_weights_compact.wgsl`; appended to the source of the
// kernels that use them.
//
// A unit is sixteen columns. `load_unit` reads its words, without decoding them, so that the loads
// can stay in flight; `expand_unit` turns them into sixteen bytes in order.

alias Codes = u32;

// Codes are bytes after `expand_unit`.
fn has_byte_codes() -> bool {
    return true;
}

fn load_unit(unit: u32) -> vec4<u32> {
    let group = unit / 2u;
    let half = unit % 2u;
    if FORMAT == Q5_0 || FORMAT == Q5_1 || FORMAT == Q5_K {
        let at = group * 5u;
        let low = at + half * 2u;
        return vec4<u32>(codes[low], codes[low + 1u], codes[at + 4u] >> (half * 16u), 0u);
    }
    if FORMAT == Q6_K {
        return vec4<u32>(codes[unit * 3u], codes[unit * 3u + 1u], codes[unit * 3u + 2u], 0u);
    }
    if FORMAT == Q3_K {
        return vec4<u32>(codes[group * 3u + half], codes[group * 3u + 2u] >> (half * 16u), 0u, 0u);
    }
    if FORMAT == Q1_0 {
        return vec4<u32>(codes[group] >> (half * 16u), 0u, 0u, 0u);
    }
    if FORMAT == IQ1_S {
        let high = half_word(group / 8u * 9u + 1u + group % 8u);
        return vec4<u32>(codes[group] >> (half * 16u), (high >> (half * 6u)) & 63u, high & 0x8000u, 0u);
    }
    if FORMAT == IQ1_M {
        let high = half_word(group / 8u * 12u + 4u + group % 8u) >> (half * 8u);
        return vec4<u32>(codes[group] >> (half * 16u), high, 0u, 0u);
    }
    if FORMAT == IQ2_S {
        let high = half_word(group / 8u * 9u + 1u + group % 8u) >> (half * 4u);
        return vec4<u32>(codes[unit], high, 0u, 0u);
    }
    if FORMAT == IQ3_XXS {
        return vec4<u32>(codes[group * 3u + half], codes[group * 3u + 2u] >> (half * 14u), 0u, 0u);
    }
    if FORMAT == IQ3_S {
        let high = half_word(group / 8u * 7u + 1u + group % 8u / 2u) >> (group % 2u * 8u + half * 4u);
        return vec4<u32>(codes[group * 3u + half], codes[group * 3u + 2u] >> (half * 16u), high, 0u);
    }
    return vec4<u32>(codes[unit], 0u, 0u, 0u);
}

fn expand_unit(raw: vec4<u32>) -> vec4<u32> {
    return expand_half(raw);
}

// Four adjacent codes of a group; `chunk` selects one of eight.
fn load_chunk(group: u32, chunk: u32) -> vec4<f32> {
    let unit = expand_unit(load_unit(group * 2u + chunk / 4u));
    let pair = select(unit.xy, unit.zw, (chunk & 2u) != 0u);
    return vec4<f32>(unpack4xI8(select(pair.x, pair.y, (chunk & 1u) != 0u)));
}

// The scale of eight groups, and the bits between the codes of a group that multiply it.
fn grid_scale_words(group: u32) -> vec2<u32> {
    if FORMAT == IQ3_XXS {
        return vec2<u32>(half_word(group / 8u), codes[group * 3u + 2u] >> 28u);
    }
    return vec2<u32>(half_word(group / 8u), (codes[group * 2u] >> 30u) | ((codes[group * 2u + 1u] >> 30u) << 2u));
}

fn unit_scale_words(raw: vec4<u32>, words: vec2<u32>) -> vec2<u32> {
    return words;
}

// Codes are bytes: there are no units of 32 columns.
fn low_words(code: vec4<u32>) -> vec4<u32> {
    return code;
}

fn high_words(code: vec4<u32>) -> vec4<u32> {
    return code;
}

// Codes are bytes: there are no nibbles.
fn prepare_nibbles(lane: u32) {
}

fn low_nibbles(code: vec4<u32>) -> vec4<u32> {
    return code;
}

fn high_nibbles(code: vec4<u32>) -> vec4<u32> {
    return code;
}
