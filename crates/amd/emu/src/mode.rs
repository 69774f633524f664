//! The MODE register: floating-point rounding and denormals.

/// A rounding mode, as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundingMode {
    /// To nearest, ties to even.
    Nearest,
    /// Toward plus infinity.
    Up,
    /// Toward minus infinity.
    Down,
    /// Toward zero.
    Zero,
}

/// The floating-point fields of the MODE register: rounding [3:0] and denormals [7:4], as in
/// `FLOAT_MODE` of the kernel descriptor; DX10_CLAMP (bit 8), IEEE (bit 9) and FP16_OVFL (bit 23),
/// as in the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode(pub(crate) u32);

impl Mode {
    /// clang's default: round to nearest, denormals preserved, DX10_CLAMP and IEEE set.
    #[cfg(test)]
    pub(crate) const DEFAULT: Self = Self(0x3f0);

    /// Bit for [`Mode::saturates16`].
    pub(crate) const FP16_OVFL: u32 = 1 << 23;

    const fn round(bits: u32) -> RoundingMode {
        match bits & 3 {
            0 => RoundingMode::Nearest,
            1 => RoundingMode::Up,
            2 => RoundingMode::Down,
            _ => RoundingMode::Zero,
        }
    }

    /// Rounding mode of f32.
    pub(crate) const fn round32(self) -> RoundingMode {
        Self::round(self.0)
    }

    /// Rounding mode of f16 and f64.
    pub(crate) const fn round16_64(self) -> RoundingMode {
        Self::round(self.0 >> 2)
    }

    /// Whether denormal f32 sources are flushed to zero.
    pub(crate) const fn flush_in32(self) -> bool {
        self.0 & 0x10 == 0
    }

    /// Whether denormal f32 results are flushed to zero.
    pub(crate) const fn flush_out32(self) -> bool {
        self.0 & 0x20 == 0
    }

    /// Whether denormal f16 and f64 sources are flushed to zero.
    pub(crate) const fn flush_in16_64(self) -> bool {
        self.0 & 0x40 == 0
    }

    /// Whether denormal f16 and f64 results are flushed to zero.
    pub(crate) const fn flush_out16_64(self) -> bool {
        self.0 & 0x80 == 0
    }

    /// Whether f32 rounds to nearest and preserves denormals.
    pub(crate) const fn plain32(self) -> bool {
        self.0 & 0x33 == 0x30
    }

    /// Whether f16 and f64 round to nearest and preserve denormals, and f16 overflows to infinity.
    pub(crate) const fn plain16_64(self) -> bool {
        self.0 & (0xcc | Self::FP16_OVFL) == 0xc0
    }

    /// FP16_OVFL: an f16 overflow gives the largest finite value instead of infinity.
    pub(crate) const fn saturates16(self) -> bool {
        self.0 & Self::FP16_OVFL != 0
    }

    /// Whether clamping turns NaN into zero.
    pub(crate) const fn dx10_clamp(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// Whether minimum and maximum quiet signaling NaNs.
    pub(crate) const fn ieee(self) -> bool {
        self.0 & 0x200 != 0
    }
}
