//! Supported chips.

use std::fmt;
use std::str::FromStr;

/// Chips whose machine code is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chip {
    /// Radeon RX 5600 and 5700.
    Gfx1010,
    /// Radeon RX 5500.
    Gfx1012,
    /// BC-250.
    Gfx1013,
    /// Radeon RX 6800 and 6900.
    Gfx1030,
    /// Radeon RX 7900.
    Gfx1100,
    /// Strix Halo.
    Gfx1151,
}

/// A group of chips with the same instruction encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// RDNA 1 and 2.
    Gfx10,
    /// RDNA 3 and 3.5.
    Gfx11,
}

/// Wavefront size. The text of some operands depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaveSize {
    /// 32 lanes.
    Wave32,
    /// 64 lanes.
    Wave64,
}

impl Chip {
    /// Every chip, oldest first.
    pub const ALL: [Self; 6] =
        [Self::Gfx1010, Self::Gfx1012, Self::Gfx1013, Self::Gfx1030, Self::Gfx1100, Self::Gfx1151];

    /// Name as spelled by LLVM and ROCm: `gfx1010`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx1010 => "gfx1010",
            Self::Gfx1012 => "gfx1012",
            Self::Gfx1013 => "gfx1013",
            Self::Gfx1030 => "gfx1030",
            Self::Gfx1100 => "gfx1100",
            Self::Gfx1151 => "gfx1151",
        }
    }

    /// The family of encodings that the chip uses.
    pub const fn family(self) -> Family {
        match self {
            Self::Gfx1010 | Self::Gfx1012 | Self::Gfx1013 | Self::Gfx1030 => Family::Gfx10,
            Self::Gfx1100 | Self::Gfx1151 => Family::Gfx11,
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A chip that this crate does not support.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown chip {0:?}; the supported chips are gfx1010, gfx1012, gfx1013, gfx1030, gfx1100, gfx1151")]
pub struct UnknownChip(String);

impl FromStr for Chip {
    type Err = UnknownChip;

    fn from_str(text: &str) -> Result<Self, UnknownChip> {
        Self::ALL.into_iter().find(|chip| chip.name() == text).ok_or_else(|| UnknownChip(text.to_owned()))
    }
}
