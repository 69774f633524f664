//! Arguments of the verbs about language models: `chat` and `convert`, and what `run` takes for them.

use std::path::PathBuf;

use clap::Args;

/// What is asked of a language model, whichever verb asks.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct LanguageArgs {
    /// Tells the model what it is, before all else
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// The longest text in tokens, prompt and answer together (default: what the model was trained for, at most 4096)
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) context: Option<u32>,
    /// How keys and values are kept: `f16`, or `q8_0`, which takes half the memory (default: f16)
    #[arg(long, value_name = "TYPE")]
    pub(crate) cache: Option<roci_llm_device::CacheType>,
    /// Rounds nothing to bytes: without it, GPUs that multiply four bytes at once round what one token is multiplied with, which is faster
    #[arg(long)]
    pub(crate) exact: bool,
    /// The most tokens of an answer (default: until the model ends it or the context is full)
    #[arg(short = 'n', long = "most", value_name = "TOKENS")]
    pub(crate) most: Option<usize>,
    /// End an answer where this text would come; repeatable
    #[arg(long = "stop", value_name = "TEXT")]
    pub(crate) stops: Vec<String>,
    /// Hold answers to a grammar in llama.cpp's notation
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    pub(crate) grammar: Option<PathBuf>,
    /// Hold answers to a JSON schema
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

/// How tokens are chosen.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArgs {
    /// How freely tokens are chosen; 0 takes the likeliest each time (default: 0.8)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f32>,
    /// Which random numbers are drawn: the same seed gives the same answer (default: another one each time)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Only so many of the likeliest tokens; 0 for all (default: 40)
    #[arg(long, value_name = "COUNT")]
    pub(crate) top_k: Option<usize>,
    /// Only the likeliest tokens that have this share of the probability together (default: 0.95)
    #[arg(long, value_name = "SHARE")]
    pub(crate) top_p: Option<f32>,
    /// Only tokens with this share of the likeliest one's probability (default: 0.05)
    #[arg(long, value_name = "SHARE")]
    pub(crate) min_p: Option<f32>,
    /// Makes tokens that came of late less likely; 1 does nothing (default: 1)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) repeat_penalty: Option<f32>,
    /// Taken from a token's logit for each time that it came of late (default: 0)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) frequency_penalty: Option<f32>,
    /// Taken from a token's logit if it came of late at all (default: 0)
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) presence_penalty: Option<f32>,
    /// How many of the last tokens count as of late (default: 64)
    #[arg(long, value_name = "COUNT")]
    pub(crate) penalty_window: Option<usize>,
}

/// What `roci run` takes for language models alone.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct PromptArgs {
    /// What a language model shall go on from, or answer; `-` reads standard input
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Give the prompt as it is, without the model's chat template
    #[arg(long, conflicts_with = "system")]
    pub(crate) raw: bool,
    /// Say how many tokens were read and written, and how fast
    #[arg(long)]
    pub(crate) stats: bool,
}

/// Arguments of `roci chat`.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The model, a GGUF file; any part of a split one
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it; repeated, the model is split over them
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Say after each answer how many tokens were read and written, and how fast
    #[arg(long)]
    pub(crate) stats: bool,
    #[command(flatten)]
    pub(crate) language: LanguageArgs,
}

pub(super) const CHAT_EXAMPLES: &str = "Examples:
  roci chat model.gguf
  roci chat model.gguf --system 'You are a pirate.' --temperature 0.5 --stats
  roci chat model.gguf --schema answer.json          answers are JSON of that kind
  printf 'What is two and two?\\n' | roci chat model.gguf --seed 1";

/// Arguments of `roci convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The model, a checkpoint of llama2.c
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: PathBuf,
    /// The GGUF file to write
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The vocabulary (default: `tokenizer.bin` beside the checkpoint)
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// What the model shall be called (default: as the checkpoint's file)
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
}

pub(super) const CONVERT_EXAMPLES: &str = "Examples:
  roci convert stories15M.bin stories15M.gguf        takes tokenizer.bin beside it
  roci convert stories260K.bin stories260K.gguf --tokenizer tok512.bin";
