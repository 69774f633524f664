// Layer norm of rows, or RMS norm, times a weight per column, plus a bias per column; or the part of
// rows above a bound. One workgroup per row, striding over the rows.

struct Params {
    rows: u32,
    columns: u32,
    x_stride: u32,
    y_stride: u32,
    epsilon: f32,
    flags: u32,
    first: u32,
    offset: u32,
}

const BIAS = 1u;
const GATHER = 2u;
const RMS = 4u;
const ADD = 8u;
const IN_PLACE = 16u;
const SPARSE = 32u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> inputs: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

var<workgroup> sums: array<f32, 256>;

// The sum of one value per invocation.
fn workgroup_sum(lane: u32, value: f32) -> f32 {
    sums[lane] = value;
    workgroupBarrier();
    for (var step = 128u; step > 0u; step = step / 2u) {
        if lane < step {
            sums[lane] += sums[lane + step];
        }
        workgroupBarrier();
    }
    let sum = sums[0];
    workgroupBarrier();
    return sum;
}

fn load(at: u32) -> f32 {
    if (params.flags & IN_PLACE) != 0u {
        return y[at];
    }
    return x[at];
}

@compute @workgroup_size(256)
fn lm_layer_norm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var row = group.x; row < params.rows; row += groups.x) {
        var source = row;
        if (params.flags & GATHER) != 0u {
            source = inputs[params.first + row];
        }
        let x_stride = select(params.x_stride, params.y_stride, (params.flags & IN_PLACE) != 0u);
        let base = source * x_stride + params.offset;
        var mean = 0.0;
        if (params.flags & RMS) == 0u {
            var sum = 0.0;
            for (var c = lane; c < params.columns; c += 256u) {
                sum += load(base + c);
            }
            mean = workgroup_sum(lane, sum) / f32(params.columns);
        }
        var square_sum = 0.0;
        for (var c = lane; c < params.columns; c += 256u) {
            let v = load(base + c) - mean;
            square_sum += v * v;
        }
        let squares = workgroup_sum(lane, square_sum);
        let scale = 1.0 / sqrt(squares / f32(params.columns) + params.epsilon);
        let bound = params.epsilon * sqrt(squares / max(f32(params.columns) - 1.0, 1.0));
        let y_base = row * params.y_stride + params.offset;
        for (var c = lane; c < params.columns; c += 256u) {
            var v = load(base + c) - mean;
            if (params.flags & SPARSE) != 0u {
                v = max(v - bound, 0.0);
            } else {
                v *= scale * weight[c];
            }
            if (params.flags & BIAS) != 0u {
                v += weight[params.columns + c];
            }
            if (params.flags & ADD) != 0u {
                v += y[y_base + c];
            }
            y[y_base + c] = v;
        }
    }
}
