//! The native kernels against plain code in f64, at every instruction set of this CPU.

mod arrays;
mod launch;
mod linear;
mod unary;
