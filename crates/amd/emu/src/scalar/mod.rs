//! What scalar instructions compute.

mod bits;
mod float;
mod integer;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::mode::Mode;

/// A function of two sources. SCC is an input and may be changed.
pub(crate) type ScalarFn = fn(mode: Mode, a: u64, b: u64, scc: &mut bool) -> u64;

/// A function of three sources.
pub(crate) type FusedFn = fn(mode: Mode, a: u32, b: u32, c: u32) -> u32;

/// A scalar operation.
#[derive(Clone, Copy)]
pub(crate) struct ScalarOp {
    pub(crate) function: ScalarFn,
    /// Bit i: source i is 64 bits wide.
    pub(crate) wide: u8,
    /// Number of result registers: 0, 1 or 2.
    pub(crate) results: u8,
}

/// Scalar operations with side effects.
#[derive(Clone, Copy)]
pub(crate) enum SpecialKind {
    /// `s_*_saveexec`: saves `exec`, then combines it with the source.
    SaveExec {
        function: fn(u64, u64) -> u64,
        wide: bool,
    },
    /// `s_*_wrexec`: combines `exec` with the source and writes the result to both.
    WriteExec {
        function: fn(u64, u64) -> u64,
        wide: bool,
    },
    /// Conditional move on SCC.
    MoveIf {
        wide: bool,
        when: bool,
    },
    /// Sets or clears a bit of the destination.
    BitSet {
        value: bool,
        wide: bool,
    },
    /// Combines the destination with a source.
    Accumulate(ScalarFn),
    /// A function of two sources and the destination.
    FusedAccumulate(FusedFn),
    /// A function of three sources.
    Fused(FusedFn),
    GetPc,
    SetPc,
    SwapPc,
    Call,
    GetRegister,
    SetRegister,
    RoundMode,
    DenormMode,
    /// `s_get_waveid_in_workgroup`.
    WaveNumber,
    /// `s_memtime`, `s_memrealtime`.
    Time,
    /// `s_sendmsg_rtn_b64`.
    Message,
    /// `s_sendmsg_rtn_b32`.
    MessageNarrow,
    /// `s_movrel*`: `m0` offsets of the registers read and written.
    MoveRelative {
        offsets: fn(m0: u32) -> [u32; 2],
        wide: bool,
    },
}

/// What a scalar instruction does.
#[derive(Clone, Copy)]
pub(crate) enum ScalarSemantics {
    /// A plain computation.
    Op(ScalarOp),
    /// An operation with side effects.
    Special(SpecialKind),
}

/// Looks up a mnemonic.
pub(crate) fn find(name: &str) -> Option<ScalarSemantics> {
    static ALL: LazyLock<HashMap<&'static str, ScalarSemantics>> = LazyLock::new(|| {
        let ops = [integer::table(), bits::table(), float::table()].into_iter().flatten();
        ops.map(|(name, op)| (name, ScalarSemantics::Op(op)))
            .chain(specials().into_iter().map(|(name, special)| (name, ScalarSemantics::Special(special))))
            .collect()
    });
    ALL.get(name).copied()
}

/// Type of a source or result.
pub(crate) trait ScalarWord {
    /// Number of registers.
    const REGISTERS: u8;
    fn from_bits(bits: u64) -> Self;
    fn into_bits(self) -> u64;
}

macro_rules! words {
    ($($type:ty, $registers:expr, $from:expr, $into:expr;)*) => {$(
        impl ScalarWord for $type {
            const REGISTERS: u8 = $registers;
            fn from_bits(bits: u64) -> Self { $from(bits) }
            fn into_bits(self) -> u64 { $into(self) }
        }
    )*};
}

words! {
    u32, 1, |bits| bits as u32, u64::from;
    i32, 1, |bits| bits as i32, |value: i32| u64::from(value.cast_unsigned());
    u64, 2, |bits| bits, |value| value;
    i64, 2, u64::cast_signed, i64::cast_unsigned;
    f32, 1, |bits| f32::from_bits(bits as u32), |value: f32| u64::from(value.to_bits());
    half::f16, 1, |bits| half::f16::from_bits(bits as u16), |value: half::f16| u64::from(value.to_bits());
    (), 0, |_| (), |()| 0;
}

/// A scalar function: `scalar!(|a: u32, b: u32, scc| -> u32 { .. })`, where `scc` is `&mut bool`;
/// with the mode: `scalar!(mode; |mode, a: f32, b: f32, scc| ..)`. Missing sources have the type
/// `()`.
macro_rules! scalar {
    (|$($rest:tt)*) => { scalar!(mode; |_mode, $($rest)*) };
    (mode; |$mode:ident, $a:ident : $at:ty, $scc:ident| -> $r:ty $body:block) => {
        scalar!(mode; |$mode, $a: $at, _b: (), $scc| -> $r $body)
    };
    (mode; |$mode:ident, $a:ident : $at:ty, $b:ident : $bt:ty, $scc:ident| -> $r:ty $body:block) => {{
        use $crate::scalar::{ScalarOp, ScalarWord};
        fn function($mode: $crate::mode::Mode, a: u64, b: u64, $scc: &mut bool) -> u64 {
            let $a = <$at as ScalarWord>::from_bits(a);
            let $b = <$bt as ScalarWord>::from_bits(b);
            let result: $r = $body;
            result.into_bits()
        }
        let wide = u8::from(<$at as ScalarWord>::REGISTERS == 2) | u8::from(<$bt as ScalarWord>::REGISTERS == 2) << 1;
        ScalarOp { function, wide, results: <$r as ScalarWord>::REGISTERS }
    }};
}
use scalar;

fn specials() -> Vec<(&'static str, SpecialKind)> {
    fn save(function: fn(u64, u64) -> u64, wide: bool) -> SpecialKind {
        SpecialKind::SaveExec { function, wide }
    }
    fn write(function: fn(u64, u64) -> u64, wide: bool) -> SpecialKind {
        SpecialKind::WriteExec { function, wide }
    }
    vec![
        ("s_and_saveexec_b32", save(|a, exec| a & exec, false)),
        ("s_and_saveexec_b64", save(|a, exec| a & exec, true)),
        ("s_or_saveexec_b32", save(|a, exec| a | exec, false)),
        ("s_or_saveexec_b64", save(|a, exec| a | exec, true)),
        ("s_xor_saveexec_b32", save(|a, exec| a ^ exec, false)),
        ("s_xor_saveexec_b64", save(|a, exec| a ^ exec, true)),
        ("s_nand_saveexec_b32", save(|a, exec| !(a & exec), false)),
        ("s_nand_saveexec_b64", save(|a, exec| !(a & exec), true)),
        ("s_nor_saveexec_b32", save(|a, exec| !(a | exec), false)),
        ("s_nor_saveexec_b64", save(|a, exec| !(a | exec), true)),
        ("s_xnor_saveexec_b32", save(|a, exec| !(a ^ exec), false)),
        ("s_xnor_saveexec_b64", save(|a, exec| !(a ^ exec), true)),
        ("s_and_not0_saveexec_b32", save(|a, exec| !a & exec, false)),
        ("s_and_not0_saveexec_b64", save(|a, exec| !a & exec, true)),
        ("s_and_not1_saveexec_b32", save(|a, exec| a & !exec, false)),
        ("s_and_not1_saveexec_b64", save(|a, exec| a & !exec, true)),
        ("s_or_not0_saveexec_b32", save(|a, exec| !a | exec, false)),
        ("s_or_not0_saveexec_b64", save(|a, exec| !a | exec, true)),
        ("s_or_not1_saveexec_b32", save(|a, exec| a | !exec, false)),
        ("s_or_not1_saveexec_b64", save(|a, exec| a | !exec, true)),
        ("s_and_not0_wrexec_b32", write(|a, exec| !a & exec, false)),
        ("s_and_not0_wrexec_b64", write(|a, exec| !a & exec, true)),
        ("s_and_not1_wrexec_b32", write(|a, exec| a & !exec, false)),
        ("s_and_not1_wrexec_b64", write(|a, exec| a & !exec, true)),
        ("s_cmov_b32", SpecialKind::MoveIf { wide: false, when: true }),
        ("s_cmov_b64", SpecialKind::MoveIf { wide: true, when: true }),
        ("s_cmovk_i32", SpecialKind::MoveIf { wide: false, when: true }),
        ("s_bitset0_b32", SpecialKind::BitSet { value: false, wide: false }),
        ("s_bitset0_b64", SpecialKind::BitSet { value: false, wide: true }),
        ("s_bitset1_b32", SpecialKind::BitSet { value: true, wide: false }),
        ("s_bitset1_b64", SpecialKind::BitSet { value: true, wide: true }),
        ("s_addk_i32", SpecialKind::Accumulate(integer::add_signed)),
        ("s_mulk_i32", SpecialKind::Accumulate(|_, a, b, _| u64::from((a as u32).wrapping_mul(b as u32)))),
        ("s_fmac_f32", SpecialKind::FusedAccumulate(float::fma32)),
        ("s_fmac_f16", SpecialKind::FusedAccumulate(float::fma16)),
        ("s_fmaak_f32", SpecialKind::Fused(float::fma32)),
        ("s_fmamk_f32", SpecialKind::Fused(float::fma32)),
        ("s_getpc_b64", SpecialKind::GetPc),
        ("s_setpc_b64", SpecialKind::SetPc),
        ("s_swappc_b64", SpecialKind::SwapPc),
        ("s_call_b64", SpecialKind::Call),
        ("s_getreg_b32", SpecialKind::GetRegister),
        ("s_setreg_b32", SpecialKind::SetRegister),
        ("s_setreg_imm32_b32", SpecialKind::SetRegister),
        ("s_round_mode", SpecialKind::RoundMode),
        ("s_denorm_mode", SpecialKind::DenormMode),
        ("s_get_waveid_in_workgroup", SpecialKind::WaveNumber),
        ("s_memtime", SpecialKind::Time),
        ("s_memrealtime", SpecialKind::Time),
        ("s_sendmsg_rtn_b64", SpecialKind::Message),
        ("s_sendmsg_rtn_b32", SpecialKind::MessageNarrow),
        ("s_movrels_b32", SpecialKind::MoveRelative { offsets: |m0| [m0, 0], wide: false }),
        ("s_movrels_b64", SpecialKind::MoveRelative { offsets: |m0| [m0, 0], wide: true }),
        ("s_movreld_b32", SpecialKind::MoveRelative { offsets: |m0| [0, m0], wide: false }),
        ("s_movreld_b64", SpecialKind::MoveRelative { offsets: |m0| [0, m0], wide: true }),
        ("s_movrelsd_2_b32", SpecialKind::MoveRelative { offsets: |m0| [m0 & 0x3ff, m0 >> 16 & 0x3ff], wide: false }),
    ]
}
