// Weights stored as f16, for `lm_matmul_coopmat32.wgsl`; appended to its source.

alias Codes = vec4<f16>;

// Vec4s of rows that are ROWS / 8 apart: sixteen invocations load the columns of a step of one row.
struct WElements {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
    e: vec4<f16>,
    f: vec4<f16>,
    g: vec4<f16>,
    h: vec4<f16>,
}

const ROWS_APART = ROWS / 8u;
const VEC4S_APART = ROWS_APART * PITCH;

// Rows and columns past the end are clamped: results of such rows are dropped, and x is zero in
// such columns. `matrix` is the first row of the expert's matrix, or 0.
fn load_vec4(matrix: u32, row: u32, column: u32) -> vec4<f16> {
    let row_vec4s = params.columns / 4u;
    return codes[(matrix + min(row, params.rows - 1u)) * row_vec4s + min(column, row_vec4s - 1u)];
}

fn load_w(matrix: u32, first: u32, step: u32, lane: u32) -> WElements {
    // This format has no scales. Adds a zero that depends on the binding, so that the binding stays
    // in the interface.
    let row = first + lane / 16u + u32(load_scale(0u, 0u).y);
    let column = step * 16u + lane % 16u;
    return WElements(
        load_vec4(matrix, row, column),
        load_vec4(matrix, row + ROWS_APART, column),
        load_vec4(matrix, row + 2u * ROWS_APART, column),
        load_vec4(matrix, row + 3u * ROWS_APART, column),
        load_vec4(matrix, row + 4u * ROWS_APART, column),
        load_vec4(matrix, row + 5u * ROWS_APART, column),
        load_vec4(matrix, row + 6u * ROWS_APART, column),
        load_vec4(matrix, row + 7u * ROWS_APART, column),
    );
}

fn store_w(elements: WElements, lane: u32) {
    let to = lane / 16u * PITCH + lane % 16u;
    w_tile[to] = elements.a.xzyw;
    w_tile[to + VEC4S_APART] = elements.b.xzyw;
    w_tile[to + 2u * VEC4S_APART] = elements.c.xzyw;
    w_tile[to + 3u * VEC4S_APART] = elements.d.xzyw;
    w_tile[to + 4u * VEC4S_APART] = elements.e.xzyw;
    w_tile[to + 5u * VEC4S_APART] = elements.f.xzyw;
    w_tile[to + 6u * VEC4S_APART] = elements.g.xzyw;
    w_tile[to + 7u * VEC4S_APART] = elements.h.xzyw;
}
