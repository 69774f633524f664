//! Test cases of `lm_decode_attention`.

use roci_tolerance::Tolerance;

use super::LmDecodeAttention;
use crate::LmRopeKvStore;
use crate::cases::lm::{APPROXIMATE, cache, in_turn, inputs, quarters, whole};
use crate::cases::{Case, Element, Random, case, untouched, words};

/// One token of each of two sequences.
pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let bytes = kernel.ends_with("_q8");
    let base = |(heads, kv_heads): (u32, u32), length: u32| LmDecodeAttention {
        tokens: 2,
        heads,
        kv_heads,
        key_length: length,
        value_length: length,
        pairs: length / 2 - length / 8,
        stride: (heads + 2 * kv_heads) * length + 16,
        y_stride: heads * length + 1,
        page: 64,
        splits: 1,
        // Scores of integer inputs are large.
        scale: 1e-4,
        epsilon: 1e-5,
        parts: 1,
        temperature_scale: 0.5,
        temperature_offset: 1,
        ..LmDecodeAttention::default()
    };
    let mut make = |params: LmDecodeAttention, positions: [u32; 2]| {
        let LmDecodeAttention { heads, kv_heads, key_length: length, window, flags, .. } = params;
        let lines = (8 * params.page * kv_heads) as usize;
        let qkv = in_parts(whole(random, 2 * params.stride), &params, random);
        let mut keys = cache(random, bytes, lines, length);
        let mut values = cache(random, bytes, lines, length);
        if positions[0] < params.page {
            // Page 0 is in use from the second page of the first sequence on. Before, it may contain
            // anything.
            for cache in [&mut keys, &mut values] {
                cache[..(kv_heads * length / 4) as usize].fill(u32::MAX);
            }
        }
        let packed = params.packed != 0;
        let y = untouched((2 * params.y_stride) as usize / if packed { 2 } else { 1 });
        let inputs = inputs(&positions, 1, in_turn);
        // Weights of norms, followed by sinks.
        let norms = words(&random.floats(((heads + kv_heads) * length + heads.max(4)) as usize, -1.0, 1.0));
        let buffers = vec![inputs, norms, quarters(256, params.pairs), qkv, keys, values, y];
        let label = format!(
            "{heads} heads of {kv_heads}, {length} long, at {positions:?}, window {window}, flags {flags}, {} parts{}",
            params.parts,
            if packed { ", packed" } else { "" },
        );
        let (element, tolerance) = if packed { (Element::F16, Tolerance::Half) } else { (Element::F32, APPROXIMATE) };
        case(params, buffers, element, tolerance, label)
    };
    let window = |window: u32, params: LmDecodeAttention| LmDecodeAttention {
        window,
        soft_cap: 5.0,
        temperature_interval: 64,
        ..params
    };
    let flags = |flags: u32, params: LmDecodeAttention| LmDecodeAttention { flags, ..params };
    let each = LmRopeKvStore::NORMS | LmRopeKvStore::EACH_HEAD;
    let after = LmRopeKvStore::NORMS | LmRopeKvStore::AFTER_ROPE | LmRopeKvStore::SINKS;
    let all = [
        (base((4, 2), 32), [0, 3]),
        (base((3, 1), 128), [127, 128]),
        (base((3, 1), 128), [63, 64]),
        (window(100, flags(LmRopeKvStore::INTERLEAVED, base((8, 1), 64))), [200, 255]),
        (base((2, 2), 96), [63, 130]),
        (LmDecodeAttention { chunk: 50, ..window(6, base((5, 1), 256)) }, [7, 140]),
        (flags(LmRopeKvStore::SINKS, base((8, 2), 64)), [2, 190]),
        (flags(after, base((4, 2), 64)), [2, 190]),
        (flags(each | LmRopeKvStore::CENTERED, base((4, 1), 64)), [9, 150]),
        (flags(each | LmRopeKvStore::SINKS, base((2, 1), 128)), [9, 150]),
        (LmDecodeAttention { parts: 3, ..base((4, 2), 64) }, [63, 70]),
        (LmDecodeAttention { packed: 1, y_stride: 4 * 64 + 2, ..base((4, 2), 64) }, [63, 64]),
        (flags(LmRopeKvStore::NORMS | LmRopeKvStore::VALUE_NORMS, base((4, 2), 96)), [3, 150]),
        // Norms of keys keep the weight of the new value small: the native twin reads it from the cache,
        // where it is rounded to 16 bits.
        (
            LmDecodeAttention {
                parts: 2,
                ..flags(LmRopeKvStore::NORMS | LmRopeKvStore::VALUE_NORMS, base((4, 2), 64))
            },
            [3, 70],
        ),
        (window(70, flags(LmRopeKvStore::NORMS | LmRopeKvStore::SHARED, base((4, 2), 64))), [1, 150]),
    ];
    // Norms are rounded, and bytes of the cache must be equal.
    let exact = |params: &LmDecodeAttention| !bytes || params.flags & LmRopeKvStore::NORMS == 0;
    all.into_iter().filter(|(params, _)| exact(params)).map(|(params, positions)| make(params, positions)).collect()
}

/// Splits each row into parts that add up to it. All are integers, so the sums are exact.
fn in_parts(rows: Vec<u32>, params: &LmDecodeAttention, random: &mut Random) -> Vec<u32> {
    let mut all = Vec::new();
    for row in rows.chunks_exact(params.stride as usize) {
        let others: Vec<Vec<u32>> = (1..params.parts).map(|_| whole(random, params.stride)).collect();
        let sum = |at: usize| others.iter().map(|other| f32::from_bits(other[at])).sum::<f32>();
        all.extend(row.iter().enumerate().map(|(at, word)| (f32::from_bits(*word) - sum(at)).to_bits()));
        all.extend(others.concat());
    }
    all
}
