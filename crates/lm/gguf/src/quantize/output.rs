//! The blocks that quantizers append.

use half::f16;

/// The end of the blocks, and whether all of their scales are finite.
pub(super) struct Output<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) is_valid: bool,
}

impl Output<'_> {
    /// Appends a scale as f16.
    #[inline(always)]
    pub(super) fn scale(&mut self, scale: f32) {
        self.half(f16::from_f32(scale));
    }

    /// Appends a scale.
    #[inline(always)]
    pub(super) fn half(&mut self, scale: f16) {
        self.is_valid &= scale.is_finite();
        self.bytes.extend(scale.to_le_bytes());
    }

    /// Appends codes of four or five bits: the fifth bits first, then the nibbles.
    #[inline(always)]
    pub(super) fn codes(&mut self, codes: &[u8; 32], fifth: bool) {
        if fifth {
            let bits = (0..32).fold(0, |bits, at| bits | u32::from(codes[at] >> 4) << at);
            self.bytes.extend(bits.to_le_bytes());
        }
        let (first, last) = codes.split_at(16);
        let mut nibbles = [0; 16];
        for at in 0..16 {
            nibbles[at] = first[at] & 0xf | last[at] << 4;
        }
        self.bytes.extend(nibbles);
    }
}
