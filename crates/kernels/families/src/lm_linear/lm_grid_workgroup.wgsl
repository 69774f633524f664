// Grid entries in workgroup memory, for `lm_weights_compact.wgsl` in workgroups of 128; appended to
// its source.
//
// Random reads conflict in banks, about twice as much with words twice as wide. That still costs
// less than to decode digits. Only the 1024 entries of IQ2_S would take too much memory as bytes. The
// table of kernels appends `GRID_SIZE`, the number of entries.

// Entries of four bytes: four magnitudes of an IQ3 type, or for IQ2_S the digits of eight
// magnitudes, the first four in the low nibbles.
var<workgroup> narrow_grid: array<u32, GRID_SIZE>;
// Entries of eight magnitudes.
var<workgroup> wide_grid: array<vec2<u32>, GRID_SIZE>;

fn iq2_entry(index: u32) -> vec2<u32> {
    if FORMAT == IQ2_S {
        let digits = narrow_grid[index];
        return vec2<u32>(iq2_magnitudes(digits & 0x0f0f0f0fu), iq2_magnitudes((digits >> 4u) & 0x0f0f0f0fu));
    }
    return wide_grid[index];
}

fn iq3_entry(index: u32) -> u32 {
    return narrow_grid[index];
}

// The words of the grid that an invocation stages. Separate from staging them, so that the loads can
// stay in flight.
fn load_grid(lane: u32) -> vec4<u32> {
    var words = vec4<u32>(scales[lane], 0u, 0u, 0u);
    if FORMAT != IQ2_XXS {
        words.y = scales[lane + 128u];
    }
    if FORMAT == IQ2_S || FORMAT == IQ3_S {
        words.z = scales[lane + 256u];
        words.w = scales[lane + 384u];
    }
    return words;
}

// Stages the word at index `at` of the grid.
fn stage_grid_word(word: u32, at: u32) {
    if FORMAT >= IQ3_XXS {
        narrow_grid[at] = word;
    } else if FORMAT == IQ2_S {
        narrow_grid[at * 2u] = spread_pairs(word) | (spread_pairs(word >> 8u) << 4u);
        narrow_grid[at * 2u + 1u] = spread_pairs(word >> 16u) | (spread_pairs(word >> 24u) << 4u);
    } else {
        wide_grid[at * 2u] = vec2<u32>(iq2_magnitudes(spread_pairs(word)), iq2_magnitudes(spread_pairs(word >> 8u)));
        wide_grid[at * 2u + 1u] =
            vec2<u32>(iq2_magnitudes(spread_pairs(word >> 16u)), iq2_magnitudes(spread_pairs(word >> 24u)));
    }
}

// A barrier must follow.
fn stage_grid(words: vec4<u32>, lane: u32) {
    stage_grid_word(words.x, lane);
    if FORMAT != IQ2_XXS {
        stage_grid_word(words.y, lane + 128u);
    }
    if FORMAT == IQ2_S || FORMAT == IQ3_S {
        stage_grid_word(words.z, lane + 256u);
        stage_grid_word(words.w, lane + 384u);
    }
}

// For kernels without another barrier after staging.
fn grid_barrier() {
    workgroupBarrier();
}
