// y = sum of the splits of `conv_split_k`, with the epilogue of convolutions.

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn conv_split_k_reduce(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let plane = params.output[0] * params.output[1] * params.output[2];
    let count = params.batch * params.out_channels * plane;
    for (var i = id.x; i < count; i += groups.x * 256u) {
        var sum = 0.0;
        for (var split = 0u; split < params.parts; split += 1u) {
            sum += x[split * count + i];
        }
        epilogue(i, i / plane % params.out_channels, sum);
    }
}
