// Nibbles as signed bytes, for `lm_matvec_x_i8.wgsl`; appended to its source.

fn prepare_nibbles(lane: u32) {
}

// Four values of E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12, and the same negated.
fn e2m1_bytes(nibbles: vec4<u32>) -> vec4<u32> {
    let ones = vec4<u32>(0x01010101u);
    let magnitudes = nibbles & vec4<u32>(0x07070707u);
    // Adds to the indices from 4 on: one to 5 and 7, two to 6 and 7, and two more to 7.
    let odd = magnitudes & (magnitudes >> vec4<u32>(2u)) & ones;
    let large = (magnitudes >> vec4<u32>(1u)) & (magnitudes >> vec4<u32>(2u)) & ones;
    let values = magnitudes + odd + ((large + (large & odd)) << vec4<u32>(1u));
    let signs = ((nibbles >> vec4<u32>(3u)) & ones) * vec4<u32>(255u);
    // Subtracts without a borrow between bytes: each byte has 128 added meanwhile.
    let bias = vec4<u32>(0x80808080u);
    return (bias + values - ((values & signs) << vec4<u32>(1u))) ^ bias;
}

fn low_nibbles(code: vec4<u32>) -> vec4<u32> {
    let nibbles = code & vec4<u32>(0x0f0f0f0fu);
    if FORMAT == Q4_E2M1 || FORMAT == NVFP4 {
        return e2m1_bytes(nibbles);
    }
    return nibbles;
}

fn high_nibbles(code: vec4<u32>) -> vec4<u32> {
    return low_nibbles(code >> vec4<u32>(4u));
}
