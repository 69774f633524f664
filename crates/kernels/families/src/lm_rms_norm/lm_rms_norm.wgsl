// RMS norm of rows, times a weight per column. One workgroup per row, striding over the rows.

struct Params {
    rows: u32,
    columns: u32,
    x_stride: u32,
    y_stride: u32,
    epsilon: f32,
    flags: u32,
    first: u32,
    y_offset: u32,
    factor: f32,
}

const ADD = 1u;
const GATHER = 2u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> inputs: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

var<workgroup> sums: array<f32, 256>;

@compute @workgroup_size(256)
fn lm_rms_norm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var row = group.x; row < params.rows; row += groups.x) {
        var source = row;
        if (params.flags & GATHER) != 0u {
            source = inputs[params.first + row];
        }
        let base = source * params.x_stride;
        // Four at a time, so that four reads are in flight.
        let last = params.columns - 1u;
        var square_sums = vec4<f32>();
        for (var c = lane; c < params.columns; c += 1024u) {
            let at = vec4<u32>(c) + vec4<u32>(0u, 256u, 512u, 768u);
            let index = min(at, vec4<u32>(last)) + vec4<u32>(base);
            let v = vec4<f32>(x[index.x], x[index.y], x[index.z], x[index.w]);
            square_sums += select(vec4<f32>(), v * v, at <= vec4<u32>(last));
        }
        sums[lane] = (square_sums.x + square_sums.y) + (square_sums.z + square_sums.w);
        workgroupBarrier();
        for (var step = 128u; step > 0u; step = step / 2u) {
            if lane < step {
                sums[lane] += sums[lane + step];
            }
            workgroupBarrier();
        }
        let scale = 1.0 / sqrt(sums[0] / f32(params.columns) + params.epsilon);
        let y_base = row * params.y_stride + params.y_offset;
        for (var c = lane; c < params.columns; c += 1024u) {
            let at = vec4<u32>(c) + vec4<u32>(0u, 256u, 512u, 768u);
            let index = min(at, vec4<u32>(last));
            var v = vec4<f32>(x[base + index.x], x[base + index.y], x[base + index.z], x[base + index.w]);
            v *= scale * vec4<f32>(weight[index.x], weight[index.y], weight[index.z], weight[index.w]);
            if (params.flags & ADD) != 0u {
                v += vec4<f32>(y[y_base + index.x], y[y_base + index.y], y[y_base + index.z], y[y_base + index.w]);
            }
            v *= params.factor;
            y[y_base + at.x] = v.x;
            if at.y <= last {
                y[y_base + at.y] = v.y;
            }
            if at.z <= last {
                y[y_base + at.z] = v.z;
            }
            if at.w <= last {
                y[y_base + at.w] = v.w;
            }
        }
        workgroupBarrier();
    }
}
