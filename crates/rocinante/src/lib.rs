//! Compute on the GPU you own: open a device, compile WGSL, run it, read the result.
//!
//! ```no_run
//! # fn main() -> Result<(), rocinante::Error> {
//! let device = rocinante::open("auto")?;
//! let double = device.wgsl(
//!     "struct Params { count: u32 }
//!      var<immediate> params: Params;
//!      @group(0) @binding(0) var<storage, read_write> x: array<f32>;
//!      @compute @workgroup_size(64)
//!      fn double(@builtin(global_invocation_id) id: vec3<u32>) {
//!          if id.x < params.count { x[id.x] = 2.0 * x[id.x]; }
//!      }",
//! )?;
//! let x = device.array(&[1.0f32, 2.0, 3.0])?;
//! double.kernel("double")?.run([1, 1, 1], &[&x], &[3u32])?;
//! assert_eq!(x.read()?, [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Devices
//! [`open`] takes a device URI: `vulkan:0`, `opencl:0`, `cpu`, `amdgpu:0`, `emu://gfx1010`, or
//! `auto` for the best real device. `roci devices` lists what a machine has. Which drivers are
//! compiled in is decided by the features `vulkan`, `opencl`, `cpu` and `amdgpu`.
//!
//! # Kernels
//! A kernel is a WGSL compute shader. Buffers are `var<storage>` in `@group(0)` with bindings
//! counted from 0; parameters are one struct of 32-bit numbers in `var<immediate>`. `arrayLength`
//! is not available, because OpenCL kernels receive pointers only: pass the length as a parameter.
//! [`Device::wgsl`] reports any other rule that the text breaks.
//!
//! Vulkan and OpenCL devices compile WGSL themselves. AMD GPUs through HSA need `clang` with the
//! AMDGPU target. The CPU driver runs compiled Rust only and refuses WGSL.
//!
//! # Models
//! With the feature `onnx`, `Device::onnx` loads an ONNX model; with the feature `gguf`,
//! `Device::gguf` loads a language model. Both run on every driver, the CPU included.
//!
#![cfg_attr(
    all(feature = "onnx", feature = "gguf"),
    doc = "
```no_run
use rocinante::Tensor;
# fn main() -> Result<(), Box<dyn std::error::Error>> {
let device = rocinante::open(\"auto\")?;
let mut classifier = device.onnx(\"model.onnx\")?;
let scores = classifier.run([(\"image\", Tensor::new([1, 3, 224, 224], vec![0.5f32; 150_528])?)])?;

let model = device.gguf(\"model.gguf\")?;
for text in model.chat(&[(\"user\", \"What is a wavefront?\")])? {
    print!(\"{}\", text?);
}
# Ok(())
# }
```
"
)]
//! # Below this crate
//! [`hal`] has queues, semaphores, recorded command buffers and profiling; [`Device::hal`] gives
//! access to it.

#![deny(unsafe_code)]
#![warn(missing_debug_implementations)]

mod amdgcn;
mod array;
mod device;
mod error;
#[cfg(feature = "gguf")]
mod gguf;
mod kernel;
#[cfg(feature = "onnx")]
mod onnx;

/// The hardware abstraction layer that this crate is built on.
pub use roci_hal as hal;

pub use array::{Array, Bindable};
pub use device::{Device, open};
pub use error::Error;
#[cfg(feature = "gguf")]
pub use gguf::{LanguageModel, TextStream};
pub use kernel::{Kernel, Module};
#[cfg(feature = "onnx")]
pub use onnx::{Input, OnnxModel};
#[cfg(feature = "gguf")]
pub use roci_engine as engine;
#[cfg(feature = "onnx")]
pub use roci_graph::{DType, Tensor, Value};
