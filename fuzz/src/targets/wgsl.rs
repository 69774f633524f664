//! WGSL text and its translations.

use roci_kernels::clc::Options;
use roci_kernels::{Source, SpirvOptions};

/// Compiles WGSL and writes it as OpenCL C for both dialects and as SPIR-V.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(compiled) = Source::parse("fuzz.wgsl", text, &[]) else { return };
    let _ = compiled.opencl_c(&Options::opencl());
    let _ = compiled.opencl_c(&Options::amdgcn());
    let _ = compiled.spirv(&SpirvOptions::default());
}
