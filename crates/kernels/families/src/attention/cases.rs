//! Test cases of `attention`.

use super::Attention;
use roci_tolerance::Tolerance;

use crate::Params as _;
use crate::cases::{Case, Element, Random, case, untouched, words};

/// Batches, heads, heads per key head, rows, keys, key size, value size.
type Sizes = [u32; 7];

pub(super) fn of(_: &str, random: &mut Random) -> Vec<Case> {
    const MASKED: u32 = Attention::MASK;
    const CAUSAL: u32 = Attention::CAUSAL;
    const STRICT: u32 = Attention::STRICT;
    let problems: [(Sizes, u32); 11] = [
        ([1, 1, 1, 1, 1, 1, 1], 0),
        ([1, 1, 1, 32, 64, 16, 64], 0),
        ([2, 3, 1, 33, 65, 17, 65], MASKED),
        ([1, 4, 2, 5, 130, 32, 32], CAUSAL),
        ([2, 2, 2, 40, 7, 5, 3], CAUSAL | MASKED),
        ([1, 1, 1, 3, 200, 128, 128], MASKED | STRICT),
        ([1, 2, 1, 4, 20, 3, 256], 0),
        ([1, 1, 1, 2, 9, 300, 130], STRICT),
        ([1, 2, 1, 0, 9, 4, 4], 0),
        ([0, 2, 1, 3, 9, 4, 4], 0),
        ([1, 1, 1, 70, 70, 8, 1], CAUSAL | MASKED | STRICT),
    ];
    let mut make = |([batch, heads, gqa_ratio, rows, keys, size, width], flags): (Sizes, u32)| {
        let groups = heads / gqa_ratio;
        // Heads within rows, as a linear layer writes them; the result has heads before rows.
        let within = |heads: u32, count: u32, size: u32| [count * heads * size, size, heads * size];
        let q = random.floats((batch * rows * heads * size) as usize, -2.0, 2.0);
        let k = random.floats((batch * keys * groups * size) as usize, -2.0, 2.0);
        let v = random.floats((batch * keys * groups * width) as usize, -1.0, 1.0);
        let mut mask = random.floats((batch * rows * keys) as usize, -3.0, 3.0);
        mask.iter_mut().step_by(3).for_each(|one| *one = f32::NEG_INFINITY);
        // The first row is fully masked.
        mask.iter_mut().take(keys as usize).for_each(|one| *one = f32::NEG_INFINITY);
        let params = Attention {
            batch,
            heads,
            gqa_ratio,
            rows,
            keys,
            size,
            width,
            past: 3,
            q: within(heads, rows, size),
            k: within(groups, keys, size),
            v: within(groups, keys, width),
            y: [heads * rows * width, rows * width, width],
            mask: if flags & MASKED == 0 { [0; 4] } else { [rows * keys, 0, keys, 1] },
            scale: 1.0 / (size as f32).sqrt(),
            flags,
        };
        let output = untouched((batch * heads * rows * width) as usize);
        let buffers = vec![words(&q), words(&k), words(&v), words(&mask), output];
        let label = format!("{rows} rows, {keys} keys of {size} for {width}, {batch} x {heads} heads, flags {flags}");
        Case { grid: params.grid(), ..case(params, buffers, Element::F32, Tolerance::Approximate, label) }
    };
    problems.into_iter().map(&mut make).collect()
}
