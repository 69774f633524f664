// y = x * W^T for a small batch on matrix units: x in f16, sums in f32. Memory-bound: W is read
// once per 32 tokens. It is dequantized to f16 on its way into workgroup memory; the format
// defines `Codes`, `WElements`, `load_w` and `store_w`. Needs subgroups of 32.
//
// A workgroup of 256 computes 32 tokens x 64 rows in steps of 128 columns. Each subgroup multiplies
// a quarter of the columns of a step with half of the rows; the four sums of a result are added up
// at the end. So few rows still occupy many subgroups. The elements of the next two steps are in
// registers or in flight: tiles in workgroup memory have one buffer, which leaves room for more
// workgroups.
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
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const TOKENS = 32u;
const ROWS = 64u;
// Pitch of rows of the tiles in vec4s: padded by 8 elements against bank conflicts.
const PITCH = 34u;
// Sixteen rows.
const SIXTEEN = 544u;

var<workgroup> x_tile: array<vec4<f16>, 1088>;
var<workgroup> w_tile: array<vec4<f16>, 2176>;
// Two matrices of the result per subgroup.
var<workgroup> result: array<vec4<f32>, 1024>;

// Four vec4s of x, of tokens eight apart.
struct XElements {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
}

// Tokens past the end are clamped to the last, and their results dropped. Columns past the end are
// zero. The second half of the tokens is loaded only if there are that many.
fn load_x(first_token: u32, step: u32, lane: u32, is_wide: bool) -> XElements {
    let last = params.tokens - 1u;
    let pitch = params.x_stride / 4u;
    let column = step * 32u + lane % 32u;
    let row_vec4s = params.columns / 4u;
    let clamped = min(column, row_vec4s - 1u);
    let token = first_token + lane / 32u;
    let is_valid = column < row_vec4s;
    var elements: XElements;
    elements.a = select(vec4<f16>(), x[min(token, last) * pitch + clamped], is_valid);
    elements.b = select(vec4<f16>(), x[min(token + 8u, last) * pitch + clamped], is_valid);
    if is_wide {
        elements.c = select(vec4<f16>(), x[min(token + 16u, last) * pitch + clamped], is_valid);
        elements.d = select(vec4<f16>(), x[min(token + 24u, last) * pitch + clamped], is_valid);
    }
    return elements;
}

fn store_x(elements: XElements, lane: u32, is_wide: bool) {
    let to = lane / 32u * PITCH + lane % 32u;
    x_tile[to] = elements.a.xzyw;
    x_tile[to + 272u] = elements.b.xzyw;
    if is_wide {
        x_tile[to + SIXTEEN] = elements.c.xzyw;
        x_tile[to + 816u] = elements.d.xzyw;
    }
}

// Adds up the sums of sixteen tokens of the four subgroups that share rows; each invocation has
// four adjacent rows.
fn reduce_and_store(first_token: u32, first_row: u32, split: u32, lane: u32) {
    let token = first_token + lane / 16u;
    let vec = lane % 16u;
    // Of the two subgroups with this half of the columns of a step, the second has the rows from 32.
    let at = vec / 8u * 128u + vec / 4u % 2u * 64u + lane / 16u * 4u + vec % 4u;
    let row = first_row + vec * 4u;
    if token < params.tokens && row < params.rows {
        let sums = (result[at] + result[at + 256u]) + (result[at + 512u] + result[at + 768u]);
        epilogue_vec4(token * params.sharing + split, row, sums);
    }
}

@compute @workgroup_size(256)
fn lm_matmul_coopmat32(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // The columns may be split over workgroups, in whole steps; each writes its partial sums as a
    // separate row.
    let steps = (params.columns + 127u) / 128u;
    let steps_per_split = (steps + params.sharing - 1u) / params.sharing;
    let first_step = min(group.z * steps_per_split, steps);
    let end = min(first_step + steps_per_split, steps);
    let first_token = group.x * TOKENS;
    let first_row = group.y * ROWS;
    let is_wide = params.tokens > first_token + 16u;

    // What its subgroup computes.
    let subgroup = lane / 32u;
    let x_start = subgroup / 2u * 8u;
    let w_start = subgroup % 2u * 2u * SIXTEEN + subgroup / 2u * 8u;
    var s00 = coop_mat16x16<f32, C>();
    var s01 = coop_mat16x16<f32, C>();
    var s10 = coop_mat16x16<f32, C>();
    var s11 = coop_mat16x16<f32, C>();

    // After the last step there is nothing to prefetch; loading the last one again is harmless.
    let last = max(end, 1u) - 1u;
    var w_next = load_w(first_row, min(first_step, last), lane);
    var x_next = load_x(first_token, min(first_step, last), lane, is_wide);
    var w_following = load_w(first_row, min(first_step + 1u, last), lane);
    var x_following = load_x(first_token, min(first_step + 1u, last), lane, is_wide);
    for (var step = first_step; step < end; step += 1u) {
        workgroupBarrier();
        store_w(w_next, lane);
        store_x(x_next, lane, is_wide);
        w_next = w_following;
        x_next = x_following;
        w_following = load_w(first_row, min(step + 2u, last), lane);
        x_following = load_x(first_token, min(step + 2u, last), lane, is_wide);
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
        if is_wide {
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
    reduce_and_store(first_token, first_row, group.z, lane);
    if is_wide {
        workgroupBarrier();
        coopStoreT(s10, &result[to], 4u);
        coopStoreT(s11, &result[to + 64u], 4u);
        workgroupBarrier();
        reduce_and_store(first_token + 16u, first_row, group.z, lane);
    }
}
