// y[o, i] = fold over r of x[o, r, i]; the override picks the fold.
//
// With few elements behind the axis one workgroup folds one output; with many, one invocation does, so that neighbours
// read neighbours. Either way the workgroups stride over the outputs.

override OP: u32;

const SUM = 0u;
const MAX = 1u;

// Elements behind the axis from which neighbouring invocations fill a cache line by themselves.
const COLUMNS = 32u;

struct Params {
    outer: u32,
    axis: u32,
    inner: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

// One fold a sub-group; there are 256 where a sub-group is a single invocation.
var<workgroup> partials: array<f32, 256>;

fn identity() -> f32 {
    // A variable, since WGSL has no constant for infinity.
    var minus_infinity = 0xff800000u;
    return select(0.0, bitcast<f32>(minus_infinity), OP == MAX);
}

fn fold(p: f32, q: f32) -> f32 {
    if OP == MAX {
        return max(p, q);
    }
    return p + q;
}

@compute @workgroup_size(256)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    let outputs = params.outer * params.inner;
    if params.inner >= COLUMNS {
        for (var output = group.x * 256u + lane; output < outputs; output += groups.x * 256u) {
            let start = (output / params.inner) * params.axis * params.inner + output % params.inner;
            var result = identity();
            for (var r = 0u; r < params.axis; r += 1u) {
                result = fold(result, x[start + r * params.inner]);
            }
            y[output] = result;
        }
        return;
    }
    for (var output = group.x; output < outputs; output += groups.x) {
        let start = (output / params.inner) * params.axis * params.inner + output % params.inner;
        var mine = identity();
        for (var r = lane; r < params.axis; r += 256u) {
            mine = fold(mine, x[start + r * params.inner]);
        }
        var folded: f32;
        if OP == MAX {
            folded = subgroupMax(mine);
        } else {
            folded = subgroupAdd(mine);
        }
        if subgroup_lane == 0u {
            partials[subgroup] = folded;
        }
        workgroupBarrier();
        if lane == 0u {
            var result = partials[0];
            for (var i = 1u; i < subgroups; i += 1u) {
                result = fold(result, partials[i]);
            }
            y[output] = result;
        }
        workgroupBarrier();
    }
}
