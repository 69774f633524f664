// Runs until somebody makes the first word of the flag non-zero: a kernel that never ends by itself. The second word, unless
// it is zero, is a number of rounds after which it ends all the same.
// A whole sub-group of invocations: where one is only half full, llvmpipe 22 leaves loops late.

@group(0) @binding(0) var<storage, read_write> flag: array<atomic<u32>>;

@compute @workgroup_size(32)
fn spin() {
    let rounds = atomicLoad(&flag[1]);
    var round = 0u;
    loop {
        if atomicLoad(&flag[0]) != 0u {
            break;
        }
        round += 1u;
        if rounds != 0u && round >= rounds {
            break;
        }
    }
}
