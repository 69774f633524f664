//! Products of weights: which kernel computes one on a device.

use roci_gguf::Type;
use roci_hal::{BufferRange, DeviceInfo, DeviceKind};
use roci_kernels::params::{self, LmHalf, LmLinear, LmMix, LmSumNorm, Params, WeightFormat};

use crate::Error;
use crate::layer::{NormPart, Product};
use crate::options::Options;
use crate::pack::GROUP;
use crate::record::{FEW, Pending, Writer};
use crate::scratch::{Rows, Scratch};
use crate::weights::{Held, Places, Weights};

/// Tokens for which weights are read once where they are not read in tiles.
const TOGETHER: usize = 4;

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
        let bytes = info.capabilities().integer_dot && !native && !is_played(info);
        let compute = info.physical.iter().map(|one| one.compute_units).min().unwrap_or(1);
        Self { matrix, bytes: bytes && !options.exact, compute }
    }

    /// The kernel of products with one token, and its workgroups.
    fn one_token(self, format: WeightFormat, constants: &LmLinear) -> (String, [u32; 3]) {
        let rounded = self.bytes && format.is_whole();
        let grid = if format.is_float() { constants.plain_grid() } else { constants.vector_grid(1) };
        (format!("lm_{}_{}", if rounded { "dot" } else { "matvec" }, format.name()), grid)
    }
}

/// Whether a processor of the host plays a device, or a part of it.
pub(crate) fn is_played(info: &DeviceInfo) -> bool {
    info.physical.iter().any(|one| matches!(one.kind, DeviceKind::Emulated | DeviceKind::Software))
}

/// What a product reads.
pub(crate) struct Input<'a> {
    pub(crate) rows: &'a Rows,
    /// Applied by the product itself.
    pub(crate) norm: Option<&'a NormPart>,
    /// Whether they are 16-bit floats already.
    pub(crate) halves: bool,
}

impl<'a> Input<'a> {
    pub(crate) fn plain(rows: &'a Rows) -> Self {
        Self { rows, norm: None, halves: false }
    }
}

impl Writer<'_> {
    /// A product with the matrices of experts, for each pair of a token and one of its experts.
    pub(crate) fn expert(
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
        let (name, grid) = self.units.one_token(*format, &constants);
        self.dispatch(&name, grid, &bindings, &constants)
    }

    /// A product with a matrix that all tokens share.
    pub(crate) fn product(
        &mut self,
        product: &Product,
        x: &Input<'_>,
        tokens: usize,
        y: &Rows,
        flags: u32,
    ) -> Result<(), Error> {
        let Input { rows: x, norm, halves } = *x;
        for part in &product.weights.parts {
            match &part.held {
                Held::Apart { codes, scales, format } => {
                    let gated = flags & LmLinear::GATE != 0;
                    let offset = product.offset + if gated { part.first / 2 } else { part.first };
                    let packed = flags & LmLinear::PACKED != 0;
                    let constants = LmLinear {
                        rows: part.rows as u32,
                        columns: product.weights.columns as u32,
                        tokens: tokens as u32,
                        x_stride: x.stride as u32,
                        y_stride: if packed { y.stride / 2 } else { y.stride } as u32,
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
                    let x = Input { rows: x, norm, halves };
                    self.apart(*format, (codes, scales), &x, &bias, y, &constants)?;
                }
                Held::Packed { bytes, kind } => {
                    self.packed(*kind, (bytes, None), (part.rows, x, y), tokens, product, flags)?;
                }
                Held::InPlace { file, kind, places } => {
                    self.packed(*kind, (file, Some(*places)), (part.rows, x, y), tokens, product, flags)?;
                }
            }
        }
        Ok(())
    }

    fn apart(
        &mut self,
        format: WeightFormat,
        (codes, scales): (&BufferRange, &BufferRange),
        x: &Input<'_>,
        bias: &BufferRange,
        y: &Rows,
        constants: &LmLinear,
    ) -> Result<(), Error> {
        let tokens = constants.tokens as usize;
        let range = &x.rows.range;
        if tokens == 1 {
            let nothing = self.scratch.nothing.clone();
            let norm = x.norm.map_or(&nothing, |norm| &norm.weight);
            let bindings = [codes, scales, range, bias, &nothing, norm, &y.range];
            let (name, grid) = self.units.one_token(format, constants);
            return self.dispatch(&name, grid, &bindings, constants);
        }
        let name = |kind: &str| format!("lm_{kind}_{}", format.name());
        if self.has_matrix(format, constants.columns as usize, tokens) {
            return self.matrix(&name("matrix"), (codes, scales), x, bias, y, constants);
        }
        let (kind, grid) = if tokens <= FEW {
            ("matvec4", constants.vector_grid(TOGETHER as u32))
        } else {
            ("matmul", constants.tile_grid())
        };
        self.dispatch(&name(kind), grid, &[codes, scales, range, bias, &y.range], constants)
    }

    /// Whether products with so many tokens run on matrix units.
    fn has_matrix(&self, format: WeightFormat, columns: usize, tokens: usize) -> bool {
        let whole = columns.is_multiple_of(LmLinear::MATRIX_STEP as usize) && format.has_matrix();
        self.units.matrix && tokens > TOGETHER && whole
    }

    /// The same of all of a matrix.
    pub(crate) fn on_matrix_units(&self, weights: &Weights, tokens: usize) -> bool {
        weights.parts.iter().all(|part| match &part.held {
            Held::Apart { format, .. } => self.has_matrix(*format, weights.columns, tokens),
            Held::Packed { .. } | Held::InPlace { .. } => false,
        })
    }

    /// Whether a gated product may give what the next one reads as 16-bit floats.
    pub(crate) fn gives_halves(&self, gate_up: &Weights, down: &Weights) -> bool {
        let tokens = self.shape.tokens;
        let whole = gate_up.parts.len() == 1 && gate_up.rows.is_multiple_of(4);
        whole && self.on_matrix_units(gate_up, tokens) && self.on_matrix_units(down, tokens)
    }

    /// Adds to the state what is still to be added.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        let Some(Pending { parts, stride }) = self.pending.take() else { return Ok(()) };
        let Scratch { state, embedding, .. } = self.scratch.clone();
        self.sum_parts(parts, stride, (self.shape.tokens as u32, embedding as u32), &state, true)?;
        self.barrier();
        Ok(())
    }

    /// Adds up the parts of a product.
    fn sum_parts(
        &mut self,
        parts: u32,
        stride: u32,
        (tokens, columns): (u32, u32),
        y: &Rows,
        add: bool,
    ) -> Result<(), Error> {
        let mix =
            LmMix { tokens, columns, used: parts, x_stride: stride, y_stride: y.stride as u32, add: u32::from(add) };
        let Scratch { parts, ones, .. } = self.scratch.clone();
        self.dispatch("lm_mix", mix.grid(), &[&parts.range, &ones, &y.range], &mix)
    }

    /// Adds to the state what is still to be added, and makes of it what products on matrix units read.
    pub(crate) fn sum_and_norm(&mut self, norm: &NormPart, state: &Rows) -> Result<(), Error> {
        let Scratch { parts, halves, embedding, .. } = self.scratch.clone();
        let pending = self.pending.take();
        let constants = LmSumNorm {
            rows: self.shape.tokens as u32,
            columns: embedding as u32,
            x_stride: state.stride as u32,
            used: pending.map_or(0, |pending| pending.parts),
            part_stride: pending.map_or(0, |pending| pending.stride),
            epsilon: norm.epsilon,
        };
        let bindings = [&parts.range, &norm.weight, &state.range, &halves];
        self.dispatch("lm_sum_norm", constants.grid(), &bindings, &constants)?;
        self.barrier();
        self.ready = true;
        Ok(())
    }

    /// A product on matrix units. Where tiles leave much of a device idle, columns are split too, and what the parts give is added up.
    fn matrix(
        &mut self,
        name: &str,
        (codes, scales): (&BufferRange, &BufferRange),
        x: &Input<'_>,
        bias: &BufferRange,
        y: &Rows,
        constants: &LmLinear,
    ) -> Result<(), Error> {
        let halves = if x.halves { x.rows.range.clone() } else { self.halves(x.rows, constants.tokens as usize)? };
        let Rows { range, stride } = self.scratch.parts.clone();
        let apart = (constants.rows as usize).next_multiple_of(GROUP);
        let parts = match constants.flags & !LmLinear::ADD {
            0 if constants.y_offset == 0 => constants.matrix_parts(self.units.compute, (stride / apart) as u32),
            _ => 1,
        };
        if parts == 1 {
            let bindings = [codes, scales, &halves, bias, &y.range];
            return self.dispatch(name, constants.matrix_grid(), &bindings, constants);
        }
        let split = LmLinear { flags: 0, sharing: parts, y_stride: apart as u32, ..*constants };
        self.dispatch(name, split.matrix_grid(), &[codes, scales, &halves, bias, &range], &split)?;
        let add = constants.flags & LmLinear::ADD != 0;
        if self.leaves_parts || add && constants.rows as usize == self.scratch.embedding {
            // Only to the state something is added; whoever reads it next does it.
            self.pending = Some(Pending { parts, stride: apart as u32 });
            return Ok(());
        }
        self.barrier();
        self.sum_parts(parts, apart as u32, (constants.tokens, constants.rows), y, add)
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
        (bytes, places): (&BufferRange, Option<Places>),
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
        let in_place = if places.is_some() { params::LmProduct::IN_PLACE } else { 0 };
        let Places { starts, ends } = places.unwrap_or_default();
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
                | if product.bias.is_some() { params::LmProduct::BIAS } else { 0 }
                | in_place,
            starts,
            ends,
        };
        let source = if plain { &x.range } else { &quantised };
        let nothing = self.scratch.nothing.clone();
        let bias = product.bias.as_ref().unwrap_or(&nothing);
        self.dispatch("lm_product", [1, 1, 1], &[bytes, source, bias, &y.range], &constants)
    }
}
