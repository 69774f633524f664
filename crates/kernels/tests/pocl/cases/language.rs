//! Kernels of language models.
//!
//! A launch has one output that is compared as numbers; where a kernel has more, the others must be the same to the bit, and inputs are such that
//! nothing is rounded on the way to them.

use roci_kernels::params::{
    LmAttend, LmAttention, LmEmbed, LmGate, LmHalf, LmHeads, LmJoin, LmLinear, LmMix, LmNorm, LmRoute, LmSumNorm,
    WeightFormat,
};
use roci_testkit::Tolerance;

use super::{Case, Element, Random, case, halves, untouched, words};

const APPROXIMATE: Tolerance = Tolerance::Approximate;

/// The cases of a kernel, by its name without `lm_`.
pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    match kernel {
        "norm" => norm(random),
        "gate" => gate(random),
        "mix" => mix(random),
        "route" => route(random),
        "join" => join(random),
        one if one.starts_with("embed_") => embed(random, &format!("lm_{one}")),
        "half" => half(random),
        "sum_norm" => sum_norm(random),
        "attend_f16" | "attend_q8" => attend(random, kernel == "attend_q8"),
        "heads_f16" | "heads_q8" => heads(random, kernel == "heads_q8"),
        "attention_f16" | "attention_q8" => attention(random, kernel == "attention_q8"),
        "flash_64" | "flash_128" => flash(random, if kernel == "flash_64" { 64 } else { 128 }),
        _ => linear(random, kernel),
    }
}

fn format_of(kernel: &str) -> Option<(WeightFormat, u32)> {
    let (form, name) = kernel.split_once('_')?;
    let format = WeightFormat::ALL.into_iter().find(|format| format.name() == name)?;
    Some((format, if form == "matvec4" { 4 } else { 1 }))
}

/// Codes and scales of so many groups.
fn weights(random: &mut Random, format: WeightFormat, groups: usize) -> (Vec<u32>, Vec<u32>) {
    let count = groups * format.code_bytes() / 4;
    let codes = match format {
        WeightFormat::F32 => words(&random.floats(count, -1.0, 1.0)),
        WeightFormat::F16 => halves(&random.floats(2 * count, -1.0, 1.0)),
        WeightFormat::Bf16 => {
            let upper = words(&random.floats(2 * count, -1.0, 1.0));
            upper.chunks(2).map(|two| two[0] >> 16 | two[1] & 0xffff_0000).collect()
        }
        _ => (0..count).map(|_| random.word()).collect(),
    };
    let scales = format.scale_bytes(groups).div_ceil(4);
    let scales = match format {
        WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => vec![0; 4],
        WeightFormat::Q4Curve | WeightFormat::Q4Float | WeightFormat::Q8Wide => {
            words(&random.floats(scales, -0.01, 0.01))
        }
        WeightFormat::Q4Super => (0..scales)
            .map(|at| match at % 5 {
                0 => halves(&random.floats(2, 0.0, 0.001))[0],
                _ => random.word() & 0x3f3f_3f3f,
            })
            .collect(),
        _ => halves(&random.floats(2 * scales, -0.01, 0.01)),
    };
    (codes, scales)
}

fn linear(random: &mut Random, kernel: &str) -> Vec<Case> {
    let Some((format, together)) = format_of(kernel) else { return Vec::new() };
    let matrix = kernel.starts_with("matrix");
    let bytes = kernel.starts_with("dot_");
    let vector = kernel.starts_with("matvec_") || bytes;
    let all = [
        (1, 32, 1, 0),
        (8, 64, 1, LmLinear::BIAS),
        (13, 96, 3, LmLinear::ADD),
        (66, 1056, 5, LmLinear::ADD | LmLinear::BIAS),
        (10, 3200, 2, LmLinear::SILU),
        (70, 64, 67, LmLinear::GELU | LmLinear::BIAS),
        (9, 4096, 1, LmLinear::NORM),
        (12, 64, 1, LmLinear::NORM | LmLinear::SILU),
    ];
    let normed = |flags: u32| flags & LmLinear::NORM != 0;
    let mut cases = Vec::new();
    for (rows, columns, tokens, flags) in all.into_iter().filter(|all| !normed(all.3) || vector) {
        let columns = if matrix { u32::next_multiple_of(columns, LmLinear::MATRIX_STEP) } else { columns };
        let (codes, scales) = weights(random, format, rows as usize * columns as usize / 32);
        let params = LmLinear {
            rows,
            columns,
            tokens,
            x_stride: columns + 32,
            y_stride: rows + 5,
            y_offset: 2,
            flags,
            experts: 0,
            sharing: 1,
            model_columns: columns - 3,
            epsilon: 1e-5,
        };
        let count = tokens * params.x_stride;
        // Each group of 32 becomes the same bytes on every device: a device that divides a little differently could round others otherwise.
        let x = match () {
            () if matrix => halves(&random.floats(count as usize, -1.0, 1.0)),
            () if bytes => scaled(whole(random, count), |group| 0.5f32.powi(7 + group % 5)),
            () => words(&random.floats(count as usize, -1.0, 1.0)),
        };
        let bias = words(&random.floats(rows as usize, -1.0, 1.0));
        let y = untouched((tokens * params.y_stride) as usize + 2);
        let norm = if bytes {
            scaled(words(&vec![1.0; columns as usize]), |group| 2f32.powi(group % 3))
        } else {
            words(&random.floats(columns as usize, 0.5, 1.5))
        };
        let label = format!("{rows} x {columns}, {tokens} tokens, flags {flags}");
        let (grid, buffers) = if vector {
            (params.vector_grid(1), vec![codes, scales, x, bias, vec![0; 4], norm, y])
        } else {
            let grid = match (matrix, together) {
                (true, _) => params.matrix_grid(),
                (false, 4) => params.vector_grid(4),
                (false, _) => params.tile_grid(),
            };
            (grid, vec![codes, scales, x, bias, y])
        };
        // Weights become 16-bit floats for matrix units, and now and then a device rounds one to the other side.
        let tolerance = if matrix { Tolerance::Half } else { APPROXIMATE };
        cases.push(Case { grid, ..case(params, buffers, Element::F32, tolerance, label) });
    }
    if matrix {
        // Columns in parts, each with a row of its own.
        let (rows, columns, tokens, parts) = (20, 320, 3, 3);
        let (codes, scales) = weights(random, format, rows as usize * columns as usize / 32);
        let params = LmLinear {
            rows,
            columns,
            tokens,
            x_stride: columns,
            y_stride: rows + 1,
            sharing: parts,
            ..LmLinear::default()
        };
        let x = halves(&random.floats((tokens * columns) as usize, -1.0, 1.0));
        let buffers = vec![codes, scales, x, vec![0; 4], untouched((tokens * parts * params.y_stride) as usize)];
        let grid = params.matrix_grid();
        cases.push(Case { grid, ..case(params, buffers, Element::F32, APPROXIMATE, "columns in parts".to_owned()) });
        // A tile that is whole goes another way than those at the borders.
        let (rows, columns, tokens) = (140, 64, 130);
        let (codes, scales) = weights(random, format, rows as usize * columns as usize / 32);
        let params = LmLinear {
            rows,
            columns,
            tokens,
            x_stride: columns,
            y_stride: rows + 3,
            y_offset: 2,
            sharing: 1,
            ..LmLinear::default()
        };
        let x = halves(&random.floats((tokens * columns) as usize, -1.0, 1.0));
        let y = untouched((tokens * params.y_stride) as usize + 2);
        let buffers = vec![codes, scales, x, vec![0; 4], y];
        let grid = params.matrix_grid();
        cases.push(Case { grid, ..case(params, buffers, Element::F32, Tolerance::Half, "a whole tile".to_owned()) });
        // Results as 16-bit floats.
        let (rows, columns, tokens) = (24, 64, 5);
        let (codes, scales) = weights(random, format, rows as usize * columns as usize / 32);
        let params = LmLinear {
            rows,
            columns,
            tokens,
            x_stride: columns,
            y_stride: rows / 4 + 1,
            y_offset: 1,
            flags: LmLinear::SILU | LmLinear::PACKED,
            sharing: 1,
            ..LmLinear::default()
        };
        let x = halves(&random.floats((tokens * columns) as usize, -1.0, 1.0));
        let buffers = vec![codes, scales, x, vec![0; 4], untouched((tokens * params.y_stride) as usize + 1)];
        let grid = params.matrix_grid();
        cases.push(Case { grid, ..case(params, buffers, Element::F16, Tolerance::Half, "packed".to_owned()) });
    }
    if vector {
        // Pairs of a token and one of three experts.
        let (rows, columns, tokens) = (10, 64, 6);
        let (codes, scales) = weights(random, format, 3 * rows as usize * columns as usize / 32);
        let params = LmLinear {
            rows,
            columns,
            tokens,
            x_stride: columns,
            y_stride: rows,
            experts: 3,
            sharing: 2,
            ..LmLinear::default()
        };
        let x = whole(random, tokens / 2 * columns);
        let buffers =
            vec![codes, scales, x, vec![0; 4], vec![2, 0, 1, 1, 0, 2], vec![0; 4], untouched((tokens * rows) as usize)];
        let grid = params.vector_grid(1);
        cases.push(Case { grid, ..case(params, buffers, Element::F32, APPROXIMATE, "experts".to_owned()) });
    }
    cases
}

fn norm(random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, flags: u32| {
        let params =
            LmNorm { rows, columns, x_stride: columns + 3, y_stride: columns + 1, epsilon: 1e-6, flags, first: 2 };
        let x = words(&random.floats((8 * params.x_stride) as usize, -2.0, 2.0));
        let weight = words(&random.floats(columns as usize, 0.5, 1.5));
        let buffers = vec![x, weight, vec![9, 9, 4, 0, 7, 1], untouched((rows * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{rows} x {columns}, flags {flags}"))
    };
    let mut cases = vec![make(1, 1, 0), make(3, 300, 0), make(4, 64, LmNorm::ADD), make(4, 257, LmNorm::CHOSEN)];
    cases.push(make(3, 17, LmNorm::CHOSEN | LmNorm::ADD).with_one_group());
    cases
}

fn gate(random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, width: u32, gelu: u32| {
        let params = LmGate { tokens, width, x_stride: 2 * width + 1, y_stride: width + 2, gelu };
        let x = words(&random.floats((tokens * params.x_stride) as usize, -6.0, 6.0));
        let buffers = vec![x, untouched((tokens * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{tokens} x {width}, gelu {gelu}"))
    };
    vec![make(1, 1, 0), make(3, 300, 0), make(2, 257, 1)]
}

fn mix(random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, columns: u32, used: u32, add: u32| {
        let params = LmMix { tokens, columns, used, x_stride: columns + 1, y_stride: columns + 2, add };
        let x = words(&random.floats((tokens * used * params.x_stride) as usize, -1.0, 1.0));
        let shares = words(&random.floats((tokens * used) as usize, 0.0, 1.0));
        let buffers = vec![x, shares, untouched((tokens * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{tokens} x {columns} of {used}, add {add}"))
    };
    vec![make(1, 1, 1, 0), make(3, 300, 2, 1), make(2, 257, 8, 0)]
}

fn route(random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, experts: u32, used: u32| {
        let params = LmRoute { tokens, experts, used, stride: experts + 1 };
        let x = words(&random.floats((tokens * params.stride) as usize, -3.0, 3.0));
        let pairs = (tokens * used) as usize;
        let buffers = vec![x, untouched(pairs), untouched(pairs)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{used} of {experts} for {tokens} tokens"))
    };
    vec![make(1, 4, 2), make(5, 128, 8), make(3, 65, 1).with_one_group()]
}

fn embed(random: &mut Random, kernel: &str) -> Vec<Case> {
    let Some(format) = WeightFormat::ALL.into_iter().find(|format| LmEmbed::kernel(*format) == Some(kernel)) else {
        return Vec::new();
    };
    let mut make = |tokens: u32, columns: u32, behind: u32| {
        let rows = 9;
        let (codes, scales) = weights(random, format, rows as usize * columns as usize / 32);
        let params = LmEmbed { tokens, columns, rows, first: 3, y_stride: columns + behind, factor: 0.5 };
        let inputs = [7; 3].into_iter().chain((0..tokens).map(|token| token * 5 % rows)).collect();
        let buffers = vec![inputs, codes, scales, untouched((tokens * params.y_stride) as usize)];
        case(params, buffers, Element::F32, Tolerance::Exact, format!("{tokens} x {columns}, {behind} behind them"))
    };
    vec![make(1, 32, 0), make(3, 96, 4), make(5, 1056, 32)]
}

fn half(random: &mut Random) -> Vec<Case> {
    let mut make = |words_of: u32| {
        let x = words(&random.floats(2 * words_of as usize, -70000.0, 70000.0));
        let buffers = vec![x, untouched(words_of as usize)];
        case(LmHalf { words: words_of }, buffers, Element::Word, Tolerance::Exact, format!("{words_of} words"))
    };
    vec![make(1), make(300), make(700).with_one_group()]
}

fn sum_norm(random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, used: u32| {
        let params = LmSumNorm { rows, columns, x_stride: columns + 4, used, part_stride: columns + 8, epsilon: 1e-5 };
        let parts = whole(random, (rows * used).max(1) * params.part_stride);
        let x = whole(random, rows * params.x_stride);
        let weight = words(&random.floats(columns as usize, 0.5, 1.5));
        let buffers = vec![parts, weight, x, untouched((rows * params.x_stride / 2) as usize)];
        case(params, buffers, Element::F16, Tolerance::Half, format!("{rows} x {columns}, {used} parts"))
    };
    vec![make(1, 4, 0), make(3, 64, 2), make(2, 1028, 5), make(2, 4100, 1), make(5, 320, 0)]
}

fn join(random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, heads: u32, value_length: u32, splits: u32| {
        let params = LmJoin { tokens, heads, value_length, splits, y_stride: heads * value_length + 3 };
        let x = words(&random.floats((tokens * heads * splits * (value_length + 2)) as usize, 0.1, 2.0));
        let buffers = vec![x, untouched((tokens * params.y_stride) as usize)];
        let label = format!("{splits} splits of {heads} heads, {value_length} long, {tokens} tokens");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![make(1, 1, 8, 2), make(3, 4, 128, 16), make(2, 3, 96, 5)]
}

/// Positions, then where each token's pages begin, blocks of so many tokens each, and the pages of two texts.
fn inputs(positions: &[u32], block: u32, text: impl Fn(u32) -> u32) -> Vec<u32> {
    let tokens = positions.len() as u32;
    let blocks = tokens.div_ceil(block);
    let tables = 2 * tokens + 2 * blocks;
    let mut inputs = positions.to_vec();
    inputs.extend((0..tokens).map(|token| tables + text(token) * 4));
    inputs.extend((0..blocks).flat_map(|at| [at * block, block.min(tokens - at * block)]));
    inputs.extend([3, 0, 5, 7, 1, 6, 2, 4]);
    inputs
}

/// Texts in turn.
fn in_turn(token: u32) -> u32 {
    token % 2
}

/// What is kept of so many lines.
fn cache(random: &mut Random, bytes: bool, lines: usize, length: u32) -> Vec<u32> {
    if !bytes {
        return halves(&random.floats(lines * length as usize, -1.0, 1.0));
    }
    let mut all = Vec::new();
    for _ in 0..lines {
        all.extend((0..length / 4).map(|_| random.word()));
        all.extend(words(&random.floats(length as usize / 32, 0.005, 0.01)));
    }
    all
}

/// Quarter turns of so many positions.
fn quarters(positions: u32, pairs: u32) -> Vec<u32> {
    let turn = |at: u32| [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][at as usize % 4];
    words(&(0..positions * pairs).flat_map(turn).collect::<Vec<f32>>())
}

/// Whole numbers, of which the greatest of each block makes its scale one: nothing is rounded, whatever is computed first.
fn whole(random: &mut Random, count: u32) -> Vec<u32> {
    let mut all: Vec<f32> = random.floats(count as usize, -9.0, 9.0).into_iter().map(f32::round).collect();
    (0..all.len()).step_by(16).for_each(|at| all[at] = 127.0);
    words(&all)
}

/// Numbers times a factor for each group of 32.
fn scaled(mut numbers: Vec<u32>, factor: impl Fn(i32) -> f32) -> Vec<u32> {
    for (number, at) in numbers.iter_mut().zip(0..) {
        *number = (f32::from_bits(*number) * factor(at / 32)).to_bits();
    }
    numbers
}

/// One token of either text.
fn attend(random: &mut Random, bytes: bool) -> Vec<Case> {
    let mut make = |(heads, kv_heads): (u32, u32), length: u32, positions: [u32; 2], window: u32, flags: u32| {
        let params = LmAttend {
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
            // Scores of whole numbers are large.
            scale: 1e-4,
            soft_cap: if window == 0 { 0.0 } else { 5.0 },
            window,
            epsilon: 1e-5,
        };
        let lines = (8 * params.page * kv_heads) as usize;
        let qkv = whole(random, 2 * params.stride);
        let (keys, values) = (cache(random, bytes, lines, length), cache(random, bytes, lines, length));
        let y = untouched((2 * params.y_stride) as usize);
        let inputs = inputs(&positions, 1, in_turn);
        let buffers = vec![inputs, vec![0; 4], quarters(256, params.pairs), qkv, keys, values, y];
        let label =
            format!("{heads} heads of {kv_heads}, {length} long, at {positions:?}, window {window}, flags {flags}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make((4, 2), 32, [0, 3], 0, 0),
        make((3, 1), 128, [127, 128], 0, 0),
        make((3, 1), 128, [63, 64], 0, 0),
        make((8, 1), 64, [200, 255], 100, LmHeads::NEIGHBOURS),
        make((2, 2), 96, [63, 130], 0, 0),
        make((5, 1), 256, [7, 140], 6, 0),
    ]
}

fn heads(random: &mut Random, bytes: bool) -> Vec<Case> {
    let mut make = |length: u32, flags: u32, used: u32| {
        // More than a workgroup takes, and fewer than two of them.
        let positions = [0, 5, 17, 9, 30, 2];
        let params = LmHeads {
            tokens: 6,
            heads: 4,
            kv_heads: 2,
            key_length: length,
            value_length: length,
            pairs: length / 2 - length / 8,
            flags,
            stride: 8 * length + 3,
            page: 8,
            epsilon: 0.0,
            used,
            part_stride: 8 * length + 16,
        };
        let qkv = whole(random, 6 * params.stride);
        let parts = whole(random, 6 * used.max(1) * params.part_stride);
        let rotations = quarters(32, params.pairs);
        let line = if bytes { length / 4 + length / 32 } else { length / 2 };
        let cache = (8 * 8 * 2 * line) as usize;
        let mut values = untouched(cache);
        // Words of bytes are no numbers that could be compared.
        values.fill(0);
        let inputs = inputs(&positions, 1, in_turn);
        let buffers = vec![inputs, vec![0; 4], rotations, parts, qkv, untouched(cache), values];
        case(
            params,
            buffers,
            Element::Word,
            Tolerance::Exact,
            format!("heads of {length}, flags {flags}, {used} parts"),
        )
    };
    vec![make(32, 0, 0), make(64, LmHeads::NEIGHBOURS, 3), make(128, 0, 0)]
}

/// Attention on matrix units: queries and weights of values are rounded to 16 bits.
fn flash(random: &mut Random, length: u32) -> Vec<Case> {
    let mut make = |heads: u32, kv_heads: u32, block: u32, window: u32, soft_cap: f32, scale: f32, packed: bool| {
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
        };
        let mut q = random.floats((tokens * params.q_stride) as usize, -1.0, 1.0);
        if scale > 1.0 {
            // Nothing is lost when they are rounded, which far apart scores would show.
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
            untouched((tokens * params.y_stride) as usize / if packed { 2 } else { 1 }),
        ];
        let label = format!(
            "{heads} heads of {kv_heads}, by {block}, window {window}, cap {soft_cap}, scale {scale}, packed {packed}"
        );
        let case = case(params, buffers, if packed { Element::F16 } else { Element::F32 }, Tolerance::Half, label);
        Case { grid: params.matrix_grid(), ..case }
    };
    vec![
        make(3, 1, 21, 0, 0.0, 0.125, true),
        make(4, 2, 32, 70, 0.0, 0.125, false),
        make(8, 2, 40, 0, 5.0, 0.125, false),
        // The greatest score grows from tile to tile.
        make(2, 1, 32, 0, 0.0, 12.0, false),
    ]
}

fn attention(random: &mut Random, bytes: bool) -> Vec<Case> {
    let mut make = |heads: u32, kv_heads: u32, length: u32, block: u32, window: u32, soft_cap: f32| {
        // Tokens of texts in turn, or of one text.
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
        };
        let q = words(&random.floats((tokens * params.q_stride) as usize, -1.0, 1.0));
        let lines = (8 * params.page * kv_heads) as usize;
        let (keys, values) = (cache(random, bytes, lines, length), cache(random, bytes, lines, length));
        let y = untouched((tokens * params.y_stride) as usize);
        let inputs = inputs(&positions, block, |token| if block == 1 { in_turn(token) } else { 1 });
        let buffers = vec![inputs, q, keys, values, y];
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
