//! `lm_matvec_*`, `lm_matvec_i8_*`, `lm_matvec4_*`, `lm_matvec8_i8_*`, `lm_matmul_*`,
//! `lm_matmul_coopmat*_*`: products with weights in a [`WeightFormat`].

use std::ops::Range;

use half::f16;

use super::rows::pack_f16;
use super::{AtomicWords, Reference, ReferenceKernel, WorkSize, compact, floats, word};
use crate::KernelFactory;
use roci_families::{LmLinear as Params, LmQuantizeI8, WeightFormat};
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_matvec_f32", |level| Arc::new(ReferenceKernel::<Linear<0, MATVEC>>::new(level))),
    ("lm_matvec_f16", |level| Arc::new(ReferenceKernel::<Linear<1, MATVEC>>::new(level))),
    ("lm_matvec_bf16", |level| Arc::new(ReferenceKernel::<Linear<2, MATVEC>>::new(level))),
    ("lm_matvec_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATVEC>>::new(level))),
    ("lm_matvec_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATVEC>>::new(level))),
    ("lm_matvec_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATVEC>>::new(level))),
    ("lm_matvec_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATVEC>>::new(level))),
    ("lm_matvec_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATVEC>>::new(level))),
    ("lm_matvec_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATVEC>>::new(level))),
    ("lm_matvec_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATVEC>>::new(level))),
    ("lm_matvec_q4_superblock", |level| Arc::new(ReferenceKernel::<Linear<10, MATVEC>>::new(level))),
    ("lm_matvec_i8_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATVEC_I8>>::new(level))),
    ("lm_matvec_i8_q4_superblock", |level| Arc::new(ReferenceKernel::<Linear<10, MATVEC_I8>>::new(level))),
    ("lm_matvec4_f32", |level| Arc::new(ReferenceKernel::<Linear<0, MATVEC4>>::new(level))),
    ("lm_matvec4_f16", |level| Arc::new(ReferenceKernel::<Linear<1, MATVEC4>>::new(level))),
    ("lm_matvec4_bf16", |level| Arc::new(ReferenceKernel::<Linear<2, MATVEC4>>::new(level))),
    ("lm_matvec4_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATVEC4>>::new(level))),
    ("lm_matvec4_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATVEC4>>::new(level))),
    ("lm_matvec4_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATVEC4>>::new(level))),
    ("lm_matvec4_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATVEC4>>::new(level))),
    ("lm_matvec4_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATVEC4>>::new(level))),
    ("lm_matvec4_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATVEC4>>::new(level))),
    ("lm_matvec4_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATVEC4>>::new(level))),
    ("lm_matvec4_q4_superblock", |level| Arc::new(ReferenceKernel::<Linear<10, MATVEC4>>::new(level))),
    ("lm_matvec8_i8_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATVEC8_I8>>::new(level))),
    ("lm_matvec8_i8_q4_superblock", |level| Arc::new(ReferenceKernel::<Linear<10, MATVEC8_I8>>::new(level))),
    ("lm_matmul_f32", |level| Arc::new(ReferenceKernel::<Linear<0, MATMUL>>::new(level))),
    ("lm_matmul_f16", |level| Arc::new(ReferenceKernel::<Linear<1, MATMUL>>::new(level))),
    ("lm_matmul_bf16", |level| Arc::new(ReferenceKernel::<Linear<2, MATMUL>>::new(level))),
    ("lm_matmul_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATMUL>>::new(level))),
    ("lm_matmul_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATMUL>>::new(level))),
    ("lm_matmul_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATMUL>>::new(level))),
    ("lm_matmul_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATMUL>>::new(level))),
    ("lm_matmul_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATMUL>>::new(level))),
    ("lm_matmul_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATMUL>>::new(level))),
    ("lm_matmul_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATMUL>>::new(level))),
    ("lm_matmul_q4_superblock", |level| Arc::new(ReferenceKernel::<Linear<10, MATMUL>>::new(level))),
    ("lm_matmul_coopmat_f16", |level| Arc::new(ReferenceKernel::<Linear<1, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat_q4_superblock", |level| Arc::new(ReferenceKernel::<Linear<10, MATMUL_COOPMAT>>::new(level))),
    ("lm_matmul_coopmat16_f16", |level| Arc::new(ReferenceKernel::<Linear<1, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATMUL_COOPMAT16>>::new(level))),
    ("lm_matmul_coopmat16_q4_superblock", |level| {
        Arc::new(ReferenceKernel::<Linear<10, MATMUL_COOPMAT16>>::new(level))
    }),
    ("lm_matmul_coopmat32_f16", |level| Arc::new(ReferenceKernel::<Linear<1, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_q4", |level| Arc::new(ReferenceKernel::<Linear<3, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_q4_affine", |level| Arc::new(ReferenceKernel::<Linear<4, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_nvfp4", |level| Arc::new(ReferenceKernel::<Linear<5, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_q4_nl", |level| Arc::new(ReferenceKernel::<Linear<6, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_q4_e2m1", |level| Arc::new(ReferenceKernel::<Linear<7, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_q8", |level| Arc::new(ReferenceKernel::<Linear<8, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_iq4_xs", |level| Arc::new(ReferenceKernel::<Linear<9, MATMUL_COOPMAT32>>::new(level))),
    ("lm_matmul_coopmat32_q4_superblock", |level| {
        Arc::new(ReferenceKernel::<Linear<10, MATMUL_COOPMAT32>>::new(level))
    }),
];

/// `FORMAT` is a [`WeightFormat`]; `FORM` is one of the constants below.
pub(crate) struct Linear<const FORMAT: u32, const FORM: u32>;

/// With bindings for experts and a norm.
pub(crate) const MATVEC: u32 = 0;
/// In tiles of tokens, which may have experts.
pub(crate) const MATMUL: u32 = 1;
/// Like [`MATVEC4`], with f16 `x`, and optionally with split columns.
pub(crate) const MATMUL_COOPMAT: u32 = 2;
/// Like [`MATVEC`], with `x` quantized to bytes.
pub(crate) const MATVEC_I8: u32 = 3;
/// Like [`MATMUL`], with f16 `x`, and optionally with columns split in larger steps.
pub(crate) const MATMUL_COOPMAT32: u32 = 4;
/// Like [`MATMUL`], with `x` quantized by `lm_quantize_i8`.
pub(crate) const MATVEC8_I8: u32 = 5;
/// Without bindings for experts and a norm.
pub(crate) const MATVEC4: u32 = 6;
/// Like [`MATMUL_COOPMAT32`], in smaller tiles.
pub(crate) const MATMUL_COOPMAT16: u32 = 7;

/// Columns of a group.
pub(super) const GROUP: usize = 32;
/// Granularity of split columns, for matrix units.
const STEP: usize = Params::COOPMAT_STEP as usize;
/// Rows of a unit of work.
const ROWS: usize = 16;

impl<const FORMAT: u32, const FORM: u32> Reference for Linear<FORMAT, FORM> {
    type Params = Params;
    const INPUTS: usize = match FORM {
        MATVEC | MATVEC_I8 => 6,
        MATVEC4 | MATMUL_COOPMAT => 4,
        _ => 5,
    };
    const OUTPUTS: usize = 1;

    fn work_size(p: &Params) -> Result<WorkSize, String> {
        work_size(p)
    }

    fn compute(level: Level, p: &Params, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let Some(format) = WeightFormat::ALL.get(FORMAT as usize).copied() else { return };
        compute(level, format, FORM, p, inputs, outputs[0], units);
    }
}

/// Checks the constants of all formats and forms.
fn work_size(p: &Params) -> Result<WorkSize, String> {
    if !p.columns.is_multiple_of(GROUP as u32) || !p.x_stride.is_multiple_of(4) {
        return Err(format!("{} columns with a stride of {} are not multiples of 32", p.columns, p.x_stride));
    }
    if p.flags & Params::GATE != 0 && !p.rows.is_multiple_of(2) {
        return Err(format!("{} rows are not pairs of gate and up rows", p.rows));
    }
    let cost = ROWS as u64 * u64::from(p.columns) * u64::from(p.tokens);
    Ok(WorkSize { units: u64::from(p.rows).div_ceil(ROWS as u64), cost })
}

/// Not generic, so that it is compiled once for all formats and forms.
fn compute(
    level: Level,
    format: WeightFormat,
    form: u32,
    p: &Params,
    inputs: &[&[u32]],
    y: AtomicWords<'_>,
    units: Range<usize>,
) {
    let tile = match form {
        MATVEC8_I8 => Params::VECTOR8_TOKENS,
        MATMUL_COOPMAT16 => Params::COOPMAT16_TILE[0],
        MATMUL_COOPMAT32 => Params::COOPMAT32_TOKENS,
        _ => Params::TILE,
    };
    let of_pairs;
    let (experts, norm) = match form {
        MATVEC | MATVEC_I8 => (inputs[4], inputs[5]),
        MATVEC4 | MATMUL_COOPMAT => (&[][..], &[][..]),
        _ if p.experts == 0 => (&[][..], &[][..]),
        _ => {
            of_pairs = experts_of_pairs(p, inputs[4], tile as usize);
            (&of_pairs[..], &[][..])
        }
    };
    level.run(LinearTask { format, form, p, inputs, experts, norm, y, units });
}

/// The experts of pairs, from the tiles of [`LmMoeGroup`](roci_families::LmMoeGroup).
fn experts_of_pairs(p: &Params, tiles: &[u32], tile: usize) -> Vec<u32> {
    let mut experts = vec![0; p.tokens as usize];
    for words in tiles.chunks_exact(tile + 1) {
        for pair in &words[1..] {
            if let Some(expert) = experts.get_mut(*pair as usize) {
                *expert = words[0];
            }
        }
    }
    experts
}

struct LinearTask<'a> {
    format: WeightFormat,
    form: u32,
    p: &'a Params,
    inputs: &'a [&'a [u32]],
    experts: &'a [u32],
    norm: &'a [u32],
    y: AtomicWords<'a>,
    units: Range<usize>,
}

impl Task for LinearTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { p, .. } = self;
        let (columns, rows) = (p.columns as usize, p.rows as usize);
        let mut weights = vec![0.0; 2 * columns];
        let mut normed = Vec::new();
        let step = if p.flags & Params::GATE == 0 { 1 } else { 2 };
        for first in (self.units.start * ROWS..(self.units.end * ROWS).min(rows)).step_by(step) {
            if p.experts == 0 {
                self.decode(first, step, &mut weights);
            }
            for token in 0..p.tokens as usize {
                let mut first_row = 0;
                if p.experts != 0 {
                    first_row = word(self.experts, token).min(p.experts as usize - 1) * rows;
                    self.decode(first_row + first, step, &mut weights);
                }
                if self.has_f16_x() {
                    let (sharing, parts) = if p.experts == 0 { (1, p.sharing) } else { (p.sharing, 1) };
                    let from = token / sharing.max(1) as usize * p.x_stride as usize;
                    let words = self.inputs[2].get(from / 2..(from + columns) / 2).unwrap_or(&[]);
                    let halves: &[f16] = bytemuck::cast_slice(words);
                    normed.clear();
                    normed.extend(halves.iter().map(|half| half.to_f32()));
                    let parts = parts.max(1) as usize;
                    let step = match self.form {
                        MATMUL_COOPMAT16 => Params::small_coopmat_step(self.format, Params::COOPMAT16_TILE[0]) as usize,
                        MATMUL_COOPMAT32 => Params::small_coopmat_step(self.format, Params::COOPMAT32_TOKENS) as usize,
                        _ => STEP,
                    };
                    let each = columns.div_ceil(step).div_ceil(parts) * step;
                    for part in 0..parts {
                        let own = (part * each).min(columns)..((part + 1) * each).min(columns);
                        let mut sums = [0.0; 2];
                        for (sum, weights) in sums.iter_mut().zip(weights.chunks_exact(columns)).take(step) {
                            *sum = dot(&weights[own.clone()], normed.get(own.clone()).unwrap_or(&[]));
                        }
                        self.finish(token * parts + part, first, first_row, sums);
                    }
                    continue;
                }
                let factor = if self.form == MATVEC8_I8 {
                    self.dequantize_x(
                        if p.experts == 0 { token } else { token / p.sharing.max(1) as usize },
                        &mut normed,
                    );
                    1.0
                } else {
                    let from = token / p.sharing.max(1) as usize * p.x_stride as usize;
                    self.normed(floats(self.inputs[2], from, columns), &mut normed)
                };
                let mut sums = [0.0; 2];
                for (sum, weights) in sums.iter_mut().zip(weights.chunks_exact(columns)).take(step) {
                    *sum = dot(weights, &normed) * factor;
                }
                self.finish(token, first, first_row, sums);
            }
        }
    }
}

impl LinearTask<'_> {
    /// Writes `x` times the weights of its norm to `to`, quantized for [`MATVEC_I8`], and returns
    /// the reciprocal of its root mean square.
    #[inline(always)]
    fn normed(&self, x: &[f32], to: &mut Vec<f32>) -> f32 {
        to.clear();
        let mut factor = 1.0;
        if self.p.flags & Params::NORM == 0 {
            to.extend_from_slice(x);
        } else {
            let factors = floats(self.norm, 0, x.len());
            to.extend(x.iter().zip(factors).map(|(x, factor)| x * factor));
            let mean = dot(x, x) / self.p.model_columns.max(1) as f32;
            factor = 1.0 / (mean + self.p.epsilon).sqrt();
        }
        if self.form == MATVEC_I8 {
            for group in to.as_chunks_mut::<GROUP>().0 {
                let top = group.iter().fold(0f32, |top, value| top.max(value.abs()));
                let inverse = if top > 0.0 { 127.0 / top } else { 0.0 };
                group.iter_mut().for_each(|value| *value = (*value * inverse).round_ties_even() * (top / 127.0));
            }
        }
        factor
    }

    /// Writes a quantized row of `x` to `to`.
    #[inline(always)]
    fn dequantize_x(&self, token: usize, to: &mut Vec<f32>) {
        let row_words = self.p.columns as usize / GROUP * LmQuantizeI8::GROUP_WORDS as usize;
        let words = self.inputs[2].get(token * row_words..(token + 1) * row_words).unwrap_or(&[]);
        to.clear();
        for group in words.chunks_exact(LmQuantizeI8::GROUP_WORDS as usize) {
            let scale = f32::from_bits(group[8]);
            let codes = group[..8].iter().flat_map(|word| word.to_le_bytes());
            to.extend(codes.map(|code| scale * f32::from(code.cast_signed())));
        }
    }

    #[inline(always)]
    fn decode(&self, row: usize, rows: usize, weights: &mut [f32]) {
        let columns = self.p.columns as usize;
        for (row, weights) in (row..row + rows).zip(weights.chunks_exact_mut(columns)) {
            for (group, weights) in weights.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
                decode(self.format, self.inputs[0], self.inputs[1], row * (columns / GROUP) + group, weights);
                if self.has_f16_x() {
                    // Matrix units take f16 weights.
                    weights.iter_mut().for_each(|weight| *weight = f16::from_f32(*weight).to_f32());
                }
            }
        }
    }

    /// Whether the kernel is the twin of a matrix-unit kernel, which reads `x` as f16.
    #[inline(always)]
    fn has_f16_x(&self) -> bool {
        matches!(self.form, MATMUL_COOPMAT | MATMUL_COOPMAT16 | MATMUL_COOPMAT32)
    }

    /// `first_row` is the first row of the expert's matrix, or 0.
    #[inline(always)]
    fn finish(&self, token: usize, row: usize, first_row: usize, sums: [f32; 2]) {
        let p = self.p;
        let bias = |row: usize| {
            if p.flags & Params::BIAS == 0 {
                0.0
            } else {
                self.inputs[3].get(first_row + row).map_or(0.0, |word| f32::from_bits(*word))
            }
        };
        let start = token * p.y_stride as usize + p.y_offset as usize;
        if p.flags & Params::GATE != 0 {
            let (gate, up) = (sums[0] + bias(row), sums[1] + bias(row + 1));
            let value = match p.flags & Params::GATE {
                Params::SWIGLU_OAI => swiglu_oai(gate, up),
                kind => activation(kind == Params::GELU, gate) * up,
            };
            if p.flags & Params::PACKED == 0 {
                return self.y.set(start + row / 2, value);
            }
            // The other half of the word is computed next, by the same thread.
            let (at, is_high) = (start + row / 4, !row.is_multiple_of(4));
            let (word, half) = (self.y.get(at).to_bits(), pack_f16([value, 0.0]));
            self.y.set_word(at, if is_high { word & 0xffff | half << 16 } else { half });
        } else {
            let before = if p.flags & Params::ADD == 0 { 0.0 } else { self.y.get(start + row) };
            self.y.set(start + row, sums[0] + bias(row) + before);
        }
    }
}

/// SiLU, or GELU in its tanh approximation.
#[inline(always)]
pub(super) fn activation(gelu: bool, x: f32) -> f32 {
    let z = if gelu { 1.595_769 * (x + 0.044_715 * x * x * x) } else { x };
    x / (1.0 + (-z).exp())
}

/// SwiGLU of gpt-oss.
#[inline(always)]
pub(super) fn swiglu_oai(gate: f32, up: f32) -> f32 {
    let gate = gate.min(7.0);
    gate / (1.0 + (-1.702 * gate).exp()) * (up.clamp(-7.0, 7.0) + 1.0)
}

/// The dot product, in 16 independent sums.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0f32; 16];
    let (a, a_rest) = a.as_chunks::<16>();
    let (b, b_rest) = b.as_chunks::<16>();
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

const IQ4: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Dequantizes a group of a matrix from its codes and its scales.
#[inline(always)]
pub(crate) fn decode(format: WeightFormat, codes: &[u32], scales: &[u32], group: usize, weights: &mut [f32; GROUP]) {
    let words = format.code_bytes() / 4;
    let Some(codes) = codes.get(group * words..(group + 1) * words) else { return weights.fill(0.0) };
    if format.is_compact() {
        return compact::decode(format, codes, scales, group, weights);
    }
    let half = |word: u32| f16::from_bits(word as u16).to_f32();
    let scale_at = |at: usize| scales.get(at).copied().unwrap_or(0);
    let half_at = |at: usize| half(scale_at(at / 2) >> (at % 2 * 16));
    let pair = |word: u32| (half(word), half(word >> 16));
    let both = |scale: f32, offset: f32| ((scale, offset), (scale, offset));
    let (first, second) = match format {
        WeightFormat::Q4 => both(half_at(group), -8.0 * half_at(group)),
        WeightFormat::Q8 | WeightFormat::Q4Nl => both(half_at(group), 0.0),
        WeightFormat::Q4Affine => (pair(scale_at(group)), pair(scale_at(group))),
        WeightFormat::Nvfp4 => ((half_at(group * 2), 0.0), (half_at(group * 2 + 1), 0.0)),
        WeightFormat::Q4Superblock => {
            let start = group / 8 * 5;
            let (scale, least) = pair(scale_at(start));
            let own = scale_at(start + 1 + group % 8 / 2) >> (group % 2 * 16);
            both(scale * (own & 0xff) as f32, -least * (own >> 8 & 0xff) as f32)
        }
        WeightFormat::Iq4Xs => {
            let start = group / 8 * 2;
            let block = u64::from(scale_at(start)) | u64::from(scale_at(start + 1)) << 32;
            let own = block >> (16 + group % 8 * 4) & 15 | (block >> (48 + group % 8 * 2) & 3) << 4;
            both(half_at(start * 2) * (own as f32 - 32.0), 0.0)
        }
        WeightFormat::Q4E2m1 => {
            let exponent = scale_at(group / 4) >> (group % 4 * 8) & 0xff;
            let bits = if exponent < 2 { 0x0020_0000 << exponent } else { (exponent - 1) << 23 };
            both(f32::from_bits(bits), 0.0)
        }
        _ => both(1.0, 0.0),
    };
    for (at, weight) in weights.iter_mut().enumerate() {
        let nibble = || codes[at % 16 / 4] >> (at % 4 * 8 + at / 16 * 4) & 0xf;
        let code = match format {
            WeightFormat::F32 => f32::from_bits(codes[at]),
            WeightFormat::F16 => half(codes[at / 2] >> (at % 2 * 16)),
            WeightFormat::Bf16 => f32::from_bits(codes[at / 2] >> (at % 2 * 16) << 16),
            WeightFormat::Q8 => f32::from((codes[at / 4] >> (at % 4 * 8)) as i8),
            WeightFormat::Q4Nl | WeightFormat::Iq4Xs => f32::from(IQ4[nibble() as usize]),
            WeightFormat::Q4E2m1 | WeightFormat::Nvfp4 => f32::from(E2M1[nibble() as usize]),
            _ => nibble() as f32,
        };
        let (scale, offset) = if at < 16 { first } else { second };
        *weight = scale * code + offset;
    }
}
