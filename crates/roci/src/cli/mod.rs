//! The command line: every verb and option, with the text that help, man page and completions are made of.
//!
//! Parsing does no I/O: it neither reads the environment nor looks for devices. Verbs do that when they run. What is here
//! holds for all verbs; the files beside have the arguments of some each.

mod bench;
mod compute;
mod doctor;
mod emu;
mod lab;
mod language;
mod matrix;
mod model;
mod objects;
mod serve;
mod train;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use bench::BENCH_EXAMPLES;
pub(crate) use bench::{BenchArgs, BenchOutput, BenchTextArgs};
use compute::{DEMO_EXAMPLES, DEVICES_EXAMPLES, VERIFY_ROUTE_EXAMPLES};
pub(crate) use compute::{DemoArgs, DevicesArgs, VerifyRouteArgs};
use doctor::DOCTOR_EXAMPLES;
pub(crate) use doctor::{DoctorArgs, DoctorCommand, DoctorExplainArgs, DoctorRulesArgs};
use emu::EMU_EXAMPLES;
pub(crate) use emu::{EmuCommand, EmuExecArgs, EmuKernelArgs, EmuRunArgs, EmuTraceArgs};
use lab::LAB_EXAMPLES;
use language::{CHAT_EXAMPLES, CONVERT_EXAMPLES};
pub(crate) use language::{ChatArgs, ConvertArgs, LanguageArgs, SamplingArgs};
use matrix::{MATRIX_EXAMPLES, MATRIX_PROBE_EXAMPLES};
pub(crate) use matrix::{MatrixArgs, MatrixProbeArgs};
use model::{INSPECT_EXAMPLES, RUN_EXAMPLES};
pub(crate) use model::{ImageArgs, ImageFit, ImageOrder, InspectArgs, Precision, RunArgs};
use objects::OBJECTS_EXAMPLES;
pub(crate) use objects::ObjectsArgs;
use serve::SERVE_EXAMPLES;
pub(crate) use serve::ServeArgs;
use train::TRAIN_DEMO_EXAMPLES;
pub(crate) use train::{OptimizerName, TrainDemoArgs};

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
    /// Measure what a device reaches: launches, transfers, copies, sums, matrix products, or a language model
    ///
    /// Each figure is the best of several runs. Results are checked, outside of the measured time: all that is uploaded and
    /// downloaded, and what the kernels write in a few dozen places; the launches compute nothing. Problems are as large as
    /// suits the device; `--quick` makes them smaller.
    ///
    /// With a language model (a GGUF file) tests are those of llama-bench: `pp512` reads a prompt of 512 tokens, `tg128` writes 128, with mean and
    /// standard deviation of the tokens in a second. Beside them stand operations in a second and, for written tokens, the limit that the device's
    /// memory sets. Each device is measured by itself. Ctrl-C prints what there is.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Talk with a language model
    ///
    /// Lines can be edited, with a history; `/help` lists commands, Ctrl-C stops an answer, Ctrl-D leaves. Where standard input is
    /// no terminal, each line is a question, and only the answers are printed.
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(ChatArgs),
    /// Make a GGUF file of a llama2.c checkpoint
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
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
    /// Try strategies under a watchdog, keep what comes of them, and report
    ///
    /// An experiment is a TOML file: a command, phases and figures in its output, and strategies to try. Runs that hang are
    /// ended, with the phase and the stacks; results outlive a crash. Exit code 0: everything passed; 1: something did not.
    #[command(after_help = LAB_EXAMPLES)]
    Lab(roci_lab::cli::LabArgs),
    /// Try every operation on every device: works, wrong, crashes, hangs or unsupported
    ///
    /// Small graphs, a few whole models and checks for silent corruption run on each device and are compared with a
    /// reference in double precision, in processes that may crash or hang. Results are kept, and a later run tells what
    /// changed. Exit code 0: nothing is broken, even where something is not supported; 1: something is.
    #[command(after_help = MATRIX_EXAMPLES)]
    Matrix(MatrixArgs),
    /// Try operations on one device in this process, for a process that looks after it
    ///
    /// `roci matrix` runs it for each device; what happens is told in lines of JSON.
    #[command(hide = true, after_help = MATRIX_PROBE_EXAMPLES)]
    MatrixProbe(MatrixProbeArgs),
    /// Show what is in a model: inputs, outputs, operations, constants
    ///
    /// Nothing runs and no device is opened.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// List the AMD GPU code in files: targets, kernels, what they need
    ///
    /// Looks into code objects, offload bundles (also compressed), programs, libraries and object files with GPU code
    /// inside, and archives of those. One row is a kernel: registers, LDS, scratch and argument bytes, lanes of a wave,
    /// and how large a work-group may be (or must be, as `64x1x1`). A file that cannot be read is named, and the others
    /// go on. Nothing is executed.
    #[command(after_help = OBJECTS_EXAMPLES)]
    Objects(ObjectsArgs),
    /// Run a model on a device: ONNX, or a language model in GGUF
    ///
    /// A language model answers one prompt (`-p`), by the chat template in its file, or goes on from it where there is none or with
    /// `--raw`; the answer is all of standard output. Of an ONNX model the first run makes everything ready for the shapes at hand; `--repeat` shows how fast later ones are. An operation
    /// that the device cannot do is an error that names it, never silently the work of another device.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Serve a language model over HTTP, as OpenAI's clients know it
    ///
    /// `/v1/chat/completions`, `/v1/completions`, `/v1/embeddings` and `/v1/models`, with streams, tools and JSON schemas; `/health`, `/metrics`
    /// for Prometheus, and a page to talk at `/`. It listens on this machine alone unless `--host` says otherwise. The first Ctrl-C or SIGTERM lets
    /// answers under way end, the second ends the process. Exit code 0 when it was stopped.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Train a small network on devices and compare how they learn
    ///
    /// A convolutional network learns to tell pictures apart that are made here: stripes of three directions, disks and
    /// crosses. Forward, backward and optimizer run on the device, where the parameters stay. The table shows the loss
    /// of the first and the last batch, how many new pictures are told right, and how far the losses are from those of
    /// the first device. Exit code 1: the loss does not fall, or devices learn something else.
    #[command(after_help = TRAIN_DEMO_EXAMPLES)]
    TrainDemo(TrainDemoArgs),
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
            Self::Bench(arguments) => arguments.json(),
            Self::Demo(arguments) => arguments.format.json,
            Self::Devices(arguments) => arguments.format.json,
            Self::Doctor(arguments) => arguments.json(),
            Self::Emu { command } => command.json(),
            Self::Env(arguments) => arguments.format.json,
            Self::Lab(arguments) => arguments.json,
            Self::Matrix(arguments) => arguments.format.json,
            Self::Inspect(arguments) => arguments.format.json,
            Self::Objects(arguments) => arguments.format.json,
            Self::Run(arguments) => arguments.format.json,
            Self::TrainDemo(arguments) => arguments.format.json,
            Self::VerifyRoute(arguments) => arguments.format.json,
            Self::Chat(_)
            | Self::Convert(_)
            | Self::MatrixProbe(_)
            | Self::Serve(_)
            | Self::Completions { .. }
            | Self::Man { .. } => false,
        }
    }
}

/// Arguments of `roci env`.
#[derive(Debug, Args)]
pub(crate) struct EnvArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

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
