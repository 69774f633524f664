//! Arguments of `chat` and `convert`, and the options of `run` for language models.

use std::path::PathBuf;

use clap::Args;

use super::adapters::AdapterArgs;
use super::experts::ExpertArgs;
use super::speculation::SpeculationArgs;

/// Options of generation, for `run` and `chat`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct LanguageArgs {
    /// System prompt, the first message of the conversation
    #[arg(long, alias = "system-prompt", value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Context size in tokens, prompt and answer together (default: the model's trained context, at
    /// most 4096)
    #[arg(long, alias = "ctx-size", value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) context: Option<u32>,
    /// Type of the KV cache: `f16`, or `q8_0`, which takes about half the memory (default: f16)
    #[arg(long, alias = "cache", value_name = "TYPE")]
    pub(crate) cache_type: Option<roci_lm_device::CacheType>,
    /// Keep activations unquantized in decode on GPUs; by default, GPUs with packed dot products
    /// quantize them to 8 bits for speed
    #[arg(long)]
    pub(crate) exact: bool,
    /// Vision tower of the model (mmproj GGUF file), for images
    #[arg(long, value_name = "FILE")]
    pub(crate) mmproj: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) adapters: AdapterArgs,
    #[command(flatten)]
    pub(crate) experts: ExpertArgs,
    /// Maximum number of tokens to generate (default: until the model ends its answer or the
    /// context is full)
    #[arg(short = 'n', long, aliases = ["most", "n-predict", "predict"], value_name = "TOKENS")]
    pub(crate) max_tokens: Option<usize>,
    /// Stop generating before this text; can be given several times
    #[arg(long = "stop", value_name = "TEXT")]
    pub(crate) stops: Vec<String>,
    /// Constrain generation by a GBNF grammar, the format of llama.cpp
    #[arg(long, alias = "grammar-file", value_name = "FILE", conflicts_with = "json_schema")]
    pub(crate) grammar: Option<PathBuf>,
    /// Constrain generation by a JSON schema: a file, or the schema itself (`{"type": "object"}`)
    #[arg(long, aliases = ["schema", "json-schema-file"], value_name = "FILE|JSON")]
    pub(crate) json_schema: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
    #[command(flatten)]
    pub(crate) speculation: SpeculationArgs,
}

/// Options of sampling.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// Temperature; 0 is greedy sampling (default: 0.8)
    #[arg(long, alias = "temp", value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f32>,
    /// Seed of the random numbers; the same seed gives the same answer (default: random)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Top-k sampling: keep the k most likely tokens; 0 disables it (default: 40)
    #[arg(long, value_name = "COUNT")]
    pub(crate) top_k: Option<usize>,
    /// Top-p sampling: keep the most likely tokens with this total probability; 1 disables it
    /// (default: 0.95)
    #[arg(long, value_name = "P")]
    pub(crate) top_p: Option<f32>,
    /// Min-p sampling: keep tokens with at least this fraction of the highest probability; 0
    /// disables it (default: 0.05)
    #[arg(long, value_name = "P")]
    pub(crate) min_p: Option<f32>,
    /// Divides or multiplies the logits of tokens in the recent window to make them less likely; 1
    /// disables it (default: 1)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) repeat_penalty: Option<f32>,
    /// Subtracted from the logit of a token for each occurrence in the recent window (default: 0)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) frequency_penalty: Option<f32>,
    /// Subtracted from the logit of every token in the recent window (default: 0)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) presence_penalty: Option<f32>,
    /// Size of the recent window: the last tokens that penalties look at (default: 64)
    #[arg(long, alias = "penalty-window", value_name = "TOKENS")]
    pub(crate) repeat_last_n: Option<usize>,
}

/// Options of `roci run` for language models only.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct PromptArgs {
    /// Prompt to answer or to continue; `-` reads standard input
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Image, a PNG or JPEG file, placed before the prompt; can be given several times
    #[arg(long = "image", value_name = "FILE", requires = "mmproj")]
    pub(crate) images: Vec<PathBuf>,
    /// Continue the prompt as it is, without the chat template
    #[arg(long, conflicts_with = "system")]
    pub(crate) raw: bool,
    /// Print token counts and tokens per second of prefill and decode
    #[arg(long, alias = "show-timings")]
    pub(crate) stats: bool,
}

/// Arguments of `roci chat`.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Model, a GGUF file; any shard of a split one
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it; given several times, the layers are split
    /// over the devices
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Print token counts and tokens per second after each answer
    #[arg(long, alias = "show-timings")]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
}

pub(super) const CHAT_EXAMPLES: &str = "Examples:
  roci chat model.gguf
  roci chat model.gguf --system 'You are a pirate.' --temperature 0.5 --stats
  roci chat model.gguf --mmproj mmproj.gguf          /image FILE adds an image to the next message
  roci chat model.gguf --json-schema answer.json     answers are JSON that matches the schema
  printf 'What is two and two?\\n' | roci chat model.gguf --seed 1";

/// Arguments of `roci convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Checkpoint of llama2.c
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// GGUF file to write
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Tokenizer of llama2.c (default: `tokenizer.bin` in the folder of the checkpoint)
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// Name of the model in the metadata (default: the file name of the checkpoint)
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
}

pub(super) const CONVERT_EXAMPLES: &str = "Examples:
  roci convert stories15M.bin stories15M.gguf        with tokenizer.bin in the same folder
  roci convert stories260K.bin stories260K.gguf --tokenizer tok512.bin";
