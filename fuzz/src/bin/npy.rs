#![no_main]
//! Fuzzes [`roci_fuzz::targets::npy`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::npy::target(data));
