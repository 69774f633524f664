// target[target_offset + i] = source[source_offset + i], in 32-bit words.

struct Params {
    count: u32,
    source_offset: u32,
    target_offset: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> source_words: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.count; i += groups.x * 256u) {
        target_words[params.target_offset + i] = source_words[params.source_offset + i];
    }
}
