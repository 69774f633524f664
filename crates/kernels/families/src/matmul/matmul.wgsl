// C[b] = A[b] * B[b], row-major. `Element` is the element type of A and `Weight` that of B (f32 or
// f16); sums are f32. Constants and epilogue come from matmul_epilogue.wgsl or
// linear_epilogue.wgsl.
//
// A workgroup of 256 computes a tile of 64 x 64, each invocation a block of 4 x 4 in registers.
// Tiles of A and B pass through workgroup memory as f32 in steps of 16 along k; the next step's
// elements are prefetched into registers. A is stored as columns of four rows, so that one k costs
// an invocation two 16-byte reads for sixteen multiply-adds.

enable f16;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<Element>;
@group(0) @binding(1) var<storage, read> b: array<Weight>;

const TILE = 64u;
const DEPTH = 16u;
const BLOCKS = 16u;
// One more than BLOCKS: invocations write A with k running fastest, and the padding avoids bank
// conflicts.
const A_PITCH = 17u;

var<workgroup> a_tile: array<vec4<f32>, 272>;
var<workgroup> b_tile: array<vec4<f32>, 256>;

// Four rows of one column of A; zero out of bounds.
fn load_a(start: u32, row: u32, column: u32) -> vec4<f32> {
    let at = start + row * params.lda + column;
    var v = vec4<f32>();
    if column >= params.k {
        return v;
    }
    if row + 3u < params.m {
        return vec4<f32>(
            f32(a[at]),
            f32(a[at + params.lda]),
            f32(a[at + 2u * params.lda]),
            f32(a[at + 3u * params.lda]),
        );
    }
    if row < params.m {
        v.x = f32(a[at]);
    }
    if row + 1u < params.m {
        v.y = f32(a[at + params.lda]);
    }
    if row + 2u < params.m {
        v.z = f32(a[at + 2u * params.lda]);
    }
    return v;
}

// Four columns of one row of B; zero out of bounds.
fn load_b(start: u32, row: u32, column: u32) -> vec4<f32> {
    let at = start + row * params.ldb + column;
    var v = vec4<f32>();
    if row >= params.k {
        return v;
    }
    if column + 3u < params.n {
        return vec4<f32>(f32(b[at]), f32(b[at + 1u]), f32(b[at + 2u]), f32(b[at + 3u]));
    }
    if column < params.n {
        v.x = f32(b[at]);
    }
    if column + 1u < params.n {
        v.y = f32(b[at + 1u]);
    }
    if column + 2u < params.n {
        v.z = f32(b[at + 2u]);
    }
    return v;
}

// Stores four columns of one row of C; out-of-bounds columns are skipped.
fn store_c(start: u32, row: u32, column: u32, v: vec4<f32>) {
    if row >= params.m {
        return;
    }
    let at = start + row * params.ldc + column;
    if column < params.n {
        epilogue(at, column, v.x);
    }
    if column + 1u < params.n {
        epilogue(at + 1u, column + 1u, v.y);
    }
    if column + 2u < params.n {
        epilogue(at + 2u, column + 2u, v.z);
    }
    if column + 3u < params.n {
        epilogue(at + 3u, column + 3u, v.w);
    }
}

@compute @workgroup_size(256)
fn matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let lane_x = lane % BLOCKS;
    let lane_y = lane / BLOCKS;
    let start_a = group.z * params.batch_a;
    let start_b = group.z * params.batch_b;
    let row = group.y * TILE + lane_y * 4u;
    let column = group.x * TILE + lane_x * 4u;

    var next_a = load_a(start_a, row, lane_x);
    var next_b = load_b(start_b, lane_y, column);
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();

    for (var k = 0u; k < params.k; k += DEPTH) {
        a_tile[lane_x * A_PITCH + lane_y] = next_a;
        b_tile[lane_y * BLOCKS + lane_x] = next_b;
        workgroupBarrier();
        next_a = load_a(start_a, row, k + DEPTH + lane_x);
        next_b = load_b(start_b, k + DEPTH + lane_y, column);
        // Two loops: compilers unroll the short one, but would not unroll sixteen iterations.
        for (var i = 0u; i < DEPTH; i += 4u) {
            for (var j = 0u; j < 4u; j += 1u) {
                let av = a_tile[(i + j) * A_PITCH + lane_y];
                let bv = b_tile[(i + j) * BLOCKS + lane_x];
                sum0 += av.x * bv;
                sum1 += av.y * bv;
                sum2 += av.z * bv;
                sum3 += av.w * bv;
            }
        }
        workgroupBarrier();
    }

    let start_c = group.z * params.batch_c;
    store_c(start_c, row, column, sum0);
    store_c(start_c, row + 1u, column, sum1);
    store_c(start_c, row + 2u, column, sum2);
    store_c(start_c, row + 3u, column, sum3);
    if has_activation() {
        for (var i = 0u; i < 16u; i += 1u) {
            let c_row = row + i / 4u;
            let c_column = column + i % 4u;
            if c_row < params.m && c_column < params.n {
                apply_activation(start_c + c_row * params.ldc + c_column);
            }
        }
    }
}
