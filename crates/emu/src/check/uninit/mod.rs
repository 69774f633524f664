//! `uninit`: values that were never set, followed bit by bit until one decides something.
//!
//! Every bit of a register, of LDS and of private memory has a shadow: set means undefined. Computations pass shadows on
//! (`rules`), and nothing is said until an undefined value decides an address, a branch or `exec`, or reaches global
//! memory. Global memory counts as defined.

mod lanes;
mod memory;
mod rules;
mod scalars;

use crate::engine::Machine;
use crate::launch::Launch;
use crate::observe::Decoded;
use crate::program::Step;
use crate::program::step::{Condition, ScalarSource};
use crate::row::LANES;
use crate::wave::{Wave, scalar};
use roci_isa::Family;
use rules::Bits;

use super::touch::Touched;

/// The shadows of a group.
pub(super) struct Group {
    waves: Vec<Shadow>,
    lds: Vec<u8>,
}

/// The shadows of a wave: set bits are undefined.
pub(super) struct Shadow {
    /// As the wave's own rows.
    rows: Vec<[u32; LANES]>,
    registers: usize,
    scalars: [u32; scalar::COUNT],
    scc: bool,
    /// Private memory from the wave's first byte on.
    private: Vec<u8>,
}

impl Group {
    /// For waves that are about to start.
    pub(super) fn new(launch: &Launch, waves: &[Wave]) -> Self {
        Self {
            waves: waves.iter().map(|wave| Shadow::new(launch, wave)).collect(),
            lds: vec![0xff; launch.lds as usize],
        }
    }

    /// Looks at a step before it runs.
    pub(super) fn before(
        &mut self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &Decoded,
        touched: Option<&Touched>,
    ) -> Result<(), String> {
        let Some(step) = machine.program.step_at(index) else { return Ok(()) };
        if let Some(touched) = touched {
            return self.memory(machine, step, touched);
        }
        let shadow = &mut self.waves[machine.wave.number as usize];
        match step {
            Step::Branch(condition, _) => shadow.branch(machine, *condition),
            Step::Scalar(step) => shadow.scalar(machine, step, decoded),
            Step::Special(step) => shadow.special(machine, step, decoded),
            Step::ScalarMemory(step) => shadow.scalar_memory(step),
            Step::ScalarWrite(step) => shadow.scalar_write(step),
            Step::CrossLane(step) => shadow.cross_lane(machine, step),
            Step::Lds(step) => shadow.exchange(machine, step),
            _ => shadow.vector(machine, step, decoded),
        }
    }
}

impl Shadow {
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

    /// A word of a scalar register or special source.
    fn scalar_word(&self, code: u8, word: usize) -> u32 {
        match code {
            0..128 => self.scalars[usize::from(code) + word],
            // The condition code as a source.
            253 => u32::from(self.scc && word == 0),
            _ => 0,
        }
    }

    /// A scalar source with its value.
    fn source(&self, machine: &Machine<'_>, source: ScalarSource, wide: bool) -> Bits {
        let unknown = match source {
            ScalarSource::Register(register) if wide => {
                u64::from(self.scalar_word(register, 0)) | u64::from(self.scalar_word(register, 1)) << 32
            }
            ScalarSource::Register(register) => u64::from(self.scalar_word(register, 0)),
            ScalarSource::Special(code) => u64::from(self.scalar_word(code, 0)),
            _ => 0,
        };
        Bits { value: machine.scalar_value(source, wide), unknown }
    }

    /// Sets the shadow of one scalar register or two; `exec` must not become undefined.
    fn set_scalar(&mut self, machine: &Machine<'_>, register: u8, unknown: u64, words: usize) -> Result<(), String> {
        for word in 0..words {
            let number = (usize::from(register) + word).min(scalar::COUNT - 1);
            let bits = (unknown >> (32 * word)) as u32;
            // What goes to the sink is forgotten.
            if number < usize::from(scalar::SINK) {
                self.scalars[number] = bits;
            }
            let exec = usize::from(scalar::EXEC);
            if bits != 0 && (exec..exec + machine.wave.halves).contains(&number) {
                let lane = 32 * (number - exec) as u32 + bits.trailing_zeros();
                return Err(undefined(&format!("whether lane {lane} is on (exec)")));
            }
        }
        Ok(())
    }

    /// A branch must not depend on what is undefined.
    fn branch(&self, machine: &Machine<'_>, condition: Condition) -> Result<(), String> {
        match condition {
            Condition::Scc0 | Condition::Scc1 if self.scc => Err(undefined("a branch (scc)")),
            Condition::Vccz | Condition::Vccnz => {
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

/// The complaint: what an undefined value decides.
fn undefined(what: &str) -> String {
    format!("undefined value: what was never set decides {what} (set it on every path before)")
}
