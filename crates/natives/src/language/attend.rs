//! `lm_attend_*`: `lm_heads_*` and `lm_attention_*` of one token of each text, one after the other. The CPU driver's own models take those two; this
//! is what other devices' kernel is held against.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use super::{Attention, Cells, Heads, Plan, Work};
use crate::params::LmAttend;
use crate::simd::Level;

/// `BYTES` for a cache of bytes with scales, 16-bit floats otherwise.
pub(crate) struct Attend<const BYTES: bool>;

impl<const BYTES: bool> Work for Attend<BYTES> {
    type Params = LmAttend;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 3;

    fn plan(p: &LmAttend) -> Result<Plan, String> {
        Heads::<BYTES>::plan(&p.heads())?;
        Attention::<BYTES>::plan(&p.attention())?;
        Ok(Plan { units: 1, cost: 1 })
    }

    fn compute(level: Level, p: &LmAttend, inputs: &[&[u32]], outputs: &[Cells<'_>], _: Range<usize>) {
        let all = |plan: Result<Plan, String>| 0..plan.map_or(0, |plan| plan.units as usize);
        let own: Vec<AtomicU32> = inputs[3].iter().copied().map(AtomicU32::new).collect();
        let heads = p.heads();
        let targets = [Cells(&own), outputs[0], outputs[1]];
        let sources = [inputs[0], inputs[1], inputs[2], &[]];
        Heads::<BYTES>::compute(level, &heads, &sources, &targets, all(Heads::<BYTES>::plan(&heads)));
        let [queries, keys, values] = targets.map(|cells| cells.words());
        let attention = p.attention();
        let sources = [inputs[0], &queries, &keys, &values];
        let units = all(Attention::<BYTES>::plan(&attention));
        Attention::<BYTES>::compute(level, &attention, &sources, &outputs[2..], units);
    }
}
