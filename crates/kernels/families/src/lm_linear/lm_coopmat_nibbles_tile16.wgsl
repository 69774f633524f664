// The tile of `lm_matmul_coopmat_nibbles.wgsl` for up to sixteen tokens, and its loads of x; appended to
// its source.

const TOKENS = 16u;
const GROUPS = 4u;

// Where the rows of x begin of the 4 tokens that an invocation loads, 4 apart, in vec4s.
struct XRows {
    r0: u32,
    r1: u32,
    r2: u32,
    r3: u32,
}

// A vec4 of each.
struct XElements {
    v0: vec4<f16>,
    v1: vec4<f16>,
    v2: vec4<f16>,
    v3: vec4<f16>,
}

fn x_row_start(tile: u32, place: u32) -> u32 {
    return tile_x_row(tile, place) * (params.x_stride / 4u);
}

fn x_rows_of(tile: u32, lane: u32) -> XRows {
    let place = lane / (GROUPS * 8u);
    return XRows(
        x_row_start(tile, place),
        x_row_start(tile, place + 4u),
        x_row_start(tile, place + 8u),
        x_row_start(tile, place + 12u),
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
    }
    return elements;
}

fn store_x(elements: XElements, lane: u32) {
    let to = x_index(lane);
    x_tile[to] = elements.v0.xzyw;
    x_tile[to + 4u * PITCH] = elements.v1.xzyw;
    x_tile[to + 8u * PITCH] = elements.v2.xzyw;
    x_tile[to + 12u * PITCH] = elements.v3.xzyw;
}
