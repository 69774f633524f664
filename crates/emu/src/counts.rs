//! What a dispatch did.

use std::collections::BTreeMap;

use crate::engine::Worker;
use crate::program::{Class, Program};

/// Instructions run, by class, and bytes moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    instructions: BTreeMap<Class, u64>,
    /// Vector computations and accesses times the lanes of a wave, whether on or off.
    pub lane_operations: u64,
    /// Bytes that lanes read from global memory.
    pub bytes_read: u64,
    /// Bytes that lanes wrote to global memory.
    pub bytes_written: u64,
    /// Bytes that lanes read from shared memory.
    pub lds_bytes_read: u64,
    /// Bytes that lanes wrote to shared memory.
    pub lds_bytes_written: u64,
}

impl Counts {
    /// Adds what a worker did.
    pub(crate) fn add(&mut self, worker: &Worker, program: &Program) {
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
            *self.instructions.entry(Class::Control).or_default() += times * (u64::from(origin.instructions) - own);
            if matches!(origin.class, Class::Vector | Class::Memory | Class::Lds) {
                self.lane_operations += times * lanes;
            }
        }
        self.bytes_read += worker.bytes[0];
        self.bytes_written += worker.bytes[1];
        self.lds_bytes_read += worker.lds_bytes[0];
        self.lds_bytes_written += worker.lds_bytes[1];
    }

    /// All instructions that waves ran.
    pub fn instructions(&self) -> u64 {
        self.instructions.values().sum()
    }

    /// Instructions by class: control, scalar, scalar memory, vector, memory, LDS.
    pub fn by_class(&self) -> [(&'static str, u64); 6] {
        let of = |class: Class| self.instructions.get(&class).copied().unwrap_or_default();
        [
            ("control", of(Class::Control)),
            ("scalar", of(Class::Scalar)),
            ("scalar memory", of(Class::ScalarMemory)),
            ("vector", of(Class::Vector)),
            ("memory", of(Class::Memory)),
            ("lds", of(Class::Lds)),
        ]
    }
}
