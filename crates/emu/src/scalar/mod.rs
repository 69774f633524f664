//! What scalar instructions compute.

mod bits;
mod float;
mod integer;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::mode::Mode;

/// Computes a result of two sources; the scalar condition code comes in and may be changed.
pub(crate) type ScalarFn = fn(mode: Mode, a: u64, b: u64, scc: &mut bool) -> u64;

/// Computes a result of three sources.
pub(crate) type FusedFn = fn(mode: Mode, a: u32, b: u32, c: u32) -> u32;

/// A scalar computation.
#[derive(Clone, Copy)]
pub(crate) struct ScalarOp {
    pub(crate) function: ScalarFn,
    /// Bit i: source i is 64 bits wide.
    pub(crate) wide: u8,
    /// Registers of the result: 0, 1 or 2.
    pub(crate) results: u8,
}

/// What an instruction does that touches more than its operands.
#[derive(Clone, Copy)]
pub(crate) enum Special {
    /// `s_*_saveexec`: keeps `exec`, then combines it with the source.
    SaveExec {
        function: fn(u64, u64) -> u64,
        wide: bool,
    },
    /// `s_*_wrexec`: combines `exec` with the source and gives the result to both.
    WriteExec {
        function: fn(u64, u64) -> u64,
        wide: bool,
    },
    /// Moves if the condition code is so.
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
    /// A result of two sources and the destination.
    FusedAccumulate(FusedFn),
    /// A result of three sources.
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
    /// `s_movrel*`: how far `m0` moves the registers that are read and written.
    MoveRelative {
        offsets: fn(m0: u32) -> [u32; 2],
        wide: bool,
    },
}

/// A scalar instruction.
#[derive(Clone, Copy)]
pub(crate) enum ScalarMeaning {
    /// A computation.
    Op(ScalarOp),
    /// Something more.
    Special(Special),
}

/// What the instruction of this name does.
pub(crate) fn find(name: &str) -> Option<ScalarMeaning> {
    static ALL: LazyLock<HashMap<&'static str, ScalarMeaning>> = LazyLock::new(|| {
        let ops = [integer::table(), bits::table(), float::table()].into_iter().flatten();
        ops.map(|(name, op)| (name, ScalarMeaning::Op(op)))
            .chain(specials().into_iter().map(|(name, special)| (name, ScalarMeaning::Special(special))))
            .collect()
    });
    ALL.get(name).copied()
}

/// The type of a source or result.
pub(crate) trait Word {
    /// Registers it takes.
    const REGISTERS: u8;
    fn from_bits(bits: u64) -> Self;
    fn into_bits(self) -> u64;
}

macro_rules! words {
    ($($type:ty, $registers:expr, $from:expr, $into:expr;)*) => {$(
        impl Word for $type {
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

/// A scalar computation: `scalar!(|a: u32, b: u32, scc| -> u32 { .. })`, where `scc` is `&mut bool`; with the mode:
/// `scalar!(mode; |mode, a: f32, b: f32, scc| ..)`. Sources that an instruction lacks have the type `()`.
macro_rules! scalar {
    (|$($rest:tt)*) => { scalar!(mode; |_mode, $($rest)*) };
    (mode; |$mode:ident, $a:ident : $at:ty, $scc:ident| -> $r:ty $body:block) => {
        scalar!(mode; |$mode, $a: $at, _b: (), $scc| -> $r $body)
    };
    (mode; |$mode:ident, $a:ident : $at:ty, $b:ident : $bt:ty, $scc:ident| -> $r:ty $body:block) => {{
        use $crate::scalar::{ScalarOp, Word};
        fn function($mode: $crate::mode::Mode, a: u64, b: u64, $scc: &mut bool) -> u64 {
            let $a = <$at as Word>::from_bits(a);
            let $b = <$bt as Word>::from_bits(b);
            let result: $r = $body;
            result.into_bits()
        }
        let wide = u8::from(<$at as Word>::REGISTERS == 2) | u8::from(<$bt as Word>::REGISTERS == 2) << 1;
        ScalarOp { function, wide, results: <$r as Word>::REGISTERS }
    }};
}
use scalar;

fn specials() -> Vec<(&'static str, Special)> {
    fn save(function: fn(u64, u64) -> u64, wide: bool) -> Special {
        Special::SaveExec { function, wide }
    }
    fn write(function: fn(u64, u64) -> u64, wide: bool) -> Special {
        Special::WriteExec { function, wide }
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
        ("s_cmov_b32", Special::MoveIf { wide: false, when: true }),
        ("s_cmov_b64", Special::MoveIf { wide: true, when: true }),
        ("s_cmovk_i32", Special::MoveIf { wide: false, when: true }),
        ("s_bitset0_b32", Special::BitSet { value: false, wide: false }),
        ("s_bitset0_b64", Special::BitSet { value: false, wide: true }),
        ("s_bitset1_b32", Special::BitSet { value: true, wide: false }),
        ("s_bitset1_b64", Special::BitSet { value: true, wide: true }),
        ("s_addk_i32", Special::Accumulate(integer::add_signed)),
        ("s_mulk_i32", Special::Accumulate(|_, a, b, _| u64::from((a as u32).wrapping_mul(b as u32)))),
        ("s_fmac_f32", Special::FusedAccumulate(float::fma32)),
        ("s_fmac_f16", Special::FusedAccumulate(float::fma16)),
        ("s_fmaak_f32", Special::Fused(float::fma32)),
        ("s_fmamk_f32", Special::Fused(float::fma32)),
        ("s_getpc_b64", Special::GetPc),
        ("s_setpc_b64", Special::SetPc),
        ("s_swappc_b64", Special::SwapPc),
        ("s_call_b64", Special::Call),
        ("s_getreg_b32", Special::GetRegister),
        ("s_setreg_b32", Special::SetRegister),
        ("s_setreg_imm32_b32", Special::SetRegister),
        ("s_round_mode", Special::RoundMode),
        ("s_denorm_mode", Special::DenormMode),
        ("s_get_waveid_in_workgroup", Special::WaveNumber),
        ("s_memtime", Special::Time),
        ("s_memrealtime", Special::Time),
        ("s_sendmsg_rtn_b64", Special::Message),
        ("s_sendmsg_rtn_b32", Special::MessageNarrow),
        ("s_movrels_b32", Special::MoveRelative { offsets: |m0| [m0, 0], wide: false }),
        ("s_movrels_b64", Special::MoveRelative { offsets: |m0| [m0, 0], wide: true }),
        ("s_movreld_b32", Special::MoveRelative { offsets: |m0| [0, m0], wide: false }),
        ("s_movreld_b64", Special::MoveRelative { offsets: |m0| [0, m0], wide: true }),
        ("s_movrelsd_2_b32", Special::MoveRelative { offsets: |m0| [m0 & 0x3ff, m0 >> 16 & 0x3ff], wide: false }),
    ]
}
