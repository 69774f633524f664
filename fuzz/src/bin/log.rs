#![no_main]
//! Fuzzes [`roci_fuzz::targets::log`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::log::target(data));
