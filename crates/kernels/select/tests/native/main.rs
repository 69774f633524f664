//! The native kernels against naive f64 code, at every instruction set level of this CPU.

mod arrays;
mod attention;
mod elementwise_program;
mod indexing;
mod launch;
mod linear;
mod native_only;
mod rows;
mod unary;
mod window;
