// target[offset + i] = value, in 32-bit words.

struct Params {
    count: u32,
    offset: u32,
    value: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> target_words: array<u32>;

@compute @workgroup_size(256)
fn fill(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let stride = groups.x * 256u;
    var i = id.x;
    // Four at a time: the loop overhead equals the cost of a write.
    for (; i < params.count && params.count - i > 3u * stride; i += 4u * stride) {
        target_words[params.offset + i] = params.value;
        target_words[params.offset + i + stride] = params.value;
        target_words[params.offset + i + 2u * stride] = params.value;
        target_words[params.offset + i + 3u * stride] = params.value;
    }
    for (; i < params.count; i += stride) {
        target_words[params.offset + i] = params.value;
    }
}
