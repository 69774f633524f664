//! C programs, linked against Debian's library, that call the interface correctly and incorrectly.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use object::{Object, ObjectSymbol};
use roci_testkit::{require, tools};

use crate::build::build_all;
use crate::{exec, streams};

/// The chip; the cases check some of its properties.
const CHIP: &str = "gfx1010";

/// Cases that print only `right`.
const CASES: [&str; 15] = [
    "system_and_agents",
    "instruction_sets",
    "memory",
    "signals",
    "queues",
    "executables",
    "code_objects",
    "virtual_memory",
    "refused",
    "vendor_packets",
    "memory_faults",
    "shared",
    "driver_clocks",
    "forked",
    "ended_under_a_handler",
];

/// Source files of the program.
const SOURCES: [&str; 10] = [
    "hsa/main.c",
    "hsa/agents.c",
    "hsa/code.c",
    "hsa/memory.c",
    "hsa/packets.c",
    "hsa/process.c",
    "hsa/queues.c",
    "hsa/refused.c",
    "hsa/share.c",
    "hsa/signals.c",
];

pub(crate) fn trials() -> Vec<Trial> {
    let case = |name: &'static str| Trial::test(format!("hsa::{name}"), move || run(&[name.into()]));
    CASES.into_iter().map(case).chain([Trial::test("hsa::names", names)]).collect()
}

/// The program and the code object that it loads; `None` without clang, or without the headers and
/// library of HSA.
fn program() -> Option<(PathBuf, PathBuf)> {
    let clang = require("clang", tools::clang())?;
    let headers = Path::new("/usr/include/hsa/hsa.h");
    let there = if headers.is_file() { Ok(()) } else { Err(format!("no {} (libhsa-runtime-dev)", headers.display())) };
    require("hsa-headers", there)?;
    let target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1010", "-nogpulib", "-fvisibility=default"];
    let target: Vec<_> = target.into_iter().chain(["-cl-std=CL2.0", "-O2"]).collect();
    let code = build_all(&clang, "hsa.co", &["hsa/kernel.cl"], &target);
    let flags = ["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Wno-deprecated-declarations"];
    let flags: Vec<_> = flags.into_iter().chain(["-lhsa-runtime64", "-lpthread", "-ldl"]).collect();
    Some((build_all(&clang, "hsa", &SOURCES, &flags), code))
}

/// Runs a case.
fn run(arguments: &[OsString]) -> Result<(), Failed> {
    let Some((program, code)) = program() else { return Ok(()) };
    let line: Vec<OsString> =
        std::iter::once(program.into()).chain(arguments.iter().cloned()).chain([code.into()]).collect();
    expect(&line)
}

/// Runs a program that must succeed and print `right`.
fn expect(line: &[OsString]) -> Result<(), Failed> {
    let output = exec(CHIP, line);
    if output.status.success() && output.stdout == b"right\n" {
        return Ok(());
    }
    Err(streams(&output).into())
}

/// Our library exports every symbol of Debian's library, under the same version.
fn names() -> Result<(), Failed> {
    let Some((program, _)) = program() else { return Ok(()) };
    let found = roci_hsa::search::open(&roci_hsa::search::Options::default());
    let Some(found) = require("libhsa", found) else { return Ok(()) };
    let bytes = std::fs::read(found.library.path())?;
    let file = object::File::parse(bytes.as_slice())?;
    let exported = file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    let names: Vec<String> = exported
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| name.starts_with("hsa_") || name.starts_with("_amdgpu"))
        .collect();
    if names.len() < 200 {
        return Err(format!("only {} names were found in {}", names.len(), found.library.path().display()).into());
    }
    let line: Vec<OsString> =
        [program.into_os_string(), "names".into()].into_iter().chain(names.into_iter().map(OsString::from)).collect();
    expect(&line)?;
    // The check fails for an unknown symbol.
    match expect(&[line[0].clone(), "names".into(), "hsa_nothing".into()]) {
        Err(_) => Ok(()),
        Ok(()) => Err("a name that no library has was found".into()),
    }
}
