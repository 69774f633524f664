//! Arguments of `roci bench`, for devices and for language models.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{AdapterArgs, ExpertArgs, FormatArgs, seconds};

/// A longer prompt or generation is a typo, not a test.
const MAX_TOKENS: u32 = 1 << 24;

/// More sequences exceed the batch size of any device.
const MAX_PARALLEL: u32 = 1 << 16;

/// Arguments of `roci bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Language model to measure, a GGUF file; without it, the device itself is measured
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Device to measure, as `roci devices` prints it; can be given several times (default: `auto`,
    /// the best real device)
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Seconds that one submission may run before the device counts as lost (default: ROCI_TIMEOUT,
    /// or 30)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Use small problem sizes for a quick estimate
    #[arg(long, conflicts_with = "model")]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) text: BenchTextArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Options for language models, with the names of llama-bench.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct BenchTextArgs {
    /// Prompt sizes in tokens, one prefill test each; 0 for none
    #[arg(short = 'p', long, alias = "prompt", value_name = "TOKENS", value_delimiter = ',', default_value = "512")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_TOKENS)))]
    pub(crate) n_prompt: Vec<u32>,
    /// Numbers of tokens to generate, one decode test each; 0 for none
    #[arg(short = 'n', long, alias = "written", value_name = "TOKENS", value_delimiter = ',', default_value = "128")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_TOKENS)))]
    pub(crate) n_gen: Vec<u32>,
    /// Tokens in the KV cache before a test, which runs once for each number
    #[arg(long, alias = "depth", value_name = "TOKENS", value_delimiter = ',', default_value = "0")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_TOKENS)))]
    pub(crate) n_depth: Vec<u32>,
    /// Number of sequences that generate concurrently; runs one decode test for each number. Tokens
    /// per second are the sum over all sequences
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_value = "1")]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PARALLEL)))]
    pub(crate) parallel: Vec<u32>,
    /// Measured runs of each test, after one warm-up run
    #[arg(short, long, alias = "repeats", value_name = "COUNT", default_value_t = 5)]
    #[arg(requires = "model", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repetitions: u32,
    /// Type of the KV cache: `f16`, or `q8_0`, which takes about half the memory
    #[arg(long, alias = "cache", value_name = "TYPE", default_value_t, requires = "model")]
    pub(crate) cache_type: roci_lm_device::CacheType,
    /// Keep activations unquantized in decode on GPUs; by default, GPUs with packed dot products
    /// quantize them to 8 bits for speed
    #[arg(long, requires = "model")]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) adapters: AdapterArgs,
    #[command(flatten)]
    pub(crate) experts: ExpertArgs,
    /// Maximum number of tokens in one forward pass (default: 512 or 64, by the kind of device)
    #[arg(long, alias = "batch", value_name = "TOKENS", requires = "model")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub(crate) ubatch_size: Option<u32>,
    /// Print in a format of llama-bench instead of a table; `--json` is short for `-o json`
    #[arg(short, long, value_name = "FORMAT", value_enum, requires = "model", conflicts_with = "json")]
    pub(crate) output: Option<BenchOutput>,
}

impl BenchTextArgs {
    /// The tests to run on a language model.
    pub(crate) fn plan(&self) -> Vec<roci_lm_bench::Test> {
        roci_lm_bench::plan(&self.n_prompt, &self.n_gen, &self.n_depth, &self.parallel)
    }
}

/// The output formats of llama-bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchOutput {
    /// A Markdown table.
    Md,
    /// Comma-separated values with a header.
    Csv,
    /// A JSON array of objects.
    Json,
    /// One JSON object on each line.
    Jsonl,
    /// SQL statements that insert rows into a table.
    Sql,
}

impl BenchArgs {
    /// Whether results are printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.format.json || self.text.output == Some(BenchOutput::Json)
    }
}

pub(super) const BENCH_EXAMPLES: &str = "Examples:
  roci bench                       the best real device
  roci bench --device vulkan:0 --device opencl:0
  roci bench --quick --json --device emu://gfx1010
  roci bench model.gguf --device vulkan:0 --device cpu
  roci bench model.gguf -p 128,512 -n 64 --n-depth 0,4096 -r 3 -o md
  roci bench model.gguf -p 0 --parallel 1,8,32";
