#![no_main]
//! Fuzzes [`roci_fuzz::targets::wgsl`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::wgsl::target(data));
