// Quantizes rows of x to signed bytes with one scale per group of 32 columns, for
// `lm_matvec8_i8.wgsl`. A group is twelve words: eight of codes, the scale, the scaled sums of the
// codes of its halves, and padding. An invocation quantizes four columns.

struct Params {
    tokens: u32,
    columns: u32,
    x_stride: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

var<workgroup> max_abs: array<f32, 256>;
var<workgroup> sums: array<i32, 256>;

@compute @workgroup_size(256)
fn lm_quantize_i8(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row_vec4s = params.columns / 4u;
    let token = group.y;
    let at = group.x * 256u + lane;
    let v = select(vec4<f32>(), x[token * (params.x_stride / 4u) + min(at, row_vec4s - 1u)], at < row_vec4s);
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
            let scale = group_max / 127.0;
            let low = (sums[first] + sums[first + 1u]) + (sums[first + 2u] + sums[first + 3u]);
            let high = (sums[first + 4u] + sums[first + 5u]) + (sums[first + 6u] + sums[first + 7u]);
            y[to + 8u] = bitcast<u32>(scale);
            y[to + 9u] = bitcast<u32>(scale * f32(low));
            y[to + 10u] = bitcast<u32>(scale * f32(high));
            y[to + 11u] = 0u;
        }
    }
}
