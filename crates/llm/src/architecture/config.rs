//! A model's numbers, from a file's metadata.

use roci_gguf::{Metadata, Value};

use super::error::ModelError;
use super::pooling::Pooling;
use super::rope::RopeConfig;
use super::table::{self, Traits, Windows};

/// A model's numbers, each checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The architecture's name.
    pub architecture: &'static str,
    /// The model's own name, if it has one.
    pub name: Option<String>,
    /// How many tokens it was trained to look back on.
    pub context: u32,
    /// How many values stand for a token between layers.
    pub embedding: usize,
    /// How many tokens there are.
    pub vocabulary: usize,
    /// For each layer, how many heads ask.
    pub heads: Vec<usize>,
    /// For each layer, how many heads answer.
    pub kv_heads: Vec<usize>,
    /// The length of a head of queries and keys.
    pub key_length: usize,
    /// The length of a head of values.
    pub value_length: usize,
    /// For each layer, how many values the feed-forward part has inside.
    pub feed_forward: Vec<usize>,
    /// Mixtures of experts.
    pub experts: Option<Experts>,
    /// Added to mean squares.
    pub epsilon: f32,
    /// What attention scores are multiplied by.
    pub attention_scale: f32,
    /// The limit of attention scores.
    pub attention_cap: Option<f32>,
    /// The limit of logits.
    pub logit_cap: Option<f32>,
    /// For each layer, how many of the last tokens it sees, the present one among them; `None` for all.
    pub windows: Vec<Option<u32>>,
    /// Rotations.
    pub rope: RopeConfig,
    /// What a text's embedding is made of.
    pub pooling: Pooling,
}

/// Mixtures of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// How many there are.
    pub count: usize,
    /// How many a token takes.
    pub used: usize,
    /// How many values one has inside.
    pub feed_forward: usize,
}

/// Limits: beyond them a file is damaged or hostile, and products of numbers below them do not overflow.
const MOST_LAYERS: u64 = 1 << 12;
const MOST_HEADS: u64 = 1 << 14;
const LONGEST: u64 = 1 << 22;
const MOST_EXPERTS: u64 = 1 << 12;
const MOST_TOKENS: u64 = 1 << 26;
const LONGEST_CONTEXT: u64 = 1 << 31;

/// Questions about one architecture's keys.
pub(super) struct Keys<'a> {
    metadata: &'a Metadata,
    architecture: &'static str,
}

impl<'a> Keys<'a> {
    /// The whole name of a key.
    pub(super) fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// A number from 1 to `most`, if it is there.
    pub(super) fn count(&self, key: &str, most: u64) -> Result<Option<usize>, ModelError> {
        let key = self.key(key);
        let Some(count) = self.metadata.get::<u64>(&key)? else { return Ok(None) };
        if count == 0 || count > most {
            return Err(ModelError::config(key, format!("{count} is not from 1 to {most}")));
        }
        Ok(Some(count as usize))
    }

    fn needed(&self, key: &str, most: u64) -> Result<usize, ModelError> {
        self.count(key, most)?.ok_or_else(|| roci_gguf::Error::MissingKey(self.key(key)).into())
    }

    /// One number for all layers, or one for each.
    fn each(&self, key: &str, layers: usize, most: u64) -> Result<Option<Vec<usize>>, ModelError> {
        let key = self.key(key);
        let Some(counts) = self.metadata.get_each::<u64>(&key, layers)? else { return Ok(None) };
        if let Some(count) = counts.iter().find(|&&count| count == 0 || count > most) {
            return Err(ModelError::config(key, format!("{count} is not from 1 to {most}")));
        }
        Ok(Some(counts.into_iter().map(|count| count as usize).collect()))
    }

    /// A finite number, if it is there.
    pub(super) fn float(&self, key: &str) -> Result<Option<f32>, ModelError> {
        let key = self.key(key);
        match self.metadata.get::<f32>(&key)? {
            Some(number) if !number.is_finite() => Err(ModelError::config(key, format!("{number} is not finite"))),
            number => Ok(number),
        }
    }

    /// A finite number above zero, if it is there.
    pub(super) fn positive(&self, key: &str) -> Result<Option<f32>, ModelError> {
        match self.float(key)? {
            Some(number) if number <= 0.0 => Err(ModelError::config(self.key(key), format!("{number} is not above 0"))),
            number => Ok(number),
        }
    }

    /// A whole number, if it is there.
    pub(super) fn integer(&self, key: &str) -> Result<Option<i64>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ModelError> {
        Ok(self.metadata.get(&self.key(key))?)
    }
}

impl Config {
    /// Reads the numbers of a file.
    ///
    /// # Errors
    /// If the architecture is not known, or if a number is missing or makes no sense.
    pub fn new(metadata: &Metadata) -> Result<Self, ModelError> {
        Self::read(metadata).map(|(config, _)| config)
    }

    /// The numbers, and what sets the architecture apart.
    pub(super) fn read(metadata: &Metadata) -> Result<(Self, &'static Traits), ModelError> {
        let name = metadata.expect_str("general.architecture")?;
        let unknown = || ModelError::Architecture { name: name.to_owned(), known: table::names() };
        let traits = table::find(name).ok_or_else(unknown)?;
        let keys = Keys { metadata, architecture: traits.name };

        let layers = keys.needed("block_count", MOST_LAYERS)?;
        let embedding = keys.needed("embedding_length", LONGEST)?;
        let heads = keys.each("attention.head_count", layers, MOST_HEADS)?;
        let heads = heads.ok_or_else(|| roci_gguf::Error::MissingKey(keys.key("attention.head_count")))?;
        let kv_heads = keys.each("attention.head_count_kv", layers, MOST_HEADS)?.unwrap_or_else(|| heads.clone());
        for (asking, answering) in heads.iter().zip(&kv_heads) {
            if asking % answering != 0 {
                let reason = format!("{answering} heads cannot serve {asking} in equal shares");
                return Err(ModelError::config(keys.key("attention.head_count_kv"), reason));
            }
        }
        let key_length = match keys.count("attention.key_length", LONGEST)? {
            Some(length) => length,
            None if embedding % heads[0] == 0 => embedding / heads[0],
            None => {
                let reason = format!("{} heads do not share {embedding} values equally", heads[0]);
                return Err(ModelError::config(keys.key("attention.head_count"), reason));
            }
        };
        let value_length = keys.count("attention.value_length", LONGEST)?.unwrap_or(key_length);

        let experts = Experts::read(&keys, traits)?;
        let feed_forward = match keys.each("feed_forward_length", layers, LONGEST)? {
            Some(feed_forward) => feed_forward,
            // Models of experts alone need not have it.
            None if experts.is_some() => vec![experts.map_or(0, |experts| experts.feed_forward); layers],
            None => return Err(roci_gguf::Error::MissingKey(keys.key("feed_forward_length")).into()),
        };
        if keys.float("attention.temperature_scale")?.is_some_and(|scale| scale != 0.0) {
            let reason = "attention that depends on the position in this way is not supported";
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
        let context = keys.count("context_length", LONGEST_CONTEXT)?.unwrap_or(2048) as u32;
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
            epsilon,
        };
        Ok((config, traits))
    }

    /// How many layers there are.
    pub fn layers(&self) -> usize {
        self.heads.len()
    }
}

impl Experts {
    fn read(keys: &Keys<'_>, traits: &Traits) -> Result<Option<Self>, ModelError> {
        // Zero experts is how files say that there are none.
        let count = keys.metadata.get::<u64>(&keys.key("expert_count"))?.unwrap_or(0);
        if count == 0 && !traits.experts {
            return Ok(None);
        }
        let count = keys.needed("expert_count", MOST_EXPERTS)?;
        let used = keys.needed("expert_used_count", MOST_EXPERTS)?;
        if used > count {
            let reason = format!("a token cannot take {used} of {count} experts");
            return Err(ModelError::config(keys.key("expert_used_count"), reason));
        }
        let feed_forward = match keys.count("expert_feed_forward_length", LONGEST)? {
            Some(length) => length,
            None => keys.needed("feed_forward_length", LONGEST)?,
        };
        Ok(Some(Self { count, used, feed_forward }))
    }
}

/// The window of each layer.
fn windows(keys: &Keys<'_>, traits: &Traits, layers: usize) -> Result<Vec<Option<u32>>, ModelError> {
    // A window of nothing is how some files say that there is none.
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
                return Err(ModelError::config(key, format!("it has {} entries for {layers} layers", pattern.len())));
            }
            pattern.into_iter().map(|within| window.filter(|_| within)).collect()
        }
    })
}

/// A limit that the file names, or else the architecture's; zero is none.
fn cap(declared: Option<f32>, usual: Option<f32>) -> Option<f32> {
    declared.or(usual).filter(|cap| *cap > 0.0)
}

/// How many tokens there are: by the list of them, or by the number that some files have without one.
fn vocabulary(metadata: &Metadata, keys: &Keys<'_>) -> Result<usize, ModelError> {
    if let Some(Value::Array(tokens)) = metadata.value("tokenizer.ggml.tokens") {
        if tokens.is_empty() || tokens.len() as u64 > MOST_TOKENS {
            let reason = format!("{} tokens are not from 1 to {MOST_TOKENS}", tokens.len());
            return Err(ModelError::config("tokenizer.ggml.tokens", reason));
        }
        return Ok(tokens.len());
    }
    keys.needed("vocab_size", MOST_TOKENS)
}
