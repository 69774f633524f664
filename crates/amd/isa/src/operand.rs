//! Instruction operands.

/// An operand. The table row of the instruction determines its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// No operand in this position.
    None,
    /// A VGPR, or the first of several.
    Vgpr(u8),
    /// Half of a VGPR, for 16-bit operands that name halves (true16 on gfx11).
    VgprHalf {
        /// Register number.
        index: u8,
        /// Whether it is the upper 16 bits.
        high: bool,
    },
    /// An SGPR by its gfx11 encoding: 0 to 105 `s0`..`s105`, 106/107 `vcc`, 108 to 123
    /// `ttmp0`..`ttmp15`, 124 `null`, 125 `m0`, 126/127 `exec`. On gfx10, where 124 and 125 are
    /// swapped, the decoder translates them.
    Scalar(u8),
    /// An inline integer, -16 to 64, or the 7-bit immediate of `s_atc_probe`.
    Integer(i8),
    /// An inline floating-point constant by its encoding, 240 to 248: 0.5, -0.5, 1, -1, 2, -2, 4,
    /// -4, 1/(2*pi).
    Float(u8),
    /// The 32-bit literal that follows the instruction.
    Literal(u32),
    /// A special value by its encoding: 230/231 flat scratch base (low, high), 235 shared base, 236
    /// shared limit, 237 private base, 238 private limit, 239 `pops_exiting_wave_id`, 251 `vccz`,
    /// 252 `execz`, 253 `scc`, 254 LDS direct.
    Special(u8),
}

impl Operand {
    /// Low half of `vcc`.
    pub const VCC: Self = Self::Scalar(106);
    /// The null register: reads as zero, ignores writes.
    pub const NULL: Self = Self::Scalar(124);
    /// The `m0` register.
    pub const M0: Self = Self::Scalar(125);
    /// Low half of `exec`.
    pub const EXEC: Self = Self::Scalar(126);
}
