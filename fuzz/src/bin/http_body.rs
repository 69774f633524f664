#![no_main]
//! Fuzzes [`roci_fuzz::targets::http_body`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::http_body::target(data));
