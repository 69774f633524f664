//! The result of a run, as `roci emu run --json` prints it.

use std::collections::BTreeMap;
use std::time::Duration;

use roci_emu::{Counts, FaultReport};
use serde::Serialize;

use super::error::Error;
use super::kernel::PreparedKernel;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    schema: &'static str,
    version: u32,
    gpu: String,
    /// The target and the location of the code in the file.
    object: String,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    /// Number of workgroups.
    groups: u64,
    threads: usize,
    /// `ok` or `fault`.
    status: &'static str,
    fault: Option<FaultJson>,
    counts: Option<CountsJson>,
    seconds: Option<f64>,
    lane_operations_per_second: Option<f64>,
    outputs: Vec<OutputJson>,
}

#[derive(Clone, Debug, Serialize)]
struct FaultJson {
    message: String,
    workgroup: [u32; 3],
    wave: u32,
    pc: u64,
    offset: Option<u64>,
    instruction: String,
}

#[derive(Clone, Debug, Serialize)]
struct CountsJson {
    instructions: u64,
    by_class: BTreeMap<&'static str, u64>,
    lane_operations: u64,
    bytes_read: u64,
    bytes_written: u64,
    lds_bytes_read: u64,
    lds_bytes_written: u64,
}

#[derive(Clone, Debug, Serialize)]
struct OutputJson {
    path: String,
    dtype: String,
    shape: Vec<u64>,
}

impl RunReport {
    /// The report of a kernel that completed, or that ended with an error.
    pub fn new(kernel: &PreparedKernel, threads: usize, result: Result<(&Counts, Duration), &Error>) -> Self {
        let seconds = result.ok().map(|(_, time)| time.as_secs_f64());
        let outputs = kernel.outputs().iter().filter(|_| result.is_ok()).map(|output| OutputJson {
            path: output.path.display().to_string(),
            dtype: output.dtype.to_string(),
            shape: output.shape.clone(),
        });
        Self {
            schema: "roci.emu.run",
            version: 1,
            gpu: kernel.chip().to_string(),
            object: kernel.location().to_owned(),
            kernel: kernel.name().to_owned(),
            grid: kernel.grid(),
            block: kernel.block(),
            groups: kernel.workgroups(),
            threads,
            status: if result.is_ok() { "ok" } else { "fault" },
            fault: result.err().and_then(Error::fault).map(FaultJson::from),
            counts: result.ok().map(|(counts, _)| CountsJson::from(counts)),
            seconds,
            lane_operations_per_second: result.ok().map(|(counts, time)| lane_rate(counts, time)),
            outputs: outputs.collect(),
        }
    }
}

/// Lane operations per second.
pub fn lane_rate(counts: &Counts, time: Duration) -> f64 {
    counts.lane_operations as f64 / time.as_secs_f64().max(1e-9)
}

impl From<&FaultReport> for FaultJson {
    fn from(report: &FaultReport) -> Self {
        Self {
            message: report.fault.to_string(),
            workgroup: report.workgroup,
            wave: report.wave,
            pc: report.pc,
            offset: report.offset,
            instruction: report.instruction.clone(),
        }
    }
}

impl From<&Counts> for CountsJson {
    fn from(counts: &Counts) -> Self {
        Self {
            instructions: counts.instructions(),
            by_class: counts.by_class().into_iter().collect(),
            lane_operations: counts.lane_operations,
            bytes_read: counts.bytes_read,
            bytes_written: counts.bytes_written,
            lds_bytes_read: counts.lds_bytes_read,
            lds_bytes_written: counts.lds_bytes_written,
        }
    }
}
