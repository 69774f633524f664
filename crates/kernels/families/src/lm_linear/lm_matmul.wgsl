// y = x * W^T for many tokens, in f32. W is dequantized on its way into workgroup memory.
//
// A workgroup of 256 computes 64 tokens x 64 rows, each invocation 4 x 4 of them, 16 columns per
// step.

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<u32>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> tiles: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

const TILE = 64u;
const TOKENS = TILE;
const DEPTH = 16u;
// Pitch of columns of the tiles in vec4s, padded by one against bank conflicts.
const PITCH = 17u;

// Column-major tiles: tokens of x, rows of W.
var<workgroup> x_tile: array<vec4<f32>, 272>;
var<workgroup> w_tile: array<vec4<f32>, 272>;

// Four adjacent weights of a row; `column` counts vec4s.
fn load_weights(row: u32, column: u32) -> vec4<f32> {
    let group = row * (params.columns / 32u) + column / 8u;
    let chunk = column % 8u;
    let v = load_chunk(group, chunk);
    let s = load_scale(group, chunk / 4u);
    return v * s.x + s.y;
}

@compute @workgroup_size(256)
fn lm_matmul(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let matrix = tile_first_row(group.y);
    // Rows past the end are clamped to the last, and their results dropped.
    let row = matrix + min(group.x * TILE + lane / 4u, params.rows - 1u);
    var columns = params.columns;
    if params.experts != 0u {
        // A tile without a pair has no columns. `tiles` is read here, because the kernel rules
        // count results of functions as different between invocations.
        columns = select(0u, columns, tiles[group.y * (TOKENS + 1u) + 1u] < params.tokens);
    }
    let base = tile_x_row(group.y, lane / 4u) * (params.x_stride / 4u);
    // Loads one vec4 of each operand: its column in the tile, then the vec4 and the component of its
    // row.
    let column = lane % 4u * 4u;
    let tile_vec4 = lane / 16u;
    let component = lane / 4u % 4u;

    let token_vec4 = lane / 16u;
    let row_vec4 = lane % 16u;
    var sums0 = vec4<f32>();
    var sums1 = vec4<f32>();
    var sums2 = vec4<f32>();
    var sums3 = vec4<f32>();
    for (var k = 0u; k < columns; k += DEPTH) {
        let at = k / 4u + lane % 4u;
        let v = x[base + at];
        let w = load_weights(row, at);
        workgroupBarrier();
        for (var i = 0u; i < 4u; i += 1u) {
            x_tile[(column + i) * PITCH + tile_vec4][component] = v[i];
            w_tile[(column + i) * PITCH + tile_vec4][component] = w[i];
        }
        workgroupBarrier();
        for (var c = 0u; c < DEPTH; c += 1u) {
            let a = x_tile[c * PITCH + token_vec4];
            let b = w_tile[c * PITCH + row_vec4];
            sums0 += a.x * b;
            sums1 += a.y * b;
            sums2 += a.z * b;
            sums3 += a.w * b;
        }
    }

    let first = group.x * TILE + row_vec4 * 4u;
    for (var t = 0u; t < 4u; t += 1u) {
        let to = tile_token(group.y, token_vec4 * 4u + t);
        if to < params.tokens {
            var sum = sums0;
            if t == 1u {
                sum = sums1;
            } else if t == 2u {
                sum = sums2;
            } else if t == 3u {
                sum = sums3;
            }
            if (params.flags & GATE) != 0u {
                if first < params.rows {
                    epilogue_gated(to, first, matrix, sum.xy);
                }
                if first + 2u < params.rows {
                    epilogue_gated(to, first + 2u, matrix, sum.zw);
                }
            } else {
                for (var r = 0u; r < 4u; r += 1u) {
                    if first + r < params.rows {
                        epilogue(to, first + r, matrix, sum[r]);
                    }
                }
            }
        }
    }
}
