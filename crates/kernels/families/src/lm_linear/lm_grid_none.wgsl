// No grid in workgroup memory, for kernels that can stage one; appended to their source.

fn load_grid(lane: u32) -> vec4<u32> {
    return vec4<u32>();
}

fn stage_grid(words: vec4<u32>, lane: u32) {
}

fn grid_barrier() {
}
