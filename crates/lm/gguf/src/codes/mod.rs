//! Types whose values are small integers times a scale: the grids of the IQ types, ternary and
//! binary types, and NVFP4.
//!
//! A function takes a block and the index of a group of 32 values in it. Products with 8-bit
//! integers use its codes as they are; dequantization multiplies them by the scales, with the same
//! result as the reference bit for bit, since no product before the last one is rounded.

mod grid;
mod grid_data;
mod iq;
mod ternary;

pub use iq::{iq1_m, iq1_s, iq2_s, iq2_xs, iq2_xxs, iq3_s, iq3_xxs};
pub use ternary::{nvfp4, q1_0, q2_0, tq1_0, tq2_0};

use crate::Type;

/// Values of a group.
pub const GROUP: usize = 32;

/// 128 in every byte.
const BIAS: u64 = 0x8080_8080_8080_8080;
/// 1 in every byte.
const ONE: u64 = 0x0101_0101_0101_0101;

/// 32 consecutive values of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CodeGroup {
    /// Codes from -128 to 127 with 128 added, one per byte, eight per word, first in the lowest
    /// byte.
    pub words: [u64; 4],
    /// Scales of the first and of the last 16 values.
    pub scales: [f32; 2],
}

impl CodeGroup {
    /// The codes in order.
    #[inline]
    pub fn codes(&self) -> [i8; GROUP] {
        let mut codes = [0; GROUP];
        for (codes, word) in codes.as_chunks_mut().0.iter_mut().zip(self.words) {
            *codes = (word ^ BIAS).to_le_bytes().map(u8::cast_signed);
        }
        codes
    }

    /// The values in order.
    #[inline]
    pub fn values(&self) -> [f32; GROUP] {
        let mut values = self.codes().map(f32::from);
        for (values, scale) in values.chunks_mut(GROUP / 2).zip(self.scales) {
            values.iter_mut().for_each(|value| *value *= scale);
        }
        values
    }
}

/// The codebook of an IQ type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Eight 2-bit indices per entry, first in the lowest bits: of 8, 25 and 43, or of -1, 0 and 1
    /// for the one-bit types.
    Eight(&'static [u16]),
    /// Four magnitudes per entry, one byte each, first in the lowest byte.
    Four(&'static [u32]),
}

/// Calls a macro with a type, its function here, the bytes of a block, and whether each 16 values
/// have a scale, for all types of this module.
macro_rules! each_type {
    ($with:ident) => {
        $with! {
            IQ1_S iq1_s 50 false,
            IQ1_M iq1_m 56 true,
            IQ2_XXS iq2_xxs 66 false,
            IQ2_XS iq2_xs 74 true,
            IQ2_S iq2_s 82 true,
            IQ3_XXS iq3_xxs 98 false,
            IQ3_S iq3_s 110 false,
            TQ1_0 tq1_0 54 false,
            TQ2_0 tq2_0 66 false,
            Q1_0 q1_0 18 false,
            Q2_0 q2_0 18 false,
            NVFP4 nvfp4 36 true
        }
    };
}

impl Type {
    /// Whether blocks of this type are read as groups of integer codes, by [`Type::code_group`].
    pub fn has_code_groups(self) -> bool {
        macro_rules! any {
            ($($kind:ident $function:ident $bytes:literal $fine:literal),*) => { matches!(self, $(Self::$kind)|*) };
        }
        each_type!(any)
    }

    /// Whether the two halves of a group have scales of their own.
    pub fn has_fine_scales(self) -> bool {
        macro_rules! fine {
            ($($kind:ident $function:ident $bytes:literal $fine:literal),*) => {
                match self { $(Self::$kind => $fine,)* _ => false }
            };
        }
        each_type!(fine)
    }

    /// The codebook of an IQ type; `None` for types without one.
    pub fn grid(self) -> Option<Grid> {
        Some(match self {
            Self::IQ1_S | Self::IQ1_M => Grid::Eight(&grid_data::IQ1),
            Self::IQ2_XXS => Grid::Eight(&grid_data::IQ2_XXS),
            Self::IQ2_XS => Grid::Eight(&grid_data::IQ2_XS),
            Self::IQ2_S => Grid::Eight(&grid_data::IQ2_S),
            Self::IQ3_XXS => Grid::Four(&grid::IQ3_XXS),
            Self::IQ3_S => Grid::Four(&grid::IQ3_S),
            _ => return None,
        })
    }

    /// A group of 32 values of a block; `None` for types without such groups, and if the block has
    /// another length or no such group.
    pub fn code_group(self, block: &[u8], group: usize) -> Option<CodeGroup> {
        if group >= self.block_size() / GROUP {
            return None;
        }
        macro_rules! of {
            ($($kind:ident $function:ident $bytes:literal $fine:literal),*) => {
                match self { $(Self::$kind => Some($function(<&[u8; $bytes]>::try_from(block).ok()?, group)),)* _ => None }
            };
        }
        each_type!(of)
    }
}

/// The f16 at byte `at`.
#[inline]
fn f16_at(block: &[u8], at: usize) -> f32 {
    half::f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

#[inline]
fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

#[inline]
fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// An array from an expression of its index. A loop rather than `array::from_fn`, which is not
/// always inlined.
macro_rules! each {
    ($j:ident => $value:expr) => {{
        let mut items = [Default::default(); _];
        for $j in 0..items.len() {
            items[$j] = $value;
        }
        items
    }};
}
use each;
