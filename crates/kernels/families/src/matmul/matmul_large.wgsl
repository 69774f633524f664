// C[b] = A[b] * B[b], row-major, for large matrices whose n, leading dimensions and batch strides
// are multiples of four and whose k is a multiple of eight. `Element` is the element type of A and
// `Weight` that of B (four f32 or four f16); sums are f32. Constants and epilogue come from
// matmul_epilogue.wgsl or linear_epilogue.wgsl.
//
// A workgroup of 256 computes a tile of 128 x 128 in steps of 8 along k; the next step's elements
// are prefetched into registers. Every 32 invocations compute 32 x 64 of the tile, each invocation
// four separate blocks of 4 x 4, so that adjacent invocations read adjacent words: one k costs an
// invocation four 16-byte reads for 64 multiply-adds.

enable f16;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<Element>;
@group(0) @binding(1) var<storage, read> b: array<Weight>;

const TILE = 128u;
const DEPTH = 8u;
// Columns of the tile of B, and rows of the tile of A, in vec4s.
const TILE_VEC4S = 32u;
// One more: invocations write A by columns, and the padding avoids bank conflicts.
const A_PITCH = 33u;

// A is stored as columns of four rows, B as rows of four columns.
var<workgroup> a_tile: array<vec4<f32>, 264>;
var<workgroup> b_tile: array<vec4<f32>, 256>;

// Stores four columns of one row of C; out-of-bounds columns are skipped. `four` is the column in
// vec4s.
fn store_c(start: u32, row: u32, four: u32, v: vec4<f32>) {
    if row < params.m && four * 4u < params.n {
        epilogue(start + row * (params.ldc / 4u) + four, four, v);
    }
}

// Adds the outer product of one column of A and one row of B to the sums. Unrolled by calls,
// because compilers differ in whether they unroll a loop; a rolled one costs 20 %.
fn multiply(sums: ptr<function, array<vec4<f32>, 16>>, k: u32, rows: u32, columns: u32) {
    let a_low = a_tile[k * A_PITCH + rows];
    let a_high = a_tile[k * A_PITCH + rows + 4u];
    let b_low = b_tile[k * TILE_VEC4S + columns];
    let b_high = b_tile[k * TILE_VEC4S + columns + 8u];
    (*sums)[0] += a_low.x * b_low;
    (*sums)[1] += a_low.x * b_high;
    (*sums)[2] += a_low.y * b_low;
    (*sums)[3] += a_low.y * b_high;
    (*sums)[4] += a_low.z * b_low;
    (*sums)[5] += a_low.z * b_high;
    (*sums)[6] += a_low.w * b_low;
    (*sums)[7] += a_low.w * b_high;
    (*sums)[8] += a_high.x * b_low;
    (*sums)[9] += a_high.x * b_high;
    (*sums)[10] += a_high.y * b_low;
    (*sums)[11] += a_high.y * b_high;
    (*sums)[12] += a_high.z * b_low;
    (*sums)[13] += a_high.z * b_high;
    (*sums)[14] += a_high.w * b_low;
    (*sums)[15] += a_high.w * b_high;
}

@compute @workgroup_size(256)
fn matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let start_a = group.z * (params.batch_a / 4u);
    let start_b = group.z * (params.batch_b / 4u);

    // What this invocation loads: four columns of a row of A, four columns of a row of B. Out of
    // bounds it loads the last row or column again, for results that are not stored.
    let ldb = params.ldb / 4u;
    let a_row = lane / 2u;
    let a_four = lane % 2u;
    var a_at = start_a + min(group.y * TILE + a_row, params.m - 1u) * (params.lda / 4u) + a_four;
    var b_at = start_b + lane / TILE_VEC4S * ldb + min(group.x * TILE_VEC4S + lane % TILE_VEC4S, params.n / 4u - 1u);
    var next_a = vec4<f32>(a[a_at]);
    var next_b = vec4<f32>(b[b_at]);

    // What it computes: the row and column of its first block, in vec4s. Its other blocks are four
    // vec4s further in rows, eight in columns, or both.
    let quadrant = lane / 32u;
    let rows = quadrant / 2u * 8u + lane % 32u / 8u;
    let columns = quadrant % 2u * 16u + lane % 8u;
    var sums = array<vec4<f32>, 16>();

    for (var k = 0u; k < params.k; k += DEPTH) {
        let to = a_four * 4u * A_PITCH + a_row / 4u;
        let component = a_row % 4u;
        a_tile[to][component] = next_a.x;
        a_tile[to + A_PITCH][component] = next_a.y;
        a_tile[to + 2u * A_PITCH][component] = next_a.z;
        a_tile[to + 3u * A_PITCH][component] = next_a.w;
        b_tile[lane] = next_b;
        workgroupBarrier();
        if k + DEPTH < params.k {
            a_at += DEPTH / 4u;
            b_at += DEPTH * ldb;
            next_a = vec4<f32>(a[a_at]);
            next_b = vec4<f32>(b[b_at]);
        }
        multiply(&sums, 0u, rows, columns);
        multiply(&sums, 1u, rows, columns);
        multiply(&sums, 2u, rows, columns);
        multiply(&sums, 3u, rows, columns);
        multiply(&sums, 4u, rows, columns);
        multiply(&sums, 5u, rows, columns);
        multiply(&sums, 6u, rows, columns);
        multiply(&sums, 7u, rows, columns);
        workgroupBarrier();
    }

    let start_c = group.z * (params.batch_c / 4u);
    let row = group.y * TILE + rows * 4u;
    let four = group.x * TILE_VEC4S + columns;
    store_c(start_c, row, four, sums[0]);
    store_c(start_c, row, four + 8u, sums[1]);
    store_c(start_c, row + 1u, four, sums[2]);
    store_c(start_c, row + 1u, four + 8u, sums[3]);
    store_c(start_c, row + 2u, four, sums[4]);
    store_c(start_c, row + 2u, four + 8u, sums[5]);
    store_c(start_c, row + 3u, four, sums[6]);
    store_c(start_c, row + 3u, four + 8u, sums[7]);
    store_c(start_c, row + 16u, four, sums[8]);
    store_c(start_c, row + 16u, four + 8u, sums[9]);
    store_c(start_c, row + 17u, four, sums[10]);
    store_c(start_c, row + 17u, four + 8u, sums[11]);
    store_c(start_c, row + 18u, four, sums[12]);
    store_c(start_c, row + 18u, four + 8u, sums[13]);
    store_c(start_c, row + 19u, four, sums[14]);
    store_c(start_c, row + 19u, four + 8u, sums[15]);
    if has_activation() {
        for (var i = 0u; i < 16u; i += 1u) {
            let c_row = row + i / 8u * 16u + i / 2u % 4u;
            let c_four = four + i % 2u * 8u;
            if c_row < params.m && c_four * 4u < params.n {
                apply_activation(start_c + c_row * (params.ldc / 4u) + c_four);
            }
        }
    }
}
