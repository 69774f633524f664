//! Sets the soname and the symbol version that programs link against.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhsa-runtime64.so.1");
    // Only declares the version node: `.symver` directives assign the symbols, and the export list
    // of rustc decides which are visible.
    #[expect(clippy::disallowed_methods, reason = "cargo passes arguments to build scripts in the environment")]
    let directory = std::env::var("OUT_DIR").expect("cargo sets it");
    let script = Path::new(&directory).join("version.map");
    std::fs::write(&script, "ROCR_1 { };\n").expect("OUT_DIR is writable");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--version-script={}", script.display());
}
