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
    let stride = groups.x * 256u;
    var i = id.x;
    // Four at a time, so that four reads are in flight.
    for (; i < params.count && params.count - i > 3u * stride; i += 4u * stride) {
        let v0 = source_words[params.source_offset + i];
        let v1 = source_words[params.source_offset + i + stride];
        let v2 = source_words[params.source_offset + i + 2u * stride];
        let v3 = source_words[params.source_offset + i + 3u * stride];
        target_words[params.target_offset + i] = v0;
        target_words[params.target_offset + i + stride] = v1;
        target_words[params.target_offset + i + 2u * stride] = v2;
        target_words[params.target_offset + i + 3u * stride] = v3;
    }
    for (; i < params.count; i += stride) {
        target_words[params.target_offset + i] = source_words[params.source_offset + i];
    }
}
