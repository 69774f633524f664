//! How a model is brought to a device.

use std::fmt;
use std::str::FromStr;

/// How keys and values are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheType {
    /// 16-bit floats.
    #[default]
    F16,
    /// Bytes with a scale for each 32 of them: about half the memory.
    Q8,
}

impl CacheType {
    /// Bytes of a head of so many numbers.
    pub(crate) fn bytes(self, length: usize) -> u64 {
        match self {
            Self::F16 => 2 * length as u64,
            Self::Q8 => length as u64 + length as u64 / 8,
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
            _ => Err(format!("`{text}` is no type of cache; known are f16, q8_0")),
        }
    }
}

/// How a model is brought to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How keys and values are kept.
    pub cache: CacheType,
    /// Tokens of all texts together that are kept; as many as one text may have if `None`.
    pub kept: Option<usize>,
    /// The most tokens of one call; chosen by the kind of the slowest device if `None`.
    pub batch: Option<usize>,
    /// The most texts of one call.
    pub chunks: usize,
    /// Tokens of a page.
    pub page: usize,
    /// Nothing but what the device has anyway is rounded: without it, GPUs that multiply four bytes at once round what is multiplied with the weights of one
    /// token to bytes, which is faster.
    pub exact: bool,
    /// Kernels of steps of one token are compiled for the model at hand, with its sizes in their code, where the device compiles kernels itself. That takes a
    /// moment when the first token is written, and less for each one. If `None`, where no processor of the host plays the device, and what fails runs
    /// without.
    pub bake: Option<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Self { cache: CacheType::F16, kept: None, batch: None, chunks: 64, page: 32, exact: false, bake: None }
    }
}
