// words[index] = value, without a bounds check.

struct Params {
    index: u32,
    value: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(1)
fn out_of_bounds() {
    words[params.index] = params.value;
}
