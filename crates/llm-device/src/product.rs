//! Products of weights: which kernel computes one on a device.

use roci_gguf::Type;
use roci_hal::{BufferRange, DeviceInfo, DeviceKind, PhysicalInfo};
use roci_kernels::params::{self, LmHalf, LmLinear, LmMix, Params, WeightFormat};

use crate::Error;
use crate::layer::{NormPart, Product};
use crate::options::Options;
use crate::record::{FEW, Writer};
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
pub(crate) struct Input<'a> {
    pub(crate) rows: &'a Rows,
    /// Applied by the product itself.
    pub(crate) norm: Option<&'a NormPart>,
}

impl<'a> Input<'a> {
    pub(crate) fn plain(rows: &'a Rows) -> Self {
        Self { rows, norm: None }
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
        self.dispatch(&self.units.one_token(*format), constants.vector_grid(1), &bindings, &constants)
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
        let whole = constants.columns.is_multiple_of(LmLinear::MATRIX_STEP) && format.has_matrix();
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
