#![no_main]
//! Fuzzes [`roci_fuzz::targets::adapter`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::adapter::target(data));
