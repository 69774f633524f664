//! `lm_embed_*`: rows of the token embedding matrix.

use std::ops::Range;

use super::ReferenceKernel;
use super::linear::{GROUP, decode};
use super::{AtomicWords, Reference, WorkSize, word};
use crate::KernelFactory;
use roci_families::{LmEmbed, WeightFormat};
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_embed_f32", |level| Arc::new(ReferenceKernel::<Embed<0>>::new(level))),
    ("lm_embed_f16", |level| Arc::new(ReferenceKernel::<Embed<1>>::new(level))),
    ("lm_embed_bf16", |level| Arc::new(ReferenceKernel::<Embed<2>>::new(level))),
    ("lm_embed_q4", |level| Arc::new(ReferenceKernel::<Embed<3>>::new(level))),
    ("lm_embed_q8", |level| Arc::new(ReferenceKernel::<Embed<8>>::new(level))),
];

/// `FORMAT` is a [`WeightFormat`].
pub(crate) struct Embed<const FORMAT: u32>;

impl<const FORMAT: u32> Reference for Embed<FORMAT> {
    type Params = LmEmbed;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmEmbed) -> Result<WorkSize, String> {
        if !p.columns.is_multiple_of(GROUP as u32) || !p.y_stride.is_multiple_of(4) || p.y_stride < p.columns {
            return Err(format!("{} columns in rows of {} are not multiples of 32", p.columns, p.y_stride));
        }
        Ok(WorkSize { units: p.tokens.into(), cost: 2 * u64::from(p.y_stride) })
    }

    fn compute(_: Level, p: &LmEmbed, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let Some(format) = WeightFormat::ALL.get(FORMAT as usize).copied() else { return };
        let (groups, stride) = (p.columns as usize / GROUP, p.y_stride as usize);
        let mut weights = [0.0; GROUP];
        for token in units {
            let row = word(inputs[0], p.first as usize + token).min((p.rows as usize).saturating_sub(1));
            for group in 0..groups {
                decode(format, inputs[1], inputs[2], row * groups + group, &mut weights);
                let first = token * stride + group * GROUP;
                weights.iter().enumerate().for_each(|(i, weight)| outputs[0].set(first + i, weight * p.factor));
            }
            (p.columns as usize..stride).for_each(|at| outputs[0].set(token * stride + at, 0.0));
        }
    }
}
