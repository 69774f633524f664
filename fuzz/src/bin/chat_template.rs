#![no_main]
//! Fuzzes [`roci_fuzz::targets::chat_template`].

libfuzzer_sys::fuzz_target!(|data: &[u8]| roci_fuzz::targets::chat_template::target(data));
