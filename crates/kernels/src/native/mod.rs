//! Native twins of the GPU kernels.
