//! Arguments of `roci bench`: of devices by themselves, and of a language model on them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{FormatArgs, seconds};

/// Longer texts than this are no test but a mistake.
const LONGEST: u32 = 1 << 24;

/// Arguments of `roci bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// A language model to measure, a GGUF file; the device alone without it
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Device to measure, as `roci devices` prints it; can be given several times (default: `auto`, the best real device)
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Seconds that the device may work before it counts as lost (default: ROCI_TIMEOUT, or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Small problems, for a first impression
    #[arg(long, conflicts_with = "model")]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) text: BenchTextArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What is measured of a language model. The long names of llama-bench are taken too.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct BenchTextArgs {
    /// Tokens of prompts to read, a test for each number; 0 for none
    #[arg(short, long, alias = "n-prompt", value_name = "TOKENS", value_delimiter = ',', default_value = "512")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(..=i64::from(LONGEST)))]
    pub(crate) prompt: Vec<u32>,
    /// Tokens to write one by one, a test for each number; 0 for none
    #[arg(short = 'n', long, alias = "n-gen", value_name = "TOKENS", value_delimiter = ',', default_value = "128")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(..=i64::from(LONGEST)))]
    pub(crate) written: Vec<u32>,
    /// Tokens that stand before what is measured, each test once for each number
    #[arg(long, alias = "n-depth", value_name = "TOKENS", value_delimiter = ',', default_value = "0")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(..=i64::from(LONGEST)))]
    pub(crate) depth: Vec<u32>,
    /// How often each test runs, after a run that does not count
    #[arg(short, long, alias = "repetitions", value_name = "COUNT", default_value_t = 5)]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeats: u32,
    /// How keys and values are kept: `f16`, or `q8_0`, which takes half the memory
    #[arg(long, value_name = "TYPE", default_value_t, requires = "model")]
    pub(crate) cache: roci_llm_device::CacheType,
    /// Rounds nothing to bytes: without it, GPUs that multiply four bytes at once round what one token is multiplied with, which is faster
    #[arg(long, requires = "model")]
    pub(crate) exact: bool,
    /// The most tokens that the device takes at once (default: by its kind, 512 or 64)
    #[arg(long, alias = "ubatch-size", value_name = "TOKENS", requires = "model")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub(crate) batch: Option<u32>,
    /// Print in a form that llama-bench has too, instead of a table; `--json` is short for `-o json`
    #[arg(short, long, value_name = "FORM", value_enum, requires = "model", conflicts_with = "json")]
    pub(crate) output: Option<BenchOutput>,
}

/// The forms that llama-bench prints in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchOutput {
    /// A table in Markdown.
    Md,
    /// Values between commas, below a line of names.
    Csv,
    /// A list of objects.
    Json,
    /// An object a line.
    Jsonl,
    /// Commands that put rows into a database.
    Sql,
}

impl BenchArgs {
    /// Whether results are to be JSON.
    pub(crate) fn json(&self) -> bool {
        self.format.json || self.text.output == Some(BenchOutput::Json)
    }
}

pub(super) const BENCH_EXAMPLES: &str = "Examples:
  roci bench                       the best real device
  roci bench --device vulkan:0 --device opencl:0
  roci bench --quick --json --device emu://gfx1010
  roci bench model.gguf --device vulkan:0 --device cpu
  roci bench model.gguf -p 128,512 -n 64 --depth 0,4096 -r 3 -o md";
