//! The native kernels against plain code in f64, at every instruction set of this CPU.

mod arrays;
mod attention;
mod chain;
mod host;
mod indexing;
mod launch;
mod linear;
mod rows;
mod unary;
mod window;
