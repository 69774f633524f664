//! Shadow propagation through scalar instructions.

use roci_isa::Register;

use super::rules::{ShadowedValue, extended, mask};
use super::{WaveShadow, undefined};
use crate::engine::Machine;
use crate::observe::ObservedInstruction;
use crate::program::micro_op::{AccessKind, ScalarAluOp, ScalarMemoryOp, ScalarSource, ScalarWriteOp, SpecialScalarOp};
use crate::scalar::SpecialKind;
use crate::wave::scalar::M0;

impl WaveShadow {
    /// Propagates through a scalar computation.
    pub(super) fn scalar(
        &mut self,
        machine: &Machine<'_>,
        uop: &ScalarAluOp,
        decoded: &ObservedInstruction,
    ) -> Result<(), String> {
        let a = self.source(machine, uop.sources[0], uop.wide & 1 != 0);
        let b = self.source(machine, uop.sources[1], uop.wide & 2 != 0);
        let reads_scc = decoded.accesses.iter().any(|access| access.register == Register::Scc && !access.write);
        let writes_scc = decoded.accesses.iter().any(|access| access.register == Register::Scc && access.write);
        let scc = ShadowedValue { value: u64::from(machine.wave.scc), unknown: u64::from(self.scc && reads_scc) };
        let width = 32 * u32::from(uop.results.max(1));
        let name = decoded.instruction.op.name();
        let any = a.unknown | b.unknown | scc.unknown;
        let call = |a: u64, b: u64| (uop.function)(machine.wave.mode, a, b, &mut machine.wave.scc.clone());
        let unknown = match kind(name) {
            _ if any == 0 => 0,
            ScalarRule::Bitwise => bitwise(a, b, call),
            ScalarRule::Carried => {
                let low = a.unknown | b.unknown | scc.unknown;
                low | low.wrapping_neg()
            }
            // The second source is the shift amount.
            ScalarRule::Shift if b.unknown & u64::from(width - 1) == 0 => {
                let moved = call(a.unknown, b.value);
                if name.starts_with("s_ashr") && width == 32 { moved & mask(32) } else { moved }
            }
            ScalarRule::Extract if b.unknown == 0 => call(a.unknown, b.value),
            ScalarRule::Choice => ShadowedValue::select(scc, b, a).unknown,
            ScalarRule::Pair => call(a.unknown, b.unknown),
            ScalarRule::Extend(bits) => extended(a.unknown & mask(bits), bits),
            _ => !0,
        } & mask(width);
        if writes_scc {
            let result = call(a.value, b.value);
            self.scc = match kind(name) {
                _ if any == 0 => false,
                ScalarRule::Equality => !a.surely_differ(b),
                ScalarRule::Bitwise | ScalarRule::Shift | ScalarRule::Extract => {
                    unknown != 0 && result & !unknown & mask(width) == 0
                }
                ScalarRule::Bit if b.unknown & 63 == 0 => a.unknown >> (b.value & 63) & 1 == 1,
                _ => true,
            };
        }
        self.set_scalar(machine, uop.dst, unknown, usize::from(uop.results))
    }

    /// Propagates through a scalar instruction with side effects.
    pub(super) fn special(
        &mut self,
        machine: &Machine<'_>,
        uop: &SpecialScalarOp,
        decoded: &ObservedInstruction,
    ) -> Result<(), String> {
        let source = |shadow: &Self, wide: bool| shadow.source(machine, uop.source, wide);
        match uop.kind {
            SpecialKind::SaveExec { function, wide } | SpecialKind::WriteExec { function, wide } => {
                let words = 1 + usize::from(wide);
                let exec = if wide { machine.wave.pair(126) } else { u64::from(machine.wave.scalars[126]) };
                let bits = source(self, wide);
                let unknown = bitwise(bits, ShadowedValue::known(exec), function) & mask(32 * words as u32);
                self.scc = false;
                self.set_scalar(machine, 126, unknown, words)?;
                self.set_scalar(machine, uop.dst, 0, words)
            }
            SpecialKind::MoveIf { wide, when } => {
                let words = 1 + usize::from(wide);
                let old = self.source(machine, ScalarSource::Register(uop.dst), wide);
                let condition =
                    ShadowedValue { value: u64::from(machine.wave.scc == when), unknown: u64::from(self.scc) };
                let unknown = ShadowedValue::select(condition, old, source(self, wide)).unknown;
                self.set_scalar(machine, uop.dst, unknown, words)
            }
            SpecialKind::BitSet { wide, .. } => {
                let words = 1 + usize::from(wide);
                let width = 32 * words as u32;
                let old = self.source(machine, ScalarSource::Register(uop.dst), wide).unknown;
                let amount = source(self, false);
                let known = amount.unknown & u64::from(width - 1) == 0;
                let unknown = if known { old & !(1 << (amount.value & u64::from(width - 1))) } else { !0 };
                self.set_scalar(machine, uop.dst, unknown, words)
            }
            SpecialKind::Accumulate(_) => {
                let old = self.source(machine, ScalarSource::Register(uop.dst), false).unknown;
                let unknown = old | source(self, false).unknown;
                if decoded.instruction.op.name() == "s_addk_i32" {
                    self.scc = unknown != 0;
                }
                self.set_scalar(machine, uop.dst, unknown | unknown.wrapping_neg(), 1)
            }
            SpecialKind::Fused(_) | SpecialKind::FusedAccumulate(_) => {
                let others = uop.others.map(|other| self.source(machine, other, false).unknown);
                let any = source(self, false).unknown | others[0] | others[1];
                self.set_scalar(machine, uop.dst, if any == 0 { 0 } else { !0 }, 1)
            }
            SpecialKind::SetPc | SpecialKind::SwapPc => {
                if source(self, true).unknown != 0 {
                    return Err(undefined("a jump target"));
                }
                let words = if let SpecialKind::SwapPc = uop.kind { 2 } else { 0 };
                self.set_scalar(machine, uop.dst, 0, words)
            }
            SpecialKind::GetPc | SpecialKind::Call | SpecialKind::Time | SpecialKind::Message => {
                self.set_scalar(machine, uop.dst, 0, 2)
            }
            SpecialKind::GetRegister | SpecialKind::MessageNarrow | SpecialKind::WaveNumber => {
                self.set_scalar(machine, uop.dst, 0, 1)
            }
            SpecialKind::SetRegister | SpecialKind::RoundMode | SpecialKind::DenormMode => Ok(()),
            SpecialKind::MoveRelative { offsets, wide } => {
                if self.scalars[usize::from(M0)] != 0 {
                    return Err(undefined("which register is accessed (m0)"));
                }
                let [from, to] = offsets(machine.wave.scalars[usize::from(M0)]);
                // Registers out of range fault in the engine.
                let moved = |register: u8, offset: u32| u32::from(register).saturating_add(offset).min(126) as u8;
                let from = match uop.source {
                    ScalarSource::Register(register) => ScalarSource::Register(moved(register, from)),
                    other => other,
                };
                let unknown = self.source(machine, from, wide).unknown;
                let dst = moved(uop.dst, to);
                self.set_scalar(machine, dst, unknown, 1 + usize::from(wide))
            }
        }
    }

    /// Scalar load: the address must be defined.
    pub(super) fn scalar_memory(&mut self, uop: &ScalarMemoryOp) -> Result<(), String> {
        let offset = match uop.soffset {
            ScalarSource::Register(register) => self.scalars[usize::from(register)],
            _ => 0,
        };
        let words = if uop.buffer { 4 } else { 2 };
        let base = &self.scalars[usize::from(uop.base)..][..words];
        if offset != 0 || base.iter().any(|word| *word != 0) {
            return Err(undefined(&format!("the address of a scalar access (s{})", uop.base)));
        }
        self.scalars[usize::from(uop.dst)..][..usize::from(uop.dwords)].fill(0);
        Ok(())
    }

    /// Scalar store or atomic: address and data must be defined, and so is a returned value.
    pub(super) fn scalar_write(&mut self, uop: &ScalarWriteOp) -> Result<(), String> {
        self.scalar_memory(&uop.operands)?;
        let operands = if let AccessKind::Atomic { op, .. } = uop.access { op.operands() } else { 1 };
        let words = operands * uop.access.size() as usize / 4;
        let data = &self.scalars[usize::from(uop.operands.dst)..][..words];
        if data.iter().any(|word| *word != 0) {
            return Err(undefined(&format!("what is stored to global memory (s{})", uop.operands.dst)));
        }
        Ok(())
    }
}

/// Undefined bits of a bitwise function: a result bit is undefined if it changes with the undefined
/// source bits.
fn bitwise(a: ShadowedValue, b: ShadowedValue, function: impl Fn(u64, u64) -> u64) -> u64 {
    let ends = |bits: ShadowedValue| [bits.value & !bits.unknown, bits.value | bits.unknown];
    let base = function(ends(a)[0], ends(b)[0]);
    let mut unknown = 0;
    for a in ends(a) {
        for b in ends(b) {
            unknown |= function(a, b) ^ base;
        }
    }
    unknown
}

/// How a scalar instruction propagates undefined bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScalarRule {
    Any,
    Bitwise,
    Carried,
    Shift,
    Extract,
    Choice,
    /// Packs two halves.
    Pair,
    /// Sign extension of this many bits.
    Extend(u32),
    /// Comparison for equality.
    Equality,
    /// Copies one bit to SCC.
    Bit,
}

fn kind(name: &str) -> ScalarRule {
    let base = name.trim_end_matches("_b32").trim_end_matches("_b64");
    match base {
        "s_mov" | "s_not" | "s_and" | "s_or" | "s_xor" | "s_nand" | "s_nor" | "s_xnor" | "s_and_not1" | "s_or_not1" => {
            ScalarRule::Bitwise
        }
        "s_lshl" | "s_lshr" => ScalarRule::Shift,
        "s_cselect" => ScalarRule::Choice,
        "s_brev" => ScalarRule::Pair,
        "s_bitcmp0" | "s_bitcmp1" => ScalarRule::Bit,
        _ => match name {
            "s_ashr_i32" | "s_ashr_i64" => ScalarRule::Shift,
            "s_bfe_u32" | "s_bfe_i32" | "s_bfe_u64" | "s_bfe_i64" => ScalarRule::Extract,
            "s_movk_i32" => ScalarRule::Bitwise,
            "s_sext_i32_i8" => ScalarRule::Extend(8),
            "s_sext_i32_i16" => ScalarRule::Extend(16),
            "s_pack_ll_b32_b16" | "s_pack_lh_b32_b16" | "s_pack_hh_b32_b16" | "s_pack_hl_b32_b16" => ScalarRule::Pair,
            _ if name.starts_with("s_cmp_eq") || name.starts_with("s_cmp_lg") => equality(name),
            _ if name.starts_with("s_cmpk_eq") || name.starts_with("s_cmpk_lg") => ScalarRule::Equality,
            "s_add_u32" | "s_add_i32" | "s_sub_u32" | "s_sub_i32" | "s_addc_u32" | "s_subb_u32" | "s_mul_i32" => {
                ScalarRule::Carried
            }
            _ => ScalarRule::Any,
        },
    }
}

/// Equal floating-point numbers may have different bits.
fn equality(name: &str) -> ScalarRule {
    if name.ends_with("f32") || name.ends_with("f16") { ScalarRule::Any } else { ScalarRule::Equality }
}
