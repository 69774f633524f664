//! Unmodified programs under `roci emu exec`: rocminfo, HIP programs, rocSPARSE, and C programs
//! that call HSA.

mod build;
mod hip;
mod hsa;
mod rocminfo;
mod rocsparse;

use std::ffi::OsStr;
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials: Vec<Trial> =
        [rocminfo::trials(), hsa::trials(), hip::trials(), rocsparse::trials()].into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a program on emulated GPUs.
fn exec<A: AsRef<OsStr>>(gpus: &str, program: &[A]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roci"))
        .args(["--quiet", "emu", "exec", "--gpu", gpus, "--"])
        .args(program)
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built for this test")
}

/// Both output streams of a program, for messages.
fn streams(output: &Output) -> String {
    format!(
        "{}\nstdout:\n{}\nstderr:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
