// Spins until the first word of the flag is set to non-zero. If the second word is not zero, the
// kernel ends after that many rounds.
// The workgroup is a whole sub-group: with a partial one, llvmpipe 22 leaves loops late.

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
