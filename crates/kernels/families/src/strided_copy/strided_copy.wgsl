// target[target_offset + i / run * pitch + i % run] =
//     source[source_offset + strides * position of i in shape], in 32-bit words.

struct Params {
    count: u32,
    source_offset: u32,
    shape: array<u32, 5>,
    strides: array<i32, 5>,
    target_offset: u32,
    run: u32,
    pitch: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source_words: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(256)
fn strided_copy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        var rest = i;
        var at = i32(params.source_offset);
        for (var axis = 4u; axis > 0u; axis -= 1u) {
            let size = params.shape[axis];
            at += i32(rest % size) * params.strides[axis];
            rest = rest / size;
        }
        at += i32(rest) * params.strides[0];
        target_words[params.target_offset + i / params.run * params.pitch + i % params.run] = source_words[u32(at)];
    }
}
