//! `lm_decode_attention_*`: `lm_rope_kv_store_*` and `lm_attention_*` of one token of each
//! sequence, one after the other. This is only a reference for the GPU kernel: models on the CPU
//! driver use the other two.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use super::ReferenceKernel;
use super::attention::Attention;
use super::rope_kv_store::RopeKvStore;
use super::{AtomicWords, Reference, WorkSize};
use crate::KernelFactory;
use roci_families::{LmDecodeAttention, LmRopeKvStore};
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_decode_attention_f16", |level| Arc::new(ReferenceKernel::<DecodeAttention<false>>::new(level))),
    ("lm_decode_attention_q8", |level| Arc::new(ReferenceKernel::<DecodeAttention<true>>::new(level))),
    ("lm_decode_attention4_f16", |level| Arc::new(ReferenceKernel::<DecodeAttention<false>>::new(level))),
    ("lm_decode_attention4_q8", |level| Arc::new(ReferenceKernel::<DecodeAttention<true>>::new(level))),
    ("lm_decode_attention_subgroups_64", |level| Arc::new(ReferenceKernel::<DecodeAttention<false>>::new(level))),
    ("lm_decode_attention_subgroups_128", |level| Arc::new(ReferenceKernel::<DecodeAttention<false>>::new(level))),
];

/// `BYTES` selects the q8_0 KV cache, otherwise it is f16.
pub(crate) struct DecodeAttention<const BYTES: bool>;

impl<const BYTES: bool> Reference for DecodeAttention<BYTES> {
    type Params = LmDecodeAttention;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 3;

    fn work_size(p: &LmDecodeAttention) -> Result<WorkSize, String> {
        RopeKvStore::<BYTES>::work_size(&p.heads())?;
        Attention::<BYTES>::work_size(&p.attention())?;
        Ok(WorkSize { units: 1, cost: 1 })
    }

    fn compute(level: Level, p: &LmDecodeAttention, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], _: Range<usize>) {
        let all = |work_size: Result<WorkSize, String>| 0..work_size.map_or(0, |work_size| work_size.units as usize);
        let (parts, stride) = (p.parts.max(1) as usize, p.stride as usize);
        // Sums of the partial sums of each row.
        let element = |token: usize, at: usize| -> f32 {
            let rows = token * parts..(token + 1) * parts;
            rows.map(|row| inputs[3].get(row * stride + at).map_or(0.0, |word| f32::from_bits(*word))).sum()
        };
        let row = |token: usize| (0..stride).map(move |at| element(token, at).to_bits());
        let qkv: Vec<AtomicU32> = (0..p.tokens as usize).flat_map(row).map(AtomicU32::new).collect();
        let heads = p.heads();
        let targets = [AtomicWords(&qkv), outputs[0], outputs[1]];
        let sources = [inputs[0], inputs[1], inputs[2], &[]];
        RopeKvStore::<BYTES>::compute(level, &heads, &sources, &targets, all(RopeKvStore::<BYTES>::work_size(&heads)));
        let [queries, keys, values] = targets.map(|cells| cells.words());
        let attention = p.attention();
        // The sinks follow the weights of the norms.
        let norms = match (p.flags & LmRopeKvStore::NORMS, p.flags & LmRopeKvStore::EACH_HEAD) {
            (0, _) => 0,
            (_, 0) => 2 * p.key_length as usize,
            _ => ((p.heads + p.kv_heads) * p.key_length) as usize,
        };
        let sources = [inputs[0], &queries, &keys, &values, inputs[1].get(norms..).unwrap_or(&[])];
        let units = all(Attention::<BYTES>::work_size(&attention));
        Attention::<BYTES>::compute(level, &attention, &sources, &outputs[2..], units);
    }
}
