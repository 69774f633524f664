// y[i] = x[i] in another width. `From` and `To` are the element types, f32 and f16.

enable f16;

struct Params {
    count: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<From>;
@group(0) @binding(1) var<storage, read_write> y: array<To>;

@compute @workgroup_size(256)
fn cast_elements(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        y[i] = To(x[i]);
    }
}
