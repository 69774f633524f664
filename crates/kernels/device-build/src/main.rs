//! `rebuild`: builds the archive of the device library, or checks it.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use roci_base::Hint;
use roci_device_build::{ARCHIVE, Error, Programs, Recipe, build_all, compress, difference, stale};
use roci_device_library::{Archive, Object};

const USAGE: &str = "\
Builds the device library: every kernel, compiled for every AMD target, in one archive in the source tree.

Usage: cargo run --release -p roci-device-build [-- --check]

  --check   write nothing; fail if the archive is not what the sources give

ROCI_DEVICE_TARGETS=gfx1010,gfx11-generic makes (or expects) these targets alone.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => rebuild(),
        ["--check"] => check(),
        ["--help" | "-h"] => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        _ => {
            complain(USAGE);
            return ExitCode::from(2);
        }
    };
    let Err(error) = result else { return ExitCode::SUCCESS };
    complain(&format!("error: {error}"));
    if let Some(hint) = error.hint() {
        complain(&format!("hint: {hint}"));
    }
    ExitCode::FAILURE
}

fn rebuild() -> Result<(), Error> {
    let recipes = Recipe::expected()?;
    let programs = Programs::find()?;
    let archive = build_all(&programs, &recipes, &report)?;
    let compressed = compress(&archive)?;
    let path = Path::new(ARCHIVE);
    std::fs::write(path, &compressed).map_err(|source| Error::File { path: path.into(), source })?;
    let plain: usize = archive.objects.iter().map(|object| object.bytes.len()).sum();
    let targets = archive.objects.len();
    say(&format!("{targets} targets, {plain} bytes of code objects, {} bytes as archive", compressed.len()));
    Ok(())
}

fn check() -> Result<(), Error> {
    let path = Path::new(ARCHIVE);
    let bytes = std::fs::read(path).map_err(|source| Error::File { path: path.into(), source })?;
    let archive = Archive::decompress(&bytes)?;
    let recipes = Recipe::expected()?;
    let lines = stale(&archive, &recipes);
    if !lines.is_empty() {
        return Err(Error::Stale(lines));
    }
    let programs = Programs::find()?;
    if *programs.versions() != archive.toolchain {
        return Err(Error::OtherPrograms { recorded: archive.toolchain, here: programs.versions().clone() });
    }
    let built = build_all(&programs, &recipes, &report)?;
    let lines: Vec<String> = built.objects.iter().filter_map(|object| difference(&archive, object)).collect();
    if !lines.is_empty() {
        return Err(Error::Stale(lines));
    }
    say(&format!("{} targets, all match the sources", built.objects.len()));
    Ok(())
}

fn report(object: &Object) {
    say(&format!("{:<16} {:>8} bytes", object.target, object.bytes.len()));
}

// Ignores write errors: a closed pipe must not abort the build.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
