//! Builds the two libraries that `roci emu exec` puts under other people's programs, for the binary to carry them.
//!
//! They are cdylibs of this workspace, which a dependency cannot bring in: a second cargo builds them, always optimised, into
//! a target folder of its own beside the profiles. Clippy only reads, so there the libraries stay empty;
//! `ROCI_EMBED=0` says the same for `cargo check` and `cargo doc`. `ROCI_EMBED=FOLDER` takes them from there: the tests have
//! built them already.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages, with the files that come of them.
const LIBRARIES: [(&str, &str); 2] =
    [("roci-hsa-runtime64", "libhsa_runtime64.so"), ("roci-emu-preload", "libroci_emu_preload.so")];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROCI_EMBED");
    println!("cargo::rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    let out = PathBuf::from(variable("OUT_DIR"));
    let given = PathBuf::from(variable("ROCI_EMBED"));
    let built = match wanted() {
        false => None,
        true if given.is_absolute() => Some(given),
        true => Some(build(&out)?),
    };
    for (_, file) in LIBRARIES {
        let bytes = match &built {
            Some(folder) => {
                watch(&folder.join(file).with_extension("d"))?;
                std::fs::read(folder.join(file))?
            }
            None => Vec::new(),
        };
        // Level 6: a second for a few per cent more would be paid by every build.
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&bytes, 6);
        std::fs::write(out.join(file), packed)?;
    }
    Ok(())
}

/// Whether the libraries are of use.
fn wanted() -> bool {
    let reads_only = Path::new(&variable("RUSTC_WORKSPACE_WRAPPER")).ends_with("clippy-driver");
    variable("CARGO_CFG_TARGET_OS") == "linux" && variable("ROCI_EMBED") != "0" && !reads_only
}

/// Builds them: the folder they are in.
fn build(out: &Path) -> io::Result<PathBuf> {
    // TARGET/PROFILE/build/PACKAGE/out
    let target = out.ancestors().nth(4).ok_or_else(|| io::Error::other("OUT_DIR is not as cargo makes it"))?;
    let embedded = target.join("embedded");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(variable("CARGO_MANIFEST_DIR"));
    cargo.args(["build", "--release", "--locked", "--quiet", "--target-dir"]).arg(&embedded);
    for (package, _) in LIBRARIES {
        cargo.args(["--package", package]);
    }
    let cross = variable("TARGET") != variable("HOST");
    if cross {
        cargo.args(["--target", &variable("TARGET")]);
    }
    // What is meant for the outer build alone: its package, its flags (sanitizers, lints, coverage), its wrappers.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let about_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CFG_", "CARGO_FEATURE_"];
        let about_build = ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"];
        if about_package.iter().any(|prefix| name.starts_with(prefix)) || about_build.contains(&&*name) {
            cargo.env_remove(&*name);
        }
    }
    cargo.env("CARGO_PROFILE_RELEASE_STRIP", "symbols").env("CARGO_PROFILE_RELEASE_DEBUG", "false");
    let status = cargo.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the libraries of `roci emu exec` cannot be built: {status}")));
    }
    Ok(if cross { embedded.join(variable("TARGET")).join("release") } else { embedded.join("release") })
}

/// Lets this run again when a source of a library changes, as the list that cargo wrote beside it says.
fn watch(list: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(list)?;
    let sources = text.split_once(": ").map_or("", |(_, sources)| sources);
    // Spaces in names are escaped.
    for source in sources.trim().replace("\\ ", "\0").split(' ').filter(|source| !source.is_empty()) {
        println!("cargo::rerun-if-changed={}", source.replace('\0', " "));
    }
    Ok(())
}

/// A variable that cargo sets, or that the user may.
fn variable(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "a build script has cargo's variables and nothing else to ask")]
    std::env::var(name).unwrap_or_default()
}
