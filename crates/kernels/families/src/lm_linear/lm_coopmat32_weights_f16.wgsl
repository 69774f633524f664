// Weights stored as f16, for `lm_matmul_coopmat32.wgsl`; appended to its source.

// Vectors of eight weights of rows 16 apart: half a subgroup loads the columns of a step of one
// row.
struct WElements {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

// Rows and columns past the end are clamped: results of such rows are dropped, and x is zero in
// such columns.
fn load_vector(row: u32, column: u32) -> vec4<u32> {
    let row_vectors = params.columns / 8u;
    return codes[min(row, params.rows - 1u) * row_vectors + min(column, row_vectors - 1u)];
}

fn load_w(first: u32, step: u32, lane: u32) -> WElements {
    // This format has no scales. Adds a zero that depends on the binding, to keep it in the
    // interface.
    let row = first + lane / 16u + u32(load_scale(0u, 0u).y);
    let column = step * 16u + lane % 16u;
    return WElements(
        load_vector(row, column),
        load_vector(row + 16u, column),
        load_vector(row + 32u, column),
        load_vector(row + 48u, column),
    );
}

fn store_w(elements: WElements, lane: u32) {
    let to = lane / 16u * PITCH + lane % 16u;
    w_tile[to] = permuted(elements.a);
    w_tile[to + SIXTEEN] = permuted(elements.b);
    w_tile[to + 2u * SIXTEEN] = permuted(elements.c);
    w_tile[to + 3u * SIXTEEN] = permuted(elements.d);
}
