#![no_main]
//! Fuzzes [`roci_fuzz::targets::imatrix`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::imatrix::target(data));
