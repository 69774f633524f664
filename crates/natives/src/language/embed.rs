//! `lm_embed_*`: the rows of a matrix that tokens stand for.

use std::ops::Range;

use super::linear::{GROUP, decode};
use super::{Cells, Plan, Work, word};
use crate::params::{LmEmbed, WeightFormat};
use crate::simd::Level;

/// Of the format with this number.
pub(crate) struct Embed<const FORMAT: u32>;

impl<const FORMAT: u32> Work for Embed<FORMAT> {
    type Params = LmEmbed;
    const INPUTS: usize = 3;
    const OUTPUTS: usize = 1;

    fn plan(p: &LmEmbed) -> Result<Plan, String> {
        if !p.columns.is_multiple_of(GROUP as u32) || !p.y_stride.is_multiple_of(4) || p.y_stride < p.columns {
            return Err(format!("{} columns in rows of {} are no whole groups", p.columns, p.y_stride));
        }
        Ok(Plan { units: p.tokens.into(), cost: 2 * u64::from(p.y_stride) })
    }

    fn compute(_: Level, p: &LmEmbed, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
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
