//! Scalars, branches and what else scalar instructions touch.

use crate::engine::{Exit, Machine};
use crate::fault::Fault;
use crate::mode::Mode;
use crate::program::step::{Condition, ScalarSource, ScalarStep, SpecialStep};
use crate::scalar::Special;
use crate::wave::scalar::{EXEC, M0, VCC};

/// The last scalar register that an index may reach.
const LAST_SCALAR: u32 = 105;

/// The encodings of special scalar sources.
mod special {
    pub(super) const SHARED_BASE: u8 = 235;
    pub(super) const SHARED_LIMIT: u8 = 236;
    pub(super) const PRIVATE_BASE: u8 = 237;
    pub(super) const PRIVATE_LIMIT: u8 = 238;
    pub(super) const VCCZ: u8 = 251;
    pub(super) const EXECZ: u8 = 252;
    pub(super) const SCC: u8 = 253;
}

/// Upper halves of the addresses of shared and private memory.
pub(crate) mod aperture {
    /// The upper half of the addresses of LDS.
    pub const SHARED: u32 = 0x0001_0000;
    /// The upper half of the addresses of private memory.
    pub const PRIVATE: u32 = 0x0002_0000;
}

impl Machine<'_> {
    /// A word of a scalar register or special source.
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

    /// The value of a scalar source; of one register, its upper half is not to be used.
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
    pub(super) fn scalar(&mut self, step: &ScalarStep) {
        let a = self.scalar_value(step.sources[0], step.wide & 1 != 0);
        let b = self.scalar_value(step.sources[1], step.wide & 2 != 0);
        let result = (step.function)(self.wave.mode, a, b, &mut self.wave.scc);
        match step.results {
            0 => {}
            1 => self.wave.scalars[usize::from(step.dst)] = result as u32,
            _ => self.wave.set_pair(step.dst, result),
        }
    }

    /// Whether a branch is taken.
    #[inline(always)]
    pub(super) fn holds(&self, condition: Condition) -> bool {
        match condition {
            Condition::Scc0 => !self.wave.scc,
            Condition::Scc1 => self.wave.scc,
            Condition::Vccz => self.wave.mask(VCC) == 0,
            Condition::Vccnz => self.wave.mask(VCC) != 0,
            Condition::Execz => self.wave.exec64() == 0,
            Condition::Execnz => self.wave.exec64() != 0,
            Condition::Never => false,
        }
    }

    /// An instruction that touches more than its operands.
    pub(super) fn special(&mut self, step: &SpecialStep) -> Option<Exit> {
        let wide = |machine: &Self| machine.scalar_value(step.source, true);
        let pc = self.program.pc(self.wave.next - 1);
        let after = pc + u64::from(self.program.size(self.wave.next - 1));
        match step.kind {
            Special::SaveExec { function, wide: true } => {
                let old = self.wave.pair(EXEC);
                let new = function(wide(self), old);
                self.wave.set_pair(step.dst, old);
                self.wave.set_pair(EXEC, new);
                self.wave.scc = new != 0;
            }
            Special::SaveExec { function, wide: false } => {
                let old = self.wave.scalars[usize::from(EXEC)];
                let new = function(self.scalar_value(step.source, false), u64::from(old)) as u32;
                self.wave.scalars[usize::from(step.dst)] = old;
                self.wave.scalars[usize::from(EXEC)] = new;
                self.wave.scc = new != 0;
            }
            Special::WriteExec { function, wide: is_wide } => {
                let old = if is_wide { self.wave.pair(EXEC) } else { u64::from(self.wave.scalars[usize::from(EXEC)]) };
                let new = function(self.scalar_value(step.source, is_wide), old);
                if is_wide {
                    self.wave.set_pair(EXEC, new);
                    self.wave.set_pair(step.dst, new);
                } else {
                    self.wave.scalars[usize::from(EXEC)] = new as u32;
                    self.wave.scalars[usize::from(step.dst)] = new as u32;
                }
                self.wave.scc = if is_wide { new != 0 } else { new as u32 != 0 };
            }
            Special::MoveIf { wide: is_wide, when } => {
                if self.wave.scc == when {
                    let value = self.scalar_value(step.source, is_wide);
                    self.wave.scalars[usize::from(step.dst)] = value as u32;
                    if is_wide {
                        self.wave.set_pair(step.dst, value);
                    }
                }
            }
            Special::BitSet { value, wide: is_wide } => {
                let bit = 1u64 << (self.scalar_value(step.source, false) & if is_wide { 63 } else { 31 });
                let old = if is_wide {
                    self.wave.pair(step.dst)
                } else {
                    u64::from(self.wave.scalars[usize::from(step.dst)])
                };
                let new = if value { old | bit } else { old & !bit };
                if is_wide {
                    self.wave.set_pair(step.dst, new);
                } else {
                    self.wave.scalars[usize::from(step.dst)] = new as u32;
                }
            }
            Special::Accumulate(function) => {
                let old = u64::from(self.wave.scalars[usize::from(step.dst)]);
                let other = self.scalar_value(step.source, false);
                let new = function(self.wave.mode, old, other, &mut self.wave.scc);
                self.wave.scalars[usize::from(step.dst)] = new as u32;
            }
            Special::Fused(function) | Special::FusedAccumulate(function) => {
                let [b, c] = step.others.map(|source| self.scalar_value(source, false) as u32);
                let result = function(self.wave.mode, self.scalar_value(step.source, false) as u32, b, c);
                self.wave.scalars[usize::from(step.dst)] = result;
            }
            Special::GetPc => self.wave.set_pair(step.dst, after),
            Special::SetPc => {
                let target = wide(self);
                return self.jump_to(target);
            }
            Special::SwapPc => {
                let target = wide(self);
                return self.call(step.dst, after, target);
            }
            Special::Call => {
                let target = after.wrapping_add_signed(i64::from(step.simm.cast_signed()) * 4);
                return self.call(step.dst, after, target);
            }
            Special::GetRegister => {
                let value = self.hardware_register(step.simm);
                self.wave.scalars[usize::from(step.dst)] = value;
            }
            Special::SetRegister => {
                let value = self.scalar_value(step.source, false) as u32;
                self.set_hardware_register(step.simm, value);
            }
            Special::RoundMode => {
                let mode = self.wave.mode.0 & !0xf | u32::from(step.simm) & 0xf;
                self.wave.set_mode(Mode(mode));
            }
            Special::DenormMode => {
                let mode = self.wave.mode.0 & !0xf0 | (u32::from(step.simm) & 0xf) << 4;
                self.wave.set_mode(Mode(mode));
            }
            Special::WaveNumber => self.wave.scalars[usize::from(step.dst)] = self.wave.number,
            Special::Time => {
                let now = self.launch.clock();
                self.wave.set_pair(step.dst, now);
            }
            Special::Message => {
                let value = self.message(step.simm);
                self.wave.set_pair(step.dst, value);
            }
            Special::MessageNarrow => {
                let value = self.message(step.simm);
                self.wave.scalars[usize::from(step.dst)] = value as u32;
            }
            Special::MoveRelative { offsets, wide: is_wide } => {
                let [from, to] = offsets(self.wave.scalars[usize::from(M0)]);
                let moved = |register: u8, offset: u32| relative(register, offset, is_wide);
                let source = match step.source {
                    ScalarSource::Register(register) => moved(register, from).map(ScalarSource::Register),
                    other => Ok(other),
                };
                let (source, dst) = match (source, moved(step.dst, to)) {
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

    /// Goes on at an address and notes where to come back to.
    fn call(&mut self, dst: u8, after: u64, address: u64) -> Option<Exit> {
        // A call to code that is not known yet runs again: till then the pair must keep the target, should it hold it.
        if self.program.index(address).is_some() {
            self.wave.set_pair(dst, after);
        }
        self.jump_to(address)
    }

    /// Goes on at an address.
    fn jump_to(&mut self, address: u64) -> Option<Exit> {
        if let Some(target) = self.program.index(address) {
            return self.jump(target);
        }
        // The step runs again once the code there is known.
        self.wave.next -= 1;
        Some(Exit::Undecoded(address))
    }

    /// `s_getreg_b32`: bits of a hardware register.
    fn hardware_register(&self, simm: u16) -> u32 {
        let (id, offset, size) = register_field(simm);
        let value = match id {
            1 => self.wave.mode.0,
            // SH_MEM_BASES: where private memory begins, then LDS.
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

    /// What a message answers.
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

/// A register, or the first of a pair, so far behind another; one that is named as it is may be any.
fn relative(register: u8, offset: u32, wide: bool) -> Result<u8, Fault> {
    let moved = u32::from(register).saturating_add(offset);
    let end = moved.saturating_add(u32::from(wide));
    match u8::try_from(moved) {
        Ok(moved) if offset == 0 || end <= LAST_SCALAR => Ok(moved),
        _ => Err(Fault::ScalarRegisterBeyondLast { register: end, last: LAST_SCALAR }),
    }
}
