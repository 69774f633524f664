//! The checked-in archive is up to date: the recorded inputs are always compared, the bytes only if
//! the same toolchain is installed. One test per target.

use libtest_mimic::{Arguments, Failed, Trial};
use roci_device_build::{Programs, Recipe, TARGETS, build, difference, stale};
use roci_device_library::DeviceLibrary;

fn recipe(target: &str) -> Result<Recipe, Failed> {
    Ok(Recipe::new(target.parse()?)?)
}

fn failed(lines: &[String]) -> Failed {
    let advice = "`cargo run --release -p roci-device-build` makes the library anew";
    format!("{}\n{advice}", lines.join("\n")).into()
}

fn recorded() -> Result<(), Failed> {
    let library = DeviceLibrary::embedded_whole()?;
    let recipes = TARGETS.into_iter().map(recipe).collect::<Result<Vec<_>, _>>()?;
    let lines = stale(library.archive(), &recipes);
    if lines.is_empty() { Ok(()) } else { Err(failed(&lines)) }
}

fn rebuilt(programs: &Programs, target: &str) -> Result<(), Failed> {
    let built = build(programs, &recipe(target)?)?;
    let library = DeviceLibrary::embedded_whole()?;
    difference(library.archive(), &built).map_or(Ok(()), |line| Err(failed(&[line])))
}

/// The toolchain that built the archive, if it is installed. Reports a program that is missing or
/// of another version.
fn same_programs() -> Result<Option<Programs>, roci_device_library::Error> {
    let library = DeviceLibrary::embedded_whole()?;
    let recorded = &library.archive().toolchain;
    let Some(programs) = roci_testkit::require("clang", Programs::find()) else { return Ok(None) };
    if programs.versions() == recorded {
        return Ok(Some(programs));
    }
    let here = programs.versions();
    roci_testkit::absent(&format!(
        "the programs that made the device library, which is not compared: `{}` and `{}`; here are `{}` and `{}`",
        recorded.clang, recorded.linker, here.clang, here.linker
    ));
    Ok(None)
}

fn main() -> Result<(), roci_device_library::Error> {
    let arguments = Arguments::from_args();
    // Looked up once, so that a missing program is reported once.
    let programs = same_programs()?;
    let mut trials = vec![Trial::test("sources_and_options_are_those_recorded", recorded)];
    for target in TARGETS {
        let programs = programs.clone();
        let absent = programs.is_none();
        let run = move || programs.map_or(Ok(()), |programs| rebuilt(&programs, target));
        trials.push(Trial::test(format!("rebuilt_bytes_are_the_same::{target}"), run).with_ignored_flag(absent));
    }
    libtest_mimic::run(&arguments, trials).exit()
}
