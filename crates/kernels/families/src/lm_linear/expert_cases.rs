//! Test cases of products in tiles that have experts.

use roci_tolerance::Tolerance;

use super::LmLinear;
use super::cases::quantized;
use crate::cases::lm::{APPROXIMATE, weights};
use crate::cases::{Case, Element, Random, case, halves, untouched, words};
use crate::{LmMoeGroup, WeightFormat};

const ROWS: u32 = 12;
const COLUMNS: u32 = 96;
const EXPERTS: u32 = 4;
/// Pairs that share a row of x.
const SHARING: u32 = 2;

/// A kind of kernel with tiles.
struct Form {
    /// Tokens of a tile.
    tile: u32,
    grid: fn(&LmLinear, WeightFormat) -> [u32; 3],
    /// Rows of x in the form that the kernel reads.
    x: fn(&mut Random, u32) -> Vec<u32>,
    tolerance: Tolerance,
    /// Whether it runs on matrix units.
    matrix: bool,
}

fn halves_of(random: &mut Random, rows: u32) -> Vec<u32> {
    halves(&random.floats((rows * COLUMNS) as usize, -1.0, 1.0))
}

fn form(kernel: &str) -> Option<Form> {
    let [tile16, tile32] = [LmLinear::COOPMAT16_TILE[0], LmLinear::COOPMAT32_TOKENS];
    // Weights and scales are rounded to f16 for matrix units.
    let matrix = Form {
        tile: tile16,
        grid: |params, _| params.small_coopmat_grid(LmLinear::COOPMAT16_TILE),
        x: halves_of,
        tolerance: Tolerance::HalfLayers,
        matrix: true,
    };
    if kernel.starts_with("matmul_coopmat16_") {
        return Some(matrix);
    }
    if kernel.starts_with("matmul_coopmat32_") {
        return Some(Form {
            tile: tile32,
            grid: |params, format| params.small_coopmat_grid(LmLinear::coopmat32_tile(format)),
            ..matrix
        });
    }
    if kernel.starts_with("matvec8_i8_") {
        return Some(Form {
            tile: LmLinear::VECTOR8_TOKENS,
            grid: |params, _| params.vector8_grid(),
            x: |random, rows| quantized(random, rows * COLUMNS / 32),
            tolerance: APPROXIMATE,
            matrix: false,
        });
    }
    if kernel.starts_with("matmul_") && !kernel.starts_with("matmul_coopmat_") {
        return Some(Form {
            tile: LmLinear::TILE,
            grid: |params, _| params.tile_grid(),
            x: |random, rows| words(&random.floats((rows * COLUMNS) as usize, -1.0, 1.0)),
            tolerance: APPROXIMATE,
            matrix: false,
        });
    }
    None
}

/// Cases with few and with many pairs per expert; some experts have none.
pub(super) fn of(kernel: &str, format: WeightFormat, random: &mut Random) -> Vec<Case> {
    let Some(form) = form(kernel) else { return Vec::new() };
    let gated = LmLinear::BIAS | LmLinear::SWIGLU_OAI | if form.matrix { LmLinear::PACKED } else { 0 };
    [(LmLinear::BIAS, 2), (LmLinear::ADD, 150), (gated, 22)]
        .map(|(flags, pairs)| make(&form, format, flags, pairs, random))
        .into()
}

fn make(form: &Form, format: WeightFormat, flags: u32, pairs: u32, random: &mut Random) -> Case {
    let (codes, scales) = weights(random, format, (EXPERTS * ROWS * COLUMNS / 32) as usize);
    let params = LmLinear {
        rows: ROWS,
        columns: COLUMNS,
        tokens: pairs,
        x_stride: COLUMNS,
        y_stride: ROWS + 1,
        y_offset: 1,
        flags,
        experts: EXPERTS,
        sharing: SHARING,
        ..LmLinear::default()
    };
    let x = (form.x)(random, pairs / SHARING);
    let bias = words(&random.floats((EXPERTS * ROWS) as usize, -1.0, 1.0));
    // The last expert has no pairs, the first has half of them.
    let selected: Vec<u32> = (0..pairs).map(|_| (random.word() >> 8) % 4 % (EXPERTS - 1)).collect();
    let tiles = LmMoeGroup { pairs, experts: EXPERTS, tile: form.tile }.group(&selected);
    let y = untouched((pairs * params.y_stride) as usize + 1);
    let buffers = vec![codes, scales, x, bias, tiles, y];
    let output = if flags & LmLinear::PACKED == 0 { Element::F32 } else { Element::F16 };
    let label = format!("{pairs} pairs of {EXPERTS} experts, flags {flags}");
    Case { grid: (form.grid)(&params, format), ..case(params, buffers, output, form.tolerance, label) }
}
