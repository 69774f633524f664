//! Dequantization to f32, bit-exact with the reference: the same operations in the same order.

mod blocks_of_32;
mod k_quants;

use half::slice::HalfFloatSliceExt as _;
use half::{bf16, f16};

use crate::{Error, Type, codes};

impl Type {
    /// Dequantizes whole blocks into `out`, whose length must match.
    ///
    /// # Errors
    /// If `bytes` is not a whole number of blocks, if `out` has another length, or if the type is
    /// an integer type.
    pub fn dequantize(self, bytes: &[u8], out: &mut [f32]) -> Result<(), Error> {
        let wrong = |unit, got, expected| Error::Length { kind: self, unit, got, expected };
        if !bytes.len().is_multiple_of(self.block_bytes()) {
            return Err(wrong("bytes", bytes.len(), format!("a multiple of {}", self.block_bytes())));
        }
        let values = bytes.len() / self.block_bytes() * self.block_size();
        if out.len() != values {
            return Err(wrong("values", out.len(), values.to_string()));
        }
        match self {
            Self::F32 => convert_each(bytes, out, f32::from_le_bytes),
            Self::F16 => convert_f16(bytes, out),
            Self::BF16 => convert_each(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Self::F64 => convert_each(bytes, out, |bytes| f64::from_le_bytes(bytes) as f32),
            Self::Q4_0 => blocks(bytes, out, blocks_of_32::q4_0),
            Self::Q4_1 => blocks(bytes, out, blocks_of_32::q4_1),
            Self::Q5_0 => blocks(bytes, out, blocks_of_32::q5_0),
            Self::Q5_1 => blocks(bytes, out, blocks_of_32::q5_1),
            Self::Q8_0 => blocks(bytes, out, blocks_of_32::q8_0),
            Self::IQ4_NL => blocks(bytes, out, blocks_of_32::iq4_nl),
            Self::MXFP4 => blocks(bytes, out, blocks_of_32::mxfp4),
            Self::Q2_K => blocks(bytes, out, k_quants::q2_k),
            Self::Q3_K => blocks(bytes, out, k_quants::q3_k),
            Self::Q4_K => blocks(bytes, out, k_quants::q4_k),
            Self::Q5_K => blocks(bytes, out, k_quants::q5_k),
            Self::Q6_K => blocks(bytes, out, k_quants::q6_k),
            Self::IQ4_XS => blocks(bytes, out, k_quants::iq4_xs),
            Self::IQ1_S => grouped::<_, 256>(bytes, out, codes::iq1_s),
            Self::IQ1_M => grouped::<_, 256>(bytes, out, codes::iq1_m),
            Self::IQ2_XXS => grouped::<_, 256>(bytes, out, codes::iq2_xxs),
            Self::IQ2_XS => grouped::<_, 256>(bytes, out, codes::iq2_xs),
            Self::IQ2_S => grouped::<_, 256>(bytes, out, codes::iq2_s),
            Self::IQ3_XXS => grouped::<_, 256>(bytes, out, codes::iq3_xxs),
            Self::IQ3_S => grouped::<_, 256>(bytes, out, codes::iq3_s),
            Self::TQ1_0 => grouped::<_, 256>(bytes, out, codes::tq1_0),
            Self::TQ2_0 => grouped::<_, 256>(bytes, out, codes::tq2_0),
            Self::Q1_0 => grouped::<_, 128>(bytes, out, codes::q1_0),
            Self::Q2_0 => grouped::<_, 64>(bytes, out, codes::q2_0),
            Self::NVFP4 => grouped::<_, 64>(bytes, out, codes::nvfp4),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                return Err(wrong("bytes", bytes.len(), "a floating-point or quantized type".to_owned()));
            }
        }
        Ok(())
    }

    /// Like [`dequantize`](Self::dequantize), into a new vector.
    ///
    /// # Errors
    /// The same as those of [`dequantize`](Self::dequantize), except for the length of `out`.
    pub fn to_f32(self, bytes: &[u8]) -> Result<Vec<f32>, Error> {
        let mut out = vec![0.0; bytes.len() / self.block_bytes() * self.block_size()];
        self.dequantize(bytes, &mut out)?;
        Ok(out)
    }
}

/// Converts f16 in chunks of 64: the conversion of a slice detects the CPU's f16 instructions once
/// instead of once per value.
fn convert_f16(bytes: &[u8], out: &mut [f32]) {
    let mut buffer = [f16::ZERO; 64];
    for (bytes, out) in bytes.chunks(128).zip(out.chunks_mut(64)) {
        let buffer = &mut buffer[..out.len()];
        for (value, bytes) in buffer.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *value = f16::from_le_bytes(*bytes);
        }
        buffer.convert_to_f32_slice(out);
    }
}

/// Converts unquantized elements one by one.
fn convert_each<const N: usize>(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; N]) -> f32) {
    for (bytes, value) in bytes.as_chunks().0.iter().zip(out) {
        *value = read(*bytes);
    }
}

/// Dequantizes block by block.
fn blocks<const BYTES: usize, const VALUES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; BYTES], &mut [f32; VALUES]),
) {
    for (bytes, values) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        block(bytes, values);
    }
}

/// Dequantizes blocks of code groups.
fn grouped<const BYTES: usize, const VALUES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    read: impl Fn(&[u8; BYTES], usize) -> codes::CodeGroup,
) {
    blocks::<BYTES, VALUES>(bytes, out, |block, out| {
        for (group, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
            *out = read(block, group).values();
        }
    });
}

/// The f16 at byte `at`, for example a block's scale.
fn f16_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Values of the four-bit codes of IQ4_NL and IQ4_XS.
pub(crate) const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
