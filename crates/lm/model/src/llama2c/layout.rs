//! Layout of a checkpoint.

use std::ops::Range;

use super::ConvertError;

/// `ak42`, as llama2.c's `export.py` writes it.
const MAGIC: u32 = 0x616b_3432;
/// Size of the header with a magic number, in bytes.
pub(super) const LONG_HEADER: usize = 256;
/// Size of the header without one.
const SHORT_HEADER: usize = 7 * 4;

/// Limits. Files that exceed them are damaged or not checkpoints; products of smaller numbers do
/// not overflow.
const MAX: i64 = 1 << 20;
const MAX_LAYERS: i64 = 1 << 10;
const MAX_TOKENS: i64 = 1 << 24;

/// Header of a checkpoint.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) embedding: usize,
    pub(super) feed_forward: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) vocabulary: usize,
    pub(super) context: usize,
    /// Whether the output matrix is the embedding matrix.
    tied: bool,
    /// Whether the norms precede all other tensors.
    norms_first: bool,
    start: usize,
}

/// A tensor of the GGUF file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) shape: Vec<u64>,
    /// Its range in the checkpoint.
    pub(super) bytes: Range<usize>,
}

impl Layout {
    /// The layout of a checkpoint of `length` bytes, from its first [`LONG_HEADER`] bytes or all of
    /// a shorter one.
    pub(super) fn new(bytes: &[u8], length: u64) -> Result<Self, ConvertError> {
        let word = |at: usize| -> Result<[u8; 4], ConvertError> {
            let word = bytes.get(4 * at..4 * at + 4).and_then(|word| word.try_into().ok());
            word.ok_or(ConvertError::Size { found: length, expected: SHORT_HEADER as u64 })
        };
        let long = u32::from_le_bytes(word(0)?) == MAGIC;
        let number = |at: usize| Ok::<_, ConvertError>(i64::from(i32::from_le_bytes(word(at)?)));
        if long && number(1)? != 1 {
            return Err(ConvertError::Version(number(1)?));
        }
        let first = if long { 2 } else { 0 };
        let count = |at: usize, what: &'static str, most: i64| {
            let value = number(first + at)?;
            if (1..=most).contains(&value) {
                return Ok(value as usize);
            }
            Err(ConvertError::Header { what, value, expected: format!("from 1 to {most}") })
        };
        // In version 0 a negative sign means that there is a separate output matrix.
        let vocabulary = number(first + 5)?;
        let (vocabulary, tied) = match long {
            true => (vocabulary, bytes.get(4 * (first + 7)) != Some(&0)),
            false => (vocabulary.abs(), vocabulary > 0),
        };
        if !(1..=MAX_TOKENS).contains(&vocabulary) {
            let expected = format!("from 1 to {MAX_TOKENS}");
            return Err(ConvertError::Header { what: "vocabulary", value: vocabulary, expected });
        }
        let layout = Self {
            embedding: count(0, "embedding length", MAX)?,
            feed_forward: count(1, "feed-forward length", MAX)?,
            layers: count(2, "number of layers", MAX_LAYERS)?,
            heads: count(3, "number of heads", MAX)?,
            kv_heads: count(4, "number of KV heads", MAX)?,
            vocabulary: vocabulary as usize,
            context: count(6, "context length", MAX)?,
            tied,
            norms_first: long,
            start: if long { LONG_HEADER } else { SHORT_HEADER },
        };
        let divides = |what, value: usize, by: usize, of: &str| match by % value {
            0 => Ok(()),
            _ => Err(ConvertError::Header {
                what,
                value: value as i64,
                expected: format!("a divisor of {by}, the {of}"),
            }),
        };
        divides("number of heads", layout.heads, layout.embedding, "embedding length")?;
        divides("number of KV heads", layout.kv_heads, layout.heads, "number of heads")?;
        let expected = layout.start as u64 + 4 * layout.blocks().iter().map(|block| block.values() as u64).sum::<u64>();
        if length != expected {
            return Err(ConvertError::Size { found: length, expected });
        }
        Ok(layout)
    }

    /// Length of a head.
    pub(super) fn head(&self) -> usize {
        self.embedding / self.heads
    }

    /// The contents of the checkpoint, in order: tensors that exist once, or once per layer.
    fn blocks(&self) -> Vec<Block> {
        let Self { embedding, feed_forward, layers, vocabulary, .. } = *self;
        let answering = self.kv_heads * self.head();
        let layer = |name, shape: &[usize]| Block { name, shape: shape.to_vec(), layers: Some(layers) };
        let once = |name, shape: &[usize]| Block { name, shape: shape.to_vec(), layers: None };
        let tokens = once("token_embd.weight", &[embedding, vocabulary]);
        let norm = layer("attn_norm.weight", &[embedding]);
        let second_norm = layer("ffn_norm.weight", &[embedding]);
        let last_norm = once("output_norm.weight", &[embedding]);
        let attention = [
            layer("attn_q.weight", &[embedding, embedding]),
            layer("attn_k.weight", &[embedding, answering]),
            layer("attn_v.weight", &[embedding, answering]),
            layer("attn_output.weight", &[embedding, embedding]),
        ];
        let fed = [
            layer("ffn_gate.weight", &[embedding, feed_forward]),
            layer("ffn_down.weight", &[feed_forward, embedding]),
            layer("ffn_up.weight", &[embedding, feed_forward]),
        ];
        let mut blocks = Vec::new();
        if self.norms_first {
            blocks.extend([norm, second_norm, last_norm, tokens]);
            blocks.extend(attention.into_iter().chain(fed));
        } else {
            blocks.extend([tokens, norm]);
            blocks.extend(attention.into_iter().chain([second_norm]).chain(fed));
            // Tables of sines and cosines, which are recomputed.
            blocks.extend([last_norm, once("", &[self.context, self.head()])]);
        }
        if !self.tied {
            blocks.push(once("output.weight", &[embedding, vocabulary]));
        }
        blocks
    }

    /// All tensors of the GGUF file.
    pub(super) fn tensors(&self) -> Vec<Part> {
        let mut at = self.start;
        let mut parts = Vec::new();
        for block in self.blocks() {
            let size = 4 * block.shape.iter().product::<usize>();
            for layer in 0..block.layers.unwrap_or(1) {
                let name = match block.layers {
                    Some(_) => format!("blk.{layer}.{}", block.name),
                    None => block.name.to_owned(),
                };
                let shape = block.shape.iter().map(|&size| size as u64).collect();
                parts.push(Part { name, shape, bytes: at..at + size });
                at += size;
            }
        }
        parts.retain(|part| !part.name.is_empty());
        parts
    }
}

/// Consecutive tensors.
struct Block {
    /// Name without the layer; empty for data that is skipped.
    name: &'static str,
    shape: Vec<usize>,
    /// Number of layers; `None` for a tensor that exists once.
    layers: Option<usize>,
}

impl Block {
    fn values(&self) -> usize {
        self.shape.iter().product::<usize>() * self.layers.unwrap_or(1)
    }
}
