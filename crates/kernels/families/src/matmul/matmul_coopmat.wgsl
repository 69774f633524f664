// C[b] = A[b] * B[b] in f16 with sums in f32 on matrix units, row-major, for matrices whose n,
// leading dimensions and batch strides are multiples of four, and whose k is a multiple of 64.
// Needs subgroups of 32.
//
// A workgroup of 256 computes a tile of 128 x 256, each subgroup 64 x 64 of it as sixteen matrices
// of 16 x 16. Tiles of A and B are double-buffered in workgroup memory, 16 deep: one buffer is
// multiplied while the next step's elements are loaded into registers and then into the other. The
// two steps are unrolled by hand: constant indices make the addresses cheap (17 % of the time on
// the GPU this was tuned on).

enable f16;
enable wgpu_cooperative_matrix;

struct Params {
    m: u32,
    n: u32,
    k: u32,
    lda: u32,
    ldb: u32,
    ldc: u32,
    batches: u32,
    batch_a: u32,
    batch_b: u32,
    batch_c: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4<f16>>;

const ROWS = 128u;
const COLUMNS = 256u;
const DEPTH = 16u;
// Pitch of rows of the tiles in vec4s: padded by 8 elements against bank conflicts.
const A_PITCH = 6u;
const B_PITCH = 66u;
// Size of one buffer in vec4s.
const A_SIZE = 768u;
const B_SIZE = 1056u;

var<workgroup> a_tile: array<vec4<f16>, 1536>;
var<workgroup> b_tile: array<vec4<f16>, 2112>;
// One matrix of the result per subgroup, to convert it from f32 to f16.
var<workgroup> result: array<vec4<f32>, 512>;

// Stores two vec4s of a matrix of the result, which starts at `row` and `four` of C.
fn store_c(start: u32, row: u32, four: u32, lane: u32) {
    let source = lane / 32u * 64u + lane % 32u;
    for (var half = 0u; half < 2u; half += 1u) {
        let at = row + lane % 32u / 4u + half * 8u;
        let column = four + lane % 4u;
        if at < params.m && column * 4u < params.n {
            c[start + at * (params.ldc / 4u) + column] = vec4<f16>(result[source + half * 32u]);
        }
    }
}

@compute @workgroup_size(256)
fn matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let start_a = group.z * (params.batch_a / 4u);
    let start_b = group.z * (params.batch_b / 4u);

    // What this invocation loads: two vec4s of A, 64 rows apart, and four of B, 4 rows apart. Out
    // of bounds it loads the last row or column again, for results that are not stored.
    let lda = params.lda / 4u;
    let ldb = params.ldb / 4u;
    let last_row = params.m - 1u;
    let a_row = group.y * ROWS + lane / 4u;
    var a_at0 = start_a + min(a_row, last_row) * lda + lane % 4u;
    var a_at1 = start_a + min(a_row + 64u, last_row) * lda + lane % 4u;
    let a_target = lane / 4u * A_PITCH + lane % 4u;
    let b_four = min(group.x * (COLUMNS / 4u) + lane % 64u, params.n / 4u - 1u);
    var b_at = start_b + lane / 64u * ldb + b_four;
    let b_target = lane / 64u * B_PITCH + lane % 64u;

    // What its subgroup computes: first row, and first column in vec4s.
    let rows = lane / 128u * 64u;
    let columns = lane / 32u % 4u * 16u;
    let a_start = rows * A_PITCH;

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

    var a0 = a[a_at0];
    var a1 = a[a_at1];
    var b0 = b[b_at];
    var b1 = b[b_at + 4u * ldb];
    var b2 = b[b_at + 8u * ldb];
    var b3 = b[b_at + 12u * ldb];
    a_tile[a_target] = a0;
    a_tile[a_target + 64u * A_PITCH] = a1;
    b_tile[b_target] = b0;
    b_tile[b_target + 4u * B_PITCH] = b1;
    b_tile[b_target + 8u * B_PITCH] = b2;
    b_tile[b_target + 12u * B_PITCH] = b3;
    workgroupBarrier();

    for (var k = 0u; k < params.k; k += 4u * DEPTH) {
        // Compilers unroll a loop of two, which saves 5 % of the time.
        for (var pair = 0u; pair < 2u; pair += 1u) {
            a_at0 += DEPTH / 4u;
            a_at1 += DEPTH / 4u;
            b_at += DEPTH * ldb;
            a0 = a[a_at0];
            a1 = a[a_at1];
            b0 = b[b_at];
            b1 = b[b_at + 4u * ldb];
            b2 = b[b_at + 8u * ldb];
            b3 = b[b_at + 12u * ldb];
            {
                let x0 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[a_start], A_PITCH);
                let x1 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[a_start + 16u * A_PITCH], A_PITCH);
                let x2 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[a_start + 32u * A_PITCH], A_PITCH);
                let x3 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[a_start + 48u * A_PITCH], A_PITCH);
                let y0 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[columns], B_PITCH);
                let y1 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[columns + 4u], B_PITCH);
                let y2 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[columns + 8u], B_PITCH);
                let y3 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[columns + 12u], B_PITCH);
                s00 = coopMultiplyAdd(x0, y0, s00);
                s10 = coopMultiplyAdd(x1, y0, s10);
                s20 = coopMultiplyAdd(x2, y0, s20);
                s30 = coopMultiplyAdd(x3, y0, s30);
                s01 = coopMultiplyAdd(x0, y1, s01);
                s11 = coopMultiplyAdd(x1, y1, s11);
                s21 = coopMultiplyAdd(x2, y1, s21);
                s31 = coopMultiplyAdd(x3, y1, s31);
                s02 = coopMultiplyAdd(x0, y2, s02);
                s12 = coopMultiplyAdd(x1, y2, s12);
                s22 = coopMultiplyAdd(x2, y2, s22);
                s32 = coopMultiplyAdd(x3, y2, s32);
                s03 = coopMultiplyAdd(x0, y3, s03);
                s13 = coopMultiplyAdd(x1, y3, s13);
                s23 = coopMultiplyAdd(x2, y3, s23);
                s33 = coopMultiplyAdd(x3, y3, s33);
            }
            a_tile[A_SIZE + a_target] = a0;
            a_tile[A_SIZE + a_target + 64u * A_PITCH] = a1;
            b_tile[B_SIZE + b_target] = b0;
            b_tile[B_SIZE + b_target + 4u * B_PITCH] = b1;
            b_tile[B_SIZE + b_target + 8u * B_PITCH] = b2;
            b_tile[B_SIZE + b_target + 12u * B_PITCH] = b3;
            workgroupBarrier();

            // After the last step there is nothing to prefetch; loading the last one again is
            // harmless.
            let advance = select(0u, DEPTH, k + (pair + 1u) * 2u * DEPTH < params.k);
            a_at0 += advance / 4u;
            a_at1 += advance / 4u;
            b_at += advance * ldb;
            a0 = a[a_at0];
            a1 = a[a_at1];
            b0 = b[b_at];
            b1 = b[b_at + 4u * ldb];
            b2 = b[b_at + 8u * ldb];
            b3 = b[b_at + 12u * ldb];
            {
                let x0 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[A_SIZE + a_start], A_PITCH);
                let x1 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[A_SIZE + a_start + 16u * A_PITCH], A_PITCH);
                let x2 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[A_SIZE + a_start + 32u * A_PITCH], A_PITCH);
                let x3 = coopLoadT<coop_mat16x16<f16, A>>(&a_tile[A_SIZE + a_start + 48u * A_PITCH], A_PITCH);
                let y0 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[B_SIZE + columns], B_PITCH);
                let y1 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[B_SIZE + columns + 4u], B_PITCH);
                let y2 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[B_SIZE + columns + 8u], B_PITCH);
                let y3 = coopLoadT<coop_mat16x16<f16, B>>(&b_tile[B_SIZE + columns + 12u], B_PITCH);
                s00 = coopMultiplyAdd(x0, y0, s00);
                s10 = coopMultiplyAdd(x1, y0, s10);
                s20 = coopMultiplyAdd(x2, y0, s20);
                s30 = coopMultiplyAdd(x3, y0, s30);
                s01 = coopMultiplyAdd(x0, y1, s01);
                s11 = coopMultiplyAdd(x1, y1, s11);
                s21 = coopMultiplyAdd(x2, y1, s21);
                s31 = coopMultiplyAdd(x3, y1, s31);
                s02 = coopMultiplyAdd(x0, y2, s02);
                s12 = coopMultiplyAdd(x1, y2, s12);
                s22 = coopMultiplyAdd(x2, y2, s22);
                s32 = coopMultiplyAdd(x3, y2, s32);
                s03 = coopMultiplyAdd(x0, y3, s03);
                s13 = coopMultiplyAdd(x1, y3, s13);
                s23 = coopMultiplyAdd(x2, y3, s23);
                s33 = coopMultiplyAdd(x3, y3, s33);
            }
            a_tile[a_target] = a0;
            a_tile[a_target + 64u * A_PITCH] = a1;
            b_tile[b_target] = b0;
            b_tile[b_target + 4u * B_PITCH] = b1;
            b_tile[b_target + 8u * B_PITCH] = b2;
            b_tile[b_target + 12u * B_PITCH] = b3;
            workgroupBarrier();
        }
    }

    let start_c = group.z * (params.batch_c / 4u);
    let row = group.y * ROWS + rows;
    let four = group.x * (COLUMNS / 4u) + columns;
    let to = lane / 32u * 64u;
    coopStoreT(s00, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row, four, lane);
    workgroupBarrier();
    coopStoreT(s01, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row, four + 4u, lane);
    workgroupBarrier();
    coopStoreT(s02, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row, four + 8u, lane);
    workgroupBarrier();
    coopStoreT(s03, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row, four + 12u, lane);
    workgroupBarrier();
    coopStoreT(s10, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 16u, four, lane);
    workgroupBarrier();
    coopStoreT(s11, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 16u, four + 4u, lane);
    workgroupBarrier();
    coopStoreT(s12, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 16u, four + 8u, lane);
    workgroupBarrier();
    coopStoreT(s13, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 16u, four + 12u, lane);
    workgroupBarrier();
    coopStoreT(s20, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 32u, four, lane);
    workgroupBarrier();
    coopStoreT(s21, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 32u, four + 4u, lane);
    workgroupBarrier();
    coopStoreT(s22, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 32u, four + 8u, lane);
    workgroupBarrier();
    coopStoreT(s23, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 32u, four + 12u, lane);
    workgroupBarrier();
    coopStoreT(s30, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 48u, four, lane);
    workgroupBarrier();
    coopStoreT(s31, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 48u, four + 4u, lane);
    workgroupBarrier();
    coopStoreT(s32, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 48u, four + 8u, lane);
    workgroupBarrier();
    coopStoreT(s33, &result[to], 4u);
    workgroupBarrier();
    store_c(start_c, row + 48u, four + 12u, lane);
    workgroupBarrier();
}
