#![no_main]
//! Fuzzes [`roci_fuzz::targets::gguf`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::gguf::target(data));
