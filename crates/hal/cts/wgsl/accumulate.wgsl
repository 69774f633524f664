// words[i] = words[i] * 3 + value: the result depends on the order of the launches.

struct Params {
    count: u32,
    value: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(64)
fn accumulate(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count {
        words[id.x] = words[id.x] * 3u + params.value;
    }
}
