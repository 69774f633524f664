//! Vector code for the CPU, written once for all instruction sets.
//!
//! A [`Level`] comes only from detection, and a [`Simd`] token only from a `Level`: holding either
//! proves that the CPU has the instructions. [`Level::run`] passes a token to a [`Task`] inside a
//! function that has the instructions enabled, so that all code inlined into the task is compiled
//! for them. The compiler vectorizes plain loops in a task; the trait's methods are for the few
//! places where its choice is too slow.
//!
//! | module | contents |
//! |---|---|
//! | [`blocked_conv`] | convolution of images in a blocked channel layout: register tiles |
//! | [`gemm`] | matrix products of f32 and f16: register tiles, packing |
//! | [`quantized`] | products with the quantized matrices of GGUF files |
//!
//! This crate knows neither kernels nor their constants, so a changed kernel does not rebuild it.
//! Its hot loops are not generic over their callers, so they are compiled here.

#![expect(unsafe_code, reason = "vector instructions and raw memory")]

#[cfg(target_arch = "x86_64")]
mod amx;
pub mod blocked_conv;
pub mod gemm;
mod int8;
mod level;
mod portable;
pub mod quantized;
mod transpose;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_int8;

pub use level::{Level, Task};
pub use vector::{CacheLine, Element, Simd};
