//! Shadows of scalar computations.

use roci_isa::Register;

use super::rules::{Bits, extended, mask};
use super::{Shadow, undefined};
use crate::engine::Machine;
use crate::observe::Decoded;
use crate::program::step::{Access, ScalarMemoryStep, ScalarSource, ScalarStep, ScalarWriteStep, SpecialStep};
use crate::scalar::Special;
use crate::wave::scalar::M0;

impl Shadow {
    /// A computation on scalars.
    pub(super) fn scalar(&mut self, machine: &Machine<'_>, step: &ScalarStep, decoded: &Decoded) -> Result<(), String> {
        let a = self.source(machine, step.sources[0], step.wide & 1 != 0);
        let b = self.source(machine, step.sources[1], step.wide & 2 != 0);
        let reads_scc = decoded.accesses.iter().any(|access| access.register == Register::Scc && !access.write);
        let writes_scc = decoded.accesses.iter().any(|access| access.register == Register::Scc && access.write);
        let scc = Bits { value: u64::from(machine.wave.scc), unknown: u64::from(self.scc && reads_scc) };
        let width = 32 * u32::from(step.results.max(1));
        let name = decoded.instruction.op.name();
        let any = a.unknown | b.unknown | scc.unknown;
        let call = |a: u64, b: u64| (step.function)(machine.wave.mode, a, b, &mut machine.wave.scc.clone());
        let unknown = match kind(name) {
            _ if any == 0 => 0,
            Kind::Bitwise => bitwise(a, b, call),
            Kind::Carried => {
                let low = a.unknown | b.unknown | scc.unknown;
                low | low.wrapping_neg()
            }
            // The amount of the shift is the second source.
            Kind::Shift if b.unknown & u64::from(width - 1) == 0 => {
                let moved = call(a.unknown, b.value);
                if name.starts_with("s_ashr") && width == 32 { moved & mask(32) } else { moved }
            }
            Kind::Extract if b.unknown == 0 => call(a.unknown, b.value),
            Kind::Choice => Bits::select(scc, b, a).unknown,
            Kind::Pair => call(a.unknown, b.unknown),
            Kind::Extend(bits) => extended(a.unknown & mask(bits), bits),
            _ => !0,
        } & mask(width);
        if writes_scc {
            let result = call(a.value, b.value);
            self.scc = match kind(name) {
                _ if any == 0 => false,
                Kind::Equality => !a.surely_differ(b),
                Kind::Bitwise | Kind::Shift | Kind::Extract => unknown != 0 && result & !unknown & mask(width) == 0,
                Kind::Bit if b.unknown & 63 == 0 => a.unknown >> (b.value & 63) & 1 == 1,
                _ => true,
            };
        }
        self.set_scalar(machine, step.dst, unknown, usize::from(step.results))
    }

    /// A scalar instruction that touches more than its operands.
    pub(super) fn special(
        &mut self,
        machine: &Machine<'_>,
        step: &SpecialStep,
        decoded: &Decoded,
    ) -> Result<(), String> {
        let source = |shadow: &Self, wide: bool| shadow.source(machine, step.source, wide);
        match step.kind {
            Special::SaveExec { function, wide } | Special::WriteExec { function, wide } => {
                let words = 1 + usize::from(wide);
                let exec = if wide { machine.wave.pair(126) } else { u64::from(machine.wave.scalars[126]) };
                let bits = source(self, wide);
                let unknown = bitwise(bits, Bits::known(exec), function) & mask(32 * words as u32);
                self.scc = false;
                self.set_scalar(machine, 126, unknown, words)?;
                self.set_scalar(machine, step.dst, 0, words)
            }
            Special::MoveIf { wide, when } => {
                let words = 1 + usize::from(wide);
                let old = self.source(machine, ScalarSource::Register(step.dst), wide);
                let condition = Bits { value: u64::from(machine.wave.scc == when), unknown: u64::from(self.scc) };
                let unknown = Bits::select(condition, old, source(self, wide)).unknown;
                self.set_scalar(machine, step.dst, unknown, words)
            }
            Special::BitSet { wide, .. } => {
                let words = 1 + usize::from(wide);
                let width = 32 * words as u32;
                let old = self.source(machine, ScalarSource::Register(step.dst), wide).unknown;
                let amount = source(self, false);
                let known = amount.unknown & u64::from(width - 1) == 0;
                let unknown = if known { old & !(1 << (amount.value & u64::from(width - 1))) } else { !0 };
                self.set_scalar(machine, step.dst, unknown, words)
            }
            Special::Accumulate(_) => {
                let old = self.source(machine, ScalarSource::Register(step.dst), false).unknown;
                let unknown = old | source(self, false).unknown;
                if decoded.instruction.op.name() == "s_addk_i32" {
                    self.scc = unknown != 0;
                }
                self.set_scalar(machine, step.dst, unknown | unknown.wrapping_neg(), 1)
            }
            Special::Fused(_) | Special::FusedAccumulate(_) => {
                let others = step.others.map(|other| self.source(machine, other, false).unknown);
                let any = source(self, false).unknown | others[0] | others[1];
                self.set_scalar(machine, step.dst, if any == 0 { 0 } else { !0 }, 1)
            }
            Special::SetPc | Special::SwapPc => {
                if source(self, true).unknown != 0 {
                    return Err(undefined("where the code goes on"));
                }
                let words = if let Special::SwapPc = step.kind { 2 } else { 0 };
                self.set_scalar(machine, step.dst, 0, words)
            }
            Special::GetPc | Special::Call | Special::Time | Special::Message => {
                self.set_scalar(machine, step.dst, 0, 2)
            }
            Special::GetRegister | Special::MessageNarrow | Special::WaveNumber => {
                self.set_scalar(machine, step.dst, 0, 1)
            }
            Special::SetRegister | Special::RoundMode | Special::DenormMode => Ok(()),
            Special::MoveRelative { offsets, wide } => {
                if self.scalars[usize::from(M0)] != 0 {
                    return Err(undefined("which register is meant (m0)"));
                }
                let [from, to] = offsets(machine.wave.scalars[usize::from(M0)]);
                // The engine itself faults at registers that are not there.
                let moved = |register: u8, offset: u32| u32::from(register).saturating_add(offset).min(126) as u8;
                let from = match step.source {
                    ScalarSource::Register(register) => ScalarSource::Register(moved(register, from)),
                    other => other,
                };
                let unknown = self.source(machine, from, wide).unknown;
                let dst = moved(step.dst, to);
                self.set_scalar(machine, dst, unknown, 1 + usize::from(wide))
            }
        }
    }

    /// Loads scalars: the address must be defined.
    pub(super) fn scalar_memory(&mut self, step: &ScalarMemoryStep) -> Result<(), String> {
        let offset = match step.soffset {
            ScalarSource::Register(register) => self.scalars[usize::from(register)],
            _ => 0,
        };
        let words = if step.buffer { 4 } else { 2 };
        let base = &self.scalars[usize::from(step.base)..][..words];
        if offset != 0 || base.iter().any(|word| *word != 0) {
            return Err(undefined(&format!("the address of a scalar access (s{})", step.base)));
        }
        self.scalars[usize::from(step.dst)..][..usize::from(step.dwords)].fill(0);
        Ok(())
    }

    /// Stores scalars: the address and what is stored must be defined, and so is what comes back.
    pub(super) fn scalar_write(&mut self, step: &ScalarWriteStep) -> Result<(), String> {
        self.scalar_memory(&step.place)?;
        let operands = if let Access::Atomic { op, .. } = step.access { op.operands() } else { 1 };
        let words = operands * step.access.size() as usize / 4;
        let data = &self.scalars[usize::from(step.place.dst)..][..words];
        if data.iter().any(|word| *word != 0) {
            return Err(undefined(&format!("what is stored to global memory (s{})", step.place.dst)));
        }
        Ok(())
    }
}

/// A function that computes each bit of its result from the same bits of its sources: those that differ when undefined
/// bits do are undefined.
fn bitwise(a: Bits, b: Bits, function: impl Fn(u64, u64) -> u64) -> u64 {
    let ends = |bits: Bits| [bits.value & !bits.unknown, bits.value | bits.unknown];
    let base = function(ends(a)[0], ends(b)[0]);
    let mut unknown = 0;
    for a in ends(a) {
        for b in ends(b) {
            unknown |= function(a, b) ^ base;
        }
    }
    unknown
}

/// How a scalar instruction passes undefined bits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Any,
    Bitwise,
    Carried,
    Shift,
    Extract,
    Choice,
    /// Halves put together.
    Pair,
    /// The sign of so many bits extended.
    Extend(u32),
    /// A comparison for equality.
    Equality,
    /// One bit becomes the condition.
    Bit,
}

fn kind(name: &str) -> Kind {
    let base = name.trim_end_matches("_b32").trim_end_matches("_b64");
    match base {
        "s_mov" | "s_not" | "s_and" | "s_or" | "s_xor" | "s_nand" | "s_nor" | "s_xnor" | "s_and_not1" | "s_or_not1" => {
            Kind::Bitwise
        }
        "s_lshl" | "s_lshr" => Kind::Shift,
        "s_cselect" => Kind::Choice,
        "s_brev" => Kind::Pair,
        "s_bitcmp0" | "s_bitcmp1" => Kind::Bit,
        _ => match name {
            "s_ashr_i32" | "s_ashr_i64" => Kind::Shift,
            "s_bfe_u32" | "s_bfe_i32" | "s_bfe_u64" | "s_bfe_i64" => Kind::Extract,
            "s_movk_i32" => Kind::Bitwise,
            "s_sext_i32_i8" => Kind::Extend(8),
            "s_sext_i32_i16" => Kind::Extend(16),
            "s_pack_ll_b32_b16" | "s_pack_lh_b32_b16" | "s_pack_hh_b32_b16" | "s_pack_hl_b32_b16" => Kind::Pair,
            _ if name.starts_with("s_cmp_eq") || name.starts_with("s_cmp_lg") => equality(name),
            _ if name.starts_with("s_cmpk_eq") || name.starts_with("s_cmpk_lg") => Kind::Equality,
            "s_add_u32" | "s_add_i32" | "s_sub_u32" | "s_sub_i32" | "s_addc_u32" | "s_subb_u32" | "s_mul_i32" => {
                Kind::Carried
            }
            _ => Kind::Any,
        },
    }
}

/// Floating-point numbers can be equal with different bits.
fn equality(name: &str) -> Kind {
    if name.ends_with("f32") || name.ends_with("f16") { Kind::Any } else { Kind::Equality }
}
