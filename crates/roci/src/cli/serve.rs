//! Arguments of `roci serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::adapters::AdapterArgs;
use super::experts::ExpertArgs;
use super::speculation::SpeculationArgs;

/// Arguments of `roci serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Model, a GGUF file; any shard of a split one
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Device to run on, as `roci devices` prints it; given several times, the layers are split
    /// over the devices
    #[arg(short, long = "device", value_name = "URI")]
    pub(crate) devices: Vec<String>,
    /// Context size in tokens of one sequence, prompt and answer together (default: the model's
    /// trained context, at most 4096)
    #[arg(long, alias = "ctx-size", value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) context: Option<u32>,
    /// Type of the KV cache: `f16`, or `q8_0`, which takes about half the memory (default: f16)
    #[arg(long, alias = "cache", value_name = "TYPE")]
    pub(crate) cache_type: Option<roci_lm_device::CacheType>,
    /// Keep activations unquantized in decode on GPUs; by default, GPUs with packed dot products
    /// quantize them to 8 bits for speed
    #[arg(long)]
    pub(crate) exact: bool,
    /// Vision tower of the model (mmproj GGUF file), to accept images
    #[arg(long, value_name = "FILE")]
    pub(crate) mmproj: Option<PathBuf>,
    /// Folder of the files that clients may reference as `file://` URLs of images
    #[arg(long, value_name = "DIR")]
    pub(crate) media_path: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) adapters: AdapterArgs,
    #[command(flatten)]
    pub(crate) experts: ExpertArgs,
    /// Maximum number of sequences that are generated concurrently
    #[arg(long, alias = "max-batch", value_name = "COUNT", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub(crate) parallel: usize,
    /// Maximum number of requests that wait in the queue; further ones get status 429
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    pub(crate) queue: usize,
    /// Model name that clients see (default: the name in the model's metadata)
    #[arg(long, value_name = "NAME")]
    pub(crate) alias: Option<String>,
    /// Address or host name to listen on; `0.0.0.0` is every address of this machine
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", help_heading = "Network")]
    pub(crate) host: String,
    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 8080, help_heading = "Network")]
    pub(crate) port: u16,
    /// API key that clients must send (default: ROCI_API_KEY, which other users of this machine
    /// cannot see; no key if unset)
    #[arg(long, value_name = "KEY", help_heading = "Network")]
    pub(crate) api_key: Option<String>,
    /// Origin that browsers may send requests from, such as `https://example.org`, or `*`; can be
    /// given several times
    #[arg(long = "cors", value_name = "ORIGIN", help_heading = "Network")]
    pub(crate) cors: Vec<String>,
    /// Maximum size of a request body, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1 << 12), help_heading = "Network")]
    pub(crate) body_limit: u32,
    /// Maximum number of open connections; further ones wait
    #[arg(long, alias = "connections", value_name = "COUNT", default_value_t = 256, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1 << 16), help_heading = "Network")]
    pub(crate) max_connections: usize,
    /// Seconds that requests in flight may take to finish after the server is asked to stop
    #[arg(long, alias = "patience", value_name = "SECONDS", default_value = "10", value_parser = super::seconds, help_heading = "Network")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) speculation: SpeculationArgs,
}

pub(super) const SERVE_EXAMPLES: &str = "Examples:
  roci serve model.gguf                              http://127.0.0.1:8080, reachable from this machine only
  ROCI_API_KEY=secret roci serve model.gguf --host 0.0.0.0 --parallel 8
  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'";
