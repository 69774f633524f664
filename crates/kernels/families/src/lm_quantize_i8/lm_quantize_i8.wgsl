// Quantizes rows of x to signed bytes with one scale per group of 32 columns, for
// `lm_matvec8_i8.wgsl`. A group is twelve words: eight of codes, the scale, the scaled sums of the
// codes of its halves, and padding. An invocation quantizes four columns.
//
// RMS norm may be fused. Codes do not depend on the root mean square, by which only scales are
// divided. Each workgroup computes that of the whole row.

struct Params {
    tokens: u32,
    columns: u32,
    x_stride: u32,
    // Columns of the mean square, without padding; 0 without a norm.
    model_columns: u32,
    epsilon: f32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

var<workgroup> max_abs: array<f32, 256>;
var<workgroup> sums: array<i32, 256>;
var<workgroup> totals: array<vec4<f32>, 4>;

fn masked_square(v: vec4<f32>, is_valid: bool) -> f32 {
    return select(0.0, dot(v, v), is_valid);
}

// An invocation's part of the sum of squares of a row; four reads are in flight.
fn square_sum(start: u32, row_vec4s: u32, lane: u32) -> f32 {
    var sum = 0.0;
    for (var i = lane; i < row_vec4s; i += 1024u) {
        let at = vec4<u32>(i) + vec4<u32>(0u, 256u, 512u, 768u);
        let index = min(at, vec4<u32>(row_vec4s - 1u)) + vec4<u32>(start);
        let in_row = at < vec4<u32>(row_vec4s);
        let low = masked_square(x[index.x], in_row.x) + masked_square(x[index.y], in_row.y);
        sum += low + (masked_square(x[index.z], in_row.z) + masked_square(x[index.w], in_row.w));
    }
    return sum;
}

@compute @workgroup_size(256)
fn lm_quantize_i8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row_vec4s = params.columns / 4u;
    let token = group.y;
    let at = group.x * 256u + lane;
    let start = token * (params.x_stride / 4u);
    let column = min(at, row_vec4s - 1u);
    var v = select(vec4<f32>(), x[start + column], at < row_vec4s);
    var squares = 0.0;
    if params.model_columns != 0u {
        v *= norm[column];
        squares = square_sum(start, row_vec4s, lane);
    }
    // Also without a norm: PoCL miscompiles a barrier in a branch.
    max_abs[lane] = squares;
    workgroupBarrier();
    if lane < 16u {
        var sum = 0.0;
        for (var i = 0u; i < 16u; i += 1u) {
            sum += max_abs[lane + 16u * i];
        }
        totals[lane / 4u][lane % 4u] = sum;
    }
    workgroupBarrier();
    var factor = 1.0;
    if params.model_columns != 0u {
        let total = (totals[0] + totals[1]) + (totals[2] + totals[3]);
        let mean = ((total.x + total.y) + (total.z + total.w)) / f32(params.model_columns);
        factor = 1.0 / sqrt(mean + params.epsilon);
    }
    let a = abs(v);
    max_abs[lane] = max(max(a.x, a.y), max(a.z, a.w));
    workgroupBarrier();
    let first = lane - lane % 8u;
    let low_max = max(max(max_abs[first], max_abs[first + 1u]), max(max_abs[first + 2u], max_abs[first + 3u]));
    let high_max = max(max(max_abs[first + 4u], max_abs[first + 5u]), max(max_abs[first + 6u], max_abs[first + 7u]));
    let group_max = max(low_max, high_max);
    let inverse = select(0.0, 127.0 / group_max, group_max > 0.0);
    let code = vec4<i32>(round(v * inverse));
    sums[lane] = (code.x + code.y) + (code.z + code.w);
    workgroupBarrier();
    if at < row_vec4s {
        let to = (token * (params.columns / 32u) + at / 8u) * 12u;
        y[to + at % 8u] = pack4xI8(code);
        if lane % 8u == 0u {
            let scale = group_max / 127.0 * factor;
            let low = (sums[first] + sums[first + 1u]) + (sums[first + 2u] + sums[first + 3u]);
            let high = (sums[first + 4u] + sums[first + 5u]) + (sums[first + 6u] + sums[first + 7u]);
            y[to + 8u] = bitcast<u32>(scale);
            y[to + 9u] = bitcast<u32>(scale * f32(low));
            y[to + 10u] = bitcast<u32>(scale * f32(high));
            y[to + 11u] = 0u;
        }
    }
}
