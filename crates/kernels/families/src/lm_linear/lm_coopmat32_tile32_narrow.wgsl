// The tile of `lm_matmul_coopmat32.wgsl` for more than sixteen tokens and codes of whole bytes;
// appended to its source.

const TOKENS = 32u;
const ROWS = 64u;
