//! Test cases of `lm_linear`.

use super::LmLinear;
use roci_tolerance::Tolerance;

use crate::WeightFormat;
use crate::cases::lm::{APPROXIMATE, scaled, weights, whole};
use crate::cases::{Case, Element, Random, case, halves, untouched, words};

fn format_of(kernel: &str) -> Option<(WeightFormat, u32)> {
    let is_of = |format: &WeightFormat| kernel.strip_suffix(format.name()).is_some_and(|form| form.ends_with('_'));
    let format = WeightFormat::ALL.into_iter().find(is_of)?;
    Some((format, if kernel.starts_with("matvec4_") { 4 } else { 1 }))
}

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let kernel = kernel.strip_prefix("lm_").unwrap_or(kernel);
    let Some((format, together)) = format_of(kernel) else { return Vec::new() };
    let matrix = kernel.starts_with("matmul_coopmat_");
    let bytes = kernel.starts_with("matvec_i8_");
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
        let columns = if matrix { u32::next_multiple_of(columns, LmLinear::COOPMAT_STEP) } else { columns };
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
                (true, _) => params.coopmat_grid(),
                (false, 4) => params.vector_grid(4),
                (false, _) => params.tile_grid(),
            };
            (grid, vec![codes, scales, x, bias, y])
        };
        // Weights are rounded to f16 for matrix units, and devices may round ties differently.
        let tolerance = if matrix { Tolerance::Half } else { APPROXIMATE };
        cases.push(Case { grid, ..case(params, buffers, Element::F32, tolerance, label) });
    }
    if matrix {
        // Columns split into parts, each with its own output row.
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
        let grid = params.coopmat_grid();
        cases.push(Case { grid, ..case(params, buffers, Element::F32, APPROXIMATE, "columns in parts".to_owned()) });
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
        let buffers = vec![codes, scales, x, vec![0; 4], y];
        let grid = params.coopmat_grid();
        cases.push(Case { grid, ..case(params, buffers, Element::F32, Tolerance::Half, "a whole tile".to_owned()) });
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
        let buffers = vec![codes, scales, x, vec![0; 4], untouched((tokens * params.y_stride) as usize + 1)];
        let grid = params.coopmat_grid();
        cases.push(Case { grid, ..case(params, buffers, Element::F16, Tolerance::Half, "packed".to_owned()) });
    }
    if vector {
        cases.extend(
            [0, LmLinear::BIAS, LmLinear::SWIGLU_OAI | LmLinear::BIAS].map(|flags| experts(random, format, flags)),
        );
    }
    cases
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
