// y[o, j, i] = sum over t of weight[j, t] * x[o, index[j, t], i].

struct Params {
    outer: u32,
    axis: u32,
    inner: u32,
    count: u32,
    taps: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn resample(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let outputs = params.outer * params.count * params.inner;
    for (var output = id.x; output < outputs; output += groups.x * 256u) {
        let line = output / params.inner;
        let start = line / params.count * params.axis * params.inner + output % params.inner;
        let table = line % params.count * params.taps;
        var sum = 0.0;
        for (var t = table; t < table + params.taps; t += 1u) {
            sum += weight[t] * x[start + clamped_index(index[t], params.axis) * params.inner];
        }
        y[output] = sum;
    }
}
