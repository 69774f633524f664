//! Propagation rules: which undefined source bits make which result bits undefined.

/// A value and its undefined bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShadowedValue {
    pub(super) value: u64,
    pub(super) unknown: u64,
}

impl ShadowedValue {
    pub(super) fn known(value: u64) -> Self {
        Self { value, unknown: 0 }
    }

    /// A defined zero bit on either side makes the result bit defined.
    fn and(self, other: Self) -> Self {
        let unknown = self.unknown & other.unknown | self.unknown & other.value | other.unknown & self.value;
        Self { value: self.value & other.value, unknown }
    }

    fn not(self) -> Self {
        Self { value: !self.value, unknown: self.unknown }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    fn xor(self, other: Self) -> Self {
        Self { value: self.value ^ other.value, unknown: self.unknown | other.unknown }
    }

    /// Sum or product: an undefined bit affects all higher bits.
    fn carried(self, other: Self, value: u64) -> Self {
        let unknown = self.unknown | other.unknown;
        Self { value, unknown: unknown | unknown.wrapping_neg() }
    }

    fn add(self, other: Self) -> Self {
        self.carried(other, self.value.wrapping_add(other.value))
    }

    /// Shift by at most `width - 1`.
    fn shifted(self, amount: Self, width: u32, shift: impl Fn(u64, u32) -> u64) -> Self {
        let low = u64::from(width - 1);
        if amount.unknown & low != 0 {
            return Self { value: 0, unknown: mask(width) };
        }
        let by = (amount.value & low) as u32;
        Self { value: shift(self.value, by) & mask(width), unknown: shift(self.unknown, by) & mask(width) }
    }

    fn shl(self, amount: Self, width: u32) -> Self {
        self.shifted(amount, width, |bits, by| bits << by)
    }

    /// Selects one of two values by a condition that may itself be undefined.
    pub(super) fn select(condition: Self, no: Self, yes: Self) -> Self {
        if condition.unknown & 1 != 0 {
            return Self { value: no.value, unknown: no.unknown | yes.unknown | (no.value ^ yes.value) };
        }
        if condition.value & 1 == 1 { yes } else { no }
    }

    /// Whether two partly undefined values are known to differ.
    pub(super) fn surely_differ(self, other: Self) -> bool {
        (self.value ^ other.value) & !self.unknown & !other.unknown != 0
    }
}

/// A mask of the low `width` bits.
pub(super) fn mask(width: u32) -> u64 {
    if width >= 64 { !0 } else { (1 << width) - 1 }
}

/// Sign-extends the low `width` bits.
pub(super) fn extended(bits: u64, width: u32) -> u64 {
    if width == 0 || width >= 64 {
        return bits;
    }
    ((bits << (64 - width)).cast_signed() >> (64 - width)).cast_unsigned()
}

/// How an instruction propagates undefined bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PropagationRule {
    /// Any undefined bit makes the whole result undefined.
    Any,
    /// Bit by bit: moves and exclusive or.
    Union,
    And,
    Or,
    AndOr,
    Or3,
    Select,
    BitInsert,
    /// Sums and products.
    Carried,
    /// The same for the low 24 bits of the first two sources.
    Carried24,
    /// The first source is the shift amount.
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    ShiftLeftOr,
    ShiftLeftAdd,
    AddShiftLeft,
    XorAdd,
    Extract {
        signed: bool,
    },
    Permute,
    AlignBit,
    AlignByte,
    Reverse,
    /// Conversion of one byte.
    Byte(u8),
    /// Two 16-bit values, one per source.
    Pair,
    /// Like `Pair`, bit by bit.
    PairBits,
    /// Each half separately.
    Packed,
}

impl PropagationRule {
    /// The rule of a vector instruction.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "v_mov_b32" | "v_mov_b16" | "v_not_b32" | "v_not_b16" | "v_xor_b32" | "v_xor_b16" | "v_xnor_b32"
            | "v_xor3_b32" => Self::Union,
            "v_and_b32" | "v_and_b16" => Self::And,
            "v_or_b32" | "v_or_b16" => Self::Or,
            "v_and_or_b32" => Self::AndOr,
            "v_or3_b32" => Self::Or3,
            "v_cndmask_b32" | "v_cndmask_b16" => Self::Select,
            "v_bfi_b32" => Self::BitInsert,
            "v_mul_u32_u24" | "v_mul_i32_i24" | "v_mad_u32_u24" | "v_mad_i32_i24" => Self::Carried24,
            "v_lshlrev_b32" | "v_lshlrev_b16" | "v_lshlrev_b64" => Self::ShiftLeft,
            "v_lshrrev_b32" | "v_lshrrev_b16" | "v_lshrrev_b64" => Self::ShiftRight,
            "v_ashrrev_i32" | "v_ashrrev_i16" | "v_ashrrev_i64" => Self::ShiftRightSigned,
            "v_lshl_or_b32" => Self::ShiftLeftOr,
            "v_lshl_add_u32" => Self::ShiftLeftAdd,
            "v_add_lshl_u32" => Self::AddShiftLeft,
            "v_xad_u32" => Self::XorAdd,
            "v_bfe_u32" => Self::Extract { signed: false },
            "v_bfe_i32" => Self::Extract { signed: true },
            "v_perm_b32" => Self::Permute,
            "v_alignbit_b32" => Self::AlignBit,
            "v_alignbyte_b32" => Self::AlignByte,
            "v_bfrev_b32" => Self::Reverse,
            "v_cvt_f32_ubyte0" => Self::Byte(0),
            "v_cvt_f32_ubyte1" => Self::Byte(1),
            "v_cvt_f32_ubyte2" => Self::Byte(2),
            "v_cvt_f32_ubyte3" => Self::Byte(3),
            "v_pack_b32_f16" => Self::PairBits,
            "v_cvt_pk_u8_f32" => Self::Any,
            _ if name.starts_with("v_cvt_pk_") => Self::Pair,
            _ if name.starts_with("v_pk_") => Self::Packed,
            _ if carries(name) => Self::Carried,
            _ => Self::Any,
        }
    }

    /// Undefined bits of a result of `width` bits.
    pub(super) fn apply(self, [a, b, c]: [ShadowedValue; 3], condition: ShadowedValue, width: u32) -> u64 {
        let any = |unknown: u64| if unknown == 0 { 0 } else { mask(width) };
        let halves = |low: u64, high: u64| (u64::from(low != 0) * 0xffff) | (u64::from(high != 0) * 0xffff_0000);
        let unknown = match self {
            Self::Any => any(a.unknown | b.unknown | c.unknown | condition.unknown),
            Self::Union => a.xor(b).xor(c).unknown,
            Self::And => a.and(b).unknown,
            Self::Or => a.or(b).unknown,
            Self::AndOr => a.and(b).or(c).unknown,
            Self::Or3 => a.or(b).or(c).unknown,
            Self::Select => ShadowedValue::select(condition, a, b).unknown,
            Self::BitInsert => a.and(b).or(a.not().and(c)).unknown,
            Self::Carried => a.add(b).add(c).add(ShadowedValue { value: 0, unknown: condition.unknown }).unknown,
            Self::Carried24 => {
                let narrow = |bits: ShadowedValue| ShadowedValue { value: 0, unknown: bits.unknown & 0xff_ffff };
                narrow(a).add(narrow(b)).add(c).unknown
            }
            Self::ShiftLeft => b.shl(a, width).unknown,
            Self::ShiftRight => b.shifted(a, width, |bits, by| bits >> by).unknown,
            Self::ShiftRightSigned => {
                b.shifted(a, width, |bits, by| (extended(bits, width).cast_signed() >> by).cast_unsigned()).unknown
            }
            Self::ShiftLeftOr => a.shl(b, width).or(c).unknown,
            Self::ShiftLeftAdd => a.shl(b, width).add(c).unknown,
            Self::AddShiftLeft => a.add(b).shl(c, width).unknown,
            Self::XorAdd => a.xor(b).add(c).unknown,
            Self::Extract { signed } => extract(a, b, c, signed),
            Self::Permute => permute(a, b, c),
            Self::AlignBit => align(a, b, c, 31, 1),
            Self::AlignByte => align(a, b, c, 3, 8),
            Self::Reverse => u64::from((a.unknown as u32).reverse_bits()),
            Self::Byte(index) => any(a.unknown >> (8 * index) & 0xff),
            Self::Pair => halves(a.unknown, b.unknown),
            Self::PairBits => a.unknown & 0xffff | (b.unknown & 0xffff) << 16,
            Self::Packed => {
                let all = a.unknown | b.unknown | c.unknown;
                halves(all & 0xffff, all & 0xffff_0000)
            }
        };
        unknown & mask(width)
    }
}

/// Integer sums, differences and low products.
fn carries(name: &str) -> bool {
    let starts =
        ["v_add_nc_", "v_sub_nc_", "v_subrev_nc_", "v_add3_", "v_mul_lo_", "v_add_co_", "v_sub_co_", "v_subrev_co_"];
    let products = ["v_mad_u64_u32", "v_mad_i64_i32", "v_mad_u32_u16", "v_mad_i32_i16", "v_mad_u16", "v_mad_i16"];
    starts.iter().any(|start| name.starts_with(start)) || products.contains(&name)
}

fn extract(a: ShadowedValue, offset: ShadowedValue, width: ShadowedValue, signed: bool) -> u64 {
    if (offset.unknown | width.unknown) & 31 != 0 {
        return !0;
    }
    let (offset, width) = ((offset.value & 31) as u32, (width.value & 31) as u32);
    let field = (a.unknown & 0xffff_ffff) >> offset & mask(width);
    if signed { extended(field, width) } else { field }
}

fn permute(a: ShadowedValue, b: ShadowedValue, selectors: ShadowedValue) -> u64 {
    let bytes = (a.unknown << 32 | b.unknown & 0xffff_ffff).to_le_bytes();
    let mut result = 0;
    for index in 0..4 {
        let shift = 8 * index;
        let byte = if selectors.unknown >> shift & 0xff != 0 {
            0xff
        } else {
            match (selectors.value >> shift & 0xff) as usize {
                index @ 0..=7 => bytes[index],
                // The sign of an odd byte, replicated.
                index @ 8..=11 => (bytes[2 * (index - 8) + 1].cast_signed() >> 7).cast_unsigned(),
                _ => 0,
            }
        };
        result |= u64::from(byte) << shift;
    }
    result
}

fn align(a: ShadowedValue, b: ShadowedValue, amount: ShadowedValue, low: u64, unit: u32) -> u64 {
    if amount.unknown & low != 0 {
        return !0;
    }
    (a.unknown << 32 | b.unknown & 0xffff_ffff) >> ((amount.value & low) as u32 * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(value: u64, unknown: u64) -> ShadowedValue {
        ShadowedValue { value, unknown }
    }

    const NONE: ShadowedValue = ShadowedValue { value: 0, unknown: 0 };

    fn result(name: &str, a: ShadowedValue, b: ShadowedValue, c: ShadowedValue) -> u64 {
        PropagationRule::of(name).apply([a, b, c], NONE, 32)
    }

    #[test]
    fn bits_cleared_by_a_mask_are_defined() {
        assert_eq!(result("v_and_b32", bits(0, !0), bits(0xff, 0), NONE), 0xff);
        assert_eq!(result("v_or_b32", bits(0, 0xffff), bits(0xf0, 0), NONE), 0xff0f);
        assert_eq!(result("v_bfi_b32", bits(0xff, 0), bits(0, 0xffff), bits(0, 0xff_0000)), 0xff_00ff);
    }

    #[test]
    fn shifts_and_fields_move_undefined_bits() {
        assert_eq!(result("v_lshlrev_b32", bits(8, 0), bits(0, 0xff), NONE), 0xff00);
        assert_eq!(result("v_lshlrev_b32", bits(8, 1), bits(0, 0xff), NONE), 0xffff_ffff);
        assert_eq!(result("v_ashrrev_i32", bits(4, 0), bits(0, 0x8000_0000), NONE), 0xf800_0000);
        assert_eq!(result("v_bfe_u32", bits(0, 0xff00), bits(12, 0), bits(8, 0)), 0xf);
        assert_eq!(result("v_perm_b32", bits(0, 0), bits(0, 0xff), bits(0x0c0c_000c, 0)), 0xff00);
    }

    #[test]
    fn sums_propagate_to_higher_bits_only() {
        assert_eq!(result("v_add_nc_u32", bits(0, 0x100), bits(5, 0), NONE), 0xffff_ff00);
        assert_eq!(result("v_add_f32", bits(0, 0x100), bits(5, 0), NONE), 0xffff_ffff);
        assert_eq!(result("v_pk_add_f16", bits(0, 0x100), bits(5, 0), NONE), 0xffff);
    }

    #[test]
    fn selecting_between_equal_values_ignores_the_condition() {
        let (one, two) = (ShadowedValue::known(1), ShadowedValue::known(3));
        assert_eq!(ShadowedValue::select(bits(0, 1), one, one).unknown, 0);
        assert_eq!(ShadowedValue::select(bits(0, 1), one, two).unknown, 2);
    }
}
