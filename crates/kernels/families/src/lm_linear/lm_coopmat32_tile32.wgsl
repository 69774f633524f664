// The tile of `lm_matmul_coopmat32.wgsl` for more than sixteen tokens; appended to its source.

const TOKENS = 32u;
const ROWS = 128u;
