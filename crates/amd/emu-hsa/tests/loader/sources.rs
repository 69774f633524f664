//! OpenCL C sources.

/// Kernels, variables of each kind, and an undefined variable.
pub(crate) const VARIABLES: &str = r"
    __global int counter = 5;
    __global int zeros[8] __attribute__((aligned(64)));
    __constant int table[4] = {1, 2, 3, 4};
    __attribute__((weak)) __global int weak = 7;
    extern __global int outside;

    __kernel void touch(__global int *out, int by) {
        unsigned i = __builtin_amdgcn_workitem_id_x();
        out[i] = counter + table[i & 3] + outside;
        zeros[i & 7] = by;
        if (i == 0) outside = by;
    }
";

/// A kernel without undefined symbols, with group and private memory.
pub(crate) const PLAIN: &str = r"
    __kernel void plain(__global int *out) {
        __local int shared[16];
        unsigned i = __builtin_amdgcn_workitem_id_x();
        shared[i & 15] = out[i];
        __builtin_amdgcn_s_barrier();
        volatile int mine[32];
        for (int k = 0; k < 32; k++) mine[k] = k;
        out[i] = shared[(i + 1) & 15] + mine[out[i] & 31];
    }
";
