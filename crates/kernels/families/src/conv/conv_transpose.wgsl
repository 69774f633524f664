// y[n, m, o] = the sum over those i and k with o = i * stride - pad + k * dilation of x[n, c, i] *
// w[c, m, k], in up to three dimensions. One invocation computes one output element.

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

// Coordinate in x of element k of the window at o; past the end if there is none.
fn position(d: u32, o: u32, k: u32) -> u32 {
    let at = i32(o) + params.pad[d] - i32(k * params.dilation[d]);
    let step = i32(params.stride[d]);
    return select(params.input[d], u32(at / step), at >= 0 && at % step == 0);
}

@compute @workgroup_size(256)
fn conv_transpose(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let in_group = params.in_channels / params.groups;
    let out_group = params.out_channels / params.groups;
    let taps = params.kernel[0] * params.kernel[1] * params.kernel[2];
    let plane = params.input[0] * params.input[1] * params.input[2];
    let count = params.batch * params.out_channels * params.output[0] * params.output[1] * params.output[2];
    for (var i = id.x; i < count; i += groups.x * 256u) {
        let o2 = i % params.output[2];
        var rest = i / params.output[2];
        let o1 = rest % params.output[1];
        rest = rest / params.output[1];
        let o0 = rest % params.output[0];
        rest = rest / params.output[0];
        let m = rest % params.out_channels;
        let batch = rest / params.out_channels;
        let first = m / out_group * in_group;
        let start_x = (batch * params.in_channels + first) * plane;
        // Weights are ordered by input channel; a channel of y is an index within its group.
        let start_w = (first * out_group + m % out_group) * taps;
        let step_w = out_group * taps;
        var sum = 0.0;
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
                    let i2 = position(2u, o2, k2);
                    if i2 >= params.input[2] {
                        continue;
                    }
                    var at_x = start_x + (i0 * params.input[1] + i1) * params.input[2] + i2;
                    var at_w = start_w + (k0 * params.kernel[1] + k1) * params.kernel[2] + k2;
                    for (var c = 0u; c < in_group; c += 1u) {
                        sum += x[at_x] * w[at_w];
                        at_x += plane;
                        at_w += step_w;
                    }
                }
            }
        }
        epilogue(i, m, sum);
    }
}
