// `Weight` is what the weights are, f32 or f16; sums are f32.
//
// y[n, m, o] = sum over c, k of x[n, c, o * stride - pad + k * dilation] * w[m, c, k], in up to three dimensions.
//
// `conv` has one invocation four neighbours of a row of y: for few channels a group, where a tile would stand empty, and for
// odd shapes. `conv_tiled` is a matrix product, for two dimensions; `conv_partial` cuts its sums into parts, which are
// workgroups of their own: for few pixels of many channels, whose tiles alone would leave most of a GPU idle.

enable f16;

// Of the tiled form: a part of the terms alone, for `conv_join` to add up.
override PARTIAL: bool = false;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<Weight>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

const STRIP = 4u;

// Where element k of the window at o lies in a dimension of x; beyond the end for what is outside of it, as below zero is.
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
                    let places = vec4<u32>(position(2u, o2, k2)) + vec4<u32>(0u, step, 2u * step, 3u * step);
                    let inside = places < vec4<u32>(params.input[2]);
                    if !any(inside) {
                        continue;
                    }
                    // What is outside reads the last element, and counts for nothing.
                    let held = min(places, vec4<u32>(params.input[2] - 1u));
                    var at_x = start_x + (i0 * params.input[1] + i1) * params.input[2];
                    var at_w = start_w + (k0 * params.kernel[1] + k1) * params.kernel[2] + k2;
                    for (var c = 0u; c < in_group; c += 1u) {
                        let values = vec4<f32>(x[at_x + held.x], x[at_x + held.y], x[at_x + held.z], x[at_x + held.w]);
                        sums += f32(w[at_w]) * select(vec4<f32>(), values, inside);
                        at_x += plane;
                        at_w += taps;
                    }
                }
            }
        }
        let at = row * width + o2;
        finish(at, m, sums.x);
        if o2 + 1u < width {
            finish(at + 1u, m, sums.y);
        }
        if o2 + 2u < width {
            finish(at + 2u, m, sums.z);
        }
        if o2 + 3u < width {
            finish(at + 3u, m, sums.w);
        }
    }
}

// y = w * patches, where a row of the patches is one channel and place in the window, and a column is one pixel of one
// batch. Patches are gathered as they are needed.
//
// As in matmul.wgsl, a workgroup of 256 computes a tile of 64 channels x 64 pixels, each invocation a block of 4 x 4 in
// registers; tiles pass through workgroup memory in steps of 16, and the next step's elements are fetched meanwhile.
// Groups of channels are in z, and each group's parts.

const TILE = 64u;
const DEPTH = 16u;
const BLOCKS = 16u;
// One more than BLOCKS: invocations write A with k running fastest, and must not meet in one memory bank.
const A_PITCH = 17u;

var<workgroup> a_tile: array<vec4<f32>, 272>;
var<workgroup> b_tile: array<vec4<f32>, 256>;

// Four channels of one column of the weights; zero outside.
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

// An element of a plane of x; zero outside. Below zero is far above the end.
fn load_x(plane: u32, row: u32, column: u32) -> f32 {
    if row < params.input[1] && column < params.input[2] {
        return x[plane + row * params.input[2] + column];
    }
    return 0.0;
}

// One row of the patches for four pixels, which are given by the starts of their batches in x and of their windows.
fn load_b(starts: vec4<u32>, rows: vec4<u32>, columns: vec4<u32>, k: u32, end: u32) -> vec4<f32> {
    if k >= end {
        return vec4<f32>();
    }
    let across = params.kernel[2];
    let taps = params.kernel[1] * across;
    let tap = k % taps;
    let planes = starts + vec4<u32>(k / taps * (params.input[1] * params.input[2]));
    let row = rows + vec4<u32>(tap / across * params.dilation[1]);
    let column = columns + vec4<u32>(tap % across * params.dilation[2]);
    return vec4<f32>(
        load_x(planes.x, row.x, column.x),
        load_x(planes.y, row.y, column.y),
        load_x(planes.z, row.z, column.z),
        load_x(planes.w, row.w, column.w),
    );
}

// Four pixels of one channel; nothing outside.
fn store(targets: vec4<u32>, pixel: u32, pixels: u32, row: u32, rows: u32, first: u32, sums: vec4<f32>) {
    if row >= rows {
        return;
    }
    let channel = first + row;
    let at = targets + vec4<u32>(channel * (params.output[1] * params.output[2]));
    if pixel < pixels {
        finish(at.x, channel, sums.x);
    }
    if pixel + 1u < pixels {
        finish(at.y, channel, sums.y);
    }
    if pixel + 2u < pixels {
        finish(at.z, channel, sums.z);
    }
    if pixel + 3u < pixels {
        finish(at.w, channel, sums.w);
    }
}

@compute @workgroup_size(256)
fn conv_tiled(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let fast = lane % BLOCKS;
    let slow = lane / BLOCKS;
    let in_group = params.in_channels / params.groups;
    let rows = params.out_channels / params.groups;
    let depth = in_group * params.kernel[1] * params.kernel[2];
    let row = group.y * TILE + slow * 4u;
    let part = select(0u, group.z % params.parts, PARTIAL);
    let of_channels = select(group.z, group.z / params.parts, PARTIAL);
    let start_w = of_channels * rows * depth;
    // Whole steps of the depth for each part.
    let span = select(depth, (depth + params.parts * DEPTH - 1u) / (params.parts * DEPTH) * DEPTH, PARTIAL);
    let begin = part * span;
    let end = min(depth, begin + span);

    let area = params.output[1] * params.output[2];
    let pixels = params.batch * area;
    let pixel = group.x * TILE + fast * 4u;
    let all = vec4<u32>(pixel) + vec4<u32>(0u, 1u, 2u, 3u);
    let batch = all / vec4<u32>(area);
    let within = all % vec4<u32>(area);
    let starts = (batch * params.in_channels + vec4<u32>(of_channels * in_group)) * (params.input[1] * params.input[2]);
    let across = vec4<u32>(params.output[2]);
    // A pixel behind the last one has its window behind the end of every plane.
    let top = within / across * params.stride[1] - vec4<u32>(bitcast<u32>(params.pad[1]));
    let tops = select(vec4<u32>(0x80000000u), top, all < vec4<u32>(pixels));
    let lefts = within % across * params.stride[2] - vec4<u32>(bitcast<u32>(params.pad[2]));

    var next_a = load_a(start_w, row, rows, begin + fast, depth, end);
    var next_b = load_b(starts, tops, lefts, begin + slow, end);
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();

    for (var k = begin; k < end; k += DEPTH) {
        a_tile[fast * A_PITCH + slow] = next_a;
        b_tile[slow * BLOCKS + fast] = next_b;
        workgroupBarrier();
        next_a = load_a(start_w, row, rows, k + DEPTH + fast, depth, end);
        next_b = load_b(starts, tops, lefts, k + DEPTH + slow, end);
        // Two loops, since compilers unroll the short one and would leave sixteen rounds rolled.
        for (var i = 0u; i < DEPTH; i += 4u) {
            for (var j = 0u; j < 4u; j += 1u) {
                let av = a_tile[(i + j) * A_PITCH + slow];
                let bv = b_tile[(i + j) * BLOCKS + fast];
                sum0 += av.x * bv;
                sum1 += av.y * bv;
                sum2 += av.z * bv;
                sum3 += av.w * bv;
            }
        }
        workgroupBarrier();
    }

    let first = of_channels * rows;
    let targets = (part * params.batch + batch) * (params.out_channels * area) + within;
    store(targets, pixel, pixels, row, rows, first, sum0);
    store(targets, pixel, pixels, row + 1u, rows, first, sum1);
    store(targets, pixel, pixels, row + 2u, rows, first, sum2);
    store(targets, pixel, pixels, row + 3u, rows, first, sum3);
}
