//! A step of a model, written down once to be replayed.

use roci_engine::Limits;
use roci_hal::{Binding, Buffer, BufferRange, CommandBuffer, Device, Recorder};
use roci_kernels::params::{
    LmAttend, LmAttention, LmEmbed, LmGate, LmHeads, LmJoin, LmLinear, LmMix, LmNorm, LmRoute, Params,
};

use crate::Error;
use crate::kernels::Kernels;
use crate::layer::{AttentionPart, FeedKind, FeedPart, GateUp, LayerPart, NormPart, Product};
use crate::options::CacheType;
use crate::product::{Input, Units};
use crate::scratch::{Rows, Scratch};
use crate::weights::Held;

/// Tokens up to which products read their weights for each four tokens anew, rather than in tiles of many tokens.
pub(crate) const FEW: usize = crate::FEW_TOKENS;

/// What sets a recording apart; all else is data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// Tokens; none where only the last part is wanted.
    pub(crate) tokens: usize,
    /// Blocks of attention.
    pub(crate) blocks: usize,
    /// Tokens of a block, at most.
    pub(crate) block: usize,
    /// Rows that are wanted of the last state, on the device that has the output.
    pub(crate) rows: usize,
    /// Whether their logits are wanted.
    pub(crate) logits: bool,
    /// Words of inputs.
    pub(crate) words: usize,
    /// Parts into which the longest text's keys are split, where few tokens leave much of a device idle.
    pub(crate) splits: usize,
    /// Whether each token is of a text of its own.
    pub(crate) alone: bool,
}

impl Shape {
    /// The word at which blocks begin.
    pub(crate) fn blocks_at(&self) -> usize {
        2 * self.tokens
    }

    /// The word at which wanted rows are named.
    pub(crate) fn rows_at(&self) -> usize {
        2 * self.tokens + 2 * self.blocks
    }

    /// The word at which pages begin.
    pub(crate) fn pages_at(&self) -> usize {
        self.numbers_at() + self.tokens
    }

    /// The word at which tokens' numbers begin.
    pub(crate) fn numbers_at(&self) -> usize {
        self.rows_at() + self.rows
    }
}

/// The output of a model.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) norm: NormPart,
    pub(crate) output: Product,
    /// What embeddings are multiplied with, if they are the rows of the output, and layers here begin with them.
    pub(crate) embeds: Option<f32>,
}

impl Head {
    /// The matrix of the output as the kernel that looks embeddings up takes it, for so many tokens. Those of a few are brought sooner than looked up.
    pub(crate) fn embedding(&self, tokens: usize) -> Option<Embedding<'_>> {
        let factor = self.embeds.filter(|_| tokens > FEW)?;
        let [part] = &self.output.weights.parts[..] else { return None };
        let Held::Apart { codes, scales, format } = &part.held else { return None };
        let kernel = LmEmbed::kernel(*format)?;
        Some(Embedding { kernel, codes, scales, rows: part.rows, columns: self.output.weights.columns, factor })
    }
}

/// Where embeddings lie on a device.
pub(crate) struct Embedding<'a> {
    kernel: &'static str,
    codes: &'a BufferRange,
    scales: &'a BufferRange,
    rows: usize,
    columns: usize,
    factor: f32,
}

/// Parts of a product that are still to be added up.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    /// How many.
    pub(crate) parts: u32,
    /// Floats between them.
    pub(crate) stride: u32,
}

/// Writes one recording.
pub(crate) struct Writer<'a> {
    pub(crate) kernels: &'a mut Kernels,
    pub(crate) scratch: &'a Scratch,
    pub(crate) recorder: Recorder,
    pub(crate) shape: Shape,
    pub(crate) cache: CacheType,
    /// Whether the device runs the CPU's own kernels.
    pub(crate) host: bool,
    /// What products of this device run on.
    pub(crate) units: Units,
    /// Parts of a product that are still to be added to the state, or are what the next kernel adds up.
    pub(crate) pending: Option<Pending>,
    /// Whether the product at hand may be left in parts.
    pub(crate) leaves_parts: bool,
    /// Whether the input of the products at hand, which share it, is there in the form that they take: as whole numbers on the CPU, as 16-bit
    /// floats for matrix units.
    pub(crate) ready: bool,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        device: &Device,
        kernels: &'a mut Kernels,
        scratch: &'a Scratch,
        shape: Shape,
        (cache, host, units): (CacheType, bool, Units),
    ) -> Self {
        let recorder = device.record();
        let (pending, leaves_parts, ready) = (None, false, false);
        Self { kernels, scratch, recorder, shape, cache, host, units, pending, leaves_parts, ready }
    }
}

impl Writer<'_> {
    pub(crate) fn dispatch<P: Params>(
        &mut self,
        name: &str,
        grid: [u32; 3],
        bindings: &[&BufferRange],
        constants: &P,
    ) -> Result<(), Error> {
        let bindings: Vec<Binding> = bindings.iter().map(|range| Binding::from((*range).clone())).collect();
        // Steps of one token are few kinds, each of which is replayed for each word of an answer.
        let lasting = self.shape.tokens == 1;
        let constants = bytemuck::bytes_of(constants);
        self.kernels.dispatch(&mut self.recorder, name, grid, &bindings, constants, lasting)
    }

    pub(crate) fn barrier(&mut self) {
        self.recorder.barrier();
    }

    /// The whole step: from the embeddings to the state, and to what is wanted of it.
    pub(crate) fn step(
        mut self,
        layers: &[LayerPart],
        head: Option<&Head>,
        staging: &Buffer,
        answer: &Buffer,
        limits: &Limits,
    ) -> Result<CommandBuffer, Error> {
        let shape = self.shape;
        let words = 4 * shape.words as u64;
        self.recorder.copy(staging.range(0, words)?, self.scratch.inputs.range(0, words)?)?;
        let state = self.scratch.state.clone();
        if let Some(embedding) = head.and_then(|head| head.embedding(shape.tokens)) {
            self.barrier();
            self.embed(&embedding, &state)?;
        } else if shape.tokens > 0 {
            let bytes = state.bytes(shape.tokens);
            self.recorder.copy(staging.range(self.scratch.state_at, bytes)?, state.range.range(0, bytes)?)?;
        }
        self.barrier();
        for layer in layers {
            self.attention(&layer.attention)?;
            self.feed(&layer.feed)?;
        }
        self.settle()?;
        match head {
            None => {
                let bytes = state.bytes(shape.tokens);
                self.recorder.copy(state.range.range(0, bytes)?, answer.range(0, bytes)?)?;
            }
            Some(head) if shape.rows > 0 => self.head(head, answer, limits)?,
            Some(_) => {}
        }
        Ok(self.recorder.finish()?)
    }

    fn embed(&mut self, from: &Embedding<'_>, state: &Rows) -> Result<(), Error> {
        let constants = LmEmbed {
            tokens: self.shape.tokens as u32,
            columns: from.columns as u32,
            rows: from.rows as u32,
            first: self.shape.numbers_at() as u32,
            y_stride: state.stride as u32,
            factor: from.factor,
        };
        let inputs = self.scratch.inputs.clone();
        self.dispatch(from.kernel, constants.grid(), &[&inputs, from.codes, from.scales, &state.range], &constants)
    }

    fn head(&mut self, head: &Head, answer: &Buffer, limits: &Limits) -> Result<(), Error> {
        let Shape { rows, logits, .. } = self.shape;
        let (state, last) = (self.scratch.state.clone(), self.scratch.last.clone());
        if self.shape.tokens == 1 && logits && !self.host {
            // One token is normed by the product itself.
            let logits = self.scratch.logits.clone();
            let input = Input { norm: Some(&head.norm), ..Input::plain(&state) };
            self.product(&head.output, &input, 1, &logits, 0)?;
            self.barrier();
            let bytes = logits.bytes(1);
            self.recorder.copy(logits.range.range(0, bytes)?, answer.range(0, bytes)?)?;
            return Ok(());
        }
        let norm = LmNorm {
            rows: rows as u32,
            columns: limits.embedding as u32,
            x_stride: state.stride as u32,
            y_stride: last.stride as u32,
            epsilon: head.norm.epsilon,
            flags: LmNorm::CHOSEN,
            first: self.shape.rows_at() as u32,
        };
        let inputs = self.scratch.inputs.clone();
        self.dispatch("lm_norm", norm.grid(), &[&state.range, &head.norm.weight, &inputs, &last.range], &norm)?;
        self.ready = false;
        self.barrier();
        let from = if logits {
            let logits = self.scratch.logits.clone();
            self.product(&head.output, &Input::plain(&last), rows, &logits, 0)?;
            self.barrier();
            logits
        } else {
            last
        };
        let bytes = from.bytes(rows);
        self.recorder.copy(from.range.range(0, bytes)?, answer.range(0, bytes)?)?;
        Ok(())
    }

    fn norm(&mut self, norm: &NormPart, x: &Rows, y: &Rows, columns: usize, flags: u32) -> Result<(), Error> {
        self.settle()?;
        let constants = LmNorm {
            rows: self.shape.tokens as u32,
            columns: columns as u32,
            x_stride: x.stride as u32,
            y_stride: y.stride as u32,
            epsilon: norm.epsilon,
            flags,
            first: 0,
        };
        let inputs = self.scratch.inputs.clone();
        self.dispatch("lm_norm", constants.grid(), &[&x.range, &norm.weight, &inputs, &y.range], &constants)?;
        self.ready = false;
        self.barrier();
        Ok(())
    }

    /// The state as products read it: they norm one token themselves, where they are those of all devices; those on matrix units find it as they
    /// take it.
    fn normed<'n>(
        &mut self,
        norm: &'n NormPart,
        (state, to): (&'n Rows, &'n Rows),
        products: &[Product],
    ) -> Result<Input<'n>, Error> {
        if self.shape.tokens == 1 && !self.host {
            return Ok(Input { norm: Some(norm), ..Input::plain(state) });
        }
        let ready = products.iter().all(|product| self.on_matrix_units(&product.weights, self.shape.tokens));
        if ready && self.scratch.embedding.is_multiple_of(4) {
            self.sum_and_norm(norm, state)?;
            return Ok(Input::plain(to));
        }
        self.norm(norm, state, to, self.scratch.embedding, 0)?;
        Ok(Input::plain(to))
    }

    /// Adds what a part gives to the state, perhaps normed first.
    fn add(&mut self, product: &Product, x: &Input<'_>, post_norm: Option<&NormPart>) -> Result<(), Error> {
        let tokens = self.shape.tokens;
        let state = self.scratch.state.clone();
        match post_norm {
            None => self.product(product, x, tokens, &state, LmLinear::ADD)?,
            Some(norm) => {
                let given = self.scratch.normed.clone();
                self.product(product, x, tokens, &given, 0)?;
                self.barrier();
                self.norm(norm, &given, &state, product.weights.rows, LmNorm::ADD)?;
            }
        }
        self.barrier();
        Ok(())
    }

    fn attention(&mut self, part: &AttentionPart) -> Result<(), Error> {
        let Shape { tokens, blocks, .. } = self.shape;
        let Scratch { state, normed, qkv, attended, partials, inputs, nothing, .. } = self.scratch.clone();
        let input = self.normed(&part.norm, (&state, &normed), &part.products)?;
        let heads = LmHeads { tokens: tokens as u32, stride: qkv.stride as u32, ..part.heads };
        let attention = LmAttention {
            tokens: tokens as u32,
            blocks: blocks as u32,
            block: self.shape.block as u32,
            q_stride: qkv.stride as u32,
            y_stride: attended.stride as u32,
            splits: if tokens <= FEW && !self.host { self.shape.splits as u32 } else { 1 },
            ..part.attention
        };
        let both = LmAttend::of(&heads, &attention).filter(|_| self.shape.alone && !self.host);
        // One product that comes in parts is added up by `lm_heads`.
        let alone = part.products.len() == 1 && part.products.iter().all(|product| product.weights.parts.len() == 1);
        self.leaves_parts = alone && both.is_none();
        for product in &part.products {
            self.product(product, &input, tokens, &qkv, 0)?;
        }
        let given = self.pending.take_if(|_| self.leaves_parts);
        self.leaves_parts = false;
        let heads = LmHeads {
            used: given.map_or(0, |given| given.parts),
            part_stride: given.map_or(0, |given| given.stride),
            ..heads
        };
        self.barrier();
        let kind = match self.cache {
            CacheType::F16 => "f16",
            CacheType::Q8 => "q8",
        };
        let target = if attention.splits > 1 { &partials } else { &attended.range };
        let norms = part.head_norms.as_ref().unwrap_or(&nothing);
        let matrix = both.is_none() && self.units.matrix && self.cache == CacheType::F16 && tokens > FEW;
        let on_matrix = attention.matrix_kernel().filter(|_| matrix);
        // Straight as the next product takes it.
        let whole = part.output.weights.columns == part.output.weights.model_columns;
        let halves = on_matrix.is_some() && whole && self.on_matrix_units(&part.output.weights, tokens);
        let attention = LmAttention { packed: u32::from(halves), ..attention };
        if let Some(both) = both {
            let bindings = [&inputs, norms, &part.rotations, &qkv.range, &part.keys, &part.values, target];
            self.dispatch(&format!("lm_attend_{kind}"), both.grid(), &bindings, &both)?;
        } else {
            let parts = &self.scratch.parts.range.clone();
            let bindings = [&inputs, norms, &part.rotations, parts, &qkv.range, &part.keys, &part.values];
            self.dispatch(&format!("lm_heads_{kind}"), heads.grid(), &bindings, &heads)?;
            self.barrier();
            let bindings = [&inputs, &qkv.range, &part.keys, &part.values, target];
            match on_matrix {
                Some(name) => self.dispatch(name, attention.matrix_grid(), &bindings, &attention)?,
                None => self.dispatch(&format!("lm_attention_{kind}"), attention.grid(), &bindings, &attention)?,
            }
        }
        self.barrier();
        if attention.splits > 1 {
            let join = LmJoin {
                tokens: tokens as u32,
                heads: attention.heads,
                value_length: attention.value_length,
                splits: attention.splits,
                y_stride: attended.stride as u32,
            };
            self.dispatch("lm_join", join.grid(), &[&partials, &attended.range], &join)?;
            self.barrier();
        }
        self.ready = false;
        self.add(&part.output, &Input { halves, ..Input::plain(&attended) }, part.post_norm.as_ref())
    }

    fn feed(&mut self, part: &FeedPart) -> Result<(), Error> {
        let tokens = self.shape.tokens;
        let Scratch { state, normed, inner, both, .. } = self.scratch.clone();
        if let FeedKind::Experts { router, gate_up, down, count, used } = &part.kind {
            self.norm(&part.norm, &state, &normed, self.scratch.embedding, 0)?;
            return self.experts(part, router, gate_up, down, *count, *used);
        }
        let first = match &part.kind {
            FeedKind::Dense { gate_up: GateUp::InTurn(product), .. } => std::slice::from_ref(product),
            FeedKind::Dense { gate_up: GateUp::Beside(products), .. } => products,
            FeedKind::Experts { .. } => &[],
        };
        let input = self.normed(&part.norm, (&state, &normed), first)?;
        match &part.kind {
            FeedKind::Dense { gate_up: GateUp::InTurn(product), down } => {
                let halves = self.gives_halves(&product.weights, &down.weights);
                let packed = if halves { LmLinear::PACKED } else { 0 };
                self.product(product, &input, tokens, &inner, part.activation | packed)?;
                self.barrier();
                self.ready = false;
                self.add(down, &Input { halves, ..Input::plain(&inner) }, part.post_norm.as_ref())
            }
            FeedKind::Dense { gate_up: GateUp::Beside(products), down } => {
                for product in products {
                    self.product(product, &input, tokens, &both, 0)?;
                }
                self.barrier();
                let gate = LmGate {
                    tokens: tokens as u32,
                    width: part.width as u32,
                    x_stride: both.stride as u32,
                    y_stride: inner.stride as u32,
                    gelu: u32::from(part.activation == LmLinear::GELU),
                };
                self.dispatch("lm_gate", gate.grid(), &[&both.range, &inner.range], &gate)?;
                self.barrier();
                self.ready = false;
                self.add(down, &Input::plain(&inner), part.post_norm.as_ref())
            }
            FeedKind::Experts { .. } => Ok(()),
        }
    }

    fn experts(
        &mut self,
        part: &FeedPart,
        router: &Product,
        gate_up: &GateUp,
        down: &Product,
        count: usize,
        used: usize,
    ) -> Result<(), Error> {
        let tokens = self.shape.tokens;
        let Scratch { state, normed, inner, both, given, chosen, shares, .. } = self.scratch.clone();
        self.product(router, &Input::plain(&normed), tokens, &both, 0)?;
        self.barrier();
        let route =
            LmRoute { tokens: tokens as u32, experts: count as u32, used: used as u32, stride: both.stride as u32 };
        self.dispatch("lm_route", route.grid(), &[&both.range, &chosen, &shares], &route)?;
        self.barrier();
        let GateUp::InTurn(gate_up) = gate_up else { return Err(Error::file("experts' matrices lie apart")) };
        let pairs = tokens * used;
        self.expert(&gate_up.weights, &normed, pairs, &inner, part.activation, (count, used))?;
        self.barrier();
        self.expert(&down.weights, &inner, pairs, &given, 0, (count, 1))?;
        self.barrier();
        let columns = self.scratch.embedding;
        let (target, add) = if part.post_norm.is_some() { (&normed, 0) } else { (&state, 1) };
        let mix = LmMix {
            tokens: tokens as u32,
            columns: columns as u32,
            used: used as u32,
            x_stride: given.stride as u32,
            y_stride: target.stride as u32,
            add,
        };
        self.dispatch("lm_mix", mix.grid(), &[&given.range, &shares, &target.range], &mix)?;
        self.barrier();
        if let Some(norm) = &part.post_norm {
            self.norm(norm, &normed, &state, columns, LmNorm::ADD)?;
        }
        Ok(())
    }
}

/// Tokens of a block of attention, of heads of which so many share keys.
pub(crate) fn block_tokens(shared: usize, matrix: bool) -> usize {
    let rows = if matrix { LmAttention::MATRIX_ROWS } else { LmAttention::ROWS };
    (rows as usize / shared.max(1)).max(1)
}
