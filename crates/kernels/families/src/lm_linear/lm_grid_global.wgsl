// Grid entries in global memory, for `lm_weights_compact.wgsl`; appended to its source.

// Eight magnitudes of an IQ2 type.
fn iq2_entry(index: u32) -> vec2<u32> {
    let digits = grid_entry(index);
    return vec2<u32>(iq2_magnitudes(spread_pairs(digits)), iq2_magnitudes(spread_pairs(digits >> 8u)));
}

// Four magnitudes of an IQ3 type.
fn iq3_entry(index: u32) -> u32 {
    return scales[index];
}
