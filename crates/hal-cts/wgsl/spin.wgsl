// Runs until somebody makes the flag non-zero: a kernel that never ends by itself.
// A whole sub-group of invocations: where one is only half full, llvmpipe 22 leaves loops late.

@group(0) @binding(0) var<storage, read_write> flag: array<atomic<u32>>;

@compute @workgroup_size(32)
fn spin() {
    loop {
        if atomicLoad(&flag[0]) != 0u {
            break;
        }
    }
}
