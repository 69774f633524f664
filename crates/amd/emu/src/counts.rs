//! Execution statistics of a dispatch.

use std::collections::BTreeMap;

use crate::engine::Worker;
use crate::program::{DecodedProgram, InstructionClass};

/// Instructions executed, by class, and bytes moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    instructions: BTreeMap<InstructionClass, u64>,
    /// Vector instructions executed, times the lanes of a wave, active or not.
    pub lane_operations: u64,
    /// Bytes that lanes read from global memory.
    pub bytes_read: u64,
    /// Bytes that lanes wrote to global memory.
    pub bytes_written: u64,
    /// Bytes that lanes read from LDS.
    pub lds_bytes_read: u64,
    /// Bytes that lanes wrote to LDS.
    pub lds_bytes_written: u64,
}

impl Counts {
    /// Adds the statistics of one worker.
    pub(crate) fn add(&mut self, worker: &Worker, program: &DecodedProgram) {
        let lanes = match program.target().wave {
            roci_isa::WaveSize::Wave32 => 32,
            roci_isa::WaveSize::Wave64 => 64,
        };
        let mut times = 0;
        for (index, change) in worker.runs.iter().enumerate().take(program.len()) {
            times += change;
            let origin = program.origin(index as u32);
            let times = times.cast_unsigned();
            let own = u64::from(origin.instructions.min(1));
            *self.instructions.entry(origin.class).or_default() += times * own;
            *self.instructions.entry(InstructionClass::Control).or_default() +=
                times * (u64::from(origin.instructions) - own);
            if matches!(origin.class, InstructionClass::Vector | InstructionClass::Memory | InstructionClass::Lds) {
                self.lane_operations += times * lanes;
            }
        }
        self.bytes_read += worker.bytes[0];
        self.bytes_written += worker.bytes[1];
        self.lds_bytes_read += worker.lds_bytes[0];
        self.lds_bytes_written += worker.lds_bytes[1];
    }

    /// Instructions of all classes.
    pub fn instructions(&self) -> u64 {
        self.instructions.values().sum()
    }

    /// Instructions by class: control, scalar, scalar memory, vector, memory, LDS.
    pub fn by_class(&self) -> [(&'static str, u64); 6] {
        let of = |class: InstructionClass| self.instructions.get(&class).copied().unwrap_or_default();
        [
            ("control", of(InstructionClass::Control)),
            ("scalar", of(InstructionClass::Scalar)),
            ("scalar memory", of(InstructionClass::ScalarMemory)),
            ("vector", of(InstructionClass::Vector)),
            ("memory", of(InstructionClass::Memory)),
            ("lds", of(InstructionClass::Lds)),
        ]
    }
}
