// The tile of `lm_matmul_coopmat_nibbles.wgsl` for more than sixteen tokens, and its loads of x; appended to
// its source.

const TOKENS = 32u;
const GROUPS = 8u;

// Where the rows of x begin of the 16 tokens that an invocation loads, 2 apart, in vec4s.
struct XRows {
    r0: u32,
    r1: u32,
    r2: u32,
    r3: u32,
    r4: u32,
    r5: u32,
    r6: u32,
    r7: u32,
    r8: u32,
    r9: u32,
    r10: u32,
    r11: u32,
    r12: u32,
    r13: u32,
    r14: u32,
    r15: u32,
}

// A vec4 of each.
struct XElements {
    v0: vec4<f16>,
    v1: vec4<f16>,
    v2: vec4<f16>,
    v3: vec4<f16>,
    v4: vec4<f16>,
    v5: vec4<f16>,
    v6: vec4<f16>,
    v7: vec4<f16>,
    v8: vec4<f16>,
    v9: vec4<f16>,
    v10: vec4<f16>,
    v11: vec4<f16>,
    v12: vec4<f16>,
    v13: vec4<f16>,
    v14: vec4<f16>,
    v15: vec4<f16>,
}

fn x_row_start(tile: u32, place: u32) -> u32 {
    return tile_x_row(tile, place) * (params.x_stride / 4u);
}

fn x_rows_of(tile: u32, lane: u32) -> XRows {
    let place = lane / (GROUPS * 8u);
    return XRows(
        x_row_start(tile, place),
        x_row_start(tile, place + 2u),
        x_row_start(tile, place + 4u),
        x_row_start(tile, place + 6u),
        x_row_start(tile, place + 8u),
        x_row_start(tile, place + 10u),
        x_row_start(tile, place + 12u),
        x_row_start(tile, place + 14u),
        x_row_start(tile, place + 16u),
        x_row_start(tile, place + 18u),
        x_row_start(tile, place + 20u),
        x_row_start(tile, place + 22u),
        x_row_start(tile, place + 24u),
        x_row_start(tile, place + 26u),
        x_row_start(tile, place + 28u),
        x_row_start(tile, place + 30u),
    );
}

// Columns past the end are zero.
fn load_x(rows: XRows, step: u32, lane: u32) -> XElements {
    var elements: XElements;
    let column = step * GROUPS * 8u + lane % (GROUPS * 8u);
    if column < params.columns / 4u {
        elements.v0 = x[rows.r0 + column];
        elements.v1 = x[rows.r1 + column];
        elements.v2 = x[rows.r2 + column];
        elements.v3 = x[rows.r3 + column];
        elements.v4 = x[rows.r4 + column];
        elements.v5 = x[rows.r5 + column];
        elements.v6 = x[rows.r6 + column];
        elements.v7 = x[rows.r7 + column];
        elements.v8 = x[rows.r8 + column];
        elements.v9 = x[rows.r9 + column];
        elements.v10 = x[rows.r10 + column];
        elements.v11 = x[rows.r11 + column];
        elements.v12 = x[rows.r12 + column];
        elements.v13 = x[rows.r13 + column];
        elements.v14 = x[rows.r14 + column];
        elements.v15 = x[rows.r15 + column];
    }
    return elements;
}

fn store_x(elements: XElements, lane: u32) {
    let to = x_index(lane);
    x_tile[to] = elements.v0.xzyw;
    x_tile[to + 2u * PITCH] = elements.v1.xzyw;
    x_tile[to + 4u * PITCH] = elements.v2.xzyw;
    x_tile[to + 6u * PITCH] = elements.v3.xzyw;
    x_tile[to + 8u * PITCH] = elements.v4.xzyw;
    x_tile[to + 10u * PITCH] = elements.v5.xzyw;
    x_tile[to + 12u * PITCH] = elements.v6.xzyw;
    x_tile[to + 14u * PITCH] = elements.v7.xzyw;
    x_tile[to + 16u * PITCH] = elements.v8.xzyw;
    x_tile[to + 18u * PITCH] = elements.v9.xzyw;
    x_tile[to + 20u * PITCH] = elements.v10.xzyw;
    x_tile[to + 22u * PITCH] = elements.v11.xzyw;
    x_tile[to + 24u * PITCH] = elements.v12.xzyw;
    x_tile[to + 26u * PITCH] = elements.v13.xzyw;
    x_tile[to + 28u * PITCH] = elements.v14.xzyw;
    x_tile[to + 30u * PITCH] = elements.v15.xzyw;
}
