#![no_main]
//! Fuzzes [`roci_fuzz::targets::onnx`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::onnx::target(data));
