//! Test cases of `lm_linear`.

use super::{LmLinear, expert_cases};
use roci_tolerance::Tolerance;

use crate::WeightFormat;
use crate::cases::lm::{APPROXIMATE, scaled, weights, whole};
use crate::cases::{Case, Element, Random, case, halves, untouched, words};

fn format_of(kernel: &str) -> Option<(WeightFormat, u32)> {
    let is_of = |format: &WeightFormat| kernel.strip_suffix(format.name()).is_some_and(|form| form.ends_with('_'));
    let format = WeightFormat::ALL.into_iter().find(is_of)?;
    Some((format, if kernel.starts_with("matvec4_") { 4 } else { 1 }))
}

/// Groups of activations as `lm_quantize_i8` writes them.
pub(super) fn quantized(random: &mut Random, groups: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for scale in random.floats(groups as usize, 0.001, 0.01) {
        let codes: Vec<u32> = (0..8).map(|_| random.word()).collect();
        let sum = |words: &[u32]| -> i32 {
            words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| i32::from(byte.cast_signed())).sum()
        };
        let [low, high] = [&codes[..4], &codes[4..]].map(|half| scale * sum(half) as f32);
        all.extend(&codes);
        all.extend([scale.to_bits(), low.to_bits(), high.to_bits(), 0]);
    }
    all
}

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let kernel = kernel.strip_prefix("lm_").unwrap_or(kernel);
    let Some((format, together)) = format_of(kernel) else { return Vec::new() };
    let tile = match kernel {
        _ if kernel.starts_with("matmul_coopmat16_") => Some(LmLinear::COOPMAT16_TILE),
        _ if kernel.starts_with("matmul_coopmat32_") => Some(LmLinear::coopmat32_tile(format)),
        _ => None,
    };
    let small = tile.is_some();
    let matrix = kernel.starts_with("matmul_coopmat_") || small;
    let matrix_grid = |params: &LmLinear| match tile {
        Some(tile) => params.small_coopmat_grid(tile),
        None => params.coopmat_grid(),
    };
    // Weights are rounded to f16 for matrix units, and devices may round ties differently. Scales
    // are rounded too in small tiles, and in large ones if codes are decoded to bytes.
    let halves_tolerance = match format {
        _ if small => Tolerance::HalfLayers,
        _ if format.is_compact() => Tolerance::HalfSums,
        _ => Tolerance::Half,
    };
    let bytes = kernel.starts_with("matvec_i8_");
    let eight = kernel.starts_with("matvec8_i8_");
    let vector = kernel.starts_with("matvec_") || bytes;
    let all = [
        (1, 32, 1, 0),
        (8, 64, 1, LmLinear::BIAS),
        (13, 96, 3, LmLinear::ADD),
        (66, 1056, 5, LmLinear::ADD | LmLinear::BIAS | if eight { LmLinear::TEAMS } else { 0 }),
        (10, if small { 640 } else { 3200 }, 2, LmLinear::SILU | if eight { 2 * LmLinear::TEAMS } else { 0 }),
        (70, 64, 67, LmLinear::GELU | LmLinear::BIAS),
        (9, 4096, 1, LmLinear::NORM),
        (12, 64, 1, LmLinear::NORM | LmLinear::SILU),
    ];
    let normed = |flags: u32| flags & LmLinear::NORM != 0;
    let mut cases = Vec::new();
    for (rows, columns, tokens, flags) in all.into_iter().filter(|all| !normed(all.3) || vector) {
        let columns = if matrix && !small { u32::next_multiple_of(columns, LmLinear::COOPMAT_STEP) } else { columns };
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
        // Inputs whose quantization is exact: devices that divide slightly differently could
        // otherwise round a value to another byte.
        let x = match () {
            () if matrix => halves(&random.floats(count as usize, -1.0, 1.0)),
            () if eight => quantized(random, tokens * columns / 32),
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
                (true, _) => matrix_grid(&params),
                (false, 4) => params.vector_grid(4),
                (false, _) if eight => params.vector8_grid(),
                (false, _) => params.tile_grid(),
            };
            (grid, batch_buffers(kernel, [codes, scales, x, bias], y))
        };
        let tolerance = if matrix { halves_tolerance } else { APPROXIMATE };
        cases.push(Case { grid, ..case(params, buffers, Element::F32, tolerance, label) });
    }
    if matrix {
        // Columns split into parts, each with its own output row. A part may have no columns.
        for (rows, columns, tokens, parts) in [(20, 320, 3, 3), (70, 192, 18, 3)] {
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
            let y = untouched((tokens * parts * params.y_stride) as usize);
            let buffers = batch_buffers(kernel, [codes, scales, x, vec![0; 4]], y);
            let grid = matrix_grid(&params);
            let label = format!("{columns} columns in {parts} parts");
            cases.push(Case { grid, ..case(params, buffers, Element::F32, halves_tolerance, label) });
        }
        // A whole tile takes a different code path than a partial one.
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
        let buffers = batch_buffers(kernel, [codes, scales, x, vec![0; 4]], y);
        let grid = matrix_grid(&params);
        cases.push(Case { grid, ..case(params, buffers, Element::F32, halves_tolerance, "a whole tile".to_owned()) });
        // f16 results.
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
        let y = untouched((tokens * params.y_stride) as usize + 1);
        let buffers = batch_buffers(kernel, [codes, scales, x, vec![0; 4]], y);
        let grid = matrix_grid(&params);
        cases.push(Case { grid, ..case(params, buffers, Element::F16, halves_tolerance, "packed".to_owned()) });
    }
    cases.extend(expert_cases::of(kernel, format, random));
    if vector {
        cases.extend(
            [0, LmLinear::BIAS, LmLinear::SWIGLU_OAI | LmLinear::BIAS].map(|flags| experts(random, format, flags)),
        );
    }
    cases
}

/// The buffers of a product without experts. Kernels with large tiles have no binding for tiles with
/// experts, nor has `lm_matvec4_*`.
fn batch_buffers(kernel: &str, inputs: [Vec<u32>; 4], y: Vec<u32>) -> Vec<Vec<u32>> {
    let mut buffers = Vec::from(inputs);
    if !kernel.starts_with("matvec4_") && !kernel.starts_with("matmul_coopmat_") {
        buffers.push(vec![0; 4]);
    }
    buffers.push(y);
    buffers
}

/// Pairs of a token and one of three experts.
fn experts(random: &mut Random, format: WeightFormat, flags: u32) -> Case {
    let (rows, columns, tokens) = (10, 64, 6);
    let (codes, scales) = weights(random, format, 3 * rows as usize * columns as usize / 32);
    let params = LmLinear {
        rows,
        columns,
        tokens,
        x_stride: columns,
        y_stride: rows,
        flags,
        experts: 3,
        sharing: 2,
        ..LmLinear::default()
    };
    let x = whole(random, tokens / 2 * columns);
    let bias = words(&random.floats(3 * rows as usize, -1.0, 1.0));
    let experts = vec![2, 0, 1, 1, 0, 2];
    let buffers = vec![codes, scales, x, bias, experts, vec![0; 4], untouched((tokens * rows) as usize)];
    let grid = params.vector_grid(1);
    Case { grid, ..case(params, buffers, Element::F32, APPROXIMATE, format!("experts, flags {flags}")) }
}
