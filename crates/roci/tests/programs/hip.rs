//! HIP programs, built by an unmodified hipcc and run through an unmodified libamdhip64.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use libtest_mimic::{Failed, Trial};
use roci_testkit::require;

use crate::build::{build, hipcc};
use crate::{exec, streams};

/// The chips that the program is built for.
const CHIPS: [&str; 2] = ["gfx1010", "gfx1030"];

/// Cases that print only `right`.
const CASES: [&str; 17] = [
    "vector_add",
    "tiled_matmul",
    "shuffle_reduction",
    "atomic_operations",
    "device_globals",
    "scratch_and_maths",
    "memset_and_copies",
    "rows",
    "pinned_and_mapped",
    "streams_and_events",
    "async_copies",
    "managed_memory",
    "graphs",
    "many_streams",
    "dynamic_lds_and_halves",
    "kernel_malloc",
    "cooperative",
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for chip in CHIPS {
        let mut add = |name: &str, run: Box<dyn FnOnce() -> Result<(), Failed> + Send>| {
            trials.push(Trial::test(format!("hip::{name}::{chip}"), run));
        };
        for case in CASES {
            add(case, Box::new(move || expect(chip, &[case], "right\n")));
        }
        add("device_properties", Box::new(move || device_properties(chip)));
        add("kernel_printf", Box::new(move || kernel_printf(chip)));
        add("kernel_fault", Box::new(move || kernel_fault(chip)));
        add("kernel_assert", Box::new(move || kernel_assert(chip)));
        add("load_module", Box::new(move || load_module(chip)));
    }
    trials.push(Trial::test("hip::peers::both", || expect(&CHIPS.join(","), &["peers"], "right\n")));
    trials
}

/// The program with all cases; `None` without hipcc.
fn program() -> Option<PathBuf> {
    let hipcc = require("hipcc", hipcc())?;
    let flags: Vec<_> = CHIPS.iter().map(|chip| format!("--offload-arch={chip}")).collect();
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(["-O2"]).collect();
    Some(build(&hipcc, "hip", "hip/main.cpp", &flags))
}

/// Runs a case, which must succeed and print `expected`.
fn expect(chip: &str, arguments: &[&str], expected: &str) -> Result<(), Failed> {
    let Some(program) = program() else { return Ok(()) };
    let line: Vec<OsString> = std::iter::once(program.into()).chain(arguments.iter().map(OsString::from)).collect();
    let output = exec(chip, &line);
    if output.status.success() && output.stdout == expected.as_bytes() && output.stderr.is_empty() {
        return Ok(());
    }
    Err(streams(&output).into())
}

/// HIP counts workgroup processors, which are pairs of compute units, on these chips.
fn device_properties(chip: &str) -> Result<(), Failed> {
    let (name, units) = if chip == "gfx1010" { ("gfx1010:xnack-", 20) } else { ("gfx1030", 36) };
    expect(chip, &["device_properties"], &format!("1 {name} wave 32 units {units} lds 65536\nright\n"))
}

/// `printf` of a kernel prints the text of every lane.
fn kernel_printf(chip: &str) -> Result<(), Failed> {
    let lines: String =
        (0..3).map(|lane| format!("lane {lane} of block 0: hello {:.2}\n", 1.5 * f64::from(lane))).collect();
    expect(chip, &["kernel_printf"], &format!("{lines}right\n"))
}

/// A kernel that writes to unmapped memory ends the program; the message has the kernel and the
/// address.
fn kernel_fault(chip: &str) -> Result<(), Failed> {
    aborts(chip, "kernel_fault", &["write of 4 bytes at 0x123456789000", "in kernel _Z4wildPi,"])
}

/// A failed assertion of a kernel is reported like one of the host, with the location in the
/// kernel.
fn kernel_assert(chip: &str) -> Result<(), Failed> {
    aborts(chip, "kernel_assert", &["Device-side assertion `value == 3' failed", "in kernel _Z6insisti,"])
}

/// Runs a case that HIP must abort, with these words on standard error.
fn aborts(chip: &str, case: &str, words: &[&str]) -> Result<(), Failed> {
    let Some(program) = program() else { return Ok(()) };
    let output = exec(chip, &[program.into_os_string(), case.into()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // HIP calls `abort`.
    if output.status.signal() == Some(6) && words.iter().all(|word| stderr.contains(word)) {
        return Ok(());
    }
    Err(streams(&output).into())
}

/// Loads a code object with a kernel and a variable from a file.
fn load_module(chip: &str) -> Result<(), Failed> {
    let Some(hipcc) = require("hipcc", hipcc()) else { return Ok(()) };
    let arch = format!("--offload-arch={chip}");
    let module = build(&hipcc, &format!("module-{chip}.co"), "hip/module.cpp", &["--genco", &arch]);
    expect(chip, &["load_module", module.to_str().expect("cargo's folder is text")], "right\n")
}
