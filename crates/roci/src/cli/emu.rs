//! Arguments of `roci emu`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{FormatArgs, seconds};

/// Verbs of `roci emu`.
#[derive(Debug, Subcommand)]
pub(crate) enum EmuCommand {
    /// Run a kernel and write its results
    ///
    /// Prints instruction counts by class, bytes read and written, and the time. Results are
    /// written only if the kernel completes without a fault.
    #[command(after_help = EMU_EXAMPLES)]
    Run(EmuRunArgs),
    /// Trace the instructions of waves, with the values that they read and write
    ///
    /// One line per instruction: wave, offset from the kernel's entry, disassembly, registers read,
    /// registers written. Vector registers are shown for the selected lanes; `-` is an inactive
    /// lane.
    #[command(after_help = EMU_TRACE_EXAMPLES)]
    Trace(EmuTraceArgs),
    /// Run a program that uses HSA or HIP, unmodified, on emulated GPUs
    ///
    /// The program loads an emulated `libhsa-runtime64.so.1` and finds `/dev/kfd` and the kernel
    /// module. It replaces the roci process (`exec`), so that its exit code is passed on.
    #[command(after_help = EMU_EXEC_EXAMPLES)]
    Exec(EmuExecArgs),
}

impl EmuCommand {
    /// Whether results are printed as JSON.
    pub(super) fn json(&self) -> bool {
        match self {
            Self::Run(arguments) => arguments.format.json,
            Self::Trace(arguments) => arguments.format.json,
            Self::Exec(_) => false,
        }
    }
}

/// Arguments of `roci emu exec`.
#[derive(Debug, Args)]
pub(crate) struct EmuExecArgs {
    /// Chips to emulate, separated by commas: gfx1010, gfx1012, gfx1013, gfx1030, gfx1100, gfx1151
    #[arg(long, value_name = "CHIP[,CHIP]")]
    pub(crate) gpu: String,
    /// Memory of each GPU, such as `512MiB` or `8GiB` (default: ROCI_EMU_MEMORY, or the chip's)
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory: Option<u64>,
    /// Checks to enable: `waits`, `uninit`, `races` or `all`, separated by commas (default:
    /// ROCI_EMU_CHECK)
    #[arg(long, value_name = "LIST")]
    pub(crate) check: Option<String>,
    /// Threads of each GPU; 1 makes runs deterministic (default: ROCI_EMU_THREADS, or all cores)
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Keep HSA_OVERRIDE_GFX_VERSION in the environment of the program
    #[arg(long)]
    pub(crate) keep_env: bool,
    /// Print the environment as shell commands instead of running a program: `eval "$(roci emu exec
    /// --gpu gfx1010 --print)"`
    #[arg(long)]
    pub(crate) print: bool,
    /// Program and its arguments
    #[arg(value_name = "PROGRAM", required_unless_present = "print", last = true)]
    pub(crate) program: Vec<std::ffi::OsString>,
}

/// A kernel and how it is launched.
#[derive(Debug, Args)]
pub(crate) struct EmuKernelArgs {
    /// File with AMD GPU code: a code object, a bundle, or a program or library that embeds one
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Chip to emulate: gfx1010, gfx1012, gfx1013, gfx1030, gfx1100 or gfx1151
    #[arg(long, value_name = "CHIP")]
    pub(crate) gpu: String,
    /// Kernel to run, as `roci objects` shows it
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: String,
    /// Grid size in work-items, not workgroups, in each dimension
    #[arg(long, value_name = "X[,Y,Z]", value_parser = size)]
    pub(crate) grid: [u32; 3],
    /// Workgroup size in work-items in each dimension
    #[arg(long, value_name = "X[,Y,Z]", value_parser = size)]
    pub(crate) block: [u32; 3],
    /// Kernel argument; give all of them in order
    ///
    /// `in:FILE.npy` is an input array, `out:FILE.npy:DTYPE:COUNT` an output array that is
    /// initialized to zero, `inout:IN.npy:OUT.npy` both. Scalars are `u32:5`, `i32:-1`, `f32:2.5`
    /// and so on for 8 to 64 bits; the members of a struct are `u32:5,f32:1`; `lds:BYTES` is a
    /// pointer to shared memory. Hidden arguments are filled in by roci.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Dynamic shared memory of a workgroup, in addition to the kernel's static shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) lds: u32,
    /// Checks to enable: `waits`, `uninit`, `races` or `all`, separated by commas (default:
    /// ROCI_EMU_CHECK)
    ///
    /// `waits`: a register is used before the wait for its load. `uninit`: an uninitialized value
    /// decides an address or a branch, or is stored. `races`: two waves access the same shared
    /// memory without a barrier between them.
    #[arg(long, value_name = "LIST")]
    pub(crate) check: Option<String>,
    /// Seconds that the kernel may run (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// Arguments of `roci emu run`.
#[derive(Debug, Args)]
pub(crate) struct EmuRunArgs {
    #[command(flatten)]
    pub(crate) kernel: EmuKernelArgs,
    /// Threads that run workgroups; 1 makes runs deterministic (default: all cores)
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci emu trace`.
#[derive(Debug, Args)]
pub(crate) struct EmuTraceArgs {
    #[command(flatten)]
    pub(crate) kernel: EmuKernelArgs,
    /// Workgroup to trace
    #[arg(long, value_name = "X[,Y,Z]", value_parser = position, default_value = "0,0,0")]
    pub(crate) workgroup: [u32; 3],
    /// Wave of the workgroup to trace (default: all)
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// Instructions to print, by offset from the kernel's entry: `0x40..0x80`, `0x40..`
    #[arg(long, value_name = "FROM..TO", value_parser = range, default_value = "0..")]
    pub(crate) pc: std::ops::Range<u64>,
    /// Lanes of vector registers to print: `0-3,31`
    #[arg(long, value_name = "LIST", value_parser = lanes, default_value = "0-3")]
    pub(crate) lanes: Lanes,
    /// Lines to print before the kernel is stopped
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) limit: u64,
    /// Print one JSON object a line, with `schema` and `version`
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Lanes of a wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lanes(pub(crate) Vec<u32>);

pub(super) const EMU_EXAMPLES: &str = "Examples:
  roci emu run saxpy.co --gpu gfx1010 --kernel saxpy --grid 4096 --block 256 \\
    --arg in:x.npy --arg inout:y.npy:result.npy --arg f32:2.5 --arg u32:4096
  roci emu run kernels.hsaco --gpu gfx1100 --kernel scan --grid 1024 --block 256 \\
    --arg out:sums.npy:u32:1024 --check all --json";

const EMU_TRACE_EXAMPLES: &str = "Examples:
  roci emu trace saxpy.co --gpu gfx1010 --kernel saxpy --grid 64 --block 64 --wave 0 --limit 40 \\
    --arg in:x.npy --arg inout:y.npy:result.npy --arg f32:2.5 --arg u32:64";

const EMU_EXEC_EXAMPLES: &str = "Examples:
  roci emu exec --gpu gfx1010 -- rocminfo
  roci emu exec --gpu gfx1010,gfx1151 --memory 2GiB --check waits -- ./my_hip_program --size 64
  eval \"$(roci emu exec --gpu gfx1030 --print)\"";

/// One to three sizes; missing ones are 1.
fn size(text: &str) -> Result<[u32; 3], String> {
    let size = numbers(text, 1)?;
    if size.contains(&0) { Err("a size is at least 1".into()) } else { Ok(size) }
}

/// One to three positions; missing ones are 0.
fn position(text: &str) -> Result<[u32; 3], String> {
    numbers(text, 0)
}

fn numbers(text: &str, absent: u32) -> Result<[u32; 3], String> {
    let mut numbers = [absent; 3];
    for (index, part) in text.split(',').enumerate() {
        let place = numbers.get_mut(index).ok_or("there are three dimensions at most")?;
        *place = part.trim().parse().map_err(|_| format!("`{part}` is not a number"))?;
    }
    Ok(numbers)
}

/// A range of offsets; a missing end is unbounded.
fn range(text: &str) -> Result<std::ops::Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("it is not FROM..TO")?;
    let number = |text: &str, absent: u64| match text.strip_prefix("0x") {
        _ if text.is_empty() => Ok(absent),
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is not a number")),
        None => text.parse().map_err(|_| format!("`{text}` is not a number")),
    };
    Ok(number(from, 0)?..number(to, u64::MAX)?)
}

/// Lanes and ranges of lanes.
fn lanes(text: &str) -> Result<Lanes, String> {
    let mut lanes = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let lane = |text: &str| text.trim().parse::<u32>().ok().filter(|lane| *lane < 64);
        match (lane(from), lane(to)) {
            (Some(from), Some(to)) if from <= to => lanes.extend(from..=to),
            _ => return Err(format!("`{part}` is not a lane or a range of lanes from 0 to 63")),
        }
    }
    Ok(Lanes(lanes))
}

/// An amount of memory.
fn memory(text: &str) -> Result<u64, String> {
    roci_emu_hsa::memory_size(text).map_err(|error| error.reason)
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|threads| (1..=1024).contains(threads)).ok_or_else(|| "not a number from 1 to 1024".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_ranges_and_lanes_are_read() {
        assert_eq!(size("4,2"), Ok([4, 2, 1]));
        assert_eq!(position("1"), Ok([1, 0, 0]));
        assert!(size("0").is_err() && size("1,2,3,4").is_err() && size("x").is_err());
        assert_eq!(range("0x40..").map(|range| range.start), Ok(64));
        assert_eq!(range("8..16"), Ok(8..16));
        assert!(range("8").is_err() && range("a..b").is_err());
        assert_eq!(lanes("0-2,31"), Ok(Lanes(vec![0, 1, 2, 31])));
        assert!(lanes("64").is_err() && lanes("3-1").is_err());
    }
}
