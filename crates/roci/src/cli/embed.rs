//! Arguments of `roci embed` and `roci rerank`.

use std::path::PathBuf;

use clap::Args;

use super::{AdapterArgs, FormatArgs};

/// Arguments for the model, its devices, and texts from a file.
#[derive(Debug, Args)]
pub(crate) struct TextModelArgs {
    /// Model, a GGUF file; any shard of a split one
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it; given several times, the layers are split
    /// over the devices
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// File with additional texts, one per line; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Maximum number of tokens of a text (default: the model's trained context, at most 4096)
    #[arg(long, alias = "ctx-size", value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) context: Option<u32>,
    /// Keep activations unquantized on GPUs with packed dot products
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) adapters: AdapterArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Arguments of `roci embed`.
#[derive(Debug, Args)]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    pub(crate) model: TextModelArgs,
    /// Text to embed; several texts share a batch
    #[arg(value_name = "TEXT")]
    pub(crate) texts: Vec<String>,
}

pub(super) const EMBED_EXAMPLES: &str = "Examples:
  roci embed bge-small.gguf 'a red apple' 'an apple that is red'
  roci embed nomic-embed.gguf 'search_query: red fruit' --json
  roci embed embeddinggemma.gguf --file sentences.txt > vectors.txt";

/// Arguments of `roci rerank`.
#[derive(Debug, Args)]
pub(crate) struct RerankArgs {
    #[command(flatten)]
    pub(crate) model: TextModelArgs,
    /// Query that the documents are compared with
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: String,
    /// Maximum number of documents to print (default: all)
    #[arg(long, value_name = "COUNT")]
    pub(crate) top: Option<usize>,
    /// Document to score
    #[arg(value_name = "DOCUMENT")]
    pub(crate) documents: Vec<String>,
}

pub(super) const RERANK_EXAMPLES: &str = "Examples:
  roci rerank bge-reranker.gguf --query 'red fruit' 'an apple' 'a car' 'the sky'
  roci rerank qwen3-reranker.gguf --query 'red fruit' --file documents.txt --top 3 --json";
