// Nibbles as signed bytes, for `lm_matvec_x_i8.wgsl`; appended to its source.

fn prepare_nibbles(lane: u32) {
}

// The magnitudes of eight values of E2M1, doubled: 0, 1, 2, 3, 4, 6, 8 and 12, in four bits each.
fn e2m1_magnitudes(code: vec4<u32>) -> vec4<u32> {
    let ones = vec4<u32>(0x11111111u);
    let indices = code & vec4<u32>(0x77777777u);
    // Adds to the indices from 4 on: one to 5 and 7, two to 6 and 7, and two more to 7.
    let upper = indices >> vec4<u32>(2u);
    let odd = indices & upper & ones;
    let large = (indices >> vec4<u32>(1u)) & upper & ones;
    return indices + odd + ((large + (large & odd)) << vec4<u32>(1u));
}

// Those of negative values; zero for others.
fn e2m1_negative(code: vec4<u32>, magnitudes: vec4<u32>) -> vec4<u32> {
    return magnitudes & (((code >> vec4<u32>(3u)) & vec4<u32>(0x11111111u)) * vec4<u32>(15u));
}

// Four of these values as signed bytes. Subtracts without a borrow between bytes: each byte has 128
// added meanwhile.
fn e2m1_bytes(magnitudes: vec4<u32>, negative: vec4<u32>) -> vec4<u32> {
    let mask = vec4<u32>(0x0f0f0f0fu);
    let bias = vec4<u32>(0x80808080u);
    return (((magnitudes & mask) | bias) - (negative & mask) * vec4<u32>(2u)) ^ bias;
}

fn low_nibbles(code: vec4<u32>) -> vec4<u32> {
    if FORMAT == Q4_E2M1 || FORMAT == NVFP4 {
        let magnitudes = e2m1_magnitudes(code);
        return e2m1_bytes(magnitudes, e2m1_negative(code, magnitudes));
    }
    return code & vec4<u32>(0x0f0f0f0fu);
}

fn high_nibbles(code: vec4<u32>) -> vec4<u32> {
    if FORMAT == Q4_E2M1 || FORMAT == NVFP4 {
        let magnitudes = e2m1_magnitudes(code);
        let negative = e2m1_negative(code, magnitudes);
        return e2m1_bytes(magnitudes >> vec4<u32>(4u), negative >> vec4<u32>(4u));
    }
    return (code >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
}
