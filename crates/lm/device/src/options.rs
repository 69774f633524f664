//! Options of a model on a device.

use std::fmt;
use std::str::FromStr;

use crate::ModelAdapter;

/// Element type of the KV cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// 16-bit floats.
    #[default]
    F16,
    /// 8-bit integers with one scale per 32 values: about half the memory.
    Q8,
}

impl CacheType {
    /// Bytes of one head of one token.
    pub(crate) fn bytes(self, head_size: usize) -> u64 {
        match self {
            Self::F16 => 2 * head_size as u64,
            Self::Q8 => head_size as u64 + head_size as u64 / 8,
        }
    }
}

impl fmt::Display for CacheType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::F16 => "f16",
            Self::Q8 => "q8_0",
        })
    }
}

impl FromStr for CacheType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "f16" => Ok(Self::F16),
            "q8_0" | "q8" => Ok(Self::Q8),
            _ => Err(format!("unknown cache type `{text}`; the types are f16 and q8_0")),
        }
    }
}

/// Options of a model on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Element type of the KV cache.
    pub cache: CacheType,
    /// Capacity of the KV cache in tokens, shared by all sequences; the context length if `None`.
    pub cache_tokens: Option<usize>,
    /// Maximum number of tokens of one call; if `None`, chosen by the kind of the slowest device.
    pub max_batch_tokens: Option<usize>,
    /// Maximum number of chunks of one call.
    pub max_chunks: usize,
    /// Tokens per KV page.
    pub page_size: usize,
    /// Number of slots of recurrent state, for models with recurrent blocks: see
    /// [`state_slots`](Self::state_slots()).
    pub state_slots: usize,
    /// Disables packed dot products: without it, GPUs with 4 x 8-bit dot products quantize the
    /// activations of up to eight tokens, and without matrix units those of up to 32, to 8 bits,
    /// which is faster.
    pub exact: bool,
    /// Uses packed dot products on devices that gain nothing from them, such as software
    /// rasterizers. For tests.
    pub force_packed_dot: bool,
    /// Number of leading layers whose experts the CPU computes; the CPU must be among the devices.
    /// The setting does not affect the CPU's own layers and layers without experts.
    pub cpu_expert_layers: usize,
    /// Whether decode kernels are specialized: compiled with the model's sizes as constants, on
    /// devices that compile kernels at run time. This delays the first generated token and makes
    /// each one faster. If `None`, real devices try it and fall back to generic kernels after a
    /// failure.
    pub specialize: Option<bool>,
    /// LoRA adapters of the model.
    pub adapters: Vec<ModelAdapter>,
}

impl Options {
    /// The usual number of slots of recurrent state for this many concurrent sequences: each
    /// has one, and as many are left for checkpoints of shared prefixes. One more lets a sequence
    /// start from a checkpoint.
    pub fn state_slots(sequences: usize) -> usize {
        2 * sequences + 1
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache: CacheType::F16,
            cache_tokens: None,
            max_batch_tokens: None,
            max_chunks: 64,
            page_size: 32,
            state_slots: Self::state_slots(4),
            exact: false,
            force_packed_dot: false,
            cpu_expert_layers: 0,
            specialize: None,
            adapters: Vec::new(),
        }
    }
}
