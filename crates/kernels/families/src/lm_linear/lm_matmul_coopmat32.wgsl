// y = x * W^T for a small batch on matrix units: x in f16, sums in f32. Memory-bound: W is read
// once per tile of tokens. It is dequantized to f16 on its way into workgroup memory; the format
// defines `Codes`, `WElements`, `load_w` and `store_w`. Needs subgroups of 32.
//
// A workgroup of two invocations per row computes TOKENS x ROWS in steps of 64 columns; each
// invocation loads eight elements of x and 32 of W per step. Wider tiles load x less often, and
// more workgroups fill the GPU better: the best shape depends on the number of tokens. Each
// subgroup multiplies half of the columns of a step with 32 rows; the two sums of a result are
// added up at the end. The elements of the next step are in registers or in flight: tiles in
// workgroup memory have one buffer, which leaves room for more workgroups.
//
// Four adjacent columns are stored in the order 0, 2, 1, 3 in both tiles. That is how a word with
// four codes falls into two pairs of f16, and sums do not depend on it.

enable f16;
enable wgpu_cooperative_matrix;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<Codes>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> tiles: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// Pitch of rows of the tiles in vec4s: padded by 8 elements against bank conflicts.
const PITCH = 18u;
// Sixteen rows.
const SIXTEEN = 288u;
// Subgroups along the rows.
const ROW_SUBGROUPS = ROWS / 32u;

var<workgroup> x_tile: array<vec4<f16>, TOKENS * PITCH>;
var<workgroup> w_tile: array<vec4<f16>, ROWS * PITCH>;
// Two result matrices per subgroup.
var<workgroup> result: array<vec4<f32>, ROWS * 8u>;

// Invocations per eight columns of x.
const X_INVOCATIONS = ROWS / 4u;

// Two adjacent vec4s of x; if a tile has more tokens than that, also of the token X_INVOCATIONS
// further on.
struct XElements {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
}

// `row` is the row of x of the token that the invocation loads, `next_row` that of the token
// X_INVOCATIONS further on. Columns past the end are zero.
fn load_x(row: u32, next_row: u32, step: u32, lane: u32) -> XElements {
    var elements: XElements;
    let column = step * 16u + lane % 8u * 2u;
    if column < params.columns / 4u {
        let at = row * (params.x_stride / 4u) + column;
        elements.a = x[at];
        elements.b = x[at + 1u];
        if TOKENS > X_INVOCATIONS {
            let next = next_row * (params.x_stride / 4u) + column;
            elements.c = x[next];
            elements.d = x[next + 1u];
        }
    }
    return elements;
}

fn store_x(elements: XElements, lane: u32) {
    let to = lane / 8u * PITCH + lane % 8u * 2u;
    x_tile[to] = elements.a.xzyw;
    x_tile[to + 1u] = elements.b.xzyw;
    if TOKENS > X_INVOCATIONS {
        x_tile[to + X_INVOCATIONS * PITCH] = elements.c.xzyw;
        x_tile[to + X_INVOCATIONS * PITCH + 1u] = elements.d.xzyw;
    }
}

// Adds up the sums of sixteen tokens of the two subgroups that share rows; each invocation has two
// times four adjacent rows. `matrix` is the first row of the expert's matrix, or 0.
fn reduce_and_store(group: vec3<u32>, first_place: u32, matrix: u32, lane: u32) {
    for (var unit = lane; unit < ROWS * 4u; unit += ROWS * 2u) {
        let place = unit / (ROWS / 4u);
        let vec = unit % (ROWS / 4u);
        let at = vec / 8u * 128u + vec / 4u % 2u * 64u + place * 4u + vec % 4u;
        let token = tile_token(group.x, first_place + place);
        let row = group.y * ROWS + vec * 4u;
        if token < params.tokens && row < params.rows {
            let sums = result[at] + result[at + 128u * ROW_SUBGROUPS];
            let splits = select(params.sharing, 1u, params.experts != 0u);
            epilogue_vec4(token * splits + group.z, row, matrix, sums);
        }
    }
}

@compute @workgroup_size(ROWS * 2u)
fn lm_matmul_coopmat32(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // The columns may be split over workgroups, in whole steps; each writes its partial sums as a
    // separate row.
    let steps = (params.columns + 63u) / 64u;
    let splits = select(params.sharing, 1u, params.experts != 0u);
    let steps_per_split = (steps + splits - 1u) / splits;
    let first_step = min(group.z * steps_per_split, steps);
    var end = min(first_step + steps_per_split, steps);
    if params.experts != 0u {
        // A tile without a pair has no steps. `tiles` is read here, because the kernel rules
        // count results of functions as different between invocations.
        end = select(first_step, end, tiles[group.x * (TOKENS + 1u) + 1u] < params.tokens);
    }
    let matrix = tile_first_row(group.x);
    let x_row = tile_x_row(group.x, lane / 8u);
    var next_x_row = x_row;
    if TOKENS > X_INVOCATIONS {
        next_x_row = tile_x_row(group.x, lane / 8u + X_INVOCATIONS);
    }
    let first_row = group.y * ROWS;

    // The tile of this subgroup.
    let subgroup = lane / 32u;
    let x_start = subgroup / ROW_SUBGROUPS * 8u;
    let w_start = subgroup % ROW_SUBGROUPS * 2u * SIXTEEN + x_start;
    var s00 = coop_mat16x16<f32, C>();
    var s01 = coop_mat16x16<f32, C>();
    var s10 = coop_mat16x16<f32, C>();
    var s11 = coop_mat16x16<f32, C>();

    // After the last step there is nothing to prefetch; loading the last one again is harmless.
    let last = max(end, 1u) - 1u;
    var w_next = load_w(matrix, first_row, min(first_step, last), lane);
    var x_next = load_x(x_row, next_x_row, min(first_step, last), lane);
    for (var step = first_step; step < end; step += 1u) {
        workgroupBarrier();
        store_w(w_next, lane);
        store_x(x_next, lane);
        w_next = load_w(matrix, first_row, min(step + 1u, last), lane);
        x_next = load_x(x_row, next_x_row, min(step + 1u, last), lane);
        workgroupBarrier();
        let w00 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start], PITCH);
        let w01 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 4u], PITCH);
        let w10 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + SIXTEEN], PITCH);
        let w11 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + SIXTEEN + 4u], PITCH);
        let x00 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start], PITCH);
        let x01 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 4u], PITCH);
        s00 = coopMultiplyAdd(x00, w00, s00);
        s01 = coopMultiplyAdd(x00, w10, s01);
        s00 = coopMultiplyAdd(x01, w01, s00);
        s01 = coopMultiplyAdd(x01, w11, s01);
        if TOKENS == 32u {
            let x10 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + SIXTEEN], PITCH);
            let x11 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + SIXTEEN + 4u], PITCH);
            s10 = coopMultiplyAdd(x10, w00, s10);
            s11 = coopMultiplyAdd(x10, w10, s11);
            s10 = coopMultiplyAdd(x11, w01, s10);
            s11 = coopMultiplyAdd(x11, w11, s11);
        }
    }

    let to = subgroup * 128u;
    coopStoreT(s00, &result[to], 4u);
    coopStoreT(s01, &result[to + 64u], 4u);
    workgroupBarrier();
    reduce_and_store(group, 0u, matrix, lane);
    if TOKENS == 32u {
        workgroupBarrier();
        coopStoreT(s10, &result[to], 4u);
        coopStoreT(s11, &result[to + 64u], 4u);
        workgroupBarrier();
        reduce_and_store(group, 16u, matrix, lane);
    }
}
