//! Hyperparameters of a model, from GGUF metadata.

use roci_gguf::{Metadata, Value};

use super::blocks::{NormKind, Temperature};
use super::encoder::EncoderConfig;
use super::error::ModelError;
use super::experts::{Experts, expert_layers};
use super::hybrid::{LayerBlocks, RecurrentConfig};
use super::keys::{
    Keys, LayerCount, MAX_CONTEXT, MAX_HEADS, MAX_KERNEL, MAX_LAYERS, MAX_LENGTH, MAX_STREAMS, MAX_TOKENS,
};
use super::latent::{LatentConfig, undeclared_scores};
use super::layers::{LayerKinds, kv_layers, sparsity, temperature};
use super::pooling::Pooling;
use super::rope::RopeConfig;
use super::table;
use super::traits::{ArchitectureTraits, AttentionGate, HybridTraits, LogitScale, Parallel, ScoreScale, UsualScales};
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
    /// Query heads, per layer; 0 in layers of some models without attention.
    pub heads: Vec<usize>,
    /// Key and value heads, per layer; 0 in some layers without attention.
    pub kv_heads: Vec<usize>,
    /// Multi-head latent attention. Key and value heads, and their lengths, are then those of the
    /// cached latents.
    pub latent: Option<LatentConfig>,
    /// Length of a query or key head.
    pub key_length: usize,
    /// Length of a value head.
    pub value_length: usize,
    /// Lengths of key and value heads in layers with a window, if they differ from other layers.
    pub window_lengths: Option<(usize, usize)>,
    /// For each layer, the earlier one whose keys and values it reads instead of its own.
    pub kv_layers: Vec<Option<usize>>,
    /// Length of a layer's per-layer embedding, in models that have one.
    pub per_layer_length: Option<usize>,
    /// How many of the first layers are followed by an addition of features of images (deepstack).
    pub deepstack_layers: usize,
    /// Layers in which a row of an image may attend to later rows of the image.
    pub bidirectional_images: Vec<bool>,
    /// Residual streams, if there are several.
    pub streams: Option<StreamConfig>,
    /// Sparsity of the activations of each layer.
    pub sparsity: Vec<Option<f32>>,
    /// Length of the activated feed-forward vector, per layer; 0 in some layers without feed-forward.
    pub feed_forward: Vec<usize>,
    /// Mixture of experts, if the model has one.
    pub experts: Option<Experts>,
    /// Which layers have it; the others have dense feed-forward blocks.
    pub expert_layers: Vec<bool>,
    /// Whether both blocks of a layer read the same residual stream, each with its own norm.
    pub parallel: bool,
    /// The blocks of each layer.
    pub blocks: Vec<LayerBlocks>,
    /// Recurrent blocks other than gated delta nets.
    pub recurrent: Option<RecurrentConfig>,
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
    /// Hyperparameters of embedding models and rerankers.
    pub encoder: EncoderConfig,
}

/// Residual streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamConfig {
    /// Number of streams.
    pub count: usize,
    /// The stream that blocks read and write.
    pub active: usize,
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

    /// [`read`](Self::read), including the layers of prediction heads.
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
        // 0 means that a layer lacks the block.
        let least = u64::from(traits.hybrid == HybridTraits::None);
        let heads = keys.each("attention.head_count", count, least..=MAX_HEADS)?;
        let heads = heads.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("attention.head_count")))?;
        let kv_heads = keys.each("attention.head_count_kv", count, least..=MAX_HEADS)?;
        let kv_heads = kv_heads.unwrap_or_else(|| heads.clone());
        let head_count = heads.iter().copied().find(|heads| *heads > 0);
        let key_length = match (keys.count("attention.key_length", MAX_LENGTH)?, head_count) {
            (Some(length), _) => length,
            (None, None) => 0,
            (None, Some(heads)) if embedding.is_multiple_of(heads) => embedding / heads,
            (None, Some(heads)) => {
                let reason = format!("the embedding length {embedding} is not a multiple of {heads} heads");
                return Err(ModelError::config(keys.key("attention.head_count"), reason));
            }
        };
        let value_length = keys.count("attention.value_length", MAX_LENGTH)?.unwrap_or(key_length);

        if traits.output_gate == AttentionGate::InQueryProjection && value_length != key_length {
            let reason = format!("{value_length} is not {key_length}, the length of the output gate's heads");
            return Err(ModelError::config(keys.key("attention.value_length"), reason));
        }

        let latent = LatentConfig::read(&keys, traits, (key_length, value_length))?;
        let query_length = latent.map_or(key_length, |latent| latent.query_length);
        let window_lengths = window_lengths(&keys, traits)?;
        let vocabulary = vocabulary(metadata, &keys)?;
        let experts = Experts::read(&keys, traits)?
            .map(|experts| undeclared_scores(&keys, traits, layers, vocabulary, experts))
            .transpose()?;
        let feed_forward = match keys.each("feed_forward_length", count, least..=MAX_LENGTH)? {
            Some(feed_forward) => feed_forward,
            // Models with experts in all layers may omit it.
            None if experts.is_some() => vec![experts.map_or(0, |experts| experts.feed_forward); layers],
            None => return Err(roci_gguf::Error::MissingKey(keys.key("feed_forward_length")).into()),
        };
        let blocks = LayerBlocks::all(traits, &kv_heads, &feed_forward);
        check_blocks(&keys, traits, &blocks, &heads, &kv_heads, &feed_forward)?;
        let epsilon = match traits.norm {
            NormKind::Rms => "attention.layer_norm_rms_epsilon",
            NormKind::Layer => "attention.layer_norm_epsilon",
        };
        let epsilon = keys.positive(epsilon)?.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key(epsilon)))?;
        let head = match traits.scaled_by_embedding {
            Some(size) if size == layers => embedding as f32 / heads[0] as f32,
            _ => key_length.max(1) as f32,
        };
        let head = match traits.score_scale {
            ScoreScale::Root => head,
            ScoreScale::Length => head * head,
            ScoreScale::None => 1.0,
        };
        let declared = keys.scale("attention.scale")?;
        let context = keys.count("context_length", MAX_CONTEXT)?.unwrap_or(2048) as u32;
        let rope = RopeConfig::read(
            &keys,
            traits,
            [query_length, window_lengths.map_or(query_length, |lengths| lengths.0)],
            context,
        )?;
        latent.map_or(Ok(()), |latent| latent.check(&keys, &rope))?;
        let usual_scale = latent.map_or(1.0 / head.sqrt(), |latent| latent.scale(&rope));
        let (key_length, value_length) =
            latent.map_or((key_length, value_length), |latent| (latent.rank + rope.dimensions, latent.rank));
        let kv_heads = if latent.is_some() { vec![1; layers] } else { kv_heads };
        let kinds = LayerKinds::read(&keys, traits, layers)?;
        let per_layer_length = per_layer_length(&keys, traits)?;
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
            vocabulary,
            latent,
            attention_scale: declared.unwrap_or(usual_scale),
            attention_cap: cap(keys.float("attn_logit_softcapping")?, traits.soft_caps.0),
            logit_cap: cap(keys.float("final_logit_softcapping")?, traits.soft_caps.1),
            temperatures: temperature(&keys, traits, &rope, &kinds.rotated)?,
            kv_layers: kv_layers(&keys, traits, &kinds.windows, &kv_heads)?,
            bidirectional_images: bidirectional_images(traits, &kinds.windows, per_layer_length),
            windows: kinds.windows,
            chunks: kinds.chunks,
            rotated: kinds.rotated,
            rope,
            pooling: Pooling::read(&keys)?,
            encoder: EncoderConfig::read(&keys, traits)?,
            parallel,
            embedding_scale: embedding_scale(&keys, traits, embedding)?,
            residual_scale: residual_scale(&keys, traits, layers)?,
            logit_scale: logit_scale(&keys, traits, embedding)?,
            expert_layers: expert_layers(&keys, experts.is_some(), layers)?,
            heads,
            kv_heads,
            key_length,
            value_length,
            window_lengths,
            per_layer_length,
            deepstack_layers: deepstack_layers(&keys, layers)?,
            streams: StreamConfig::read(&keys, traits)?,
            sparsity: sparsity(&keys, traits, count)?,
            feed_forward,
            experts,
            blocks,
            recurrent: RecurrentConfig::read(&keys, traits)?,
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

    /// The hyperparameters of a single layer, without gated delta nets.
    pub(super) fn only(self, layer: usize) -> Self {
        Self {
            heads: vec![self.heads[layer]],
            kv_heads: vec![self.kv_heads[layer]],
            feed_forward: vec![self.feed_forward[layer]],
            expert_layers: vec![self.expert_layers[layer]],
            bidirectional_images: vec![self.bidirectional_images[layer]],
            windows: vec![self.windows[layer]],
            chunks: vec![self.chunks[layer]],
            rotated: vec![self.rotated[layer]],
            temperatures: vec![self.temperatures[layer]],
            kv_layers: vec![None],
            sparsity: vec![self.sparsity[layer]],
            blocks: vec![self.blocks[layer]],
            delta_net: None,
            deepstack_layers: 0,
            ..self
        }
    }

    /// Lengths of the key and value heads of a layer.
    pub fn head_lengths(&self, layer: usize) -> (usize, usize) {
        let whole = (self.key_length, self.value_length);
        self.window_lengths.filter(|_| self.windows[layer].is_some()).unwrap_or(whole)
    }
}

impl StreamConfig {
    fn read(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Option<Self>, ModelError> {
        if !traits.streams {
            return Ok(None);
        }
        let count = keys.count("altup.num_inputs", MAX_STREAMS)?.unwrap_or(4);
        let active = keys.integer("altup.active_idx")?.unwrap_or(0);
        if active < 0 || active >= count as i64 {
            let reason = format!("{active} is out of range: 0 to {}", count - 1);
            return Err(ModelError::config(keys.key("altup.active_idx"), reason));
        }
        Ok(Some(Self { count, active: active as usize }))
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

/// Checks that layers have the heads and feed-forward lengths that their blocks need.
fn check_blocks(
    keys: &Keys<'_>,
    traits: &ArchitectureTraits,
    blocks: &[LayerBlocks],
    heads: &[usize],
    kv_heads: &[usize],
    feed_forward: &[usize],
) -> Result<(), ModelError> {
    for (index, blocks) in blocks.iter().enumerate() {
        let (asking, answering) = (heads[index], kv_heads[index]);
        if blocks.attention && (asking == 0 || answering == 0 || asking % answering != 0) {
            let reason = format!("{asking} query heads are not a multiple of {answering} key and value heads");
            return Err(ModelError::config(keys.key("attention.head_count_kv"), reason));
        }
        if traits.hybrid == HybridTraits::MissingBlocks && asking > 0 && answering == 0 {
            let reason = "0 in a layer with query heads (its attention is a single matrix) is not supported".to_owned();
            return Err(ModelError::config(keys.key("attention.head_count_kv"), reason));
        }
        if blocks.feed_forward && feed_forward[index] == 0 {
            let reason = format!("0 is out of range: 1 to {MAX_LENGTH}");
            return Err(ModelError::config(keys.key("feed_forward_length"), reason));
        }
    }
    Ok(())
}

fn embedding_scale(keys: &Keys<'_>, traits: &ArchitectureTraits, embedding: usize) -> Result<f32, ModelError> {
    let usual = match traits.usual_scales {
        UsualScales::None => 1.0,
        UsualScales::Gemma => (embedding as f32).sqrt(),
        UsualScales::MiniCpm => 12.0,
    };
    Ok(keys.scale("embedding_scale")?.unwrap_or(usual))
}

fn residual_scale(keys: &Keys<'_>, traits: &ArchitectureTraits, layers: usize) -> Result<f32, ModelError> {
    let usual = match traits.usual_scales {
        UsualScales::None | UsualScales::Gemma => 1.0,
        UsualScales::MiniCpm => 1.4 / (layers as f32).sqrt(),
    };
    let scale = keys.positive_scale("residual_scale")?.unwrap_or(usual);
    // The scale becomes part of the norms of blocks' inputs.
    if scale != 1.0 && !traits.pre_norms {
        let reason = format!("not supported for the architecture `{}`", traits.name);
        return Err(ModelError::config(keys.key("residual_scale"), reason));
    }
    Ok(scale)
}

fn logit_scale(keys: &Keys<'_>, traits: &ArchitectureTraits, embedding: usize) -> Result<f32, ModelError> {
    let usual = match traits.usual_scales {
        UsualScales::None | UsualScales::Gemma => None,
        UsualScales::MiniCpm => Some(256.0 / embedding as f32),
    };
    match traits.logit_scale {
        LogitScale::None => Ok(1.0),
        LogitScale::Factor => Ok(keys.scale("logit_scale")?.unwrap_or(1.0)),
        LogitScale::OptionalDivisor => Ok(1.0 / keys.positive_scale("logit_scale")?.unwrap_or(1.0)),
        LogitScale::Divisor => {
            let scale = keys.positive("logit_scale")?.or(usual);
            Ok(1.0 / scale.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("logit_scale")))?)
        }
    }
}

fn deepstack_layers(keys: &Keys<'_>, layers: usize) -> Result<usize, ModelError> {
    let count = keys.integer("n_deepstack_layers")?.unwrap_or(0);
    usize::try_from(count).ok().filter(|count| *count <= layers).ok_or_else(|| {
        let reason = format!("{count} is out of range: 0 to {layers}");
        ModelError::config(keys.key("n_deepstack_layers"), reason)
    })
}

/// The soft cap from the file, or else the default of the architecture; 0 means none.
fn cap(declared: Option<f32>, usual: Option<f32>) -> Option<f32> {
    declared.or(usual).filter(|cap| *cap > 0.0)
}

/// Lengths of the heads of layers with a window.
fn window_lengths(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Option<(usize, usize)>, ModelError> {
    if !traits.window_heads {
        return Ok(None);
    }
    let key = keys.needed("attention.key_length_swa", MAX_LENGTH)?;
    Ok(Some((key, keys.needed("attention.value_length_swa", MAX_LENGTH)?)))
}

/// Length of a layer's per-layer embedding; 0 in the file means none.
fn per_layer_length(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Option<usize>, ModelError> {
    let name = "embedding_length_per_layer_input";
    if !traits.per_layer_embedding || keys.integer(name)?.unwrap_or(0) == 0 {
        return Ok(None);
    }
    keys.count(name, MAX_LENGTH)
}

/// [`Config::bidirectional_images`].
fn bidirectional_images(
    traits: &ArchitectureTraits,
    windows: &[Option<u32>],
    per_layer_length: Option<usize>,
) -> Vec<bool> {
    let allowed = |window: &Option<u32>| !traits.windowed_images || window.is_some() && per_layer_length.is_none();
    windows.iter().map(allowed).collect()
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
