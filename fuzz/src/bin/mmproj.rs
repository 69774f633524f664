#![no_main]
//! Fuzzes [`roci_fuzz::targets::mmproj`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::mmproj::target(data));
