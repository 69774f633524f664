//! Products with weights in the compact formats, which keep the bits of a GGUF type.
//!
//! A unit is sixteen columns. See `lm_weights_compact.wgsl` for the layouts.

use std::sync::Arc;

use half::f16;
use roci_families::WeightFormat;

use super::ReferenceKernel;
use super::linear::{
    GROUP, Linear, MATMUL, MATMUL_COOPMAT, MATMUL_COOPMAT16, MATMUL_COOPMAT32, MATVEC, MATVEC_I8, MATVEC4, MATVEC8_I8,
};
use crate::KernelFactory;

/// The kernels of one kind, in the order of [`WeightFormat`].
macro_rules! kernels {
    ($prefix:literal, $form:ident) => {
        kernels!(@list $prefix $form;
            "q5_0" 11, "q5_1" 12, "q5_k" 13, "q6_k" 14, "q2_k" 15, "q3_k" 16, "tq2_0" 17, "q2_0" 18, "q1_0" 19,
            "iq1_s" 20, "iq1_m" 21, "iq2_xxs" 22, "iq2_xs" 23, "iq2_s" 24, "iq3_xxs" 25, "iq3_s" 26)
    };
    (@list $prefix:literal $form:ident; $($format:literal $id:literal),*) => {
        &[$((concat!($prefix, "_", $format), |level| Arc::new(ReferenceKernel::<Linear<$id, $form>>::new(level)))),*]
    };
}

pub(crate) const MATVEC_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matvec", MATVEC);
pub(crate) const MATVEC_I8_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matvec_i8", MATVEC_I8);
pub(crate) const MATVEC4_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matvec4", MATVEC4);
pub(crate) const MATVEC8_I8_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matvec8_i8", MATVEC8_I8);
pub(crate) const MATMUL_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matmul", MATMUL);
pub(crate) const MATMUL_COOPMAT_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matmul_coopmat", MATMUL_COOPMAT);
pub(crate) const MATMUL_COOPMAT16_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matmul_coopmat16", MATMUL_COOPMAT16);
pub(crate) const MATMUL_COOPMAT32_KERNELS: &[(&str, KernelFactory)] = kernels!("lm_matmul_coopmat32", MATMUL_COOPMAT32);

/// Columns of a unit.
const UNIT: usize = 16;

/// The scales of a matrix: 16-bit numbers after the grid, whose size is in words.
struct Scales<'a> {
    words: &'a [u32],
    grid: usize,
}

impl Scales<'_> {
    fn bits(&self, at: usize) -> u32 {
        self.words.get(self.grid + at / 2).map_or(0, |word| word >> (at % 2 * 16) & 0xffff)
    }

    fn float(&self, at: usize) -> f32 {
        f16::from_bits(self.bits(at) as u16).to_f32()
    }

    /// An entry of the grid.
    fn entry(&self, index: u32) -> u32 {
        self.words.get(index as usize / 2).map_or(0, |word| word >> (index % 2 * 16) & 0xffff)
    }
}

/// Dequantizes a group from its codes.
pub(super) fn decode(format: WeightFormat, codes: &[u32], scales: &[u32], group: usize, weights: &mut [f32; GROUP]) {
    let scales = Scales { words: scales, grid: format.grid_words() };
    for (half, weights) in weights.as_chunks_mut::<UNIT>().0.iter_mut().enumerate() {
        let (scale, offset) = scale_and_offset(format, codes, &scales, group, half);
        for (at, weight) in weights.iter_mut().enumerate() {
            *weight = scale * code(format, codes, &scales, group, half, at) as f32 + offset;
        }
    }
}

/// The scale and offset of a unit.
fn scale_and_offset(format: WeightFormat, codes: &[u32], scales: &Scales<'_>, group: usize, half: usize) -> (f32, f32) {
    let (block, within) = (group / 8, group % 8);
    // The scale, and the other numbers of the group, in a block of this many 16-bit numbers.
    let number = |each: usize, at: usize| scales.bits(block * each + at);
    let nibble = |bits: u32| bits >> (4 * half) & 15;
    let odd = |bits: u32| (2 * (bits & 7) + 1) as f32;
    match format {
        WeightFormat::Q50 => (scales.float(group), -16.0 * scales.float(group)),
        WeightFormat::Q51 => (scales.float(2 * group), scales.float(2 * group + 1)),
        WeightFormat::Q5K => {
            let own = number(10, 2 + within);
            let (scale, least) = (scales.float(block * 10), scales.float(block * 10 + 1));
            (scale * (own & 0xff) as f32, -least * (own >> 8) as f32)
        }
        WeightFormat::Q2K => {
            let own = number(10, 2 + within) >> (8 * half);
            let (scale, least) = (scales.float(block * 10), scales.float(block * 10 + 1));
            (scale * (own & 15) as f32, -least * (own >> 4 & 15) as f32)
        }
        WeightFormat::Q6K => {
            let own = (number(9, 1 + within) >> (8 * half)) as i8;
            let scale = scales.float(block * 9) * f32::from(own);
            (scale, -32.0 * scale)
        }
        WeightFormat::Q3K => {
            let low = nibble(number(7, 1 + within / 2) >> (within % 2 * 8));
            let high = number(7, 5 + within / 4) >> (within % 4 * 4 + 2 * half) & 3;
            let scale = scales.float(block * 7) * ((low | high << 4) as f32 - 32.0);
            (scale, -4.0 * scale)
        }
        WeightFormat::Tq20 => (scales.float(block), -scales.float(block)),
        WeightFormat::Q20 => (scales.float(group / 2), -scales.float(group / 2)),
        WeightFormat::Q10 => (2.0 * scales.float(group / 4), -scales.float(group / 4)),
        WeightFormat::Iq1S => {
            let scale = scales.float(block * 9) * odd(number(9, 1 + within) >> 12) * 0.125;
            (scale, -9.0 * scale)
        }
        WeightFormat::Iq1M => {
            let all = (0..3).fold(0, |all, at| all | u64::from(number(12, 1 + at)) << (16 * at));
            let scale = scales.float(block * 12) * odd((all >> (6 * within + 3 * half)) as u32) * 0.125;
            (scale, -9.0 * scale)
        }
        WeightFormat::Iq2Xxs => {
            let own = codes[0] >> 30 | codes[1] >> 30 << 2;
            (scales.float(block) * (0.5 + own as f32) * 0.25, 0.0)
        }
        WeightFormat::Iq2Xs => {
            let own = nibble(number(5, 1 + within / 2) >> (within % 2 * 8));
            (scales.float(block * 5) * (0.5 + own as f32) * 0.25, 0.0)
        }
        WeightFormat::Iq2S => {
            let own = nibble(number(9, 1 + within) >> 8);
            (scales.float(block * 9) * (0.5 + own as f32) * 0.25, 0.0)
        }
        WeightFormat::Iq3Xxs => (scales.float(block) * (0.5 + (codes[2] >> 28) as f32) * 0.5, 0.0),
        _ => {
            let own = number(7, 5 + within / 4) >> (within % 4 * 4) & 15;
            (scales.float(block * 7) * (1 + 2 * own) as f32, 0.0)
        }
    }
}

/// The code of column `at` of a unit.
fn code(format: WeightFormat, codes: &[u32], scales: &Scales<'_>, group: usize, half: usize, at: usize) -> i32 {
    let (block, within) = (group / 8, group % 8);
    // Sixteen numbers of two bits in a word: the byte is the column modulo four.
    let two_bits = |word: u32| word >> (at % 4 * 8 + at / 4 * 2) & 3;
    // Sixteen nibbles in two words: the low nibbles are the first eight columns.
    let nibble = |first: usize| codes[first + at % 8 / 4] >> (at % 4 * 8 + at / 8 * 4) & 15;
    let bit = |word: u32, at: usize| word >> at & 1;
    let signed = |magnitude: u32, negative: u32| if negative == 1 { -(magnitude as i32) } else { magnitude as i32 };
    // One of eight signs, of which seven are stored.
    let even = |seven: u32| if at % 8 == 7 { (seven & 127).count_ones() & 1 } else { bit(seven, at % 8) };
    let digit2 = |index: u32| scales.entry(index) >> (at % 8 * 2) & 3;
    let iq2 = |index: u32| [8, 25, 43, 60][digit2(index) as usize];
    let iq1 = |index: u32, minus: bool| (8 * digit2(index) + if minus { 0 } else { 2 }) as i32;
    let iq3 = |index: u32| scales.words.get(index as usize).map_or(0, |word| word >> (at % 4 * 8) & 0xff);
    // Byte of the eight or four columns.
    let byte = |word: u32, at: usize| word >> (8 * at) & 0xff;
    match format {
        WeightFormat::Q50 | WeightFormat::Q51 | WeightFormat::Q5K => {
            (nibble(2 * half) | bit(codes[4], 16 * half + at) << 4) as i32
        }
        WeightFormat::Q6K => (nibble(3 * half) | two_bits(codes[3 * half + 2]) << 4) as i32,
        WeightFormat::Q3K => (two_bits(codes[half]) | bit(codes[2], 16 * half + at) << 2) as i32,
        WeightFormat::Q10 => bit(codes[0], 16 * half + at) as i32,
        WeightFormat::Iq1S => {
            let high = scales.bits(block * 9 + 1 + within);
            let index = byte(codes[0], 2 * half + at / 8) | (high >> (6 * half + at / 8 * 3) & 7) << 8;
            iq1(index, high >> 15 == 1)
        }
        WeightFormat::Iq1M => {
            let high = scales.bits(block * 12 + 4 + within) >> (8 * half + at / 8 * 4);
            iq1(byte(codes[0], 2 * half + at / 8) | (high & 7) << 8, high & 8 != 0)
        }
        WeightFormat::Iq2Xxs => signed(iq2(byte(codes[half], at / 8)), even(codes[half] >> (16 + at / 8 * 7))),
        WeightFormat::Iq2Xs => {
            let both = codes[half] >> (at / 8 * 16);
            signed(iq2(both & 511), even(both >> 9 & 127))
        }
        WeightFormat::Iq2S => {
            let high = scales.bits(block * 9 + 1 + within) >> (4 * half + at / 8 * 2) & 3;
            signed(iq2(byte(codes[half], at / 8) | high << 8), bit(codes[half], 16 + at))
        }
        WeightFormat::Iq3Xxs => signed(iq3(byte(codes[half], at / 4)), even(codes[2] >> (14 * half + at / 8 * 7))),
        WeightFormat::Iq3S => {
            let high = scales.bits(block * 7 + 1 + within / 2) >> (within % 2 * 8 + 4 * half + at / 4) & 1;
            signed(iq3(byte(codes[half], at / 4) | high << 8), bit(codes[2], 16 * half + at))
        }
        // Q2_K, TQ2_0 and Q2_0.
        _ => two_bits(codes[half]) as i32,
    }
}
