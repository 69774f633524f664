#![no_main]
//! Fuzzes [`roci_fuzz::targets::image`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::image::target(data));
