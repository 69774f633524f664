// The tile of `lm_matmul_coopmat32.wgsl` for up to sixteen tokens; appended to its source.

const TOKENS = 16u;
const ROWS = 64u;
