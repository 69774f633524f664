//! Scalar operands, branches, and scalar instructions with side effects.

use crate::engine::{Machine, StopReason};
use crate::fault::Fault;
use crate::mode::Mode;
use crate::program::micro_op::{BranchCondition, ScalarAluOp, ScalarSource, SpecialScalarOp};
use crate::scalar::SpecialKind;
use crate::wave::scalar::{EXEC, M0, VCC};

/// Last SGPR that relative addressing can reach.
const LAST_SCALAR: u32 = 105;

/// Encodings of special scalar sources.
mod special {
    pub(super) const SHARED_BASE: u8 = 235;
    pub(super) const SHARED_LIMIT: u8 = 236;
    pub(super) const PRIVATE_BASE: u8 = 237;
    pub(super) const PRIVATE_LIMIT: u8 = 238;
    pub(super) const VCCZ: u8 = 251;
    pub(super) const EXECZ: u8 = 252;
    pub(super) const SCC: u8 = 253;
}

/// High 32 bits of the LDS and private apertures.
pub(crate) mod aperture {
    /// High 32 bits of the LDS aperture.
    pub const SHARED: u32 = 0x0001_0000;
    /// High 32 bits of the private aperture.
    pub const PRIVATE: u32 = 0x0002_0000;
}

impl Machine<'_> {
    /// A word of an SGPR or special source.
    #[inline(always)]
    pub(crate) fn scalar_word(&self, code: u8, word: usize) -> u32 {
        if code < 128 {
            self.wave.scalars[usize::from(code) + word]
        } else {
            (self.special_value(code) >> (32 * word)) as u32
        }
    }

    #[cold]
    fn special_value(&self, code: u8) -> u64 {
        match code {
            special::SHARED_BASE => u64::from(aperture::SHARED) << 32,
            special::SHARED_LIMIT => u64::from(aperture::SHARED) << 32 | 0xffff_ffff,
            special::PRIVATE_BASE => u64::from(aperture::PRIVATE) << 32,
            special::PRIVATE_LIMIT => u64::from(aperture::PRIVATE) << 32 | 0xffff_ffff,
            special::VCCZ => u64::from(self.wave.mask(VCC) == 0),
            special::EXECZ => u64::from(self.wave.exec64() == 0),
            special::SCC => u64::from(self.wave.scc),
            _ => 0,
        }
    }

    /// Value of a scalar source. For a single register, the upper half is undefined.
    #[inline(always)]
    pub(crate) fn scalar_value(&self, source: ScalarSource, wide: bool) -> u64 {
        match source {
            ScalarSource::Register(register) if wide => self.wave.pair(register),
            ScalarSource::Register(register) => u64::from(self.wave.scalars[usize::from(register)]),
            ScalarSource::Constant(value) => i64::from(value).cast_unsigned(),
            ScalarSource::Low(value) => u64::from(value),
            ScalarSource::High(value) => u64::from(value) << 32,
            ScalarSource::Special(code) => self.special_value(code),
        }
    }

    #[inline(always)]
    pub(super) fn scalar(&mut self, uop: &ScalarAluOp) {
        let a = self.scalar_value(uop.sources[0], uop.wide & 1 != 0);
        let b = self.scalar_value(uop.sources[1], uop.wide & 2 != 0);
        let result = (uop.function)(self.wave.mode, a, b, &mut self.wave.scc);
        match uop.results {
            0 => {}
            1 => self.wave.scalars[usize::from(uop.dst)] = result as u32,
            _ => self.wave.set_pair(uop.dst, result),
        }
    }

    /// Whether a branch is taken.
    #[inline(always)]
    pub(super) fn holds(&self, condition: BranchCondition) -> bool {
        match condition {
            BranchCondition::Scc0 => !self.wave.scc,
            BranchCondition::Scc1 => self.wave.scc,
            BranchCondition::Vccz => self.wave.mask(VCC) == 0,
            BranchCondition::Vccnz => self.wave.mask(VCC) != 0,
            BranchCondition::Execz => self.wave.exec64() == 0,
            BranchCondition::Execnz => self.wave.exec64() != 0,
            BranchCondition::Never => false,
        }
    }

    /// Executes a scalar instruction with side effects.
    pub(super) fn special(&mut self, uop: &SpecialScalarOp) -> Option<StopReason> {
        let wide = |machine: &Self| machine.scalar_value(uop.source, true);
        let pc = self.program.pc(self.wave.next - 1);
        let after = pc + u64::from(self.program.size(self.wave.next - 1));
        match uop.kind {
            SpecialKind::SaveExec { function, wide: true } => {
                let old = self.wave.pair(EXEC);
                let new = function(wide(self), old);
                self.wave.set_pair(uop.dst, old);
                self.wave.set_pair(EXEC, new);
                self.wave.scc = new != 0;
            }
            SpecialKind::SaveExec { function, wide: false } => {
                let old = self.wave.scalars[usize::from(EXEC)];
                let new = function(self.scalar_value(uop.source, false), u64::from(old)) as u32;
                self.wave.scalars[usize::from(uop.dst)] = old;
                self.wave.scalars[usize::from(EXEC)] = new;
                self.wave.scc = new != 0;
            }
            SpecialKind::WriteExec { function, wide: is_wide } => {
                let old = if is_wide { self.wave.pair(EXEC) } else { u64::from(self.wave.scalars[usize::from(EXEC)]) };
                let new = function(self.scalar_value(uop.source, is_wide), old);
                if is_wide {
                    self.wave.set_pair(EXEC, new);
                    self.wave.set_pair(uop.dst, new);
                } else {
                    self.wave.scalars[usize::from(EXEC)] = new as u32;
                    self.wave.scalars[usize::from(uop.dst)] = new as u32;
                }
                self.wave.scc = if is_wide { new != 0 } else { new as u32 != 0 };
            }
            SpecialKind::MoveIf { wide: is_wide, when } => {
                if self.wave.scc == when {
                    let value = self.scalar_value(uop.source, is_wide);
                    self.wave.scalars[usize::from(uop.dst)] = value as u32;
                    if is_wide {
                        self.wave.set_pair(uop.dst, value);
                    }
                }
            }
            SpecialKind::BitSet { value, wide: is_wide } => {
                let bit = 1u64 << (self.scalar_value(uop.source, false) & if is_wide { 63 } else { 31 });
                let old =
                    if is_wide { self.wave.pair(uop.dst) } else { u64::from(self.wave.scalars[usize::from(uop.dst)]) };
                let new = if value { old | bit } else { old & !bit };
                if is_wide {
                    self.wave.set_pair(uop.dst, new);
                } else {
                    self.wave.scalars[usize::from(uop.dst)] = new as u32;
                }
            }
            SpecialKind::Accumulate(function) => {
                let old = u64::from(self.wave.scalars[usize::from(uop.dst)]);
                let other = self.scalar_value(uop.source, false);
                let new = function(self.wave.mode, old, other, &mut self.wave.scc);
                self.wave.scalars[usize::from(uop.dst)] = new as u32;
            }
            SpecialKind::Fused(function) | SpecialKind::FusedAccumulate(function) => {
                let [b, c] = uop.others.map(|source| self.scalar_value(source, false) as u32);
                let result = function(self.wave.mode, self.scalar_value(uop.source, false) as u32, b, c);
                self.wave.scalars[usize::from(uop.dst)] = result;
            }
            SpecialKind::GetPc => self.wave.set_pair(uop.dst, after),
            SpecialKind::SetPc => {
                let target = wide(self);
                return self.jump_to(target);
            }
            SpecialKind::SwapPc => {
                let target = wide(self);
                return self.call(uop.dst, after, target);
            }
            SpecialKind::Call => {
                let target = after.wrapping_add_signed(i64::from(uop.simm.cast_signed()) * 4);
                return self.call(uop.dst, after, target);
            }
            SpecialKind::GetRegister => {
                let value = self.hardware_register(uop.simm);
                self.wave.scalars[usize::from(uop.dst)] = value;
            }
            SpecialKind::SetRegister => {
                let value = self.scalar_value(uop.source, false) as u32;
                self.set_hardware_register(uop.simm, value);
            }
            SpecialKind::RoundMode => {
                let mode = self.wave.mode.0 & !0xf | u32::from(uop.simm) & 0xf;
                self.wave.set_mode(Mode(mode));
            }
            SpecialKind::DenormMode => {
                let mode = self.wave.mode.0 & !0xf0 | (u32::from(uop.simm) & 0xf) << 4;
                self.wave.set_mode(Mode(mode));
            }
            SpecialKind::WaveNumber => self.wave.scalars[usize::from(uop.dst)] = self.wave.number,
            SpecialKind::Time => {
                let now = self.launch.clock();
                self.wave.set_pair(uop.dst, now);
            }
            SpecialKind::Message => {
                let value = self.message(uop.simm);
                self.wave.set_pair(uop.dst, value);
            }
            SpecialKind::MessageNarrow => {
                let value = self.message(uop.simm);
                self.wave.scalars[usize::from(uop.dst)] = value as u32;
            }
            SpecialKind::MoveRelative { offsets, wide: is_wide } => {
                let [from, to] = offsets(self.wave.scalars[usize::from(M0)]);
                let moved = |register: u8, offset: u32| relative(register, offset, is_wide);
                let source = match uop.source {
                    ScalarSource::Register(register) => moved(register, from).map(ScalarSource::Register),
                    other => Ok(other),
                };
                let (source, dst) = match (source, moved(uop.dst, to)) {
                    (Ok(source), Ok(dst)) => (source, dst),
                    (Err(fault), _) | (_, Err(fault)) => return Some(self.fault(fault)),
                };
                let value = self.scalar_value(source, is_wide);
                if is_wide {
                    self.wave.set_pair(dst, value);
                } else {
                    self.wave.scalars[usize::from(dst)] = value as u32;
                }
            }
        }
        None
    }

    /// Jumps to an address and saves the return address.
    fn call(&mut self, dst: u8, after: u64, address: u64) -> Option<StopReason> {
        // A call to undecoded code executes again. Until then don't write the return address: the
        // destination may hold the target.
        if self.program.index(address).is_some() {
            self.wave.set_pair(dst, after);
        }
        self.jump_to(address)
    }

    fn jump_to(&mut self, address: u64) -> Option<StopReason> {
        if let Some(target) = self.program.index(address) {
            return self.jump(target);
        }
        // Execute the micro-op again once the code is decoded.
        self.wave.next -= 1;
        Some(StopReason::Undecoded(address))
    }

    /// `s_getreg_b32`: a field of a hardware register.
    fn hardware_register(&self, simm: u16) -> u32 {
        let (id, offset, size) = register_field(simm);
        let value = match id {
            1 => self.wave.mode.0,
            // SH_MEM_BASES: private aperture, then LDS aperture.
            15 => aperture::SHARED & 0xffff_0000 | aperture::PRIVATE >> 16,
            29 if self.launch.has_shader_cycles() => self.launch.clock() as u32 & 0xf_ffff,
            _ => self.wave.hardware[usize::from(id)],
        };
        value >> offset & field_mask(size)
    }

    fn set_hardware_register(&mut self, simm: u16, value: u32) {
        let (id, offset, size) = register_field(simm);
        let field = field_mask(size) << offset;
        let old = if id == 1 { self.wave.mode.0 } else { self.wave.hardware[usize::from(id)] };
        let new = old & !field | value << offset & field;
        if id == 1 {
            self.wave.set_mode(Mode(new));
        }
        self.wave.hardware[usize::from(id)] = new;
    }

    /// Reply to `s_sendmsg_rtn`.
    fn message(&self, simm: u16) -> u64 {
        match simm & 0xff {
            // GET_DOORBELL.
            0x80 => 0,
            // GET_DDID, GET_TMA, GET_TBA.
            0x81 | 0x82 | 0x85 => 0,
            // GET_REALTIME.
            0x83 => self.launch.clock(),
            _ => 0,
        }
    }
}

/// Register number, first bit and number of bits.
fn register_field(simm: u16) -> (u8, u32, u32) {
    ((simm & 63) as u8, u32::from(simm >> 6 & 31), u32::from(simm >> 11) + 1)
}

fn field_mask(size: u32) -> u32 {
    if size >= 32 { !0 } else { (1 << size) - 1 }
}

/// A register plus an index, or the first of a pair. Without an index, any register is valid.
fn relative(register: u8, offset: u32, wide: bool) -> Result<u8, Fault> {
    let moved = u32::from(register).saturating_add(offset);
    let end = moved.saturating_add(u32::from(wide));
    match u8::try_from(moved) {
        Ok(moved) if offset == 0 || end <= LAST_SCALAR => Ok(moved),
        _ => Err(Fault::ScalarRegisterBeyondLast { register: end, last: LAST_SCALAR }),
    }
}
