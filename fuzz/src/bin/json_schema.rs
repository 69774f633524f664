#![no_main]
//! Fuzzes [`roci_fuzz::targets::json_schema`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::json_schema::target(data));
