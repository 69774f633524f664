//! `uninit`: tracks uninitialized values bit by bit until one matters.
//!
//! Every bit of a register, of LDS and of private memory has a shadow bit; set means undefined.
//! Instructions propagate shadows (`rules`). A finding is reported only if an undefined value
//! determines an address, a branch or `exec`, or is stored to global memory. Global memory counts
//! as defined.

mod lanes;
mod memory;
mod rules;
mod scalars;

use crate::engine::Machine;
use crate::launch::Launch;
use crate::observe::ObservedInstruction;
use crate::program::MicroOp;
use crate::program::micro_op::{BranchCondition, ScalarSource};
use crate::row::LANES;
use crate::wave::{Wave, scalar};
use roci_isa::Family;
use rules::ShadowedValue;

use super::memory_access::MemoryAccess;

pub(super) struct WorkgroupShadows {
    waves: Vec<WaveShadow>,
    lds: Vec<u8>,
}

/// Shadows of a wave. Set bits are undefined.
pub(super) struct WaveShadow {
    /// Laid out like the wave's registers.
    rows: Vec<[u32; LANES]>,
    registers: usize,
    scalars: [u32; scalar::COUNT],
    scc: bool,
    /// Private memory of the wave, byte by byte.
    private: Vec<u8>,
}

impl WorkgroupShadows {
    /// State for waves about to start.
    pub(super) fn new(launch: &Launch, waves: &[Wave]) -> Self {
        Self {
            waves: waves.iter().map(|wave| WaveShadow::new(launch, wave)).collect(),
            lds: vec![0xff; launch.lds as usize],
        }
    }

    /// Processes a micro-op before it runs.
    pub(super) fn before(
        &mut self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &ObservedInstruction,
        accessed: Option<&MemoryAccess>,
    ) -> Result<(), String> {
        let Some(uop) = machine.program.uop_at(index) else { return Ok(()) };
        if let Some(accessed) = accessed {
            return self.memory(machine, uop, accessed);
        }
        let shadow = &mut self.waves[machine.wave.number as usize];
        match uop {
            MicroOp::Branch(condition, _) => shadow.branch(machine, *condition),
            MicroOp::Scalar(uop) => shadow.scalar(machine, uop, decoded),
            MicroOp::Special(uop) => shadow.special(machine, uop, decoded),
            MicroOp::ScalarMemory(uop) => shadow.scalar_memory(uop),
            MicroOp::ScalarWrite(uop) => shadow.scalar_write(uop),
            MicroOp::CrossLane(uop) => shadow.cross_lane(machine, uop),
            MicroOp::Lds(uop) => shadow.exchange(machine, uop),
            _ => shadow.vector(machine, uop, decoded),
        }
    }
}

impl WaveShadow {
    fn new(launch: &Launch, wave: &Wave) -> Self {
        let descriptor = &launch.descriptor;
        let mut shadow = Self {
            rows: vec![[!0; LANES]; wave.halves * wave.registers],
            registers: wave.registers,
            scalars: [!0; scalar::COUNT],
            scc: true,
            private: vec![0xff; launch.scratch_per_wave() as usize],
        };
        let user: usize = descriptor.user_sgprs().map(|register| register.registers() as usize).sum();
        let first = descriptor.user_sgpr_count() as usize;
        let ids = descriptor.workgroup_ids().into_iter().filter(|enabled| *enabled).count();
        let offset = descriptor.private_segment() && launch.chip.family() == Family::Gfx10;
        let system = ids + usize::from(descriptor.workgroup_info()) + usize::from(offset);
        for register in (0..user).chain(first..first + system) {
            shadow.scalars[register.min(105)] = 0;
        }
        for register in (124..128).filter(|&register| register != usize::from(scalar::M0)).chain(128..scalar::COUNT) {
            shadow.scalars[register] = 0;
        }
        let vectors = match launch.chip.family() {
            Family::Gfx10 => 1 + descriptor.workitem_ids() as usize,
            Family::Gfx11 => 1,
        };
        for half in 0..wave.halves {
            for row in 0..vectors.min(wave.registers) {
                for lane in 0..LANES {
                    if wave.exec(half) >> lane & 1 == 1 {
                        shadow.rows[half * wave.registers + row][lane] = 0;
                    }
                }
            }
        }
        shadow
    }

    fn row(&self, half: usize, register: usize) -> &[u32; LANES] {
        &self.rows[half * self.registers + register]
    }

    fn row_mut(&mut self, half: usize, register: usize) -> &mut [u32; LANES] {
        &mut self.rows[half * self.registers + register]
    }

    /// Shadow of a word of an SGPR or special source.
    fn scalar_word(&self, code: u8, word: usize) -> u32 {
        match code {
            0..128 => self.scalars[usize::from(code) + word],
            // SCC as a source.
            253 => u32::from(self.scc && word == 0),
            _ => 0,
        }
    }

    /// A scalar source: value and undefined bits.
    fn source(&self, machine: &Machine<'_>, source: ScalarSource, wide: bool) -> ShadowedValue {
        let unknown = match source {
            ScalarSource::Register(register) if wide => {
                u64::from(self.scalar_word(register, 0)) | u64::from(self.scalar_word(register, 1)) << 32
            }
            ScalarSource::Register(register) => u64::from(self.scalar_word(register, 0)),
            ScalarSource::Special(code) => u64::from(self.scalar_word(code, 0)),
            _ => 0,
        };
        ShadowedValue { value: machine.scalar_value(source, wide), unknown }
    }

    /// Sets the shadow of one or two SGPRs. `exec` must not become undefined.
    fn set_scalar(&mut self, machine: &Machine<'_>, register: u8, unknown: u64, words: usize) -> Result<(), String> {
        for word in 0..words {
            let number = (usize::from(register) + word).min(scalar::COUNT - 1);
            let bits = (unknown >> (32 * word)) as u32;
            // Writes to the sink are dropped.
            if number < usize::from(scalar::SINK) {
                self.scalars[number] = bits;
            }
            let exec = usize::from(scalar::EXEC);
            if bits != 0 && (exec..exec + machine.wave.halves).contains(&number) {
                let lane = 32 * (number - exec) as u32 + bits.trailing_zeros();
                return Err(undefined(&format!("whether lane {lane} is active (exec)")));
            }
        }
        Ok(())
    }

    /// Checks that the condition of a branch is defined.
    fn branch(&self, machine: &Machine<'_>, condition: BranchCondition) -> Result<(), String> {
        match condition {
            BranchCondition::Scc0 | BranchCondition::Scc1 if self.scc => Err(undefined("a branch (scc)")),
            BranchCondition::Vccz | BranchCondition::Vccnz => {
                let first = usize::from(scalar::VCC);
                let mut known_set = false;
                let mut unknown = false;
                for number in first..first + machine.wave.halves {
                    unknown |= self.scalars[number] != 0;
                    known_set |= machine.wave.scalars[number] & !self.scalars[number] != 0;
                }
                if unknown && !known_set { Err(undefined("a branch (vcc)")) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }
}

/// The text of a finding: what the undefined value determines.
fn undefined(what: &str) -> String {
    format!(
        "undefined value: an uninitialized value determines {what} (initialize it on every path to this instruction)"
    )
}
