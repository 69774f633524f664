//! Gives the library the name and the symbol version that programs were linked against.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhsa-runtime64.so.1");
    // The node alone: which symbols belong to it is said beside each of them, since rustc's own list decides what is exported.
    #[expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts by the environment")]
    let folder = std::env::var("OUT_DIR").expect("cargo sets it");
    let script = Path::new(&folder).join("version.map");
    std::fs::write(&script, "ROCR_1 { };\n").expect("cargo's folder can be written");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
}
