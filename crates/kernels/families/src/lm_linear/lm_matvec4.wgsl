// y = W * x for a small batch of tokens; memory-bound: W is read once per four tokens.
//
// A workgroup of 128 computes eight rows: four teams of 32 invocations compute two rows each, and
// each invocation processes a group of 32 columns per step. Sums are reduced in workgroup memory at
// the end, without subgroups. The kind of weights defines `code_products`.

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> codes: array<Codes>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

// Sums of two rows per invocation.
var<workgroup> partials: array<vec2<f32>, 128>;

// The eight vec4s of a row of x that a group of columns is multiplied with.
struct XGroup {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
    e: vec4<f32>,
    f: vec4<f32>,
    g: vec4<f32>,
    h: vec4<f32>,
}

fn load_x_group(at: u32) -> XGroup {
    return XGroup(x[at], x[at + 1u], x[at + 2u], x[at + 3u], x[at + 4u], x[at + 5u], x[at + 6u], x[at + 7u]);
}

// Sums of the first and of the last 16 columns of a group, for codes with an offset.
fn half_group_sums(v: XGroup) -> vec2<f32> {
    if !has_offset() {
        return vec2<f32>();
    }
    let first = (v.a + v.b) + (v.c + v.d);
    let second = (v.e + v.f) + (v.g + v.h);
    return vec2<f32>((first.x + first.y) + (first.z + first.w), (second.x + second.y) + (second.z + second.w));
}

// A group of a row times x.
fn group_dot(group: u32, v: XGroup, x_sums: vec2<f32>) -> f32 {
    let products = code_products(group, v);
    let first = load_scale(group, 0u);
    if has_half_scales() {
        let second = load_scale(group, 1u);
        return (first.x * products.x + first.y * x_sums.x) + (second.x * products.y + second.y * x_sums.y);
    }
    return first.x * (products.x + products.y) + first.y * (x_sums.x + x_sums.y);
}

// Offset of a token's row of x in vec4s.
fn x_row(token: u32) -> u32 {
    return min(token, params.tokens - 1u) * (params.x_stride / 4u);
}

// Contribution of a group to the sums of two rows.
fn two_row_dot(row0: u32, row1: u32, v: XGroup) -> vec2<f32> {
    let x_sums = half_group_sums(v);
    return vec2<f32>(group_dot(row0, v, x_sums), group_dot(row1, v, x_sums));
}

// Reduces the sums of the teams and applies the epilogue to the tile.
fn reduce_and_store(token: u32, tile: u32, lane: u32) {
    if lane < 4u && token < params.tokens {
        var sum = vec2<f32>();
        for (var i = 0u; i < 32u; i += 1u) {
            sum += partials[lane * 32u + i];
        }
        let row = tile + lane * 2u;
        if row < params.rows {
            if (params.flags & GATE) != 0u {
                epilogue_gated(token, row, 0u, sum);
            } else {
                epilogue(token, row, 0u, sum.x);
                if row + 1u < params.rows {
                    epilogue(token, row + 1u, 0u, sum.y);
                }
            }
        }
    }
}

@compute @workgroup_size(128)
fn lm_matvec4(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let groups_per_row = params.columns / 32u;
    let token = group.y * 4u;
    let x_row0 = x_row(token);
    let x_row1 = x_row(token + 1u);
    let x_row2 = x_row(token + 2u);
    let x_row3 = x_row(token + 3u);
    for (var tile = group.x * 8u; tile < params.rows; tile += groups.x * 8u) {
        // Rows past the end are clamped to the last, and their results dropped.
        let row = tile + lane / 32u * 2u;
        let row0 = min(row, params.rows - 1u) * groups_per_row;
        let row1 = min(row + 1u, params.rows - 1u) * groups_per_row;
        var sums0 = vec2<f32>();
        var sums1 = vec2<f32>();
        var sums2 = vec2<f32>();
        var sums3 = vec2<f32>();
        for (var at = lane % 32u; at < groups_per_row; at += 32u) {
            sums0 += two_row_dot(row0 + at, row1 + at, load_x_group(x_row0 + at * 8u));
            sums1 += two_row_dot(row0 + at, row1 + at, load_x_group(x_row1 + at * 8u));
            sums2 += two_row_dot(row0 + at, row1 + at, load_x_group(x_row2 + at * 8u));
            sums3 += two_row_dot(row0 + at, row1 + at, load_x_group(x_row3 + at * 8u));
        }
        partials[lane] = sums0;
        workgroupBarrier();
        reduce_and_store(token, tile, lane);
        workgroupBarrier();
        partials[lane] = sums1;
        workgroupBarrier();
        reduce_and_store(token + 1u, tile, lane);
        workgroupBarrier();
        partials[lane] = sums2;
        workgroupBarrier();
        reduce_and_store(token + 2u, tile, lane);
        workgroupBarrier();
        partials[lane] = sums3;
        workgroupBarrier();
        reduce_and_store(token + 3u, tile, lane);
        workgroupBarrier();
    }
}
