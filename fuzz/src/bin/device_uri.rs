#![no_main]
//! Fuzzes [`roci_fuzz::targets::device_uri`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::device_uri::target(data));
