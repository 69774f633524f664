//! Arguments of `roci serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Arguments of `roci serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The model, a GGUF file; any part of a split one
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it; repeated, the model is split over them
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// The longest text in tokens, prompt and answer together (default: what the model was trained for, at most 4096)
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) context: Option<u32>,
    /// How keys and values are kept: `f16`, or `q8_0`, which takes half the memory (default: f16)
    #[arg(long, value_name = "TYPE")]
    pub(crate) cache: Option<roci_llm_device::CacheType>,
    /// Rounds nothing to bytes: without it, GPUs that multiply four bytes at once round what one token is multiplied with, which is faster
    #[arg(long)]
    pub(crate) exact: bool,
    /// How many texts are written at once
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub(crate) parallel: usize,
    /// How many requests may wait for a place; further ones are refused with status 429
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub(crate) queue: usize,
    /// The name that clients see (default: the model's own)
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Option<String>,
    /// Address or name to listen on; `0.0.0.0` is every address of this machine
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", help_heading = "Network")]
    pub(crate) host: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8080, help_heading = "Network")]
    pub(crate) port: u16,
    /// What clients must show (default: ROCI_API_KEY, which other users of this machine do not see, else no key)
    #[arg(long, value_name = "KEY", help_heading = "Network")]
    pub(crate) api_key: Option<String>,
    /// Origin whose pages may ask from a browser, such as `https://example.org`, or `*`; repeatable
    #[arg(long = "cors", value_name = "ORIGIN", help_heading = "Network")]
    pub(crate) cors: Vec<String>,
    /// The longest body of a request, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1 << 12), help_heading = "Network")]
    pub(crate) body_limit: u32,
    /// How many connections are open at once; further ones wait
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1 << 16), help_heading = "Network")]
    pub(crate) connections: usize,
    /// Seconds that answers may go on once the server is asked to stop
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = super::seconds, help_heading = "Network")]
    pub(crate) patience: Duration,
}

pub(super) const SERVE_EXAMPLES: &str = "Examples:
  roci serve model.gguf                              at http://127.0.0.1:8080, for this machine alone
  ROCI_API_KEY=secret roci serve model.gguf --host 0.0.0.0 --parallel 8
  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'";
