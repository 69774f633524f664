//! Debian's rocSPARSE on the only emulated chip that it has kernels for.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use roci_testkit::require;

use crate::build::{build, hipcc};
use crate::{exec, streams};

/// Debian builds the library for this chip and for some older ones.
const CHIP: &str = "gfx1030";
const HEADER: &str = "/usr/include/rocsparse/rocsparse.h";

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test(format!("rocsparse::product::{CHIP}"), product)]
}

/// A product of a sparse matrix and a vector, compared with the host.
fn product() -> Result<(), Failed> {
    let Some(hipcc) = require("hipcc", hipcc()) else { return Ok(()) };
    let header = Path::new(HEADER).exists().then_some(()).ok_or(format!("there is no `{HEADER}`"));
    let Some(()) = require("rocsparse", header) else { return Ok(()) };
    let program = build(&hipcc, "rocsparse", "rocsparse/main.cpp", &[&format!("--offload-arch={CHIP}"), "-lrocsparse"]);
    let output = exec(CHIP, &[program]);
    if output.status.success() && output.stdout == b"right\n" {
        return Ok(());
    }
    Err(streams(&output).into())
}
