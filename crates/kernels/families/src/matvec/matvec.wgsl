// y = A * x, row-major. `Element` is the element type of A (f32 or f16); x, y and the sums are f32.
// Constants and epilogue come from matvec_epilogue.wgsl or linear_epilogue.wgsl.
//
// A workgroup of 256 computes four rows at once, so that each x is read once for four rows of A,
// and strides over the rows. Invocations process four adjacent columns per step.

enable f16;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<Element>;
@group(0) @binding(1) var<storage, read> x: array<f32>;

const ROWS = 4u;
const STEP = 1024u;

// One sum of four rows per subgroup; 256 suffice for subgroups of one invocation.
var<workgroup> partials: array<vec4<f32>, 256>;

fn load_a(at: u32) -> vec4<f32> {
    return vec4<f32>(f32(a[at]), f32(a[at + 1u]), f32(a[at + 2u]), f32(a[at + 3u]));
}

@compute @workgroup_size(256)
fn matvec(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
    @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
    for (var row = group.x * ROWS; row < params.m; row += groups.x * ROWS) {
        // Rows past the end are clamped to the last, and their results dropped.
        let starts = min(vec4<u32>(row, row + 1u, row + 2u, row + 3u), vec4<u32>(params.m - 1u)) * params.lda;
        var row_sums = vec4<f32>();
        for (var column = lane * 4u; column + 3u < params.k; column += STEP) {
            let v = vec4<f32>(x[column], x[column + 1u], x[column + 2u], x[column + 3u]);
            row_sums.x += dot(load_a(starts.x + column), v);
            row_sums.y += dot(load_a(starts.y + column), v);
            row_sums.z += dot(load_a(starts.z + column), v);
            row_sums.w += dot(load_a(starts.w + column), v);
        }
        let column = (params.k & ~3u) + lane;
        if column < params.k {
            let last = vec4<f32>(
                f32(a[starts.x + column]),
                f32(a[starts.y + column]),
                f32(a[starts.z + column]),
                f32(a[starts.w + column]),
            );
            row_sums += last * x[column];
        }

        let subgroup_sum = subgroupAdd(row_sums);
        if subgroup_lane == 0u {
            partials[subgroup] = subgroup_sum;
        }
        workgroupBarrier();
        if lane < ROWS && row + lane < params.m {
            var sum = 0.0;
            for (var i = 0u; i < subgroups; i += 1u) {
                sum += partials[i][lane];
            }
            epilogue(row + lane, row + lane, sum);
            if has_activation() {
                apply_activation(row + lane);
            }
        }
        workgroupBarrier();
    }
}
