// `Weight` is the type of the weights, f32 or f16; sums are f32.
//
// y[n, m, o] = sum over c, k of x[n, c, o * stride - pad + k * dilation] * w[m, c, k], in up to
// three dimensions.
//
// In `conv` an invocation computes four adjacent outputs of a row. It is for few channels per
// group, which would leave tiles mostly empty, and for irregular shapes. `conv_tiled` is a matrix
// product, for two dimensions. `conv_split_k` splits its sums over workgroups, for few pixels of
// many channels, where the tiles alone would leave most of a GPU idle.

enable f16;

// For the tiled form: sums part of the terms, to be reduced by `conv_split_k_reduce`.
override PARTIAL: bool = false;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<Weight>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const STRIP = 4u;

// Coordinate in x of element k of the window at o. Negative coordinates wrap to values past the
// end, so one comparison tests both bounds.
fn position(d: u32, o: u32, k: u32) -> u32 {
    return u32(i32(o * params.stride[d] + k * params.dilation[d]) - params.pad[d]);
}

@compute @workgroup_size(256)
fn conv(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let in_group = params.in_channels / params.groups;
    let out_group = params.out_channels / params.groups;
    let taps = params.kernel[0] * params.kernel[1] * params.kernel[2];
    let plane = params.input[0] * params.input[1] * params.input[2];
    let width = params.output[2];
    let strips = (width + STRIP - 1u) / STRIP;
    let count = params.batch * params.out_channels * params.output[0] * params.output[1] * strips;
    for (var i = id.x; i < count; i += groups.x * 256u) {
        let row = i / strips;
        let o2 = i % strips * STRIP;
        let o1 = row % params.output[1];
        var rest = row / params.output[1];
        let o0 = rest % params.output[0];
        rest = rest / params.output[0];
        let m = rest % params.out_channels;
        let batch = rest / params.out_channels;
        let start_x = (batch * params.in_channels + m / out_group * in_group) * plane;
        let start_w = m * in_group * taps;
        var sums = vec4<f32>();
        for (var k0 = 0u; k0 < params.kernel[0]; k0 += 1u) {
            let i0 = position(0u, o0, k0);
            if i0 >= params.input[0] {
                continue;
            }
            for (var k1 = 0u; k1 < params.kernel[1]; k1 += 1u) {
                let i1 = position(1u, o1, k1);
                if i1 >= params.input[1] {
                    continue;
                }
                for (var k2 = 0u; k2 < params.kernel[2]; k2 += 1u) {
                    let step = params.stride[2];
                    let positions = vec4<u32>(position(2u, o2, k2)) + vec4<u32>(0u, step, 2u * step, 3u * step);
                    let inside = positions < vec4<u32>(params.input[2]);
                    if !any(inside) {
                        continue;
                    }
                    // Out-of-bounds taps read the last element with weight zero.
                    let clamped = min(positions, vec4<u32>(params.input[2] - 1u));
                    var at_x = start_x + (i0 * params.input[1] + i1) * params.input[2];
                    var at_w = start_w + (k0 * params.kernel[1] + k1) * params.kernel[2] + k2;
                    for (var c = 0u; c < in_group; c += 1u) {
                        let values = vec4<f32>(x[at_x + clamped.x], x[at_x + clamped.y], x[at_x + clamped.z], x[at_x + clamped.w]);
                        sums += f32(w[at_w]) * select(vec4<f32>(), values, inside);
                        at_x += plane;
                        at_w += taps;
                    }
                }
            }
        }
        let at = row * width + o2;
        epilogue(at, m, sums.x);
        if o2 + 1u < width {
            epilogue(at + 1u, m, sums.y);
        }
        if o2 + 2u < width {
            epilogue(at + 2u, m, sums.z);
        }
        if o2 + 3u < width {
            epilogue(at + 3u, m, sums.w);
        }
    }
}

// y = w * patches: a row of the patch matrix (im2col) is one channel and window position, a column
// is one pixel of one batch. Patches are gathered on the fly.
//
// As in matmul.wgsl, a workgroup of 256 computes a tile of 64 channels x 64 pixels, each invocation
// a block of 4 x 4 in registers. Tiles pass through workgroup memory in steps of 16, and the next
// step's elements are prefetched. z enumerates groups of channels and, within each, the splits.

const TILE = 64u;
const DEPTH = 16u;
const BLOCKS = 16u;
// One more than BLOCKS: invocations write A with k running fastest, and the padding avoids bank
// conflicts.
const A_PITCH = 17u;

var<workgroup> a_tile: array<vec4<f32>, 272>;
var<workgroup> b_tile: array<vec4<f32>, 256>;

// Four channels of one column of the weights; zero out of bounds.
fn load_a(start: u32, row: u32, rows: u32, column: u32, depth: u32, end: u32) -> vec4<f32> {
    let at = start + row * depth + column;
    var v = vec4<f32>();
    if column >= end {
        return v;
    }
    if row < rows {
        v.x = f32(w[at]);
    }
    if row + 1u < rows {
        v.y = f32(w[at + depth]);
    }
    if row + 2u < rows {
        v.z = f32(w[at + 2u * depth]);
    }
    if row + 3u < rows {
        v.w = f32(w[at + 3u * depth]);
    }
    return v;
}

// An element of a plane of x; zero out of bounds. Negative coordinates wrap to values past the end.
fn load_x(plane: u32, row: u32, column: u32) -> f32 {
    if row < params.input[1] && column < params.input[2] {
        return x[plane + row * params.input[2] + column];
    }
    return 0.0;
}

// One row of the patch matrix for four pixels, given by the offsets of their batches in x and of
// their windows.
fn load_b(starts: vec4<u32>, rows: vec4<u32>, columns: vec4<u32>, k: u32, end: u32) -> vec4<f32> {
    if k >= end {
        return vec4<f32>();
    }
    let kernel_width = params.kernel[2];
    let taps = params.kernel[1] * kernel_width;
    let tap = k % taps;
    let planes = starts + vec4<u32>(k / taps * (params.input[1] * params.input[2]));
    let row = rows + vec4<u32>(tap / kernel_width * params.dilation[1]);
    let column = columns + vec4<u32>(tap % kernel_width * params.dilation[2]);
    return vec4<f32>(
        load_x(planes.x, row.x, column.x),
        load_x(planes.y, row.y, column.y),
        load_x(planes.z, row.z, column.z),
        load_x(planes.w, row.w, column.w),
    );
}

// Stores four pixels of one channel; out-of-bounds pixels are skipped.
fn store(targets: vec4<u32>, pixel: u32, pixels: u32, row: u32, rows: u32, first: u32, sums: vec4<f32>) {
    if row >= rows {
        return;
    }
    let channel = first + row;
    let at = targets + vec4<u32>(channel * (params.output[1] * params.output[2]));
    if pixel < pixels {
        epilogue(at.x, channel, sums.x);
    }
    if pixel + 1u < pixels {
        epilogue(at.y, channel, sums.y);
    }
    if pixel + 2u < pixels {
        epilogue(at.z, channel, sums.z);
    }
    if pixel + 3u < pixels {
        epilogue(at.w, channel, sums.w);
    }
}

@compute @workgroup_size(256)
fn conv_tiled(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let lane_x = lane % BLOCKS;
    let lane_y = lane / BLOCKS;
    let in_group = params.in_channels / params.groups;
    let rows = params.out_channels / params.groups;
    let depth = in_group * params.kernel[1] * params.kernel[2];
    let row = group.y * TILE + lane_y * 4u;
    let split = select(0u, group.z % params.parts, PARTIAL);
    let channel_group = select(group.z, group.z / params.parts, PARTIAL);
    let start_w = channel_group * rows * depth;
    // Steps of the depth per split.
    let split_depth = select(depth, (depth + params.parts * DEPTH - 1u) / (params.parts * DEPTH) * DEPTH, PARTIAL);
    let begin = split * split_depth;
    let end = min(depth, begin + split_depth);

    let area = params.output[1] * params.output[2];
    let pixels = params.batch * area;
    let pixel = group.x * TILE + lane_x * 4u;
    let pixel_index = vec4<u32>(pixel) + vec4<u32>(0u, 1u, 2u, 3u);
    let batch = pixel_index / vec4<u32>(area);
    let plane_offset = pixel_index % vec4<u32>(area);
    let starts = (batch * params.in_channels + vec4<u32>(channel_group * in_group)) * (params.input[1] * params.input[2]);
    let output_width = vec4<u32>(params.output[2]);
    // The window of a pixel past the last one is past the end of every plane.
    let top = plane_offset / output_width * params.stride[1] - vec4<u32>(bitcast<u32>(params.pad[1]));
    let tops = select(vec4<u32>(0x80000000u), top, pixel_index < vec4<u32>(pixels));
    let lefts = plane_offset % output_width * params.stride[2] - vec4<u32>(bitcast<u32>(params.pad[2]));

    var next_a = load_a(start_w, row, rows, begin + lane_x, depth, end);
    var next_b = load_b(starts, tops, lefts, begin + lane_y, end);
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();

    for (var k = begin; k < end; k += DEPTH) {
        a_tile[lane_x * A_PITCH + lane_y] = next_a;
        b_tile[lane_y * BLOCKS + lane_x] = next_b;
        workgroupBarrier();
        next_a = load_a(start_w, row, rows, k + DEPTH + lane_x, depth, end);
        next_b = load_b(starts, tops, lefts, k + DEPTH + lane_y, end);
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

    let first = channel_group * rows;
    let targets = (split * params.batch + batch) * (params.out_channels * area) + plane_offset;
    store(targets, pixel, pixels, row, rows, first, sum0);
    store(targets, pixel, pixels, row + 1u, rows, first, sum1);
    store(targets, pixel, pixels, row + 2u, rows, first, sum2);
    store(targets, pixel, pixels, row + 3u, rows, first, sum3);
}
