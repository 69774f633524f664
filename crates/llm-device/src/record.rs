//! A step of a model, written down once to be replayed.

use std::collections::HashMap;

use roci_engine::Limits;
use roci_gguf::Type;
use roci_hal::{
    Binding, Buffer, BufferRange, CommandBuffer, Device, DeviceInfo, DeviceKind, Kernel, PhysicalInfo, Recorder,
};
use roci_kernels::params::{
    self, LmAttend, LmAttention, LmGate, LmHalf, LmHeads, LmJoin, LmLinear, LmMix, LmNorm, LmRoute, Params,
    WeightFormat,
};

use crate::Error;
use crate::layer::{AttentionPart, FeedKind, FeedPart, GateUp, LayerPart, NormPart, Product};
use crate::options::{CacheType, Options};
use crate::scratch::{Rows, Scratch};
use crate::weights::{Held, Weights};

/// Tokens up to which products read their weights for each four tokens anew, rather than in tiles of many tokens.
const FEW: usize = crate::FEW_TOKENS;

/// Tokens for which weights are read once where they are not read in tiles.
const TOGETHER: usize = 4;

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
        self.rows_at() + self.rows
    }
}

/// Kernels by name, loaded when they are first needed.
#[derive(Default)]
pub(crate) struct Kernels(HashMap<String, Kernel>);

impl Kernels {
    fn get(&mut self, device: &Device, name: &str) -> Result<Kernel, Error> {
        if let Some(kernel) = self.0.get(name) {
            return Ok(kernel.clone());
        }
        let source = match roci_kernels::host_executable(name) {
            Some(source) => source,
            None => roci_kernels::find(name)?.executable(device.info())?,
        };
        let kernel = device.load(&source)?.kernel(name)?;
        self.0.insert(name.to_owned(), kernel.clone());
        Ok(kernel)
    }
}

/// The output of a model.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) norm: NormPart,
    pub(crate) output: Product,
}

/// What products of a device run on, besides what all devices have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// Matrix units, for many tokens.
    pub(crate) matrix: bool,
    /// Products of four bytes at once, for one token. It is rounded to bytes then.
    pub(crate) bytes: bool,
    /// Compute units.
    pub(crate) compute: u32,
}

impl Units {
    pub(crate) fn of(info: &DeviceInfo, options: &Options) -> Self {
        let native = roci_kernels::takes_native(info);
        let matrix = !native && roci_kernels::find("lm_matrix_f16").is_ok_and(|kernel| kernel.runs_on(info));
        // Where a CPU plays the device nothing is gained by rounding.
        let played = |one: &PhysicalInfo| matches!(one.kind, DeviceKind::Emulated | DeviceKind::Software);
        let bytes = info.capabilities().integer_dot && !native && !info.physical.iter().any(played);
        let compute = info.physical.iter().map(|one| one.compute_units).min().unwrap_or(1);
        Self { matrix, bytes: bytes && !options.exact, compute }
    }

    /// The kernel of products with one token.
    fn one_token(self, format: WeightFormat) -> String {
        let rounded = self.bytes && format.is_whole();
        format!("lm_{}_{}", if rounded { "dot" } else { "matvec" }, format.name())
    }
}

/// What a product reads.
struct Input<'a> {
    rows: &'a Rows,
    /// Applied by the product itself.
    norm: Option<&'a NormPart>,
}

impl<'a> Input<'a> {
    fn plain(rows: &'a Rows) -> Self {
        Self { rows, norm: None }
    }
}

/// Writes one recording.
pub(crate) struct Writer<'a> {
    pub(crate) device: &'a Device,
    pub(crate) kernels: &'a mut Kernels,
    pub(crate) scratch: &'a Scratch,
    pub(crate) recorder: Recorder,
    pub(crate) shape: Shape,
    pub(crate) cache: CacheType,
    /// Whether the device runs the CPU's own kernels.
    pub(crate) host: bool,
    /// What products of this device run on.
    pub(crate) units: Units,
    /// Whether the input of the products at hand, which share it, is there in the form that they take: as whole numbers on the CPU, as 16-bit
    /// floats for matrix units.
    pub(crate) ready: bool,
}

impl Writer<'_> {
    fn dispatch<P: Params>(
        &mut self,
        name: &str,
        grid: [u32; 3],
        bindings: &[&BufferRange],
        constants: &P,
    ) -> Result<(), Error> {
        let kernel = self.kernels.get(self.device, name)?;
        let bindings: Vec<Binding> = bindings.iter().map(|range| Binding::from((*range).clone())).collect();
        self.recorder.dispatch(&kernel, grid, &bindings, bytemuck::bytes_of(constants))?;
        Ok(())
    }

    fn barrier(&mut self) {
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
        if shape.tokens > 0 {
            let bytes = state.bytes(shape.tokens);
            self.recorder.copy(staging.range(self.scratch.state_at, bytes)?, state.range.range(0, bytes)?)?;
        }
        self.barrier();
        for layer in layers {
            self.attention(&layer.attention)?;
            self.feed(&layer.feed)?;
        }
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

    fn head(&mut self, head: &Head, answer: &Buffer, limits: &Limits) -> Result<(), Error> {
        let Shape { rows, logits, .. } = self.shape;
        let (state, last) = (self.scratch.state.clone(), self.scratch.last.clone());
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

    /// The state as products read it: they norm one token themselves, where they are those of all devices.
    fn normed<'n>(&mut self, norm: &'n NormPart, state: &'n Rows, to: &'n Rows) -> Result<Input<'n>, Error> {
        if self.shape.tokens == 1 && !self.host {
            return Ok(Input { rows: state, norm: Some(norm) });
        }
        self.norm(norm, state, to, self.scratch.embedding, 0)?;
        Ok(Input::plain(to))
    }

    /// Adds what a part gives to the state, perhaps normed first.
    fn add(&mut self, product: &Product, x: &Rows, post_norm: Option<&NormPart>) -> Result<(), Error> {
        let tokens = self.shape.tokens;
        let state = self.scratch.state.clone();
        match post_norm {
            None => self.product(product, &Input::plain(x), tokens, &state, LmLinear::ADD)?,
            Some(norm) => {
                let given = self.scratch.normed.clone();
                self.product(product, &Input::plain(x), tokens, &given, 0)?;
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
        let input = self.normed(&part.norm, &state, &normed)?;
        for product in &part.products {
            self.product(product, &input, tokens, &qkv, 0)?;
        }
        self.barrier();
        let kind = match self.cache {
            CacheType::F16 => "f16",
            CacheType::Q8 => "q8",
        };
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
        let target = if attention.splits > 1 { &partials } else { &attended.range };
        let norms = part.head_norms.as_ref().unwrap_or(&nothing);
        let both = LmAttend::of(&heads, &attention).filter(|_| self.shape.alone && !self.host);
        if let Some(both) = both {
            let bindings = [&inputs, norms, &part.rotations, &qkv.range, &part.keys, &part.values, target];
            self.dispatch(&format!("lm_attend_{kind}"), both.grid(), &bindings, &both)?;
        } else {
            let bindings = [&inputs, norms, &part.rotations, &qkv.range, &part.keys, &part.values];
            self.dispatch(&format!("lm_heads_{kind}"), heads.grid(), &bindings, &heads)?;
            self.barrier();
            let bindings = [&inputs, &qkv.range, &part.keys, &part.values, target];
            let matrix = self.units.matrix && self.cache == CacheType::F16 && tokens > FEW;
            match attention.matrix_kernel().filter(|_| matrix) {
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
        self.add(&part.output, &attended, part.post_norm.as_ref())
    }

    fn feed(&mut self, part: &FeedPart) -> Result<(), Error> {
        let tokens = self.shape.tokens;
        let Scratch { state, normed, inner, both, .. } = self.scratch.clone();
        if let FeedKind::Experts { router, gate_up, down, count, used } = &part.kind {
            self.norm(&part.norm, &state, &normed, self.scratch.embedding, 0)?;
            return self.experts(part, router, gate_up, down, *count, *used);
        }
        let input = self.normed(&part.norm, &state, &normed)?;
        match &part.kind {
            FeedKind::Dense { gate_up: GateUp::InTurn(product), down } => {
                self.product(product, &input, tokens, &inner, part.activation)?;
                self.barrier();
                self.ready = false;
                self.add(down, &inner, part.post_norm.as_ref())
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
                self.add(down, &inner, part.post_norm.as_ref())
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

    /// A product with the matrices of experts, for each pair of a token and one of its experts.
    fn expert(
        &mut self,
        weights: &Weights,
        x: &Rows,
        pairs: usize,
        y: &Rows,
        flags: u32,
        (count, sharing): (usize, usize),
    ) -> Result<(), Error> {
        let [part] = &weights.parts[..] else {
            return Err(Error::file("the experts of a layer are more than one binding of this device reaches"));
        };
        let Held::Apart { codes, scales, format } = &part.held else {
            return Err(Error::file("experts' matrices are packed"));
        };
        let constants = LmLinear {
            rows: (weights.rows / count) as u32,
            columns: weights.columns as u32,
            tokens: pairs as u32,
            x_stride: x.stride as u32,
            y_stride: y.stride as u32,
            y_offset: 0,
            flags,
            experts: count as u32,
            sharing: sharing as u32,
            ..LmLinear::default()
        };
        let Scratch { chosen, nothing, .. } = self.scratch.clone();
        let bindings = [codes, scales, &x.range, &nothing, &chosen, &nothing, &y.range];
        self.dispatch(&self.units.one_token(*format), constants.vector_grid(1), &bindings, &constants)
    }

    /// A product with a matrix that all tokens share.
    fn product(&mut self, product: &Product, x: &Input<'_>, tokens: usize, y: &Rows, flags: u32) -> Result<(), Error> {
        let norm = x.norm;
        let x = x.rows;
        for part in &product.weights.parts {
            match &part.held {
                Held::Apart { codes, scales, format } => {
                    let gated = flags & LmLinear::GATE != 0;
                    let offset = product.offset + if gated { part.first / 2 } else { part.first };
                    let constants = LmLinear {
                        rows: part.rows as u32,
                        columns: product.weights.columns as u32,
                        tokens: tokens as u32,
                        x_stride: x.stride as u32,
                        y_stride: y.stride as u32,
                        y_offset: offset as u32,
                        flags: flags
                            | if product.bias.is_some() { LmLinear::BIAS } else { 0 }
                            | if norm.is_some() { LmLinear::NORM } else { 0 },
                        experts: 0,
                        sharing: 1,
                        model_columns: product.weights.model_columns as u32,
                        epsilon: norm.map_or(0.0, |norm| norm.epsilon),
                    };
                    let bias = match &product.bias {
                        Some(bias) => bias.range(4 * part.first as u64, bias.length() - 4 * part.first as u64)?,
                        None => self.scratch.nothing.clone(),
                    };
                    self.apart(*format, (codes, scales), x, (&bias, norm), y, &constants)?;
                }
                Held::Packed { bytes, kind } => {
                    let rows = part.rows;
                    self.packed(*kind, bytes, (rows, x, y), tokens, product, flags)?;
                }
            }
        }
        Ok(())
    }

    fn apart(
        &mut self,
        format: WeightFormat,
        (codes, scales): (&BufferRange, &BufferRange),
        x: &Rows,
        (bias, norm): (&BufferRange, Option<&NormPart>),
        y: &Rows,
        constants: &LmLinear,
    ) -> Result<(), Error> {
        let tokens = constants.tokens as usize;
        if tokens == 1 {
            let nothing = self.scratch.nothing.clone();
            let norm = norm.map_or(&nothing, |norm| &norm.weight);
            let bindings = [codes, scales, &x.range, bias, &nothing, norm, &y.range];
            return self.dispatch(&self.units.one_token(format), constants.vector_grid(1), &bindings, constants);
        }
        let name = |kind: &str| format!("lm_{kind}_{}", format.name());
        let whole = constants.columns.is_multiple_of(LmLinear::MATRIX_STEP) && format != WeightFormat::F32;
        if self.units.matrix && tokens > TOGETHER && whole {
            return self.matrix(&name("matrix"), (codes, scales), x, bias, y, constants);
        }
        let (kind, grid) = if tokens <= FEW {
            ("matvec4", constants.vector_grid(TOGETHER as u32))
        } else {
            ("matmul", constants.tile_grid())
        };
        self.dispatch(&name(kind), grid, &[codes, scales, &x.range, bias, &y.range], constants)
    }

    /// A product on matrix units. Few tiles leave much of a device idle: then columns are split too, and what the parts give is added up.
    fn matrix(
        &mut self,
        name: &str,
        (codes, scales): (&BufferRange, &BufferRange),
        x: &Rows,
        bias: &BufferRange,
        y: &Rows,
        constants: &LmLinear,
    ) -> Result<(), Error> {
        let halves = self.halves(x, constants.tokens as usize)?;
        let parts = match constants.flags & !LmLinear::ADD {
            0 if constants.y_offset == 0 => constants.matrix_parts(self.units.compute),
            _ => 1,
        };
        if parts == 1 || constants.rows as usize > self.scratch.parts.stride {
            let bindings = [codes, scales, &halves, bias, &y.range];
            return self.dispatch(name, constants.matrix_grid(), &bindings, constants);
        }
        let Rows { range, stride } = self.scratch.parts.clone();
        let split = LmLinear { flags: 0, sharing: parts, y_stride: stride as u32, ..*constants };
        self.dispatch(name, split.matrix_grid(), &[codes, scales, &halves, bias, &range], &split)?;
        self.barrier();
        let mix = LmMix {
            tokens: constants.tokens,
            columns: constants.rows,
            used: parts,
            x_stride: split.y_stride,
            y_stride: constants.y_stride,
            add: u32::from(constants.flags & LmLinear::ADD != 0),
        };
        let ones = self.scratch.ones.clone();
        self.dispatch("lm_mix", mix.grid(), &[&range, &ones, &y.range], &mix)
    }

    /// Rows as 16-bit floats.
    fn halves(&mut self, x: &Rows, tokens: usize) -> Result<BufferRange, Error> {
        let halves = self.scratch.halves.clone();
        if !self.ready {
            let constants = LmHalf { words: (tokens * x.stride / 2) as u32 };
            self.dispatch("lm_half", constants.grid(), &[&x.range, &halves], &constants)?;
            self.barrier();
            self.ready = true;
        }
        Ok(halves)
    }

    fn packed(
        &mut self,
        kind: Type,
        bytes: &BufferRange,
        (rows, x, y): (usize, &Rows, &Rows),
        tokens: usize,
        product: &Product,
        flags: u32,
    ) -> Result<(), Error> {
        let columns = product.weights.model_columns;
        let quantised = self.scratch.quantised.clone();
        let plain = matches!(kind, Type::F32 | Type::F16 | Type::BF16);
        if !plain && !self.ready {
            let constants = params::LmQuantize {
                tokens: tokens as u32,
                columns: columns as u32,
                x_stride: x.stride as u32,
                x_offset: 0,
            };
            self.dispatch("lm_quantize", [1, 1, 1], &[&x.range, &quantised], &constants)?;
            self.barrier();
            self.ready = true;
        }
        let constants = params::LmProduct {
            rows: rows as u32,
            columns: columns as u32,
            tokens: tokens as u32,
            format: kind.id(),
            x_stride: x.stride as u32,
            x_offset: 0,
            y_stride: y.stride as u32,
            y_offset: product.offset as u32,
            flags: if flags & LmLinear::ADD != 0 { params::LmProduct::ADD } else { 0 }
                | if product.bias.is_some() { params::LmProduct::BIAS } else { 0 },
        };
        let source = if plain { &x.range } else { &quantised };
        let nothing = self.scratch.nothing.clone();
        let bias = product.bias.as_ref().unwrap_or(&nothing);
        self.dispatch("lm_product", [1, 1, 1], &[bytes, source, bias, &y.range], &constants)
    }
}

/// Tokens of a block of attention, of heads of which so many share keys.
pub(crate) fn block_tokens(shared: usize, matrix: bool) -> usize {
    let rows = if matrix { LmAttention::MATRIX_ROWS } else { LmAttention::ROWS };
    (rows as usize / shared.max(1)).max(1)
}
