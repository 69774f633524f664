// Nibbles as values of the IQ4_NL codebook, for `lm_matvec_x_i8.wgsl`; appended to its source.

// For each byte, the value of its low nibble in the lowest byte, and of its high nibble 16 bits
// further.
var<workgroup> codebook: array<u32, 256>;

fn codebook_entry(index: u32) -> u32 {
    let low = select(0xbfad9881u, 0xf6eaddcfu, (index & 4u) != 0u);
    let high = select(0x26190d01u, 0x71594535u, (index & 4u) != 0u);
    return (select(low, high, (index & 8u) != 0u) >> ((index & 3u) * 8u)) & 0xffu;
}

fn prepare_nibbles(lane: u32) {
    codebook[lane] = codebook_entry(lane & 15u) | (codebook_entry(lane >> 4u) << 16u);
    codebook[lane + 128u] = codebook_entry(lane & 15u) | (codebook_entry((lane >> 4u) + 8u) << 16u);
}

// The values of bytes 0 and 1 of a word, low nibbles in the low half.
fn two_bytes(word: u32) -> u32 {
    return codebook[word & 0xffu] | (codebook[(word >> 8u) & 0xffu] << 8u);
}

fn low_bytes(word: u32) -> u32 {
    return (two_bytes(word) & 0xffffu) | (two_bytes(word >> 16u) << 16u);
}

fn high_bytes(word: u32) -> u32 {
    return (two_bytes(word) >> 16u) | (two_bytes(word >> 16u) & 0xffff0000u);
}

fn low_nibbles(code: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(low_bytes(code.x), low_bytes(code.y), low_bytes(code.z), low_bytes(code.w));
}

fn high_nibbles(code: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(high_bytes(code.x), high_bytes(code.y), high_bytes(code.z), high_bytes(code.w));
}
