//! Arguments of `roci perplexity`.

use std::path::PathBuf;

use clap::Args;

use super::{AdapterArgs, FormatArgs};

#[derive(Debug, Args)]
pub(crate) struct PerplexityArgs {
    /// Model, a GGUF file; any shard of a split one
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// File with the text; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Tokens of a chunk; predictions in its second half count
    #[arg(short, long, alias = "ctx-size", value_name = "TOKENS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(4..=1 << 24))]
    pub(crate) context: u32,
    /// Number of chunks to evaluate (default: all)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunks: Option<u32>,
    /// Device to run on, as `roci devices` prints it; given several times, the layers are split
    /// over the devices
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Element type of the KV cache
    #[arg(long, value_name = "TYPE", default_value_t)]
    pub(crate) cache_type: roci_lm_device::CacheType,
    /// Keep activations unquantized on GPUs with packed dot products
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) adapters: AdapterArgs,
    /// Add the negative log-likelihood of each token to the JSON
    #[arg(long, requires = "json")]
    pub(crate) losses: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(super) const PERPLEXITY_EXAMPLES: &str = "Examples:
  roci perplexity model.gguf --file wiki.test.raw
  roci perplexity model.gguf --file book.txt --context 2048 --chunks 20 --device vulkan:0 --json";
