// y = x * W^T for many tokens on matrix units: x in f16, sums in f32. W is dequantized to f16 on
// its way into workgroup memory; the format defines `Codes`, `WElements`, `load_w` and `store_w`.
// Needs subgroups of 32 and a multiple of 64 columns.
//
// A workgroup of 128 computes 128 tokens x 128 rows, each subgroup 64 x 64 as sixteen matrices of
// 16 x 16. Tiles of x and W are double-buffered in workgroup memory, a group of 32 columns deep:
// one buffer is multiplied while the next step's elements are loaded into registers and then into
// the other. The two steps are unrolled by hand: constant indices make the addresses cheap.

enable f16;
enable wgpu_cooperative_matrix;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<Codes>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

const TILE = 128u;
// Pitch of rows of the tiles in vec4s: padded by 8 elements against bank conflicts.
const PITCH = 10u;
// Size of one buffer in vec4s.
const X_SIZE = 1280u;
const W_SIZE = 1280u;

var<workgroup> x_tile: array<vec4<f16>, 2560>;
var<workgroup> w_tile: array<vec4<f16>, 2560>;
// One matrix of the result per subgroup.
var<workgroup> result: array<vec4<f32>, 256>;

// Eight vec4s of x, from rows of the tile 16 apart.
struct XElements {
    a: vec4<f16>,
    b: vec4<f16>,
    c: vec4<f16>,
    d: vec4<f16>,
    e: vec4<f16>,
    f: vec4<f16>,
    g: vec4<f16>,
    h: vec4<f16>,
}

fn load_x(first: u32, column: u32) -> XElements {
    let last = params.tokens - 1u;
    let pitch = params.x_stride / 4u;
    return XElements(
        x[min(first, last) * pitch + column],
        x[min(first + 16u, last) * pitch + column],
        x[min(first + 32u, last) * pitch + column],
        x[min(first + 48u, last) * pitch + column],
        x[min(first + 64u, last) * pitch + column],
        x[min(first + 80u, last) * pitch + column],
        x[min(first + 96u, last) * pitch + column],
        x[min(first + 112u, last) * pitch + column],
    );
}

fn store_x(elements: XElements, to: u32) {
    x_tile[to] = elements.a;
    x_tile[to + 160u] = elements.b;
    x_tile[to + 320u] = elements.c;
    x_tile[to + 480u] = elements.d;
    x_tile[to + 640u] = elements.e;
    x_tile[to + 800u] = elements.f;
    x_tile[to + 960u] = elements.g;
    x_tile[to + 1120u] = elements.h;
}

// The row for an index below 16. Adjacent indices are four rows apart, which avoids bank conflicts.
fn swizzled_row(n: u32) -> u32 {
    return (n & 8u) | (n & 1u) << 2u | n >> 1u & 3u;
}

// Epilogue of a 16 x 16 matrix of the result that a subgroup has written to workgroup memory.
fn epilogue_matrix(token: u32, row: u32, split: u32, source: u32, lane: u32) {
    for (var half = 0u; half < 2u; half += 1u) {
        let at = token + lane / 4u + half * 8u;
        let first = row + lane % 4u * 4u;
        if at < params.tokens && first < params.rows {
            epilogue_vec4(at * params.sharing + split, first, 0u, result[source + half * 32u + lane]);
        }
    }
}

@compute @workgroup_size(128)
fn lm_matmul_coopmat(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // The columns may be split over workgroups, in whole steps; each writes its partial sums as a
    // separate row.
    let steps = params.columns / 64u;
    let steps_per_split = (steps + params.sharing - 1u) / params.sharing;
    let first_step = min(group.z * steps_per_split, steps);
    let groups = (min(first_step + steps_per_split, steps) - first_step) * 2u;
    // What this invocation loads: 32 weights of W, and eight vec4s of x. Rows and tokens past the
    // end are clamped to the last, and their results dropped.
    let w_row = group.y * TILE;
    var w_group = first_step * 2u;
    let x_row = group.x * TILE + swizzled_row(lane / 8u);
    var x_column = first_step * 16u + lane % 8u;
    let x_target = swizzled_row(lane / 8u) * PITCH + lane % 8u;

    // What its subgroup computes.
    let first_token = lane / 64u * 64u;
    let first_row = lane / 32u % 2u * 64u;
    let x_start = first_token * PITCH;
    let w_start = first_row * PITCH;
    var s00 = coop_mat16x16<f32, C>();
    var s01 = coop_mat16x16<f32, C>();
    var s02 = coop_mat16x16<f32, C>();
    var s03 = coop_mat16x16<f32, C>();
    var s10 = coop_mat16x16<f32, C>();
    var s11 = coop_mat16x16<f32, C>();
    var s12 = coop_mat16x16<f32, C>();
    var s13 = coop_mat16x16<f32, C>();
    var s20 = coop_mat16x16<f32, C>();
    var s21 = coop_mat16x16<f32, C>();
    var s22 = coop_mat16x16<f32, C>();
    var s23 = coop_mat16x16<f32, C>();
    var s30 = coop_mat16x16<f32, C>();
    var s31 = coop_mat16x16<f32, C>();
    var s32 = coop_mat16x16<f32, C>();
    var s33 = coop_mat16x16<f32, C>();

    store_w(load_w(w_row, w_group, lane), 0u, lane);
    store_x(load_x(x_row, x_column), x_target);
    workgroupBarrier();
    for (var k = 0u; k < groups; k += 2u) {
        w_group += 1u;
        x_column += 8u;
        let w_next = load_w(w_row, w_group, lane);
        let x_next = load_x(x_row, x_column);
        {
            let x0 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 0u], PITCH);
            let x1 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 160u], PITCH);
            let x2 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 320u], PITCH);
            let x3 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 480u], PITCH);
            let w0 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 0u], PITCH);
            let w1 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 160u], PITCH);
            let w2 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 320u], PITCH);
            let w3 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 480u], PITCH);
            s00 = coopMultiplyAdd(x0, w0, s00);
            s10 = coopMultiplyAdd(x1, w0, s10);
            s20 = coopMultiplyAdd(x2, w0, s20);
            s30 = coopMultiplyAdd(x3, w0, s30);
            s01 = coopMultiplyAdd(x0, w1, s01);
            s11 = coopMultiplyAdd(x1, w1, s11);
            s21 = coopMultiplyAdd(x2, w1, s21);
            s31 = coopMultiplyAdd(x3, w1, s31);
            s02 = coopMultiplyAdd(x0, w2, s02);
            s12 = coopMultiplyAdd(x1, w2, s12);
            s22 = coopMultiplyAdd(x2, w2, s22);
            s32 = coopMultiplyAdd(x3, w2, s32);
            s03 = coopMultiplyAdd(x0, w3, s03);
            s13 = coopMultiplyAdd(x1, w3, s13);
            s23 = coopMultiplyAdd(x2, w3, s23);
            s33 = coopMultiplyAdd(x3, w3, s33);
        }
        {
            let x0 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 4u], PITCH);
            let x1 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 164u], PITCH);
            let x2 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 324u], PITCH);
            let x3 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[x_start + 484u], PITCH);
            let w0 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 4u], PITCH);
            let w1 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 164u], PITCH);
            let w2 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 324u], PITCH);
            let w3 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[w_start + 484u], PITCH);
            s00 = coopMultiplyAdd(x0, w0, s00);
            s10 = coopMultiplyAdd(x1, w0, s10);
            s20 = coopMultiplyAdd(x2, w0, s20);
            s30 = coopMultiplyAdd(x3, w0, s30);
            s01 = coopMultiplyAdd(x0, w1, s01);
            s11 = coopMultiplyAdd(x1, w1, s11);
            s21 = coopMultiplyAdd(x2, w1, s21);
            s31 = coopMultiplyAdd(x3, w1, s31);
            s02 = coopMultiplyAdd(x0, w2, s02);
            s12 = coopMultiplyAdd(x1, w2, s12);
            s22 = coopMultiplyAdd(x2, w2, s22);
            s32 = coopMultiplyAdd(x3, w2, s32);
            s03 = coopMultiplyAdd(x0, w3, s03);
            s13 = coopMultiplyAdd(x1, w3, s13);
            s23 = coopMultiplyAdd(x2, w3, s23);
            s33 = coopMultiplyAdd(x3, w3, s33);
        }
        store_w(w_next, W_SIZE, lane);
        store_x(x_next, X_SIZE + x_target);
        workgroupBarrier();

        // After the last step there is nothing to prefetch; loading the last one again is harmless.
        let advance = select(0u, 1u, k + 2u < groups);
        w_group += advance;
        x_column += advance * 8u;
        let w_following = load_w(w_row, w_group, lane);
        let x_following = load_x(x_row, x_column);
        {
            let x0 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 0u], PITCH);
            let x1 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 160u], PITCH);
            let x2 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 320u], PITCH);
            let x3 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 480u], PITCH);
            let w0 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 0u], PITCH);
            let w1 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 160u], PITCH);
            let w2 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 320u], PITCH);
            let w3 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 480u], PITCH);
            s00 = coopMultiplyAdd(x0, w0, s00);
            s10 = coopMultiplyAdd(x1, w0, s10);
            s20 = coopMultiplyAdd(x2, w0, s20);
            s30 = coopMultiplyAdd(x3, w0, s30);
            s01 = coopMultiplyAdd(x0, w1, s01);
            s11 = coopMultiplyAdd(x1, w1, s11);
            s21 = coopMultiplyAdd(x2, w1, s21);
            s31 = coopMultiplyAdd(x3, w1, s31);
            s02 = coopMultiplyAdd(x0, w2, s02);
            s12 = coopMultiplyAdd(x1, w2, s12);
            s22 = coopMultiplyAdd(x2, w2, s22);
            s32 = coopMultiplyAdd(x3, w2, s32);
            s03 = coopMultiplyAdd(x0, w3, s03);
            s13 = coopMultiplyAdd(x1, w3, s13);
            s23 = coopMultiplyAdd(x2, w3, s23);
            s33 = coopMultiplyAdd(x3, w3, s33);
        }
        {
            let x0 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 4u], PITCH);
            let x1 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 164u], PITCH);
            let x2 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 324u], PITCH);
            let x3 = coopLoadT<coop_mat16x16<f16, A>>(&x_tile[X_SIZE + x_start + 484u], PITCH);
            let w0 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 4u], PITCH);
            let w1 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 164u], PITCH);
            let w2 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 324u], PITCH);
            let w3 = coopLoad<coop_mat16x16<f16, B>>(&w_tile[W_SIZE + w_start + 484u], PITCH);
            s00 = coopMultiplyAdd(x0, w0, s00);
            s10 = coopMultiplyAdd(x1, w0, s10);
            s20 = coopMultiplyAdd(x2, w0, s20);
            s30 = coopMultiplyAdd(x3, w0, s30);
            s01 = coopMultiplyAdd(x0, w1, s01);
            s11 = coopMultiplyAdd(x1, w1, s11);
            s21 = coopMultiplyAdd(x2, w1, s21);
            s31 = coopMultiplyAdd(x3, w1, s31);
            s02 = coopMultiplyAdd(x0, w2, s02);
            s12 = coopMultiplyAdd(x1, w2, s12);
            s22 = coopMultiplyAdd(x2, w2, s22);
            s32 = coopMultiplyAdd(x3, w2, s32);
            s03 = coopMultiplyAdd(x0, w3, s03);
            s13 = coopMultiplyAdd(x1, w3, s13);
            s23 = coopMultiplyAdd(x2, w3, s23);
            s33 = coopMultiplyAdd(x3, w3, s33);
        }
        store_w(w_following, 0u, lane);
        store_x(x_following, x_target);
        workgroupBarrier();
    }

    let token = group.x * TILE + first_token;
    let row = group.y * TILE + first_row;
    // A full tile without an epilogue is stored directly.
    if params.flags == 0u && group.x * TILE + TILE <= params.tokens && group.y * TILE + TILE <= params.rows {
        let pitch = params.sharing * params.y_stride;
        let first = (token * params.sharing + group.z) * params.y_stride + params.y_offset + row;
        let at00 = first;
        coopStoreT(s00, &y[at00], pitch);
        let at01 = first + 16u;
        coopStoreT(s01, &y[at01], pitch);
        let at02 = first + 32u;
        coopStoreT(s02, &y[at02], pitch);
        let at03 = first + 48u;
        coopStoreT(s03, &y[at03], pitch);
        let at10 = first + 16u * pitch;
        coopStoreT(s10, &y[at10], pitch);
        let at11 = first + 16u * pitch + 16u;
        coopStoreT(s11, &y[at11], pitch);
        let at12 = first + 16u * pitch + 32u;
        coopStoreT(s12, &y[at12], pitch);
        let at13 = first + 16u * pitch + 48u;
        coopStoreT(s13, &y[at13], pitch);
        let at20 = first + 32u * pitch;
        coopStoreT(s20, &y[at20], pitch);
        let at21 = first + 32u * pitch + 16u;
        coopStoreT(s21, &y[at21], pitch);
        let at22 = first + 32u * pitch + 32u;
        coopStoreT(s22, &y[at22], pitch);
        let at23 = first + 32u * pitch + 48u;
        coopStoreT(s23, &y[at23], pitch);
        let at30 = first + 48u * pitch;
        coopStoreT(s30, &y[at30], pitch);
        let at31 = first + 48u * pitch + 16u;
        coopStoreT(s31, &y[at31], pitch);
        let at32 = first + 48u * pitch + 32u;
        coopStoreT(s32, &y[at32], pitch);
        let at33 = first + 48u * pitch + 48u;
        coopStoreT(s33, &y[at33], pitch);
        return;
    }
    // Otherwise through workgroup memory. A loop, since sixteen copies of the epilogue would take
    // registers from the sums.
    let to = lane / 32u * 64u;
    for (var matrix = 0u; matrix < 16u; matrix += 1u) {
        switch matrix {
            case 0u: {
                coopStoreT(s00, &result[to], 4u);
            }
            case 1u: {
                coopStoreT(s01, &result[to], 4u);
            }
            case 2u: {
                coopStoreT(s02, &result[to], 4u);
            }
            case 3u: {
                coopStoreT(s03, &result[to], 4u);
            }
            case 4u: {
                coopStoreT(s10, &result[to], 4u);
            }
            case 5u: {
                coopStoreT(s11, &result[to], 4u);
            }
            case 6u: {
                coopStoreT(s12, &result[to], 4u);
            }
            case 7u: {
                coopStoreT(s13, &result[to], 4u);
            }
            case 8u: {
                coopStoreT(s20, &result[to], 4u);
            }
            case 9u: {
                coopStoreT(s21, &result[to], 4u);
            }
            case 10u: {
                coopStoreT(s22, &result[to], 4u);
            }
            case 11u: {
                coopStoreT(s23, &result[to], 4u);
            }
            case 12u: {
                coopStoreT(s30, &result[to], 4u);
            }
            case 13u: {
                coopStoreT(s31, &result[to], 4u);
            }
            case 14u: {
                coopStoreT(s32, &result[to], 4u);
            }
            default: {
                coopStoreT(s33, &result[to], 4u);
            }
        }
        workgroupBarrier();
        epilogue_matrix(token + matrix / 4u * 16u, row + matrix % 4u * 16u, group.z, to, lane % 32u);
        workgroupBarrier();
    }
}
