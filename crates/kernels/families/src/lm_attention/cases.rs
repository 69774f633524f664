//! Test cases of `lm_attention`.

use roci_tolerance::Tolerance;

use crate::LmAttention;
use crate::cases::lm::{APPROXIMATE, cache, in_turn, inputs};
use crate::cases::{Case, Element, Random, case, untouched, words};

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    match kernel {
        "lm_flash_attention_64" => flash(random, 64),
        "lm_flash_attention_128" => flash(random, 128),
        _ => {
            let bytes = kernel == "lm_attention_q8";
            [paged(random, bytes), both_ways(random, bytes), latents(random, bytes)].concat()
        }
    }
}

/// Values that are the ends of keys, of the longest size and of a short one.
fn latents(random: &mut Random, bytes: bool) -> Vec<Case> {
    let mut make = |heads: u32, key_length: u32, value_length: u32, block: u32| {
        let positions: Vec<u32> = (70..74).collect();
        let tokens = positions.len() as u32;
        let params = LmAttention {
            tokens,
            blocks: tokens.div_ceil(block),
            block,
            heads,
            kv_heads: 1,
            key_length,
            value_length,
            q_stride: heads * key_length,
            y_stride: heads * value_length,
            page: 64,
            splits: 1,
            scale: 0.125,
            values_in_keys: 1,
            ..LmAttention::default()
        };
        let q = words(&random.floats((tokens * params.q_stride) as usize, -1.0, 1.0));
        let keys = cache(random, bytes, (8 * params.page) as usize, key_length);
        let inputs = inputs(&positions, block, |_| 1);
        let y = untouched((tokens * params.y_stride) as usize);
        let buffers = vec![inputs, q, keys.clone(), keys, vec![0; 4], y];
        let label = format!("{heads} heads, latents of {value_length} in keys of {key_length}, by {block}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![make(6, 576, 512, 1), make(4, 96, 64, 4)]
}

/// Non-causal attention: every token attends to the whole sequence.
fn both_ways(random: &mut Random, bytes: bool) -> Vec<Case> {
    let mut make = |heads: u32, length: u32, block: u32, window: u32, max_bias: f32| {
        let tokens = 90;
        let mut params = LmAttention {
            tokens,
            blocks: tokens.div_ceil(block),
            block,
            heads,
            kv_heads: heads,
            key_length: length,
            value_length: length,
            q_stride: 3 * heads * length,
            y_stride: heads * length,
            page: 64,
            splits: 1,
            scale: 0.125,
            window,
            after: window.saturating_sub(1),
            ..LmAttention::default()
        };
        if max_bias > 0.0 {
            params.alibi_heads = 1 << heads.ilog2();
            params.alibi = max_bias / params.alibi_heads as f32;
        }
        let q = words(&random.floats((tokens * params.q_stride) as usize, -1.0, 1.0));
        let lines = (8 * params.page * heads) as usize;
        let (keys, values) = (cache(random, bytes, lines, length), cache(random, bytes, lines, length));
        // All tokens attend to the last one; their own positions follow the other inputs.
        let mut inputs = inputs(&vec![tokens - 1; tokens as usize], block, |_| 1);
        params.own = inputs.len() as u32;
        inputs.extend(0..tokens);
        let buffers = vec![inputs, q, keys, values, vec![0; 4], untouched((tokens * params.y_stride) as usize)];
        let label = format!("both ways, {heads} heads, {length} long, window {window}, ALiBi {max_bias}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![make(4, 32, 16, 0, 0.0), make(2, 64, 16, 9, 0.0), make(6, 32, 16, 0, 8.0), make(2, 256, 8, 40, 4.0)]
}

/// Attention on matrix units, which rounds queries and attention weights to f16.
fn flash(random: &mut Random, length: u32) -> Vec<Case> {
    let mut make = |heads: u32, kv_heads: u32, block: u32, window: u32, soft_cap: f32, scale: f32, packed: bool| {
        // Sinks above and below the scores, in the cases with a window.
        let sinks = words(&random.floats(heads.max(4) as usize, -1.0, 2.0));
        let positions: Vec<u32> = (90..130).collect();
        let tokens = positions.len() as u32;
        let params = LmAttention {
            tokens,
            blocks: tokens.div_ceil(block),
            block,
            heads,
            kv_heads,
            key_length: length,
            value_length: length,
            q_stride: heads * length + 7,
            y_stride: heads * length + if packed { 8 } else { 1 },
            page: 64,
            splits: 1,
            scale,
            soft_cap,
            window,
            packed: u32::from(packed),
            sinks: u32::from(window > 0),
            chunk: if block == 40 { 100 } else { 0 },
            ..LmAttention::default()
        };
        let mut q = random.floats((tokens * params.q_stride) as usize, -1.0, 1.0);
        if scale > 1.0 {
            // Rounding these values to f16 is exact; widely spread scores would amplify an error.
            q.iter_mut().for_each(|q| *q = (*q * 8.0).round() / 8.0);
        }
        let q = words(&q);
        let lines = (8 * params.page * kv_heads) as usize;
        let (keys, values) = (cache(random, false, lines, length), cache(random, false, lines, length));
        let buffers = vec![
            inputs(&positions, block, |_| 1),
            q,
            keys,
            values,
            sinks,
            untouched((tokens * params.y_stride) as usize / if packed { 2 } else { 1 }),
        ];
        let label = format!(
            "{heads} heads of {kv_heads}, by {block}, window {window}, cap {soft_cap}, scale {scale}, packed {packed}"
        );
        let case = case(params, buffers, if packed { Element::F16 } else { Element::F32 }, Tolerance::Half, label);
        Case { grid: params.coopmat_grid(), ..case }
    };
    vec![
        make(3, 1, 21, 0, 0.0, 0.125, true),
        make(4, 2, 32, 70, 0.0, 0.125, false),
        make(8, 2, 40, 0, 5.0, 0.125, false),
        // The maximum score grows from tile to tile.
        make(2, 1, 32, 0, 0.0, 12.0, false),
    ]
}

fn paged(random: &mut Random, bytes: bool) -> Vec<Case> {
    let mut make = |heads: u32, kv_heads: u32, length: u32, block: u32, window: u32, soft_cap: f32| {
        let sinks = words(&random.floats(heads.max(4) as usize, -1.0, 4.0));
        // Tokens of alternating sequences, or of one sequence.
        let positions = if block == 1 { vec![0, 5, 170, 63, 255, 64] } else { (120..133).collect() };
        let tokens = positions.len() as u32;
        let params = LmAttention {
            tokens,
            blocks: tokens.div_ceil(block),
            block,
            heads,
            kv_heads,
            key_length: length,
            value_length: length,
            q_stride: heads * length + 7,
            y_stride: heads * length + 1,
            page: 64,
            splits: 1,
            scale: 0.125,
            soft_cap,
            window,
            packed: 0,
            sinks: u32::from(window > 0 || block == 8),
            chunk: if block == 2 || heads == 12 { 63 } else { 0 },
            ..LmAttention::default()
        };
        let q = words(&random.floats((tokens * params.q_stride) as usize, -1.0, 1.0));
        let lines = (8 * params.page * kv_heads) as usize;
        let (keys, values) = (cache(random, bytes, lines, length), cache(random, bytes, lines, length));
        let y = untouched((tokens * params.y_stride) as usize);
        let inputs = inputs(&positions, block, |token| if block == 1 { in_turn(token) } else { 1 });
        let buffers = vec![inputs, q, keys, values, sinks, y];
        let label = format!("{heads} heads of {kv_heads}, {length} long, by {block}, window {window}, cap {soft_cap}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(4, 2, 32, 1, 0, 0.0),
        make(3, 1, 128, 5, 60, 0.0),
        make(12, 1, 64, 1, 0, 5.0),
        make(2, 2, 96, 8, 0, 0.0),
        make(2, 1, 256, 4, 70, 0.0),
        make(6, 1, 512, 2, 0, 0.0),
    ]
}
