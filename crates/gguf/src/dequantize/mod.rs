//! Values from blocks, in f32, bit for bit as the reference computes them: the same operations in the same order.

mod k;
mod small;

use half::slice::HalfFloatSliceExt as _;
use half::{bf16, f16};

use crate::{Error, Type};

impl Type {
    /// Computes the values of whole blocks; `out` has room for exactly those.
    ///
    /// # Errors
    /// If `bytes` are no whole number of blocks, if `out` has another length, or if the type holds whole numbers.
    pub fn dequantize(self, bytes: &[u8], out: &mut [f32]) -> Result<(), Error> {
        let wrong = |unit, quantity, got, wanted| Error::Length { kind: self, unit, quantity, got, wanted };
        if !bytes.len().is_multiple_of(self.block_bytes()) {
            return Err(wrong("bytes", "blocks", bytes.len(), format!("take {} each", self.block_bytes())));
        }
        let values = bytes.len() / self.block_bytes() * self.block_size();
        if out.len() != values {
            return Err(wrong("values", "so many bytes", out.len(), format!("hold {values}")));
        }
        match self {
            Self::F32 => each(bytes, out, f32::from_le_bytes),
            Self::F16 => halves(bytes, out),
            Self::BF16 => each(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            Self::F64 => each(bytes, out, |bytes| f64::from_le_bytes(bytes) as f32),
            Self::Q4_0 => blocks(bytes, out, small::q4_0),
            Self::Q4_1 => blocks(bytes, out, small::q4_1),
            Self::Q5_0 => blocks(bytes, out, small::q5_0),
            Self::Q5_1 => blocks(bytes, out, small::q5_1),
            Self::Q8_0 => blocks(bytes, out, small::q8_0),
            Self::IQ4_NL => blocks(bytes, out, small::iq4_nl),
            Self::MXFP4 => blocks(bytes, out, small::mxfp4),
            Self::Q2_K => blocks(bytes, out, k::q2_k),
            Self::Q3_K => blocks(bytes, out, k::q3_k),
            Self::Q4_K => blocks(bytes, out, k::q4_k),
            Self::Q5_K => blocks(bytes, out, k::q5_k),
            Self::Q6_K => blocks(bytes, out, k::q6_k),
            Self::IQ4_XS => blocks(bytes, out, k::iq4_xs),
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => {
                return Err(wrong("bytes", "weights", bytes.len(), "cannot be: it holds whole numbers".to_owned()));
            }
        }
        Ok(())
    }

    /// [`dequantize`](Self::dequantize) into new memory.
    ///
    /// # Errors
    /// As there.
    pub fn to_f32(self, bytes: &[u8]) -> Result<Vec<f32>, Error> {
        let mut out = vec![0.0; bytes.len() / self.block_bytes() * self.block_size()];
        self.dequantize(bytes, &mut out)?;
        Ok(out)
    }
}

/// 16-bit floats, many at a time: processors convert them so, and one by one each asks anew whether this one can.
fn halves(bytes: &[u8], out: &mut [f32]) {
    let mut some = [f16::ZERO; 64];
    for (bytes, out) in bytes.chunks(128).zip(out.chunks_mut(64)) {
        let some = &mut some[..out.len()];
        for (half, bytes) in some.iter_mut().zip(bytes.as_chunks::<2>().0) {
            *half = f16::from_le_bytes(*bytes);
        }
        some.convert_to_f32_slice(out);
    }
}

/// One number after another.
fn each<const N: usize>(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; N]) -> f32) {
    for (bytes, value) in bytes.as_chunks().0.iter().zip(out) {
        *value = read(*bytes);
    }
}

/// One block after another.
fn blocks<const BYTES: usize, const VALUES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    block: impl Fn(&[u8; BYTES], &mut [f32; VALUES]),
) {
    for (bytes, values) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        block(bytes, values);
    }
}

/// The f16 at `at`, such as a block's scale.
fn f16_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// The values that four bits stand for in IQ4_NL and IQ4_XS.
const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
