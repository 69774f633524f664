// Constants and epilogue of all convolutions.

const BIAS = 1u;
const ADD = 2u;
const CLAMP = 4u;

struct Params {
    batch: u32,
    in_channels: u32,
    out_channels: u32,
    groups: u32,
    input: array<u32, 3>,
    output: array<u32, 3>,
    kernel: array<u32, 3>,
    stride: array<u32, 3>,
    dilation: array<u32, 3>,
    pad: array<i32, 3>,
    flags: u32,
    low: f32,
    high: f32,
    parts: u32,
}

fn epilogue(at: u32, channel: u32, sum: f32) {
    var v = sum;
    if (params.flags & BIAS) != 0u {
        v += bias[channel];
    }
    if (params.flags & ADD) != 0u {
        v += y[at];
    }
    // NaN is tested by its bits, because compilers drop it from comparisons.
    if (params.flags & CLAMP) != 0u && (bitcast<u32>(v) & 0x7fffffffu) <= 0x7f800000u {
        v = min(max(v, params.low), params.high);
    }
    y[at] = v;
}
