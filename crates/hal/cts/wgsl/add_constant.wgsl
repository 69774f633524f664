// output[i] = input[i] + value

struct Params {
    count: u32,
    value: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> input_words: array<u32>;
@group(0) @binding(1) var<storage, read_write> output_words: array<u32>;

@compute @workgroup_size(64)
fn add_constant(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count {
        output_words[id.x] = input_words[id.x] + params.value;
    }
}
