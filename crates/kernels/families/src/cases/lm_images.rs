//! Cases of batches with images, derived from cases without images.

use super::Case;
use crate::{LmDecodeAttention, LmRopeKvStore};

/// The case with a rotary position for each of three sections of pairs. `rows` is the number of
/// rows of the rotation table.
fn sections(case: &Case, tokens: u32, pairs: u32, rows: u32, set: impl FnOnce(u32) -> Vec<u8>) -> Case {
    let mut buffers = case.buffers.clone();
    let offset = buffers[0].len() as u32;
    buffers[0].extend((0..pairs).map(|pair| pair * 5 % 3));
    buffers[0].extend((0..3).flat_map(|section| (0..tokens).map(move |token| (7 * token + 5 * section) % rows)));
    let constants = set(offset << LmRopeKvStore::OFFSET_SHIFT);
    Case { label: format!("{}, three positions", case.label), constants, buffers, ..case.clone() }
}

/// Cases of `lm_rope_kv_store_*` with three rotary positions.
pub(crate) fn rope_sections(case: &Case) -> Case {
    let params: LmRopeKvStore = bytemuck::pod_read_unaligned(&case.constants);
    sections(case, params.tokens, params.pairs, 32, |offset| {
        bytemuck::bytes_of(&LmRopeKvStore { flags: params.flags | offset, ..params }).to_vec()
    })
}

/// Cases of `lm_decode_attention_*` with three rotary positions.
pub(crate) fn decode_sections(case: &Case) -> Case {
    let params: LmDecodeAttention = bytemuck::pod_read_unaligned(&case.constants);
    sections(case, params.tokens, params.pairs, 256, |offset| {
        bytemuck::bytes_of(&LmDecodeAttention { flags: params.flags | offset, ..params }).to_vec()
    })
}
