//! The command line: every verb and option, with the text that help, man page and completions are made of.
//!
//! Parsing does no I/O: it neither reads the environment nor looks for devices. Verbs do that when they run.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Compute on the AMD GPU you actually own.
///
/// roci finds the devices of this machine, runs kernels on them and says whether the results are right. Data goes to
/// standard output, everything else to standard error.
#[derive(Debug, Parser)]
#[command(name = "roci", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_long_help = crate::cli::after_help())]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) drivers: DriverArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every verb takes.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// When to use colour
    ///
    /// `auto` is a terminal without `NO_COLOR` and with a `TERM` other than `dumb`; `FORCE_COLOR` counts as a terminal.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub(crate) color: ColorWhen,
    /// Draw no progress bars
    ///
    /// They are drawn on standard error only, and only when it is a terminal.
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Print results and errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// What drivers are told, whichever verb uses them.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DriverArgs {
    /// File or folder of `libhsa-runtime64.so`, looked at before all others; several with colons between, or repeated
    ///
    /// Then come ROCI_HAL_AMDGPU_LIBHSA_PATH, IREE_HAL_AMDGPU_LIBHSA_PATH, the folders on PATH, the loader's own search and
    /// /opt/rocm/lib. A place without a library that works is passed over.
    #[arg(long, value_name = "PATH", value_delimiter = ':', global = true, help_heading = "Drivers")]
    pub(crate) amdgpu_libhsa_search_path: Vec<PathBuf>,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On terminals.
    #[default]
    Auto,
    /// Always, in pipes too.
    Always,
    /// Never.
    Never,
}

/// The form of a verb's results.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FormatArgs {
    /// Print one JSON object with `schema` and `version`, instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what a device reaches: launches, transfers, copies, sums, matrix products
    ///
    /// Each figure is the best of several runs. Results are checked, outside of the measured time: all that is uploaded and
    /// downloaded, and what the kernels write in a few dozen places; the launches compute nothing. Problems are as large as
    /// suits the device; `--quick` makes them smaller.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Run the kernels on every device and check their results
    ///
    /// Each kernel is run through the HAL on each device: memory is allocated and filled, the kernel recorded and
    /// submitted, the result read back and compared with a plain reference computed here in double precision. The table
    /// shows the best time of several runs, the rate, and whether the result is right.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// List the devices that the drivers find
    ///
    /// The first column can be pasted behind `--device`. A driver that cannot look for devices is shown with the reason.
    #[command(after_help = DEVICES_EXAMPLES)]
    Devices(DevicesArgs),
    /// Say what is wrong with this machine, and what to do
    ///
    /// Looks at the GPUs, the kernel and its driver, permissions, ROCm, wheels, Vulkan and OpenCL, lays rules over what it
    /// finds and prints the verdict first. Nothing is changed: remedies are printed. No root's rights are needed, and
    /// neither HSA nor OpenCL is started unless `--deep` or `--verify` asks for it. Exit code 0: healthy; 1: problems.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Run AMD code on an emulated GPU
    ///
    /// Kernels of code objects run on this machine's CPU exactly as written for the chip, with every address checked. No
    /// AMD GPU and no ROCm is needed.
    #[command(after_help = EMU_EXAMPLES)]
    Emu {
        #[command(subcommand)]
        command: EmuCommand,
    },
    /// List the environment variables that roci reads, with their values
    #[command(after_help = ENV_EXAMPLES)]
    Env(EnvArgs),
    /// List the AMD GPU code in files: targets, kernels, what they need
    ///
    /// Looks into code objects, offload bundles (also compressed), programs, libraries and object files with GPU code
    /// inside, and archives of those. One row is a kernel: registers, LDS, scratch and argument bytes, lanes of a wave,
    /// and how large a work-group may be (or must be, as `64x1x1`). A file that cannot be read is named, and the others
    /// go on. Nothing is executed.
    #[command(after_help = OBJECTS_EXAMPLES)]
    Objects(ObjectsArgs),
    /// Check one device in this process, for a process that looks after it
    ///
    /// `roci doctor --verify` runs it for each device, so that one that hangs or crashes harms no other.
    #[command(hide = true, after_help = VERIFY_ROUTE_EXAMPLES)]
    VerifyRoute(VerifyRouteArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all of them into a folder
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Folder to write the pages of roci and of each verb to; standard output gets roci's page without it
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

impl Command {
    /// Whether results are to be JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Bench(arguments) => arguments.format.json,
            Self::Demo(arguments) => arguments.format.json,
            Self::Devices(arguments) => arguments.format.json,
            Self::Doctor(arguments) => match &arguments.command {
                None => arguments.format.json,
                Some(DoctorCommand::Rules(arguments)) => arguments.format.json,
                Some(DoctorCommand::Explain(arguments)) => arguments.format.json,
            },
            Self::Emu { command: EmuCommand::Run(arguments) } => arguments.format.json,
            Self::Emu { command: EmuCommand::Trace(arguments) } => arguments.format.json,
            Self::Emu { command: EmuCommand::Exec(_) } => false,
            Self::Env(arguments) => arguments.format.json,
            Self::Objects(arguments) => arguments.format.json,
            Self::VerifyRoute(arguments) => arguments.format.json,
            Self::Completions { .. } | Self::Man { .. } => false,
        }
    }
}

/// Arguments of `roci bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Device to measure, as `roci devices` prints it; can be given several times (default: `auto`, the best real device)
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Seconds that the device may work before it counts as lost (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Small problems, for a first impression
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Kernels to run, by the start of their names; all without it
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Device to run on, as `roci devices` prints it; can be given several times
    ///
    /// `auto` takes the best real device and says which and why. Without this option ROCI_DEVICE counts, and without
    /// that every device of this machine is used.
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Seconds a kernel may run before its device counts as lost (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Small problems: verifies as much, says little about speed
    #[arg(long)]
    pub(crate) quick: bool,
    /// Also show when kernels and copies ran, by the device's own clock
    ///
    /// For each of them how often it ran, how long in all and on average, and which share of the device's time it took.
    /// With `--json` every single run is there, under `profile`.
    #[arg(long)]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Also list devices that compute nothing (the null driver, for tests)
    #[arg(long)]
    pub(crate) all: bool,
    /// Ask this driver alone: amdgpu, vulkan, opencl, cpu, emu; can be given several times
    #[arg(long = "driver", value_name = "NAME")]
    pub(crate) drivers: Vec<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci doctor`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DoctorCommand>,
    /// Show everything: every way to each GPU, findings of little weight, sources, files that could not be read
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Judge a log instead of this machine: of rocminfo, clinfo, vulkaninfo, the kernel, llama.cpp, ollama, PyTorch; `-` is
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["root", "snapshot", "capture", "report", "deep", "verify"])]
    pub(crate) log: Option<PathBuf>,
    /// Read the facts from a folder that holds another machine's /sys, /proc, /etc, /dev, /usr, /opt, /var
    #[arg(long, value_name = "DIR", conflicts_with_all = ["snapshot", "deep", "verify"])]
    pub(crate) root: Option<PathBuf>,
    /// Judge a machine by what `--capture` wrote there; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["deep", "verify"])]
    pub(crate) snapshot: Option<PathBuf>,
    /// Also write all facts into a file, for others to judge; what tells whose machine it is gets masked
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Also write a report for a bug tracker: FILE.md and FILE.json
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Also start OpenCL and HSA, in processes of their own, and ask them for their devices
    ///
    /// On a BC-250 with a stock kernel HSA can freeze the whole machine: roci refuses to start it there.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Also compute on each device, in processes of their own, and check the results
    #[arg(long)]
    pub(crate) verify: bool,
    /// Folder with more rules (default: ~/.config/roci/rules)
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What else `roci doctor` tells.
#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    /// List the rules
    Rules(DoctorRulesArgs),
    /// Explain rules: what they mean, what to do, who says so
    Explain(DoctorExplainArgs),
}

/// Arguments of `roci doctor rules`.
#[derive(Debug, Args)]
pub(crate) struct DoctorRulesArgs {
    /// Only those with this word in name, topic or title
    #[arg(value_name = "WORD")]
    pub(crate) word: Option<String>,
    /// Folder with more rules (default: ~/.config/roci/rules)
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci doctor explain`.
#[derive(Debug, Args)]
pub(crate) struct DoctorExplainArgs {
    /// Names of rules, as `KFD-01`
    #[arg(value_name = "RULE", required = true)]
    pub(crate) ids: Vec<String>,
    /// Folder with more rules (default: ~/.config/roci/rules)
    #[arg(long, value_name = "DIR")]
    pub(crate) rules: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

impl DoctorArgs {
    /// The folder of rules, behind whichever word it was given.
    pub(crate) fn rules(&self) -> Option<&PathBuf> {
        match &self.command {
            None => self.rules.as_ref(),
            Some(DoctorCommand::Rules(arguments)) => arguments.rules.as_ref(),
            Some(DoctorCommand::Explain(arguments)) => arguments.rules.as_ref(),
        }
    }
}

/// What `roci emu` does.
#[derive(Debug, Subcommand)]
pub(crate) enum EmuCommand {
    /// Run a kernel and write its results
    ///
    /// Prints how many instructions of which class waves ran, what they read and wrote, and how long it took. Results are
    /// written only if the kernel ends well.
    #[command(after_help = EMU_EXAMPLES)]
    Run(EmuRunArgs),
    /// Print each instruction that a wave runs, with the values it reads and writes
    ///
    /// One line an instruction: wave, distance from the kernel's entry, text, registers read, registers written. Vector
    /// registers are shown for a few lanes; a lane that is off is `-`.
    #[command(after_help = EMU_TRACE_EXAMPLES)]
    Trace(EmuTraceArgs),
    /// Run a program that uses HSA or HIP, unmodified, on emulated GPUs
    ///
    /// The program finds an emulated `libhsa-runtime64.so.1` before any other, and what it may look for first: `/dev/kfd`
    /// and the kernel module. It takes the place of roci, so that its exit code is its own.
    #[command(after_help = EMU_EXEC_EXAMPLES)]
    Exec(EmuExecArgs),
}

/// Arguments of `roci emu exec`.
#[derive(Debug, Args)]
pub(crate) struct EmuExecArgs {
    /// Chips to emulate, with commas between: gfx1010, gfx1012, gfx1013, gfx1030, gfx1100, gfx1151
    #[arg(long, value_name = "CHIP[,CHIP]")]
    pub(crate) gpu: String,
    /// Memory of each GPU, as `512MiB` or `8GiB` (default: ROCI_EMU_MEMORY, or the chip's)
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory: Option<u64>,
    /// Checks to make: `waits`, `uninit`, `races` or `all`, with commas between (default: ROCI_EMU_CHECK)
    #[arg(long, value_name = "LIST")]
    pub(crate) check: Option<String>,
    /// Threads of each GPU; 1 makes every run of a kernel the same (default: ROCI_EMU_THREADS, or all cores)
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Leave HSA_OVERRIDE_GFX_VERSION in the environment of the program
    #[arg(long)]
    pub(crate) keep_env: bool,
    /// Print the environment for a shell instead: `eval "$(roci emu exec --gpu gfx1010 --print)"`
    #[arg(long)]
    pub(crate) print: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required_unless_present = "print", last = true)]
    pub(crate) program: Vec<std::ffi::OsString>,
}

/// A kernel and how it is launched.
#[derive(Debug, Args)]
pub(crate) struct EmuKernelArgs {
    /// File with AMD code: a code object, a bundle, a program or library with GPU code inside
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Chip to emulate: gfx1010, gfx1012, gfx1013, gfx1030, gfx1100 or gfx1151
    #[arg(long, value_name = "CHIP")]
    pub(crate) gpu: String,
    /// Kernel to run, as `roci objects` shows it
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: String,
    /// Work-items in each dimension (not blocks)
    #[arg(long, value_name = "X[,Y,Z]", value_parser = size)]
    pub(crate) grid: [u32; 3],
    /// Work-items of a block in each dimension
    #[arg(long, value_name = "X[,Y,Z]", value_parser = size)]
    pub(crate) block: [u32; 3],
    /// Argument of the kernel; give them in its order
    ///
    /// `in:FILE.npy` is an array that is read, `out:FILE.npy:DTYPE:COUNT` one that begins as zeros and is written,
    /// `inout:IN.npy:OUT.npy` both. Numbers are `u32:5`, `i32:-1`, `f32:2.5`, and so on for 8 to 64 bits, the members of
    /// a structure `u32:5,f32:1`; `lds:BYTES` is a pointer to shared memory. Hidden arguments are filled by themselves.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
    /// Shared memory of a block beyond what the kernel itself asks for
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) lds: u32,
    /// Checks to make: `waits`, `uninit`, `races` or `all`, with commas between (default: ROCI_EMU_CHECK)
    ///
    /// `waits`: a register is used before its load is waited for. `uninit`: what was never set decides an address or a
    /// branch, or is stored. `races`: two waves use the same shared memory without a barrier between.
    #[arg(long, value_name = "LIST")]
    pub(crate) check: Option<String>,
    /// Seconds the kernel may run (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// Arguments of `roci emu run`.
#[derive(Debug, Args)]
pub(crate) struct EmuRunArgs {
    #[command(flatten)]
    pub(crate) kernel: EmuKernelArgs,
    /// Threads to run blocks on; 1 makes every run the same (default: all cores)
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
    /// Block whose waves are shown
    #[arg(long, value_name = "X[,Y,Z]", value_parser = position, default_value = "0,0,0")]
    pub(crate) workgroup: [u32; 3],
    /// Wave of the block that is shown; all without it
    #[arg(long, value_name = "N")]
    pub(crate) wave: Option<u32>,
    /// Instructions that are shown, by distance from the kernel's entry: `0x40..0x80`, `0x40..`
    #[arg(long, value_name = "FROM..TO", value_parser = range, default_value = "0..")]
    pub(crate) pc: std::ops::Range<u64>,
    /// Lanes of vector registers that are shown: `0-3,31`
    #[arg(long, value_name = "LIST", value_parser = lanes, default_value = "0-3")]
    pub(crate) lanes: Lanes,
    /// Lines after which the kernel is stopped
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) limit: u64,
    /// Print one JSON object a line, with `schema` and `version`
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Lanes of a wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lanes(pub(crate) Vec<u32>);

/// Arguments of `roci env`.
#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci objects`.
#[derive(Debug, Args)]
pub(crate) struct ObjectsArgs {
    /// Files to look into; with `--for`, folders too
    #[arg(value_name = "FILE", required_unless_present = "library")]
    pub(crate) files: Vec<PathBuf>,
    /// Tell which libraries have kernels that run on this chip, such as `gfx1013`
    ///
    /// Folders are searched with all that is below them. Files are put together as libraries: rocBLAS with its Tensile
    /// folder, MIOpen with its databases, torch, llama.cpp and others. Kernels run on the very chip that they are for, and
    /// on those that a generic target covers; kernels for sibling chips do not. Only tables are read, so that gigabytes
    /// take no time. The exit code is 0 if every library has kernels that run, 1 if one has none.
    #[arg(long = "for", value_name = "CHIP", conflicts_with_all = ["library", "extract", "disassemble"])]
    pub(crate) chip: Option<String>,
    /// Look into roci itself: the kernels that it carries for AMD GPUs, one code object a target
    ///
    /// ROCI_DEVICE_TARGETS picks some of the targets.
    #[arg(long)]
    pub(crate) library: bool,
    /// Write each piece of GPU code that is found into this folder; existing files are left alone
    #[arg(long, value_name = "DIR")]
    pub(crate) extract: Option<PathBuf>,
    /// Print the machine code of all functions, or of one kernel, as text
    #[arg(long, value_name = "KERNEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) disassemble: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci verify-route`.
#[derive(Debug, Args)]
pub(crate) struct VerifyRouteArgs {
    /// Devices to check; with `--in-children`, all that drivers find if there are none
    #[arg(value_name = "URI", required_unless_present = "in_children")]
    pub(crate) devices: Vec<String>,
    /// Check each device in a process of its own, as the doctor does
    #[arg(long)]
    pub(crate) in_children: bool,
    /// Emulated devices too, where none are named
    #[arg(long, requires = "in_children")]
    pub(crate) emulated: bool,
    /// Seconds that such a process may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// Go wrong on purpose, for tests
    #[cfg(debug_assertions)]
    #[arg(long, value_enum)]
    pub(crate) fault: Option<crate::commands::verify::Fault>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const BENCH_EXAMPLES: &str = "Examples:
  roci bench                       the best real device
  roci bench --device vulkan:0 --device opencl:0
  roci bench --quick --json --device emu://gfx1010";

const DEMO_EXAMPLES: &str = "Examples:
  roci demo                        every kernel on every device
  roci demo matmul softmax         only kernels whose names start so
  roci demo --device cpu?threads=1 --device auto
  roci demo --profile matmul       with the time that the device itself took
  roci demo --json | jq '.results[] | select(.status != \"ok\")'";

const DEVICES_EXAMPLES: &str = "Examples:
  roci devices                     a table
  roci devices --json | jq -r '.drivers[].devices[].uri'";

const DOCTOR_EXAMPLES: &str = "Examples:
  roci doctor                      this machine
  roci doctor -v --report gpu      everything, and gpu.md and gpu.json for a bug tracker
  dmesg | roci doctor --log -      a log
  roci doctor --verify             compute on every device, too
  roci doctor --capture me.json && roci doctor --snapshot me.json
  roci doctor explain OVR-04";

const OBJECTS_EXAMPLES: &str = "Examples:
  roci objects /opt/rocm/lib/librocfft.so.0
  roci objects --for gfx1013 /opt/rocm ~/venv       which libraries have kernels for this chip
  roci objects --extract out kernels.hsaco          each piece of code becomes a file
  roci objects --library --extract out              the kernels that roci carries
  roci objects --disassemble=scale kernels.co       one kernel; without a name all functions
  roci objects --json *.so | jq -r '.files[].objects[].target' | sort -u";

const VERIFY_ROUTE_EXAMPLES: &str = "Example:
  roci verify-route vulkan:0";

const EMU_EXAMPLES: &str = "Examples:
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

const ENV_EXAMPLES: &str = "Example:
  roci env                         variables, values now, defaults and meaning";

const COMPLETIONS_EXAMPLES: &str = "Example:
  roci completions bash > ~/.local/share/bash-completion/completions/roci";

const MAN_EXAMPLES: &str = "Examples:
  roci man | man -l -
  roci man ~/.local/share/man/man1";

/// Exit codes and where to go from here, below the help.
fn after_help() -> String {
    let mut text = String::from("Exit codes:\n");
    for (status, meaning) in crate::exit::ExitStatus::MEANINGS {
        text.push_str(&format!("  {:>3}  {meaning}\n", status.code()));
    }
    text.push_str(
        "\nExamples:\n  roci doctor     what is wrong with this machine\n  roci devices    what there is\n  roci demo       whether it computes right, and how fast",
    );
    text
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    roci_hal::deadline::parse_seconds(text).ok_or_else(|| "not a positive number of seconds".into())
}

/// One to three sizes; those that are absent are 1.
fn size(text: &str) -> Result<[u32; 3], String> {
    let size = numbers(text, 1)?;
    if size.contains(&0) { Err("a size is at least 1".into()) } else { Ok(size) }
}

/// One to three positions; those that are absent are 0.
fn position(text: &str) -> Result<[u32; 3], String> {
    numbers(text, 0)
}

fn numbers(text: &str, absent: u32) -> Result<[u32; 3], String> {
    let mut numbers = [absent; 3];
    for (index, part) in text.split(',').enumerate() {
        let place = numbers.get_mut(index).ok_or("there are three dimensions at most")?;
        *place = part.trim().parse().map_err(|_| format!("`{part}` is no number"))?;
    }
    Ok(numbers)
}

/// A range of offsets; what is absent is open.
fn range(text: &str) -> Result<std::ops::Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("it is not FROM..TO")?;
    let number = |text: &str, absent: u64| match text.strip_prefix("0x") {
        _ if text.is_empty() => Ok(absent),
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no number")),
        None => text.parse().map_err(|_| format!("`{text}` is no number")),
    };
    Ok(number(from, 0)?..number(to, u64::MAX)?)
}

/// Lanes and spans of lanes.
fn lanes(text: &str) -> Result<Lanes, String> {
    let mut lanes = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let lane = |text: &str| text.trim().parse::<u32>().ok().filter(|lane| *lane < 64);
        match (lane(from), lane(to)) {
            (Some(from), Some(to)) if from <= to => lanes.extend(from..=to),
            _ => return Err(format!("`{part}` is no lane or span of lanes from 0 to 63")),
        }
    }
    Ok(Lanes(lanes))
}

/// An amount of memory.
fn memory(text: &str) -> Result<u64, String> {
    roci_emu_hsa::memory_size(text).map_err(|error| error.reason)
}

/// A number of threads.
fn threads(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|threads| (1..=1024).contains(threads)).ok_or_else(|| "not a number from 1 to 1024".into())
}

/// The colour asked for, readable before and without a valid command line: errors of parsing are coloured too.
pub(crate) fn color_asked(arguments: impl Iterator<Item = String>) -> ColorWhen {
    let mut asked = ColorWhen::Auto;
    let mut previous_is_color = false;
    for argument in arguments.take_while(|argument| argument != "--") {
        let value = argument.strip_prefix("--color=").or_else(|| previous_is_color.then_some(argument.as_str()));
        if let Some(when) = value.and_then(|value| ColorWhen::from_str(value, false).ok()) {
            asked = when;
        }
        previous_is_color = argument == "--color";
    }
    asked
}

/// Whether a command line that cannot be parsed asks for JSON.
pub(crate) fn json_asked(mut arguments: impl Iterator<Item = String>) -> bool {
    arguments.by_ref().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_tree_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_an_example() {
        for verb in Cli::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("roci {}", verb.get_name())), "{} has no example", verb.get_name());
        }
    }

    #[test]
    fn colour_is_found_in_any_command_line() {
        let asked = |line: &str| color_asked(line.split_whitespace().map(str::to_owned));
        assert_eq!(asked("roci --color never nonsense"), ColorWhen::Never);
        assert_eq!(asked("roci demo --color=always --help"), ColorWhen::Always);
        assert_eq!(asked("roci demo -- --color=always"), ColorWhen::Auto);
        assert_eq!(asked("roci --color"), ColorWhen::Auto);
    }

    #[test]
    fn json_counts_even_where_the_rest_is_wrong() {
        let asked = |line: &str| json_asked(line.split_whitespace().map(str::to_owned));
        assert!(asked("roci nonsense --json"));
        assert!(!asked("roci demo --jsno") && !asked("roci demo -- --json"));
    }

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

    #[test]
    fn search_paths_can_stand_anywhere_repeated_or_with_colons() {
        let paths = |line: &str| {
            let cli = Cli::try_parse_from(line.split_whitespace()).expect("valid");
            cli.drivers.amdgpu_libhsa_search_path
        };
        let both = [PathBuf::from("/a"), PathBuf::from("/b")];
        assert_eq!(paths("roci devices --amdgpu-libhsa-search-path /a:/b"), both);
        assert_eq!(paths("roci --amdgpu-libhsa-search-path /a --amdgpu-libhsa-search-path=/b devices"), both);
        assert_eq!(paths("roci demo"), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn devices_can_be_repeated() {
        let cli = Cli::try_parse_from(["roci", "demo", "-d", "cpu", "--device", "auto"]).expect("valid");
        let Command::Demo(demo) = cli.command else { panic!("not demo") };
        assert_eq!(demo.devices, ["cpu", "auto"]);
    }
}
