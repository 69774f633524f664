//! What an instruction reads or writes.

/// An operand. How many registers it spans is said by the instruction's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// There is none at this place.
    None,
    /// The vector register of this number, or the first of several.
    Vgpr(u8),
    /// Half a vector register, where 16-bit operands name halves (true16 on gfx11).
    VgprHalf {
        /// The register.
        index: u8,
        /// The upper 16 bits.
        high: bool,
    },
    /// A scalar register by its encoded number as on gfx11: 0 to 105 `s0`..`s105`, 106/107 `vcc`, 108 to 123
    /// `ttmp0`..`ttmp15`, 124 `null`, 125 `m0`, 126/127 `exec`. The decoder has exchanged 124 and 125 on gfx10.
    Scalar(u8),
    /// An inline integer, -16 to 64; or the seven bits that `s_atc_probe` has in the place of a register.
    Integer(i8),
    /// An inline floating-point number, by its encoding 240 to 248: 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2*pi).
    Float(u8),
    /// The 32-bit literal behind the instruction.
    Literal(u32),
    /// A value by its encoding: 230 and 231 the halves of the flat scratch base, 235 to 239 shared base, shared limit,
    /// private base, private limit and the exiting wave's number, 251 `vccz`, 252 `execz`, 253 `scc`, 254 LDS.
    Special(u8),
}

impl Operand {
    /// The scalar number of the low half of `vcc`.
    pub const VCC: Self = Self::Scalar(106);
    /// The scalar number of the register that reads as zero and forgets what is written.
    pub const NULL: Self = Self::Scalar(124);
    /// The scalar number of `m0`.
    pub const M0: Self = Self::Scalar(125);
    /// The scalar number of the low half of `exec`.
    pub const EXEC: Self = Self::Scalar(126);
}
