//! Hyperparameters of a model, from GGUF metadata.

use roci_gguf::{Metadata, Value};

use super::error::ModelError;
use super::pooling::Pooling;
use super::rope::RopeConfig;
use super::table::{self, ArchitectureTraits, Windows};

/// Hyperparameters of a model, all validated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Name of the architecture.
    pub architecture: &'static str,
    /// Name of the model, if the file has one.
    pub name: Option<String>,
    /// Context length that the model was trained for.
    pub context: u32,
    /// Length of the residual stream.
    pub embedding: usize,
    /// Vocabulary size.
    pub vocabulary: usize,
    /// Query heads, per layer.
    pub heads: Vec<usize>,
    /// Key and value heads, per layer.
    pub kv_heads: Vec<usize>,
    /// Length of a query or key head.
    pub key_length: usize,
    /// Length of a value head.
    pub value_length: usize,
    /// Length of the activated feed-forward vector, per layer.
    pub feed_forward: Vec<usize>,
    /// Mixture of experts, if the model has one.
    pub experts: Option<Experts>,
    /// Gated delta nets, if some layers are of this kind.
    pub delta_net: Option<DeltaNetConfig>,
    /// Epsilon of the RMS norms.
    pub epsilon: f32,
    /// Factor of the attention scores.
    pub attention_scale: f32,
    /// Soft cap of the attention scores.
    pub attention_cap: Option<f32>,
    /// Soft cap of the logits.
    pub logit_cap: Option<f32>,
    /// Sliding window per layer, including the current token; `None` for full attention.
    pub windows: Vec<Option<u32>>,
    /// RoPE parameters.
    pub rope: RopeConfig,
    /// Pooling type of embeddings.
    pub pooling: Pooling,
}

/// Mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Experts {
    /// Total number of experts.
    pub count: usize,
    /// Experts per token.
    pub experts_per_token: usize,
    /// Length of an expert's activated vector.
    pub feed_forward: usize,
    /// Length of the shared expert's activated vector, if the file has it.
    pub shared_feed_forward: Option<usize>,
}

/// Sizes of gated delta nets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeltaNetConfig {
    /// Which layers are gated delta nets.
    pub layers: Vec<bool>,
    /// Tokens that the convolution reads, including the current one.
    pub kernel: usize,
    /// Query and key heads.
    pub key_heads: usize,
    /// Value heads.
    pub heads: usize,
    /// Length of a head.
    pub length: usize,
}

/// Limits. Files that exceed them are damaged or hostile; products of smaller numbers do not
/// overflow.
const MAX_LAYERS: u64 = 1 << 12;
const MAX_HEADS: u64 = 1 << 14;
const MAX_LENGTH: u64 = 1 << 22;
const MAX_EXPERTS: u64 = 1 << 12;
const MAX_TOKENS: u64 = 1 << 26;
const MAX_CONTEXT: u64 = 1 << 31;
const MAX_KERNEL: u64 = 1 << 6;

/// Typed access to the metadata keys of one architecture.
pub(super) struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'static str,
}

impl<'a> Keys<'a> {
    /// The full name of a key.
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// An integer from 1 to `most`, if the key exists.
    pub(super) fn count(&self, key: &str, most: u64) -> Result<Option<usize>, ModelError> {
        let key = self.key(key);
        let Some(count) = self.metadata.get::<u64>(&key)? else { return Ok(None) };
        if count == 0 || count > most {
            return Err(ModelError::config(key, format!("{count} is out of range: 1 to {most}")));
        }
        Ok(Some(count as usize))
    }

    fn needed(&self, key: &str, most: u64) -> Result<usize, ModelError> {
        self.count(key, most)?.ok_or_else(|| roci_gguf::Error::MissingKey(self.key(key)).into())
    }

    /// One integer for all layers, or an array with one per layer.
    fn each(&self, key: &str, layers: LayerCount, most: u64) -> Result<Option<Vec<usize>>, ModelError> {
        let key = self.key(key);
        let Some(mut counts) = self.metadata.get_each::<u64>(&key, layers.file)? else { return Ok(None) };
        counts.truncate(layers.computed);
        if let Some(count) = counts.iter().find(|&&count| count == 0 || count > most) {
            return Err(ModelError::config(key, format!("{count} is out of range: 1 to {most}")));
        }
        Ok(Some(counts.into_iter().map(|count| count as usize).collect()))
    }

    /// An array of `N` integers from 0 to `most`.
    pub(super) fn counts<const N: usize>(&self, key: &str, most: u64) -> Result<[usize; N], ModelError> {
        let key = self.key(key);
        let counts: Vec<u64> = self.metadata.expect(&key)?;
        let array: [u64; N] = counts.try_into().map_err(|counts: Vec<u64>| {
            ModelError::config(&*key, format!("{} numbers instead of {N}", counts.len()))
        })?;
        match array.iter().find(|&&count| count > most) {
            Some(count) => Err(ModelError::config(key, format!("{count} is out of range: 0 to {most}"))),
            None => Ok(array.map(|count| count as usize)),
        }
    }

    /// A finite number, if the key exists.
    pub(super) fn float(&self, key: &str) -> Result<Option<f32>, ModelError> {
        let key = self.key(key);
        match self.metadata.get::<f32>(&key)? {
            Some(number) if !number.is_finite() => Err(ModelError::config(key, format!("{number} is not finite"))),
            number => Ok(number),
        }
    }

    /// A finite number above zero, if the key exists.
    pub(super) fn positive(&self, key: &str) -> Result<Option<f32>, ModelError> {
        match self.float(key)? {
            Some(number) if number <= 0.0 => Err(ModelError::config(self.key(key), format!("{number} is not above 0"))),
            number => Ok(number),
        }
    }

    /// An unsigned integer, if the key exists.
    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }
}

/// Layers of a file. The last ones may predict further tokens from the hidden states of the
/// others (multi-token prediction); the model is computed without them.
#[derive(Clone, Copy)]
struct LayerCount {
    file: usize,
    computed: usize,
}

impl LayerCount {
    fn read(keys: &Keys<'_>) -> Result<Self, ModelError> {
        let file = keys.needed("block_count", MAX_LAYERS)?;
        let predicting = keys.metadata.get::<u64>(&keys.key("nextn_predict_layers"))?.unwrap_or(0);
        if predicting >= file as u64 {
            let reason = format!("{predicting} is out of range: 0 to {}", file - 1);
            return Err(ModelError::config(keys.key("nextn_predict_layers"), reason));
        }
        Ok(Self { file, computed: file - predicting as usize })
    }
}

impl Config {
    /// Reads the hyperparameters from the metadata of a file.
    ///
    /// # Errors
    /// If the architecture is not supported, or a key is missing or out of range.
    pub fn new(metadata: &Metadata) -> Result<Self, ModelError> {
        Self::read(metadata).map(|(config, _)| config)
    }

    /// The hyperparameters, and the traits of the architecture.
    pub(super) fn read(metadata: &Metadata) -> Result<(Self, &'static ArchitectureTraits), ModelError> {
        let name = metadata.expect_str("general.architecture")?;
        let unknown = || ModelError::Architecture { name: name.to_owned(), known: table::names() };
        let traits = table::find(name).ok_or_else(unknown)?;
        let keys = Keys { metadata, architecture: traits.name };

        let count = LayerCount::read(&keys)?;
        let layers = count.computed;
        let embedding = keys.needed("embedding_length", MAX_LENGTH)?;
        let heads = keys.each("attention.head_count", count, MAX_HEADS)?;
        let heads = heads.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("attention.head_count")))?;
        let kv_heads = keys.each("attention.head_count_kv", count, MAX_HEADS)?.unwrap_or_else(|| heads.clone());
        for (asking, answering) in heads.iter().zip(&kv_heads) {
            if asking % answering != 0 {
                let reason = format!("{asking} query heads are not a multiple of {answering} key and value heads");
                return Err(ModelError::config(keys.key("attention.head_count_kv"), reason));
            }
        }
        let key_length = match keys.count("attention.key_length", MAX_LENGTH)? {
            Some(length) => length,
            None if embedding % heads[0] == 0 => embedding / heads[0],
            None => {
                let reason = format!("the embedding length {embedding} is not a multiple of {} heads", heads[0]);
                return Err(ModelError::config(keys.key("attention.head_count"), reason));
            }
        };
        let value_length = keys.count("attention.value_length", MAX_LENGTH)?.unwrap_or(key_length);

        if traits.output_gate && value_length != key_length {
            let reason = format!("{value_length} is not {key_length}, the length of the output gate's heads");
            return Err(ModelError::config(keys.key("attention.value_length"), reason));
        }

        let experts = Experts::read(&keys, traits)?;
        let feed_forward = match keys.each("feed_forward_length", count, MAX_LENGTH)? {
            Some(feed_forward) => feed_forward,
            // Models with experts in all layers may omit it.
            None if experts.is_some() => vec![experts.map_or(0, |experts| experts.feed_forward); layers],
            None => return Err(roci_gguf::Error::MissingKey(keys.key("feed_forward_length")).into()),
        };
        if keys.float("attention.temperature_scale")?.is_some_and(|scale| scale != 0.0) {
            let reason = "position-dependent attention temperature is not supported";
            return Err(ModelError::config(keys.key("attention.temperature_scale"), reason));
        }
        let epsilon = keys.positive("attention.layer_norm_rms_epsilon")?;
        let epsilon =
            epsilon.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("attention.layer_norm_rms_epsilon")))?;
        let head = match traits.scaled_by_embedding {
            Some(size) if size == layers => embedding as f32 / heads[0] as f32,
            _ => key_length as f32,
        };
        let declared = keys.float("attention.scale")?.filter(|scale| *scale != 0.0);
        let context = keys.count("context_length", MAX_CONTEXT)?.unwrap_or(2048) as u32;
        let config = Self {
            architecture: traits.name,
            name: metadata.get::<&str>("general.name")?.map(str::to_owned),
            context,
            embedding,
            vocabulary: vocabulary(metadata, &keys)?,
            attention_scale: declared.unwrap_or(1.0 / head.sqrt()),
            attention_cap: cap(keys.float("attn_logit_softcapping")?, traits.soft_caps.0),
            logit_cap: cap(keys.float("final_logit_softcapping")?, traits.soft_caps.1),
            windows: windows(&keys, traits, layers)?,
            rope: RopeConfig::read(&keys, traits, key_length, context)?,
            pooling: Pooling::read(&keys)?,
            heads,
            kv_heads,
            key_length,
            value_length,
            feed_forward,
            experts,
            delta_net: DeltaNetConfig::read(&keys, traits, count)?,
            epsilon,
        };
        Ok((config, traits))
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.heads.len()
    }
}

impl Experts {
    fn read(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Option<Self>, ModelError> {
        // Dense models may declare zero experts.
        let count = keys.metadata.get::<u64>(&keys.key("expert_count"))?.unwrap_or(0);
        if count == 0 && !traits.experts {
            return Ok(None);
        }
        let count = keys.needed("expert_count", MAX_EXPERTS)?;
        let experts_per_token = keys.needed("expert_used_count", MAX_EXPERTS)?;
        if experts_per_token > count {
            let reason = format!("{experts_per_token} experts per token are out of range: 1 to {count}");
            return Err(ModelError::config(keys.key("expert_used_count"), reason));
        }
        let feed_forward = match keys.count("expert_feed_forward_length", MAX_LENGTH)? {
            Some(length) => length,
            None => keys.needed("feed_forward_length", MAX_LENGTH)?,
        };
        let shared_feed_forward = keys.count("expert_shared_feed_forward_length", MAX_LENGTH)?;
        Ok(Some(Self { count, experts_per_token, feed_forward, shared_feed_forward }))
    }
}

impl DeltaNetConfig {
    fn read(keys: &Keys<'_>, traits: &ArchitectureTraits, layers: LayerCount) -> Result<Option<Self>, ModelError> {
        if traits.delta_net.is_none() {
            return Ok(None);
        }
        let config = Self {
            layers: Self::layers(keys, layers)?,
            kernel: keys.needed("ssm.conv_kernel", MAX_KERNEL)?,
            key_heads: keys.needed("ssm.group_count", MAX_HEADS)?,
            heads: keys.needed("ssm.time_step_rank", MAX_HEADS)?,
            length: keys.needed("ssm.state_size", MAX_LENGTH)?,
        };
        if !config.heads.is_multiple_of(config.key_heads) {
            let reason = format!("{} value heads are not a multiple of {} key heads", config.heads, config.key_heads);
            return Err(ModelError::config(keys.key("ssm.group_count"), reason));
        }
        let (inner, values) = (keys.needed("ssm.inner_size", u64::MAX)?, config.heads * config.length);
        if inner != values {
            let reason = format!("{inner} is not {values}, the length of {} heads", config.heads);
            return Err(ModelError::config(keys.key("ssm.inner_size"), reason));
        }
        Ok(Some(config))
    }

    fn layers(keys: &Keys<'_>, layers: LayerCount) -> Result<Vec<bool>, ModelError> {
        let key = keys.key("attention.recurrent_layers");
        if let Some(mut recurrent) = keys.metadata.get_each::<bool>(&key, layers.file)? {
            recurrent.truncate(layers.computed);
            return Ok(recurrent);
        }
        let interval = keys.count("full_attention_interval", MAX_LAYERS)?.unwrap_or(4);
        Ok((1..=layers.computed).map(|number| number % interval != 0).collect())
    }
}

/// The sliding window of each layer.
fn windows(keys: &Keys<'_>, traits: &ArchitectureTraits, layers: usize) -> Result<Vec<Option<u32>>, ModelError> {
    // Some files use a window of 0 for full attention.
    let declared = keys.metadata.get::<u32>(&keys.key("attention.sliding_window"))?.filter(|window| *window > 0);
    let key = keys.key("attention.sliding_window_pattern");
    Ok(match traits.windows {
        Windows::Never => vec![None; layers],
        Windows::AsDeclared => vec![declared; layers],
        Windows::Alternating { period, window, .. } => {
            let window = declared.or(window);
            let pattern = match keys.metadata.value(&key) {
                Some(Value::Array(_)) => keys.metadata.expect::<Vec<bool>>(&key)?,
                _ => {
                    let period = keys.metadata.get::<u32>(&key)?.map_or(period, |period| period as usize);
                    (0..layers).map(|layer| period == 0 || layer % period < period - 1).collect()
                }
            };
            if pattern.len() != layers {
                return Err(ModelError::config(key, format!("{} entries for {layers} layers", pattern.len())));
            }
            pattern.into_iter().map(|within| window.filter(|_| within)).collect()
        }
    })
}

/// The soft cap from the file, or else the default of the architecture; 0 means none.
fn cap(declared: Option<f32>, usual: Option<f32>) -> Option<f32> {
    declared.or(usual).filter(|cap| *cap > 0.0)
}

/// Vocabulary size: the length of the token list, or the declared size if there is no list.
fn vocabulary(metadata: &Metadata, keys: &Keys<'_>) -> Result<usize, ModelError> {
    if let Some(Value::Array(tokens)) = metadata.value("tokenizer.ggml.tokens") {
        if tokens.is_empty() || tokens.len() as u64 > MAX_TOKENS {
            let reason = format!("{} tokens are out of range: 1 to {MAX_TOKENS}", tokens.len());
            return Err(ModelError::config("tokenizer.ggml.tokens", reason));
        }
        return Ok(tokens.len());
    }
    keys.needed("vocab_size", MAX_TOKENS)
}
