//! Cases of batches with images, made from cases without them.

use super::Case;
use crate::{LmAttention, LmDecodeAttention, LmRopeKvStore};

/// The case with a rotary position for each of three sections of pairs. `rows` is the number of
/// rows of the table of rotations.
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

/// A case of attention of one sequence, where the tokens in the middle see each other; `None` for
/// a case of several sequences.
pub(crate) fn visible_ends(case: &Case) -> Option<Case> {
    let params: LmAttention = bytemuck::pod_read_unaligned(&case.constants);
    if params.block == 1 {
        return None;
    }
    let mut buffers = case.buffers.clone();
    let tokens = params.tokens as usize;
    let (first, last) = (tokens / 4, 3 * tokens / 4);
    let offset = buffers[0].len() as u32;
    let positions = buffers[0][..tokens].to_vec();
    let end =
        |(token, position): (usize, &u32)| if (first..=last).contains(&token) { positions[last] } else { *position };
    buffers[0].extend(positions.iter().enumerate().map(end));
    let packed = params.packed | offset << LmAttention::OFFSET_SHIFT;
    let constants = bytemuck::bytes_of(&LmAttention { packed, ..params }).to_vec();
    Some(Case { label: format!("{}, some see later tokens", case.label), constants, buffers, ..case.clone() })
}
