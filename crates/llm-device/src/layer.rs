//! The parts of a model with their weights on a device.

use std::sync::Arc;

use roci_hal::{BufferDesc, BufferRange};
use roci_kernels::params::{LmAttention, LmHeads, LmLinear};
use roci_llm::architecture::blocks::{
    Activation, Attention, FeedForward, FeedForwardKind, Gated, Layer, Linear, Norm, Rope, RopeStyle,
};

use crate::options::CacheType;
use crate::weights::{Loader, Rows, Weights};
use crate::{Error, Options};

/// A norm's factors.
#[derive(Clone)]
pub(crate) struct NormPart {
    pub(crate) weight: BufferRange,
    pub(crate) epsilon: f32,
}

/// A product whose results lie side by side in a row of what it writes.
#[derive(Clone)]
pub(crate) struct Product {
    pub(crate) weights: Weights,
    pub(crate) bias: Option<BufferRange>,
    /// The first result's place in the row.
    pub(crate) offset: usize,
}

/// The two products of a feed-forward part that are multiplied with each other.
#[derive(Clone)]
pub(crate) enum GateUp {
    /// One matrix, whose rows take turns: the product itself ends with the activation.
    InTurn(Product),
    /// Products that write the gate's results and then the other's.
    Beside(Vec<Product>),
}

/// Attention on a device.
#[derive(Clone)]
pub(crate) struct AttentionPart {
    pub(crate) norm: NormPart,
    pub(crate) products: Vec<Product>,
    pub(crate) heads: LmHeads,
    pub(crate) head_norms: Option<BufferRange>,
    pub(crate) rotations: BufferRange,
    pub(crate) attention: LmAttention,
    pub(crate) keys: BufferRange,
    pub(crate) values: BufferRange,
    pub(crate) output: Product,
    pub(crate) post_norm: Option<NormPart>,
}

/// What stands between the norms of a feed-forward part.
#[derive(Clone)]
pub(crate) enum FeedKind {
    Dense { gate_up: GateUp, down: Product },
    Experts { router: Product, gate_up: GateUp, down: Product, count: usize, used: usize },
}

/// A feed-forward part on a device.
#[derive(Clone)]
pub(crate) struct FeedPart {
    pub(crate) norm: NormPart,
    pub(crate) kind: FeedKind,
    /// [`LmLinear::SILU`] or [`LmLinear::GELU`].
    pub(crate) activation: u32,
    /// Values inside.
    pub(crate) width: usize,
    pub(crate) post_norm: Option<NormPart>,
}

/// A layer on a device.
#[derive(Clone)]
pub(crate) struct LayerPart {
    pub(crate) attention: AttentionPart,
    pub(crate) feed: FeedPart,
}

/// Makes the parts of one device.
pub(crate) struct Maker<'a> {
    pub(crate) loader: Loader<'a>,
    pub(crate) options: &'a Options,
    pub(crate) context: usize,
    pub(crate) pages: usize,
    /// Rotations that are on the device already, by what they are for.
    pub(crate) rotations: Vec<(Arc<Rope>, BufferRange)>,
}

impl Maker<'_> {
    pub(crate) fn norm(&self, norm: &Norm) -> Result<NormPart, Error> {
        let length = norm.weight.values.len();
        Ok(NormPart { weight: self.loader.vectors(&[(Some(&norm.weight), length)])?, epsilon: norm.epsilon })
    }

    pub(crate) fn product(&self, linear: &Linear, offset: usize) -> Result<Product, Error> {
        let weights = self.loader.matrix(&Rows::below(vec![&linear.matrix]))?;
        Ok(Product { weights, bias: self.loader.biases(&[linear])?, offset })
    }

    /// Products of one input whose results lie side by side: one matrix where all are of one type.
    fn beside(&self, linears: &[&Linear]) -> Result<Vec<Product>, Error> {
        let matrices: Vec<_> = linears.iter().map(|linear| &linear.matrix).collect();
        if self.loader.alike(&matrices)? {
            let weights = self.loader.matrix(&Rows::below(matrices))?;
            return Ok(vec![Product { weights, bias: self.loader.biases(linears)?, offset: 0 }]);
        }
        let mut offset = 0;
        let mut products = Vec::new();
        for linear in linears {
            products.push(self.product(linear, offset)?);
            offset += linear.matrix.outputs();
        }
        Ok(products)
    }

    pub(crate) fn layer(&mut self, layer: &Layer) -> Result<LayerPart, Error> {
        Ok(LayerPart { attention: self.attention(&layer.attention)?, feed: self.feed(&layer.feed_forward)? })
    }

    fn attention(&mut self, block: &Attention) -> Result<AttentionPart, Error> {
        let step = match self.options.cache {
            CacheType::F16 => 4,
            CacheType::Q8 => 32,
        };
        let longest = LmHeads::LONGEST as usize;
        for length in [block.key_length, block.value_length] {
            if !length.is_multiple_of(step) || length > longest {
                let cache = self.options.cache;
                return Err(Error::File {
                    message: format!(
                        "heads of {length} numbers cannot be kept as {cache}: they are not up to {longest} in steps of {step}"
                    ),
                    hint: (step != 4).then(|| "keep keys and values as f16 (`--cache f16`)".to_owned()),
                });
            }
        }
        let head_norms = block
            .head_norms
            .as_ref()
            .map(|(query, key)| {
                let length = block.key_length;
                self.loader.vectors(&[(Some(&query.weight), length), (Some(&key.weight), length)])
            })
            .transpose()?;
        let neighbours = if block.rope.style == RopeStyle::Neighbours { LmHeads::NEIGHBOURS } else { 0 };
        let norms = if head_norms.is_some() { LmHeads::NORMS } else { 0 };
        let stride = block.heads * block.key_length + block.kv_heads * (block.key_length + block.value_length);
        let count = |value: usize| value as u32;
        Ok(AttentionPart {
            norm: self.norm(&block.norm)?,
            products: self.beside(&[&block.query, &block.key, &block.value])?,
            heads: LmHeads {
                used: 0,
                part_stride: 0,
                tokens: 0,
                heads: count(block.heads),
                kv_heads: count(block.kv_heads),
                key_length: count(block.key_length),
                value_length: count(block.value_length),
                pairs: count(block.rope.frequencies.len()),
                flags: neighbours | norms,
                stride: count(stride),
                page: count(self.options.page),
                epsilon: block.head_norms.as_ref().map_or(0.0, |(query, _)| query.epsilon),
            },
            head_norms,
            rotations: self.rotations(&block.rope)?,
            attention: LmAttention {
                heads: count(block.heads),
                kv_heads: count(block.kv_heads),
                key_length: count(block.key_length),
                value_length: count(block.value_length),
                q_stride: count(stride),
                page: count(self.options.page),
                splits: 1,
                scale: block.scale,
                soft_cap: block.soft_cap.unwrap_or(0.0),
                window: block.window.unwrap_or(0),
                ..LmAttention::default()
            },
            keys: self.cache(block.kv_heads, block.key_length)?,
            values: self.cache(block.kv_heads, block.value_length)?,
            output: self.product(&block.output, 0)?,
            post_norm: block.post_norm.as_ref().map(|norm| self.norm(norm)).transpose()?,
        })
    }

    fn cache(&self, heads: usize, length: usize) -> Result<BufferRange, Error> {
        let bytes = self.options.cache.bytes(length) * heads as u64 * (self.options.page * self.pages) as u64;
        let buffer = self.loader.device.allocate(BufferDesc::device(bytes.next_multiple_of(16)).label("cache"))?;
        Ok(buffer.whole())
    }

    /// The cosine and sine of each pair at each position.
    fn rotations(&mut self, rope: &Arc<Rope>) -> Result<BufferRange, Error> {
        if let Some((_, range)) = self.rotations.iter().find(|(known, _)| known == rope) {
            return Ok(range.clone());
        }
        let mut numbers = Vec::with_capacity(self.context * rope.frequencies.len() * 2);
        for position in 0..self.context {
            for frequency in &rope.frequencies {
                let (sine, cosine) = (position as f64 * f64::from(*frequency)).sin_cos();
                numbers.extend([cosine as f32 * rope.magnitude, sine as f32 * rope.magnitude]);
            }
        }
        let range = self.loader.numbers(&numbers)?;
        self.rotations.push((Arc::clone(rope), range.clone()));
        Ok(range)
    }

    fn feed(&mut self, block: &FeedForward) -> Result<FeedPart, Error> {
        let (kind, width) = match &block.kind {
            FeedForwardKind::Dense(gated) => {
                let gate_up = self.gate_up(&[gated])?;
                (FeedKind::Dense { gate_up, down: self.product(&gated.down, 0)? }, gated.gate.matrix.outputs())
            }
            FeedForwardKind::Experts { router, experts, used } => {
                let Some(first) = experts.first() else { return Err(Error::file("a mixture without experts")) };
                let gated: Vec<&Gated> = experts.iter().collect();
                let router = self.product(router, 0)?;
                // The CPU's own kernels know no experts.
                let host = std::mem::replace(&mut self.loader.host, false);
                let parts = self.gate_up(&gated).and_then(|gate_up| {
                    let downs: Vec<_> = gated.iter().map(|gated| &gated.down.matrix).collect();
                    Ok((gate_up, self.loader.matrix(&Rows::below(downs))?))
                });
                self.loader.host = host;
                let (gate_up, down) = parts?;
                if gated.iter().any(|gated| [&gated.gate, &gated.up, &gated.down].iter().any(|one| one.bias.is_some()))
                {
                    return Err(Error::file("experts with biases are not computed"));
                }
                let down = Product { weights: down, bias: None, offset: 0 };
                let kind = FeedKind::Experts { router, gate_up, down, count: experts.len(), used: *used };
                (kind, first.gate.matrix.outputs())
            }
        };
        Ok(FeedPart {
            norm: self.norm(&block.norm)?,
            kind,
            activation: match block.activation {
                Activation::Silu => LmLinear::SILU,
                Activation::Gelu => LmLinear::GELU,
            },
            width,
            post_norm: block.post_norm.as_ref().map(|norm| self.norm(norm)).transpose()?,
        })
    }

    /// The first two matrices of some gated parts, one part below the other.
    fn gate_up(&self, gated: &[&Gated]) -> Result<GateUp, Error> {
        let matrices: Vec<_> = gated.iter().flat_map(|gated| [&gated.gate.matrix, &gated.up.matrix]).collect();
        let [first, ..] = gated else { return Err(Error::file("a feed-forward part without matrices")) };
        let biased = first.gate.bias.is_some() || first.up.bias.is_some();
        let alike = self.loader.alike(&matrices)?;
        if gated.len() == 1 && (self.loader.host || biased || !alike) {
            return Ok(GateUp::Beside(self.beside(&[&first.gate, &first.up])?));
        }
        if !alike {
            return Err(Error::file("the experts' matrices are of different types"));
        }
        let weights = self.loader.matrix(&Rows::pairs(gated))?;
        Ok(GateUp::InTurn(Product { weights, bias: None, offset: 0 }))
    }
}
