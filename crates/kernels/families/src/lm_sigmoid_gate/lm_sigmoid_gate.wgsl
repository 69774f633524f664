// Rows times the sigmoid of their gates: one per column, or one for all.

struct Params {
    tokens: u32,
    columns: u32,
    x_stride: u32,
    gates_stride: u32,
    gates_offset: u32,
    y_stride: u32,
    flags: u32,
    factor: f32,
}

const ONE_PER_ROW = 1u;
const ADD = 2u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn lm_sigmoid_gate(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    for (var c = group.x * 256u + lane; c < params.columns; c += groups.x * 256u) {
        let gate_column = select(c, 0u, (params.flags & ONE_PER_ROW) != 0u);
        let gate = gates[group.y * params.gates_stride + params.gates_offset + gate_column];
        var v = x[group.y * params.x_stride + c] / (1.0 + exp(-gate));
        let at = group.y * params.y_stride + c;
        if (params.flags & ADD) != 0u {
            v += y[at];
        }
        y[at] = v * params.factor;
    }
}
