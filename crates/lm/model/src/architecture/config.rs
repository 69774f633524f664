//! Hyperparameters of a model, from GGUF metadata.

use roci_gguf::{Metadata, Value};

use super::blocks::{NormKind, Temperature};
use super::error::ModelError;
use super::experts::{Experts, expert_layers};
use super::keys::{Keys, LayerCount, MAX_CONTEXT, MAX_HEADS, MAX_KERNEL, MAX_LAYERS, MAX_LENGTH, MAX_TOKENS};
use super::layers::{LayerKinds, temperature};
use super::pooling::Pooling;
use super::rope::RopeConfig;
use super::table;
use super::traits::{ArchitectureTraits, LogitScale, Parallel};
use super::unused;

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
    /// Which layers have it; the others have dense feed-forward blocks.
    pub expert_layers: Vec<bool>,
    /// Whether both blocks of a layer read the same residual stream, each with its own norm.
    pub parallel: bool,
    /// Gated delta nets, if some layers are of this kind.
    pub delta_net: Option<DeltaNetConfig>,
    /// Epsilon of the norms.
    pub epsilon: f32,
    /// Factor of the embeddings.
    pub embedding_scale: f32,
    /// Factor of the blocks' outputs, before they are added to the residual stream.
    pub residual_scale: f32,
    /// Factor of the logits.
    pub logit_scale: f32,
    /// Factor of the attention scores.
    pub attention_scale: f32,
    /// Soft cap of the attention scores.
    pub attention_cap: Option<f32>,
    /// Soft cap of the logits.
    pub logit_cap: Option<f32>,
    /// Sliding window per layer, including the current token; `None` for full attention.
    pub windows: Vec<Option<u32>>,
    /// Length of the chunks of attention per layer; `None` for full attention.
    pub chunks: Vec<Option<u32>>,
    /// Which layers have position embedding.
    pub rotated: Vec<bool>,
    /// Attention temperature per layer.
    pub temperatures: Vec<Option<Temperature>>,
    /// RoPE parameters.
    pub rope: RopeConfig,
    /// Pooling type of embeddings.
    pub pooling: Pooling,
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
        Self::read_layers(metadata, false)
    }

    /// The same, also of the layers that predict further tokens.
    pub(super) fn read_all_layers(metadata: &Metadata) -> Result<(Self, &'static ArchitectureTraits), ModelError> {
        Self::read_layers(metadata, true)
    }

    fn read_layers(metadata: &Metadata, all: bool) -> Result<(Self, &'static ArchitectureTraits), ModelError> {
        let name = metadata.expect_str("general.architecture")?;
        let unknown = || ModelError::Architecture { name: name.to_owned(), known: table::names() };
        let traits = table::find(name).ok_or_else(unknown)?;
        let keys = Keys::new(metadata, traits.name);

        let count = LayerCount::read(&keys)?;
        let count = if all { count.all() } else { count };
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
        let epsilon = match traits.norm {
            NormKind::Rms => "attention.layer_norm_rms_epsilon",
            NormKind::Layer => "attention.layer_norm_epsilon",
        };
        let epsilon = keys.positive(epsilon)?.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key(epsilon)))?;
        let head = match traits.scaled_by_embedding {
            Some(size) if size == layers => embedding as f32 / heads[0] as f32,
            _ => key_length as f32,
        };
        let declared = keys.scale("attention.scale")?;
        let context = keys.count("context_length", MAX_CONTEXT)?.unwrap_or(2048) as u32;
        let rope = RopeConfig::read(&keys, traits, key_length, context)?;
        let kinds = LayerKinds::read(&keys, traits, layers)?;
        let parallel = match traits.parallel {
            Parallel::Never | Parallel::WithoutNorm => false,
            Parallel::Declared => keys
                .flag("use_parallel_residual")?
                .ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("use_parallel_residual")))?,
        };
        let config = Self {
            architecture: traits.name,
            name: metadata.get::<&str>("general.name")?.map(str::to_owned),
            context,
            embedding,
            vocabulary: vocabulary(metadata, &keys)?,
            attention_scale: declared.unwrap_or(1.0 / head.sqrt()),
            attention_cap: cap(keys.float("attn_logit_softcapping")?, traits.soft_caps.0),
            logit_cap: cap(keys.float("final_logit_softcapping")?, traits.soft_caps.1),
            temperatures: temperature(&keys, traits, &rope, &kinds.rotated)?,
            windows: kinds.windows,
            chunks: kinds.chunks,
            rotated: kinds.rotated,
            rope,
            pooling: Pooling::read(&keys)?,
            parallel,
            embedding_scale: embedding_scale(&keys, traits, embedding)?,
            residual_scale: residual_scale(&keys, traits)?,
            logit_scale: logit_scale(&keys, traits)?,
            expert_layers: expert_layers(&keys, experts.is_some(), layers)?,
            heads,
            kv_heads,
            key_length,
            value_length,
            feed_forward,
            experts,
            delta_net: DeltaNetConfig::read(&keys, traits, count)?,
            epsilon,
        };
        unused::check_keys(metadata, traits.name, &keys.read())?;
        Ok((config, traits))
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.heads.len()
    }

    /// The same with one of the layers, without gated delta nets.
    pub(super) fn only(self, layer: usize) -> Self {
        Self {
            heads: vec![self.heads[layer]],
            kv_heads: vec![self.kv_heads[layer]],
            feed_forward: vec![self.feed_forward[layer]],
            expert_layers: vec![self.expert_layers[layer]],
            windows: vec![self.windows[layer]],
            chunks: vec![self.chunks[layer]],
            rotated: vec![self.rotated[layer]],
            temperatures: vec![self.temperatures[layer]],
            delta_net: None,
            ..self
        }
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

fn embedding_scale(keys: &Keys<'_>, traits: &ArchitectureTraits, embedding: usize) -> Result<f32, ModelError> {
    let usual = if traits.scaled_embedding { (embedding as f32).sqrt() } else { 1.0 };
    Ok(keys.scale("embedding_scale")?.unwrap_or(usual))
}

fn residual_scale(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<f32, ModelError> {
    let scale = keys.positive_scale("residual_scale")?.unwrap_or(1.0);
    // The scale becomes part of the norms of blocks' inputs.
    if scale != 1.0 && !traits.pre_norms {
        let reason = format!("not supported for the architecture `{}`", traits.name);
        return Err(ModelError::config(keys.key("residual_scale"), reason));
    }
    Ok(scale)
}

fn logit_scale(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<f32, ModelError> {
    match traits.logit_scale {
        LogitScale::None => Ok(1.0),
        LogitScale::Factor => Ok(keys.scale("logit_scale")?.unwrap_or(1.0)),
        LogitScale::Divisor => {
            let scale = keys.positive("logit_scale")?;
            Ok(1.0 / scale.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("logit_scale")))?)
        }
    }
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
