//! The command line: all verbs and options. Help, man pages and completions are generated from it.
//!
//! Parsing does no I/O: it neither reads the environment nor enumerates devices. This file has the
//! options of all verbs; the other files of the folder have the arguments of one or several verbs
//! each.

mod adapters;
mod bench;
mod compute;
mod doctor;
mod embed;
mod emu;
mod experts;
mod lab;
mod language;
mod matrix;
mod model;
mod objects;
mod perplexity;
mod quantize;
mod serve;
mod speculation;
mod train;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use adapters::AdapterArgs;
use bench::BENCH_EXAMPLES;
pub(crate) use bench::{BenchArgs, BenchOutput};
use compute::{DEMO_EXAMPLES, DEVICES_EXAMPLES, VERIFY_ROUTE_EXAMPLES};
pub(crate) use compute::{DemoArgs, DevicesArgs, VerifyRouteArgs};
use doctor::DOCTOR_EXAMPLES;
pub(crate) use doctor::{
    DoctorArgs, DoctorCommand, DoctorExplainArgs, DoctorFixArgs, DoctorRulesArgs, DoctorWatchArgs,
};
use embed::{EMBED_EXAMPLES, RERANK_EXAMPLES};
pub(crate) use embed::{EmbedArgs, RerankArgs, TextModelArgs};
use emu::EMU_EXAMPLES;
pub(crate) use emu::{EmuCommand, EmuExecArgs, EmuKernelArgs, EmuRunArgs, EmuTraceArgs};
pub(crate) use experts::ExpertArgs;
use lab::LAB_EXAMPLES;
use language::{CHAT_EXAMPLES, CONVERT_EXAMPLES};
pub(crate) use language::{ChatArgs, ConvertArgs, LanguageArgs, SamplingArgs};
use matrix::{MATRIX_EXAMPLES, MATRIX_PROBE_EXAMPLES};
pub(crate) use matrix::{MatrixArgs, MatrixProbeArgs};
use model::{INSPECT_EXAMPLES, RUN_EXAMPLES};
pub(crate) use model::{InspectArgs, Precision, RunArgs};
use objects::OBJECTS_EXAMPLES;
pub(crate) use objects::ObjectsArgs;
use perplexity::PERPLEXITY_EXAMPLES;
pub(crate) use perplexity::PerplexityArgs;
use quantize::QUANTIZE_EXAMPLES;
pub(crate) use quantize::QuantizeArgs;
use serve::SERVE_EXAMPLES;
pub(crate) use serve::ServeArgs;
pub(crate) use speculation::{Speculate, SpeculationArgs};
use train::TRAIN_DEMO_EXAMPLES;
pub(crate) use train::{OptimizerName, TrainDemoArgs};

/// Compute on the AMD GPU you actually own.
///
/// roci finds the devices of this machine, runs kernels and models on them and checks the results.
/// Results go to standard output, everything else to standard error.
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
    /// When to use colors
    ///
    /// `auto` uses colors on terminals, unless NO_COLOR is set or TERM is `dumb`; FORCE_COLOR
    /// counts as a terminal.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub(crate) color: ColorWhen,
    /// Disable progress bars
    ///
    /// Progress bars are drawn on standard error, and only if it is a terminal.
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Print only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// Options of drivers, for every verb.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DriverArgs {
    /// File or folder to search for `libhsa-runtime64.so` first; separate several by colons, or
    /// repeat the option
    ///
    /// The search continues with ROCI_HAL_AMDGPU_LIBHSA_PATH, IREE_HAL_AMDGPU_LIBHSA_PATH, the
    /// folders in PATH, the dynamic loader's search path and /opt/rocm/lib. Locations without a
    /// usable library are skipped.
    #[arg(long, value_name = "PATH", value_delimiter = ':', global = true, help_heading = "Drivers")]
    pub(crate) amdgpu_libhsa_search_path: Vec<PathBuf>,
}

/// When output is colored.
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

/// The format of a verb's results.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FormatArgs {
    /// Print one JSON object with `schema` and `version` instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmark a device (launches, transfers, copies, sums, matrix products) or a language model
    ///
    /// Each number is the best of several runs. Results are checked outside of the measured time:
    /// transfers completely, kernel outputs at 64 elements. The size of the problems depends on the
    /// device; `--quick` makes them smaller.
    ///
    /// With a language model (a GGUF file), tests are those of llama-bench: `pp512` is the prefill
    /// of 512 tokens, `tg128` the decode of 128, each with mean and standard deviation of tokens
    /// per second. The table also shows operations per second for prefill and, for decode, the
    /// upper limit by memory bandwidth. Devices are measured one after the other. Ctrl-C prints the
    /// results so far.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Chat with a language model
    ///
    /// Lines can be edited, with a history. `/help` lists commands, Ctrl-C stops an answer, Ctrl-D
    /// quits. If standard input is not a terminal, each line is one message and only the answers
    /// are printed.
    #[command(after_help = CHAT_EXAMPLES)]
    Chat(ChatArgs),
    /// Convert a llama2.c checkpoint to GGUF
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// Run all kernels on every device and check their results
    ///
    /// Each kernel runs through the HAL on each device: its inputs are uploaded, the dispatch is
    /// recorded and submitted, the output is downloaded and compared with a reference in f64. The
    /// table shows the best time of several runs, the rate, and whether the result is correct.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// List the devices of all drivers
    ///
    /// The first column is the value for `--device`. A driver that is not available is listed with
    /// the reason.
    #[command(after_help = DEVICES_EXAMPLES)]
    Devices(DevicesArgs),
    /// Diagnose this machine's GPU setup
    ///
    /// Checks GPUs, the kernel and its driver, permissions, ROCm, Python wheels, Vulkan and OpenCL
    /// against a set of rules and prints the verdict first. Nothing is changed; remedies are only
    /// printed. Root is not needed, and neither HSA nor OpenCL is initialized without `--deep` or
    /// `--verify`. Exit code 0: no problem found; 1: problems.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Compute the embeddings of texts with an embedding model
    ///
    /// Prints one line of numbers per text, a vector with an L2 norm of 1. The model's file defines
    /// how hidden states are pooled. Some models expect a prefix in each text, such as
    /// `search_query: `; see the model's documentation.
    #[command(after_help = EMBED_EXAMPLES)]
    Embed(EmbedArgs),
    /// Run AMD code on an emulated GPU
    ///
    /// Kernels of code objects run on the CPU, instruction by instruction as on the chip, with
    /// every address checked. Neither an AMD GPU nor ROCm is needed.
    #[command(after_help = EMU_EXAMPLES)]
    Emu {
        #[command(subcommand)]
        command: EmuCommand,
    },
    /// List the environment variables that roci reads, and their values
    #[command(after_help = ENV_EXAMPLES)]
    Env(EnvArgs),
    /// Run experiments under a watchdog, store the results, and report
    ///
    /// An experiment is a TOML file: a command, the phases and measurements in its output, and the
    /// strategies to try. Hung runs are killed, and their phase and stacks are recorded. Results
    /// survive a crash. Exit code 0: everything passed; 1: something failed.
    #[command(after_help = LAB_EXAMPLES)]
    Lab(roci_lab::cli::LabArgs),
    /// Test every operation on every device: works, wrong, crashes, hangs or unsupported
    ///
    /// Small graphs, a few whole models and checks for silent corruption run on each device, in
    /// separate processes that may crash or hang, and are compared with a reference in f64. Results
    /// are stored, and later runs report what changed. Exit code 0: nothing is broken, though
    /// operations may be unsupported; 1: something is broken.
    #[command(after_help = MATRIX_EXAMPLES)]
    Matrix(MatrixArgs),
    /// Run probes on one device in this process; started by `roci matrix`
    ///
    /// Prints events as lines of JSON.
    #[command(hide = true, after_help = MATRIX_PROBE_EXAMPLES)]
    MatrixProbe(MatrixProbeArgs),
    /// Show the inputs, outputs, operations and constants of a model
    ///
    /// Nothing is executed, and no device is opened.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// List the AMD GPU code in files: targets, kernels, resource usage
    ///
    /// Reads code objects, offload bundles (also compressed), programs, libraries and object files
    /// that embed GPU code, and archives of those. Each row is a kernel: registers, LDS, scratch
    /// and argument bytes, wave size, and the maximum (or required, such as `64x1x1`) work-group
    /// size. Unreadable files are named and skipped. Nothing is executed.
    #[command(after_help = OBJECTS_EXAMPLES)]
    Objects(ObjectsArgs),
    /// Measure how well a language model predicts a text
    ///
    /// Prints the perplexity with its standard error, as `llama-perplexity` computes it: the text is
    /// cut into chunks, each is read from an empty context, and the predictions in the second half
    /// count. Lower is better. Only values of the same text, tokenizer and chunk size compare.
    #[command(after_help = PERPLEXITY_EXAMPLES)]
    Perplexity(PerplexityArgs),
    /// Quantize a language model to a smaller type
    ///
    /// The output is byte-identical to that of `llama-quantize`, with the same mixtures of types.
    /// Norms and other small tensors keep their type. The file appears only when it is complete.
    #[command(after_help = QUANTIZE_EXAMPLES)]
    Quantize(Box<QuantizeArgs>),
    /// Sort documents by their relevance to a query with a reranker
    ///
    /// Prints the score and the text of each document, the best first. A reranker is a model with
    /// pooling type `rank`.
    #[command(after_help = RERANK_EXAMPLES)]
    Rerank(RerankArgs),
    /// Run a model on a device: ONNX, or a language model in GGUF
    ///
    /// A language model answers one prompt (`-p`) with the chat template of its file, or continues
    /// it with `--raw` or if the file has no template; standard output holds only the answer. The
    /// first run of an ONNX model compiles and records for the shapes of its inputs; `--repeat`
    /// shows the speed of later runs. An operation that the device does not support is an error
    /// that names it; no other device is used silently.
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Serve a language model over an OpenAI-compatible HTTP API
    ///
    /// Endpoints are `/v1/chat/completions`, `/v1/completions`, `/v1/embeddings`, `/v1/rerank` and
    /// `/v1/models`, with streaming, tools and JSON schemas; `/health`, `/metrics` for Prometheus, and a chat
    /// page at `/`. The server listens on 127.0.0.1 unless `--host` is given. The first Ctrl-C or
    /// SIGTERM lets requests in flight finish, the second ends the process. Exit code 0 after a
    /// shutdown.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Train a small network on devices and compare their losses
    ///
    /// A convolutional network learns to classify synthetic images: stripes of three directions,
    /// disks and crosses. Forward, backward and optimizer run on the device, where the parameters
    /// stay. The table shows the loss of the first and the last batch, the accuracy on new images,
    /// and the distance of the losses from those of the first device. Exit code 1: the loss does
    /// not decrease, or the losses of two devices differ.
    #[command(after_help = TRAIN_DEMO_EXAMPLES)]
    TrainDemo(TrainDemoArgs),
    /// Check one device in this process; started by `roci doctor --verify`
    ///
    /// Each device gets its own process, so that a hang or a crash does not affect the others.
    #[command(hide = true, after_help = VERIFY_ROUTE_EXAMPLES)]
    VerifyRoute(VerifyRouteArgs),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write all man pages to a folder
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Folder for the man pages of roci and of each verb; without it, the page of roci goes to
        /// standard output
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

impl Command {
    /// Whether results are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Bench(arguments) => arguments.json(),
            Self::Demo(arguments) => arguments.format.json,
            Self::Devices(arguments) => arguments.format.json,
            Self::Doctor(arguments) => arguments.json(),
            Self::Embed(arguments) => arguments.model.format.json,
            Self::Emu { command } => command.json(),
            Self::Env(arguments) => arguments.format.json,
            Self::Lab(arguments) => arguments.json,
            Self::Matrix(arguments) => arguments.format.json,
            Self::Inspect(arguments) => arguments.format.json,
            Self::Objects(arguments) => arguments.format.json,
            Self::Perplexity(arguments) => arguments.format.json,
            Self::Quantize(arguments) => arguments.format.json,
            Self::Rerank(arguments) => arguments.model.format.json,
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
  roci env                         variables with current values, defaults and meaning";

const COMPLETIONS_EXAMPLES: &str = "Example:
  roci completions bash > ~/.local/share/bash-completion/completions/roci";

const MAN_EXAMPLES: &str = "Examples:
  roci man | man -l -
  roci man ~/.local/share/man/man1";

/// Exit codes and first steps, printed after the help.
fn after_help() -> String {
    let mut text = String::from("Exit codes:\n");
    for (status, meaning) in crate::exit::ExitStatus::MEANINGS {
        text.push_str(&format!("  {:>3}  {meaning}\n", status.code()));
    }
    text.push_str(
        "\nExamples:\n  roci doctor     diagnose this machine\n  roci devices    list its devices\n  roci demo       check and time the kernels on them",
    );
    text
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    roci_hal::deadline::parse_seconds(text).ok_or_else(|| "not a positive number of seconds".into())
}

/// The requested color mode, found without parsing the command line, because parse errors are
/// colored too.
pub(crate) fn requested_color(arguments: impl Iterator<Item = String>) -> ColorWhen {
    let mut color = ColorWhen::Auto;
    let mut previous_is_color = false;
    for argument in arguments.take_while(|argument| argument != "--") {
        let value = argument.strip_prefix("--color=").or_else(|| previous_is_color.then_some(argument.as_str()));
        if let Some(when) = value.and_then(|value| ColorWhen::from_str(value, false).ok()) {
            color = when;
        }
        previous_is_color = argument == "--color";
    }
    color
}

/// Whether a command line that cannot be parsed asks for JSON.
pub(crate) fn is_json_requested(mut arguments: impl Iterator<Item = String>) -> bool {
    arguments.by_ref().take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
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
    fn the_color_option_is_found_in_invalid_command_lines() {
        let parse = |line: &str| requested_color(line.split_whitespace().map(str::to_owned));
        assert_eq!(parse("roci --color never nonsense"), ColorWhen::Never);
        assert_eq!(parse("roci demo --color=always --help"), ColorWhen::Always);
        assert_eq!(parse("roci demo -- --color=always"), ColorWhen::Auto);
        assert_eq!(parse("roci --color"), ColorWhen::Auto);
    }

    #[test]
    fn the_json_option_is_found_in_invalid_command_lines() {
        let parse = |line: &str| is_json_requested(line.split_whitespace().map(str::to_owned));
        assert!(parse("roci nonsense --json"));
        assert!(!parse("roci demo --jsno") && !parse("roci demo -- --json"));
    }

    #[test]
    fn search_paths_are_global_repeatable_and_separated_by_colons() {
        let paths = |line: &str| {
            let cli = Cli::try_parse_from(line.split_whitespace()).expect("valid");
            cli.drivers.amdgpu_libhsa_search_path
        };
        let both = [PathBuf::from("/a"), PathBuf::from("/b")];
        assert_eq!(paths("roci devices --amdgpu-libhsa-search-path /a:/b"), both);
        assert_eq!(paths("roci --amdgpu-libhsa-search-path /a --amdgpu-libhsa-search-path=/b devices"), both);
        assert_eq!(paths("roci demo"), [""; 0].map(PathBuf::from));
    }

    /// Renamed options: the verb with its required arguments, the old name, the current name, and a
    /// value that is not the default.
    const RENAMED: [(&str, &str, &str, &str); 20] = [
        ("chat m", "--most", "--max-tokens", "1"),
        ("chat m", "--cache", "--cache-type", "q8_0"),
        ("chat m", "--schema", "--json-schema", "s"),
        ("chat m", "--penalty-window", "--repeat-last-n", "9"),
        ("run m", "--most", "--max-tokens", "1"),
        ("run m", "--cache", "--cache-type", "q8_0"),
        ("run m", "--schema", "--json-schema", "s"),
        ("run m", "--penalty-window", "--repeat-last-n", "9"),
        ("serve m", "--cache", "--cache-type", "q8_0"),
        ("serve m", "--connections", "--max-connections", "1"),
        ("serve m", "--patience", "--timeout", "2"),
        ("bench m", "--prompt", "--n-prompt", "1"),
        ("bench m", "--written", "--n-gen", "2"),
        ("bench m", "--depth", "--n-depth", "3"),
        ("bench m", "--repeats", "--repetitions", "4"),
        ("bench m", "--batch", "--ubatch-size", "6"),
        ("bench m", "--cache", "--cache-type", "q8_0"),
        ("matrix", "--deadline", "--timeout", "1"),
        ("verify-route cpu", "--deadline", "--timeout", "1"),
        // A renamed value of an option.
        ("matrix", "--group quantised", "--group quantized", ""),
    ];

    #[test]
    fn old_names_of_options_set_the_same_field() {
        let parse = |line: &str| {
            let parsed = Cli::try_parse_from(std::iter::once("roci").chain(line.split_whitespace()));
            format!("{:?}", parsed.unwrap_or_else(|error| panic!("{line}: {error}")))
        };
        for (verb, old, current, value) in RENAMED {
            let set = parse(&format!("{verb} {current} {value}"));
            assert_eq!(parse(&format!("{verb} {old} {value}")), set, "{verb} {old}");
            assert_ne!(parse(verb), set, "{verb} {current} {value} changes nothing");
        }
    }

    #[test]
    fn help_does_not_show_old_names_of_options() {
        let mut command = Cli::command();
        for (line, old, current, _) in RENAMED {
            let verb = line.split(' ').next().unwrap_or_default();
            let help = command.find_subcommand_mut(verb).expect("a verb").render_long_help().to_string();
            let words: Vec<_> = help.split(|c: char| !(c.is_ascii_alphanumeric() || "-_".contains(c))).collect();
            let shows = |option: &str| words.contains(&option.split(' ').next_back().unwrap_or_default());
            assert!(!shows(old), "{old} is in the help of {verb}");
            assert!(shows(current), "{current} is not in the help of {verb}");
        }
    }

    #[test]
    fn devices_can_be_repeated() {
        let cli = Cli::try_parse_from(["roci", "demo", "-d", "cpu", "--device", "auto"]).expect("valid");
        let Command::Demo(demo) = cli.command else { panic!("not demo") };
        assert_eq!(demo.devices, ["cpu", "auto"]);
    }
}
