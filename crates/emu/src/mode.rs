//! How floating-point instructions round and what they do with denormals.

/// The direction of rounding, as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// Towards plus infinity.
    Up,
    /// Towards minus infinity.
    Down,
    /// Towards zero.
    Zero,
}

/// The floating-point part of the MODE register: rounding [3:0], denormals [7:4], as in the kernel descriptor's
/// FLOAT_MODE; then DX10_CLAMP (bit 8), IEEE (bit 9) and FP16_OVFL (bit 23), as in the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl Mode {
    /// What clang asks for: nearest, denormals kept, DX10 clamp, IEEE.
    #[cfg(test)]
    pub(crate) const DEFAULT: Self = Self(0x3f0);

    /// The bit of [`Mode::saturates16`].
    pub(crate) const FP16_OVFL: u32 = 1 << 23;

    const fn round(bits: u32) -> Round {
        match bits & 3 {
            0 => Round::Nearest,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        }
    }

    /// The rounding of f32.
    pub(crate) const fn round32(self) -> Round {
        Self::round(self.0)
    }

    /// The rounding of f16 and f64.
    pub(crate) const fn round16_64(self) -> Round {
        Self::round(self.0 >> 2)
    }

    /// f32 sources that are denormal count as zero.
    pub(crate) const fn flush_in32(self) -> bool {
        self.0 & 0x10 == 0
    }

    /// f32 results that are denormal become zero.
    pub(crate) const fn flush_out32(self) -> bool {
        self.0 & 0x20 == 0
    }

    /// f16 and f64 sources that are denormal count as zero.
    pub(crate) const fn flush_in16_64(self) -> bool {
        self.0 & 0x40 == 0
    }

    /// f16 and f64 results that are denormal become zero.
    pub(crate) const fn flush_out16_64(self) -> bool {
        self.0 & 0x80 == 0
    }

    /// f32 rounds to nearest and keeps denormals.
    pub(crate) const fn plain32(self) -> bool {
        self.0 & 0x33 == 0x30
    }

    /// f16 and f64 round to nearest and keep denormals, and f16 overflows to infinity.
    pub(crate) const fn plain16_64(self) -> bool {
        self.0 & (0xcc | Self::FP16_OVFL) == 0xc0
    }

    /// f16 results of numbers that are too large are the largest number, not infinity.
    pub(crate) const fn saturates16(self) -> bool {
        self.0 & Self::FP16_OVFL != 0
    }

    /// Clamping turns NaN into zero.
    pub(crate) const fn dx10_clamp(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// Signalling NaN are quieted by minimum and maximum.
    pub(crate) const fn ieee(self) -> bool {
        self.0 & 0x200 != 0
    }
}
