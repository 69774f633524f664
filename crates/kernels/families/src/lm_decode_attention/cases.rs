//! Test cases of `lm_decode_attention`.

use super::LmDecodeAttention;
use crate::LmRopeKvStore;
use crate::cases::lm::{APPROXIMATE, cache, in_turn, inputs, quarters, whole};
use crate::cases::{Case, Element, Random, case, untouched, words};

/// One token of each of two sequences.
pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let bytes = kernel == "lm_decode_attention_q8";
    let mut make = |(heads, kv_heads): (u32, u32), length: u32, positions: [u32; 2], window: u32, flags: u32| {
        let params = LmDecodeAttention {
            tokens: 2,
            heads,
            kv_heads,
            key_length: length,
            value_length: length,
            pairs: length / 2 - length / 8,
            flags,
            stride: (heads + 2 * kv_heads) * length + 16,
            y_stride: heads * length + 1,
            page: 64,
            splits: 1,
            // Scores of integer inputs are large.
            scale: 1e-4,
            soft_cap: if window == 0 { 0.0 } else { 5.0 },
            window,
            epsilon: 1e-5,
            temperature_scale: 0.5,
            temperature_interval: if window == 0 { 0 } else { 64 },
            temperature_offset: 1,
            chunk: if heads == 5 { 50 } else { 0 },
        };
        let lines = (8 * params.page * kv_heads) as usize;
        let qkv = whole(random, 2 * params.stride);
        let (keys, values) = (cache(random, bytes, lines, length), cache(random, bytes, lines, length));
        let y = untouched((2 * params.y_stride) as usize);
        let inputs = inputs(&positions, 1, in_turn);
        // Weights of norms, then sinks.
        let norms = words(&random.floats(((heads + kv_heads) * length + heads.max(4)) as usize, -1.0, 1.0));
        let buffers = vec![inputs, norms, quarters(256, params.pairs), qkv, keys, values, y];
        let label =
            format!("{heads} heads of {kv_heads}, {length} long, at {positions:?}, window {window}, flags {flags}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    let each = LmRopeKvStore::NORMS | LmRopeKvStore::EACH_HEAD;
    vec![
        make((4, 2), 32, [0, 3], 0, 0),
        make((3, 1), 128, [127, 128], 0, 0),
        make((3, 1), 128, [63, 64], 0, 0),
        make((8, 1), 64, [200, 255], 100, LmRopeKvStore::INTERLEAVED),
        make((2, 2), 96, [63, 130], 0, 0),
        make((5, 1), 256, [7, 140], 6, 0),
        make((8, 2), 64, [2, 190], 0, LmRopeKvStore::SINKS),
        make((4, 2), 64, [2, 190], 0, LmRopeKvStore::NORMS | LmRopeKvStore::AFTER_ROPE | LmRopeKvStore::SINKS),
        make((4, 1), 64, [9, 150], 0, each | LmRopeKvStore::CENTERED),
        make((2, 1), 128, [9, 150], 0, each | LmRopeKvStore::SINKS),
        make((4, 2), 96, [3, 150], 0, LmRopeKvStore::NORMS | LmRopeKvStore::VALUE_NORMS),
        make((4, 2), 64, [1, 150], 70, LmRopeKvStore::NORMS | LmRopeKvStore::SHARED),
    ]
}
