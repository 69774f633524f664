//! Correctness tests: C compiled for the chips and for the host must agree, random programs must
//! agree, and each known pitfall of emulators has a test.
//!
//! There is one test per chip and optimization level, or per pitfall. clang 22 compiles; results
//! are cached in the target folder.

mod c_kernels;
mod data;
mod device;
mod random;
mod toolchain;
mod traps;

use libtest_mimic::Arguments;
use roci_testkit::tools;

use toolchain::Toolchain;

fn main() {
    let arguments = Arguments::from_args();
    let clang = roci_testkit::require("clang", tools::clang());
    let mut trials = Vec::new();
    if let Some(clang) = clang {
        let toolchain = Toolchain::new(&clang);
        trials.extend(c_kernels::trials(&toolchain));
        trials.extend(traps::trials(&toolchain));
        trials.extend(random::trials(&toolchain));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
