#![no_main]
//! Fuzzes [`roci_fuzz::targets::codeobj`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::codeobj::target(data));
