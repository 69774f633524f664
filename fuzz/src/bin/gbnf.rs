#![no_main]
//! Fuzzes [`roci_fuzz::targets::gbnf`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::gbnf::target(data));
