//! Debian's rocSPARSE, on the one emulated chip that it has kernels for.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use roci_testkit::require;

use crate::build::{build, hipcc};
use crate::{exec, said};

/// Debian builds the library for this chip and for some older ones.
const CHIP: &str = "gfx1030";
const HEADER: &str = "/usr/include/rocsparse/rocsparse.h";

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test(format!("rocsparse::product::{CHIP}"), product)]
}

/// A sparse matrix times a vector, against the host.
fn product() -> Result<(), Failed> {
    let Some(hipcc) = require("hipcc", hipcc()) else { return Ok(()) };
    let header = Path::new(HEADER).exists().then_some(()).ok_or(format!("there is no `{HEADER}`"));
    let Some(()) = require("rocsparse", header) else { return Ok(()) };
    let program = build(&hipcc, "rocsparse", "rocsparse/main.cpp", &[&format!("--offload-arch={CHIP}"), "-lrocsparse"]);
    let output = exec(CHIP, &[program]);
    if output.status.success() && output.stdout == b"right\n" {
        return Ok(());
    }
    Err(said(&output).into())
}
