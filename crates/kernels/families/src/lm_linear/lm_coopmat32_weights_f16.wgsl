// Weights stored as f16, for `lm_matmul_coopmat32.wgsl`; appended to its source.

alias Codes = vec4<f16>;

// Vec4s of rows eight apart: a subgroup loads the columns of a step of one row.
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

// Rows and columns past the end are clamped: results of such rows are dropped, and x is zero in
// such columns.
fn load_vec4(row: u32, column: u32) -> vec4<f16> {
    let row_vec4s = params.columns / 4u;
    return codes[min(row, params.rows - 1u) * row_vec4s + min(column, row_vec4s - 1u)];
}

fn load_w(first: u32, step: u32, lane: u32) -> WElements {
    // This format has no scales. Adds a zero that depends on the binding, to keep it in the
    // interface.
    let row = first + lane / 32u + u32(load_scale(0u, 0u).y);
    let column = step * 32u + lane % 32u;
    return WElements(
        load_vec4(row, column),
        load_vec4(row + 8u, column),
        load_vec4(row + 16u, column),
        load_vec4(row + 24u, column),
        load_vec4(row + 32u, column),
        load_vec4(row + 40u, column),
        load_vec4(row + 48u, column),
        load_vec4(row + 56u, column),
    );
}

fn store_w(elements: WElements, lane: u32) {
    let to = lane / 32u * PITCH + lane % 32u;
    w_tile[to] = elements.a.xzyw;
    w_tile[to + 272u] = elements.b.xzyw;
    w_tile[to + 544u] = elements.c.xzyw;
    w_tile[to + 816u] = elements.d.xzyw;
    w_tile[to + 1088u] = elements.e.xzyw;
    w_tile[to + 1360u] = elements.f.xzyw;
    w_tile[to + 1632u] = elements.g.xzyw;
    w_tile[to + 1904u] = elements.h.xzyw;
}
